"""Connections to a file that survive a fork: on both sides.

A child has none of its parent's locks, and finds whatever another thread was doing in the midst of
it, for ever: a transaction, and the locks that SQLite itself holds within each of its calls. So a
fork waits until nobody writes and no call is under way, and none begins meanwhile but those that
end a transaction; the child closes what its parent had open.
"""

from __future__ import annotations

import os
import sqlite3
import time
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SQLiteConnection"]

_PATIENCE = 5.0  # seconds that a fork waits for calls and transactions
_PAUSE = 0.0005

_Result = TypeVar("_Result")


class SQLiteConnection(sqlite3.Connection):
    """A connection that can be found again after a fork."""

    age = 0
    writes = False
    busy = False
    """Whether a call is about to be made, or under way; SQLite cannot be asked without waiting."""
    inside = False
    """Whether a call is under way."""

    def __init__(self, *given: Any, **named: Any) -> None:
        """Open a file."""
        _CONNECTIONS.add(self)
        self._call(lambda: sqlite3.Connection.__init__(self, *given, **named))

    def _call(self, call: Callable[[], _Result], *, waits: bool = True) -> _Result:
        """Call SQLite; whoever holds no lock that a fork waits for lets the fork come first."""
        try:
            self.busy = True  # before the look at forks, as they look at this: one sees the other
            while _FORKS and waits and not (self.writes and self.in_transaction):
                self.busy = False
                time.sleep(_PAUSE)
                self.busy = True
            self.inside = True
            return call()
        finally:
            self.busy = self.inside = False

    def execute(self, *given: Any) -> sqlite3.Cursor:
        """Run a statement that brings no rows, or one."""
        return self._call(lambda: sqlite3.Connection.execute(self, *given))

    def rows(self, *given: Any) -> list[Any]:
        """All rows of a statement."""
        return self._call(lambda: sqlite3.Connection.execute(self, *given).fetchall())

    def rollback(self) -> None:
        """Undo what was not committed."""
        self._call(lambda: sqlite3.Connection.rollback(self), waits=False)

    def close(self) -> None:
        """Close it, and look for it no more."""
        try:
            self._call(lambda: sqlite3.Connection.close(self), waits=False)
        finally:
            _CONNECTIONS.discard(self)

    def keep_up(self, age: int) -> None:
        """Forget the file's pages if it was written since: by SQLite's checkpoint, or by others."""
        if self.age != age:
            self.execute("PRAGMA shrink_memory")
            self.age = age


_CONNECTIONS: WeakSet[SQLiteConnection] = WeakSet()
_FORKS: list[None] = []  # as long as the number of forks that are about to happen


def _open_connections() -> list[SQLiteConnection]:
    """Those that there are; other threads may open and close some meanwhile."""
    while True:
        try:
            return list(_CONNECTIONS)
        except RuntimeError:  # the set has changed
            continue


def _writes(connection: SQLiteConnection) -> bool:
    """Whether a transaction that writes is under way."""
    try:
        return connection.writes and connection.in_transaction
    except sqlite3.ProgrammingError:  # closed meanwhile
        return False


def _wait_for_others() -> None:
    _FORKS.append(None)
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if not any(each.busy or _writes(each) for each in _open_connections()):
            return
        time.sleep(_PAUSE)


def _go_on() -> None:
    _FORKS.pop()


def _let_go() -> None:
    """Close what a parent process had open.

    A child that keeps it believes to have locks that only the parent has, and so takes none. What
    is under way cannot be closed: whoever has begun it is not here.
    """
    _FORKS.clear()
    for connection in _open_connections():
        if not connection.inside and not _writes(connection):
            connection.close()


os.register_at_fork(before=_wait_for_others, after_in_parent=_go_on, after_in_child=_let_go)
