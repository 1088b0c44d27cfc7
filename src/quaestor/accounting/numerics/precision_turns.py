"""Turns at the working precision: flint has one for the whole process, whichever thread sets it."""

from __future__ import annotations

import threading

from flint import ctx

__all__ = ["working_precision"]

_LONGEST = 10.0  # seconds until a turn is given up: its thread may have been interrupted


class _Turns:
    """The lock that threads take turns with."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def taken(self) -> threading.RLock:
        """The lock, once this thread holds it; a new one after too long a wait.

        Without the turn balls may be wider and are never wrong, so that nobody waits for ever: not
        for a thread that was interrupted, nor in a child process for one that is not there.
        """
        lock = self.lock
        while not lock.acquire(timeout=_LONGEST):
            if self.lock is lock:
                self.lock = threading.RLock()
            lock = self.lock
        return lock


_TURNS = _Turns()


class _Precision:
    """So many bits until the block is over, while other threads wait for theirs."""

    __slots__ = ("_before", "_bits", "_lock")

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def __enter__(self) -> None:
        self._lock = _TURNS.taken()
        self._before = ctx.prec
        ctx.prec = self._bits

    def __exit__(self, *_: object) -> None:
        ctx.prec = self._before
        self._lock.release()


def working_precision(bits: int) -> _Precision:
    """Compute with so many bits inside a block; threads that want to wait for each other.

    >>> from flint import arb
    >>> with working_precision(200):
    ...     (arb(1) / 3).rel_accuracy_bits() > 190
    True
    """
    return _Precision(bits)
