"""DuckDB: its own files, and Parquet, CSV and JSON lines files.

=================  ==============================================================
``dialect``        its SQL, where it differs from that of other engines
``schema``         the columns of a file or a table, for the catalog
``connection``     DuckDB in memory, to which the catalog's files are attached
``read_lock``      a lock on a database file that closing it elsewhere does not end
``snapshots``      prepared copies of tables, sorted by unit
``source_state``   what has to be as it was for a prepared copy to be read
``server_copies``  prepared copies of tables of a server, read in its place
``parquet_files``  how Parquet files are read
``text_rows``      how rows of text files are read
``text_system``    text files as streams in UTF-8
=================  ==============================================================
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import TEXT_KINDS, Source, file_kind
from quaestor.curator.catalog.sources import EngineKind, SourceKey, refuse_together, table_name
from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.files import FILE, files_key, refuse_remote

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.catalog.sections import Section
    from quaestor.curator.engines.duckdb.connection import DuckConnection
    from quaestor.curator.engines.duckdb.snapshots import Snapshots
    from quaestor.curator.language.expressions import Kind
    from quaestor.errors import InvalidCatalog

__all__ = ["ENGINE"]


class _DuckDB(EngineKind):
    name = "duckdb"
    address = SourceKey(
        name="database",
        example="clinic.duckdb",
        help="The DuckDB database file with the table.",
        path=True,
    )
    keys = (FILE, address)
    dialect = DUCKDB

    def source(self, table: Section, name: str) -> Source:
        database = table.text("database", remedy='write  database = "clinic.duckdb"')
        files = files_key(table, remote=False)
        if database is not None:
            refuse_together(table, "a database", "file")
            refuse_remote(table, "database", database)
            return Source(engine=self.name, connection=database, table=table_name(table) or name)
        refuse_together(table, "a file", "table")
        return Source(engine=self.name, files=files)

    def columns(self, source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
        from quaestor.curator.engines.duckdb.schema import read_columns

        return read_columns(source, folder)

    def fitted(self, source: Source, folder: str | Path) -> tuple[Source, list[str]]:
        from quaestor.curator.engines.text_check import fitted

        text = source.files is not None and file_kind(source.files) in TEXT_KINDS
        return fitted(source, folder) if text else (source, [])

    def connection(self, catalog: Catalog, table: Table) -> DuckConnection:
        from quaestor.curator.engines.duckdb.connection import DuckConnection

        del table
        return DuckConnection(catalog)

    def snapshots(self, catalog: Catalog) -> Snapshots:
        from quaestor.curator.engines.duckdb.snapshots import Snapshots

        return Snapshots(catalog)

    def state_of(self, catalog: Catalog, table: Table) -> list[Any]:
        from quaestor.curator.engines.duckdb.source_state import files_as_they_are

        return files_as_they_are(catalog, table)

    def reach(self, source: Source) -> None:
        """All its tables: it is embedded, and reaches every file."""

    def identity(self, source: Source) -> tuple[str | None, ...]:
        connection, *rest = super().identity(source)
        return None if connection is None else os.path.normpath(connection), *rest

    def misplaced(self, table: Section, implied: EngineKind) -> InvalidCatalog:
        """It is where all tables are that say nothing else: the key that says so is wrong."""
        other = next(key.name for key in implied.keys if key.name in table.values)
        problem = f"{other} is not for the engine {self.name}"
        return table.wrong(other, problem, f"write {self.needed} instead")


ENGINE = _DuckDB()
