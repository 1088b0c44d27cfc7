"""A charge under way: reserved, and then released, or void, or left as it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from quaestor.errors import ChargeSettled, QuaestorError
from quaestor.ledger.charge_lease import Keeper

if TYPE_CHECKING:
    from types import TracebackType

    from quaestor.ledger.cashier import Till
    from quaestor.ledger.jobs import JobState
    from quaestor.ledger.request import Request

__all__ = ["Charge"]


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
    """

    __slots__ = (
        *("_drawing", "_keeper", "_marked", "_process", "_running", "_settled", "_till"),
        *("attempt", "entry", "repeated", "request"),
    )

    def __init__(
        self,
        till: Till,
        request: Request,
        *,
        entry: int,
        job: JobState | None = None,
        repeated: bool = False,
    ) -> None:
        """Keep what was reserved; the ledger has it already."""
        self._till, self.request, self.entry = till, request, entry
        self.attempt = 0 if job is None else job.attempt
        """Which attempt to complete it this is, from 1; 0 if nobody else can hold it."""
        self.repeated = repeated
        """Whether it was made before, by whoever used the same key or asked the same question."""
        self._drawing = self._marked = self._running = False
        self._settled: str | None = None if job is None else job.settled
        self._process = os.getpid()
        self._keeper = Keeper(till, job) if job is not None and job.lease else None

    def __repr__(self) -> str:
        """The entry, and how it stands."""
        return f"<entry {self.entry} of account {self._till.name!r}, {self.status}>"

    @property
    def status(self) -> str:
        """``reserved``, ``released`` or ``void``."""
        return self._settled if self._settled in {"released", "void"} else "reserved"

    @property
    def receipt(self) -> int:
        """The number to tell the analyst: the entry's or, with quotas, of the own charges only."""
        return self._till.receipt(self.request, entry=self.entry)

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
            self._till.draw(entry=self.entry, attempt=self.attempt)
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
        self._till.release(
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
            raise ChargeSettled(self.entry, problem="stays charged: somebody else has made it")
        try:
            self._till.void(self.request, entry=self.entry, attempt=self.attempt, reason=reason)
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
        if self._keeper is not None and self._settled is None:
            self._keeper.start()
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
        if self._keeper is not None:
            self._keeper.stop()
        if self._settled is None:
            self._settled = "left"
        if self._settled == "left" and self._keeper is not None:
            self._keeper.give_up(problem)
