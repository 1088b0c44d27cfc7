r"""All statements of a question: one of plain measures together, and one of each other measure.

The first one also says which private groups there are. Where all cells are declared and nothing is
plain, nobody needs it: a median of declared groups reads the table once.

What limits cut of plain measures is in the same statement where rows are the same under inner and
outer limits (:mod:`~quaestor.curator.kernel.paired_rows`): one scan, and one ranking of cells. It
has the numbers of the statements of :mod:`~quaestor.curator.kernel.statement` and
:mod:`~quaestor.curator.kernel.cut_statement`:

- Both limits keep a unit in the cells whose mark comes first, G of them and :math:`G' \ge G`. So
  those that count are the first of those under outer limits, and the place of a cell says all:
  it counts up to G, and is dropped from there to :math:`G'`.
- A unit that is in no more than G cells has nothing dropped, and needs no places.

Every contribution is clamped to constants of its measure before units are added up, and what a unit
has in cells that do not count becomes one number of it, clamped too. Nothing that one unit has
changes what is counted of another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from quaestor.curator.kernel.cut_measures import CUT, Beyond, Dropped, Excess
from quaestor.curator.kernel.measures import (
    Distinct,
    JointTotals,
    RowCount,
    Total,
    UnitBins,
    Units,
    ValueCounts,
)
from quaestor.curator.kernel.row_limits import Parted
from quaestor.curator.kernel.statement import CellStatement, StatementAuthor, UnitColumns
from quaestor.curator.kernel.sums_statement import sums_statement
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.kernel import relations
    from quaestor.curator.kernel.measurement import Cells, Measurement
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.kernel.paired_rows import PairedRows
    from quaestor.curator.scalars.scalar import SQL

__all__ = ["counts_units", "paired_statements", "statements_of"]

_CUT_ORDER: Final = (Excess, Dropped, Beyond)
"""What is by cell comes first."""

_FEW: Final = 3
"""So many totals take no longer by unit and cell."""


def counts_units(cells: Cells, measures: Sequence[Measure]) -> bool:
    """Whether there is a first statement, which counts the units of every cell."""
    return cells.count is None or any(map(_is_plain, measures))


def statements_of(
    rows: relations.EngineRows, cells: Cells, measures: Sequence[Measure], sql: SQL
) -> list[CellStatement]:
    """The first statement is of all plain measures together, if any; each other has its own."""
    if rows.unit is None:
        raise InvalidParameter("rows", "public ones", "about somebody")
    author = StatementAuthor(rows, cells, sql)
    plain = tuple(filter(_is_plain, measures))
    made = []
    if counts_units(cells, measures):
        many = sum(type(measure) is Total for measure in plain) > _FEW
        added = sums_statement(author, plain) if many else author.plain(plain)
        made.append(CellStatement(sql=added, measures=plain))
    return made + _others(author, measures)


def paired_statements(rows: PairedRows, measurement: Measurement, sql: SQL) -> list[CellStatement]:
    """The same with what limits cut of plain measures, of rows that are paired."""
    if rows.inner.unit is None:
        raise InvalidParameter("rows", "public ones", "about somebody")
    plain, cut = (
        tuple(each for each in measurement.measures if (type(each) in CUT) == is_cut)
        for is_cut in (False, True)
    )
    inner, outer = (
        StatementAuthor(each, measurement.cells, sql) for each in (rows.inner, rows.outer)
    )
    together = tuple(filter(_is_plain, plain))
    together += tuple(sorted(cut, key=lambda each: _CUT_ORDER.index(type(each))))
    groups = measurement.outer_groups or measurement.cells.groups
    written = _WholeAuthor(inner, outer, groups).written(together)
    first = CellStatement(sql=written, measures=together, whole=True)
    return [first, *_others(inner, plain)]


def _is_plain(measure: Measure) -> bool:
    return type(measure) in {Units, RowCount, Total, JointTotals}


def _others(author: StatementAuthor, measures: Sequence[Measure]) -> list[CellStatement]:
    """Statements of measures that have one of their own."""
    made = []
    for measure in measures:
        if type(measure) is Distinct:
            made.append(CellStatement(sql=author.distinct(measure), measures=(measure,)))
        elif type(measure) is ValueCounts:
            made.append(CellStatement(sql=author.histogram(measure), measures=(measure,)))
        elif type(measure) is UnitBins:
            made.append(CellStatement(sql=author.bins(measure), measures=(measure,)))
        elif not _is_plain(measure):
            raise InvalidParameter("measure", type(measure).__name__, "a measure")
    return made


@dataclass(slots=True)
class _Figures:
    """What is known of one unit in one cell: ``f0``, ``f1``, ... of it, and what they make."""

    wanted: UnitColumns = field(default_factory=UnitColumns)
    clamped: dict[str, str] = field(default_factory=dict)
    """What it contributes under a limit, clamped, by the name that it has in what follows."""
    of_cell: list[str] = field(default_factory=list)
    """What it adds to figures of the cell."""
    dropped: list[tuple[str, int]] = field(default_factory=list)
    """What it has there under outer limits, and the most that counts of it if it is dropped."""
    beyond: list[str] = field(default_factory=list)
    """Whether it is beyond the outer limits there."""

    def figures(self, author: StatementAuthor, measure: Measure) -> list[str]:
        """The names of what it contributes to a measure."""
        found = self.wanted.figures(author, measure)
        return [self.clamped.setdefault(each, f"f{len(self.clamped)}") for each in found]


@dataclass(frozen=True, slots=True)
class _WholeAuthor:
    """Writes the statement; both authors write the same rows and cells."""

    inner: StatementAuthor
    outer: StatementAuthor
    outer_groups: int

    def written(self, measures: Sequence[Measure]) -> str:
        """By cell: the number of units, and figures; then what is of all cells together."""
        made = _Figures()
        for measure in measures:
            self._add(measure, made)
        count = f"SELECT * FROM placed WHERE place <= {self.inner.cells.groups}"  # noqa: S608
        added = [self.inner.added(f"m{at}") for at in range(len(made.of_cell))]
        by_cell = self.inner.by_cell(count, ["COUNT(*)", *added])
        tables = self._placed(self._by_unit(made))
        if not (made.dropped or made.beyond):
            return f"{tables} {by_cell}"
        return (
            f"{tables} SELECT x.*, y.* FROM ({by_cell}) x "  # noqa: S608
            f"CROSS JOIN ({self._overall(made)}) y"
        )

    def _add(self, measure: Measure, made: _Figures) -> None:
        """Say how a measure is made of what is known of a unit in a cell."""
        if type(measure) is Excess:
            (a,), (b,) = (
                made.figures(author, of)
                for author, of in ((self.inner, measure.inner), (self.outer, measure.outer))
            )
            more = f"{_wide(b)} * {measure.times} - {_wide(a)}"
            made.of_cell.append(f"LEAST(GREATEST({more}, {measure.low}), {measure.high})")
        elif type(measure) is Dropped:
            (b,) = made.figures(self.outer, measure.outer)
            made.dropped.append((f"abs({_wide(b)} * {measure.times})", measure.most))
        elif type(measure) is Beyond:
            made.beyond.append(self._is_beyond(measure, made.wanted))
        else:
            made.of_cell += made.figures(self.inner, measure)

    def _is_beyond(self, measure: Beyond, wanted: UnitColumns) -> str:
        """One where a unit has too many rows in a cell, or a value or a sum that is too large."""
        limits = [f"n > {measure.rows}"]
        if measure.totals:
            outside = wanted.outside(self.outer, measure.totals)
            limits.append(f"{outside} > 0")
        for total, most in zip(measure.totals, measure.most, strict=True):
            _, added = wanted.total(self.outer, total)
            limits.append(f"abs({added}) > {most}")
        return f"CASE WHEN {' OR '.join(limits)} THEN 1 ELSE 0 END"

    def _by_unit(self, made: _Figures) -> str:
        """One row a unit and cell: ``m0``, ... ``d0``, ... and ``w0``, ..."""
        by = ["u", *self.inner.cell]
        numbered = self.inner.numbered(made.wanted.before, made.wanted.after)
        rows = self.inner.by_unit(numbered, made.wanted.sums)
        beyond = [f"{value} AS w{at}" for at, value in enumerate(made.beyond)]
        first = [*by, *(f"{value} AS {name}" for value, name in made.clamped.items()), *beyond]
        last = [
            *by,
            *(f"{value} AS m{at}" for at, value in enumerate(made.of_cell)),
            *(f"{value} AS d{at}" for at, (value, _) in enumerate(made.dropped)),
            *(f"w{at}" for at in range(len(beyond))),
        ]
        clamped = f"SELECT {', '.join(first)} FROM ({rows}) q"  # noqa: S608
        return f"SELECT {', '.join(last)} FROM ({clamped}) e"  # noqa: S608

    def _placed(self, by_unit: str) -> str:
        """The common tables, the last of which, ``placed``, has each cell's place of its unit."""
        table = self.inner.sql.dialect.common_table
        assert table is not None  # noqa: S101  # else it is not written
        first = "CAST(1 AS BIGINT) AS place"
        if self.inner.rows.single or not self.inner.cells.binding:
            placed = f"SELECT e.*, {first} FROM ({by_unit}) e"  # noqa: S608
            return f"WITH {table.format('placed', placed)}"
        groups = self.inner.cells.groups
        over = f"SELECT u FROM held GROUP BY u HAVING COUNT(*) > {groups}"  # noqa: S608
        parted = Parted(table=table, rows=by_unit, by=["u"], over_limit=over)
        place = f"row_number() OVER (PARTITION BY u ORDER BY {self.inner.order}) AS place"
        few, many = parted.within(["h.*", first]), parted.over(["h.*"])
        placed = f"{few} UNION ALL SELECT w.*, {place} FROM ({many}) w"  # noqa: S608
        return f"{parted.tables}, {table.format('placed', placed)}"

    def _overall(self, made: _Figures) -> str:
        """Over units: the most in a cell that is dropped, clamped; and how many are beyond."""
        inner, outer, single = self.inner.cells.groups, self.outer_groups, self.inner.rows.single
        most = "{0}" if single else "MAX({0})"
        dropped = f"CASE WHEN place > {inner} AND place <= {outer} THEN d{{0}} ELSE 0 END"
        listed = [
            f"{'CAST(1 AS BIGINT)' if single else 'COUNT(*)'} AS c",
            *(
                f"LEAST({most.format(dropped.format(at))}, {limit}) AS d{at}"
                for at, (_, limit) in enumerate(made.dropped)
            ),
            *(f"{most.format(f'w{at}')} AS w{at}" for at in range(len(made.beyond))),
        ]
        grouped = "" if single else " GROUP BY u"
        units = f"SELECT {', '.join(listed)} FROM placed{grouped}"  # noqa: S608
        figures = [
            *(self.inner.added(f"d{at}") for at in range(len(made.dropped))),
            *(
                f"COUNT(CASE WHEN w{at} > 0 OR c > {outer} THEN 1 END)"
                for at in range(len(made.beyond))
            ),
        ]
        return f"SELECT {', '.join(figures)} FROM ({units}) f"  # noqa: S608


def _wide(figure: str) -> str:
    return f"CAST({figure} AS BIGINT)"
