"""A clinic with and without one person, in whose rows everything is wrong that can be."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import AccountPlan, Catalog, ColumnFacts, Source, Table
from quaestor.curator.language.query import Contribution

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "SECRETS",
    "TARGET",
    "catalog_on",
    "fill_duckdb",
    "fill_parquet",
    "fill_postgres",
    "rows",
]

TARGET = 987_654_321
SECRETS = (
    "Doe",
    "Hapax",
    str(TARGET),
    "1965",
    "e+308",
    "e308",
    "9223372036854775807",
    "nan",
    "inf",
)
"""What only the target's rows hold; no message may repeat it unless the question said it."""

TYPES: dict[str, dict[str, str]] = {
    "visits": {
        "patient": "bigint",
        "ward": "text",
        "city": "text",
        "age": "integer",
        "cost": "double precision",
        "weight": "double precision",
        "code": "bigint",
        "note": "text",
        "smoker": "boolean",
        "day": "date",
    },
    "labs": {"patient": "bigint", "value": "double precision", "test": "text"},
    "wards": {"ward_name": "text", "level": "integer"},
}
_WARDS, _CITIES = ("A", "B", "C"), ("Rome", "Ulm", "Köln")
_PEOPLE = 240


def _facts(name: str, kind: Any, **more: Any) -> ColumnFacts:
    return ColumnFacts(name=name, kind=kind, **more)


_NOWHERE = Source(engine="duckdb")
_ONE = Contribution(rows=2, groups=2)
_CATALOG = Catalog(
    ledger="ledger.db",
    tables=(
        Table(
            name="visits",
            source=_NOWHERE,
            unit="patient",
            dataset="clinic",
            contribution=_ONE,
            columns=(
                _facts("patient", "integer"),
                _facts("ward", "text", keys=("A", "B", "C", None)),
                _facts("city", "text"),
                _facts("age", "integer", low=0, high=120, granularity=1.0),
                _facts("cost", "real", low=0.0, high=1000.0, granularity=0.5),
                _facts("weight", "real"),
                _facts("code", "integer"),
                _facts("note", "text"),
                _facts("smoker", "boolean"),
                _facts("day", "date"),
            ),
        ),
        Table(
            name="labs",
            source=_NOWHERE,
            unit="patient",
            dataset="clinic",
            contribution=_ONE,
            columns=(
                _facts("patient", "integer"),
                _facts("value", "real", low=-5.0, high=5.0, granularity=0.5),
                _facts("test", "text", keys=("iron", "zinc")),
            ),
        ),
        Table(
            name="wards",
            source=_NOWHERE,
            columns=(
                _facts("ward_name", "text"),
                _facts("level", "integer", low=0, high=3, granularity=1.0),
            ),
        ),
    ),
    accounts=(AccountPlan(name="analyst", epsilon=100_000.0, delta=1e-6, datasets=("clinic",)),),
)


def _ordinary(patient: int) -> dict[str, Any]:
    return {
        "patient": patient,
        "ward": _WARDS[patient % 3],
        "city": _CITIES[patient % 3],
        "age": 20 + patient % 60,
        "cost": float(patient % 500),
        "weight": 50.0 + patient % 40,
        "code": patient % 9 + 1,
        "note": str(patient % 7 + 1),
        "smoker": patient % 2 == 0,
        "day": dt.date(2024, 1 + patient % 12, 15),
    }


def _extremes() -> list[dict[str, Any]]:
    """Rows of the target, each of them a trap for another question."""
    base = {**_ordinary(1), "patient": TARGET, "city": "Hapax", "note": "Jane Doe, 1965"}
    longest = "Hapax" * 20_000
    changes: list[dict[str, Any]] = [
        {"cost": math.nan, "weight": math.nan, "note": "nan"},
        {"cost": math.inf, "weight": math.inf, "note": "inf", "ward": "unlisted"},
        {"cost": -math.inf, "weight": -math.inf, "note": "-inf", "ward": None},
        {"cost": 1e308, "weight": 1.7976931348623157e308, "note": "1e308", "city": None},
        {"cost": -1e308, "weight": -1.7976931348623157e308, "note": "1e400"},
        {"cost": 5e-324, "weight": 5e-324, "note": "5e-324", "age": 0, "code": 0},
        {"weight": -0.0, "note": "", "city": "", "age": -2_147_483_648, "code": -(2**63)},
        {"weight": 0.0, "note": "0", "age": 2_147_483_647, "code": 2**63 - 1},
        {"weight": 2.0**-41, "note": "0000-00-00", "day": dt.date(1, 1, 1), "code": -1},
        {"weight": 2.0**63, "note": "2023-02-29", "day": dt.date(9999, 12, 31)},
        {"note": "a" * 5_000 + "!", "city": longest, "day": None, "smoker": None, "age": None},
        {"note": "\\%_'\";--/*$$\n\t\r\x01\u202e😀\ufeff", "city": "😀'); DROP TABLE visits; --"},
        {"note": "99999999999999999999999999", "city": "Hapax\\", "code": 2**53 + 1},
        {"note": "9" * 400 + "e99", "city": "%"},
    ]
    return [{**base, **change} for change in changes] * 3


def rows(*, target: bool) -> dict[str, list[dict[str, Any]]]:
    """The tables, with the target or without."""
    visits = [_ordinary(patient) for patient in range(1, _PEOPLE + 1)]
    labs: list[dict[str, Any]] = [
        {"patient": p, "value": float(p % 7 - 3), "test": ("iron", "zinc")[p % 2]}
        for p in range(1, _PEOPLE + 1)
    ]
    wards = [{"ward_name": w, "level": n} for n, w in enumerate((*_WARDS, "A", "unlisted"))]
    if target:
        visits += _extremes()
        odd = (math.nan, math.inf, -math.inf, 1e308, None)
        labs += [{"patient": TARGET, "value": v, "test": "Hapax"} for v in odd] * 20
    return {"visits": visits, "labs": labs, "wards": wards}


def catalog_on(source: Source, folder: Path, files: Path | None = None) -> Catalog:
    """The catalog with all tables in one place, and its ledger in a folder."""

    def placed(table: Table) -> Table:
        if files is not None:
            where = replace(source, files=str(files / f"{table.name}.parquet"))
        else:
            where = replace(source, table=table.name)
        return replace(table, source=where)

    return replace(_CATALOG, tables=tuple(map(placed, _CATALOG.tables)), folder=str(folder))


def fill_parquet(folder: Path, data: dict[str, list[dict[str, Any]]]) -> None:
    """The tables as Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        "bigint": pa.int64(),
        "text": pa.string(),
        "integer": pa.int32(),
        "double precision": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
    }
    for name, columns in TYPES.items():
        schema = pa.schema([(column, types[kind]) for column, kind in columns.items()])
        pq.write_table(pa.Table.from_pylist(data[name], schema=schema), folder / f"{name}.parquet")


def fill_duckdb(path: Path, folder: Path) -> None:
    """The Parquet files as a DuckDB file."""
    import duckdb

    with duckdb.connect(str(path)) as connection:
        for name in TYPES:
            connection.execute(f"CREATE TABLE {name} AS FROM '{folder / name}.parquet'")


def fill_postgres(address: str, data: dict[str, list[dict[str, Any]]]) -> None:
    """The tables on a PostgreSQL server."""
    import psycopg

    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        for name, columns in TYPES.items():
            declared = ", ".join(f"{column} {kind}" for column, kind in columns.items())
            cursor.execute(f"CREATE TABLE {name} ({declared})".encode())
            with cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
                for row in data[name]:
                    copy.write_row([row[column] for column in columns])
