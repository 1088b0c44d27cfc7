"""A ledger in PostgreSQL: for many machines. The account's head is the lock."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import psycopg
from sqlalchemy import create_engine, event

from quaestor.ledger.store.base import WAIT, Row, Session, Store
from quaestor.ledger.store.trouble import postgres_trouble

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, PoolProxiedConnection

    from quaestor.errors import QuaestorError

__all__ = ["PostgresStore"]

# The time is read outside the locked part, and so after the lock is had; inside it could be older
# than what others have written while this waited.
_LOCKED = """
SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), h.*
FROM (SELECT events, entries, time, head, closed, pricing
FROM ledger_heads WHERE account = :account FOR UPDATE) h
"""
_NOW = """
SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
"""
_LOCK_ACCOUNTS = "SELECT pg_advisory_xact_lock(7182818284)"  # any number unlikely to be another's


class PostgresSession(Session):
    """A transaction on the server.

    Changes wait until something is asked, or until the end, and then travel together: a charge
    goes to the server and back twice, whatever it consists of.
    """

    __slots__ = ("_driver", "_pooled", "_sent", "_store", "_waiting")

    def __init__(self, store: Store, begin: str) -> None:
        """Take a connection; the beginning travels with the first statement."""
        self._store, self._sent = store, False
        self._waiting: list[tuple[str, dict[str, Any]]] = [(begin, {})]
        self._connect()

    def _connect(self) -> None:
        self._pooled: PoolProxiedConnection = self._store.connected()
        driver: Any = self._pooled.driver_connection
        self._driver: psycopg.Connection[Any] = driver

    def run(self, statement: str, **parameters: Any) -> None:
        """Make one change, before the next answer or at the end."""
        self._waiting.append((_written(statement), parameters))

    def rows(self, statement: str, **parameters: Any) -> list[Row]:
        """All rows of an answer."""
        asked = [*self._waiting, (_written(statement), parameters)]
        self._waiting = []
        try:
            return self._send(asked).fetchall()
        except psycopg.OperationalError:
            if self._sent or not self._driver.closed:
                raise
            self.release()  # it died while nobody used it: nothing has begun, and a new one may do
            self._store.close()
            self._connect()
            return self._send(asked).fetchall()
        finally:
            self._sent = True

    def _send(self, statements: list[tuple[str, dict[str, Any]]]) -> psycopg.Cursor[Any]:
        """All in one message, with values quoted by the driver; what the last one brings."""
        cursor = psycopg.ClientCursor(self._driver)
        text: Any = ";".join(cursor.mogrify(*statement) for statement in statements)
        cursor.execute(text, prepare=False)
        cursor.set_result(-1)
        return cursor

    def locked(self, account: str) -> tuple[str, Row | None]:
        """Lock the account's head; the time is the server's."""
        row = self.row(_LOCKED, account=account)
        if row is not None:
            return row[0], row[1:]
        return str(self.rows(_NOW)[0][0]), None

    def lock_accounts(self) -> None:
        """Others who open an account wait for the end of this transaction."""
        self.rows(_LOCK_ACCOUNTS)

    def check(self) -> None:
        """The server looks after its own pages."""

    def commit(self) -> None:
        """Make everything durable."""
        if self._sent or len(self._waiting) > 1:
            self._send([*self._waiting, ("COMMIT", {})])
        self._waiting = []

    def rollback(self) -> None:
        """Undo everything."""
        self._waiting = []
        self._driver.rollback()

    def release(self) -> None:
        """Give the connection back, or away if it is of no use any more."""
        if self._driver.closed:
            self._pooled.invalidate()
            self._pooled.close()
        else:
            self._store.kept(self._pooled)


class PostgresStore(Store):
    """A database of a server. Charges of one account take turns, and wait for no other's."""

    begin_writing = "BEGIN ISOLATION LEVEL READ COMMITTED"
    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
    complaint = psycopg.Error

    def __init__(self, url: URL) -> None:
        """Prepare connections to the server; none is made yet."""
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
            connect_args={"connect_timeout": 10},
            hide_parameters=True,
            pool_reset_on_return=None,
        )
        event.listen(engine, "connect", _prepare)
        super().__init__(engine)

    def begun(self, begin: str) -> Session:
        """A transaction that begins like this."""
        return PostgresSession(self, begin)

    def trouble(self, problem: BaseException, *, connected: bool) -> QuaestorError:
        """The driver's complaint, by its SQLSTATE."""
        return postgres_trouble(problem, connected=connected)

    def lacks_tables(self, problem: BaseException) -> bool:
        """SQLSTATE 42P01: undefined table."""
        return getattr(problem, "sqlstate", None) == "42P01"

    def prepare_migration(self, connection: Connection) -> None:
        """A database may well be shared: the ledger's tables have names of their own."""
        connection.exec_driver_sql(_LOCK_ACCOUNTS)


def _prepare(connection: psycopg.Connection[Any], _record: object) -> None:
    """Bounded waiting, and commits that are on the disk when they return."""
    connection.autocommit = True  # transactions begin and end where this package says
    connection.execute(f"SET lock_timeout = {int(1000 * WAIT)}")
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )


@lru_cache(maxsize=256)
def _written(statement: str) -> str:
    """``:name`` as this driver wants it."""
    return re.sub(r"(?<![:\w]):([a-z]+)", r"%(\1)s", statement)
