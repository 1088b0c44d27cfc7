r"""Private groups that the engine keeps: only those that are shown come to the curator.

The statements of a question run once, and what they return stays with the engine, in rows that are
numbered by units: groups of the same number of units follow each other. Of these *runs* the curator
learns the row numbers and the number of units. For every row of every run it draws what it would
draw if it had the groups (a coin, or noise and a threshold), by the same code, in chunks. Then it
fetches the rows whose draw came up.

The law is that of drawing for the groups themselves. Which row a group is in was settled before
anything was drawn; what is drawn for a row has the law for the row's number of units, which is the
group's; and draws are independent of each other. So each group has a draw of its own law, and all
are independent, in whatever order the rows are. The noise that decided about a row is what is
released as its number of units.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from quaestor.curator.kernel.draws import NoisyUnits
from quaestor.curator.kernel.engine_columns import EngineColumns, columns_of, whole_numbers
from quaestor.curator.kernel.gathered_figures import (
    Exact,
    PrivateGroups,
    gathered,
    is_by_cell,
    overall,
    width_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.kernel.draws import ShownGroups
    from quaestor.curator.kernel.engine_columns import Rows
    from quaestor.curator.kernel.measurement import Cells, Measurement
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.kernel.relations import Database, KeptRows
    from quaestor.curator.kernel.statement import CellStatement

__all__ = ["KeptGroups", "Runs", "chosen_rows", "kept_groups"]

_CHUNK: Final = 2**18
"""For so many groups is drawn at once."""
_STRETCH: Final = 2**33
"""Rows are numbered without gaps within stretches of so many numbers: Spark's, one a partition."""
_MOST: Final = 2**62


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows that follow each other and have the same number of units: one entry a run."""

    units: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]


def chosen_rows(
    choice: NoisyUnits | ShownGroups, runs: Runs
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """The rows whose groups are shown, in order, and their noisy numbers of units, if told."""
    rows: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    noisy: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    for units, numbers in _chunks(runs):
        if isinstance(choice, NoisyUnits):
            places, counts = choice.draw(units)
            noisy.append(counts)
        else:
            places = choice.draw(units)
        rows.append(numbers[places])
    told = isinstance(choice, NoisyUnits)
    return np.concatenate(rows), np.concatenate(noisy) if told else None


def _chunks(runs: Runs) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For some rows at a time: the number of units of each, and its row number."""
    ends = np.cumsum(runs.count)
    begins = ends - runs.count
    total = int(ends[-1]) if ends.size else 0
    for start in range(0, total, _CHUNK):
        stop = min(start + _CHUNK, total)
        some = slice(
            int(np.searchsorted(ends, start, side="right")),
            int(np.searchsorted(begins, stop, side="left")),
        )
        inside = np.minimum(ends[some], stop) - np.maximum(begins[some], start)
        moved = np.repeat(runs.first[some] - begins[some], inside)
        yield np.repeat(runs.units[some], inside), np.arange(start, stop) + moved


def kept_groups(
    measurement: Measurement,
    statements: Sequence[CellStatement],
    database: Database,
    rows: KeptRows,
) -> KeptGroups:
    """Run the statements of a measurement of private groups; the engine keeps their rows."""
    wide = _wide(measurement.cells)
    kept: list[tuple[CellStatement, str]] = []
    of_all: dict[Measure, list[int]] = {}
    corrections = 0
    for statement in statements:
        if is_by_cell(statement):
            names = ", ".join(f"h{at}" for at in range(wide + width_of(statement)))
            sql = f"SELECT * FROM ({statement.sql}) AS k({names})"  # noqa: S608
            kept.append((statement, rows.keep(sql, by="" if kept else f"h{wide}")))
            answer, asked = _overall_columns(rows, *kept[-1], wide)
        else:
            answer, asked = database.columns(statement.sql), statement.measures
        values, corrected = overall(asked, columns_of(answer, len(asked)))
        of_all.update(values)
        corrections += corrected
    return KeptGroups(
        cells=measurement.cells,
        measures=measurement.measures,
        runs=_runs(rows, kept[0][1], f"h{wide}", database.dialect.quotient),
        rows=rows,
        kept=tuple(kept),
        overall=of_all,
        corrections=corrections,
    )


def _overall_columns(
    rows: KeptRows, statement: CellStatement, name: str, wide: int
) -> tuple[EngineColumns | Rows, Sequence[Measure]]:
    """What every row of a statement's has of the whole question, whichever groups are shown."""
    asked = [measure for measure in statement.measures if not measure.by_cell]
    if not asked:
        return EngineColumns(()), asked
    last = wide + width_of(statement)
    listed = ", ".join(f"MAX(h{at})" for at in range(last - len(asked), last))
    return rows.columns(f"SELECT {listed} FROM {name}"), asked  # noqa: S608


def _wide(cells: Cells) -> int:
    """How many columns say which cell a row is of."""
    numbered = any(key.codes is not None for key in cells.keys)
    return int(numbered) + sum(key.codes is None for key in cells.keys)


def _runs(rows: KeptRows, name: str, units: str, quotient: str) -> Runs:
    """The runs of a relation whose rows are numbered by units.

    That rows are numbered without gaps is a matter of the engine's, not of what it has counted.
    """
    stretch = quotient.format("nth", _STRETCH)
    answer = rows.columns(
        f"SELECT {units}, MIN(nth), MAX(nth), COUNT(*) FROM {name} GROUP BY {units}, {stretch}"  # noqa: S608
    )
    columns = [whole_numbers(each, low=0, high=_MOST)[0] for each in columns_of(answer, 4)]
    order = np.argsort(columns[1])
    counted, first, last, count = (column[order] for column in columns)
    if (last - first + 1 != count).any() or (first[1:] <= last[:-1]).any():
        raise ValueError("rows are not numbered by units")
    return Runs(counted, first, count)


@dataclass(slots=True, repr=False)
class KeptGroups:
    """Exact figures of private groups that the engine keeps, before noise."""

    cells: Cells
    measures: tuple[Measure, ...]
    runs: Runs
    rows: KeptRows
    kept: tuple[tuple[CellStatement, str], ...]
    """Statements with the relations that hold what they returned; the first has the groups."""
    overall: dict[Measure, list[int]] = field(default_factory=dict)
    """What is of the whole question, and of no group."""
    corrections: int = 0

    def __repr__(self) -> str:
        return "KeptGroups(private)"

    def only(self, measures: tuple[Measure, ...]) -> KeptGroups:
        """Of the figures of several measurements, those of one."""
        return replace(self, measures=measures)

    def shown(self, choice: NoisyUnits | ShownGroups) -> tuple[Exact, NDArray[np.int64] | None]:
        """The groups that are drawn to be shown, with their exact figures and noisy counts."""
        numbers, noisy = chosen_rows(choice, self.runs)
        exact, at = self._fetched(numbers)
        if noisy is None:
            return exact, None
        told = np.empty(len(exact.units), np.int64)
        told[at] = noisy
        return exact, told

    def _fetched(self, numbers: NDArray[np.int64]) -> tuple[Exact, NDArray[np.int64]]:
        """The exact figures of some rows' groups, and which group each of the rows is."""
        chosen = self.rows.offer(numbers)
        wide, (first, name) = _wide(self.cells), self.kept[0]
        width = wide + width_of(first)
        joined = f"FROM {name} AS k JOIN {chosen} AS c ON k.nth = c.nth"
        *columns, found = columns_of(
            self.rows.columns(f"SELECT {_listed(width)}, k.nth {joined}"),
            width + 1,
        )
        at, _ = whole_numbers(found, low=0, high=_MOST)
        order = np.argsort(at)
        if not np.array_equal(at[order], numbers):
            raise ValueError("other rows came back than were asked for")
        answers: list[tuple[CellStatement, EngineColumns | Rows]] = [
            (first, EngineColumns(tuple(columns)))
        ]
        groups = f"SELECT {_listed(wide)} {joined}"
        same = " AND ".join(f"k.h{each} IS NOT DISTINCT FROM g.h{each}" for each in range(wide))
        for statement, other in self.kept[1:]:
            if any(measure in self.measures for measure in statement.measures):
                listed = _listed(wide + width_of(statement))
                sql = f"SELECT {listed} FROM {other} AS k JOIN ({groups}) AS g ON {same}"  # noqa: S608
                answers.append((statement, self.rows.columns(sql)))
        exact = gathered(self.cells, answers)
        values = {**exact.values, **self.overall}
        exact.values = {each: values[each] for each in self.measures}
        self.corrections += exact.corrections
        assert isinstance(exact.groups, PrivateGroups)  # noqa: S101  # there are private keys
        return exact, exact.groups.own[order]

    def close(self) -> None:
        """Let the engine forget the rows."""
        self.rows.close()


def _listed(width: int) -> str:
    return ", ".join(f"k.h{at}" for at in range(width))
