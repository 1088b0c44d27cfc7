"""A connection beside the pool, for what is done in one step by whoever is alone."""

from __future__ import annotations

import _thread
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SpareConnection"]

_Connected = TypeVar("_Connected")


class SpareConnection(Generic[_Connected]):
    """One connection, for one thread at a time. Nobody waits for it: who finds it taken queues.

    It may be taken by a thread that is interrupted at any instant. So no lock guards it, and what
    is lost that way is made again: a connection is let go by forgetting it.
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
            raise
        kept[:] = [connection]

    def forget(self) -> None:
        """Connect anew next time; whoever has the connection now gives it back to nobody."""
        self._kept = [None]
