"""Dry runs: a question answered from rows that are made up of the catalog alone, for free.

Nothing of the data is touched: the rows follow from what is declared, which analysts may see, by
plain arithmetic. They live in a folder of their own, with a ledger of their own, until the run is
over.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import BoundedSemaphore, Timer
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import AccountPlan, Catalog, ColumnFacts, Source, Table
from quaestor.curator.engines.stop import Stop
from quaestor.curator.session import Curator
from quaestor.errors import RequestRefused
from quaestor.service.inquiries import inquiry_from

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer
    from quaestor.service.shapes import PreviewBody

__all__ = ["dry_run", "simulated_catalog"]

_ACCOUNT = "dry run"
_UNITS, _MOST_ROWS = 400, 3
_AT_ONCE, _SECONDS = BoundedSemaphore(2), 10.0
_FIRST = date(2024, 1, 1)
_WORDS = ("red", "green", "blue", "grey")


def dry_run(catalog: Catalog, body: PreviewBody) -> Answer:
    """The answer to a question about made-up rows, with real noise at the real price.

    Raises:
        RequestRefused: others are making dry runs just now.
        QuaestorError: what is wrong with the question, as when it is really asked.
    """
    if not _AT_ONCE.acquire(blocking=False):  # whoever waited would hold up other requests
        raise RequestRefused(
            "too_often", "too many dry runs are in progress: try again in a few seconds"
        )
    try:
        return _answered(catalog, {**body.model_dump(), "account": _ACCOUNT, "anew": False})
    finally:
        _AT_ONCE.release()


def _answered(catalog: Catalog, asked: dict[str, Any]) -> Answer:
    stop = Stop()
    deadline = Timer(_SECONDS, stop.now)
    deadline.daemon = True
    with TemporaryDirectory(prefix="quaestor-dry-run-") as folder:
        made = simulated_catalog(catalog, Path(folder))
        with Curator(made) as curator, stop.watching():
            deadline.start()
            try:
                curator.open_account(_ACCOUNT)
                return curator.answered(inquiry_from(asked, analyst="", groups=()))
            finally:
                deadline.cancel()


def simulated_catalog(catalog: Catalog, folder: Path) -> Catalog:
    """The same tables, as files of made-up rows in a folder, and an account that can pay."""
    tables = tuple(_simulated(table, folder, place) for place, table in enumerate(catalog.tables))
    account = AccountPlan(
        name=_ACCOUNT, epsilon=1000.0, delta=1e-3, datasets=catalog.datasets, policy="open"
    )
    return replace(
        catalog,
        tables=tables,
        accounts=(account,),
        ledger="ledger.db",
        ledger_environment=None,
        membership=None,
        folder=str(folder),
    )


def _simulated(table: Table, folder: Path, place: int) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    each = max(1, min(_MOST_ROWS, table.total_cap())) if table.private else 1
    count = _UNITS * each
    columns = {
        column.name: pa.array(
            _unit(column, each, count)
            if column.name == table.unit
            else _values(column, count, 7 * place + number),
            _arrow_type(column),
        )
        for number, column in enumerate(table.columns, 1)
    }
    file = f"table{place}.parquet"
    parquet.write_table(pa.table(columns), folder / file)
    return replace(table, source=Source(engine="duckdb", files=file), tuned=())


def _arrow_type(column: ColumnFacts) -> Any:
    import pyarrow as pa

    return {
        "integer": pa.int64(),
        "real": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
    }.get(column.kind, pa.string())


def _unit(column: ColumnFacts, each: int, count: int) -> list[Any]:
    units = [row // each for row in range(count)]
    return units if column.kind in {"integer", "real"} else [f"u{unit}" for unit in units]


def _values(column: ColumnFacts, count: int, salt: int) -> list[Any]:
    numbers = [_mixed(row, salt) for row in range(count)]
    if column.keys:
        return [_of_kind(column, column.keys[number % len(column.keys)]) for number in numbers]
    if column.low is not None and column.high is not None:
        step = column.granularity or 1.0
        steps = max(1, round((column.high - column.low) / step))
        values = [column.low + step * (number % (steps + 1)) for number in numbers]
        return [int(value) for value in values] if column.kind == "integer" else values
    return [_any_value(column.kind, number) for number in numbers]


def _any_value(kind: str, number: int) -> Any:
    day = _FIRST + timedelta(days=number % 700)
    found: dict[str, Any] = {
        "integer": number % _UNITS,
        "real": float(number % 1000),
        "boolean": number % 2 == 0,
        "date": day,
        "timestamp": datetime.combine(day, datetime.min.time()),
    }
    return found.get(kind, _WORDS[number % len(_WORDS)])


def _of_kind(column: ColumnFacts, key: Any) -> Any:
    """A declared key as a value: dates and times are declared as texts."""
    if isinstance(key, str) and column.kind == "date":
        return date.fromisoformat(key)
    if isinstance(key, str) and column.kind == "timestamp":
        return datetime.fromisoformat(key)
    return key


def _mixed(row: int, salt: int) -> int:
    """A number that looks like no pattern, always the same for the same row."""
    number = (row * 2_654_435_761 + salt * 40_503_001 + 12_345) % 2**32
    return (number ^ (number >> 15)) * 2_246_822_519 % 2**32 >> 8
