"""Statements that read a table exactly: for its owner, and never on the way of a question."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.kernel.columns import Mismatch, read, read_unit
from quaestor.curator.scalars.scalar import SQL
from quaestor.errors import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.catalog.model import ColumnFacts, Table
    from quaestor.curator.engines.engine import Connection

__all__ = ["ExactRows", "Numbers", "OtherKeys"]

_TEXTS = r"varchar|text|string|char|citext|bpchar|name"
_SHOWN = 3
_LOOKED_AT = 40
_VARIANTS_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Of a column of numbers: how many are outside its bounds, and how much bounds move."""

    below: int
    above: int
    fractions: int
    mass: float
    moved: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherKeys:
    """Values that are not among the declared keys: rows, and the commonest of them."""

    rows: int
    first: tuple[str, ...]


class ExactRows:
    """A table as it is stored and as it is read, side by side.

    There is the unit ``u``, and of each column ``r`` (its text), ``p`` (1 if there is one) and
    ``x`` (the value that questions see, but for bounds). Columns that cannot be read as their kind
    at all have no ``x``.
    """

    def __init__(self, table: Table, connection: Connection) -> None:
        """Look at the table's types; no row is read."""
        self.table, self._connection = table, connection
        self._sql = SQL(connection.dialect)
        self.unreadable: dict[str, str] = {}
        """Columns whose stored type is not of the declared kind, and what is wrong."""
        self.typed: set[str] = set()
        """Columns that are stored as what they are, and not as text."""
        self._places = {column.name: at for at, column in enumerate(table.columns)}
        self._rows = self._written()

    def _written(self) -> str:
        base = self._connection.base(self.table)
        there = {name.lower(): name for name in reversed(list(base.types))}
        there.update({name: name for name in base.types})
        listed = []
        for at, facts in enumerate(self.table.columns):
            name = there.get(facts.name) or there.get(facts.name.lower())
            if name is None:
                raise SourceUnavailable(self.table.name, f"it has no column {facts.name!r}")
            stored, kind = "t." + self._sql.dialect.name_of(name), base.types[name]
            if not re.match(_TEXTS, kind, re.IGNORECASE):
                self.typed.add(facts.name)
            text = f"CAST({stored} AS {self._sql.dialect.text})"
            listed.append(f"{text} AS r{at}")
            listed.append(f"CASE WHEN {self._present(text)} THEN 1 ELSE 0 END AS p{at}")
            listed += self._values(facts, at, stored, kind)
        return f"SELECT {', '.join(listed)} FROM {base.sql} AS t"  # noqa: S608  # quoted

    def _present(self, text: str) -> str:
        """Whether there is something: neither blanks nor a text that is declared to mean NULL."""
        words = ", ".join(map(self._sql.text, self.table.source.format.null))
        return f"TRIM({text}) <> ''" + (f" AND {text} NOT IN ({words})" if words else "")

    def _values(self, facts: ColumnFacts, at: int, stored: str, kind: str) -> list[str]:
        loose = replace(facts, low=None, high=None, granularity=None)
        form = self.table.source.format
        try:
            if facts.name == self.table.unit:
                unit = read_unit(facts, self._sql, stored, kind, form).sql
                return [f"{unit} AS u", f"{unit} AS x{at}"]
            x = read(loose, self._sql, stored, kind, form)
            if x.kind not in {"integer", "real"}:
                return [f"{x.sql} AS x{at}"]
            y = read(replace(loose, kind="real"), self._sql, stored, kind, form)
        except Mismatch as problem:
            if facts.name == self.table.unit:
                raise SourceUnavailable(self.table.name, str(problem)) from None
            self.unreadable[facts.name] = str(problem)
            return []
        return [f"{self._sql.number(x)} AS x{at}", f"{self._sql.number(y)} AS y{at}"]

    def _all(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.rows(sql)

    def _one(self, listed: Sequence[str], rows: str) -> list[Any]:
        (row,) = self._all(f"SELECT {', '.join(listed)} FROM ({rows}) q")  # noqa: S608
        return [0 if value is None else value for value in row]

    @property
    def _people(self) -> str:
        return f"SELECT * FROM ({self._rows}) s WHERE u IS NOT NULL"  # noqa: S608

    def sizes(self) -> tuple[int, int]:
        """How many rows there are, and how many of them are about somebody."""
        about = "COUNT(u)" if self.table.unit is not None else "COUNT(*)"
        rows, known = self._one(["COUNT(*)", about], self._rows)
        return int(rows), int(known)

    def read_rows(self) -> tuple[int, dict[str, tuple[int, int]]]:
        """Rows where all columns are read; by column, rows without a value, and unreadable ones."""
        listed = ["COUNT(*)"]
        for column in self.table.columns:
            at = self._places[column.name]
            nothing = "" if column.name in self.unreadable else f" AND x{at} IS NULL"
            listed += [f"SUM(p{at})", f"SUM(CASE WHEN p{at} = 1{nothing} THEN 1 ELSE 0 END)"]
        every, *counts = map(int, self._one(listed, self._rows))
        pairs = zip(counts[::2], counts[1::2], strict=True)
        names = (column.name for column in self.table.columns)
        return every, {
            name: (every - present, bad) for name, (present, bad) in zip(names, pairs, strict=True)
        }

    def unread(self, column: str) -> tuple[str, ...]:
        """The commonest texts of a column that cannot be read."""
        at = self._places[column]
        nothing = "" if column in self.unreadable else f" AND x{at} IS NULL"
        return self._commonest(f"r{at}", f"p{at} = 1{nothing}", _LOOKED_AT)

    def _commonest(self, value: str, condition: str, most: int = _SHOWN) -> tuple[str, ...]:
        found = self._all(
            f"SELECT {value} AS v, COUNT(*) AS n FROM ({self._rows}) q WHERE {condition} "  # noqa: S608
            f"GROUP BY {value} ORDER BY COUNT(*) DESC, {value} LIMIT {most}"
        )
        return tuple(str(row[0]) for row in found)

    def numbers(self, column: ColumnFacts) -> Numbers:
        """Values outside the bounds, and what the bounds move of the column's mass."""
        at = self._places[column.name]
        x = f"x{at}"
        fractions = f"SUM(CASE WHEN y{at} <> {x} THEN 1 ELSE 0 END)"
        listed = [fractions, f"SUM(ABS({x}))"]
        if column.low is not None and column.high is not None:
            low, high = self._sql.real(column.low), self._sql.real(column.high)
            out = f"CASE WHEN {x} < {low} THEN {low} - {x} WHEN {x} > {high} THEN {x} - {high} END"
            listed += [
                f"SUM(CASE WHEN {x} < {low} THEN 1 ELSE 0 END)",
                f"SUM(CASE WHEN {x} > {high} THEN 1 ELSE 0 END)",
                f"SUM({out})",
            ]
        figures = [*self._one(listed, self._people if self.table.private else self._rows), 0, 0, 0]
        return Numbers(
            fractions=int(figures[0]) if column.kind == "integer" else 0,
            mass=float(figures[1]),
            below=int(figures[2]),
            above=int(figures[3]),
            moved=float(figures[4]),
        )

    def mass_by_rows(self, column: ColumnFacts) -> list[tuple[int, float]]:
        """Of units by their number of values: that number, and the mass within the bounds."""
        x = f"x{self._places[column.name]}"
        if column.low is not None and column.high is not None:
            low, high = self._sql.real(column.low), self._sql.real(column.high)
            x = self._sql.clip(x, low, high, bare=True)
        units = f"SELECT u, COUNT({x}) AS n, SUM(ABS({x})) AS m FROM ({self._people}) q GROUP BY u"  # noqa: S608
        found = self._all(f"SELECT n, SUM(m) FROM ({units}) w WHERE n > 0 GROUP BY n")  # noqa: S608
        return [(int(n), float(m or 0)) for n, m in found]

    def rows_by_unit(self) -> dict[int, int]:
        """How many units have so many rows."""
        units = f"SELECT u, COUNT(*) AS n FROM ({self._people}) q GROUP BY u"  # noqa: S608
        found = self._all(f"SELECT n, COUNT(*) FROM ({units}) w GROUP BY n ORDER BY n")  # noqa: S608
        return {int(n): int(count) for n, count in found}

    def cells_by_unit(self, column: ColumnFacts) -> list[tuple[int, int, int]]:
        """Groups of a unit, rows of it in one of them, and how many such groups there are."""
        x = f"x{self._places[column.name]}"
        some = f"WHERE {x} IS NOT NULL"
        if column.keys is not None:
            some = f"WHERE {x} IN ({self._listed(column)})"
        cells = f"SELECT u, {x} AS k, COUNT(*) AS n FROM ({self._people}) q {some} GROUP BY u, {x}"  # noqa: S608
        wide = f"SELECT n, COUNT(*) OVER (PARTITION BY u) AS g FROM ({cells}) w"  # noqa: S608
        found = self._all(f"SELECT g, n, COUNT(*) FROM ({wide}) v GROUP BY g, n")  # noqa: S608
        return [(int(g), int(n), int(count)) for g, n, count in found]

    def _listed(self, column: ColumnFacts) -> str:
        keys = [key for key in column.keys or () if key is not None]
        return ", ".join(self._sql.constant(key, column.kind).sql for key in keys)

    def other_keys(self, column: ColumnFacts) -> OtherKeys:
        """Values that are not declared as keys."""
        at = self._places[column.name]
        outside = f"x{at} IS NOT NULL AND x{at} NOT IN ({self._listed(column)})"
        (rows,) = self._one([f"SUM(CASE WHEN {outside} THEN 1 ELSE 0 END)"], self._rows)
        first = self._commonest(f"r{at}", outside) if rows else ()
        return OtherKeys(rows=int(rows), first=first)

    def variants(self, column: ColumnFacts) -> tuple[int, tuple[str, ...]]:
        """Values that differ only by blanks or case: how many sets of them, and some."""
        x = f"x{self._places[column.name]}"
        same = (
            f"SELECT LOWER(TRIM({x})) AS s FROM ({self._rows}) q WHERE {x} IS NOT NULL "  # noqa: S608
            f"GROUP BY LOWER(TRIM({x})) HAVING COUNT(DISTINCT {x}) > 1"
        )
        (sets,) = self._one(["COUNT(*)"], same)
        if not sets:
            return 0, ()
        some = self._all(
            f"SELECT {x}, COUNT(*) FROM ({self._rows}) q WHERE LOWER(TRIM({x})) IN ({same}) "  # noqa: S608
            f"GROUP BY {x} ORDER BY LOWER(TRIM({x})), {x} LIMIT {_VARIANTS_SHOWN}"
        )
        return int(sets), tuple(str(row[0]) for row in some)
