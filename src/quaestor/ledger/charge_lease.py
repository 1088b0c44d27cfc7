"""Holding a charge while its question runs, however long that takes."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from quaestor.errors import LedgerUnavailable, QuaestorError
from quaestor.ledger import jobs

if TYPE_CHECKING:
    from quaestor.ledger.cashier import Till
    from quaestor.ledger.jobs import JobState

__all__ = ["Keeper"]

_PARTS = 4
"""How often a lease is renewed before it would end."""


class Keeper:
    """Renews a lease from a thread of its own: it ends with the process, stops with it too."""

    __slots__ = ("_job", "_lock", "_over", "_till")

    def __init__(self, till: Till, job: JobState) -> None:
        """Keep what is held."""
        self._till, self._job = till, job
        self._over, self._lock = threading.Event(), threading.Lock()

    def start(self) -> None:
        """Hold the charge from here on."""
        threading.Thread(target=self._renew, daemon=True, name="quaestor lease").start()

    def _renew(self) -> None:
        while not self._over.wait(jobs.LEASE / _PARTS):
            with self._lock, suppress(QuaestorError):  # the next time, perhaps
                if not self._over.is_set():
                    self._till.hold(self._job, give_up=False)

    def stop(self) -> None:
        """Renew it no more."""
        self._over.set()

    def give_up(self, problem: BaseException | None) -> None:
        """Let somebody else complete the charge at once; without this, when the lease ends."""
        self.stop()
        if not isinstance(problem, LedgerUnavailable):
            with self._lock, suppress(QuaestorError):
                self._till.hold(self._job, give_up=True)
