"""How aggregates are made of released measures: one kind of aggregate a file."""

from __future__ import annotations

from quaestor.curator.recipes.base import Estimates, Expected, Noised, Recipe
from quaestor.curator.recipes.deviation import Deviation
from quaestor.curator.recipes.linear import Linear
from quaestor.curator.recipes.mean import Mean
from quaestor.curator.recipes.rank import Chosen, Rank

__all__ = [
    "Chosen",
    "Deviation",
    "Estimates",
    "Expected",
    "Linear",
    "Mean",
    "Noised",
    "Rank",
    "Recipe",
]
