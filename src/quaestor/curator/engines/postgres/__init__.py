"""PostgreSQL, at the address that an environment variable holds.

==================  ==============================================================
``dialect``         its SQL, where it differs from that of other engines
``schema``          the columns of a table, for the catalog
``connection``      a connection that only reads
``unique_columns``  columns that the server keeps unique, for one row a unit
==================  ==============================================================
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

from quaestor.curator.catalog.model import Source, engine_kind
from quaestor.curator.catalog.sources import (
    EngineKind,
    SourceKey,
    check_environment,
    table_name,
)
from quaestor.curator.engines.postgres.dialect import POSTGRES

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.catalog.sections import Section
    from quaestor.curator.engines.plain_columns import PlainColumn
    from quaestor.curator.engines.postgres.connection import PostgresConnection
    from quaestor.curator.language.expressions import Kind

__all__ = ["ENGINE"]

_SERVER: Final = (
    *("host", "hostaddr", "port", "dbname", "user", "options"),
    *("service", "servicefile"),  # where the others are read from
)
"""The parts of an address that say which rows are seen; passwords are not among them."""


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
    served = True
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

    def snapshots(self, catalog: Catalog) -> Any:
        """Copies are files of DuckDB's."""
        return engine_kind("duckdb").snapshots(catalog)

    def state_of(self, catalog: Catalog, table: Table) -> list[Any]:
        """The server and the user, and of what kinds the columns are; rows may change."""
        del catalog
        address, server = os.environ.get(table.source.connection or ""), None
        if address:
            with suppress(Exception):
                from psycopg.conninfo import conninfo_to_dict

                parts = conninfo_to_dict(address)
                server = [parts.get(key, os.environ.get(_variable(key))) for key in _SERVER]
        return [[(each.name, each.kind) for each in table.columns], server]

    def write_rows(self, catalog: Catalog, table: Table, file: BinaryIO) -> list[PlainColumn]:
        with closing(self.connection(catalog, table)) as connection:
            return connection.write_rows(table, file)

    def place(self, source: Source) -> str:
        """The variable, and never the address that it holds."""
        return source.files or f"${source.connection}, table {source.table}"


def _variable(key: str) -> str:
    """The environment variable of PostgreSQL's for what an address leaves out."""
    return "PGDATABASE" if key == "dbname" else f"PG{key.upper()}"


ENGINE = _PostgreSQL()
