"""A charge under way: reserved, and then released, or void, or left as it is.

Those who ask the same question at the same time wait for one charge, and for its answer.
"""

from __future__ import annotations

import os
import random
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypeVar

from quaestor.errors import (
    AnswerPending,
    ChargeSettled,
    LedgerCorrupted,
    LedgerUnavailable,
    QuaestorError,
)
from quaestor.ledger import jobs
from quaestor.ledger.jobs import Answered, JobState, SharedQuestion, Waiting
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from quaestor.ledger.cashier import Cashier, Once
    from quaestor.ledger.price import AnswerReader, Request

__all__ = ["PATIENCE", "Charge", "claim", "original"]

PATIENCE = 600.0
"""How many seconds somebody waits for an answer that another one has asked for."""

_Stored = TypeVar("_Stored")
_FIRST, _LONGEST = 0.01, 0.5  # seconds between two looks at the ledger
_PARTS = 4
"""How often a lease is renewed before it would end."""


class Charge:
    """A reservation that is in place, durably, before anything runs.

    ::

        with account.reserve(releases, analyst="ann", purpose="weekly report") as charge:
            connect()                    # no row is read yet: charge.void(reason) is possible
            charge.running()             # from here on data may decide what happens: no void
            exact = run()
            charge.drawing()             # durable, and once: from here on nobody else completes it
            charge.release(draw(exact))  # the answer is in the ledger, and may be shown

    If the block ends otherwise, by an error, a crash or a loss of power, the charge stays in place:
    budget may be wasted, and none is given away. Only the process that made the reservation can
    void it, and only in this block: nobody else can know what it has done. Why one charge covers
    one draw at most, whatever happens, is said in :mod:`quaestor.ledger.jobs`.

    >>> from tempfile import TemporaryDirectory
    >>> from quaestor import PureDP
    >>> from quaestor.ledger import AccountDefinition, Ledger
    >>> trial = AccountDefinition(name="trial", epsilon=1.0, delta=1e-6, datasets=("patients",))
    >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.db") as ledger:
    ...     with ledger.open_account(trial).reserve(PureDP(epsilon=0.25)) as charge:
    ...         charge.drawing()  # durable: from here on the charge stays
    ...         charge.release("42")
    ...     charge.status
    'released'
    """

    __slots__ = (
        *("_drawing", "_lease", "_marked", "_process", "_running", "_settled", "_cashier"),
        *("attempt", "entry", "repeated", "request"),
    )

    def __init__(
        self,
        cashier: Cashier,
        request: Request,
        *,
        entry: int,
        job: JobState | None = None,
        repeated: bool = False,
    ) -> None:
        """Keep what was reserved; the ledger has it already."""
        self._cashier, self.request, self.entry = cashier, request, entry
        self.attempt = 0 if job is None else job.attempt
        """Which attempt to complete it this is, from 1; 0 if nobody else can hold it."""
        self.repeated = repeated
        """Whether it was made before, by whoever used the same key or asked the same question."""
        self._drawing = self._marked = self._running = False
        self._settled: str | None = None if job is None else job.settled
        self._process = os.getpid()
        self._lease = _Lease(cashier, job) if job is not None and job.lease else None

    def __repr__(self) -> str:
        """The entry, and how it stands."""
        return f"<entry {self.entry} of account {self._cashier.name!r}, {self.status}>"

    @property
    def status(self) -> str:
        """``reserved``, ``released`` or ``void``."""
        return self._settled if self._settled in {"released", "void"} else "reserved"

    @property
    def receipt(self) -> int:
        """The number to tell the analyst: the entry's or, with quotas, of the own charges only."""
        return self._cashier.receipt(self.request, entry=self.entry)

    def running(self) -> None:
        """A statement is about to be sent to the engine: from here on the charge cannot be void.

        What happens from here on may depend on private data.
        """
        self._refuse_if_settled()
        self._running = True

    def drawing(self) -> None:
        """Noise is about to be drawn: this is recorded, durably and once for each charge.

        From here on the charge cannot be void, and nobody else can complete it. Draw only after
        this has returned.

        Raises:
            ChargeSettled: somebody else who holds the same charge was here before.
        """
        self._refuse_if_settled()
        if self._marked:
            return
        try:
            self._cashier.draw(entry=self.entry, attempt=self.attempt)
        except QuaestorError:
            raise
        except BaseException:
            self._settled = "left"  # the mark may or may not be there: nothing may be drawn
            raise
        self._drawing = self._marked = True

    def release(self, answer: str | None = None) -> None:
        """The answer is about to be shown: keep it, word for word, and settle the charge."""
        self._refuse_if_settled()
        self._drawing = True
        self._cashier.release(
            self.request, entry=self.entry, attempt=self.attempt, drawn=self._marked, answer=answer
        )
        self._settled = "released"

    def void(self, reason: str) -> None:
        """Give the budget back: nothing was drawn, and nothing will be. This is recorded.

        The reason must not depend on private data, and neither may the decision to void.
        """
        self._refuse_if_settled()
        if self._drawing:
            raise ChargeSettled(self.entry, problem="stays charged: noise may have been drawn")
        if self._running:
            raise ChargeSettled(self.entry, problem="stays charged: its question has been run")
        if self.repeated:
            raise ChargeSettled(self.entry, problem="stays charged: another process made it")
        try:
            self._cashier.void(self.request, entry=self.entry, attempt=self.attempt, reason=reason)
        except QuaestorError:
            raise
        except BaseException:
            self._settled = "left"  # it may or may not be void: nothing may be drawn on it
            raise
        self._settled = "void"

    def _refuse_if_settled(self) -> None:
        if self._process != os.getpid():
            raise ChargeSettled(self.entry, problem="belongs to another process and stays charged")
        if self._settled == "left":
            raise ChargeSettled(self.entry, problem="was left behind and stays charged")
        if self._settled is not None:
            raise ChargeSettled(self.entry, problem=f"is {self._settled} already")

    def __enter__(self) -> Self:
        """The charge itself; others who ask the same question wait for it from here on."""
        if self._lease is not None and self._settled is None:
            self._lease.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave an unsettled charge in place, for others to complete where that is possible."""
        if self._process != os.getpid():
            return  # it is held by a parent, which goes on
        if self._lease is not None:
            self._lease.stop()
        if self._settled is None:
            self._settled = "left"
        if self._settled == "left" and self._lease is not None:
            self._lease.give_up(problem)


class _Lease:
    """Renews a lease from a thread of its own: it ends with the process, stops with it too."""

    __slots__ = ("_cashier", "_job", "_lock", "_over")

    def __init__(self, cashier: Cashier, job: JobState) -> None:
        """Keep what is held."""
        self._cashier, self._job = cashier, job
        self._over, self._lock = threading.Event(), threading.Lock()

    def start(self) -> None:
        """Hold the charge from here on."""
        threading.Thread(target=self._renew, daemon=True, name="quaestor lease").start()

    def _renew(self) -> None:
        while not self._over.wait(jobs.LEASE / _PARTS):
            with self._lock, suppress(QuaestorError):  # the next time, perhaps
                if not self._over.is_set():
                    self._cashier.hold(self._job, give_up=False)

    def stop(self) -> None:
        """Renew it no more."""
        self._over.set()

    def give_up(self, problem: BaseException | None) -> None:
        """Let somebody else complete the charge at once; without this, when the lease ends."""
        self.stop()
        if not isinstance(problem, LedgerUnavailable):
            with self._lock, suppress(QuaestorError):
                self._cashier.hold(self._job, give_up=True)


def claim(  # noqa: PLR0913  # what makes it the same question, and for whom it is
    cashier: Cashier,
    request: Request,
    answer: Callable[[], _Stored | None],
    *,
    reader: AnswerReader,
    patience: float,
    question: str = "",
) -> _Stored | JobState:
    """The stored answer, or a charge to be completed: a new one, or one that was left behind.

    Raises:
        ChargeSettled: whoever was waited for has failed; the charge stays, and a later repeat of
            the question completes it.
        AnswerPending: somebody is still at work on it.
    """
    shared = SharedQuestion(cashier.name, request, reader=reader, question=question)
    once: Once[JobState | Waiting | Answered] = shared
    deadline, pause = time.monotonic() + patience, _FIRST
    while True:
        found = cashier.charge_once(request, once)
        if isinstance(found, JobState):
            return found
        if isinstance(found, Answered):
            stored = answer()
            if stored is not None:
                return stored
        elif found.failed:
            raise ChargeSettled(found.job.entry, problem="was left behind and stays charged")
        elif time.monotonic() > deadline:
            raise AnswerPending(cashier.name)
        else:
            shared.waited = (found.job.entry, found.job.attempt)
        time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  # not for noise
        pause = min(2 * pause, _LONGEST)


def original(cashier: Cashier, request: Request, *, entry: int) -> Request:
    """The request as it was charged: whoever takes a charge over may have another name."""
    with cashier.store.reading() as session:
        row = session.row(sql.CHARGE_OF, account=cashier.name, entry=entry)
    if row is None:
        raise LedgerCorrupted(f"entry {entry} of account {cashier.name!r}", "it is missing")
    analyst, purpose = row
    return replace(request, analyst=analyst, purpose=purpose)
