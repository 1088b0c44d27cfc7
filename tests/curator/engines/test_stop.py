"""A stop ends what an engine is doing, on every engine, and what would follow."""

from __future__ import annotations

import gc
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog.model import Catalog, Source, Table
from quaestor.curator.engines.stop import Stop
from quaestor.errors import EngineFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.engines.engine import Connection

PATIENCE = 300.0


def _stopped(
    connection: Connection, endless: str, works: Callable[[], object] = lambda: True
) -> BaseException:
    """What a statement that never ends raises when it is stopped from another thread.

    It is stopped once it has been sent and the engine works, as far as that is told: what is
    stopped before is never sent.
    """
    stop = Stop()
    raised: list[BaseException] = []

    def ask() -> None:
        with stop.watching():
            try:
                connection.rows(endless)
            except BaseException as problem:  # noqa: BLE001  # whatever the driver says
                raised.append(problem)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    while thread.is_alive() and not (stop._running and works()):
        time.sleep(0.01)
    assert thread.is_alive()
    stop.now()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    (problem,) = raised
    with stop.watching(), pytest.raises(EngineFailed):
        connection.rows("SELECT 1")
    assert connection.rows("SELECT 1") == [(1,)]  # others go on
    return problem


def _table(engine: str, connection: str | None) -> Any:
    source = Source(engine=engine, connection=connection, table="none")
    return Table(name="none", source=source, columns=())


def test_duckdb_is_interrupted() -> None:
    from quaestor.curator.engines.duckdb.connection import DuckConnection

    connection = DuckConnection(Catalog(tables=(), ledger="ledger.db"))
    try:
        _stopped(
            connection, "SELECT SUM(a.range * b.range) FROM range(10000000) a, range(1000000) b"
        )
    finally:
        connection.close()


def test_postgres_is_cancelled(postgres_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from quaestor.curator.engines.postgres.connection import PostgresConnection

    monkeypatch.setenv("STOPPED", postgres_address)
    connection = PostgresConnection(_table("postgres", "STOPPED"))
    try:
        _stopped(connection, "SELECT pg_sleep(100000)")
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # py4j leaves its sockets to the collector
def test_spark_is_interrupted(spark_master: str) -> None:
    from quaestor.curator.engines.spark.connection import SparkConnection

    table = _table("spark", spark_master)
    connection = SparkConnection(Catalog(tables=(table,), ledger="ledger.db"), table)
    _stopped(
        connection,
        "SELECT SUM(a.id * b.id) FROM range(10000000) a CROSS JOIN range(1000000) b",
        connection.work,
    )
    gc.collect()
