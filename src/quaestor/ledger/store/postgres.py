"""A ledger in PostgreSQL: for many machines. The account's head is the lock."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import pq
from sqlalchemy import create_engine, event

from quaestor.ledger.store import statements as sql
from quaestor.ledger.store.base import POOL, WAIT, Locked, Row, Session, Store
from quaestor.ledger.store.driver_errors import postgres_trouble, unavailable

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

    from quaestor.errors import QuaestorError

__all__ = ["PATIENCE", "PostgresStore"]

PATIENCE = 1.5 * WAIT
"""How many seconds a server may take for one answer, before the connection counts as lost."""

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
_LOCK_ACCOUNTS = "SELECT pg_advisory_xact_lock(7182818284)"  # any number unlikely to be another's

_COMMIT: list[tuple[str, dict[str, Any]]] = [("COMMIT", {})]

# The first commit lets go of the account's lock at once, and whoever waits for it can go on. What
# follows is a transaction of its own, whose synchronous commit returns when the log is on the disk
# (and on synchronous replicas) up to its end, and so with everything before it. The server flushes
# the log once for all who wait for that: with one synchronous commit, the lock would be held
# meanwhile, and each account would have the disk for itself.
_DURABLE: list[tuple[str, dict[str, Any]]] = [
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
}


class _Bounded(psycopg.Connection[Any]):
    """A connection that waits for no answer for ever."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for an answer; a connection that brings none is closed."""
        try:
            return super().wait(gen, interval, PATIENCE if timeout is None else timeout)
        except psycopg.errors._WaitTimeout:  # noqa: SLF001  # its documented base says less
            self.pgconn.finish()
            raise psycopg.OperationalError("no answer") from None

    def __init__(self, *given: Any, **named: Any) -> None:
        """Nothing is planned yet."""
        super().__init__(*given, **named)
        self.planned: set[str] = set()

    def __del__(self, *_: Any) -> None:
        """Let the connection go without a warning: an interrupt may have dropped it."""


class PostgresSession(Session):
    """A transaction on the server.

    Changes wait until something is asked, or until the end, and then travel together: a charge
    goes to the server and back twice, whatever it consists of.
    """

    __slots__ = ("_begin", "_sent", "_waiting")

    _driver: _Bounded

    def __init__(self, store: Store, begin: str) -> None:
        """Take a connection; the beginning travels with the first statement."""
        super().__init__(store, writing=begin == store.begin_writing)
        self._begin, self._sent = begin, False
        self._waiting: list[tuple[str, dict[str, Any]]] = [(begin, {})]

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
            self._connect_again()  # it died while nobody used it: nothing has begun
            return self._send(asked).fetchall()
        finally:
            self._sent = True

    def _connect_again(self) -> None:
        self.discard()
        self._store.close()  # the others are of the same age
        super().__init__(self._store, writing=self._begin == self._store.begin_writing)

    def _send(self, statements: list[tuple[str, dict[str, Any]]]) -> psycopg.Cursor[Any]:
        """All in one message, with values quoted by the driver; what the last one brings.

        Those of a charge are planned once for each connection: any failure discards it.
        """
        cursor, known, parts = psycopg.ClientCursor(self._driver), self._driver.planned, []
        for statement, parameters in statements:
            name = _HOT.get(statement)
            if name is None:
                parts.append(cursor.mogrify(statement, parameters) if parameters else statement)
                continue
            if name not in known:
                parts.append(f"PREPARE {name} AS {_numbered(statement)}")
                known.add(name)
            parts.append(cursor.mogrify(_execution(name, statement), parameters))
        text: Any = ";".join(parts)
        cursor.execute(text, prepare=False)
        cursor.set_result(-1)
        return cursor

    def locked(self, account: str, *, seen: int) -> Locked:
        """Lock the account's head; the time is the server's."""
        row = self.row(_LOCKED, account=account, seen=seen)
        if row is not None:
            time, store_id, found, *state = row
            return Locked(time, tuple(state), str(store_id), found)
        return Locked(self.now(), None, self._store.identity.id, None)

    def now(self) -> str:
        """The server's time."""
        return str(self.rows(_NOW)[0][0])

    def lock_accounts(self) -> None:
        """Others who open an account wait for the end of this transaction."""
        self.rows(_LOCK_ACCOUNTS)

    def patient(self) -> None:
        """The server would end a transaction that does nothing for long."""
        self.run(f"SET LOCAL idle_in_transaction_session_timeout = {int(1000 * _READING)}")

    def check(self) -> None:
        """The server looks after its own pages."""

    def commit(self) -> None:
        """Make everything durable, and let go of the lock before the disk is waited for."""
        if self._sent or len(self._waiting) > 1:
            durable = _DURABLE if self._begin == self._store.begin_writing else _COMMIT
            self._send([*self._waiting, *durable])
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
    shared_writer = False

    def __init__(self, url: URL, *, read_only: bool = False) -> None:
        """Prepare connections to the server; none is made yet."""
        self._url, self._read_only = url, read_only
        super().__init__()

    def engine(self, *, writing: bool) -> Engine:
        """Connections that are made when they are needed."""
        engine = create_engine(
            self._url.set(drivername="postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
            connect_args=_CONNECT,
            hide_parameters=True,
            pool_reset_on_return=None,  # see _reset
            **POOL,
        )
        event.listen(engine, "reset", _reset)

        @event.listens_for(engine, "do_connect")
        def _(_dialect: object, _record: object, given: Any, named: Any) -> Any:
            connection = _Bounded.connect(*given, **named)
            _prepare(connection, writing=writing)
            return connection

        return engine

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
    """
    connection.autocommit = True  # transactions begin and end where this package says
    idle = WAIT / 2 if writing else _READING
    connection.execute(
        f"SET lock_timeout = {int(1000 * WAIT)};"
        f"SET statement_timeout = {int(1000 * (WAIT + PATIENCE) / 2)};"
        f"SET idle_in_transaction_session_timeout = {int(1000 * idle)};"
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')",
        prepare=False,
    )


def _reset(connection: _Bounded, _record: object, _state: object) -> None:
    """Undo what somebody left behind; one that is idle costs no thought."""
    if connection.pgconn.transaction_status != pq.TransactionStatus.IDLE:
        connection.rollback()


_NAME = re.compile(r"%\((\w+)\)s")


@lru_cache(maxsize=256)
def _written(statement: str) -> str:
    """``:name`` as this driver wants it."""
    return re.sub(r"(?<![:\w]):([a-z]+)", r"%(\1)s", statement)


@lru_cache(maxsize=16)
def _numbered(statement: str) -> str:
    """A statement to be planned: parameters by number, each name once."""
    names = list(dict.fromkeys(_NAME.findall(statement)))
    return _NAME.sub(lambda found: f"${names.index(found[1]) + 1}", statement)


@lru_cache(maxsize=16)
def _execution(name: str, statement: str) -> str:
    """The call of a planned statement."""
    marks = ", ".join(f"%({each})s" for each in dict.fromkeys(_NAME.findall(statement)))
    return f"EXECUTE {name}({marks})"


_HOT = {
    _written(statement): name
    for name, statement in {
        "ledger_lock": _LOCKED,
        "ledger_add_event": sql.ADD_EVENT,
        "ledger_set_balance": sql.SET_BALANCE,
        "ledger_set_state": sql.SET_STATE,
        "ledger_marks": sql.MARKS,
        "ledger_add_answer": sql.ADD_ANSWER,
        "ledger_balances_of": sql.BALANCES_OF,
    }.items()
}
