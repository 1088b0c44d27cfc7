"""All statements of a question: one of plain measures together, and one of each other measure.

The first one also says which private groups there are. Where all cells are declared and nothing is
plain, nobody needs it: a median of declared groups reads the table once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quaestor.curator.kernel.measures import (
    Distinct,
    JointTotals,
    RowCount,
    Total,
    UnitBins,
    Units,
    ValueCounts,
)
from quaestor.curator.kernel.statement import CellStatement, StatementAuthor
from quaestor.curator.kernel.sums_statement import sums_statement
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.kernel import relations
    from quaestor.curator.kernel.measurement import Cells
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.scalars.scalar import SQL

__all__ = ["counts_units", "statements_of"]

_FEW: Final = 3
"""So many totals take no longer by unit and cell."""


def counts_units(cells: Cells, measures: Sequence[Measure]) -> bool:
    """Whether there is a first statement, which counts the units of every cell."""
    plain = {Units, RowCount, Total, JointTotals}
    return cells.count is None or any(type(measure) in plain for measure in measures)


def statements_of(
    rows: relations.EngineRows, cells: Cells, measures: Sequence[Measure], sql: SQL
) -> list[CellStatement]:
    """The first statement is of all plain measures together, if any; each other has its own."""
    if rows.unit is None:
        raise InvalidParameter("rows", "public ones", "about somebody")
    author = StatementAuthor(rows, cells, sql)
    plain = tuple(m for m in measures if type(m) in {Units, RowCount, Total, JointTotals})
    made = []
    if counts_units(cells, measures):
        many = sum(type(measure) is Total for measure in plain) > _FEW
        added = sums_statement(author, plain) if many else author.plain(plain)
        made.append(CellStatement(sql=added, measures=plain))
    for measure in measures:
        if type(measure) is Distinct:
            made.append(CellStatement(sql=author.distinct(measure), measures=(measure,)))
        elif type(measure) is ValueCounts:
            made.append(CellStatement(sql=author.histogram(measure), measures=(measure,)))
        elif type(measure) is UnitBins:
            made.append(CellStatement(sql=author.bins(measure), measures=(measure,)))
        elif measure not in plain:
            raise InvalidParameter("measure", type(measure).__name__, "a measure")
    return made
