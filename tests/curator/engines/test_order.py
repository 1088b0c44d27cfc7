"""The order in which rows lie, and were inserted, does not matter."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog.model import Source
from quaestor.curator.engines import engine_for
from tests.curator.engines.answers import answer
from tests.curator.engines.data import COLUMNS, DATA, catalog_on, fill_parquet, fill_postgres
from tests.curator.engines.queries import CASES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.engines import Engine

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

_NAMES = (
    "two declared keys",
    "private and declared",
    "thinned histograms",
    "distinct values of every kind",
    "units that are texts",
)


@pytest.fixture(scope="module")
def shuffled() -> dict[str, list[dict[str, Any]]]:
    draw = random.Random(5)
    return {name: draw.sample(rows, len(rows)) for name, rows in DATA.items()}


@pytest.fixture(scope="module")
def shuffled_folder(
    shuffled: dict[str, list[dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("shuffled")
    fill_parquet(folder, shuffled)
    return folder


@pytest.fixture
def reinserted(postgres_address: str, shuffled: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """A database into which the rows came in another order, some of them twice and once out."""
    import psycopg

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE reinserted")
    address = postgres_address.replace("/postgres?", "/reinserted?")
    fill_postgres(address, shuffled)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE moved AS SELECT * FROM visits WHERE age < 50")
        connection.execute("DELETE FROM visits WHERE age < 50")
        connection.execute("VACUUM visits")
        connection.execute("INSERT INTO visits SELECT * FROM moved ORDER BY age")
    os.environ["QUAESTOR_TEST_REINSERTED"] = address
    yield "QUAESTOR_TEST_REINSERTED"
    del os.environ["QUAESTOR_TEST_REINSERTED"]


def _agree(one: Engine, other: Engine) -> None:
    for name in _NAMES:
        query, measures = CASES[name]
        assert answer(one, query, measures) == answer(other, query, measures), name


def test_shuffled_files_have_the_same_measures_on_duckdb(
    duckdb_engine: Engine, shuffled_folder: Path
) -> None:
    other = engine_for(catalog_on(Source(engine="duckdb"), shuffled_folder), COLUMNS)
    _agree(duckdb_engine, other)
    other.close()


def test_reinserted_rows_have_the_same_measures_on_postgres(
    postgres_engine: Engine, reinserted: str
) -> None:
    other = engine_for(catalog_on(Source(engine="postgres", connection=reinserted)), COLUMNS)
    _agree(postgres_engine, other)
    other.close()


def test_shuffled_files_have_the_same_measures_on_spark(
    duckdb_engine: Engine, spark_engine: Engine, spark_master: str, shuffled_folder: Path
) -> None:
    assert spark_engine is not None  # its session is the one that is used
    source = Source(engine="spark", connection=spark_master)
    other = engine_for(catalog_on(source, shuffled_folder), COLUMNS)
    for name in _NAMES[:2]:
        query, measures = CASES[name]
        assert answer(other, query, measures) == answer(duckdb_engine, query, measures), name
