"""Connections to a file that survive a fork: on both sides.

A child has none of its parent's locks, and finds whatever another thread was doing in the midst of
it, for ever. So a fork waits until nobody writes, and nobody begins to write meanwhile; the child
closes what its parent had open.
"""

from __future__ import annotations

import os
import sqlite3
import time
from typing import Any
from weakref import WeakSet

__all__ = ["SQLiteConnection", "watched"]

_PATIENCE = 5.0  # seconds that a fork waits for those who write
_PAUSE = 0.0005


class SQLiteConnection(sqlite3.Connection):
    """A connection that can be found again after a fork."""

    age = 0
    writes = False
    busy = False
    """Whether a statement is under way; SQLite itself cannot be asked without waiting for it."""

    def execute(self, *given: Any) -> sqlite3.Cursor:
        """Run a statement; whoever is about to write lets a fork come first."""
        try:
            self.busy = True  # before the look at forks, as they look at this: one sees the other
            while _FORKS and self.writes and not self.in_transaction:
                self.busy = False
                time.sleep(_PAUSE)
                self.busy = True
            return super().execute(*given)
        finally:
            self.busy = False

    def close(self) -> None:
        """Close it, and look for it no more."""
        _CONNECTIONS.discard(self)
        super().close()

    def keep_up(self, age: int) -> None:
        """Forget the file's pages if it was written since: by SQLite's checkpoint, or by others."""
        if self.age != age:
            self.execute("PRAGMA shrink_memory")
            self.age = age


_CONNECTIONS: WeakSet[SQLiteConnection] = WeakSet()
_FORKS: list[None] = []  # as long as the number of forks that are about to happen


def watched(connection: SQLiteConnection, *, writes: bool) -> None:
    """Find this connection again after a fork."""
    connection.writes = writes
    _CONNECTIONS.add(connection)


def _is_writing(connection: SQLiteConnection) -> bool:
    return connection.writes and (connection.busy or connection.in_transaction)


def _wait_for_writers() -> None:
    _FORKS.append(None)
    deadline = time.monotonic() + _PATIENCE
    while any(map(_is_writing, list(_CONNECTIONS))) and time.monotonic() < deadline:
        time.sleep(_PAUSE)


def _go_on() -> None:
    _FORKS.pop()


def _let_go() -> None:
    """Close what a parent process had open.

    A child that keeps it believes to have locks that only the parent has, and so takes none. What
    is under way cannot be closed: whoever has begun it is not here.
    """
    _FORKS.clear()
    for connection in list(_CONNECTIONS):
        if not connection.busy and not connection.in_transaction:
            connection.close()


os.register_at_fork(before=_wait_for_writers, after_in_parent=_go_on, after_in_child=_let_go)
