"""Curators of the clinic with the target and of the clinic without, on three engines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from quaestor.curator import Curator
from quaestor.curator.catalog.model import Source
from tests.curator.hostile.people import catalog_on, fill_duckdb, fill_parquet, fill_postgres, rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Pair = tuple[Curator, Curator]


def _opened(source: Source, folder: Path, files: Path | None = None) -> Curator:
    curator = Curator(catalog_on(source, folder, files))
    curator.open_account("analyst")
    return curator


@pytest.fixture(scope="session")
def clinics(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two folders of Parquet files: without the target, and with it."""
    without, with_target = (tmp_path_factory.mktemp(name) for name in ("without", "with"))
    fill_parquet(without, rows(target=False))
    fill_parquet(with_target, rows(target=True))
    return without, with_target


@pytest.fixture
def on_duckdb(clinics: tuple[Path, Path], tmp_path: Path) -> Iterator[Pair]:
    """Both in DuckDB files."""
    made = []
    for name, files in zip("ab", clinics, strict=True):
        (folder := tmp_path / name).mkdir()
        fill_duckdb(folder / "clinic.duckdb", files)
        made.append(_opened(Source(engine="duckdb", connection="clinic.duckdb"), folder))
    one, other = made
    with one, other:
        yield one, other


@pytest.fixture
def on_postgres(postgres_address: str, tmp_path: Path) -> Iterator[Pair]:
    """Both on PostgreSQL, in databases of their own."""
    import psycopg

    made = []
    for name, target in (("hostile_without", False), ("hostile_with", True)):
        with psycopg.connect(postgres_address, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        address = postgres_address.replace("/postgres?", f"/{name}?")
        fill_postgres(address, rows(target=target))
        variable = f"QUAESTOR_TEST_{name.upper()}"
        os.environ[variable] = address
        (folder := tmp_path / name).mkdir()
        made.append(_opened(Source(engine="postgres", connection=variable), folder))
    one, other = made
    with one, other:
        yield one, other
    for name in ("WITHOUT", "WITH"):
        del os.environ[f"QUAESTOR_TEST_HOSTILE_{name}"]


@pytest.fixture
def on_spark(spark_master: str, clinics: tuple[Path, Path], tmp_path: Path) -> Iterator[Pair]:
    """Both as files, read by the workers of a cluster."""
    made = []
    for name, files in zip("ab", clinics, strict=True):
        (folder := tmp_path / name).mkdir()
        made.append(_opened(Source(engine="spark", connection=spark_master), folder, files))
    one, other = made
    with one, other:
        yield one, other
