"""The groups that an answer shows: what was released of each, and expressions of that."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from quaestor.curator.aggregates.recipe import approximate_reach
from quaestor.curator.kernel.measures import Chosen, Reach
from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.expressions import (
    Aggregated,
    GroupTotal,
    Keyed,
    children,
    nodes,
    with_children,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.recipe import Estimates, Noised, Recipe
    from quaestor.curator.aggregates.whole_error import Ends, Missing
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.expressions import Expression, Value
    from quaestor.curator.language.query import Query

    Figures: TypeAlias = "list[list[Any]] | RowFigures"

__all__ = [
    "GroupTotals",
    "ReleasedGroups",
    "RowFigures",
    "by_row",
    "delta_errors",
    "floats",
    "moved_by",
    "noise_parts",
    "numbers",
    "values_by_row",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedGroups:
    """The groups that are shown, and the released measures of each."""

    groups: Sequence[tuple[Value, ...]]
    noised: Mapping[Measure, Noised]
    recipes: tuple[Recipe, ...]
    confidence: float
    missing: tuple[tuple[Missing, ...] | None, ...] = ()
    """Of each aggregate, what it lacks under outer limits, if that was asked."""

    def whole(self, place: int, *, confidence: float | None = None) -> Ends | None:
        """The interval of an aggregate that covers what limits cut too."""
        lack = self.missing[place] if self.missing else None
        if lack is None:
            return None
        held = self.confidence if confidence is None else confidence
        return self.recipes[place].whole_interval(self.noised, lack, confidence=held)

    def cut(self, places: Iterable[int]) -> bool:
        """Whether limits can cut any of these aggregates, or it is not known what they cut."""
        lacks = [self.missing[place] for place in places] if self.missing else []
        return any(lack is None or any(each.error for each in lack) for lack in lacks)

    def estimates(self) -> list[Estimates]:
        """Every aggregate of every group."""
        return [r.estimates(self.noised, confidence=self.confidence) for r in self.recipes]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTotals:
    """The totals that outputs take, as further figures of every row, after the aggregates."""

    totals: tuple[GroupTotal, ...]
    first: int
    kept: Sequence[int]
    """The rows that HAVING keeps: no others are added up."""
    groups: Sequence[tuple[Value, ...]]
    figures: Figures
    """The aggregates of every row, and then the totals."""

    @classmethod
    def of(
        cls,
        query: Query,
        groups: Sequence[tuple[Value, ...]],
        figures: Figures,
        *,
        extra: Sequence[Expression] = (),
    ) -> Self:
        """The totals of a question's outputs and order, in the rows that HAVING keeps."""
        shown = [*(output.expression for output in query.outputs), *(by for by, _ in query.order)]
        found = (node for each in (*shown, *extra) for node in nodes(each))
        totals = tuple(dict.fromkeys(node for node in found if isinstance(node, GroupTotal)))
        having = query.having
        kept: Sequence[int] = range(len(groups))
        if having is not None:
            kept = [row for row in kept if evaluate(having, groups[row], figures[row]) is True]
        bare = cls(
            totals=totals,
            first=len(query.aggregates),
            kept=kept,
            groups=groups,
            figures=figures,
        )
        return bare if not totals else replace(bare, figures=bare.added(figures))

    def added(self, figures: Figures) -> Figures:
        """Figures of every row with the totals of these."""
        columns = [
            self.summed(total, values_by_row(total.operand, self.groups, figures))
            for total in self.totals
        ]
        return [[*row, *more] for row, *more in zip(figures, *columns, strict=True)]

    def summed(self, total: GroupTotal, values: Sequence[Any]) -> list[Any]:
        """What is added up over the groups that each row is added up with."""
        sums: dict[tuple[Value, ...], Any] = defaultdict(lambda: None)
        for row in self.kept:
            if values[row] is not None:
                sums[self._label(total, row)] = (sums[self._label(total, row)] or 0) + values[row]
        return [sums[self._label(total, row)] for row in range(len(self.groups))]

    def _label(self, total: GroupTotal, row: int) -> tuple[Value, ...]:
        return tuple(self.groups[row][place] for place in total.by)

    def rewritten(self, expression: Expression) -> Expression:
        """The expression with totals as the figures that they are in every row."""
        if isinstance(expression, GroupTotal):
            return Aggregated(self.first + self.totals.index(expression))
        return with_children(expression, [self.rewritten(each) for each in children(expression)])


class RowFigures:
    """The figures of every group, made of columns where they are looked at; None if not known."""

    def __init__(self, estimates: Sequence[Estimates], rows: int) -> None:
        self._estimates, self._rows = estimates, rows

    @cached_property
    def _columns(self) -> list[tuple[Any, ...]]:
        return [numbers(each.values) for each in self._estimates]

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: int) -> list[Any]:
        return [column[row] for column in self._columns]

    def __iter__(self) -> Iterator[list[Any]]:
        if not self._estimates:
            return iter([[] for _ in range(self._rows)])
        return map(list, zip(*self._columns, strict=True))


def by_row(estimates: Sequence[Estimates], rows: int) -> RowFigures:
    """The figures of every group; what is not known is None."""
    return RowFigures(estimates, rows)


def numbers(values: NDArray[Any]) -> tuple[Any, ...]:
    """What is not known (NaN) is NULL."""
    if not np.isnan(values).any():
        return tuple(values.tolist())
    return tuple(None if value != value else value for value in values.tolist())  # noqa: PLR0124


def values_by_row(
    expression: Expression,
    groups: Sequence[tuple[Value, ...]],
    figures: Iterable[Sequence[Value]],
) -> tuple[Value, ...]:
    """An expression in every group."""
    if isinstance(expression, Keyed):
        return tuple(map(itemgetter(expression.place), groups))
    return tuple(
        evaluate(expression, group, row) for group, row in zip(groups, figures, strict=True)
    )


def delta_errors(
    expression: Expression,
    released: ReleasedGroups,
    used: Sequence[Measure],
    values: tuple[Value, ...],
) -> tuple[float | None, ...]:
    """The delta method: each measure is moved up and down by its standard error.

    Aggregates that share a measure move together, so that what they have in common cancels or
    adds up as it should. None where the value is no number, or has none nearby.
    """
    squares = np.zeros(len(values))
    for measure in used:
        noised = released.noised[measure]
        error, step = moved_by(measure, released)
        for part in noise_parts(noised.values):
            ends = []
            for sign in (1, -1):
                moved = replace(noised, values=noised.values + sign * step * part)
                there = replace(released, noised={**released.noised, measure: moved})
                rows = by_row(there.estimates(), len(values))
                ends.append(floats(values_by_row(expression, released.groups, rows)))
            squares += ((ends[0] - ends[1]) / 2 * (error / step)) ** 2
    there_is = np.isfinite(floats(values))
    return tuple(
        error if known else None
        for error, known in zip(
            np.sqrt(squares).tolist(), (there_is & np.isfinite(squares)).tolist(), strict=True
        )
    )


def noise_parts(values: NDArray[np.int64]) -> list[Any]:
    """What picks each number of a group that has noise of its own: of a joint measure, several."""
    if values.ndim == 1:
        return [1]
    return list(np.eye(len(values), dtype=np.int64)[:, :, np.newaxis])


def moved_by(measure: Measure, released: ReleasedGroups) -> tuple[Any, Any]:
    """The standard error of a measure, and by how much it is moved to see what that does.

    A quantile is off by ranks: what is known of its value is its interval, if it has one.
    """
    scatter = released.noised[measure].scatter
    if not isinstance(measure, Chosen):
        return scatter.standard_error, max(round(scatter.standard_error), 1)
    about = released.noised.get(Reach(chosen=measure))
    if about is None:
        return np.nan, 1
    times = approximate_reach([scatter], confidence=released.confidence)
    step = np.maximum(about.values, 1)
    return step / times, step


def floats(values: Iterable[Value]) -> NDArray[np.float64]:
    """Numbers; NaN for what is none."""
    return np.array(
        [
            float(value)
            if isinstance(value, int | float) and not isinstance(value, bool)
            else np.nan
            for value in values
        ]
    )
