"""The attacked tables, filled once on every engine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.curator.kernel.tables import duckdb_sides, postgres_sides, spark_sides

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.curator.kernel.tables import Side

_VARIABLE = "QUAESTOR_TEST_ATTACKED"


@pytest.fixture(scope="session")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Side]]:
    """All sides in a DuckDB file."""
    sides = duckdb_sides(tmp_path_factory.mktemp("attacked"))
    yield sides
    sides["whole"].close()


@pytest.fixture(scope="session")
def attacked_address(postgres_address: str) -> Iterator[str]:
    """A database of their own; the environment holds its address."""
    import psycopg

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE attacked")
    os.environ[_VARIABLE] = postgres_address.replace("/postgres?", "/attacked?")
    yield os.environ[_VARIABLE]
    del os.environ[_VARIABLE]


@pytest.fixture(scope="session")
def on_postgres(attacked_address: str) -> Iterator[dict[str, Side]]:
    """All sides on PostgreSQL."""
    sides = postgres_sides(attacked_address, _VARIABLE)
    yield sides
    sides["whole"].close()


@pytest.fixture(scope="session")
def on_spark(tmp_path_factory: pytest.TempPathFactory, spark_master: str) -> dict[str, Side]:
    """All sides as files, read by a Spark cluster."""
    return spark_sides(tmp_path_factory.mktemp("attacked"), spark_master)
