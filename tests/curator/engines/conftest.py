"""The same tables on DuckDB, PostgreSQL and Spark."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from quaestor.curator.catalog.model import Source
from quaestor.curator.engines import engine_for
from tests.curator.engines.data import (
    COLUMNS,
    DATA,
    catalog_on,
    fill_duckdb,
    fill_parquet,
    fill_postgres,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.engines import Engine

VARIABLE = "QUAESTOR_TEST_CLINIC"


@pytest.fixture(scope="session")
def parquet_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables as Parquet files."""
    folder = tmp_path_factory.mktemp("clinic")
    fill_parquet(folder, DATA)
    return folder


@pytest.fixture(scope="session")
def clinic_address(postgres_address: str) -> Iterator[str]:
    """A database with the tables; the environment holds its address."""
    import psycopg

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE clinic")
    address = postgres_address.replace("/postgres?", "/clinic?")
    fill_postgres(address, DATA)
    os.environ[VARIABLE] = address
    yield address
    del os.environ[VARIABLE]


@pytest.fixture(scope="session")
def duckdb_engine(parquet_folder: Path) -> Iterator[Engine]:
    """The tables in a DuckDB file."""
    path = parquet_folder / "clinic.duckdb"
    fill_duckdb(path, parquet_folder)
    engine = engine_for(catalog_on(Source(engine="duckdb", connection=str(path))), COLUMNS)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def postgres_engine(clinic_address: str) -> Iterator[Engine]:
    """The tables on PostgreSQL."""
    assert clinic_address
    engine = engine_for(catalog_on(Source(engine="postgres", connection=VARIABLE)), COLUMNS)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def spark_engine(spark_master: str, parquet_folder: Path) -> Iterator[Engine]:
    """The tables as files, read by Spark."""
    source = Source(engine="spark", connection=spark_master)
    engine = engine_for(catalog_on(source, parquet_folder), COLUMNS)
    yield engine
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session
    session.stop()
