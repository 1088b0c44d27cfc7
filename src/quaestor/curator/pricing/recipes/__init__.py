"""How aggregates are made of released measures: one kind of aggregate a file."""

from __future__ import annotations

from quaestor.curator.pricing.recipes.base import Estimates, Expected, Noised, Recipe
from quaestor.curator.pricing.recipes.deviation import Deviation
from quaestor.curator.pricing.recipes.linear import Linear
from quaestor.curator.pricing.recipes.mean import Mean
from quaestor.curator.pricing.recipes.rank import Rank

__all__ = [
    "Deviation",
    "Estimates",
    "Expected",
    "Linear",
    "Mean",
    "Noised",
    "Rank",
    "Recipe",
]
