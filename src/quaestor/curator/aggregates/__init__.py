"""How aggregates are made of released measures: one kind of aggregate a file."""

from __future__ import annotations

from quaestor.curator.aggregates.base import Estimates, Expected, Noised, Recipe
from quaestor.curator.aggregates.deviation import Deviation
from quaestor.curator.aggregates.linear import Linear
from quaestor.curator.aggregates.mean import Mean
from quaestor.curator.aggregates.rank import Rank

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
