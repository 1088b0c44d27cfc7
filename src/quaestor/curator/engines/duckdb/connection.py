"""DuckDB, embedded: its own files, opened for reading only, and Parquet and CSV files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from quaestor.curator.engines.duckdb.parquet_files import ParquetFiles
from quaestor.curator.engines.files import (
    found,
    header,
    in_folders,
    kind_of,
    literal,
    pattern_of,
    unpacked,
)
from quaestor.curator.kernel.relations import Base
from quaestor.curator.scalars.dialects import DUCKDB
from quaestor.errors import MissingExtra, SourceUnavailable

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog, Table

__all__ = ["DuckConnection"]


class DuckConnection:
    """A DuckDB in memory, to which the files of the catalog are attached."""

    dialect = DUCKDB

    def __init__(self, catalog: Catalog) -> None:
        try:
            import duckdb
        except ImportError:
            raise MissingExtra("duckdb", extra="curator", purpose="asking DuckDB") from None
        self._catalog = catalog
        self._connection = duckdb.connect()
        self._attached: dict[str, str] = {}
        self._parquet: list[ParquetFiles] = []
        for setting in (  # for cursors too, which do not inherit what is set for one connection
            "SET GLOBAL TimeZone = 'UTC'",
            "SET GLOBAL ieee_floating_point_ops = false",  # what is divided by zero is NULL
            "SET GLOBAL autoinstall_known_extensions = false",
        ):
            self._connection.execute(setting)

    def base(self, table: Table) -> Base:
        """A table of an attached file, or a view of Parquet or CSV files."""
        if table.source.table is None:
            return self._files(table)
        if table.source.connection is None:
            raise SourceUnavailable(table.name, "its source names a table, but no DuckDB file")
        database = self._attach(table)
        *schema, name = table.source.table.split(".")
        try:
            return self._described(
                ".".join(map(DUCKDB.name_of, (database, schema[-1] if schema else "main", name)))
            )
        except Exception:  # noqa: BLE001 (what kind of error it is depends on the version)
            missing = SourceUnavailable(
                table.name, f"{table.source.connection} has no table {table.source.table}"
            )
        raise missing

    def _described(self, name: str) -> Base:
        columns = self._connection.execute(f"DESCRIBE {name}").fetchall()
        return Base(sql=name, types={column[0]: column[1] for column in columns})

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, on a cursor of its own."""
        with self._connection.cursor() as cursor:
            cursor.execute("SET enable_progress_bar = false")
            for files in self._parquet:
                if files.view in sql:
                    files.register(cursor)
            return list(cursor.execute(sql).fetchall())

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()

    def _attach(self, table: Table) -> str:
        from pathlib import Path

        path = str(Path(self._catalog.folder).absolute() / str(table.source.connection))
        if path not in self._attached:
            name = f"attached{len(self._attached)}"
            if not Path(path).is_file():
                raise SourceUnavailable(table.name, f"there is no file {table.source.connection}")
            try:
                self._connection.execute(f"ATTACH {_quoted(path)} AS {name} (READ_ONLY)")
            except Exception:  # noqa: BLE001 (as above)
                name = ""
            if not name:
                raise SourceUnavailable(
                    table.name,
                    f"{table.source.connection} cannot be opened as a DuckDB file for reading",
                )
            self._attached[path] = name
        return self._attached[path]

    def _files(self, table: Table) -> Base:
        pattern, kind = pattern_of(self._catalog, table), kind_of(table)
        paths = found(table, pattern)
        if kind == "parquet":
            return self._parquet_files(table, paths)
        # Guessing types or delimiters would make them depend on what single rows hold.
        names, between = header(table, paths[0])
        files = "[" + ", ".join(map(literal, paths)) + "]"
        columns = "{" + ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names) + "}"
        rows = (
            f"read_csv({files}, auto_detect = false, header = true, columns = {columns}, "
            f"delim = {_quoted(between)}, quote = '\"', escape = '\"', nullstr = '', "
            "allow_quoted_nulls = false, ignore_errors = true, null_padding = true, "
            # Otherwise one line that ends in another way, or a text of two lines, is an error.
            "strict_mode = false, parallel = false, "
            "hive_partitioning = false, filename = 'path of the file')"
        )
        listed = [DUCKDB.name_of(name) for name in names]
        for name in in_folders(table, paths[0], names):
            pattern = _quoted(f"/{re.escape(name)}=([^/]*)/")
            value = f'regexp_extract("path of the file", {pattern}, 1)'
            listed.append(f"{unpacked(value)} AS {DUCKDB.name_of(name)}")
        name = f"files_{uuid4().hex}"
        try:
            chosen = f"SELECT {', '.join(listed)} FROM {rows}"  # noqa: S608 (quoted)
            self._connection.execute(f"CREATE VIEW {name} AS {chosen}")
            return self._described(name)
        except Exception:  # noqa: BLE001 (as above)
            unreadable = SourceUnavailable(table.name, f"{table.source.files} cannot be read")
        raise unreadable

    def _parquet_files(self, table: Table, paths: list[str]) -> Base:
        files = ParquetFiles(table, paths)
        try:
            with self._connection.cursor() as cursor:
                files.register(cursor)
                columns = cursor.execute(f"DESCRIBE {files.view}").fetchall()
        except Exception:  # noqa: BLE001 (as above)
            columns = []
        if not columns:
            raise SourceUnavailable(table.name, f"{table.source.files} cannot be read")
        self._parquet.append(files)
        return Base(sql=files.view, types={column[0]: column[1] for column in columns})


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
