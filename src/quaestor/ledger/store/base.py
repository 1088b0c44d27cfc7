"""A store: transactions, statements, and the driver's complaints in our own words.

SQLAlchemy knows the addresses of servers, pools connections to them and runs the migrations. A file
has a pool of its own, and needs SQLAlchemy for migrations only. Statements go to the driver as they
are, for a charge is to cost little more than the commit that makes it durable.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from quaestor.errors import QuaestorError
from quaestor.ledger.store import statements as sql
from quaestor.ledger.store.driver_errors import unavailable
from quaestor.ledger.store.group_commit import GroupWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from quaestor.ledger.store.connection_pool import LentConnection, Pool
    from quaestor.ledger.store.group_commit import Job

__all__ = [
    "POOL_PATIENCE",
    "POOL_SIZE",
    "WAIT",
    "Identity",
    "Locked",
    "Row",
    "SeenHead",
    "Session",
    "Store",
]

WAIT = 60.0
"""How many seconds a process waits for others to let go of the ledger."""

POOL_SIZE = 8
POOL_PATIENCE = 10 * WAIT
"""Threads queue for few connections: a long wait, and not an error, if there are very many."""

Row = tuple[Any, ...]


class Identity(NamedTuple):
    """Which ledger a store is, and whether it is one or only the backup of one."""

    id: str
    kind: str


class Locked(NamedTuple):
    """What is known of an account once it is locked."""

    time: str
    state: Row | None
    store_id: str
    seen: str | None
    """The hash of the event that was asked for, if there is one."""


class SeenHead(NamedTuple):
    """A place in an account's chain, and the hash of the event there."""

    seq: int
    hash: str


_NO_HEAD = SeenHead(0, "")
_HEADS: dict[tuple[str, str], SeenHead] = {}
"""Heads that this process has seen: a store that does not contain them was rolled back."""


class Session(ABC):
    """One transaction: statements, one after another, and what they bring."""

    __slots__ = ("_driver", "_generation", "_pooled", "_store")

    def __init__(self, store: Store, *, writing: bool) -> None:
        """Take a connection."""
        self._store, self._generation = store, store.generation
        self._pooled: LentConnection = store.connected(writing=writing)
        driver: Any = self._pooled.driver_connection
        self._driver = driver

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

    def foresee(self, statement: str, **parameters: Any) -> None:  # noqa: B027  # where it is far
        """Something will probably be asked after the next question: bring both at once."""

    @abstractmethod
    def locked(self, account: str, *, seen: int) -> Locked:
        """The account's head, which nobody else can change before the end of this."""

    @abstractmethod
    def now(self) -> str:
        """The time by the store's clock, which all who use it share."""

    @abstractmethod
    def lock_accounts(self) -> None:
        """Let nobody else open an account before the end of this."""

    def durable(self) -> bool:
        """Whether everything that this transaction sees is durable; it may become so any moment."""
        return True

    def patient(self) -> None:  # noqa: B027  # for stores that have no patience otherwise
        """Long work is about to be done within this transaction."""

    @abstractmethod
    def check(self) -> None:
        """Look at the store itself, as far as it can be looked at from here."""

    @abstractmethod
    def commit(self) -> None:
        """Make everything durable."""

    @property
    @abstractmethod
    def idle(self) -> bool:
        """Whether the connection is alive, and in no transaction."""

    def release(self) -> None:
        """Give the connection back if it is idle; it is of no use to anybody otherwise."""
        if not self.idle or self._generation != self._store.generation:
            self._pooled.invalidate()
        self._pooled.close()

    def discard(self) -> None:
        """Give the connection away, with whatever was under way on it."""
        self._pooled.invalidate()
        self._pooled.close()


class Store(ABC):
    """Where a ledger is kept. Every change is one transaction, durable before it is over."""

    begin_writing: ClassVar[str]
    begin_reading: ClassVar[str]
    complaint: ClassVar[type[Exception]]
    """The root of the driver's own errors."""
    crowded: ClassVar[type[Exception]]
    """What a pool raises if all of its connections are in use for too long."""
    shared_writer: ClassVar[bool]
    """Whether all accounts have one lock, so that one thread may write for all of them."""

    def __init__(self) -> None:
        """Prepare connections; those that write are never used by a thread that is interrupted."""
        self._process, self.generation = os.getpid(), 0
        self._reading, self._writing = self.pool(writing=False), self.pool(writing=True)
        self._writers: dict[str, GroupWriter] = {}
        self.identity = Identity("", "ledger")
        self.totals: dict[str, Any] = {}
        """What was last known of each account's totals (``ledger.cashier`` reads it)."""

    @abstractmethod
    def pool(self, *, writing: bool) -> Pool:
        """Connections that are made when they are needed."""

    @abstractmethod
    def migration_connection(self) -> AbstractContextManager[Connection]:
        """A connection of SQLAlchemy's, for changes of the tables."""

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

    def seen_head(self, account: str) -> SeenHead:
        """The latest head of an account that this process has seen."""
        return _HEADS.get((self.identity.id, account), _NO_HEAD)

    def note_head(self, account: str, *, seq: int, head: str) -> None:
        """Remember a head, unless a later one is known: it must be there from now on."""
        if seq > self.seen_head(account).seq:
            _HEADS[self.identity.id, account] = SeenHead(seq, head)

    def check_place(self) -> None:
        """See that this is still the place that was opened, before anything is written there."""
        if self.identity.kind != "ledger":
            raise unavailable("backup")

    def step_time(self) -> str | None:
        """The time by the store's clock for an event that is appended in one step, if known."""
        return None

    def append_in_one_step(self, charge: Row) -> bool:
        """Append a charge, durably, if the chain still ends where it expects; whether it did.

        It is done in one step: an interrupt comes before it or after it. The row has the event's
        columns and, after them, the version of prices, and the dataset, the holder and the totals
        of the one balance that it changes.
        """
        del charge
        return False

    def confirm_place(self) -> None:  # noqa: B027  # for stores that can move
        """See that what was just written is where everybody will look for it."""

    def recognise(self) -> None:
        """Find out which ledger this is."""
        row = self.first_row(sql.IDENTITY)
        if not isinstance(row, tuple):
            raise unavailable("not_a_ledger")
        self.identity = Identity(*row)

    def writer(self, account: str, perform: Callable[[list[Job]], None]) -> GroupWriter:
        """Who writes for an account in this process."""
        key = "" if self.shared_writer else account
        writer = self._writers.get(key)
        if writer is None:
            return self._writers.setdefault(key, GroupWriter(perform))  # one, whoever comes first
        if writer.inherited:
            writer = self._writers[key] = GroupWriter(perform)
        return writer

    def writing(self) -> AbstractContextManager[Session]:
        """A transaction that is durable when the block is over, and undone if it fails."""
        return self._transaction(self.begin_writing)

    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees one state of the ledger, and changes nothing."""
        return self._transaction(self.begin_reading)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Session]:
        session: Session | None = None
        try:
            session = self.begun(begin)
            yield session
            session.commit()
            session.release()
        except BaseException as problem:
            self._abandon(session, problem)
            if isinstance(problem, self.complaint):
                raise self.trouble(problem, connected=True) from None
            raise

    def _abandon(self, session: Session | None, problem: BaseException) -> None:
        """Undo what was under way, by giving the connection away.

        What is neither ours nor the driver's may have come from a signal handler, in the midst of
        anything: even the pool may have lost count then, and another one takes its place.
        """
        if session is not None:
            with suppress(Exception):
                session.discard()
        if not isinstance(problem, (QuaestorError, self.complaint, GeneratorExit)):
            self.generation += 1
            self._reading.dispose()

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """A transaction for changes of the tables themselves, one process at a time."""
        from sqlalchemy import exc

        try:
            with self.migration_connection() as connection:
                connection.exec_driver_sql(self.begin_writing)
                self.prepare_migration(connection)
                yield connection
                connection.exec_driver_sql("COMMIT")
        except exc.DBAPIError as problem:
            raise self.trouble(problem.orig or problem, connected=True) from None

    def connected(self, *, writing: bool) -> LentConnection:
        """A connection of this process; those of a parent are left alone."""
        if self._process != os.getpid():
            self._forget_connections()
            self._process = os.getpid()
        try:
            return (self._writing if writing else self._reading).raw_connection()
        except self.complaint as problem:
            raise self.trouble(problem, connected=False) from None
        except self.crowded:
            raise unavailable("crowded") from None

    def _forget_connections(self) -> None:
        for pool in (self._reading, self._writing):
            pool.dispose(close=False)

    def first_row(self, statement: str) -> Row | bool | None:
        """The first row, None if there is none, or False if the statement's table is not there."""
        session: Session | None = None
        try:
            session = self.begun(self.begin_reading)
            row = session.row(statement)
            session.commit()
            session.release()
        except BaseException as problem:
            self._abandon(session, problem)
            if not isinstance(problem, self.complaint):
                raise
            if self.lacks_tables(problem):
                return False
            raise self.trouble(problem, connected=True) from None
        return row

    def close(self) -> None:
        """Let go of all connections."""
        for pool in (self._reading, self._writing):
            pool.dispose()
