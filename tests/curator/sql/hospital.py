"""A catalog to ask about, and small random tables that keep to it."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.language.query import Contribution

if TYPE_CHECKING:
    import random

__all__ = ["CATALOG", "TABLES", "create", "random_rows"]

_SOURCE = Source(engine="duckdb", files="data.parquet")

CATALOG = Catalog(
    ledger="ledger.db",
    tables=(
        Table(
            name="visits",
            source=_SOURCE,
            unit="patient",
            dataset="hospital",
            contribution=Contribution(rows=20, groups=5),
            columns=(
                ColumnFacts(name="patient", kind="integer"),
                ColumnFacts(name="age", kind="integer", low=0, high=120),
                ColumnFacts(name="sex", kind="text", keys=("F", "M")),
                ColumnFacts(name="city", kind="text"),
                ColumnFacts(name="cost", kind="real", low=0, high=10_000, granularity=0.25),
                ColumnFacts(name="change", kind="real", low=-50, high=50, granularity=0.125),
                ColumnFacts(name="weight", kind="real"),
                ColumnFacts(name="smoker", kind="boolean"),
                ColumnFacts(name="day", kind="date"),
                ColumnFacts(name="code", kind="integer"),
                ColumnFacts(name="Ward No", kind="integer", low=1, high=4),
            ),
        ),
        Table(
            name="labs",
            source=_SOURCE,
            unit="patient",
            dataset="hospital",
            contribution=Contribution(rows=50, groups=3),
            columns=(
                ColumnFacts(name="patient", kind="integer"),
                ColumnFacts(name="test", kind="text", keys=("iron", "zinc", None)),
                ColumnFacts(name="value", kind="real", low=-5, high=5, granularity=0.5),
            ),
        ),
        Table(
            name="staff",
            source=_SOURCE,
            unit="person",
            dataset="staff",
            columns=(
                ColumnFacts(name="person", kind="text"),
                ColumnFacts(name="city", kind="text"),
            ),
        ),
        Table(
            name="cities",
            source=_SOURCE,
            columns=(
                ColumnFacts(name="city", kind="text"),
                ColumnFacts(name="region", kind="text", keys=("north", "south")),
                ColumnFacts(name="people", kind="integer", low=0, high=10_000_000),
            ),
        ),
    ),
)
TABLES = {table.name: table for table in CATALOG.tables}
_TYPES = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
}
_CITIES = ("Rome", "Paris", "Oslo", "rome", "Ulm", "Köln")


def random_rows(table: Table, chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows inside the declared bounds; one value in eight is NULL, but never the unit."""
    return [
        {
            column.name: None
            if column.name != table.unit and chance.random() < 0.125
            else _value(column, chance)
            for column in table.columns
        }
        for _ in range(count)
    ]


def _value(column: ColumnFacts, chance: random.Random) -> Any:  # noqa: PLR0911  # a line a kind
    if column.keys is not None:
        return chance.choice([key for key in column.keys if key is not None])
    if column.name == "city":
        return chance.choice(_CITIES)
    match column.kind:
        case "integer":
            low, high = column.low or 0, column.high or 30
            return chance.randint(int(low), int(min(high, 1_000_000)))
        case "real":
            low, high, step = column.low or 0, column.high or 200, column.granularity or 0.0625
            return chance.randint(int(low / step), int(high / step)) * step
        case "boolean":
            return chance.random() < 0.5
        case "date":
            return str(dt.date(2019, 1, 1) + dt.timedelta(days=chance.randint(0, 900)))
        case _:
            return chance.choice(["a", "b", "Abc", "%", ""])


def create(table: Table) -> str:
    """The statement that makes the table in DuckDB."""
    columns = ", ".join(f'"{column.name}" {_TYPES[column.kind]}' for column in table.columns)
    return f'CREATE TABLE "{table.name}" ({columns})'
