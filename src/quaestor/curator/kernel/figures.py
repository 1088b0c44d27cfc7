"""From a measurement to figures with noise: the only place where noise meets data.

What the engine returns is gathered by :mod:`quaestor.curator.kernel.gathered_figures`, which
refuses nothing because of what a row holds. A wrong shape raises before anything is drawn, and in
the same words as any other failure.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from quaestor.curator.catalog.model import outer_times
from quaestor.curator.kernel.cut_measures import CUT
from quaestor.curator.kernel.cut_statement import cut_statements
from quaestor.curator.kernel.draws import (
    NoisyQuantile,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.kernel.gathered_figures import Exact, PrivateGroups, gathered
from quaestor.curator.kernel.kept_groups import KeptGroups, kept_groups
from quaestor.curator.kernel.measures import JointTotals, UnitBins
from quaestor.curator.kernel.paired_rows import paired_rows
from quaestor.curator.kernel.question_statements import paired_statements, statements_of
from quaestor.curator.kernel.relations import MOST_ROWS, Relations
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from quaestor.accounting.releases import Release
    from quaestor.curator.catalog.model import Table
    from quaestor.curator.kernel.dated_rows import ChargedBlocks
    from quaestor.curator.kernel.draws import Draw, NoisyMeasure
    from quaestor.curator.kernel.measurement import Measurement
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.kernel.relations import Database, EngineRows
    from quaestor.curator.kernel.statement import CellStatement
    from quaestor.curator.language.expressions import Value

__all__ = [
    "Exact",
    "KeptGroups",
    "Prepared",
    "Released",
    "drawn",
    "drawn_of_kept",
    "gathered",
    "prepare",
]


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
        answers = [(each, self.database.columns(each.sql)) for each in self.statements]
        return gathered(self.measurement.cells, answers)

    def measured(self) -> Exact | KeptGroups:
        """The exact figures; those of private groups stay with an engine that keeps rows."""
        rows = self.database.kept_rows() if self.measurement.cells.count is None else None
        if rows is None:
            return self.exact()
        try:
            return kept_groups(self.measurement, self.statements, self.database, rows)
        except BaseException:
            rows.close()
            raise

    def draw(
        self,
        exact: Exact | KeptGroups,
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
        return drawn(asked, exact) if isinstance(exact, Exact) else drawn_of_kept(asked, exact)


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
    cut = len(plain) < len(measurement.measures)
    paired = paired_rows(measurement.rows, relations, measurement.cells) if cut else None
    if paired is not None:
        _checked(paired.inner, measurement)
        made = paired_statements(paired, measurement, relations.sql)
        return Prepared(measurement, tuple(made), database)
    made = statements_of(rows, measurement.cells, plain, relations.sql)
    if cut:
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


def drawn(measurement: Measurement, exact: Exact) -> Released:
    """What is shown of exact figures: the choice of groups, then the draws, in their order."""
    choice = measurement.choice
    figures: dict[Draw, NDArray[np.int64]] = {}
    places = np.arange(len(exact.units), dtype=np.intp)
    if isinstance(choice, NoisyUnits):
        places, figures[choice] = choice.draw(exact.units)
    elif isinstance(choice, ShownGroups):
        places = choice.draw(exact.units)
    elif isinstance(choice, NoisyTop):
        places = np.array(choice.draw(exact.values[choice.measure]), np.intp)
    return _released(measurement, exact, places, figures)


def drawn_of_kept(measurement: Measurement, kept: KeptGroups) -> Released:
    """The same where the engine keeps the groups: it is asked for those that are chosen."""
    choice = measurement.choice
    if not isinstance(choice, NoisyUnits | ShownGroups):
        raise InvalidParameter("choice", choice, "of groups by units, if they are private")
    exact, noisy = kept.shown(choice)
    figures: dict[Draw, NDArray[np.int64]] = {} if noisy is None else {choice: noisy}
    return _released(measurement, exact, np.arange(len(exact.units), dtype=np.intp), figures)


def _released(
    measurement: Measurement,
    exact: Exact,
    places: NDArray[np.intp],
    figures: dict[Draw, NDArray[np.int64]],
) -> Released:
    """What is drawn of the cells that are shown, and their keys."""
    groups = None if exact.groups is None else _taken(exact.groups, places)
    centres: dict[Measure, NDArray[np.int64]] = {}
    for draw in measurement.draws:
        if isinstance(draw, NoisyReach):
            histograms = [exact.values[draw.measure.histogram][place] for place in places.tolist()]
            figures[draw] = draw.draw(histograms, centres[draw.measure.chosen].tolist())
        else:
            figures[draw] = centres[draw.measure] = _figures(draw, exact, places)
    return Released(places, groups, figures)


def _taken(
    groups: Sequence[tuple[Value, ...]], places: NDArray[np.intp]
) -> list[tuple[Value, ...]]:
    """The keys of the groups that are shown; of others none is looked at."""
    if isinstance(groups, PrivateGroups):
        return groups.taken(places)
    return [groups[place] for place in places.tolist()]


def _figures(
    draw: NoisyMeasure | NoisyQuantile, exact: Exact, places: NDArray[np.intp]
) -> NDArray[np.int64]:
    if isinstance(draw, NoisyQuantile):
        histograms = exact.values[draw.measure.histogram]
        return draw.draw([histograms[place] for place in places.tolist()])
    held = exact.values[draw.measure]
    if isinstance(draw.measure, UnitBins):
        bins = draw.measure.bins
        flat = [held[place].get(at, 0) for place in places.tolist() for at in range(bins)]
        return draw.draw(flat).reshape(len(places), bins)
    if not draw.measure.by_cell:
        return draw.draw(held)
    if isinstance(draw.measure, JointTotals):
        columns = np.array(held, np.int64)[:, places]
        return draw.draw(columns.ravel()).reshape(columns.shape)
    return draw.draw(np.array(held, np.int64)[places])
