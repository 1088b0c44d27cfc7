"""What is charged and not settled: who works on it, or has left it behind, and what can be done."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from quaestor.ledger import clock
from quaestor.ledger.jobs import MOST_ATTEMPTS, JobState
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from quaestor.ledger.store.base import Session

__all__ = ["Pending", "read_pending"]

_ADVICE = {
    "running": "wait: somebody is at work on it",
    "left": "ask the same question again: that completes it and costs nothing more",
    "keyed": "repeat it with the same key: that completes it and costs nothing more",
    "exhausted": "leave it: three attempts failed; it stays charged, and asking again costs anew",
    "drawn": "leave it: noise may have been drawn; it stays charged, and asking again costs anew",
    "unknown": "leave it: only its own process can settle it; if that has ended, it stays charged",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """One charge that is neither released nor void."""

    account: str
    entry: int
    time: str
    """When it was charged."""
    age: float
    """How many seconds ago that was, by the store's clock."""
    analyst: str
    dataset: str
    purpose: str
    query: str
    key: str
    holder: str
    """The machine and process that held it last, if that is known."""
    attempt: int
    """How many attempts there were to complete it; 0 if others cannot."""
    state: str
    """``running``, ``left``, ``keyed``, ``exhausted``, ``drawn`` or ``unknown``."""

    @property
    def advice(self) -> str:
        """The one safe thing that can be done about it."""
        return _ADVICE[self.state]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "advice": self.advice}


def read_pending(session: Session, account: str) -> list[Pending]:
    """All charges of an account that are not settled, in their order."""
    now = session.now()
    return [_pending(account, row, now) for row in session.rows(sql.PENDING, account=account)]


def _pending(account: str, row: tuple[Any, ...], now: str) -> Pending:
    entry, time, analyst, dataset, purpose, query, attempt, key, question, holder, lease, drawn = (
        row
    )
    known = JobState(entry, attempt or 0, "", holder or "", lease or "", None, drawn)
    return Pending(
        account=account,
        entry=entry,
        time=time,
        age=max(0.0, (clock.parsed(now) - clock.parsed(time)).total_seconds()),
        analyst=analyst,
        dataset=dataset,
        purpose=purpose,
        query=query,
        key=key or "",
        holder=known.holder,
        attempt=known.attempt,
        state=_state(known, now, keyed=bool(key), asked=bool(question)),
    )


def _state(job: JobState, now: str, *, keyed: bool, asked: bool) -> str:
    if job.held(now):
        return "running"
    if job.drawn:
        return "drawn"
    if keyed:
        return "keyed"
    if not asked:
        return "unknown"
    return "left" if job.attempt < MOST_ATTEMPTS else "exhausted"
