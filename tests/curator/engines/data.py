"""Small tables with all that can be wrong with data, the same on three engines."""

from __future__ import annotations

import datetime as dt
import math
import random
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "CATALOG",
    "COLUMNS",
    "DATA",
    "catalog_on",
    "fill_duckdb",
    "fill_parquet",
    "fill_postgres",
]

Rows = list[dict[str, Any]]

_WARDS = ("north", "south", "östlich", "", "O'Hara\\%", "Z", "a_b", None)
_NOTES = (
    "12", " 7.5 ", "+3", "-0.0", "1e3", "2E-2", ".5", "5.", "1e99", "nan", "inf", "1_000", "0x10",
    "twelve", "", "12\n", "１２", "2024-02-29", "2023-02-29", "2024-13-01", "0000-01-01",
    "1900-02-29", "2000-02-29", "2024-1-5", "2024-04-31", "true", "FALSE", "yes", "True", "1", "-7",
    "a%b", "A_B", "😀é", "é", "100000000000000000000000", "1e-50", "--1", "1.2.3", "2024-02-29 ",
    None,
)  # fmt: skip
_COSTS = (0.0, 1.005, 12.34, 999.999, 1000.0, 1e300, -5.0, math.nan, math.inf, -math.inf, 5e-324)
_TEMPS = (
    -0.0,
    36.6,
    1e300,
    -1e300,
    1e-300,
    5e-324,
    math.nan,
    2.0**60,
    2.0**-39,
    -(2.0**-41),
    -3.25,
)
_CODES = (0, 7, 2**53 + 1, 2**62, -(2**63), 2**63 - 1, -1, 1_000_000)
_DAYS = ("0001-01-01", "1500-02-28", "1970-01-01", "2024-02-29", "2023-12-31", "9999-12-31")
_LOGINS = ("ann", "Ann", "a:b", "b;c", "1:a", "-;", "ü", "", "zoë", "3:ann")

COLUMNS: dict[str, dict[str, str]] = {
    "visits": {
        "patient": "bigint",
        "ward": "text",
        "age": "integer",
        "cost": "double precision",
        "temp": "double precision",
        "code": "bigint",
        "bill": "decimal(12, 2)",
        "note": "text",
        "smoker": "boolean",
        "day": "date",
    },
    "people": {"person": "bigint", "weight": "double precision", "team": "text"},
    "wards": {"ward_name": "text", "level": "integer", "boss": "text"},
    "logins": {"login": "text", "site": "text", "amount": "integer"},
    "empty": {"id": "bigint", "x": "double precision"},
}


def _facts(name: str, kind: Any, **more: Any) -> ColumnFacts:
    return ColumnFacts(name=name, kind=kind, **more)


_SOURCE = Source(engine="duckdb")
CATALOG = Catalog(
    ledger="",
    tables=(
        Table(
            name="visits",
            source=_SOURCE,
            unit="patient",
            dataset="clinic",
            total_rows=150,
            columns=(
                _facts("patient", "integer", low=1, high=10),
                _facts("ward", "text"),
                _facts("age", "integer", low=0, high=120),
                _facts("cost", "real", low=0.0, high=1000.0, granularity=0.01),
                _facts("temp", "real"),
                _facts("code", "integer"),
                _facts("bill", "real", low=-50.0, high=99.0, granularity=0.4),
                _facts("note", "text"),
                _facts("smoker", "boolean"),
                _facts("day", "date"),
            ),
        ),
        Table(
            name="people",
            source=_SOURCE,
            unit="person",
            dataset="clinic",
            total_rows=150,
            columns=(
                _facts("person", "integer"),
                _facts("weight", "real", low=30.0, high=150.0, granularity=0.5),
                _facts("team", "text"),
            ),
        ),
        Table(
            name="wards",
            source=_SOURCE,
            columns=(
                _facts("ward_name", "text"),
                _facts("level", "integer"),
                _facts("boss", "text"),
            ),
        ),
        Table(
            name="logins",
            source=_SOURCE,
            unit="login",
            dataset="clinic",
            total_rows=150,
            columns=(
                _facts("login", "text"),
                _facts("site", "text"),
                _facts("amount", "integer", low=-100, high=100),
            ),
        ),
        Table(
            name="empty",
            source=_SOURCE,
            unit="id",
            dataset="clinic",
            total_rows=150,
            columns=(_facts("id", "integer"), _facts("x", "real", low=0.0, high=1.0)),
        ),
    ),
)


def _visit(draw: random.Random) -> dict[str, Any]:
    maybe = draw.random
    return {
        "patient": None if maybe() < 0.04 else draw.choice((*range(1, 25), 2**53, 2**53 + 1)),
        "ward": draw.choice(_WARDS),
        "age": draw.choice((None, -5, 999, *range(20, 90, 7))),
        "cost": None if maybe() < 0.1 else draw.choice((*_COSTS, round(draw.uniform(0, 1000), 3))),
        "temp": None if maybe() < 0.1 else draw.choice((*_TEMPS, draw.gauss(0, 10))),
        "code": draw.choice((*_CODES, None)),
        "bill": draw.choice((None, Decimal("0.20"), Decimal("-60.00"), Decimal("98.99"))),
        "note": draw.choice(_NOTES),
        "smoker": draw.choice((True, False, None)),
        "day": dt.date.fromisoformat(draw.choice(_DAYS)) if maybe() < 0.9 else None,
    }


def _made() -> dict[str, Rows]:
    draw = random.Random(16)
    people = [
        {
            "person": draw.choice((*range(1, 20), 2**53, None)),
            "weight": draw.choice((None, 55.25, 71.0, 200.0, math.nan)),
            "team": draw.choice(("red", "blue", None)),
        }
        for _ in range(30)
    ]
    wards = [
        {"ward_name": name, "level": draw.randrange(3), "boss": draw.choice(("x", "y", None))}
        for name in ("north", "north", "south", "", "östlich", "Z", None, "far")
    ]
    logins = [
        {
            "login": draw.choice((*_LOGINS, None)),
            "site": draw.choice(("a", "A", "b:c", ";", "", "é", None)),
            "amount": draw.choice((None, -100, -7, 0, 3, 50, 1000)),
        }
        for _ in range(200)
    ]
    visits = [_visit(draw) for _ in range(400)]
    return {"visits": visits, "people": people, "wards": wards, "logins": logins, "empty": []}


DATA = _made()


def catalog_on(source: Source, files: Path | None = None) -> Catalog:
    """The catalog with all tables in one place."""

    def placed(table: Table) -> Table:
        if files is not None:
            return replace(
                table, source=replace(source, files=str(files / f"{table.name}.parquet"))
            )
        return replace(table, source=replace(source, table=table.name))

    return replace(CATALOG, tables=tuple(placed(table) for table in CATALOG.tables))


def fill_parquet(folder: Path, data: dict[str, Rows]) -> None:
    """The tables as Parquet files, each of two row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        "bigint": pa.int64(),
        "text": pa.string(),
        "integer": pa.int32(),
        "double precision": pa.float64(),
        "decimal(12, 2)": pa.decimal128(12, 2),
        "boolean": pa.bool_(),
        "date": pa.date32(),
    }
    for name, columns in COLUMNS.items():
        schema = pa.schema([(column, types[kind]) for column, kind in columns.items()])
        table = pa.Table.from_pylist(data[name], schema=schema)
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=150)


def fill_duckdb(path: Path, folder: Path) -> None:
    """The Parquet files as a DuckDB file."""
    import duckdb

    with duckdb.connect(str(path)) as connection:
        for name in COLUMNS:
            file = folder / f"{name}.parquet"
            connection.execute(f"CREATE TABLE {name} AS FROM '{file}'")


def fill_postgres(address: str, data: dict[str, Rows]) -> None:
    """The tables on a PostgreSQL server."""
    import psycopg

    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        for name, columns in COLUMNS.items():
            declared = ", ".join(f"{column} {kind}" for column, kind in columns.items())
            cursor.execute(f"DROP TABLE IF EXISTS {name}".encode())
            cursor.execute(f"CREATE TABLE {name} ({declared})".encode())
            with cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
                for row in data[name]:
                    copy.write_row([row[column] for column in columns])
