"""What an engine is to the curator: something that computes measures, exactly and in private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.language.expressions import Value
    from quaestor.curator.measures import Histogram, Measure
    from quaestor.curator.query import Query

__all__ = ["Engine", "Measured"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Measured:
    """The exact measures of a query, before noise: private, so that printing it shows nothing.

    ``groups`` are tuples of one value a key (dates as text); a query without keys has the one
    group ``()``. If all keys have declared values, the groups are all their combinations, in
    declared order, the last key running fastest, whatever the data. Else they are those that have
    units, sorted; they are as private as the numbers.
    """

    groups: list[tuple[Value, ...]]
    values: dict[Measure, list[int]]
    """One whole number a group for each measure that is not a histogram."""
    units: list[int]
    """How many units have a row in the group, after bounding: what selection of groups needs."""
    histograms: dict[Histogram, list[dict[int, int]]]
    """For each histogram and group, how many rows have each value, in steps."""

    def __repr__(self) -> str:
        return "Measured(private)"


class Engine(Protocol):
    """Where the tables of a query live."""

    def check(self, query: Query, measures: Sequence[Measure]) -> None:
        """Refuse what cannot be computed, without reading a row: to be called before charging."""

    def measure(self, query: Query, measures: Sequence[Measure]) -> Measured:
        """Bound what each unit contributes, and compute the measures.

        Raises:
            EngineFailed: whatever went wrong; the error says nothing of it.
        """

    def close(self) -> None:
        """Let go of the connection."""
