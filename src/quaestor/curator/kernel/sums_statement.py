r"""Many sums in one statement: rows of units within all limits are added up where they are.

To add up by unit and cell first takes memory for every unit, cell and sum. A unit that is in few
enough cells, and has few enough rows in one, needs none of it: what its rows there add up to is
what it contributes. Who is over a limit goes the way of all units in other statements.

With R the least number of rows of all measures, let a unit have :math:`n \le R` rows in a cell.
Each is clamped to the bounds of a total where it is added, or has no value; together they add a
number from :math:`\min(0, n\,\mathrm{low})` to :math:`\max(0, n\,\mathrm{high})`, which lies
between the total's ``least`` and ``most``, and at most n to a count of rows: the clamps of units
change none of these.
Rows are held in a common table, so that those that are counted are those that are added up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quaestor.curator.kernel.measures import RowCount, Total, Units
from quaestor.curator.kernel.row_limits import Parted
from quaestor.curator.language.expressions import Column, nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.kernel.statement import StatementAuthor

__all__ = ["sums_statement"]

_MOST_COLUMNS: Final = 8
"""So many columns of all rows are held at most."""
_NONE: Final = "CAST(0 AS BIGINT)"


def sums_statement(author: StatementAuthor, measures: Sequence[Measure]) -> str:
    """Units, rows and totals by cell: the numbers of ``author.plain``, whichever way is quicker."""
    table = author.sql.dialect.common_table
    plain = all(type(measure) in {Units, RowCount, Total} for measure in measures)
    columns = _columns(author, measures)
    wide = len(columns) > _MOST_COLUMNS
    if table is None or wide or not plain or author.rows.single:
        return author.plain(measures)
    by = ", ".join(["u", *author.cell])
    parted = Parted(
        table=table,
        rows=author.numbered(
            {name: name for name in columns}, {name: f"r.{name}" for name in columns}
        ),
        by=["u", *author.cell],
        more={"pairs": f"SELECT {by}, COUNT(*) AS n FROM held GROUP BY {by}"},  # noqa: S608
        over_limit=_over_limit(author, measures),
    )
    each, figures = author.contributions(measures, parted.over(["h.*"]))
    names = [f"m{at}" for at in range(figures)]
    over = f"SELECT {', '.join([*author.cell, '1 AS w', *names])} FROM ({each}) o"  # noqa: S608
    parts = [_units(author, measures, parted), _sums(author, measures, parted), over]
    added = [author.added(name) for name in ("w", *names)]
    return author.by_cell(f"{parted.tables} {' UNION ALL '.join(parts)}", added)


def _columns(author: StatementAuthor, measures: Sequence[Measure]) -> list[str]:
    """The columns that the measures are of, by the names that they have on the engine."""
    operands = [getattr(measure, "operand", None) for measure in measures]
    named = (node for each in operands if each is not None for node in nodes(each))
    found = {node.name: None for node in named if isinstance(node, Column)}
    return [author.rows.columns[name].sql for name in found if name in author.rows.columns]


def _over_limit(author: StatementAuthor, measures: Sequence[Measure]) -> str:
    """The units and cells with too many rows, and all cells of units that are in too many."""
    least = min(m.rows for m in measures if isinstance(m, RowCount | Total))
    over = f"SELECT {', '.join(['u', *author.cell])} FROM pairs p WHERE n > {least}"  # noqa: S608
    if not author.cells.binding:
        return over
    crowded = f"SELECT u FROM pairs GROUP BY u HAVING COUNT(*) > {author.cells.groups}"  # noqa: S608
    return f"{over} OR u IN ({crowded})"


def _units(author: StatementAuthor, measures: Sequence[Measure], parted: Parted) -> str:
    """How many units within the limits there are, by cell."""
    counted = [
        f"{'COUNT(*)' if type(measure) is Units else _NONE} AS m{at}"
        for at, measure in enumerate(measures)
    ]
    return _by_cell(author, parted.within(["h.*"], "pairs"), ["COUNT(*) AS w", *counted])


def _sums(author: StatementAuthor, measures: Sequence[Measure], parted: Parted) -> str:
    """What the rows of units within the limits add up to, by cell."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    sums = [f"{_NONE} AS w"]
    for at, measure in enumerate(measures):
        figure = _NONE
        if type(measure) is Total:
            before[f"x{at}"], after[f"o{at}"] = author.steps(measure, f"x{at}")
            figure = author.unit_sum(_clamped(author, f"o{at}", measure), measure)
        elif type(measure) is RowCount and measure.operand is None:
            figure = "COUNT(*)"
        elif type(measure) is RowCount:
            before[f"x{at}"], after[f"o{at}"] = author.presence(measure, f"x{at}")
            figure = f"COUNT(o{at})"
        sums.append(f"{figure} AS m{at}")
    return _by_cell(author, author.computed(parted.within(["h.*"]), before, after), sums)


def _clamped(author: StatementAuthor, steps: str, measure: Total) -> str:
    """What one row adds, clamped last of all: whatever made steps of it may be wrong."""
    return author.sql.clip(steps, str(measure.low), str(measure.high), bare=True)


def _by_cell(author: StatementAuthor, rows: str, figures: list[str]) -> str:
    cell = author.cell
    grouped = f" GROUP BY {', '.join(cell)}" if cell else ""
    return f"SELECT {', '.join([*cell, *figures])} FROM ({rows}) s{grouped}"  # noqa: S608
