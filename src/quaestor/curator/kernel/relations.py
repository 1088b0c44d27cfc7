"""Relations: base tables read, capped, filtered, projected and joined, all of it written here.

Rows are private or public. Private rows carry the unit in a column ``u`` of their own, which no
expression can name. Two private relations are joined on it, always; what else is asked to agree
comes in addition. Every other column is called ``c0``, ``c1``, ...: no name that an analyst wrote
reaches the engine.

Where private tables are joined, each is first cut to its ``total_rows`` a unit, chosen by the
unit's own rows alone: by an MD5 of what they hold, and not by where they are stored. So the rows
that a question can make of one unit are bounded, and known before it runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from quaestor.curator.kernel.columns import Mismatch, read, read_unit
from quaestor.curator.kernel.row_limits import few_of_each, md5_of
from quaestor.curator.kernel.unit_figures import figure_of
from quaestor.curator.language import query as q
from quaestor.curator.scalars.scalar import SQL, Scalar, common
from quaestor.curator.scalars.writer import ScalarWriter
from quaestor.errors import InvalidParameter, RefusedQuery, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray

    from quaestor.curator.catalog.model import ColumnFacts, Table
    from quaestor.curator.kernel.dated_rows import ChargedBlocks
    from quaestor.curator.kernel.engine_columns import EngineColumns

__all__ = ["MOST_ROWS", "Base", "Database", "EngineRows", "KeptRows", "Relations"]

_PLAIN_NUMBERS: Final = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}
_PLAIN_TEXTS: Final = {"VARCHAR", "TEXT", "CHARACTER VARYING", "UUID"}
"""Types whose different values are read as different texts."""
MOST_ROWS: Final = 250_000
"""How many rows joins may make of one unit, or of one of its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A table where it lives: how the engine calls it, and the storage types of its columns."""

    sql: str
    types: Mapping[str, str]
    unique: frozenset[str] = frozenset()
    """Columns of which the table's schema enforces that no value is in two rows."""


class Database(Protocol):
    """What the kernel needs of an open connection."""

    @property
    def dialect(self) -> Any:
        """The engine's dialect."""

    def base(self, table: Table) -> Base:
        """A table of the catalog, where it lives."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""

    def columns(self, sql: str) -> EngineColumns | list[tuple[Any, ...]]:
        """What a statement returns, in columns where the engine has a way to hand them over."""

    def kept_rows(self) -> KeptRows | None:
        """Where the rows of one question's statements are kept, on engines that can."""


class KeptRows(Protocol):
    """What statements of one question returned, kept by the engine: later ones read just that."""

    def keep(self, sql: str, *, by: str = "") -> str:
        """Run a statement and keep its rows; the name of the relation that they are in.

        They have numbers in a column ``nth``. Where they are kept ``by`` a column, those with the
        same value in it follow each other, within every stretch of 2**33 numbers.
        """

    def offer(self, numbers: NDArray[np.int64]) -> str:
        """Make numbers known to the engine; the name of the relation, whose column is ``nth``."""

    def columns(self, sql: str) -> EngineColumns | list[tuple[Any, ...]]:
        """What a statement returns that reads kept rows."""

    def close(self) -> None:
        """Forget the rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRows:
    """Rows on the engine: a SELECT of ``u`` (if they are private) and the columns."""

    sql: str
    columns: dict[str, Scalar]
    unit: Scalar | None
    dataset: str | None = None
    most: int = 1
    """How many rows come of one unit at most, or of one of its rows where nothing is capped."""
    bound: bool = False
    """Whether there is a row of a unit only if the unit has one dated in a charged block."""
    dated: frozenset[str] = frozenset()
    """The tables that were cut to the charged blocks."""
    gathered: bool = False
    """Whether the rows of a unit are in one place already, on engines of several machines."""
    single: bool = False
    """Whether no unit has two rows: the schema of the one table that is read enforces it."""

    @property
    def names(self) -> list[str]:
        """What the columns are called on the engine."""
        return ["u"] * (self.unit is not None) + [x.sql for x in self.columns.values()]


def _named(columns: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The columns under the kernel's own names."""
    # Sizes stay: PostgreSQL writes the columns of sub-queries out where they are used.
    return {name: replace(x, sql=f"c{place}") for place, (name, x) in enumerate(columns.items())}


def _listed(columns: Mapping[str, Scalar]) -> list[str]:
    return [f"{x.sql} AS c{place}" for place, x in enumerate(columns.values())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """Writes relations. Of tables, only columns with ``wanted`` names are read, unless capped."""

    table: Callable[[str], Table | None]
    database: Database
    wanted: AbstractSet[str]
    capped: bool = False
    blocks: ChargedBlocks | None = None
    fine: AbstractSet[str] = frozenset()
    """Columns that are read in their finer steps, where they have such."""
    outer: float | None = None
    """If rows are those under the outer limits of the tables: how many times those that count."""

    @property
    def sql(self) -> SQL:
        """The engine's dialect."""
        return SQL(self.database.dialect)

    def rows(self, relation: q.Relation) -> EngineRows:
        """The relation on the engine; every kind of relation is listed here, by exact type."""
        way = _RELATIONS.get(type(relation))
        if way is None:
            raise InvalidParameter("relation", type(relation).__name__, "a relation")
        return way(self, relation)

    def private_tables(self, relation: q.Relation) -> int:
        """How many private tables are multiplied with each other at most."""
        match relation:
            case q.Scan():
                return int(self._declared(relation.table).private)
            case q.Join():
                return self.private_tables(relation.left) + self.private_tables(relation.right)
            case q.Union():
                return max(map(self.private_tables, relation.parts), default=0)
            case q.Filtered() | q.Projected() | q.PerUnit():
                return self.private_tables(relation.rows)
        raise InvalidParameter("relation", type(relation).__name__, "a relation")

    def scans(self, relation: q.Relation) -> list[Table]:
        """The private tables that are read, each as often as it is."""
        match relation:
            case q.Scan():
                table = self._declared(relation.table)
                return [table] * table.private
            case q.Join():
                return self.scans(relation.left) + self.scans(relation.right)
            case q.Union():
                return [table for part in relation.parts for table in self.scans(part)]
            case q.Filtered() | q.Projected() | q.PerUnit():
                return self.scans(relation.rows)
        raise InvalidParameter("relation", type(relation).__name__, "a relation")

    def _declared(self, name: str) -> Table:
        table = self.table(name)
        if table is None:
            raise InvalidParameter("table", name, "one that the catalog declares")
        return table

    def _scan(self, relation: q.Scan) -> EngineRows:
        table = self._declared(relation.table)
        base = self.database.base(table)
        cap = self._cap(table)
        there = {name.lower(): name for name in reversed(list(base.types))}
        there.update({name: name for name in base.types})
        unit, columns, day = None, {}, None
        cut = self._cut(table)
        for declared in table.columns:
            facts = self._facts(declared, outer=self.outer is not None)
            is_unit, is_date = facts.name == table.unit, facts.name == cut
            if not (cap or is_unit or is_date or facts.name in self.wanted):
                continue
            name = there.get(facts.name) or there.get(facts.name.lower())
            if name is None:
                raise SourceUnavailable(table.name, f"it has no column {facts.name!r}")
            stored = "t." + self.sql.dialect.name_of(name)
            found = self.sql, stored, base.types[name], table.source.format
            try:
                if is_unit:
                    unit = read_unit(facts, *found)
                if is_date:
                    day = read(facts, *found)
                if cap or facts.name in self.wanted:
                    # Bounds of a unit do not make two people one, not even in a condition.
                    free = replace(facts, low=None, high=None) if is_unit else facts
                    readings = {free.name: free} if is_unit else self._readings(facts, declared)
                    for key, each in readings.items():
                        columns[key] = replace(read(each, *found), unit=is_unit)
            except Mismatch as problem:
                raise SourceUnavailable(table.name, str(problem)) from None
        if table.private and unit is None:
            raise InvalidParameter("unit", table.unit, "a declared column of the table")
        source = f"{base.sql} AS t"
        rows = EngineRows(
            sql=_select(_listed(columns), source, unit)
            if cut is None
            else self._dated(_listed(columns), source, unit, day),
            columns=_named(columns),
            unit=None if unit is None else replace(unit, sql="u", size=1),
            dataset=(table.dataset or table.name) if table.private else None,
            bound=cut is not None,
            dated=frozenset() if cut is None else frozenset({table.name}),
            gathered=cut is not None and self.blocks is not None and self.blocks.kept is not None,
            single=unit is not None and _one_row(unit, there, table, base),
        )
        return self._few(rows, cap) if cap else rows

    def _facts(self, declared: ColumnFacts, *, outer: bool) -> ColumnFacts:
        """What a column is read by: its bounds, and its steps."""
        facts = declared.beyond if outer else declared
        fine = declared.fine_granularity if facts.name in self.fine else None
        return facts if fine is None else replace(facts, granularity=fine)

    def _readings(self, facts: ColumnFacts, declared: ColumnFacts) -> dict[str, ColumnFacts]:
        """What a column is called above, and what it is read by."""
        del declared
        return {facts.name: facts}

    def _cut(self, table: Table) -> str | None:
        """The column by which a table is cut to the charged blocks, if it is."""
        if self.blocks is None or not table.private or table.blocks is None:
            return None
        if table.blocks.every != self.blocks.every:
            raise InvalidParameter("blocks", table.blocks.every, f"by the {self.blocks.every}")
        self.blocks.check_date(table.name, table.blocks.date)
        return table.blocks.date

    def _dated(
        self, listed: list[str], source: str, unit: Scalar | None, day: Scalar | None
    ) -> str:
        """Rows of the charged blocks alone; of units with many blocks, of their earliest ones."""
        blocks = self.blocks
        if blocks is None or unit is None or day is None or day.kind != "date":
            raise InvalidParameter("date", day and day.kind, "a declared date of the table")
        if blocks.kept is None:
            return f"{_select(listed, source, unit)} AND {blocks.charged(self.sql, day.sql)}"
        rank = blocks.rank(self.sql, unit.sql, day.sql)
        ranked = _select([*listed, f"{day.sql} AS d", f"{rank} AS nth"], source, unit)
        ranked += f" AND {blocks.since_first(self.sql, day.sql)}"
        names = ["u", *(f"c{place}" for place in range(len(listed)))]
        return (
            f"SELECT {', '.join(names)} FROM ({ranked}) b "  # noqa: S608 (the kernel's own)
            f"WHERE nth <= {int(blocks.kept)} AND {blocks.charged(self.sql, 'd')}"
        )

    def _cap(self, table: Table) -> int | None:
        """How many rows of a unit are kept: where tables are joined, or the owner says so."""
        if not table.private or not (self.capped or table.total_rows is not None):
            return None
        return table.total_cap(times=self.outer)

    def _few(self, rows: EngineRows, cap: int) -> EngineRows:
        """At most so many rows of each unit, by an order of what they hold."""
        values = [x.sql for x in rows.columns.values()]
        columns = rows.columns.values()
        reals = {x.sql for x in columns if x.kind == "real" and not x.whole and x.step is None}
        order = ", ".join([md5_of(self.sql, ["u", *values], reals), *values])
        rank = f"row_number() OVER (PARTITION BY u ORDER BY {order})"
        kept = few_of_each(self.sql, rows.sql, rows.names, rank=rank, most=cap)
        return replace(rows, sql=kept, most=int(cap), gathered=True)

    def _filtered(self, relation: q.Filtered) -> EngineRows:
        below = self.rows(relation.rows)
        condition = ScalarWriter(below.columns, self.sql).condition(relation.condition)
        return replace(below, sql=f"SELECT * FROM ({below.sql}) t WHERE {condition.sql}")  # noqa: S608

    def _projected(self, relation: q.Projected) -> EngineRows:
        below = self.rows(relation.rows)
        columns = self._made(relation, below.columns)
        sql = _select(_listed(columns), f"({below.sql}) t", below.unit and _unit("u", below.unit))
        return replace(below, sql=sql, columns=_named(columns))

    def _made(self, relation: q.Projected, below: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """The columns that are made of others."""
        writer = ScalarWriter(below, self.sql)
        columns = {name: writer.scalar(expression) for name, expression in relation.columns}
        if len(columns) < len(relation.columns):
            raise InvalidParameter("columns", len(relation.columns), "of different names")
        return columns

    def _per_unit(self, relation: q.PerUnit) -> EngineRows:
        """One row a unit, of its own rows alone: they are grouped by it, always."""
        below = self.rows(relation.rows)
        if below.unit is None:
            raise InvalidParameter("rows", "public ones", "about somebody")
        writer = ScalarWriter(below.columns, self.sql)
        figures = {
            name: figure_of(figure, f"x{place}", writer)
            for place, (name, figure) in enumerate(relation.columns)
        }
        if len(figures) < len(relation.columns):
            raise InvalidParameter("columns", len(relation.columns), "of different names")
        each = [f"{figure.of_row} AS x{place}" for place, figure in enumerate(figures.values())]
        made = [f"{figure.of_unit} AS c{place}" for place, figure in enumerate(figures.values())]
        rows = _select(each, f"({below.sql}) t", _unit("u", below.unit))
        return replace(
            below,
            sql=f"SELECT {', '.join(['u', *made])} FROM ({rows}) s GROUP BY u",  # noqa: S608
            columns=_named({name: figure.column for name, figure in figures.items()}),
            most=1,
            gathered=True,
        )

    def _join(self, relation: q.Join) -> EngineRows:
        left, right = self.rows(relation.left), self._partners(relation)
        if left.unit is None and right.unit is not None:
            raise InvalidParameter("join", "a public with a private table", "the private one first")
        if relation.how not in {"inner", "left"} or not relation.on:
            raise InvalidParameter("join", relation.how, "inner or left, on columns")
        theirs = right.columns
        if relation.how == "left":  # where there is no partner the copy of the unit is NULL
            theirs = {name: replace(x, unit=False) for name, x in theirs.items()}
        both = {**left.columns, **theirs}
        if len(both) < len(left.columns) + len(right.columns):
            raise InvalidParameter("join", "common names", "of relations without common names")
        agree, most = [], left.most
        if left.unit is not None and right.unit is not None:
            if left.dataset != right.dataset:
                raise InvalidParameter("join", "two datasets", "of tables of one dataset")
            agree.append(self._same_unit(_unit("l.u", left.unit), _unit("r.u", right.unit)))
            most *= right.most
        else:
            most *= self._multiplicity(right, relation)
        if most > MOST_ROWS:
            raise RefusedQuery(
                f"the joins can make {most:,} rows of one person, more than {MOST_ROWS:,}",
                remedy="join fewer tables, or declare a smaller total_rows for them"
                if self.outer is None
                else "declare a smaller outer_total_rows, or ask with --no-whole-error",
            )
        for a, b in relation.on:
            x = ScalarWriter(left.columns, self.sql).scalar(a)
            y = ScalarWriter(right.columns, self.sql).scalar(b)
            if not (agree and x.unit and y.unit):  # the units agree already
                agree.append(self._same(_unit(f"l.{x.sql}", x), _unit(f"r.{y.sql}", y)))
        listed = [f"l.{x.sql}" for x in left.columns.values()]
        listed += [f"r.{x.sql}" for x in right.columns.values()]
        word = "LEFT JOIN" if relation.how == "left" else "JOIN"
        source = f"({left.sql}) l {word} ({right.sql}) r ON {' AND '.join(agree)}"
        return EngineRows(
            sql=_select(
                [f"{name} AS c{place}" for place, name in enumerate(listed)],
                source,
                left.unit and _unit("l.u", left.unit),
            ),
            columns=_named(both),
            unit=left.unit,
            dataset=left.dataset,
            most=most,
            bound=left.bound or (relation.how == "inner" and right.bound),
            dated=left.dated | right.dated,
            gathered=left.gathered and (right.unit is None or right.gathered),
        )

    def _partners(self, relation: q.Join) -> EngineRows:
        """The right side; of public rows each once, if so asked.

        How many of them agree with one row is counted after that, as always.
        """
        rows = self.rows(relation.right)
        if not relation.unique:
            return rows
        if rows.unit is not None:
            raise InvalidParameter("join", "different private rows", "of public rows, each once")
        return replace(rows, sql=f"SELECT DISTINCT * FROM ({rows.sql}) t")  # noqa: S608

    def _same(self, x: Scalar, y: Scalar) -> str:
        if not (x.whole and y.whole):
            x, y = common(self.sql, (x, y))
        return f"{x.sql} = {y.sql}"

    def _same_unit(self, x: Scalar, y: Scalar) -> str:
        if x.kind == y.kind:
            return f"{x.sql} = {y.sql}"
        return " = ".join(f"CAST({each.sql} AS {self.sql.dialect.text})" for each in (x, y))

    def _multiplicity(self, right: EngineRows, relation: q.Join) -> int:
        """How many public rows agree with one row at most; public tables may be looked at."""
        writer = ScalarWriter(right.columns, self.sql)
        keys = [writer.scalar(theirs).sql for _, theirs in relation.on]
        there = " AND ".join(f"{key} IS NOT NULL" for key in keys)
        counted = (
            f"SELECT COUNT(*) AS n FROM ({right.sql}) t WHERE {there} GROUP BY {', '.join(keys)}"  # noqa: S608
        )
        found = self.database.rows(f"SELECT MAX(n) FROM ({counted}) t")  # noqa: S608
        return max(1, int(found[0][0] or 0))

    def _union(self, relation: q.Union) -> EngineRows:
        parts = [self.rows(part) for part in relation.parts]
        if not parts:
            raise InvalidParameter("union", 0, "of at least one relation")
        first = parts[0]
        for part in parts[1:]:
            same = [(n, x.kind) for n, x in part.columns.items()] == [
                (n, x.kind) for n, x in first.columns.items()
            ]
            if not same or (part.unit is None, part.dataset) != (first.unit is None, first.dataset):
                raise InvalidParameter("union", "of others", "of relations of the same columns")
        numbers = [
            {
                n: replace(x, sql=self.sql.number(x), whole=False, step=None)
                if x.kind in {"integer", "real"}
                else x
                for n, x in part.columns.items()
            }
            for part in parts
        ]
        printed = any(part.unit is not None and part.unit.kind == "text" for part in parts)
        selects = []
        for part, columns in zip(parts, numbers, strict=True):
            unit = part.unit and _unit("u", part.unit)
            if unit and printed and unit.kind != "text":
                text = f"CAST(u AS {self.sql.dialect.text})"
                unit = Scalar(sql=self.sql.dialect.bytewise.format(text), kind="text")
            selects.append(_select(_listed(columns), f"({part.sql}) t", unit))
        merged = {
            name: replace(
                numbers[0][name],
                low=min(columns[name].low for columns in numbers),
                high=max(columns[name].high for columns in numbers),
                grid=min(columns[name].grid for columns in numbers),
                unit=False,
            )
            for name in first.columns
        }
        kind = Scalar(sql="u", kind="text") if printed else first.unit
        return EngineRows(
            sql=" UNION ALL ".join(selects),
            columns=_named(merged),
            unit=None if first.unit is None else kind,
            dataset=first.dataset,
            most=sum(part.most for part in parts),
            bound=all(part.bound for part in parts),
            dated=frozenset().union(*(part.dated for part in parts)),
        )


def _one_row(unit: Scalar, there: Mapping[str, str], table: Table, base: Base) -> bool:
    """Whether the schema keeps units apart, and reading them does too.

    A text that is read as a number could be another row's number: ``1`` and ``01``.
    """
    declared = table.unit or ""
    name = there.get(declared) or there.get(declared.lower()) or ""
    stored = base.types.get(name, "").upper()
    plain = stored in _PLAIN_NUMBERS if unit.kind == "integer" else stored in _PLAIN_TEXTS
    return plain and name in base.unique


def _unit(sql: str, x: Scalar) -> Scalar:
    return replace(x, sql=sql)


def _select(listed: list[str], source: str, unit: Scalar | None) -> str:
    """The columns of a source; of private rows, those that are about somebody."""
    if unit is None:
        return f"SELECT {', '.join(listed) or '1'} FROM {source}"  # noqa: S608
    columns = ", ".join([f"{unit.sql} AS u", *listed])
    return f"SELECT {columns} FROM {source} WHERE {unit.sql} IS NOT NULL"  # noqa: S608


_RELATIONS: Final[dict[type, Callable[[Relations, Any], EngineRows]]] = {
    q.Scan: Relations._scan,  # noqa: SLF001  # the list of all relations, and of nothing else
    q.Filtered: Relations._filtered,  # noqa: SLF001
    q.Projected: Relations._projected,  # noqa: SLF001
    q.PerUnit: Relations._per_unit,  # noqa: SLF001
    q.Join: Relations._join,  # noqa: SLF001
    q.Union: Relations._union,  # noqa: SLF001
}
