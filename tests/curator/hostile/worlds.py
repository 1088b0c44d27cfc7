"""The neighbouring tables on an engine, as catalogs by world; and what one statement shows."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.curator.catalog.model import Source
from tests.curator.hostile.neighbours import (
    NOBODY,
    WORLDS,
    catalog_in,
    write_duckdb,
    write_parquet,
    write_postgres,
)
from tests.curator.hostile.verdict import asked, compared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.catalog.model import Catalog
    from tests.curator.hostile.generator import Statement
    from tests.curator.hostile.verdict import Violation

__all__ = ["Judged", "duckdb_worlds", "judged", "parquet_worlds", "postgres_worlds", "spark_worlds"]

Worlds = dict[str, "Catalog"]
_VARIABLE = "QUAESTOR_TEST_NEIGHBOURS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A statement, what became of it without the person, and what was wrong with both."""

    statement: Statement
    became: str
    found: tuple[Violation, ...]


def judged(worlds: Worlds, statement: Statement) -> Judged:
    """Ask with the person and without; a refusal is asked with nobody's rows at first."""
    without = asked(worlds[NOBODY], statement.sql)
    found = compared(asked(worlds[statement.world], statement.sql), without)
    if without.refusal is not None:
        became = "refused"
    elif without.broken is not None:
        became = "broken"
    else:
        became = "answered" if without.answered else "failed"
    return Judged(statement=statement, became=became, found=tuple(found))


def duckdb_worlds(folder: Path) -> Worlds:
    """Each in a DuckDB file of its own."""
    source = Source(engine="duckdb", connection="clinic.duckdb")
    for world in (NOBODY, *WORLDS):
        (folder / world).mkdir()
        write_duckdb(folder / world / "clinic.duckdb", world)
    return {world: catalog_in(source, folder / world) for world in (NOBODY, *WORLDS)}


def parquet_worlds(folder: Path) -> Worlds:
    """Each as a folder of Parquet files, read by DuckDB."""
    for world in (NOBODY, *WORLDS):
        (folder / world).mkdir()
        write_parquet(folder / world, world)
    source = Source(engine="duckdb")
    return {world: catalog_in(source, folder / world, files=True) for world in (NOBODY, *WORLDS)}


def spark_worlds(folder: Path, master: str) -> Worlds:
    """Each as a folder of Parquet files, whose texts Spark compares without case."""
    for world in (NOBODY, *WORLDS):
        (folder / world).mkdir()
        write_parquet(folder / world, world, loosely=True)
    source = Source(engine="spark", connection=master)
    return {world: catalog_in(source, folder / world, files=True) for world in (NOBODY, *WORLDS)}


@contextmanager
def postgres_worlds(address: str) -> Iterator[Worlds]:
    """Each in a schema of its own; the environment holds the server's address meanwhile."""
    for world in (NOBODY, *WORLDS):
        write_postgres(address, world)
    os.environ[_VARIABLE] = address
    try:
        yield {
            world: catalog_in(Source(engine="postgres", connection=_VARIABLE, table=world))
            for world in (NOBODY, *WORLDS)
        }
    finally:
        del os.environ[_VARIABLE]
