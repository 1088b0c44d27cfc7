"""PostgreSQL, at the address that an environment variable holds."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from quaestor.curator.engines.plain_columns import PlainColumn, plain_columns
from quaestor.curator.engines.postgres.dialect import POSTGRES
from quaestor.curator.engines.postgres.unique_columns import UniqueColumns, unique_columns
from quaestor.curator.engines.schemas import SchemaChanged
from quaestor.curator.engines.stop import stoppable
from quaestor.curator.kernel.relations import Base
from quaestor.errors import MissingExtra, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from quaestor.curator.catalog.model import Table

__all__ = ["PostgresConnection"]

_SETTINGS = (
    "SET default_transaction_read_only = on",
    "SET TIME ZONE 'UTC'",
    "SET DateStyle = 'ISO, YMD'",
    "SET standard_conforming_strings = on",
    "SET client_min_messages = error",
    "SET client_encoding = 'UTF8'",
    "SET extra_float_digits = 3",  # floats are printed so that they are read as the same ones
)
_COLUMNS = (
    "SELECT attname, CASE WHEN typtype = 'e' THEN 'user-defined enum' "
    "ELSE format_type(CASE WHEN typtype = 'd' THEN typbasetype ELSE atttypid END, NULL) END "
    "FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid "
    "WHERE attrelid = '{0}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)


_NOT_THERE: Final = {"42P01", "3F000", "42501", "42809"}
"""No such table, no such schema, no right to it any more, or not a table."""


class PostgresConnection:
    """A connection that only reads; one statement at a time."""

    dialect = POSTGRES

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
        self._connection = self._connected()
        self._unique: list[UniqueColumns] = []

    def base(self, table: Table) -> Base:
        """A table or view of the server."""
        name, types = _described(table, self.rows)
        unique = None
        if table.private:
            with suppress(Exception):  # the catalog of an old or of another server
                unique = unique_columns(name, self.rows)
        if unique is None:
            return Base(sql=name, types=types)
        if unique not in self._unique:
            self._unique = [*self._unique, unique]
        return unique.base(types)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement; without parameters, so that percent signs are themselves.

        Raises:
            SchemaChanged: it relies on unique columns that are not any more; it was not run.
        """
        relied = [each for each in self._unique if each.rows in sql]
        with self._lock:
            if self._connection.closed:
                self._connection = self._connected()
            with self._connection.cursor() as cursor, stoppable(self._connection.cancel_safe):
                if relied:
                    return _rows_relying(cursor, relied, sql)
                return _rows(cursor, sql)

    def write_rows(self, table: Table, file: BinaryIO) -> list[PlainColumn]:
        """Write the declared columns of all rows about somebody, as of one moment; which they are.

        Rows are lines of fields with commas between them. None needs quotes: of texts, their bytes
        in hexadecimal digits are written, after an ``x``. NULL is an empty field.

        From the first statement on the table is locked against changes of its columns. All rows
        are read by one statement after it, which sees a single state of the data.
        """
        with self._lock, self._connection.cursor() as cursor:
            cursor.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
            try:
                name = _name(table)
                with suppress(Exception):
                    cursor.execute(f"SELECT 1 FROM {name} LIMIT 0")  # noqa: S608 (quoted)
                base = Base(sql=name, types=_described(table, partial(_rows, cursor))[1])
                columns = plain_columns(table, base, POSTGRES)
                with cursor.copy(_copied(table, name, columns)) as rows:
                    file.writelines(rows)
            finally:
                with suppress(Exception):
                    cursor.execute("ROLLBACK")
        return columns

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _name(table: Table) -> str:
    return ".".join(map(POSTGRES.name_of, (table.source.table or "").split(".")[-2:]))


def _described(
    table: Table, rows: Callable[[str], list[tuple[Any, ...]]]
) -> tuple[str, dict[str, str]]:
    """How a table is called, and the types of its columns."""
    name = _name(table)
    try:
        types = {row[0]: row[1] for row in rows(_COLUMNS.format(name.replace("'", "''")))}
    except Exception:  # noqa: BLE001 (what kind of error it is depends on the version)
        types = {}
    if not types:
        raise SourceUnavailable(
            table.name, f"the server has no table {table.source.table!r}, or you may not read it"
        )
    return name, types


def _copied(table: Table, name: str, columns: list[PlainColumn]) -> str:
    fields = (
        f"'x' || {POSTGRES.encoded.format(each.sql)}" if each.kind == "text" else each.sql
        for each in columns
    )
    (unit,) = (each.sql for each in columns if each.name == table.unit)
    rows = f"SELECT {', '.join(fields)} FROM {name} AS t WHERE {unit} IS NOT NULL"  # noqa: S608
    return f"COPY ({rows}) TO STDOUT (FORMAT csv)"


def _rows(cursor: Any, sql: str) -> list[tuple[Any, ...]]:
    return list(cursor.execute(sql).fetchall())


def _rows_relying(cursor: Any, relied: list[UniqueColumns], sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement in a transaction in which its unique columns were seen to be so."""
    cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        for each in relied:
            try:
                cursor.execute(each.lock)
            except Exception as problem:
                if getattr(problem, "sqlstate", None) not in _NOT_THERE:
                    raise
                raise SchemaChanged from None
        if not all(each.holds(partial(_rows, cursor)) for each in relied):
            raise SchemaChanged
        return _rows(cursor, sql)
    finally:
        with suppress(Exception):
            cursor.execute("ROLLBACK")


def _connected(address: str, variable: str, table: Table) -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", extra="postgres", purpose="asking PostgreSQL") from None
    try:
        connection = psycopg.connect(address, autocommit=True)
        for setting in _SETTINGS:
            connection.execute(setting)
        encoding = connection.info.parameter_status("server_encoding")
    except Exception:  # noqa: BLE001 (the message may repeat the address, and a password in it)
        failed = SourceUnavailable(
            table.name, f"no PostgreSQL server answers at the address in {variable}"
        )
    else:
        if encoding == "UTF8":
            return connection
        connection.close()
        failed = SourceUnavailable(
            table.name, f"the database at the address in {variable} is not encoded in UTF8"
        )
    raise failed
