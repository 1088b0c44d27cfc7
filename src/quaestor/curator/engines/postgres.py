"""PostgreSQL, at the address that an environment variable holds."""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.dialects import Dialect
from quaestor.errors import MissingExtra, SourceUnavailable

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Table

__all__ = ["PostgresConnection"]

_SETTINGS = (
    "SET default_transaction_read_only = on",
    "SET TIME ZONE 'UTC'",
    "SET DateStyle = 'ISO, YMD'",
    "SET standard_conforming_strings = on",
    "SET client_min_messages = error",
)


class PostgresConnection:
    """A connection that only reads; one statement at a time."""

    dialect = Dialect("postgres")

    def __init__(self, table: Table) -> None:
        variable = table.source.connection or ""
        address = os.environ.get(variable)
        if not address:
            raise SourceUnavailable(
                table.name,
                f"set the environment variable {variable or '(not named in the catalog)'} to "
                "the address of the PostgreSQL server: postgresql://user:password@host/database",
            )
        self._lock = threading.Lock()
        self._connected = partial(_connected, address, variable, table)
        self._backend = self._connected()

    def table(self, table: Table) -> Any:
        """A table or view of the server."""
        *schema, name = (table.source.table or "").split(".")
        try:
            return self._backend.table(name, database=schema[-1] if schema else None)
        except Exception:  # noqa: BLE001 (what kind of error it is depends on the version)
            missing = SourceUnavailable(
                table.name, f"the server has no table {table.source.table!r} to read"
            )
        raise missing

    def compiled(self, table: Any) -> str:
        """The SQL of an ibis table."""
        return str(self._backend.compile(table))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement; without parameters, so that percent signs are themselves."""
        with self._lock:
            if self._backend.con.closed:
                self._backend = self._connected()
            with self._backend.con.cursor() as cursor:
                cursor.execute(sql)
                return list(cursor.fetchall())

    def close(self) -> None:
        """Hang up."""
        self._backend.disconnect()


def _connected(address: str, variable: str, table: Table) -> Any:
    try:
        import ibis
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", extra="postgres", purpose="asking PostgreSQL") from None
    try:
        connection = psycopg.connect(address, autocommit=True)
        for setting in _SETTINGS:
            connection.execute(setting)
        return ibis.postgres.from_connection(connection)
    except Exception:  # noqa: BLE001 (the message may repeat the address, and a password in it)
        failed = SourceUnavailable(
            table.name, f"no PostgreSQL server answers at the address in {variable}"
        )
    raise failed
