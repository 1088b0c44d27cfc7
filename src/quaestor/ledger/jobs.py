"""Jobs: who works on a charge, so that it is made once and completed once.

One charge covers at most one draw of noise, whatever crashes, pauses or races there are:

* Noise is drawn only after :meth:`Charge.drawing` has returned. It appends the event ``drawing`` to
  the account's chain, durably, in a transaction under the account's lock. The event can be there
  once for each entry (a unique index, and :class:`~quaestor.ledger.journal.chain.Chain`), so of all
  who hold the same charge one alone passes.
* That transaction also demands the current attempt. A process that was stopped, and wakes up after
  somebody else has taken its charge over, has an older one: it passes neither there nor at
  :meth:`Charge.release`, and what it has computed is thrown away before any noise.
* A charge that has the mark is never taken over: nobody can know whether its noise was drawn, and
  the same question is paid for anew. A charge without it has drawn none, and to complete it costs
  nothing more.
* It is given back only by its first holder, who knows that nothing was drawn and, in a curator,
  that no statement was sent to the engine. After a takeover nobody knows that.

Each attempt may be another look at how long a question takes and whether it fails: there are at
most three. A restored backup may be older than a mark, so all that was under way in it is marked.
Leases decide who waits for whom, by the store's clock; no draw depends on them.
"""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.errors import ChargeSettled, KeyReused
from quaestor.ledger import stored_text as texts
from quaestor.ledger.price import label_of
from quaestor.ledger.store import people_statements as people_sql
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from quaestor.ledger.journal.appender import Journal
    from quaestor.ledger.price import AnswerReader, Request
    from quaestor.ledger.store.base import Session

__all__ = [
    "LEASE",
    "MOST_ATTEMPTS",
    "Answered",
    "JobState",
    "KeyedCharge",
    "Left",
    "Pending",
    "SharedQuestion",
    "Waiting",
    "hold",
    "holder",
    "link",
    "read_pending",
    "seen_answers",
    "undrawn",
]

LEASE = 20.0
"""For how many seconds a charge is held, unless that is renewed."""

MOST_ATTEMPTS = 3

_LONGEST_AHEAD = 60.0  # seconds beyond a lease: what is held longer is of a clock that was wrong

_ADVICE = {
    "running": "wait: it is being worked on",
    "left": "ask the same question again: this completes it at no extra cost",
    "keyed": "repeat it with the same key: this completes it at no extra cost",
    "exhausted": (
        "do nothing: three attempts failed; it stays charged, and asking again costs again"
    ),
    "drawn": (
        "do nothing: noise may have been drawn; it stays charged, and asking again costs again"
    ),
    "unknown": (
        "do nothing: only its own process can settle it; if that has ended, it stays charged"
    ),
}


def holder() -> str:
    """This process, in words for an operator."""
    return f"{platform.node()}:{os.getpid()}"


class JobState(NamedTuple):
    """A charge that somebody works on, or worked on, as the store knows it."""

    entry: int
    attempt: int
    request: str
    holder: str
    lease: str
    """Until when it is held; empty if nobody holds it."""
    settled: str | None = None
    drawn: str | None = None
    new: bool = False
    """Whether it was charged just now."""

    def held(self, now: str) -> bool:
        """Whether somebody is at work on it, as far as anybody knows."""
        return now < self.lease <= texts.later(now, seconds=LEASE + _LONGEST_AHEAD)


def undrawn(session: Session, account: str) -> list[int]:
    """Charges that somebody else could still draw noise for."""
    return [row[0] for row in session.rows(sql.UNDRAWN, account=account)]


def link(session: Session, question: str, *, account: str, entry: int | None) -> None:
    """Write down which charge a question of a service has, in the transaction that makes it.

    Without an entry, only see that it may have one.

    Raises:
        ChargeSettled: the question is over, or has another charge.
    """
    if not question:
        return
    state, paid_by, charged = session.row(people_sql.QUESTION_CHARGE, id=question) or ("", "", 0)
    if state != "open":
        raise ChargeSettled(charged, problem="is not charged: its question is over")
    if charged and (paid_by, charged) != (account, entry):
        raise ChargeSettled(charged, problem="stays charged: its question is not charged twice")
    if entry is not None and not charged:
        session.run(people_sql.LINK_QUESTION, id=question, account=account, entry=entry)


class KeyedCharge:
    """A charge with a key of the caller's: the same key is the same charge."""

    def __init__(self, account: str, request: Request, *, key: str, question: str = "") -> None:
        """Keep the key, a digest of all that the entry says, and whose charge it will be."""
        self._account, self._key, self._question = account, texts.name("key", key), question
        said = [request.dataset, request.analyst, request.purpose, request.query]
        said += [request.audience] if request.audience else []
        said += request.blocks
        self._request = texts.digest(
            texts.canonical([texts.releases_to_text(request.releases), *said])
        )

    def look(self, session: Session) -> JobState | None:
        """The charge that was made with this key, if one was.

        Raises:
            KeyReused: it was made for another request.
        """
        row = session.row(sql.JOB_OF_TOKEN, account=self._account, token=self._key)
        if row is None:
            return None
        found = JobState(*row)
        if found.request != self._request:
            raise KeyReused(self._key, account=self._account)
        return found

    def take(self, journal: Journal) -> JobState | None:
        """The same, under the account's lock."""
        found = self.look(journal.session)
        if found is None:
            link(journal.session, self._question, account=self._account, entry=None)
        return found

    def add(self, journal: Journal, *, entry: int) -> JobState:
        """Keep the key with a charge, in the same transaction. Nobody has to wait for it."""
        link(journal.session, self._question, account=self._account, entry=entry)
        journal.session.run(
            sql.ADD_JOB,
            account=self._account,
            entry=entry,
            attempt=1,
            token=self._key,
            request=self._request,
            question="",
            holder=holder(),
            lease="",
        )
        return JobState(entry, 1, self._request, holder(), "", new=True)


class Waiting(NamedTuple):
    """Somebody else is at work on the same question, or was, while this waited, and failed."""

    job: JobState
    failed: bool = False


class Left(NamedTuple):
    """The question has a charge that was left behind, and can be taken over under the lock."""


class Answered(NamedTuple):
    """The question has a stored answer by now."""


def seen_answers(  # noqa: PLR0913  # what makes a question the same, and who reads
    session: Session,
    account: str,
    *,
    dataset: object,
    query: str,
    blocks: tuple[str, ...] | None,
    reader: AnswerReader,
) -> list[tuple[int, tuple[str, ...]]]:
    """The entries with an answer to a question that a reader may see, each with its blocks.

    Where each block of time has a budget, the same query of other blocks is another question, and
    only answers of exactly these blocks count; None: those of any.
    """
    rows = session.rows(
        sql.ANSWERS_TO, account=account, dataset=dataset, query=query, blocks=int(blocks != ())
    )
    found = [(entry, label, texts.parts_of(detail or "")[1]) for entry, label, detail in rows]
    return [
        (entry, of)
        for entry, label, of in found
        if reader.sees(label) and (blocks is None or of == blocks)
    ]


class SharedQuestion:
    """A question that is answered once for one charge, whoever asks it at the same time."""

    def __init__(
        self, account: str, request: Request, *, reader: AnswerReader, question: str = ""
    ) -> None:
        """Keep what makes it the same: it is for the same people, whoever asks.

        ``question`` is the question of a service whose charge it will be, if it is one's.
        """
        self._account, self._request, self._reader = account, request, reader
        self._question = question
        self.waited: tuple[int, int] | None = None
        """The entry and attempt that was waited for: its failure is not tried again at once."""
        label = label_of(request.audience, request.analyst if reader.quotas else "")
        said = (request.dataset, request.query, label, texts.releases_to_text(request.releases))
        self.digest = texts.digest(texts.canonical([*said, *request.blocks]))

    def look(self, session: Session) -> JobState | Waiting | Answered | Left | None:
        """Whether somebody works on it, has answered it, or has left it behind."""
        found = self._known(session, session.now())
        return Left() if isinstance(found, JobState) else found

    def take(self, journal: Journal) -> JobState | Waiting | Answered | None:
        """The same under the account's lock; what was left behind is taken over."""
        found = self._known(journal.session, journal.time)
        if not isinstance(found, JobState):
            if found is None:
                link(journal.session, self._question, account=self._account, entry=None)
            return found
        link(journal.session, self._question, account=self._account, entry=found.entry)
        taken = found._replace(
            attempt=found.attempt + 1,
            holder=holder(),
            lease=texts.later(journal.time, seconds=LEASE),
        )
        hold(journal.session, self._account, taken, before=found.attempt)
        return taken

    def _known(self, session: Session, now: str) -> JobState | Waiting | Answered | None:
        """What stands in the way of a new charge; a job alone is one that can be taken over."""
        request = self._request
        if seen_answers(
            session,
            self._account,
            dataset=request.dataset,
            query=request.query,
            blocks=request.blocks,
            reader=self._reader,
        ):
            return Answered()
        row = session.row(sql.JOB_OF_QUESTION, account=self._account, question=self.digest)
        if row is None:
            return None
        job = JobState(*row)
        if job.settled:
            return None
        if job.held(now):
            return Waiting(job)
        if not job.lease and self.waited == (job.entry, job.attempt):
            return Waiting(job, failed=True)
        return None if job.drawn or job.attempt >= MOST_ATTEMPTS else job

    def add(self, journal: Journal, *, entry: int) -> JobState:
        """Hold a new charge, in the same transaction."""
        link(journal.session, self._question, account=self._account, entry=entry)
        lease = texts.later(journal.time, seconds=LEASE)
        journal.session.run(
            sql.ADD_JOB,
            account=self._account,
            entry=entry,
            attempt=1,
            token="",
            request="",
            question=self.digest,
            holder=holder(),
            lease=lease,
        )
        return JobState(entry, 1, "", holder(), lease, new=True)


def hold(session: Session, account: str, job: JobState, *, before: int) -> None:
    """Write down who holds a job, if the attempt before is still the last one."""
    session.run(
        sql.HOLD_JOB,
        account=account,
        entry=job.entry,
        attempt=job.attempt,
        holder=job.holder,
        lease=job.lease,
        before=before,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """One charge that is neither released nor void.

    >>> left = Pending(
    ...     account="trial", entry=1, time="2026-01-01T00:00:00Z", age=3600.0, analyst="ann",
    ...     dataset="visits", purpose="", query="", key="", holder="", attempt=1, state="drawn",
    ... )
    >>> left.state, len(left.advice) > 10
    ('drawn', True)
    """

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
    entry, time, analyst, dataset, purpose, query, attempt, key, question, *rest = row
    held_by, lease, drawn = rest
    known = JobState(entry, attempt or 0, "", held_by or "", lease or "", None, drawn)
    return Pending(
        account=account,
        entry=entry,
        time=time,
        age=max(0.0, (texts.parsed(now) - texts.parsed(time)).total_seconds()),
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
