"""A ledger in PostgreSQL: for many machines. The account's head is the lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import pq
from sqlalchemy import create_engine, event, exc

from quaestor.ledger.store import statements as sql
from quaestor.ledger.store.base import POOL_PATIENCE, POOL_SIZE, WAIT, Locked, Row, Session, Store
from quaestor.ledger.store.driver_errors import postgres_trouble, unavailable
from quaestor.ledger.store.postgres_step import ServerClock, append_in_one_step, is_silent
from quaestor.ledger.store.postgres_wire import PATIENCE, BoundedConnection, Statement, exchange
from quaestor.ledger.store.spare_connection import SpareConnection

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult
    from sqlalchemy import URL, Connection, Engine

    from quaestor.errors import QuaestorError

__all__ = ["PostgresStore"]

_READING = 10 * WAIT  # a check of a long ledger thinks between two questions

# The time is read outside the locked part, and so after the lock is had; inside it could be older
# than what others have written while this waited.
_LOCKED = """
SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
(SELECT id FROM ledger_identity),
(SELECT hash FROM ledger_events WHERE account = :account AND seq = :seen), h.*
FROM (SELECT events, entries, time, head, closed, pricing
FROM ledger_heads WHERE account = :account FOR UPDATE) h
"""
_NOW = """
SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
"""
_FLUSHED = """
SELECT CASE WHEN pg_is_in_recovery() THEN TRUE
ELSE pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() END
"""
_LOCK_ACCOUNTS = "SELECT pg_advisory_xact_lock(7182818284)"  # any number unlikely to be another's

_COMMIT: list[Statement] = [("COMMIT", {})]

# The first commit lets go of the account's lock at once, and whoever waits for it can go on. What
# follows is a transaction of its own, whose synchronous commit returns when the log is on the disk
# (and on synchronous replicas) up to its end, and so with everything before it. The server flushes
# the log once for all who wait for that: with one synchronous commit, the lock would be held
# meanwhile, and each account would have the disk for itself.
#
# What a crash loses is an end of the log. A charge is acknowledged, and noted as seen, after its
# own second commit, so it is not in that end. What follows it in the chain was written later, and
# so comes later in the log: with a charge, all that was built on it is lost, and none of that was
# acknowledged. Whoever only reads sees a charge before it is durable, and so insists on no head
# and acts on no earlier charge unless ``durable`` says so.
_DURABLE: list[Statement] = [
    ("SET LOCAL synchronous_commit = off", {}),
    ("COMMIT", {}),
    ("SELECT pg_logical_emit_message(true, 'quaestor', '')", {}),
]

# Signs of a server that is gone, in a network that says nothing; see libpq's connection parameters.
_CONNECT = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": int(1000 * WAIT / 2),
    "application_name": "quaestor ledger",
    "client_encoding": "utf8",
}


class PostgresSession(Session):
    """A transaction on the server.

    Changes wait until something is asked, or until the end, and then travel together: a charge
    goes to the server and back twice, whatever it consists of.
    """

    __slots__ = ("_begin", "_foreseen", "_sent", "_waiting", "_wished")

    _driver: BoundedConnection
    _store: PostgresStore

    def __init__(self, store: PostgresStore, begin: str) -> None:
        """Take a connection; the beginning travels with the first statement."""
        super().__init__(store, writing=begin == store.begin_writing)
        self._begin, self._sent = begin, False
        self._waiting: list[Statement] = [(begin, {})]
        self._wished: Statement | None = None
        self._foreseen: tuple[Statement, list[Row]] | None = None

    def run(self, statement: str, **parameters: Any) -> None:
        """Make one change, before the next answer or at the end."""
        self._foreseen = None
        self._waiting.append((statement, parameters))

    def foresee(self, statement: str, **parameters: Any) -> None:
        """Ask this right after the next question, in the same message."""
        self._wished = (statement, parameters)

    def rows(self, statement: str, **parameters: Any) -> list[Row]:
        """All rows of an answer."""
        question, foreseen = (statement, parameters), self._foreseen
        if foreseen is not None and foreseen[0] == question:
            return foreseen[1]
        asked, wished = [*self._waiting, question], self._wished
        self._waiting, self._wished = [], None
        if wished is None:
            return self._driver.rows(self._ask(asked)[-1])
        *_, answer, further = self._ask([*asked, wished])
        self._foreseen = (wished, self._driver.rows(further))
        return self._driver.rows(answer)

    def _ask(self, asked: list[Statement]) -> list[PGresult]:
        try:
            return exchange(self._driver, asked, hot=_HOT)
        except psycopg.OperationalError:
            if self._sent or not self._driver.closed:
                raise
            self._connect_again()  # it died while nobody used it: nothing has begun
            return exchange(self._driver, asked, hot=_HOT)
        finally:
            self._sent = True

    def _connect_again(self) -> None:
        self.discard()
        self._store.close()  # the others are of the same age
        super().__init__(self._store, writing=self._begin == self._store.begin_writing)

    def locked(self, account: str, *, seen: int) -> Locked:
        """Lock the account's head; the time is the server's."""
        row = self.row(_LOCKED, account=account, seen=seen)
        if row is not None:
            time, store_id, found, *state = row
            self._store.clock.saw(time)
            return Locked(time, tuple(state), str(store_id), found)
        return Locked(self.now(), None, self._store.identity.id, None)

    def now(self) -> str:
        """The server's time."""
        return str(self.rows(_NOW)[0][0])

    def lock_accounts(self) -> None:
        """Others who open an account wait for the end of this transaction."""
        self.rows(_LOCK_ACCOUNTS)

    def durable(self) -> bool:
        """Whether the log is on the disk as far as it goes; replicas have only what is there."""
        return self.rows(_FLUSHED) == [(True,)]

    def patient(self) -> None:
        """The server would end a transaction that does nothing for long."""
        self.run(f"SET LOCAL idle_in_transaction_session_timeout = {int(1000 * _READING)}")

    def check(self) -> None:
        """The server looks after its own pages."""

    def commit(self) -> None:
        """Make everything durable, and let go of the lock before the disk is waited for."""
        if self._sent or len(self._waiting) > 1:
            durable = _DURABLE if self._begin == self._store.begin_writing else _COMMIT
            exchange(self._driver, [*self._waiting, *durable], hot=_HOT)
        self._waiting = []

    @property
    def idle(self) -> bool:
        """Whether the connection is alive, and no transaction is under way."""
        driver = self._driver
        return not driver.closed and driver.pgconn.transaction_status == pq.TransactionStatus.IDLE


class PostgresStore(Store):
    """A database of a server. Charges of one account take turns, and wait for no other's."""

    begin_writing = "BEGIN ISOLATION LEVEL READ COMMITTED"
    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
    complaint = psycopg.Error
    crowded = exc.TimeoutError
    shared_writer = False

    def __init__(self, url: URL, *, read_only: bool = False) -> None:
        """Prepare connections to the server; none is made yet."""
        self._url, self._read_only = url, read_only
        self.clock = ServerClock()
        self._spare = SpareConnection(self._connect_for_steps)
        super().__init__()

    _reading: Engine
    _writing: Engine

    def migration_connection(self) -> Connection:
        """A connection of the pool."""
        return self._reading.connect()

    def pool(self, *, writing: bool) -> Engine:
        """Connections that are made when they are needed."""
        engine = create_engine(
            self._url.set(drivername="postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
            connect_args=_CONNECT,
            hide_parameters=True,
            pool_reset_on_return=None,  # see _reset
            pool_size=POOL_SIZE,
            max_overflow=0,
            pool_timeout=POOL_PATIENCE,
            pool_use_lifo=True,
        )
        event.listen(engine, "reset", _reset)

        @event.listens_for(engine, "do_connect")
        def _(_dialect: object, _record: object, given: Any, named: Any) -> Any:
            connection = BoundedConnection.connect(*given, **named)
            _prepare(connection, writing=writing)
            return connection

        return engine

    def _connect_for_steps(self) -> BoundedConnection:
        given, named = self._writing.dialect.create_connect_args(self._writing.url)
        asked: dict[str, Any] = {**named, **_CONNECT}
        connection = BoundedConnection.connect(*given, **asked)
        _prepare(connection, writing=True)
        return connection

    def step_time(self) -> str | None:
        """The server's time, as far as it is known here; the statement sees that it is."""
        return self.clock.now()

    def append_in_one_step(self, charge: Row) -> bool:
        """Append a charge by a single statement, which is a transaction of its own."""
        try:
            with self._spare.taken() as connection:
                if connection is None:
                    return False
                if is_silent(connection):
                    return append_in_one_step(connection, charge, ledger=self.identity.id)
            self._spare.forget()  # it died while nobody used it
        except psycopg.Error as problem:
            raise postgres_trouble(problem, connected=True) from None
        return False

    def close(self) -> None:
        """Let go of all connections."""
        self._spare.forget()
        super().close()

    def begun(self, begin: str) -> Session:
        """A transaction that begins like this."""
        return PostgresSession(self, begin)

    def check_place(self) -> None:
        """Whether it is still the same ledger is asked together with the lock."""
        super().check_place()
        if self._read_only:
            raise unavailable("read_only")

    def trouble(self, problem: BaseException, *, connected: bool) -> QuaestorError:
        """The driver's complaint, by its SQLSTATE."""
        return postgres_trouble(problem, connected=connected)

    def lacks_tables(self, problem: BaseException) -> bool:
        """SQLSTATE 42P01: undefined table."""
        return getattr(problem, "sqlstate", None) == "42P01"

    def prepare_migration(self, connection: Connection) -> None:
        """A database may well be shared: the ledger's tables have names of their own."""
        connection.exec_driver_sql(_LOCK_ACCOUNTS)


def _prepare(connection: psycopg.Connection[Any], *, writing: bool) -> None:
    """Bounded waiting, and commits that are on the disk, and on replicas, when they return.

    A client that hangs in the midst of a charge is cut off before those who wait for it give up.
    What durability and a charge in one step rely upon is said here, whatever the server's own
    settings are, or will be when it reads them again.
    """
    connection.autocommit = True  # transactions begin and end where this package says
    idle = WAIT / 2 if writing else _READING
    connection.execute(
        f"SET lock_timeout = {int(1000 * WAIT)};"
        f"SET statement_timeout = {int(1000 * (WAIT + PATIENCE) / 2)};"
        f"SET idle_in_transaction_session_timeout = {int(1000 * idle)};"
        "SET default_transaction_isolation = 'read committed';"
        "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
        "WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)",
        prepare=False,
    )


def _reset(connection: BoundedConnection, _record: object, _state: object) -> None:
    """Undo what somebody left behind; one that is idle costs no thought."""
    if connection.pgconn.transaction_status != pq.TransactionStatus.IDLE:
        connection.rollback()


_HOT = {
    PostgresStore.begin_writing: "ledger_begin",
    PostgresStore.begin_reading: "ledger_begin_reading",
    "COMMIT": "ledger_commit",
    **{text: f"ledger_durable_{place}" for place, (text, _) in enumerate(_DURABLE)},
    _LOCKED: "ledger_lock",
    sql.STATE: "ledger_state",
    sql.ADD_EVENT: "ledger_add_event",
    sql.SET_BALANCE: "ledger_set_balance",
    sql.SET_STATE: "ledger_set_state",
    sql.MARKS: "ledger_marks",
    sql.ADD_ANSWER: "ledger_add_answer",
    sql.BALANCES_OF: "ledger_balances_of",
}
"""What a charge consists of, and the names under which it is planned."""
