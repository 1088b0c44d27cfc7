"""A connection beside the pool, for what is done in one step by whoever is alone."""

from __future__ import annotations

import _thread
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SpareConnection"]


class _Closable(Protocol):
    def close(self) -> None: ...


_Connected = TypeVar("_Connected", bound=_Closable)


class SpareConnection(Generic[_Connected]):
    """One connection, for one thread at a time. Nobody waits for it: who finds it taken queues.

    It may be taken by a thread that is interrupted at any instant. So no lock guards it, and what
    is lost that way is made again.
    """

    def __init__(self, connect: Callable[[], _Connected]) -> None:
        """Connect when it is first needed."""
        self._connect, self._process, self._owner = connect, os.getpid(), 0
        self._kept: list[_Connected | None] = [None]  # empty while somebody has it

    @contextmanager
    def taken(self) -> Iterator[_Connected | None]:
        """The connection, or None if somebody else has it; forgotten if the block fails."""
        me, kept = _thread.get_ident(), self._kept
        try:
            connection = kept.pop()
        except IndexError:
            if self._owner != me:
                yield None
                return
            connection = None  # an interrupt has lost it
        self._owner = me
        try:
            if connection is None or self._process != os.getpid():
                connection = self._connect()
                self._process = os.getpid()
            yield connection
        except BaseException:
            self.forget()
            self._close(connection)
            raise
        kept[:] = [connection]
        if self._kept is not kept:  # it was to be forgotten meanwhile
            self._empty(kept)

    def forget(self) -> None:
        """Connect anew next time; whoever has the connection now closes it when it is done."""
        kept, self._kept = self._kept, [None]
        self._empty(kept)

    def _empty(self, kept: list[_Connected | None]) -> None:
        with suppress(IndexError):  # somebody has it
            self._close(kept.pop())

    def _close(self, connection: _Connected | None) -> None:
        """Close it: left alone it would stay open until Python looks for cycles."""
        if connection is not None and self._process == os.getpid():
            with suppress(Exception):
                connection.close()
