"""A ledger in a file: SQLite with a write-ahead log, safe with many processes."""

from __future__ import annotations

import fcntl
import os
import random
import secrets
import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from quaestor.errors import LedgerCorrupted
from quaestor.ledger import stored_text as texts
from quaestor.ledger.store import statements as sql
from quaestor.ledger.store.base import POOL_PATIENCE, POOL_SIZE, WAIT, Locked, Row, Session, Store
from quaestor.ledger.store.connection_pool import ConnectionPool
from quaestor.ledger.store.driver_errors import NOT_A_LEDGER, sqlite_trouble, unavailable
from quaestor.ledger.store.file_identity import FileWatch, refuse_network
from quaestor.ledger.store.spare_connection import SpareConnection
from quaestor.ledger.store.sqlite_connection import SQLiteConnection
from quaestor.ledger.store.sqlite_step import append_in_one_step, prepare_step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from quaestor.errors import QuaestorError

__all__ = ["SQLiteStore", "made_alone"]

_SMALLEST = 512  # bytes: no database is smaller
_STRANGERS = """
SELECT 1 FROM sqlite_master WHERE NOT EXISTS (
SELECT 1 FROM sqlite_master WHERE name = 'ledger_version') LIMIT 1
"""
_STEPS = (0.004, 0.04)  # seconds until the lock is tried again: at most, at first and later


class SQLiteSession(Session):
    """A transaction on the file; one that writes holds the only lock there is."""

    __slots__ = ()

    _driver: SQLiteConnection
    _store: SQLiteStore

    def __init__(self, store: SQLiteStore, begin: str) -> None:
        """Begin."""
        writing = begin == store.begin_writing
        super().__init__(store, writing=writing)
        try:
            self._driver.keep_up(store.age)
            if writing:
                self._take_turn(begin)
            else:
                self._driver.execute(begin)
        except BaseException:
            self.discard()
            raise

    def _take_turn(self, begin: str) -> None:
        """Wait for the lock in random steps.

        SQLite's own grow to a tenth of a second, and who comes first is not who has waited. Where
        steps stay small, many who wait leave no processor to the one that they wait for.
        """
        deadline, (step, longest) = time.monotonic() + WAIT, _STEPS
        while True:
            try:
                self._driver.execute(begin)
            except sqlite3.OperationalError as problem:
                if problem.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(step / 8, step))  # noqa: S311  # not for noise
                step = min(2 * step, longest)
            else:
                return

    def run(self, statement: str, **parameters: Any) -> None:
        """Make one change, now."""
        self._driver.execute(statement, parameters)

    def rows(self, statement: str, **parameters: Any) -> list[Row]:
        """All rows of an answer."""
        return self._driver.rows(statement, parameters)

    def locked(self, account: str, *, seen: int) -> Locked:
        """The account's head; the time is this computer's."""
        state = self.row(sql.STATE, account=account)
        asked = self.row(sql.HASH, account=account, seq=seen) if seen else None
        found = asked[0] if asked else None
        return Locked(texts.now(), state, self._store.identity.id, found)

    def now(self) -> str:
        """This computer's time."""
        return texts.now()

    def lock_accounts(self) -> None:
        """The transaction holds the only lock there is."""

    def check(self) -> None:
        """Ask SQLite whether the file's pages hold together."""
        if self.row("PRAGMA integrity_check(1)") != ("ok",):
            raise LedgerCorrupted("the file", "its pages are inconsistent")

    def commit(self) -> None:
        """Make everything durable."""
        self._driver.execute("COMMIT")

    @property
    def idle(self) -> bool:
        """Whether no transaction is under way."""
        return not self._driver.in_transaction


class SQLiteStore(Store):
    """A file. Writers take turns; readers see the last complete state meanwhile."""

    begin_writing = "BEGIN IMMEDIATE"
    begin_reading = "BEGIN"
    complaint = sqlite3.Error
    crowded = TimeoutError
    shared_writer = True

    def __init__(self, path: Path, *, read_only: bool = False, draft: bool = False) -> None:
        """Prepare connections to the file; nothing is opened yet. A draft may be empty."""
        self.path = path
        if not draft:
            _look(path)
        refuse_network(self.path)
        self._read_only = read_only
        self._immutable = False
        self._watch = FileWatch(self.path)
        self.age = 0
        """How often the file was found changed: what connections remember of it is older."""
        self._spare = SpareConnection(self._connect_for_steps)
        super().__init__()

    def pool(self, *, writing: bool) -> ConnectionPool:
        """Connections that are made when they are needed."""
        connect = partial(self._connect, writing=writing)
        return ConnectionPool(connect, size=POOL_SIZE, patience=POOL_PATIENCE)

    @contextmanager
    def migration_connection(self) -> Iterator[Connection]:
        """A connection of SQLAlchemy's, which is closed afterwards."""
        from sqlalchemy import NullPool, create_engine

        engine = create_engine(
            "sqlite://",
            creator=partial(self._connect, writing=False),
            isolation_level="AUTOCOMMIT",
            poolclass=NullPool,
        )
        with engine.connect() as connection:
            yield connection

    def _connect(self, *, writing: bool) -> SQLiteConnection:
        mode = "ro&immutable=1" if self._immutable else "ro" if self._read_only else "rw"
        connection = sqlite3.connect(
            f"file:{quote(str(self.path))}?mode={mode}",
            uri=True,
            isolation_level=None,  # transactions begin and end where this package says
            check_same_thread=False,
            factory=SQLiteConnection,
        )
        connection.writes, connection.age = writing, self.age
        try:
            if self._read_only:
                connection.execute(f"PRAGMA busy_timeout = {int(1000 * WAIT)}")
                connection.execute("PRAGMA query_only = ON")
            else:
                _prepare(connection)
            if writing:  # they wait in steps of their own
                connection.execute("PRAGMA busy_timeout = 0")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_for_steps(self) -> SQLiteConnection:
        connection = self._connect(writing=True)
        prepare_step(connection)
        return connection

    def try_without_log(self) -> bool:
        """Read the file alone: where nobody writes, there is no log, and nothing can be made.

        True if it was not done before, and there is no log that would be overlooked.
        """
        log = Path(f"{self.path}-wal")
        if self._immutable or not self._read_only or (log.exists() and log.stat().st_size):
            return False
        self._immutable = True
        self.close()
        return True

    def fold(self) -> None:
        """Bring everything into the one file, for a copy that is to be kept."""
        self.close()
        with closing(self._connect(writing=False)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")

    def begun(self, begin: str) -> Session:
        """A transaction that begins like this."""
        return SQLiteSession(self, begin)

    def check_place(self) -> None:
        """See that the file is the one that was opened; what it remembers may be outdated."""
        super().check_place()
        if self._read_only:
            raise unavailable("read_only")
        with self._watch.checked() as changed:
            if changed == "log":
                self.close()  # what connections know of the log is gone
            elif changed:
                self.age += 1

    def confirm_place(self) -> None:
        """See that the file is still under its name."""
        self._watch.written()

    def step_time(self) -> str:
        """This computer's time."""
        return texts.now()

    def append_in_one_step(self, charge: Row) -> bool:
        """Append a charge by a single statement, which is a transaction of its own."""
        try:
            with self._spare.taken() as connection:
                if connection is None:
                    return False
                connection.keep_up(self.age)
                return append_in_one_step(connection, charge)
        except sqlite3.Error as problem:
            raise sqlite_trouble(problem) from None

    def close(self) -> None:
        """Let go of all connections."""
        self._spare.forget()
        super().close()

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


def _look(path: Path) -> None:
    """What can be said of a file without opening it; SQLite would write over a short text."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise unavailable("absent") from None
    except OSError:
        raise unavailable("cannot_open") from None
    if size == 0:
        raise unavailable("emptied")
    if size < _SMALLEST:
        raise LedgerCorrupted("the file", NOT_A_LEDGER)


@contextmanager
def made_alone(path: Path) -> Iterator[Path | None]:
    """A new file to fill, which appears under its name when it is complete, and only then.

    None if somebody else has made it meanwhile. Nobody but its owner can read it.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError:
        raise unavailable("cannot_open") from None
    try:
        refuse_network(path)
        fcntl.flock(folder, fcntl.LOCK_EX)
        if path.exists():
            yield None
            return
        draft = path.parent / f".{path.name}.{secrets.token_hex(4)}.new"
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            yield draft
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            draft.rename(path)
            os.fsync(folder)
        except OSError:
            raise unavailable("cannot_open") from None
        finally:
            for part in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):
                    Path(f"{draft}{part}").unlink(missing_ok=True)
    finally:
        os.close(folder)


def _prepare(connection: sqlite3.Connection) -> None:
    """Durable commits, a write-ahead log, and patience with other processes."""
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
