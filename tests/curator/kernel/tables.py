"""Base tables that an attacker filled, each of them whole and without one unit."""

from __future__ import annotations

import datetime as dt
import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.engines.engine import columns_from, kept_rows_of
from quaestor.curator.language.query import Contribution

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from quaestor.curator.engines.engine import Connection
    from quaestor.curator.kernel.relations import Base
    from quaestor.curator.language.expressions import Kind

__all__ = [
    "BOOLEANS",
    "DATES",
    "INTEGERS",
    "REALS",
    "SIDES",
    "TABLES",
    "TARGETS",
    "TEXTS",
    "Side",
    "among",
    "duckdb_sides",
    "postgres_sides",
    "rows_of",
    "spark_sides",
]

TEXTS: tuple[str | None, ...] = (
    "", " ", "a", "A", "a ", " a", "á", "a\u0301", "ß", "SS", "ss", "1", "1.0", "01", "1e-60",
    "-1e-60", "1e60", "1e308", "1e-400", "nan", "NaN", "inf", "9" * 30, "9" * 40, "2024-02-29",
    "2023-02-29", "0001-01-01", "true", "TRUE", "%", "_", "\\", "'", '"', "😀", "x" * 300,
    "-0", "5e-324", "1\n", "NULL", "u", "İ", "ı", "K", None,
)  # fmt: skip
REALS: tuple[float | None, ...] = (
    0.0, -0.0, 1.0, 0.5, -1.0, 3.0, 1e308, -1e308, math.inf, -math.inf, math.nan, 5e-324, -5e-324,
    2.3e-308, 1e-13, 2.0**-40, 2.0**53, 2.0**53 + 2, 1e15, 0.1 + 0.2, 1e-60, 9.99, 10.0, None,
)  # fmt: skip
INTEGERS: tuple[int | None, ...] = (
    0, 1, -1, 2, 3, 7, 42, 100, 2**31 - 1, -(2**31), 2**31, 2**53, 2**53 + 1, -(2**53) - 1,
    2**63 - 1, -(2**63), None,
)  # fmt: skip
DATES: tuple[dt.date | None, ...] = (
    dt.date(1, 1, 1), dt.date(2, 1, 1), dt.date(1582, 10, 4), dt.date(1969, 12, 31),
    dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(9998, 1, 1), dt.date(9999, 12, 31), None,
)  # fmt: skip
BOOLEANS: tuple[bool | None, ...] = (True, False, None)
_UUIDS = tuple(str(UUID(int=n**40 + n)) for n in range(1, 8))
_NAMED = ("ab", "AB", "ab ", "áb", "a\u0301b", "", "NULL", "x'; --", "İ", "i", "K", "\u212a")
_NUMBERED = (*range(1, 16), 2**53, 2**53 + 1, 2**63 - 1)
_WIDE = (1, 2, 3, 2**53, 2**53 + 1, 2**64 - 1)
TARGETS = (
    "7",
    "ab",
    "AB",
    "1",
    str(2**53 + 1),
    str(2**63 - 1),
    _UUIDS[0],
    "áb",
    "",
    str(2**64 - 1),
)
"""Units that are taken away: one with many rows, and some that others could be mistaken for."""
SIDES = ("whole", *(f"less{at}" for at in range(len(TARGETS))), "nobody", "orphans")
"""``nobody``: empty tables; ``orphans``: the whole, and rows that are about nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filled:
    """A table as it is filled: its columns with storage types of engines, and values to draw of."""

    unit: str | None
    units: tuple[Any, ...]
    columns: tuple[tuple[str, str, str, tuple[Any, ...]], ...]
    """Name, type on DuckDB, type on PostgreSQL, values."""


_TEXT = ("VARCHAR", "text")
_FILLED: dict[str, _Filled] = {
    "people": _Filled(
        unit="u",
        units=(*map(str, _NUMBERED), *_NAMED, *_UUIDS[:2]),
        columns=(
            ("u", "VARCHAR COLLATE NOCASE", 'text COLLATE "pg_c_utf8"', ()),
            ("c0", "VARCHAR COLLATE NOCASE", 'text COLLATE "pg_c_utf8"', TEXTS),
            ("g", "DOUBLE", "double precision", REALS),
            ("k0", "BIGINT", "bigint", INTEGERS),
            ("n", "DOUBLE", "double precision", REALS),
            ("place", "DATE", "date", DATES),
            ('quo"te', "BOOLEAN", "boolean", BOOLEANS),
            ("v", *_TEXT, TEXTS),
            ("r.u", "FLOAT", "real", (0.0, 1.0, -0.7, 0.1, math.inf, math.nan, 3e38, 1e-45, None)),
        ),
    ),
    "visits": _Filled(
        unit="U",
        units=_NUMBERED,
        columns=(
            ("U", "BIGINT", "bigint", ()),
            ("C0", *_TEXT, TEXTS),
            ("x0", "DOUBLE", "double precision", REALS),
            ("m0", "INTEGER", "integer", (0, 1, 2, 99, 101, -5, 2**31 - 1, -(2**31), None)),
            ("t", "TIMESTAMP", "timestamp", DATES),
            ("Ü", "TINYINT", "smallint", (0, 1, -1, 127, -128, None)),
        ),
    ),
    "stays": _Filled(
        unit="who",
        units=_UUIDS,
        columns=(
            ("who", "UUID", "uuid", ()),
            ("k", *_TEXT, TEXTS),
            ("d", "DECIMAL(38, 10)", "numeric", (0, 1, -1, 10**20, -(10**20), 3, None)),
            ("c1", "VARCHAR", "varchar(400)", TEXTS),
        ),
    ),
    "wide": _Filled(
        unit="id",
        units=_WIDE,
        columns=(
            ("id", "UBIGINT", "character(30)", ()),
            ("n", "HUGEINT", "numeric", (0, 1, -1, 2**100, -(2**100), 10**17 + 1, None)),
            ("f", "FLOAT", "real", (0.0, 1.5, math.inf, math.nan, 1e-45, 3e38, None)),
        ),
    ),
    "other": _Filled(
        unit="u",
        units=_NUMBERED,
        columns=(("u", "BIGINT", "bigint", ()), ("n", "BIGINT", "bigint", INTEGERS)),
    ),
    "names": _Filled(
        unit=None,
        units=tuple(range(30)),
        columns=(
            ("key", *_TEXT, ("a", "A", "a", "1", "", "á", None)),
            ("level", "INTEGER", "integer", (0, 1, 2, None)),
        ),
    ),
}


def among(tables: set[str]) -> list[int]:
    """The targets that are in one of these tables, the one with many rows several times."""
    units = {str(unit) for name in tables for unit in _FILLED[name].units}
    found = [at for at, target in enumerate(TARGETS) if target in units]
    return found + [at for at in found if at in {0, 6}] * 2


def _facts(name: str, kind: Kind, *bounds: float) -> ColumnFacts:
    if not bounds:
        return ColumnFacts(name=name, kind=kind)
    low, high, step = bounds
    return ColumnFacts(name=name, kind=kind, low=low, high=high, granularity=step)


_NOWHERE = Source(engine="duckdb")
_TWO = Contribution(rows=2, groups=2)
TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            name="people",
            source=_NOWHERE,
            unit="u",
            dataset="d",
            contribution=_TWO,
            columns=(
                _facts("u", "text"),
                _facts("c0", "text"),
                _facts("g", "real"),
                _facts("k0", "integer"),
                _facts("n", "real", 0.0, 10.0, 0.5),
                _facts("place", "date"),
                _facts('quo"te', "boolean"),
                _facts("v", "text"),
                _facts("r.u", "real", -1.0, 1.0, 0.1),
            ),
        ),
        Table(
            name="visits",
            source=_NOWHERE,
            unit="U",
            dataset="d",
            contribution=Contribution(rows=3, groups=2),
            columns=(
                _facts("U", "integer"),
                _facts("C0", "text"),
                _facts("x0", "real", -5.0, 5.0, 0.001),
                _facts("m0", "integer", 0, 100, 1.0),
                _facts("t", "date"),
                _facts("Ü", "boolean"),
            ),
        ),
        Table(
            name="stays",
            source=_NOWHERE,
            unit="who",
            dataset="d",
            contribution=_TWO,
            total_rows=3,
            columns=(
                _facts("who", "text"),
                _facts("k", "text"),
                _facts("d", "real"),
                _facts("c1", "real"),
            ),
        ),
        Table(
            name="wide",
            source=_NOWHERE,
            unit="id",
            dataset="d",
            contribution=_TWO,
            columns=(_facts("id", "text"), _facts("n", "integer"), _facts("f", "real", 0, 2, 0.5)),
        ),
        Table(
            name="other",
            source=_NOWHERE,
            unit="u",
            dataset="e",
            contribution=_TWO,
            columns=(_facts("u", "integer"), _facts("n", "integer")),
        ),
        Table(
            name="names",
            source=_NOWHERE,
            columns=(_facts("key", "text"), _facts("level", "integer", 0, 3, 1.0)),
        ),
    )
}


def rows_of(name: str) -> list[list[Any]]:
    """The rows of the whole table, the same in every run."""
    rng = random.Random(f"rows of {name}")
    filled = _FILLED[name]
    rows = []
    for unit in filled.units:
        many = 60 if str(unit) in {TARGETS[0], _UUIDS[0]} else 5
        for _ in range(rng.randint(1 if many == 5 else many, many)):
            row = [rng.choice(values) if values else unit for _, _, _, values in filled.columns]
            rows += [row] * rng.choice((1, 1, 1, 2))
    return rows


class Side:
    """One side of the tables on an open connection: what the kernel needs of a database."""

    def __init__(self, connection: Connection, tables: Mapping[str, Table]) -> None:
        self.dialect, self._connection = connection.dialect, connection
        self._tables = tables
        self._bases: dict[str, Base] = {}

    def table(self, name: str) -> Table | None:
        """A table by its name."""
        return self._tables.get(name)

    def base(self, table: Table) -> Base:
        """A table where it lives."""
        if table.name not in self._bases:
            self._bases[table.name] = self._connection.base(table)
        return self._bases[table.name]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        return self._connection.rows(sql)

    def columns(self, sql: str) -> Any:
        """The columns of a statement."""
        return columns_from(self._connection, sql)

    def kept_rows(self) -> Any:
        """Where the rows of one question are kept."""
        return kept_rows_of(self._connection)

    def close(self) -> None:
        """Let go of the connection, which all sides share."""
        self._connection.close()


def _placed(source: Source, side: str, **place: str) -> dict[str, Table]:
    """All tables of a side, where they are."""
    ((field, pattern),) = place.items()
    return {
        name: replace(
            table,
            source=replace(source, **{field: pattern.format(side, name)}),  # type: ignore[arg-type]
        )
        for name, table in TABLES.items()
    }


def _there(side: str, unit: str, text: str, binary: str) -> str:
    """The condition for rows of a side."""
    if side == "nobody":
        return "FALSE"
    if not side.startswith("less"):
        return "TRUE"
    target = TARGETS[int(side[4:])].replace("'", "''")
    return f"(CAST({unit} AS {text}) COLLATE {binary}) IS DISTINCT FROM '{target}' COLLATE {binary}"


def _insert(name: str, side: str, text: str, binary: str) -> Iterator[str]:
    filled = _FILLED[name]
    if filled.unit is None:
        yield f"INSERT INTO {side}.{name} SELECT * FROM whole.{name}"
        return
    unit = f'"{filled.unit}"'
    where = _there(side, unit, text, binary)
    yield f"INSERT INTO {side}.{name} SELECT * FROM whole.{name} WHERE {where}"
    if side == "orphans":
        others = ", ".join(_quoted(column[0]) for column in filled.columns[1:])
        yield (
            f"INSERT INTO {side}.{name} ({others}) SELECT {others} FROM whole.{name} "
            "WHERE TRUE LIMIT 40"
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _moved_dates(name: str) -> Iterator[str]:
    """Some of the dates become those that no calendar has."""
    for column, duck, _, _ in _FILLED[name].columns:
        if duck in {"DATE", "TIMESTAMP"}:
            for old, new in (("9998-01-01", "infinity"), ("0002-01-01", "-infinity")):
                yield f"UPDATE whole.{name} SET \"{column}\" = '{new}' WHERE \"{column}\" = '{old}'"


def duckdb_sides(folder: Path) -> dict[str, Side]:
    """All sides in one DuckDB file, on one connection."""
    import duckdb

    from quaestor.curator.engines.duckdb.connection import DuckConnection

    path = folder / "attacked.duckdb"
    with duckdb.connect(str(path)) as connection:
        for side in SIDES:
            connection.execute(f"CREATE SCHEMA {side}")
            for name, filled in _FILLED.items():
                declared = ", ".join(f"{_quoted(c)} {duck}" for c, duck, _, _ in filled.columns)
                connection.execute(f"CREATE TABLE {side}.{name} ({declared})")
        for name in _FILLED:
            rows = rows_of(name)
            marks = ", ".join(["(" + ", ".join("?" * len(rows[0])) + ")"] * len(rows))
            connection.execute(
                f"INSERT INTO whole.{name} VALUES {marks}", [x for row in rows for x in row]
            )
            for statement in _moved_dates(name):
                connection.execute(statement)
            for side in SIDES[1:]:
                for statement in _insert(name, side, "VARCHAR", '"binary"'):
                    connection.execute(statement)
    opened = DuckConnection(Catalog(tables=(), ledger="", folder=str(folder)))
    opened._connection.execute("SET GLOBAL threads = 1")  # for tables as small as these
    source = Source(engine="duckdb", connection=path.name)
    return {side: Side(opened, _placed(source, table="{0}.{1}", side=side)) for side in SIDES}


def postgres_sides(address: str, variable: str) -> dict[str, Side]:
    """All sides in schemas of one database, on one connection."""
    import psycopg

    from quaestor.curator.engines.postgres.connection import PostgresConnection

    with psycopg.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for side in SIDES:
            cursor.execute(f"CREATE SCHEMA {side}".encode())
            for name, filled in _FILLED.items():
                declared = ", ".join(f"{_quoted(c)} {kind}" for c, _, kind, _ in filled.columns)
                cursor.execute(f"CREATE TABLE {side}.{name} ({declared})".encode())
        for name in _FILLED:
            with cursor.copy(f"COPY whole.{name} FROM STDIN".encode()) as copy:
                for row in rows_of(name):
                    copy.write_row(row)
            for statement in _moved_dates(name):
                cursor.execute(statement.encode())
            for side in SIDES[1:]:
                for statement in _insert(name, side, "text", '"C"'):
                    cursor.execute(statement.encode())
    source = Source(engine="postgres", connection=variable)
    opened = PostgresConnection(replace(TABLES["people"], source=source))
    return {side: Side(opened, _placed(source, table="{0}.{1}", side=side)) for side in SIDES}


def spark_sides(folder: Path, master: str) -> dict[str, Side]:
    """All sides as Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from quaestor.curator.engines.spark.connection import SparkConnection

    types = {
        "VARCHAR": pa.string(), "DOUBLE": pa.float64(), "BIGINT": pa.int64(), "DATE": pa.date32(),
        "BOOLEAN": pa.bool_(), "FLOAT": pa.float32(), "INTEGER": pa.int32(), "TINYINT": pa.int8(),
        "TIMESTAMP": pa.timestamp("us"), "DECIMAL(38, 10)": pa.decimal128(38, 10),
        "HUGEINT": pa.decimal128(38, 0), "UUID": pa.string(), "UBIGINT": pa.string(),
        "VARCHAR COLLATE NOCASE": pa.string(),
    }  # fmt: skip
    for side in SIDES:
        (folder / side).mkdir()
        for name, filled in _FILLED.items():
            schema = pa.schema([(c, types[duck]) for c, duck, _, _ in filled.columns])
            columns = list(zip(*_side_rows(name, side), strict=True)) or [()] * len(schema)
            arrays = [
                pa.array([_converted(x, field.type) for x in column], field.type)
                for column, field in zip(columns, schema, strict=True)
            ]
            pq.write_table(pa.table(arrays, schema=schema), folder / side / f"{name}.parquet")
    source = Source(engine="spark", connection=master)
    opened = SparkConnection(
        Catalog(tables=(), ledger="", folder=str(folder)), replace(TABLES["people"], source=source)
    )
    return {
        side: Side(opened, _placed(source, files="{0}/{1}.parquet", side=side)) for side in SIDES
    }


def _side_rows(name: str, side: str) -> list[list[Any]]:
    rows = rows_of(name)
    if _FILLED[name].unit is None:
        return rows
    if side == "nobody":
        return []
    if side == "orphans":
        return rows + [[None, *row[1:]] for row in rows[:40]]
    if side.startswith("less"):
        return [row for row in rows if str(row[0]) != TARGETS[int(side[4:])]]
    return rows


def _converted(value: Any, kind: Any) -> Any:
    import decimal

    import pyarrow as pa

    if value is None:
        return None
    if pa.types.is_string(kind):
        return str(value)
    if pa.types.is_timestamp(kind):
        return dt.datetime.combine(value, dt.time())
    if pa.types.is_decimal(kind):
        return decimal.Decimal(min(max(int(value), -(10**20)), 10**20))
    return value
