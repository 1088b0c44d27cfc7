"""Asking a question once: those who ask it at the same time wait for the one answer."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from quaestor.errors import AnswerPending, ChargeSettled, LedgerCorrupted
from quaestor.ledger.jobs import Answered, JobState, Question, Waiting
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.ledger.cashier import Once, Till
    from quaestor.ledger.request import Request

__all__ = ["PATIENCE", "claim", "original"]

PATIENCE = 600.0
"""How many seconds somebody waits for an answer that another one has asked for."""

_Stored = TypeVar("_Stored")
_FIRST, _LONGEST = 0.01, 0.5  # seconds between two looks at the ledger


def claim(
    till: Till, request: Request, answer: Callable[[], _Stored | None], *, patience: float
) -> _Stored | JobState:
    """The stored answer, or a charge to be completed: a new one, or one that was left behind.

    Raises:
        ChargeSettled: whoever was waited for has failed; the charge stays, and a later repeat of
            the question completes it.
        AnswerPending: somebody is still at work on it.
    """
    analyst = request.analyst if till.book.definition.shares else ""
    question = Question(till.name, request, analyst=analyst)
    once: Once[JobState | Waiting | Answered] = question
    deadline, pause = time.monotonic() + patience, _FIRST
    while True:
        found = till.charge_once(request, once)
        if isinstance(found, JobState):
            return found
        if isinstance(found, Answered):
            stored = answer()
            if stored is not None:
                return stored
        elif found.failed:
            raise ChargeSettled(found.job.entry, problem="was left behind and stays charged")
        elif time.monotonic() > deadline:
            raise AnswerPending(till.name)
        else:
            question.waited = (found.job.entry, found.job.attempt)
        time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  # not for noise
        pause = min(2 * pause, _LONGEST)


def original(till: Till, request: Request, *, entry: int) -> Request:
    """The request as it was charged: whoever takes a charge over may have another name."""
    with till.store.reading() as session:
        row = session.row(sql.CHARGE_OF, account=till.name, entry=entry)
    if row is None:
        raise LedgerCorrupted(f"entry {entry} of account {till.name!r}", "it is gone")
    analyst, purpose = row
    return replace(request, analyst=analyst, purpose=purpose)
