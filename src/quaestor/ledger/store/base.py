"""A store: transactions, statements, and the driver's complaints in our own words.

SQLAlchemy knows the addresses, keeps the connections and runs the migrations; statements go to the
driver as they are, for a charge is to cost little more than the commit that makes it durable.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import exc

from quaestor.ledger.store.trouble import unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection, Engine, PoolProxiedConnection

    from quaestor.errors import QuaestorError

__all__ = ["WAIT", "Row", "Session", "Store"]

WAIT = 60.0
"""How many seconds a process waits for others to let go of the ledger."""

Row = tuple[Any, ...]


class Session(ABC):
    """One transaction: statements, one after another, and what they bring."""

    __slots__ = ()

    @abstractmethod
    def run(self, statement: str, **parameters: Any) -> None:
        """Make one change; it is complained about at the end of the transaction at the latest."""

    @abstractmethod
    def rows(self, statement: str, **parameters: Any) -> list[Row]:
        """All rows of an answer."""

    def row(self, statement: str, **parameters: Any) -> Row | None:
        """The first row of an answer, if there is one."""
        found = self.rows(statement, **parameters)
        return found[0] if found else None

    @abstractmethod
    def locked(self, account: str) -> tuple[str, Row | None]:
        """The time and the account's head, which nobody else can change before the end of this."""

    @abstractmethod
    def lock_accounts(self) -> None:
        """Let nobody else open an account before the end of this."""

    @abstractmethod
    def check(self) -> None:
        """Look at the store itself, as far as it can be looked at from here."""

    @abstractmethod
    def commit(self) -> None:
        """Make everything durable."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo everything."""

    @abstractmethod
    def release(self) -> None:
        """Give the connection back, or away if it is of no use any more."""


class Store(ABC):
    """Where a ledger is kept. Every change is one transaction, durable before it is over."""

    begin_writing: ClassVar[str]
    begin_reading: ClassVar[str]
    complaint: ClassVar[type[Exception]]
    """The root of the driver's own errors."""

    def __init__(self, engine: Engine) -> None:
        """Keep the engine, and the process that it belongs to."""
        self._engine, self._process = engine, os.getpid()
        self._idle: list[PoolProxiedConnection] = []

    @abstractmethod
    def begun(self, begin: str) -> Session:
        """A transaction that begins like this."""

    @abstractmethod
    def trouble(self, problem: BaseException, *, connected: bool) -> QuaestorError:
        """The driver's complaint in our own words."""

    @abstractmethod
    def lacks_tables(self, problem: BaseException) -> bool:
        """Whether the complaint is that a table is not there."""

    @abstractmethod
    def prepare_migration(self, connection: Connection) -> None:
        """Lock out others who would migrate, and see that this is a place for a ledger."""

    def writing(self) -> AbstractContextManager[Session]:
        """A transaction that is durable when the block is over, and undone if it fails."""
        return self._transaction(self.begin_writing)

    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees one state of the ledger, and changes nothing."""
        return self._transaction(self.begin_reading)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Session]:
        try:
            session = self.begun(begin)
            try:
                yield session
                session.commit()
            except BaseException:
                with suppress(self.complaint):
                    session.rollback()
                raise
            finally:
                session.release()
        except self.complaint as problem:
            raise self.trouble(problem, connected=True) from None

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """A transaction for changes of the tables themselves, one process at a time."""
        try:
            with self._engine.connect() as connection:
                connection.exec_driver_sql(self.begin_writing)
                self.prepare_migration(connection)
                yield connection
                connection.exec_driver_sql("COMMIT")
        except exc.DBAPIError as problem:
            raise self.trouble(problem.orig or problem, connected=True) from None

    def connected(self) -> PoolProxiedConnection:
        """A connection of this process; those of a parent are left alone.

        The pool's own way of lending takes longer than the statements of a charge.
        """
        if self._process != os.getpid():
            self._idle.clear()
            self._engine.dispose(close=False)
            self._process = os.getpid()
        if self._idle:
            with suppress(IndexError):  # another thread was quicker
                return self._idle.pop()
        try:
            return self._engine.raw_connection()
        except self.complaint as problem:
            raise self.trouble(problem, connected=False) from None
        except exc.TimeoutError:
            raise unavailable("locked") from None

    def kept(self, connection: PoolProxiedConnection) -> None:
        """Keep a connection for the next transaction."""
        if self._process == os.getpid():
            self._idle.append(connection)

    def first_row(self, statement: str) -> Row | bool | None:
        """The first row, None if there is none, or False if the statement's table is not there."""
        try:
            session = self.begun(self.begin_reading)
            try:
                return session.row(statement)
            finally:
                with suppress(self.complaint):
                    session.rollback()
                session.release()
        except self.complaint as problem:
            if self.lacks_tables(problem):
                return False
            raise self.trouble(problem, connected=True) from None

    def close(self) -> None:
        """Let go of all connections."""
        while self._idle:
            self._idle.pop().close()
        self._engine.dispose()
