"""Few connections to a file, made when they are needed; whoever finds none left waits for one.

It is what SQLAlchemy's pool would do. To import that takes longer than to ask a question.
"""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ConnectionPool", "LentConnection", "Pool"]


class LentConnection(Protocol):
    """A connection of a pool, in use."""

    @property
    def driver_connection(self) -> Any:
        """The driver's own connection."""

    def invalidate(self) -> None:
        """Close it: nobody gets it again."""

    def close(self) -> None:
        """Give it back, unless it is closed."""


class Pool(Protocol):
    """Where connections come from."""

    def raw_connection(self) -> LentConnection:
        """A connection that nobody else uses."""

    def dispose(self, close: bool = True) -> None:  # noqa: FBT001, FBT002  # as in SQLAlchemy
        """Begin anew; connections of before are closed, or belong to a parent process."""


class _Shelf:
    """Connections that nobody uses, and how many more may be used at once.

    Both change in single steps, so that an interrupt comes before one or after it.
    """

    __slots__ = ("idle", "places")

    def __init__(self, size: int) -> None:
        self.idle: list[Any] = []
        self.places: SimpleQueue[None] = SimpleQueue()
        for _ in range(size):
            self.places.put(None)


class _Lent:
    __slots__ = ("_pool", "_shelf", "driver_connection")

    def __init__(self, pool: ConnectionPool, shelf: _Shelf, driver: Any) -> None:
        self._pool, self._shelf, self.driver_connection = pool, shelf, driver

    def invalidate(self) -> None:
        driver, self.driver_connection = self.driver_connection, None
        if driver is not None:
            self._shelf.places.put(None)
            with suppress(Exception):
                driver.close()

    def close(self) -> None:
        if self.driver_connection is None:
            return
        if not self._pool.has(self._shelf):
            self.invalidate()
            return
        driver, self.driver_connection = self.driver_connection, None
        self._shelf.idle.append(driver)
        self._shelf.places.put(None)


class ConnectionPool:
    """Connections that ``connect`` makes, at most so many at once; the last one used comes first.

    An interrupt in the midst of something may lose a place. After :meth:`dispose` all are there
    again.
    """

    def __init__(self, connect: Callable[[], Any], *, size: int, patience: float) -> None:
        """Keep how to connect; nothing is opened yet. ``patience`` is in seconds."""
        self._connect, self._size, self._patience = connect, size, patience
        self._shelf = _Shelf(size)

    def raw_connection(self) -> LentConnection:
        """A connection that nobody else uses.

        Raises:
            TimeoutError: all of them were in use for too long.
        """
        shelf = self._shelf
        try:
            shelf.places.get(timeout=self._patience)
        except Empty:
            raise TimeoutError from None
        try:
            try:
                driver = shelf.idle.pop()
            except IndexError:
                driver = self._connect()
        except BaseException:
            shelf.places.put(None)
            raise
        return _Lent(self, shelf, driver)

    def has(self, shelf: object) -> bool:
        """Whether connections of a shelf are still used."""
        return shelf is self._shelf

    def dispose(self, close: bool = True) -> None:  # noqa: FBT001, FBT002  # as in SQLAlchemy
        """Begin anew; those in use are closed when they come back."""
        before, self._shelf = self._shelf, _Shelf(self._size)
        while close and before.idle:
            with suppress(Exception):
                before.idle.pop().close()
