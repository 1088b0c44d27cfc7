"""Several questions that are asked together: grouping sets, and the parts of a UNION ALL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Expression, Kind
    from quaestor.curator.language.query import Query

__all__ = ["Compound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compound:
    """Several questions that are asked together: one charge, and one table of all their rows.

    The parts have the same names of outputs, and as many. ``labels`` are words for the parts.
    """

    parts: tuple[Query, ...]
    labels: tuple[str, ...]
    kinds: tuple[Kind, ...]
    """The kind of each output, in all parts."""
    order: tuple[tuple[tuple[Expression, ...], bool], ...] = ()
    """What to sort all rows by: an expression for each part, and whether descending."""
    limit: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def dataset(self) -> str:
        """The dataset that pays: one for all parts."""
        return self.parts[0].dataset
