"""From what the engine returns to figures with noise: the only place where noise meets data.

Whatever comes back, nothing is refused because of it: rows of cells that were not asked for are
dropped, and figures are moved into their range. Only a wrong shape (another number of columns)
raises, before anything is drawn, and in the same words as any other failure. How often something
had to be corrected is counted for the data owner; whoever asks never sees it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.catalog.model import outer_times
from quaestor.curator.kernel.cut_measures import CUT, Excess
from quaestor.curator.kernel.cut_statement import cut_statements
from quaestor.curator.kernel.draws import (
    NoisyQuantile,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.kernel.measurement import value_of
from quaestor.curator.kernel.measures import (
    Distinct,
    JointTotals,
    RowCount,
    UnitBins,
    Units,
    ValueCounts,
)
from quaestor.curator.kernel.relations import MOST_ROWS, Relations
from quaestor.curator.kernel.statement import statements_of
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from quaestor.accounting.releases import Release
    from quaestor.curator.catalog.model import Table
    from quaestor.curator.kernel.dated_rows import ChargedBlocks
    from quaestor.curator.kernel.draws import Draw, NoisyMeasure
    from quaestor.curator.kernel.measurement import Cells, Measurement
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.kernel.relations import Database, EngineRows
    from quaestor.curator.kernel.statement import CellStatement
    from quaestor.curator.language.expressions import Value

__all__ = ["Exact", "Prepared", "Released", "drawn", "gathered", "prepare"]

_FARTHEST = 2**62


@dataclass(slots=True, repr=False)
class Exact:
    """Exact figures, before noise: private, so that printing them shows nothing.

    One entry a cell in every list: of declared cells all, by number; of private groups those that
    have units, with the values of their keys in ``groups``.
    """

    groups: list[tuple[Value, ...]] | None
    units: list[int]
    values: dict[Measure, list[Any]]
    """A whole number a cell; for totals with a joint bound, one list a total; for histograms, how
    many rows have each value."""
    corrections: int = 0

    def __repr__(self) -> str:
        return "Exact(private)"


@dataclass(frozen=True, slots=True)
class Released:
    """What was drawn: safe to show.

    ``places`` says which cells are shown, in order; for private groups ``groups`` has their keys.
    ``figures`` has one array a draw, with an entry for every cell that is shown.
    """

    places: NDArray[np.intp]
    groups: list[tuple[Value, ...]] | None
    figures: dict[Draw, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A measurement ready to run: its statements are written, and no private row was read."""

    measurement: Measurement
    statements: tuple[CellStatement, ...]
    database: Database = field(repr=False)

    def exact(self) -> Exact:
        """The exact figures. For :meth:`draw`, and for tests."""
        answers = [(each, self.database.rows(each.sql)) for each in self.statements]
        return gathered(self.measurement.cells, answers)

    def draw(
        self,
        exact: Exact,
        *,
        paid: tuple[Release, ...],
        dataset: str,
        blocks: ChargedBlocks | None = None,
    ) -> Released:
        """The figures with noise, if the dataset's account was charged for just that.

        ``blocks`` are the blocks of time that were charged, where the account has a budget for
        each: rows of others were not read.
        """
        asked = self.measurement
        if (tuple(paid), dataset, blocks) != (asked.releases, asked.dataset, asked.blocks):
            raise InvalidParameter("paid", paid, "what the measurement costs")
        return drawn(asked, exact)


def prepare(
    measurement: Measurement,
    *,
    table: Callable[[str], Table | None],
    wanted: AbstractSet[str],
    database: Database,
) -> Prepared:
    """Write the statements of a measurement; public tables may be looked at."""
    relations = Relations(table=table, database=database, wanted=wanted)
    capped = relations.private_tables(measurement.rows) > 1
    blocks = measurement.blocks
    relations = Relations(
        table=table,
        database=database,
        wanted=wanted,
        capped=capped,
        blocks=blocks,
        fine=frozenset(measurement.fine),
    )
    rows = _checked(relations.rows(measurement.rows), measurement)
    plain = [each for each in measurement.measures if type(each) not in CUT]
    made = statements_of(rows, measurement.cells, plain, relations.sql)
    if len(plain) < len(measurement.measures):
        times = outer_times(relations.scans(measurement.rows), most=MOST_ROWS)
        outer = _checked(replace(relations, outer=times).rows(measurement.rows), measurement)
        made += cut_statements(rows, outer, measurement, relations.sql)
    return Prepared(measurement, tuple(made), database)


def _checked(rows: EngineRows, measurement: Measurement) -> EngineRows:
    """The rows, if they are those of the dataset and of the blocks that pay."""
    blocks = measurement.blocks
    if rows.dataset != measurement.dataset:
        raise InvalidParameter("dataset", measurement.dataset, "that of the tables")
    if blocks is not None and not rows.bound:
        raise InvalidParameter("rows", "of no block", "of, or inner-joined to, a table with blocks")
    if blocks is not None and blocks.kept is not None and len(rows.dated) > 1:
        raise InvalidParameter("rows", "ranked twice", "of one table with blocks, if some are kept")
    return rows


def gathered(asked: Cells, answers: list[tuple[CellStatement, list[tuple[Any, ...]]]]) -> Exact:
    """The exact figures of all cells, zero where the engine has no row."""
    keys = asked.keys
    numbered = any(key.codes is not None for key in keys)
    private = [key for key in keys if key.codes is None]
    width = int(numbered) + len(private)
    _check_shapes(answers, width)
    count = asked.count
    cells: dict[tuple[Any, ...], int]
    if count is None:
        cells = {row[:width]: at for at, row in enumerate(_in_order(answers[0][1], width))}
        groups: list[tuple[Value, ...]] | None = [_labels(asked, cell) for cell in cells]
    else:
        cells = {(at,) if numbered else (): at for at in range(count)}
        groups = None
    exact = Exact(groups=groups, units=[0] * len(cells), values={})
    for at, (statement, rows) in enumerate(answers):
        if not _by_cell(statement):
            _overall(statement, rows, exact)
            continue
        held = [(cells.get(row[:width]), row[width:]) for row in rows]
        there = {place: row for place, row in held if place is not None}
        if statement.measures and type(statement.measures[0]) is Excess:
            _plain(statement, there, len(cells), exact, at=0)  # of cells nobody counts in, too
            continue
        exact.corrections += sum(place is None for place, _ in held)
        if at == 0:
            for place, row in there.items():
                exact.units[place] = _figure(row[0], 0, _FARTHEST, exact)
            _plain(statement, there, len(cells), exact)
        elif isinstance(statement.measures[0], ValueCounts | UnitBins):
            exact.values[statement.measures[0]] = _counts(held, len(cells), exact)
        else:
            column = [0] * len(cells)
            for place, row in there.items():
                column[place] = _figure(row[0], 0, _FARTHEST, exact)
            exact.values[statement.measures[0]] = column
    return exact


def _check_shapes(answers: list[tuple[CellStatement, list[tuple[Any, ...]]]], width: int) -> None:
    """See that every row has the cell, where there are cells, and every figure."""
    for statement, rows in answers:
        wide = _width(statement) + (width if _by_cell(statement) else 0)
        if any(len(row) != wide for row in rows):
            raise ValueError("a statement returned rows of another shape")


def _width(statement: CellStatement) -> int:
    measure = statement.measures[0] if statement.measures else None
    if isinstance(measure, ValueCounts | UnitBins):
        return 2
    if isinstance(measure, Distinct):
        return 1
    if type(measure) in CUT:
        return len(statement.measures)
    return 1 + sum(len(m.totals) if isinstance(m, JointTotals) else 1 for m in statement.measures)


def _by_cell(statement: CellStatement) -> bool:
    return not statement.measures or statement.measures[0].by_cell


def _overall(statement: CellStatement, rows: list[tuple[Any, ...]], exact: Exact) -> None:
    """One number for the whole question, of every measure; nothing where there is no row."""
    for at, measure in enumerate(statement.measures):
        exact.values[measure] = [_figure(rows[0][at] if rows else 0, 0, _FARTHEST, exact)]


def _plain(
    statement: CellStatement,
    there: dict[int, tuple[Any, ...]],
    size: int,
    exact: Exact,
    *,
    at: int = 1,
) -> None:
    for measure in statement.measures:
        columns = []
        low = 0 if isinstance(measure, Units | RowCount) else -_FARTHEST
        for _ in measure.totals if isinstance(measure, JointTotals) else (measure,):
            column = [0] * size
            for place, row in there.items():
                column[place] = _figure(row[at], low, _FARTHEST, exact)
            columns.append(column)
            at += 1
        exact.values[measure] = columns if isinstance(measure, JointTotals) else columns[0]


def _counts(
    held: list[tuple[int | None, tuple[Any, ...]]], size: int, exact: Exact
) -> list[dict[int, int]]:
    counts: list[dict[int, int]] = [{} for _ in range(size)]
    for place, (value, number) in held:
        if place is not None:
            at = _figure(value, -_FARTHEST, _FARTHEST, exact)
            counts[place][at] = _figure(number, 0, _FARTHEST, exact)
    return [dict(sorted(each.items())) for each in counts]


def _figure(value: Any, low: int, high: int, exact: Exact) -> int:
    """A whole number in its range, whatever came back; nothing is zero."""
    if value is None:
        return 0
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        exact.corrections += 1
        return 0
    inside = min(max(number, low), high)
    exact.corrections += inside != number
    return inside


def _in_order(rows: list[tuple[Any, ...]], width: int) -> list[tuple[Any, ...]]:
    """Private groups in an order of their codes alone."""

    def place(row: tuple[Any, ...]) -> list[tuple[bool, bool, Any]]:
        return [
            (code is None, isinstance(code, str), 0 if code is None else code)
            for code in row[:width]
        ]

    return sorted(rows, key=place)


def _labels(asked: Cells, cell: tuple[Any, ...]) -> tuple[Value, ...]:
    """The codes of a private group's keys: values of private ones, places of declared ones."""
    codes = list(cell)
    keys = asked.keys
    number = codes.pop(0) if any(key.codes is not None for key in keys) else 0
    places: list[Value] = []
    for key in reversed(keys):
        if key.codes is None:
            places.append(value_of(codes.pop(), key.kind))
        else:
            number, place = divmod(number, len(key.codes))
            places.append(place)
    return tuple(reversed(places))


def drawn(measurement: Measurement, exact: Exact) -> Released:
    """What is shown of exact figures: the choice of groups, then the draws, in their order."""
    choice = measurement.choice
    figures: dict[Draw, NDArray[np.int64]] = {}
    places = np.arange(len(exact.units), dtype=np.intp)
    groups = exact.groups
    if isinstance(choice, NoisyUnits):
        shown = choice.draw(exact.units)
        places = np.array(sorted(shown), np.intp)
        groups = [(exact.groups or [])[place] for place in places.tolist()]
        figures[choice] = np.array([shown[place] for place in places.tolist()], np.int64)
    elif isinstance(choice, ShownGroups):
        places = np.array(choice.draw(exact.units), np.intp)
        groups = [(exact.groups or [])[place] for place in places.tolist()]
    elif isinstance(choice, NoisyTop):
        places = np.array(choice.draw(exact.values[choice.measure]), np.intp)
    centres: dict[Measure, NDArray[np.int64]] = {}
    for draw in measurement.draws:
        if isinstance(draw, NoisyReach):
            histograms = [exact.values[draw.measure.histogram][place] for place in places.tolist()]
            figures[draw] = draw.draw(histograms, centres[draw.measure.chosen].tolist())
        else:
            figures[draw] = centres[draw.measure] = _figures(draw, exact, places.tolist())
    return Released(places, groups, figures)


def _figures(
    draw: NoisyMeasure | NoisyQuantile, exact: Exact, places: list[int]
) -> NDArray[np.int64]:
    if isinstance(draw, NoisyQuantile):
        histograms = exact.values[draw.measure.histogram]
        return draw.draw([histograms[place] for place in places])
    held = exact.values[draw.measure]
    if isinstance(draw.measure, UnitBins):
        bins = draw.measure.bins
        flat = [held[place].get(at, 0) for place in places for at in range(bins)]
        return draw.draw(flat).reshape(len(places), bins)
    if not draw.measure.by_cell:
        return draw.draw(held)
    if isinstance(draw.measure, JointTotals):
        flat = [column[place] for column in held for place in places]
        return draw.draw(flat).reshape(len(held), len(places))
    return draw.draw([held[place] for place in places])
