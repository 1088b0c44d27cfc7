"""PostgreSQL, at the address that an environment variable holds.

==================  ==============================================================
``dialect``         its SQL, where it differs from that of other engines
``schema``          the columns of a table, for the catalog
``connection``      a connection that only reads
``unique_columns``  columns that the server keeps unique, for one row a unit
==================  ==============================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.catalog.model import Source
from quaestor.curator.catalog.sources import (
    EngineKind,
    SourceKey,
    check_environment,
    table_name,
)
from quaestor.curator.engines.postgres.dialect import POSTGRES

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.catalog.sections import Section
    from quaestor.curator.engines.postgres.connection import PostgresConnection
    from quaestor.curator.language.expressions import Kind

__all__ = ["ENGINE"]


class _PostgreSQL(EngineKind):
    name = "postgres"
    address = SourceKey(
        name="environment",
        example="CLINIC_DATABASE",
        help="The environment variable with the address of the PostgreSQL server.",
    )
    keys = (address,)
    schema = "public"
    caseless = False
    dialect = POSTGRES

    def source(self, table: Section, name: str) -> Source:
        variable = check_environment(table)
        return Source(engine=self.name, connection=variable, table=table_name(table) or name)

    def columns(self, source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
        from quaestor.curator.engines.postgres.schema import read_columns

        del folder
        return read_columns(source)

    def connection(self, catalog: Catalog, table: Table) -> PostgresConnection:
        from quaestor.curator.engines.postgres.connection import PostgresConnection

        del catalog
        return PostgresConnection(table)

    def place(self, source: Source) -> str:
        """The variable, and never the address that it holds."""
        return source.files or f"${source.connection}, table {source.table}"


ENGINE = _PostgreSQL()
