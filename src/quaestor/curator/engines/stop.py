"""A stop for statements that are under way: a deadline ends what the engine does, not a wait."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

from quaestor.errors import EngineFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Stop", "refuse_stopped", "stoppable"]

_AGAIN = 0.05  # seconds: an engine may be told before it has begun

_CURRENT: ContextVar[Stop | None] = ContextVar("stop", default=None)


class Stop:
    """Ends the statements of one question, now or as soon as they are sent.

    ::

        stop = Stop()
        with stop.watching():            # in the thread that asks
            curator.ask(...)             # EngineFailed, once another thread calls stop.now()
    """

    def __init__(self) -> None:
        """Nothing is stopped yet."""
        self._stopped, self._lock = threading.Event(), threading.Lock()
        self._running: set[Callable[[], object]] = set()

    @property
    def stopped(self) -> bool:
        """Whether it was."""
        return self._stopped.is_set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Statements that this thread sends meanwhile can be stopped."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def now(self) -> None:
        """Stop what is under way, and all that follows. Returns at once."""
        self._stopped.set()
        threading.Thread(target=self._insist, daemon=True, name="quaestor stop").start()

    def _insist(self) -> None:
        while True:
            with self._lock:
                interrupts = tuple(self._running)
                for interrupt in interrupts:
                    with suppress(Exception):
                        interrupt()
            if not interrupts:
                return
            threading.Event().wait(_AGAIN)

    @contextmanager
    def during(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """While a statement runs: this is what interrupts it."""
        with self._lock:
            if self.stopped:
                raise EngineFailed
            self._running.add(interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(interrupt)


@contextmanager
def stoppable(interrupt: Callable[[], object]) -> Iterator[None]:
    """A statement runs meanwhile, and can be stopped if whoever asks wants to be able to."""
    stop = _CURRENT.get()
    if stop is None:
        yield
        return
    with stop.during(interrupt):
        yield


def refuse_stopped() -> None:
    """Fail if whoever asks has stopped it, though the statement may have been over before.

    Otherwise a stop at a moment of one's own choice would tell whether the engine had finished.
    """
    stop = _CURRENT.get()
    if stop is not None and stop.stopped:
        raise EngineFailed
