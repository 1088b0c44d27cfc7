"""From what the engine returns to exact figures by cell, in columns.

Whatever comes back, nothing is refused because of it: rows of cells that were not asked for are
dropped, and figures are moved into their range. Only a wrong shape (another number of columns)
raises. How often something had to be corrected is counted for the data owner; whoever asks never
sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from quaestor.curator.kernel.cut_measures import CUT, Excess
from quaestor.curator.kernel.engine_columns import PrivateCells, columns_of, whole_numbers
from quaestor.curator.kernel.measurement import value_of
from quaestor.curator.kernel.measures import (
    Distinct,
    JointTotals,
    RowCount,
    UnitBins,
    Units,
    ValueCounts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quaestor.curator.kernel.engine_columns import Column, EngineColumns, Rows
    from quaestor.curator.kernel.measurement import Cells
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.kernel.statement import CellStatement
    from quaestor.curator.language.expressions import Value

__all__ = ["Exact", "PrivateGroups", "gathered", "is_by_cell", "overall", "width_of"]

_FARTHEST = 2**62


class PrivateGroups(Sequence["tuple[Value, ...]"]):
    """The keys of private groups: codes in columns, made values of where they are looked at."""

    def __init__(self, asked: Cells, found: PrivateCells) -> None:
        self._asked, self._codes, self._count = asked, found.codes, found.count
        self.own = found.own
        """Which group each row of the first statement is of."""

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> tuple[Value, ...]: ...

    @overload
    def __getitem__(self, place: slice) -> list[tuple[Value, ...]]: ...

    def __getitem__(self, place: int | slice) -> tuple[Value, ...] | list[tuple[Value, ...]]:
        """The keys of one group, or of some."""
        some = np.arange(self._count)[place]
        found = self.taken(np.atleast_1d(some))
        return found if isinstance(place, slice) else found[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of lists

    def taken(self, places: NDArray[np.intp]) -> list[tuple[Value, ...]]:
        """The keys of some groups: values of private ones, places of declared ones."""
        keys = self._asked.keys
        columns = [column[places] for column in self._codes]
        numbers: Any = 0
        if any(key.codes is not None for key in keys):
            numbers = columns.pop(0).astype(np.int64)
        found: list[list[Value]] = []
        for key in reversed(keys):
            if key.codes is None:
                codes = columns.pop().tolist()
                bare = key.kind == "integer" and None not in codes
                found.append(codes if bare else [value_of(code, key.kind) for code in codes])
            else:
                numbers, rest = np.divmod(numbers, len(key.codes))
                found.append(rest.tolist())
        return list(zip(*reversed(found), strict=True))


@dataclass(slots=True, repr=False)
class Exact:
    """Exact figures, before noise: private, so that printing them shows nothing.

    One entry a cell in every list: of declared cells all, by number; of private groups those that
    have units, with the values of their keys in ``groups``. Units of declared cells are 0 where
    no plain measure was asked for.
    """

    groups: Sequence[tuple[Value, ...]] | None
    units: list[int]
    values: dict[Measure, list[Any]] = field(default_factory=dict)
    """A whole number a cell; for totals with a joint bound, one list a total; for histograms, how
    many rows have each value."""
    corrections: int = 0

    def __repr__(self) -> str:
        return "Exact(private)"


def gathered(asked: Cells, answers: Sequence[tuple[CellStatement, EngineColumns | Rows]]) -> Exact:
    """The exact figures of all cells, zero where the engine has no row.

    Private groups are those of the first answer.
    """
    numbered = any(key.codes is not None for key in asked.keys)
    wide = int(numbered) + sum(key.codes is None for key in asked.keys)
    held = [
        (statement, columns_of(answer, width_of(statement) + wide * is_by_cell(statement)))
        for statement, answer in answers
    ]
    private = None
    if asked.count is None:
        first = held[0][1]
        private = PrivateCells(first[:wide], len(first[0]))
    size = asked.count if private is None else private.count
    assert size is not None  # noqa: S101  # by its definition
    groups = None if private is None else PrivateGroups(asked, private)
    exact = Exact(groups=groups, units=[0] * size)
    for at, (statement, columns) in enumerate(held):
        if not is_by_cell(statement):
            _add(exact, *overall(statement.measures, columns))
            continue
        cell, figures = columns[:wide], columns[wide:]
        rows = len(columns[0])
        if private is not None:
            places = private.places(cell, rows) if at else private.own
        else:
            places = _declared(cell[0], size) if numbered else np.zeros(rows, np.int64)
        there = _CellRows(places=places, size=size, exact=exact)
        if not statement.whole and statement.measures and type(statement.measures[0]) is Excess:
            _plain(statement, there, figures)  # of cells nobody counts in, too
            continue
        exact.corrections += int(np.count_nonzero(places < 0))
        measure = statement.measures[0] if statement.measures else None
        if isinstance(measure, ValueCounts | UnitBins):
            exact.values[measure] = there.histograms(*figures)
        elif isinstance(measure, Distinct):
            exact.values[measure] = there.by_cell(figures[0], low=0)
        else:
            if not all(type(each) in CUT for each in statement.measures) or private is not None:
                exact.units = there.by_cell(figures[0], low=0)
            _plain(statement, there, figures[1:])
    return exact


def _declared(column: Column, size: int) -> NDArray[np.int64]:
    """The cells of rows by their numbers; -1 for what is no number of a cell."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "i":
        numbers = np.asarray(np.ma.filled(column, -1)).astype(np.int64)
    else:
        known = (value if type(value) is int and abs(value) < size else -1 for value in column)
        numbers = np.fromiter(known, np.int64, len(column))
    return np.where((numbers >= 0) & (numbers < size), numbers, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CellRows:
    """The rows of one statement: the cell of each, if it is one that was asked for."""

    places: NDArray[np.int64]
    size: int
    exact: Exact

    def _of_cells(self, column: Column, low: int) -> NDArray[np.int64]:
        """A column of the rows that are in a cell."""
        inside = self.places >= 0
        if not inside.all():
            kept = np.flatnonzero(inside).tolist()
            column = (
                column[inside]
                if isinstance(column, np.ndarray)
                else [column[place] for place in kept]
            )
        numbers, corrected = whole_numbers(column, low=low, high=_FARTHEST)
        self.exact.corrections += corrected
        return numbers

    def by_cell(self, column: Column, *, low: int) -> list[int]:
        """One number a cell."""
        numbers = np.zeros(self.size, np.int64)
        numbers[self.places[self.places >= 0]] = self._of_cells(column, low)
        listed: list[int] = numbers.tolist()
        return listed

    def histograms(self, values: Column, counts: Column) -> list[dict[int, int]]:
        """How many rows have each value, in the order of values, for every cell."""
        at, numbers = self._of_cells(values, -_FARTHEST), self._of_cells(counts, 0)
        places = self.places[self.places >= 0]
        order = np.lexsort((at, places))
        at, numbers = at[order], numbers[order]
        ends = np.searchsorted(places[order], np.arange(self.size + 1)).tolist()
        return [
            dict(zip(at[start:end].tolist(), numbers[start:end].tolist(), strict=True))
            for start, end in pairwise(ends)
        ]


def width_of(statement: CellStatement) -> int:
    """How many columns a statement returns besides those that say which cell."""
    measure = statement.measures[0] if statement.measures and not statement.whole else None
    if isinstance(measure, ValueCounts | UnitBins):
        return 2
    if isinstance(measure, Distinct):
        return 1
    if type(measure) in CUT:
        return len(statement.measures)
    return 1 + sum(len(m.totals) if isinstance(m, JointTotals) else 1 for m in statement.measures)


def is_by_cell(statement: CellStatement) -> bool:
    """Whether a statement returns cells; else one row for the whole question."""
    return statement.whole or not statement.measures or statement.measures[0].by_cell


def overall(
    measures: Sequence[Measure], columns: list[Column]
) -> tuple[dict[Measure, list[int]], int]:
    """One number for the whole question, of every measure, and how many had to be corrected.

    Nothing where there is no row.
    """
    found, corrections = {}, 0
    for measure, column in zip(measures, columns, strict=True):
        numbers, corrected = whole_numbers(column[:1], low=0, high=_FARTHEST)
        corrections += corrected
        found[measure] = numbers.tolist() or [0]
    return found, corrections


def _add(exact: Exact, values: dict[Measure, list[int]], corrections: int) -> None:
    exact.values.update(values)
    exact.corrections += corrections


def _plain(statement: CellStatement, there: _CellRows, figures: list[Column]) -> None:
    left = iter(figures)
    for measure in (each for each in statement.measures if each.by_cell):
        low = 0 if isinstance(measure, Units | RowCount) else -_FARTHEST
        parts = len(measure.totals) if isinstance(measure, JointTotals) else 1
        columns = [there.by_cell(next(left), low=low) for _ in range(parts)]
        there.exact.values[measure] = columns if isinstance(measure, JointTotals) else columns[0]
    of_all = [each for each in statement.measures if not each.by_cell]
    _add(there.exact, *overall(of_all, list(left)))
