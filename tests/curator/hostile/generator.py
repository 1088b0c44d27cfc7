"""Hostile questions, drawn from a grammar: statement by statement the same for the same seed.

The grammar knows the catalog, the values that rows may hold, and how SQL may be written; it does
not know any attack. Each statement has a few columns in its *focus*, from which most of its parts
are drawn: what goes wrong mostly goes wrong where one column meets itself.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from tests.curator.hostile.neighbours import NOBODY, TARGET, WORLDS, held
from tests.curator.hostile.spelling import (
    DAYS,
    NUMBERS,
    TEXTS,
    WILD,
    alike,
    constant,
    misspelt,
    name_near,
    quoted,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quaestor.curator.catalog.model import Catalog, Table

__all__ = ["Statement", "statement", "statements"]

_KINDS = ("integer", "real", "text", "boolean", "date")
_NUMBER_KINDS = ("integer", "real")
_COMPARED = ("=", "=", "<>", "<", "<=", ">", ">=")
_PARTS = ("YEAR", "YEAR", "QUARTER", "MONTH", "DAY", "DAYOFWEEK", "WEEK", "DAYOFYEAR", "ISODOW")
_ENDS = ((0, 1), (0, 100), (-5, 5), (0, 1000), (-1000, 1000), (0, 10_000), (-20_000, 20_000),
         (-1_000_000, 1_000_000), (0, 100_000_000))  # fmt: skip
_LIKE = ("%", "_%", "R%", "%e", "%\\%", "r_me", "\u212a%")
_WEIGHTS = {"real": 6, "integer": 2, "date": 3}
_KEY_KINDS = (None, "text", "text", "integer", "date")
_MOST_JOINED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A question, the person whose rows it is asked with and without, and its odd names."""

    number: int
    sql: str
    world: str
    names: tuple[str, ...]
    """Aliases that were drawn from near the code's own names."""


def statement(catalog: Catalog, seed: int, number: int) -> Statement:
    """One statement: the same for the same seed and number."""
    draw = random.Random(f"{seed}:{number}")
    world = draw.choice(WORLDS)
    writer = _Writer(draw, catalog, world, random.Random(f"{seed}:{number}:together"))
    return Statement(number=number, sql=writer.question(), world=world, names=tuple(writer.odd))


def statements(catalog: Catalog, seed: int, count: int) -> Iterator[Statement]:
    """The first so many statements."""
    return (statement(catalog, seed, number) for number in range(count))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column that may be named: how, of what kind, whether sums of it have bounds."""

    written: str
    name: str
    kind: str
    bounded: bool
    origin: tuple[str, str] | None
    """The table and column it is a copy of."""
    unit: bool = False


@dataclass(slots=True)
class _Rows:
    """Something after FROM, and its columns."""

    sql: str
    columns: list[_Column]
    private: bool
    dataset: str | None
    single: bool = True
    """Whether it may stand on the right of a join: it is not itself one."""


_held = cache(held)


@dataclass(slots=True)
class _Writer:
    """Writes one statement."""

    draw: random.Random
    catalog: Catalog
    world: str
    also: random.Random
    """What decides how several questions are asked together: all else is as it would be alone."""
    odd: list[str] = field(default_factory=list)
    focus: list[str] = field(default_factory=list)
    asides: list[str] = field(default_factory=list)
    """Conditions that ask public tables, for the WHERE of the whole question."""
    named: int = 0
    tables: int = 0
    terse: bool = False
    """Whether little is added to what is asked: filters hide as much as they show."""

    # -- small help ---------------------------------------------------------------------------

    def _maybe(self, chance: float) -> bool:
        return self.draw.random() < chance

    def _one_of(self, *ways: Callable[[], str]) -> str:
        return self.draw.choice(ways)()

    def _short(self) -> str:
        self.named += 1
        return f"r{self.named}"

    def _alias(self, taken: set[str]) -> str:
        """A name for a column: plain, or near those that the code may use."""
        for _ in range(5):
            if self._maybe(0.15):
                made = f"x{len(taken)}"
            else:
                made = name_near(self.draw, self.focus)
                self.odd.append(made)
            if made.lower() not in taken and made.strip():
                taken.add(made.lower())
                return quoted(made)
        taken.add(made := f"y{len(taken)}")
        return made

    # -- rows ---------------------------------------------------------------------------------

    def _base(self, table: Table, alias: str | None = None) -> _Rows:
        self.tables += 1
        alias = alias or self._short()
        columns = [
            _Column(
                written=f"{alias}.{facts.name}",
                name=facts.name,
                kind=facts.kind,
                bounded=facts.low is not None,
                origin=(table.name, facts.name),
                unit=facts.name == table.unit,
            )
            for facts in table.columns
        ]
        return _Rows(f"{table.name} AS {alias}", columns, table.private, table.dataset)

    def _table(self, *, dataset: str | None = None, public: bool = False) -> Table:
        tables = [
            table
            for table in self.catalog.tables
            if table.private != public and (dataset is None or table.dataset == dataset)
        ]
        heavy = [table for table in tables if len(table.columns) > 10]
        return self.draw.choice(tables + 3 * heavy)

    def _focused(self, table: Table) -> None:
        """Some columns; those that can be added up more often than others."""
        names = [
            c.name
            for c in table.columns
            for _ in range(_WEIGHTS.get(c.kind, 1) if c.low is not None or c.kind == "date" else 1)
        ]
        self.focus = list(
            {self.draw.choice(names): None for _ in range(self.draw.choice((1, 1, 1, 2, 3)))}
        )

    def _source(self, table: Table, depth: int, plain: float = 0.6) -> _Rows:
        """A table, or a sub-query of it that filters, projects and joins."""
        if depth <= 0 or self._maybe(plain):
            return self._base(table)
        if self._maybe(0.25):
            return self._people(self._source(table, depth - 1))
        inner = self._source(table, depth - 1)
        inner = inner if self.terse else self._joined(inner, 0.25)
        return self._sub_query(inner)

    def _sub_query(self, inner: _Rows) -> _Rows:
        alias, taken = self._short(), set[str]()
        unit = next((column for column in inner.columns if column.unit), None)
        chosen = self._chosen(inner)
        parts, columns = [], []
        if unit is not None and self._maybe(0.85):
            name = unit.name if self._maybe(0.8) else self._alias(taken).strip('"')
            taken.add(name.lower())
            parts.append(f"{unit.written} AS {quoted(name)}")
            columns.append(self._renamed(unit, alias, name))
        for column in chosen:
            same = 0.4 if self._in_focus(column) else 0.15
            same_name = column.name.lower() not in taken and self._maybe(same)
            name = quoted(column.name) if same_name else self._alias(taken)
            taken.add(name.strip('"').lower())
            plain = self._maybe(0.5)
            made = column.written if plain else self._like_column(column, inner)
            parts.append(f"{made} AS {name}")
            shown = self._renamed(column, alias, name.strip('"'), derived=not plain)
            columns.append(shown)
        if self._maybe(0.5):
            self._shadow(inner, alias, taken, parts, columns)
        if not parts:
            parts.append("1 AS one")
        where = self._where(inner, 0.35)
        sql = f"(SELECT {', '.join(parts)} FROM {inner.sql}{where}) AS {alias}"
        return _Rows(sql, columns, inner.private, inner.dataset)

    def _people(self, inner: _Rows) -> _Rows:
        """A sub-query with one row a person: figures of its rows."""
        unit = next((column for column in inner.columns if column.unit), None)
        if unit is None:
            return inner
        alias = self._short()
        parts = [f"{unit.written} AS {quoted(unit.name)}"]
        columns = [self._renamed(unit, alias, unit.name)]
        for place in range(self.draw.choice((1, 2, 3))):
            column = self._column(inner)
            if column is None or self._maybe(0.3):
                made, kind, origin = "COUNT(*)", "integer", None
            elif column.kind in _NUMBER_KINDS and self._maybe(0.5):
                word = self.draw.choice(("SUM", "AVG"))
                made, kind, origin = f"{word}({self._reckoned(column)})", "real", None
            else:
                words = ("COUNT(DISTINCT {})", "COUNT({})") if column.kind == "boolean" else (
                    "MIN({})", "MAX({})", "COUNT({})", "COUNT(DISTINCT {})")  # fmt: skip
                word = self.draw.choice(words)
                counted = word.startswith("COUNT")
                made = word.replace("{}", column.written)
                kind = "integer" if counted else column.kind
                origin = None if counted else column.origin
            if self._maybe(0.2):
                made += f" FILTER (WHERE {self._condition(inner, 1)})"
            parts.append(f"{made} AS p{place}")
            columns.append(
                _Column(
                    written=f"{alias}.p{place}", name=f"p{place}", kind=kind,
                    bounded=made.startswith(("COUNT", "SUM")), origin=origin,
                )
            )  # fmt: skip
        having = f" HAVING {parts[-1].split(' AS ')[0]} IS NOT NULL" if self._maybe(0.1) else ""
        where = self._where(inner, 0.35)
        sql = (
            f"(SELECT {', '.join(parts)} FROM {inner.sql}{where} "
            f"GROUP BY {unit.written}{having}) AS {alias}"
        )
        return _Rows(sql, columns, inner.private, inner.dataset)

    def _shadow(
        self, inner: _Rows, alias: str, taken: set[str], parts: list[str], columns: list[_Column]
    ) -> None:
        """One more column, of numbers without bounds if there are any, under a name of that sort.

        Whatever is read in the place of another shows best if it is not clipped.
        """
        free = [
            c for c in inner.columns if c.kind in _NUMBER_KINDS and not c.bounded and not c.unit
        ]
        if not free:
            return
        column, name = self.draw.choice(free), self._alias(taken)
        parts.append(f"{column.written} AS {name}")
        columns.append(self._renamed(column, alias, name.strip('"')))

    def _renamed(self, column: _Column, alias: str, name: str, *, derived: bool = False) -> _Column:
        return _Column(
            written=f"{alias}.{quoted(name)}",
            name=name,
            kind=column.kind,
            bounded=column.bounded and not derived,
            origin=column.origin,
            unit=column.unit and not derived,
        )

    def _chosen(self, rows: _Rows) -> list[_Column]:
        """Columns in focus, mostly, and some others; never the unit."""
        plain = [column for column in rows.columns if not column.unit]
        near = [column for column in plain if self._in_focus(column) and self._maybe(0.9)]
        rest = [column for column in plain if column not in near]
        free = [c for c in rest if c.kind in _NUMBER_KINDS and not c.bounded]
        some = free if free and self._maybe(0.5) else rest  # what is not clipped shows most
        return near + self.draw.sample(some, min(len(some), self.draw.choice((0, 1, 2, 2))))

    def _in_focus(self, column: _Column) -> bool:
        return column.origin is not None and column.origin[1] in self.focus

    def _joined(self, rows: _Rows, chance: float) -> _Rows:
        """The rows joined with others: of the same people, or of a public table."""
        while self.tables < _MOST_JOINED and self._maybe(chance):
            rows = self._with_people(rows) if self._maybe(0.8) else self._with_public(rows)
        return rows

    def _with_people(self, rows: _Rows) -> _Rows:
        mine = [column for column in rows.columns if column.unit]
        if not mine or rows.dataset is None:
            return rows
        other = self._source(self._table(dataset=rows.dataset), 1, 0.6 if self.terse else 0.35)
        theirs = [column for column in other.columns if column.unit]
        if not theirs:
            return rows
        a, b = self.draw.choice(mine), theirs[0]
        on = f" ON {a.written} = {b.written}"
        if not self.terse and self._maybe(0.1):
            on += self._further(rows, other)
        elif a.name == b.name and len(mine) == 1 and self._maybe(0.3):
            on = f" USING ({quoted(a.name)})"
        return self._pair(rows, other, on)

    def _with_public(self, rows: _Rows) -> _Rows:
        other = self._base(self._table(public=True))
        pairs = [
            (a, b)
            for a in rows.columns
            for b in other.columns
            if a.kind == b.kind and a.kind != "real" and not a.unit
            and (a.name == b.name or (b.name == "ward_name" and a.kind == "text"))
        ]  # fmt: skip
        if not pairs:
            return rows
        a, b = self.draw.choice(pairs)
        if rows.single and self._maybe(0.3):  # side by side, or asked for in a condition
            public = f"{other.sql} WHERE {b.written} = {a.written}"
            inside = f"EXISTS (SELECT 1 FROM {public})"
            if self._maybe(0.5):
                inside = f"{a.written} IN (SELECT {b.written} FROM {other.sql})"
            self.asides.append(f"NOT {inside}" if self._maybe(0.4) else inside)
            return rows
        return self._pair(rows, other, f" ON {a.written} = {b.written}")

    def _further(self, rows: _Rows, other: _Rows) -> str:
        pairs = [(a, b) for a in rows.columns for b in other.columns if a.kind == b.kind]
        a, b = self.draw.choice(pairs)
        return f" AND {a.written} {self.draw.choice(('=', '=', '<', '<>'))} {b.written}"

    def _pair(self, rows: _Rows, other: _Rows, on: str) -> _Rows:
        how = "LEFT JOIN" if self._maybe(0.25) else "JOIN"
        if how == "JOIN" and rows.single and self._maybe(0.5):
            rows, other = other, rows
        sql = f"{rows.sql} {how} {other.sql}{on}"
        dataset = rows.dataset or other.dataset
        columns = rows.columns + other.columns
        return _Rows(sql, columns, rows.private or other.private, dataset, single=False)

    # -- expressions --------------------------------------------------------------------------

    def _column(self, rows: _Rows, kind: str | None = None) -> _Column | None:
        fit = [c for c in rows.columns if kind is None or c.kind == kind]
        plain = [c for c in fit if not c.unit] or fit
        near = [c for c in plain if self._in_focus(c)]
        if near and self._maybe(0.8):
            return self.draw.choice(near)
        return self.draw.choice(plain) if plain else None

    def _value(self, column: _Column) -> str:
        """A constant that the column may be compared with: often one that it holds."""
        if column.unit and column.kind == "integer" and self._maybe(0.8):
            return str(TARGET)
        if column.origin is not None and self._maybe(0.8):
            values = _held(self.world if self._maybe(0.65) else NOBODY, *column.origin)
            values = values or _held(NOBODY, *column.origin)
            return constant(column.kind, self.draw.choice(values))
        return self._constant(column.kind)

    def _constant(self, kind: str) -> str:
        if self._maybe(0.02):
            kind = self.draw.choice(_KINDS)
        if kind in _NUMBER_KINDS:
            return self.draw.choice(WILD if self._maybe(0.05) else NUMBERS)
        if kind == "boolean":
            return self.draw.choice(("TRUE", "FALSE", "NULL"))
        if kind == "date":
            return f"DATE {text(self.draw.choice(DAYS))}"
        return text(misspelt(self.draw, self.draw.choice(TEXTS)))

    def _like_column(self, column: _Column, rows: _Rows) -> str:
        """An expression of the column's kind that is made of it."""
        one = column.written
        if self.terse and self._maybe(0.7):
            return one
        if self._maybe(0.3):
            other = self._value(column) if self._maybe(0.35) else one
            test = self._condition(rows, 1)
            return f"CASE WHEN {test} THEN {self._value(column)} ELSE {other} END"
        if self._maybe(0.25):
            plain = column.kind in {"text", "boolean"}
            name = self.draw.choice(
                ("COALESCE", "NULLIF", "LEAST", "GREATEST")[: 2 if plain else 4]
            )
            return f"{name}({one}, {self._value(column)})"
        if column.kind in _NUMBER_KINDS:
            return self._number_of(column, rows)
        ways: tuple[str, ...]
        if column.kind == "text":
            ways = ("UPPER({})", "LOWER({})", "SUBSTRING({}, 1, 4)", "SUBSTRING({}, 1, 1)",
                    "CAST({} AS TEXT)", "SUBSTRING({}, 2, 3)", "TRIM({})", "LTRIM(' ' || {})",
                    "RTRIM({} || ' ')", "LEFT({}, 2)", "{} || {}", "CONCAT({}, 'x')")  # fmt: skip
        elif column.kind == "date":
            ways = ("DATE_TRUNC('month', {})", "DATE_TRUNC('year', {})", "CAST({} AS DATE)",
                    "CAST(CAST({} AS TEXT) AS DATE)", "DATE_TRUNC('week', {})",
                    "DATE_TRUNC('quarter', {})", "{} + INTERVAL 1 MONTH", "{} - INTERVAL 3 WEEK",
                    "{} + 7", "{} + INTERVAL 9000 YEAR",
                    "{} + ({} - DATE '2000-01-01')")  # fmt: skip
        else:
            ways = ("NOT {}", "{} IS NOT TRUE", "({} OR TRUE)", "CAST({} AS BOOLEAN)")
        return self.draw.choice(ways).replace("{}", one)

    def _reckoned(self, column: _Column) -> str:
        """The column as something to reckon with: that needs bounds."""
        if column.bounded or self._maybe(0.2):
            return column.written
        low, high = self.draw.choice(_ENDS)
        return f"CLAMP({column.written}, {low}, {high})"

    def _number_of(self, column: _Column, rows: _Rows) -> str:
        draw, one = self.draw, self._reckoned(column)
        ways = ("{} + 0", "-{}", "{} * 1", "{} * 0", "ABS({})", "FLOOR({})", "CEIL({})",
                "ROUND({})", "ROUND({}, 1)", "CAST({} AS INTEGER)", "CAST({} AS DOUBLE)",
                "SIGN({})", "SQRT({})", "LN({})", "LOG10({})", "EXP({})", "POW({}, 2)",
                "POW({}, 8)", "{} / 10", "FLOOR({} / 10) * 10", "CAST({} AS INTEGER) % 7",
                "WIDTH_BUCKET({}, 0, 100, 4)", "CAST(CAST({} AS INTEGER) AS TEXT)::DOUBLE",
                "{} / {}", "{} - {}", "1 / {}", "TRUNC({})", "TRUNC({}, 1)",
                "CAST({} AS INTEGER) // 7",
                "CAST({} AS INTEGER) // CAST({} AS INTEGER)")  # fmt: skip
        if self._maybe(0.7):
            return draw.choice(ways).replace("{}", one)
        other = self._column(rows, draw.choice(_NUMBER_KINDS))
        right = draw.choice(NUMBERS)
        if other is not None and self._maybe(0.6):
            right = self._reckoned(other)
        return f"({one} {draw.choice('+-*/')} {right})"

    def _number(self, rows: _Rows) -> tuple[str, bool]:
        """A number, and whether sums of it surely have bounds."""
        dated = self._column(rows, "date")
        if dated is not None and self._maybe(0.6 if self._in_focus(dated) else 0.12):
            if self._maybe(0.3):
                unit = self.draw.choice(("day", "day", "week", "month", "quarter", "year"))
                return f"DATE_DIFF('{unit}', {self._value(dated)}, {dated.written})", False
            return f"{self.draw.choice(_PARTS)}({dated.written})", False
        if self._maybe(0.08):
            worded = self._column(rows, "text")
            if worded is not None:
                ways = ("LENGTH({})", "CAST({} AS INTEGER)", "CAST({} AS DOUBLE)")
                return self.draw.choice(ways).replace("{}", worded.written), False
        found = [c for k in _NUMBER_KINDS if (c := self._column(rows, k)) is not None]
        if not found:
            return self.draw.choice(NUMBERS[:10]), False
        column = self.draw.choice([c for c in found if self._in_focus(c)] or found)
        if self._maybe(0.85 if self.terse else 0.6):
            return column.written, column.bounded
        made = self._like_column(column, rows)
        return (f"({made}) * 2 + 1" if self._maybe(0.1) else made), False

    def _condition(self, rows: _Rows, depth: int = 2) -> str:
        if depth > 0 and self._maybe(0.3):
            parts = [self._condition(rows, depth - 1) for _ in range(2)]
            joiner = self.draw.choice((" AND ", " AND ", " OR "))
            made = f"({joiner.join(parts)})"
            return f"NOT {made}" if self._maybe(0.15) else made
        if self._maybe(0.2):
            units = [column for column in rows.columns if column.unit]
            if units:
                unit = self.draw.choice(units)
                return f"{unit.written} {self.draw.choice(('=', '<>'))} {self._value(unit)}"
        column = self._column(rows)
        if column is None:
            return "1 = 1"
        one = column.written if self._maybe(0.75) else self._like_column(column, rows)
        return self._test(column, one)

    def _test(self, column: _Column, one: str) -> str:
        draw = self.draw
        roll = draw.random()
        if roll < 0.25:
            return f"{one} IN ({self._listed(column)})"
        if roll < 0.35:
            return f"{one} IS {draw.choice(('NULL', 'NOT NULL'))}"
        if roll < 0.55:
            return self._placed(column, one, roll)
        if column.kind == "boolean" and self._maybe(0.5):
            return draw.choice((one, f"NOT {one}", f"{one} IS TRUE"))
        return f"{one} {draw.choice(_COMPARED)} {self._value(column)}"

    def _placed(self, column: _Column, one: str, roll: float) -> str:
        if roll < 0.45:
            return f"{one} BETWEEN {self._value(column)} AND {self._value(column)}"
        if roll < 0.5 and column.kind == "text":
            return f"{one} LIKE {text(self.draw.choice(_LIKE))}"
        return f"NULLIF({one}, {self._value(column)}) IS NULL"

    def _listed(self, column: _Column) -> str:
        """A list of constants, some of which are nearly the same."""
        made: list[str] = []
        for _ in range(self.draw.choice((1, 1, 2, 3))):
            made += alike(self.draw, column.kind, self._value(column), self.draw.choice((1, 2, 5)))
        self.draw.shuffle(made)
        return ", ".join(made)

    def _where(self, rows: _Rows, chance: float, more: list[str] | None = None) -> str:
        chance *= 0.2 if self.terse else 1
        parts = [*(more or ()), *([self._condition(rows)] if self._maybe(chance) else [])]
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    # -- the question -------------------------------------------------------------------------

    def question(self) -> str:
        """The whole statement."""
        self.terse = self._maybe(0.45)
        table = self._table()
        self._focused(table)
        source = self._source(table, 1 if self.terse else 2, 0.4 if self.terse else 0.6)
        rows = self._joined(source, 0.5 if self.terse else 0.35)
        begin, asides = "", self.asides
        if not self.terse and self._maybe(0.12) and not asides:
            name = self._short()
            inner = self._sub_query(rows)
            begin = f"WITH {name} AS {inner.sql.rsplit(' AS ', 1)[0]} "
            columns = [self._renamed(c, name, c.name) for c in inner.columns]
            rows = _Rows(name, columns, inner.private, inner.dataset)
        keys, conditions = self._keys(rows)
        outputs = [f"{key} AS g_{place}" for place, key in enumerate(keys)]
        count = 1 if self.terse else self.draw.choice((1, 1, 1, 2, 3))
        figures = [self._aggregate(rows) for _ in range(count)]
        outputs += [f"{figure} AS f_{place}" for place, figure in enumerate(figures)]
        group, subtotals = self._group(keys)
        if keys and not subtotals and self.also.random() < 0.06:
            by = self.also.choice(("", f"PARTITION BY {keys[0]}"))
            outputs.append(f"{figures[0]} * 100.0 / SUM({figures[0]}) OVER ({by}) AS share")
        where = self._where(rows, 0.35, [*conditions, *asides])
        sql = f"{begin}SELECT {', '.join(outputs)} FROM {rows.sql}{where}{group}"
        ending = self._ending(figures, grouped=bool(keys))
        if begin or self.also.random() > 0.06:
            return sql + ending
        again = [f"0 + {figure}" for figure in figures]
        nulls = ", ".join(["NULL"] * len(keys) + again)
        rest = self.also.choice((f"SELECT {nulls} FROM {rows.sql}{where}", sql))
        other = self.also.choice(("", " LIMIT 3", " ORDER BY 1 DESC"))
        return f"({sql}{ending}) UNION ALL {rest}{other}"

    def _group(self, keys: list[str]) -> tuple[str, bool]:
        """GROUP BY and, sometimes, several sets of groups: some twice, some of nothing."""
        listed = ", ".join(keys)
        if not keys or self.also.random() > 0.15:
            return (f" GROUP BY {listed}" if keys else ""), False
        last = keys[-1]
        ways = (
            f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS (({listed}), ())",
            f"GROUPING SETS (({listed}), ({last}), ({last}), ({listed}))",
            f"ROLLUP ({listed}), ROLLUP ({last})", f"{last}, CUBE ({listed})",
            f"GROUPING SETS (ROLLUP ({listed}), CUBE ({last}))",
        )  # fmt: skip
        return f" GROUP BY {self.also.choice(ways)}", True

    def _keys(self, rows: _Rows) -> tuple[list[str], list[str]]:
        """What is grouped by, and conditions that list its values."""
        keys: list[str] = []
        conditions: list[str] = []
        for _ in range(self.draw.choice((0, 0, 1, 1, 1, 1 if self.terse else 2))):
            column = self._column(rows, self.draw.choice(_KEY_KINDS))
            if column is None or column.unit:
                continue
            key = column.written if self._maybe(0.6) else self._like_column(column, rows)
            if column.kind == "real":
                key = self.draw.choice((f"FLOOR({key})", f"CAST({key} AS INTEGER)", key))
            if column.kind == "date" and self._maybe(0.3):
                key = f"{self.draw.choice(_PARTS)}({key})"
                column = replace(column, kind="integer", origin=None)
            if key in keys:
                continue
            keys.append(key)
            if self._maybe(0.6):
                conditions.append(f"{key} IN ({self._listed(column)})")
        return keys, conditions

    def _aggregate(self, rows: _Rows) -> str:
        made = self._one_of(self._plain_count, lambda: self._counted(rows), *2 * (
            lambda: self._summed(rows), lambda: self._summed(rows), lambda: self._quantile(rows),
        ))  # fmt: skip
        if self._maybe(0.08):
            made += f" FILTER (WHERE {self._condition(rows, 1)})"
        return f"{made} / COUNT(*)" if self._maybe(0.04) else made

    def _plain_count(self) -> str:
        return "COUNT(*)"

    def _counted(self, rows: _Rows) -> str:
        units = [column.written for column in rows.columns if column.unit]
        column = self._column(rows)
        one = "1" if column is None else column.written
        if units and self._maybe(0.3):
            unit, test = units[0], self._condition(rows, 1)
            if self._maybe(0.5):
                return f"COUNT(DISTINCT {unit}) FILTER (WHERE {test})"
            return f"COUNT(DISTINCT CASE WHEN {test} THEN {unit} END)"
        ways = [f"COUNT({one})", f"COUNT(DISTINCT {one})", f"COUNT_IF({self._condition(rows, 1)})"]
        return self.draw.choice([*ways, *(f"COUNT(DISTINCT {unit})" for unit in units[:1])])

    def _operand(self, rows: _Rows) -> str:
        made, bounded = self._number(rows)
        if bounded and self._maybe(0.9):
            return made
        low, high = self.draw.choice(_ENDS)
        return f"CLAMP({made}, {low}, {high})"

    def _summed(self, rows: _Rows) -> str:
        ways = ("SUM", "SUM", "SUM", "AVG", "AVG", "VARIANCE", "STDDEV", "VAR_SAMP", "VAR_POP",
                "STDDEV_POP")  # fmt: skip
        if self._maybe(0.1):
            pairs = ("CORR", "COVAR_POP", "COVAR_SAMP", "REGR_SLOPE", "REGR_INTERCEPT")
            return f"{self.draw.choice(pairs)}({self._operand(rows)}, {self._operand(rows)})"
        return f"{self.draw.choice(ways)}({self._operand(rows)})"

    def _quantile(self, rows: _Rows) -> str:
        one = self._operand(rows)
        ways = ("MEDIAN({})", "QUANTILE({}, 0.9)", "QUANTILE_DISC({}, 0.01)",
                "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {})")  # fmt: skip
        return self.draw.choice(ways).replace("{}", one)

    def _ending(self, figures: list[str], *, grouped: bool) -> str:
        if not grouped:
            return ""
        ending = (
            f" HAVING {figures[0]} > {self.draw.choice(NUMBERS[:10])}" if self._maybe(0.08) else ""
        )
        if self._maybe(0.15):
            ending += f" ORDER BY {figures[0]} DESC LIMIT {self.draw.randint(1, 5)}"
        return ending
