"""Questions that were asked of a service, kept until they are answered: nothing is lost by a crash.

A question is written down before anything is charged for it. The transaction that charges also
writes down which charge is its own (:func:`quaestor.ledger.jobs.link`), so that a question has one
charge at most, however often its work is begun again. Who works on it holds a lease; what was left
behind is taken up by whoever comes next. How the charge itself stands is what
:mod:`quaestor.ledger.jobs` says.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.errors import InvalidParameter, KeyReused, TooManyJobs, UnknownJob
from quaestor.ledger import stored_text as texts
from quaestor.ledger.jobs import LEASE, holder
from quaestor.ledger.journal.appender import write_alone
from quaestor.ledger.store import people_statements as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.ledger.store.base import Row, Session, Store

__all__ = ["QuestionJob", "QuestionJobs"]

_PAGE = 100
_BATCH, _DIGITS = "batch:", 24
"""How keys of questions in a batch begin; then come the id of the batch and the place in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionJob:
    """One question of somebody's, and how it stands.

    >>> from tempfile import TemporaryDirectory
    >>> from quaestor.ledger import Ledger
    >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.db") as ledger:
    ...     job, _ = ledger.questions.submit("ann", {"sql": "SELECT COUNT(*) FROM visits"})
    ...     job.analyst, job.asked["sql"]
    ('ann', 'SELECT COUNT(*) FROM visits')
    """

    id: str
    analyst: str
    key: str
    request: str
    """The digest of what was asked."""
    inquiry: str
    """What was asked, as JSON."""
    created: str
    account: str
    """Who pays, once that is known."""
    entry: int
    """The charge that was made for it; 0 if there is none."""
    state: str
    """``open``, ``answered``, ``refused`` (nothing was charged), ``failed`` or ``cancelled``."""
    problem: str
    """The error, as JSON, if it was refused or failed."""
    answered: int
    """The entry that has its answer: its own, or that of an earlier question; 0 if none has."""
    repeated: bool
    """Whether the answer was given before, and cost nothing now."""
    holder: str
    lease: str
    finished: str

    @classmethod
    def from_row(cls, row: Row) -> QuestionJob:
        """As the store keeps it."""
        made = dict(zip(cls.__dataclass_fields__, row, strict=True))
        return cls(**{**made, "repeated": bool(made["repeated"])})

    @property
    def batch(self) -> str:
        """The id of the batch that it was asked in; empty if it was asked alone."""
        named = self.key.startswith(_BATCH)
        return self.key[len(_BATCH) : len(_BATCH) + _DIGITS] if named else ""

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked, as plain values."""
        read: dict[str, Any] = json.loads(self.inquiry)
        return read

    @property
    def error(self) -> dict[str, Any] | None:
        """Why it was refused or failed, if it was."""
        return json.loads(self.problem) if self.problem else None


class QuestionJobs:
    """All questions of a service over one ledger.

    >>> from tempfile import TemporaryDirectory
    >>> from quaestor.ledger import Ledger
    >>> with TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.db") as ledger:
    ...     job, new = ledger.questions.submit("ann", {"sql": "SELECT COUNT(*) FROM visits"})
    ...     job.state, new
    ('open', True)
    """

    def __init__(self, store: Store) -> None:
        """Keep the store, which is the ledger's."""
        self._store = store

    def submit(
        self,
        analyst: str,
        inquiry: dict[str, Any],
        *,
        key: str = "",
        most: int = 16,
        stored: tuple[str, int] | None = None,
    ) -> tuple[QuestionJob, bool]:
        """Write a question down, held by this process; and whether it is a new one.

        Args:
            analyst: who asks.
            inquiry: what is asked, as plain values.
            key: a name of the caller's: the same key again is the same question.
            most: how many unfinished questions the analyst may have.
            stored: the account and the entry that have its answer already, if there is one: then
                it is answered as it is written down, and nobody has to work on it.

        Raises:
            KeyReused: the key belongs to another question.
            TooManyJobs: there are too many unfinished ones; nothing was written.
        """
        name, token = texts.name("analyst", analyst), texts.name("key", key) if key else ""
        if token.startswith(_BATCH):
            raise InvalidParameter("key", key, f"a name that does not begin with {_BATCH}")
        new = _NewQuestion(name, inquiry, token)

        def work(session: Session) -> tuple[QuestionJob, bool]:
            if token:
                row = session.row(sql.QUESTION_OF_TOKEN, analyst=name, token=token)
                if row is not None:
                    return QuestionJob.from_row(row), False
            _refuse_more(session, name, most=most)
            added = new.written(session)
            if stored is not None:
                account, entry = stored
                session.row(
                    sql.FINISH_QUESTION,
                    id=new.id,
                    state="answered",
                    problem="",
                    account=account,
                    answered=entry,
                    repeated=1,
                    finished=session.now(),
                )
            row = session.row(sql.QUESTION, id=new.id)
            if row is None:  # another process has just used the same key
                row = session.row(sql.QUESTION_OF_TOKEN, analyst=name, token=token)
            if row is None:
                raise UnknownJob(new.id)
            return QuestionJob.from_row(row), added

        found, added = write_alone(self._store, work)
        if found.request != new.request:
            raise KeyReused(key, account="")
        return found, added

    def submit_batch(
        self, analyst: str, inquiries: Sequence[dict[str, Any]], *, key: str = "", most: int = 16
    ) -> tuple[str, tuple[QuestionJob, ...], bool]:
        """Write several questions down, all or none, held by this process.

        Returns the id of the batch, its questions in order, and whether it is a new one. Parameters
        as for :meth:`submit`; towards ``most``, a batch counts as one: one thread works on it.

        Raises:
            KeyReused: the key belongs to another batch.
            TooManyJobs: there are too many unfinished ones; nothing was written.
        """
        if not inquiries:
            raise InvalidParameter("inquiries", None, "at least one question")
        name = texts.name("analyst", analyst)
        id_ = texts.digest(texts.name("key", key))[:_DIGITS] if key else secrets.token_hex(12)
        asked = [
            _NewQuestion(name, inquiry, f"{_BATCH}{id_}:{place:04d}")
            for place, inquiry in enumerate(inquiries)
        ]

        def work(session: Session) -> tuple[tuple[QuestionJob, ...], bool]:
            known = _batch(session, name, id_)
            if known:
                return known, False
            _refuse_more(session, name, most=most)
            added = {each.written(session) for each in asked}
            if len(added) > 1:  # another process has just used the same key for a shorter batch
                raise KeyReused(key, account="")
            return _batch(session, name, id_), True in added

        found, new = write_alone(self._store, work)
        if [each.request for each in found] != [each.request for each in asked]:
            raise KeyReused(key, account="")
        return id_, found, new

    def batch(self, id_: str, *, analyst: str) -> tuple[QuestionJob, ...]:
        """The questions of a batch of somebody's, in order."""
        with self._store.reading() as session:
            found = _batch(session, analyst, id_)
        if not found:
            raise UnknownJob(id_)
        return found

    def get(self, id_: str, *, analyst: str | None = None) -> QuestionJob:
        """A question by its id: one of that analyst's, if one is named."""
        with self._store.reading() as session:
            found = _found(session, id_)
        if analyst is not None and found.analyst != analyst:
            raise UnknownJob(id_)
        return found

    def of(self, analyst: str, *, most: int = _PAGE) -> tuple[QuestionJob, ...]:
        """The latest questions of somebody's, the last one first."""
        with self._store.reading() as session:
            rows = session.rows(sql.QUESTIONS_OF, analyst=analyst, page=most)
        return tuple(map(QuestionJob.from_row, rows))

    def take_left(self) -> tuple[QuestionJob, ...]:
        """Questions that nobody works on any more: they are this process's from now on."""
        with self._store.reading() as session:
            now = session.now()
            left = session.rows(sql.LEFT_QUESTIONS, now=now, page=_PAGE)
        return tuple(
            job for job in map(QuestionJob.from_row, left) if self._hold(job, before=job.lease)
        )

    def renew(self, ids: Iterable[str]) -> None:
        """Hold these for a while longer."""
        for id_ in ids:
            job = self.get(id_)
            if job.holder == holder():
                self._hold(job, before=job.lease)

    def give_up(self, ids: Iterable[str]) -> None:
        """Let others take these over at once."""
        for id_ in ids:
            self._hold(self.get(id_), before=None, lease=texts.utc("lease", "1970-01-01"))

    def _hold(self, job: QuestionJob, *, before: str | None, lease: str | None = None) -> bool:
        def work(session: Session) -> bool:
            until = lease or texts.later(session.now(), seconds=LEASE)
            was = before if before is not None else _found(session, job.id).lease
            held = session.row(
                sql.HOLD_QUESTION, id=job.id, holder=holder(), lease=until, before=was
            )
            return held is not None

        done: bool = write_alone(self._store, work)
        return done

    def answer(self, id_: str, *, account: str, entry: int, repeated: bool) -> None:
        """It is answered: by the answer of that entry."""
        found = {"account": account, "answered": entry, "repeated": int(repeated)}
        self._finish(id_, state="answered", problem="", **found)

    def fail(self, id_: str, problem: dict[str, Any]) -> None:
        """It has no answer: nothing was charged for it (``refused``), or it failed."""

        def work(session: Session) -> None:
            job = _found(session, id_)
            session.row(
                sql.FINISH_QUESTION,
                id=id_,
                state="failed" if job.entry else "refused",
                problem=texts.canonical(problem),
                account=job.account,
                answered=0,
                repeated=0,
                finished=session.now(),
            )

        write_alone(self._store, work)

    def cancel(self, id_: str) -> bool:
        """Nobody works on it from now on; what was charged stays. False if it was finished."""

        def work(session: Session) -> bool:
            return session.row(sql.CANCEL_QUESTION, id=id_, finished=session.now()) is not None

        done: bool = write_alone(self._store, work)
        return done

    def _finish(self, id_: str, **said: Any) -> None:
        write_alone(
            self._store,
            lambda session: session.row(
                sql.FINISH_QUESTION, id=id_, finished=session.now(), **said
            ),
        )


class _NewQuestion:
    """A question that is to be written down."""

    def __init__(self, analyst: str, inquiry: dict[str, Any], token: str) -> None:
        text = texts.canonical(inquiry)
        self.id, self.request = secrets.token_hex(12), texts.digest(text)
        self._said = {
            "analyst": analyst,
            "token": token,
            "request": self.request,
            "inquiry": text,
        }

    def written(self, session: Session) -> bool:
        """Write it down, held by this process; False if its key was used meanwhile."""
        time = session.now()
        held = {"holder": holder(), "lease": texts.later(time, seconds=LEASE)}
        session.run(sql.ADD_QUESTION, id=self.id, **self._said, created=time, **held)
        return session.row(sql.QUESTION, id=self.id) is not None


def _refuse_more(session: Session, analyst: str, *, most: int) -> None:
    (unfinished,) = session.row(sql.OPEN_QUESTIONS_OF, analyst=analyst) or (0,)
    if unfinished >= most:
        raise TooManyJobs(most=most)


def _batch(session: Session, analyst: str, id_: str) -> tuple[QuestionJob, ...]:
    if len(id_) != _DIGITS or not id_.isalnum():
        return ()
    rows = session.rows(sql.QUESTIONS_OF_BATCH, analyst=analyst, batch=f"{_BATCH}{id_}")
    return tuple(map(QuestionJob.from_row, rows))


def _found(session: Session, id_: str) -> QuestionJob:
    row = session.row(sql.QUESTION, id=id_) if id_.isprintable() else None
    if row is None:
        raise UnknownJob(id_)
    return QuestionJob.from_row(row)
