"""The schema of a table where it lives: names and kinds of its columns, and never a value.

A schema is public. What is in a column is not, so that nothing is guessed from it: of a CSV file
only the first line is read, and all its columns are text until the catalog says otherwise.
"""

from __future__ import annotations

import csv
import glob
import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from quaestor.curator.catalog.model import address_in
from quaestor.curator.catalog.sources import file_kind
from quaestor.curator.catalog.types import kind_of
from quaestor.errors import MissingExtra, UnreadableTable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from duckdb import DuckDBPyConnection

    from quaestor.curator.catalog.model import Source
    from quaestor.curator.language.expressions import Kind

__all__ = ["columns_of", "files_of", "place_of"]

_LONGEST_HEADING = 1_000_000
_OFFLINE = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}


def columns_of(source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
    """Every column of a table, with its kind, or None where the curator cannot read it.

    Raises:
        UnreadableTable: there is no such table, or its schema cannot be read.
        MissingAddress: the environment does not say where the server is.
        MissingExtra: the engine is not installed.
    """
    if source.engine == "postgres":
        return _of_postgres(source)
    if source.engine == "spark":
        return _of_spark(source, folder)
    if source.files is None:
        return _of_database(source, folder)
    if file_kind(source.files) == "parquet":
        return _of_parquet(source, folder)
    return _of_csv(source, folder)


def place_of(source: Source) -> str:
    """Where the table is, in words; of a server only the variable that holds its address."""
    if source.files is not None:
        return source.files
    where = f"${source.connection}" if source.engine == "postgres" else source.connection
    return f"{where}, table {source.table}"


def files_of(source: Source, folder: str | Path) -> list[str]:
    """The files that the catalog means, in the order of their names; there is at least one."""
    pattern = os.path.join(folder, source.files or "")  # noqa: PTH118  # Path would eat "//"
    exact = [pattern] if Path(pattern).is_file() else []
    found = exact or sorted(name for name in glob.glob(pattern, recursive=True))  # noqa: PTH207
    found = [name for name in found if Path(name).is_file()]
    if not found:
        _refuse(source, "there is no such file", "correct the name; it is relative to the catalog")
    return found


def _refuse(source: Source, problem: str, remedy: str) -> NoReturn:
    raise UnreadableTable(place=place_of(source), problem=problem, remedy=remedy) from None


def _kinds(columns: Iterable[tuple[str, str]]) -> list[tuple[str, Kind | None]]:
    return [(name, kind_of(described)) for name, described in columns]


def _duckdb() -> ModuleType:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("duckdb", extra="curator", purpose="reading tables") from None
    return duckdb


def _of_parquet(source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
    first = files_of(source, folder)[0]
    duckdb = _duckdb()
    with duckdb.connect(config=_OFFLINE) as connection:
        try:
            relation = connection.read_parquet(glob.escape(first))
            return _kinds(zip(relation.columns, map(str, relation.types), strict=True))
        except duckdb.Error:
            _refuse(source, "this is not a Parquet file", "write it again, or give another one")


def _of_csv(source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
    first = files_of(source, folder)[0]
    mark = "\t" if file_kind(first) == "tsv" else ","
    try:
        opened = gzip.open if first.lower().endswith(".gz") else open
        with opened(first, "rb") as stream:
            heading = stream.readline(_LONGEST_HEADING)  # of bytes: the rest is not even decoded
        names = next(csv.reader([heading.decode("utf-8-sig").rstrip("\r\n")], delimiter=mark), [])
    except (OSError, EOFError, UnicodeDecodeError, csv.Error):
        _refuse(source, "its first line cannot be read", "it holds the names of the columns")
    if not names or len(set(names)) < len(names) or not all(name.strip() for name in names):
        problem = "its first line must hold the names of the columns, each once"
        _refuse(source, problem, "write it there")
    return [(name, "text") for name in names]


def _of_database(source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
    path = Path(folder) / (source.connection or "")
    if not path.is_file():
        _refuse(source, "there is no such file", "correct the name; it is relative to the catalog")
    schema, table = _divided(source, "main")
    with _opened(source, path) as connection:
        columns = connection.execute(
            "SELECT column_name, data_type FROM information_schema.columns"
            " WHERE lower(table_schema) = lower(?) AND lower(table_name) = lower(?)"
            " ORDER BY ordinal_position",
            [schema, table],
        ).fetchall()
    return _found(source, columns)


def _opened(source: Source, path: Path) -> DuckDBPyConnection:
    duckdb = _duckdb()
    try:
        connection: DuckDBPyConnection = duckdb.connect(str(path), read_only=True, config=_OFFLINE)
    except duckdb.Error:
        remedy = "it must be a DuckDB file that no other program writes to"
        _refuse(source, "the database cannot be opened for reading", remedy)
    return connection


def _of_postgres(source: Source) -> list[tuple[str, Kind | None]]:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", extra="postgres", purpose="reading PostgreSQL") from None
    address = address_in(source.connection or "")
    schema, table = _divided(source, "public")
    try:
        with psycopg.connect(address, connect_timeout=10) as connection:
            columns = connection.execute(
                "SELECT column_name, CASE WHEN data_type = 'numeric' AND numeric_scale IS NOT NULL"
                " THEN 'numeric(' || numeric_precision || ',' || numeric_scale || ')'"
                " ELSE data_type END FROM information_schema.columns"
                " WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
                [schema, table],
            ).fetchall()
    except psycopg.Error:  # its words may hold the address
        problem = f"the server that ${source.connection} names cannot be asked"
        _refuse(source, problem, "check that it runs, and the variable's address, user, password")
    return _found(source, columns)


def _of_spark(source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("pyspark", extra="spark", purpose="reading with Spark") from None
    master = source.connection or "local[2]"
    builder = SparkSession.builder.appName("quaestor")
    builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    try:
        session = builder.getOrCreate()
        if source.files is None:
            read = session.table(source.table or "")
        elif file_kind(source.files) == "parquet":
            read = session.read.parquet(_spark_path(source.files, folder))
        else:
            mark = "\t" if file_kind(source.files) == "tsv" else ","
            read = session.read.csv(_spark_path(source.files, folder), header=True, sep=mark)
        return _kinds((field.name, field.dataType.simpleString()) for field in read.schema.fields)
    except PySparkException:
        _refuse(source, f"Spark at {master} cannot read it", "correct the name, or the master")


def _spark_path(files: str, folder: str | Path) -> str:
    return files if "://" in files else str(Path(folder).resolve() / files)


def _divided(source: Source, default: str) -> tuple[str, str]:
    schema, _, table = (source.table or "").rpartition(".")
    return schema or default, table


def _found(source: Source, columns: list[tuple[str, str]]) -> list[tuple[str, Kind | None]]:
    if not columns:
        remedy = "correct the name, with its schema if it has one:  clinic.visits"
        _refuse(source, "there is no such table", remedy)
    return _kinds(columns)
