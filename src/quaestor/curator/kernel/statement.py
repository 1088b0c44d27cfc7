"""The outermost statements: the only place where what people have is added up.

Rows are numbered by cell: declared codes become whole numbers by a join with a list, and what
matches none is dropped. Then they are added up by unit and cell, each unit is kept in at most so
many cells (those whose mark with the unit comes first), its contribution to each is clamped to
constants of the measure, and only then are units added up. Nothing that one unit has changes what
is kept of another.

Private keys are codes instead of numbers: whole numbers, or bytes. They come back as hexadecimal
digits, so that what the engine tells apart is told apart here, and nothing else is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from quaestor.curator.kernel.measures import (
    Distinct,
    JointTotals,
    Measure,
    RowCount,
    Total,
    UnitBins,
    Units,
    ValueCounts,
)
from quaestor.curator.kernel.row_limits import Parted, few_of_each, mark_of, md5_of
from quaestor.curator.scalars.scalar import sized
from quaestor.curator.scalars.writer import ScalarWriter
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.kernel import relations
    from quaestor.curator.kernel.measurement import Cells, Code
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.scalars.scalar import SQL, Scalar

__all__ = ["CellStatement", "StatementAuthor", "UnitColumns"]

_WORD: Final = 2**31
_SHORT: Final = 2**26  # sums of so many steps over 2**36 rows have 62 bits
_WIDEST: Final = 2**62
_SMALLEST: Final = -600  # as a power of two
_NAME: Final = "{0}"
_PLACE: Final = "r.{0}"
"""Stands for a column that has no name yet, in what is made of it: names, bounds and steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellStatement:
    """SQL whose rows are: the cell (a number, or codes of private keys), then the figures.

    Plain measures have one statement together, with the number of units first; a histogram has
    one of its own (value, count), and so have different values (count).
    """

    sql: str
    measures: tuple[Measure, ...]
    whole: bool = False
    """Whether plain measures and what limits cut of them are together: the number of units first,
    then what is by cell, then what is of all cells together."""


@dataclass(frozen=True, slots=True)
class StatementAuthor:
    """Writes the statements of one question."""

    rows: relations.EngineRows
    cells: Cells
    sql: SQL

    # From rows to rows with a cell

    @property
    def cell(self) -> list[str]:
        """The columns that say which cell: its number, and the codes of private keys."""
        numbered = any(key.codes is not None for key in self.cells.keys)
        codes = [f"p{at}" for at, key in enumerate(self.cells.keys) if key.codes is None]
        return ["g"] * numbered + codes

    @property
    def order(self) -> str:
        """Which cells of a unit count first; marks may be equal, so cells have the last word."""
        whole = self._whole_unit and not self.cells.reals
        whole &= not any(map(self.cells.is_text, self.cell))
        mark = mark_of(self.sql, ["u", *self.cell], whole=whole, reals=self.cells.reals)
        return ", ".join([mark, *self.cell])

    @property
    def _whole_unit(self) -> bool:
        return self.rows.unit is not None and self.rows.unit.kind == "integer"

    def _scalar(self, expression: Expression) -> Scalar:
        return ScalarWriter(self.rows.columns, self.sql).scalar(expression)

    def _code(self, at: int) -> str:
        """The code of a key: what decides which cell a row is in."""
        key = self.cells.keys[at]
        x = self._scalar(key.expression)
        if x.kind != key.kind:
            raise InvalidParameter("key", f"a {x.kind}", f"a {key.kind}")
        if x.kind == "integer":
            whole = self.sql.rounded(x)
            return whole.sql if whole.whole else f"CAST({whole.sql} AS BIGINT)"
        if x.kind == "boolean":
            return f"CAST(CAST({x.sql} AS INT) AS BIGINT)"
        if x.kind == "date":
            return f"CAST({self.sql.dialect.days.format(x.sql)} AS BIGINT)"
        if x.kind == "timestamp":
            return f"CAST({self.sql.dialect.microseconds.format(x.sql)} AS BIGINT)"
        if x.kind == "real":
            return f"({self.sql.number(x)} + {self.sql.real(0.0)})"  # there is one zero
        return x.sql

    def numbered(self, operands: dict[str, str], clamped: dict[str, str]) -> str:
        """Rows about somebody in some cell: ``u``, the cell, and the operands.

        What follows looks at all rows of a unit together, and they are sent to one place for that
        if they are not there yet.
        """
        rows = self.numbered_anywhere(operands, clamped)
        return rows if self.rows.gathered else self.sql.dialect.gathered.format(rows)

    def numbered_anywhere(self, operands: dict[str, str], clamped: dict[str, str]) -> str:
        """The same rows, wherever they are."""
        keys = {f"k{at}": self._code(at) for at in range(len(self.cells.keys))}
        listed = [f"{value} AS {name}" for name, value in {**keys, **operands}.items()]
        raw = f"SELECT {', '.join(['u', *listed])} FROM ({self.rows.sql}) t"  # noqa: S608
        joins, places, private, weight = "", [], [], 1
        for at in reversed(range(len(self.cells.keys))):
            key = self.cells.keys[at]
            if key.codes is None:
                private.append(f"r.k{at} AS p{at}")
                continue
            known = [
                (self._literal(code), n) for n, code in enumerate(key.codes) if code is not None
            ]
            place = "NULL"
            if known:
                values = ", ".join(f"({code}, {n * weight})" for code, n in known)
                joins += f" LEFT JOIN (VALUES {values}) AS v{at}(k, n) ON r.k{at} = v{at}.k"
                place = f"v{at}.n"
            if None in key.codes:
                null = key.codes.index(None) * weight
                place = f"CASE WHEN r.k{at} IS NULL THEN {null} ELSE {place} END"
            places.append(place)
            weight *= len(key.codes)
        number = [f"{' + '.join(places)} AS g"] if places else []
        wanted = [f"{value} AS {name}" for name, value in clamped.items()]
        listed = ["u", *number, *reversed(private), *wanted]
        there = ["u IS NOT NULL", *(["g IS NOT NULL"] if places else [])]
        return (
            f"SELECT * FROM (SELECT {', '.join(listed)} FROM ({raw}) r{joins}) c "  # noqa: S608
            f"WHERE {' AND '.join(there)}"
        )

    def _literal(self, code: Code) -> str:
        if isinstance(code, str):
            return self.sql.text(code)
        if isinstance(code, float):
            return self.sql.real(code)
        return f"CAST({code} AS BIGINT)"

    def steps(self, measure: Total | ValueCounts, name: str) -> tuple[str, str]:
        """A number before, and in whole steps after, it was moved into the measure's bounds.

        It is a column by then: moving a long expression into bounds would write it out twice.
        """
        x = self._scalar(measure.operand)
        if x.kind not in {"integer", "real"}:
            raise InvalidParameter("operand", f"a {x.kind}", "a number")
        low, high, step = measure.low, measure.high, measure.step
        short = max(abs(low), abs(high)) < _WORD
        if x.step == step or (step == 1.0 and x.whole and x.step is None):
            clip = self.sql.clip(f"r.{name}", str(low), str(high), bare=True)
            return x.sql, f"CAST({clip} AS {'INT' if short else 'BIGINT'})"
        x = self.sql.flushed(x, _SMALLEST)  # what is left does not underflow when it is divided
        first, last = self.sql.real(low * step), self.sql.real(high * step)
        inside = self.sql.clip(f"r.{name}", first, last, bare=True)
        sized(4 * x.size)
        steps = self.sql.integer(f"{inside} / {self.sql.real(step)}", 32 if short else 64)
        return self.sql.number(x), steps

    def presence(self, measure: RowCount, name: str) -> tuple[str, str]:
        """A mark where there is a value, before and after rows are numbered."""
        assert measure.operand is not None  # noqa: S101
        there = self._scalar(measure.operand).sql
        return f"CASE WHEN {there} IS NOT NULL THEN 1 END", f"r.{name}"

    def outside(self, measure: Total, name: str) -> tuple[str, str]:
        """A number before, and after it whether it is not between the measure's bounds."""
        x = self._scalar(measure.operand)
        if x.kind not in {"integer", "real"}:
            raise InvalidParameter("operand", f"a {x.kind}", "a number")
        low, high = (self.sql.real(end * measure.step) for end in (measure.low, measure.high))
        return self.sql.number(x), f"(r.{name} < {low} OR r.{name} > {high})"

    # From rows to one row a unit and cell

    def _kept(self, by_unit: str, columns: list[str]) -> str:
        """Of each unit's cells, those that count. Rows of one cell have the same rank."""
        if not self.cells.binding:
            return by_unit
        rank = f"dense_rank() OVER (PARTITION BY u ORDER BY {self.order})"
        names = ["u", *self.cell, *columns]
        return few_of_each(self.sql, by_unit, names, rank=rank, most=self.cells.groups)

    def _shown(self) -> list[str]:
        """The cell as it comes back: its number, and private codes as whole numbers or bytes."""
        return [
            self.sql.dialect.encoded.format(name) if self.cells.is_text(name) else name
            for name in self.cell
        ]

    def by_cell(self, rows: str, figures: list[str], more: Sequence[str] = ()) -> str:
        """Figures of rows, one row a cell."""
        by = [*self.cell, *more]
        listed = ", ".join([*self._shown(), *more, *figures])
        grouped = f" GROUP BY {', '.join(by)}" if by else ""
        return f"SELECT {listed} FROM ({rows}) f{grouped}"  # noqa: S608

    def added(self, figure: str) -> str:
        """The sum of a figure of units, in 64 bits: moved into the 62 that are read of it."""
        wide = f"COALESCE({self.sql.dialect.added.format(figure)}, 0)"
        return f"CAST(LEAST(GREATEST({wide}, -{_WIDEST}), {_WIDEST}) AS BIGINT)"

    def plain(self, measures: Sequence[Measure]) -> str:
        """Units, rows and totals: added up by unit and cell, clamped, added up by cell."""
        each, figures = self.contributions(measures)
        added = [self.added(f"m{at}") for at in range(figures)]
        return self.by_cell(each, ["COUNT(*)", *added])

    def contributions(
        self, measures: Sequence[Measure], held: str | None = None
    ) -> tuple[str, int]:
        """One row a unit and cell that count: ``u``, the cell, and ``m0``, ``m1``, ..., clamped.

        Of all rows, or of those that are held with their cells and the columns that it takes.
        """
        wanted = UnitColumns()
        figures = [figure for measure in measures for figure in wanted.figures(self, measure)]
        # Without a choice of cells rows need not meet: they are added up where they are, first.
        number = self.numbered if self.cells.binding else self.numbered_anywhere
        before, after = wanted.before, wanted.after
        rows = number(before, after) if held is None else self.computed(held, before, after)
        by_unit = self.by_unit(rows, wanted.sums)
        if not self.rows.single:
            by_unit = self._kept(by_unit, ["n", *wanted.names])
        clamped = [f"{figure} AS m{at}" for at, figure in enumerate(figures)]
        each = f"SELECT {', '.join(['u', *self.cell, *clamped])} FROM ({by_unit}) q"  # noqa: S608
        return each, len(figures)

    def computed(self, held: str, before: dict[str, str], after: dict[str, str]) -> str:
        """Rows that are held with their cells: operands are computed, then moved into bounds."""
        by = ["u", *self.cell]
        first = ", ".join([*by, *(f"{value} AS {name}" for name, value in before.items())])
        last = ", ".join([*by, *(f"{value} AS {name}" for name, value in after.items())])
        return f"SELECT {last} FROM (SELECT {first} FROM ({held}) t) r"  # noqa: S608

    def by_unit(self, numbered: str, sums: list[str]) -> str:
        """One row a unit and cell. A unit that has one row is in one cell."""
        by = ", ".join(["u", *self.cell])
        if self.rows.single:
            listed = ", ".join([by, "CAST(1 AS BIGINT) AS n", *sums])
            return f"SELECT {listed} FROM ({numbered}) s"  # noqa: S608
        listed = ", ".join([by, "COUNT(*) AS n", *sums])
        return f"SELECT {listed} FROM ({numbered}) s GROUP BY {by}"  # noqa: S608

    def count(self, value: str) -> str:
        """How many of a unit's rows in a cell have a value."""
        if self.rows.single:
            return f"CAST(CASE WHEN {value} IS NULL THEN 0 ELSE 1 END AS BIGINT)"
        return f"COUNT({value})"

    def sum(self, steps: str, measure: Total) -> str:
        """What a unit's rows in a cell add up to."""
        if self.rows.single:
            return f"CAST(COALESCE({steps}, 0) AS BIGINT)"
        return self.unit_sum(steps, measure)

    def unit_sum(self, steps: str, measure: Total) -> str:
        """One unit's sum in 64 bits: of few steps as it is, of many after it was moved there."""
        if max(abs(measure.low), abs(measure.high)) <= _SHORT:
            return f"CAST(COALESCE(SUM({steps}), 0) AS BIGINT)"
        return self.added(steps)

    def contribution(self, total: str, count: str, measure: Total) -> str:
        """What one unit adds to one cell, as if it had at most ``rows`` rows: clamped, always.

        With quotient q and rest r of total and count, ``rows * total / count`` is
        ``rows * q + rows * r / count``; the parts have one sign, so that rounding the second
        towards zero rounds the whole, and neither leaves 64 bits.
        """
        quotient, rows = self.sql.dialect.quotient, measure.rows
        by = f"NULLIF({count}, 0)"
        rest = quotient.format(f"(({total} % {by}) * {rows})", by)
        picked = f"({quotient.format(total, by)} * {rows} + {rest})"
        value = f"CASE WHEN {count} <= {rows} THEN {total} ELSE {picked} END"
        return f"LEAST(GREATEST({value}, {measure.least}), {measure.most})"

    def distinct(self, measure: Distinct) -> str:
        """Different values: at most so many of each unit, those whose mark comes first."""
        x = self._scalar(measure.operand)
        if x.kind == "real":
            raise InvalidParameter("distinct", "a real", "whole numbers, texts, dates, truths")
        value = x.sql
        if x.kind == "integer":
            value = f"CAST({self.sql.rounded(x).sql} AS BIGINT)"
        elif x.kind == "boolean":
            value = f"CAST({x.sql} AS INT)"
        numbered = self.numbered({"x": value}, {"v": "r.x"})
        by = ", ".join(["u", *self.cell])
        kept = self._kept(f"SELECT DISTINCT {by}, v FROM ({numbered}) s", ["v"])  # noqa: S608
        whole = self._whole_unit and x.kind in {"integer", "boolean"}
        order = f"{mark_of(self.sql, ['u', 'v'], whole=whole)}, v"
        ranked = (
            f"SELECT {by}, v, row_number() OVER (PARTITION BY {by} ORDER BY {order}) AS nth "  # noqa: S608
            f"FROM ({kept}) d WHERE v IS NOT NULL"
        )
        picked = f"SELECT * FROM ({ranked}) e WHERE nth <= {measure.rows}"  # noqa: S608
        return self.by_cell(picked, ["COUNT(DISTINCT v)"])

    def histogram(self, measure: ValueCounts) -> str:
        """Rows by value: of a unit with too many, those in the middle of equal stretches.

        They have the same quantiles, as nearly as so few can. Of count rows, those up to a rank
        are ``(2 rows rank + count) / 2 count``, rounded down: none at 0, and just ``rows`` at the
        end, so that no unit counts with more.
        """
        before, after = self.steps(measure, "x")
        numbered = self.numbered({"x": before}, {"v": after})
        by = ", ".join(["u", *self.cell])
        counted = f"SELECT {by}, v, COUNT(*) AS n FROM ({numbered}) s GROUP BY {by}, v"  # noqa: S608
        table = self.sql.dialect.common_table
        if table is None:
            thinned = self._thinned(self._kept(counted, ["v", "n"]), measure)
            return self.by_cell(thinned, [self.added("m")], ["v"])
        kept, rows = (
            (self._kept(counted, ["v", "n"]), "SUM(n)")
            if self.cells.binding
            else (numbered, "COUNT(*)")
        )
        parted = Parted(
            table=table,
            rows=f"SELECT * FROM ({kept}) h WHERE v IS NOT NULL",  # noqa: S608
            by=["u", *self.cell],
            over_limit=f"SELECT {by} FROM held GROUP BY {by} HAVING {rows} > {measure.rows}",  # noqa: S608
        )
        over = f"SELECT {by}, v, CAST({rows} AS BIGINT) AS n FROM ({parted.over(['h.*'])}) b"  # noqa: S608
        each = "n" if self.cells.binding else "CAST(1 AS BIGINT)"
        few = parted.within([*self.cell, "v", f"{each} AS m"])
        thinned = self._thinned(f"{over} GROUP BY {by}, v", measure)
        union = f"{parted.tables} {few} UNION ALL {thinned}"
        return self.by_cell(union, [self.added("m")], ["v"])

    def _thinned(self, counted: str, measure: ValueCounts) -> str:
        """Of a unit's rows by value in a cell, how many count: ``m`` of each value."""
        by = ", ".join(["u", *self.cell])
        window = f"PARTITION BY {by}"
        ranked = (
            f"SELECT {by}, v, n, CAST(SUM(n) OVER ({window} ORDER BY v "  # noqa: S608
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS upto, "
            f"CAST(SUM(n) OVER ({window}) AS BIGINT) AS every FROM ({counted}) h "
            "WHERE v IS NOT NULL"
        )
        quotient, twice = self.sql.dialect.quotient, "(every * 2)"
        upto = quotient.format(f"(upto * {2 * measure.rows} + every)", twice)
        below = quotient.format(f"((upto - n) * {2 * measure.rows} + every)", twice)
        thin = f"CASE WHEN every <= {measure.rows} THEN n ELSE {upto} - {below} END"
        picked = f"SELECT {', '.join([*self.cell, 'v'])}, {thin} AS m FROM ({ranked}) i"  # noqa: S608
        return f"SELECT * FROM ({picked}) j WHERE m > 0"  # noqa: S608

    def bins(self, measure: UnitBins) -> str:
        """Units by how much they have: one row a unit and cell, and of it the number of its bin."""
        by = ", ".join(["u", *self.cell])
        if measure.of == "value":
            x = self._scalar(measure.keys[0])
            if x.kind not in {"integer", "real"}:
                raise InvalidParameter("operand", f"a {x.kind}", "a number")
            numbered = self.numbered({"x": self.sql.number(x)}, {"s": "r.x"})
            # what is not there comes last, and goes only when the unit's cells are chosen
            missing = "CASE WHEN s IS NULL THEN 1 ELSE 0 END"
            order = f"{missing}, {md5_of(self.sql, ['u', 's'], ('s',))}, s"
            ranked = (
                f"SELECT {by}, s, row_number() OVER (PARTITION BY {by} ORDER BY {order}) AS nth "  # noqa: S608
                f"FROM ({numbered}) v"
            )
            by_unit = f"SELECT {by}, s FROM ({ranked}) w WHERE nth = 1"  # noqa: S608
        else:
            keys = {f"x{at}": self._scalar(key) for at, key in enumerate(measure.keys)}
            values = {
                name: self.sql.number(x) if x.kind in {"integer", "real"} else x.sql
                for name, x in keys.items()
            }
            numbered = self.numbered(values, {f"o{at}": f"r.x{at}" for at in range(len(keys))})
            groups = ", ".join([by, *(f"o{at}" for at in range(len(keys)))])
            parts = f"SELECT {groups}, COUNT(*) AS n FROM ({numbered}) v GROUP BY {groups}"  # noqa: S608
            much = "MAX(n)" if measure.of == "rows" else "COUNT(*)"
            by_unit = f"SELECT {by}, {much} AS s FROM ({parts}) w GROUP BY {by}"  # noqa: S608
        kept = self._kept(by_unit, ["s"])
        place = self._bin(measure.edges, 0, len(measure.edges))
        placed = (
            f"SELECT {', '.join([*self.cell, f'{place} AS v'])} FROM ({kept}) h "  # noqa: S608
            "WHERE s IS NOT NULL"
        )
        return self.by_cell(placed, ["COUNT(*)"], ["v"])

    def _bin(self, edges: Sequence[float], first: int, last: int) -> str:
        """The number of the bin of ``s``, by halving: how many of these edges are below it."""
        if first == last:
            return str(first)
        middle = (first + last) // 2
        below, above = self._bin(edges, first, middle), self._bin(edges, middle + 1, last)
        return f"CASE WHEN s <= {self.sql.real(edges[middle])} THEN {below} ELSE {above} END"


@dataclass(slots=True)
class UnitColumns:
    """The columns of one row a unit and cell that figures are made of, each of them once.

    ``before`` and ``after`` are of rows, before and after they are numbered; ``sums`` add these up.
    """

    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    sums: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def figures(self, author: StatementAuthor, measure: Measure) -> list[str]:
        """What one unit adds to one cell, clamped: a number, or one of each joint total."""
        if type(measure) is Units:
            return ["1"]
        if type(measure) is RowCount:
            return [_capped(self._rows(author, measure), measure.rows)]
        totals = measure.totals if type(measure) is JointTotals else (measure,)
        parts = []
        for total in totals:
            assert type(total) is Total  # noqa: S101
            count, added = self.total(author, total)
            parts.append(author.contribution(added, count, total))
        return _jointly(parts, measure.bound) if type(measure) is JointTotals else parts

    def total(self, author: StatementAuthor, total: Total) -> tuple[str, str]:
        """How many of a unit's rows in a cell have a value, and what they add up to."""
        before, after = author.steps(total, _NAME)
        name = self._after(after.replace(_PLACE, self._before(before)))
        count = self._summed(f"n{name}", author.count(f"o{name}"))
        return count, self._summed(f"s{name}", author.sum(f"o{name}", total))

    def outside(self, author: StatementAuthor, totals: Sequence[Total]) -> str:
        """How many of a unit's rows in a cell have a value outside the bounds of its total."""
        written = [author.outside(total, _NAME) for total in totals]
        met = [after.replace(_PLACE, self._before(before)) for before, after in written]
        return self._counted(author, f"CASE WHEN {' OR '.join(met)} THEN 1 END")

    def _rows(self, author: StatementAuthor, measure: RowCount) -> str:
        if measure.operand is None:
            return "n"
        before, after = author.presence(measure, _NAME)
        return self._counted(author, after.replace(_PLACE, self._before(before)))

    def _counted(self, author: StatementAuthor, value: str) -> str:
        name = self._after(value)
        return self._summed(f"n{name}", author.count(f"o{name}"))

    def _before(self, value: str) -> str:
        """What a value of rows is called before they are numbered."""
        return "r." + self._named(self.before, "x", value)

    def _after(self, value: str) -> str:
        """The number of a value of numbered rows."""
        return self._named(self.after, "o", value)[1:]

    @staticmethod
    def _named(values: dict[str, str], letter: str, value: str) -> str:
        for name, known in values.items():
            if known == value:
                return name
        values[f"{letter}{len(values)}"] = value
        return f"{letter}{len(values) - 1}"

    def _summed(self, name: str, value: str) -> str:
        if name not in self.names:
            self.names.append(name)
            self.sums.append(f"{value} AS {name}")
        return name


def _capped(count: str, most: int) -> str:
    return f"CASE WHEN {count} > {most} THEN {most} ELSE {count} END"


def _jointly(parts: list[str], bound: int) -> list[str]:
    """Each contribution cut to what those before it have left of the bound.

    Cut one after another, they use the lesser of the bound and of what they are uncut: so that is
    what is left, without writing out how each was cut.
    """
    cut: list[str] = []
    for at, part in enumerate(parts):
        used = "".join(f" - abs({before})" for before in parts[:at])
        left = f"GREATEST({bound}{used}, 0)"
        cut.append(f"LEAST(GREATEST({part}, -{left}), {left})")
    return cut
