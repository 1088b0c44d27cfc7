"""A ledger in a file: SQLite with a write-ahead log, safe with many processes."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, create_engine, event

from quaestor.errors import LedgerCorrupted
from quaestor.ledger import clock
from quaestor.ledger.store import sql
from quaestor.ledger.store.base import WAIT, Row, Session, Store
from quaestor.ledger.store.trouble import NOT_A_LEDGER, sqlite_trouble, unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, PoolProxiedConnection

    from quaestor.errors import QuaestorError

__all__ = ["SQLiteStore"]

_MAGIC = b"SQLite format 3\0"
_STRANGERS = """
SELECT 1 FROM sqlite_master WHERE NOT EXISTS (
SELECT 1 FROM sqlite_master WHERE name = 'ledger_version') LIMIT 1
"""


class SQLiteSession(Session):
    """A transaction on the file; one that writes holds the only lock there is."""

    __slots__ = ("_driver", "_pooled", "_store")

    def __init__(self, store: Store, begin: str) -> None:
        """Begin."""
        self._store = store
        self._pooled: PoolProxiedConnection = store.connected()
        driver: Any = self._pooled.driver_connection
        self._driver: sqlite3.Connection = driver
        try:
            self._driver.execute(begin)
        except BaseException:
            self.release()
            raise

    def run(self, statement: str, **parameters: Any) -> None:
        """Make one change, now."""
        self._driver.execute(statement, parameters)

    def rows(self, statement: str, **parameters: Any) -> list[Row]:
        """All rows of an answer."""
        return self._driver.execute(statement, parameters).fetchall()

    def locked(self, account: str) -> tuple[str, Row | None]:
        """The account's head; the time is this computer's."""
        row = self.row(sql.STATE, account=account)
        return clock.now(), row

    def lock_accounts(self) -> None:
        """The transaction holds the only lock there is."""

    def check(self) -> None:
        """Ask SQLite whether the file's pages hold together."""
        if self.row("PRAGMA integrity_check(1)") != ("ok",):
            raise LedgerCorrupted("the file", "its pages do not hold together")

    def commit(self) -> None:
        """Make everything durable."""
        self._driver.execute("COMMIT")

    def rollback(self) -> None:
        """Undo everything; SQLite may have done so by itself."""
        if self._driver.in_transaction:
            self._driver.execute("ROLLBACK")

    def release(self) -> None:
        """Give the connection back."""
        self._store.kept(self._pooled)


class SQLiteStore(Store):
    """A file. Writers take turns; readers see the last complete state meanwhile."""

    begin_writing = "BEGIN IMMEDIATE"
    begin_reading = "BEGIN"
    complaint = sqlite3.Error

    def __init__(self, path: Path, *, create: bool) -> None:
        """Prepare connections to the file; nothing is opened yet."""
        if not path.exists():
            if not create:
                raise unavailable("absent")
            if not path.parent.is_dir():
                raise unavailable("cannot_open")
        elif not _is_sqlite(path):
            raise LedgerCorrupted("the file", NOT_A_LEDGER)
        url = URL.create("sqlite", database=str(path))
        engine = create_engine(url, isolation_level="AUTOCOMMIT", pool_reset_on_return=None)
        event.listen(engine, "connect", _prepare)
        super().__init__(engine)

    def begun(self, begin: str) -> Session:
        """A transaction that begins like this."""
        return SQLiteSession(self, begin)

    def trouble(self, problem: BaseException, *, connected: bool) -> QuaestorError:
        """The driver's complaint, by SQLite's name for it."""
        del connected
        return sqlite_trouble(problem)

    def lacks_tables(self, problem: BaseException) -> bool:
        """SQLite has no name for this complaint; the sentence is stable."""
        return str(problem).startswith("no such table")

    def prepare_migration(self, connection: Connection) -> None:
        """Leave a file alone that holds tables of somebody else."""
        if connection.exec_driver_sql(_STRANGERS).first() is not None:
            raise unavailable("not_a_ledger")


def _is_sqlite(path: Path) -> bool:
    """Whether a file is SQLite's, or empty; SQLite itself would write over a short text."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError:
        raise unavailable("cannot_open") from None
    return start in {b"", _MAGIC}


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    """Durable commits, a write-ahead log, and patience with other processes."""
    connection.isolation_level = None  # transactions begin and end where this package says
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * WAIT)}")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # where a plain fsync does not reach the disk
    _write_ahead(connection)


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the log on, once for the file; SQLite does not wait by itself for this lock."""
    deadline = time.monotonic() + WAIT
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
