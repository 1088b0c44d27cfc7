"""Writing to an account, under its lock: events are appended, and totals kept beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.errors import (
    AccountClosed,
    InvalidParameter,
    LedgerCorrupted,
    LedgerUnavailable,
    QuaestorError,
)
from quaestor.ledger import stored_text as texts
from quaestor.ledger.amounts import totals_from_text, totals_to_text
from quaestor.ledger.journal.events import Event
from quaestor.ledger.price import Request
from quaestor.ledger.store import statements as sql
from quaestor.ledger.store.driver_errors import unavailable
from quaestor.ledger.theory import PRICING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from quaestor.ledger.account_limits import AccountLimits, Balances
    from quaestor.ledger.store.base import Session, Store
    from quaestor.ledger.store.group_commit import Job

__all__ = [
    "Journal",
    "Known",
    "State",
    "accept_clock",
    "charge_columns",
    "history",
    "next_event",
    "read_balances",
    "read_state",
    "refuse_after",
    "state_of",
    "write",
    "write_alone",
]


@dataclass(frozen=True, slots=True)
class State:
    """Where an account's chain ends, and what its row says of it."""

    events: int
    entries: int
    time: str
    head: str
    closed: int
    pricing: int


def state_of(row: tuple[Any, ...] | None, *, account: str) -> State:
    """The state that a row says."""
    if row is None:
        raise LedgerCorrupted(f"account {account!r}", "the head of its chain is missing")
    state = State(*row)
    if not all(isinstance(n, int) for n in (state.events, state.entries, state.pricing)):
        raise LedgerCorrupted(f"account {account!r}", "its row has no valid numbers")
    if state.pricing > PRICING:
        raise unavailable("newer")
    return state


def next_event(
    kind: str, *, account: str, state: State, time: str, entry: int, **columns: str
) -> Event:
    """The event that comes after a state, with its hash."""
    event = Event(account, state.events + 1, kind, entry, time, previous=state.head, **columns)
    return event.sealed()


def charge_columns(request: Request) -> dict[str, str]:
    """What the event of a charge says of it."""
    return {
        "analyst": request.analyst,
        "dataset": request.dataset,
        "purpose": request.purpose,
        "query": request.query,
        "releases": texts.releases_to_text(request.releases),
        "detail": texts.detail_of(request.statement or request.approval, request.blocks),
        "answer": request.audience,
    }


def read_state(store: Store, session: Session, account: str) -> State:
    """Where an account stands; a durable head is remembered, and must be there from now on."""
    state = state_of(session.row(sql.STATE, account=account), account=account)
    if state.events > store.seen_head(account).seq and session.durable():
        store.note_head(account, seq=state.events, head=state.head)
    return state


def refuse_after(account: str, closes: str | None, time: str) -> None:
    """Charges are for before an account's closing date, by the store's clock."""
    if closes is not None and time >= closes:
        raise AccountClosed(account, closes=texts.short_time(closes))


class Known(NamedTuple):
    """Totals that were seen last: true as long as the chain has not grown."""

    state: State
    holders: frozenset[str] | None
    """Whose totals they are; None if they are everybody's."""
    balances: Balances

    def covers(self, holders: frozenset[str]) -> bool:
        """Whether the totals of all of these are among them."""
        return self.holders is None or self.holders >= holders


class Journal:
    """One account, locked for the length of one transaction.

    Charges of several people may follow each other in it; totals are written once, at the end.
    """

    __slots__ = ("_account", "_changed", "_store", "before", "known", "session", "state", "time")

    def __init__(
        self,
        store: Store,
        session: Session,
        account: str,
        *,
        time_after: Callable[[str, str], str] = texts.not_before,
    ) -> None:
        """Lock the account, see that it is the one that was seen before, and how late it is.

        Raises:
            ClockWentBack: the clock is behind the account's last event.
        """
        self._store, self.session, self._account = store, session, account
        expected = store.seen_head(account)
        found = session.locked(account, seen=expected.seq)
        if found.store_id != store.identity.id or (expected.seq and found.seen != expected.hash):
            raise unavailable("rolled_back")
        self.before = self.state = state_of(found.state, account=account)
        self.time = time_after(self.state.time, found.time)
        self.known: Known | None = None
        self._changed: Balances = {}

    @property
    def touched(self) -> tuple[str, int, int]:
        """Differs as soon as anything is to be written."""
        return self.state.head, self.state.pricing, len(self._changed)

    def refuse_if_closed(self, *, closes: str | None = None) -> None:
        """Charges are for open accounts, before their closing date."""
        if self.state.closed:
            raise AccountClosed(self._account)
        refuse_after(self._account, closes, self.time)

    def append(self, kind: str, *, entry: int = 0, **columns: str) -> None:
        """Add one event to the end of the chain."""
        event = next_event(
            kind, account=self._account, state=self.state, time=self.time, entry=entry, **columns
        )
        self.session.run(sql.ADD_EVENT, **event._asdict())
        self.state = replace(
            self.state,
            events=event.seq,
            entries=max(self.state.entries, entry),
            time=self.time,
            head=event.hash,
        )

    def charge(self, kind: str, request: Request) -> int:
        """Add a charge; its entry's number."""
        entry = self.state.entries + 1
        self.append(kind, entry=entry, **charge_columns(request))
        return entry

    def keep(self, known: Known, balances: Balances) -> None:
        """Totals after this; those that have changed are written at the end."""
        old = known.balances
        self._changed |= {p: new for p, new in balances.items() if old.get(p) is not new}
        self.known = Known(self.state, known.holders, balances)

    def price_again(self, limits: AccountLimits) -> Known:
        """Price the whole history as it is priced now, and keep that."""
        self.session.patient()
        balances = limits.totals(history(self.session, limits))
        self.session.run(sql.CLEAR_BALANCES, account=self._account)
        self._changed = dict(balances)
        self.state = replace(self.state, pricing=PRICING)
        self.known = Known(self.state, None, balances)
        return self.known

    def close(self) -> None:
        """Take no further charges."""
        self.append("closed")
        self.state = replace(self.state, closed=1)

    def finish(self) -> None:
        """Write down where the chain ends now, and what it adds up to."""
        for (dataset, analyst), totals in self._changed.items():
            self.session.run(
                sql.SET_BALANCE,
                account=self._account,
                dataset=dataset,
                analyst=analyst,
                totals=totals_to_text(totals),
            )
        state = self.state
        if state == self.before:
            return
        self.session.run(
            sql.SET_STATE,
            account=self._account,
            events=state.events,
            entries=state.entries,
            time=state.time,
            head=state.head,
            closed=state.closed,
            pricing=state.pricing,
        )

    def committed(self) -> None:
        """All of it is durable: remember it."""
        store, state = self._store, self.state
        store.note_head(self._account, seq=state.events, head=state.head)
        known: Known | None = self.known or store.totals.get(self._account)
        if known and (known is self.known or known.state.head == self.before.head):
            store.totals[self._account] = known._replace(state=state)


def write(
    store: Store,
    account: str,
    work: Callable[[Journal], Any],
    *,
    reading: str | None = None,
    at_once: Callable[[], Any] | None = None,
) -> Any:
    """Have work done on an account, together with that of others who wait for it.

    What the work raises is its own failure if it has written nothing before. ``reading`` is the
    analyst whose totals it will probably read: they come together with the lock. ``at_once`` does
    the same without the lock, or gives None: it is tried where nobody else waits.
    """
    writer = store.writer(account, partial(_perform, store))
    return writer.do(account, work, reading=reading, at_once=at_once)


def write_alone(store: Store, work: Callable[[Session], Any], *, account: str = "") -> Any:
    """Have work done in a transaction of its own."""
    return store.writer(account, partial(_perform, store)).do(account, work, alone=True)


class _Torn(Exception):  # never seen by anybody else
    """A job failed in the midst of its writing: the transaction is undone."""

    def __init__(self, problem: QuaestorError) -> None:
        super().__init__()
        self.problem = problem


def _perform(store: Store, jobs: list[Job]) -> None:
    """Do jobs of one account in one transaction; each has a result or a problem afterwards."""
    try:
        store.check_place()
        if jobs[0].alone:
            _perform_alone(store, jobs[0])
        else:
            _perform_together(store, jobs)
        store.confirm_place()
    except QuaestorError as problem:
        _fail(jobs, problem)
    except Exception as problem:  # noqa: BLE001  # of one of them: the others shall not suffer
        if len(jobs) == 1:
            _fail(jobs, problem.problem if isinstance(problem, _Torn) else problem)
            return
        for job in jobs:
            job.problem = None
            _perform(store, [job])


def _fail(jobs: list[Job], problem: Exception) -> None:
    """One error for each: they are raised in different threads."""
    for job in jobs:
        if isinstance(problem, LedgerUnavailable):
            job.problem = LedgerUnavailable(problem.reason, str(problem))
        else:
            job.problem = problem


def _perform_alone(store: Store, job: Job) -> None:
    with store.writing() as session:
        job.result = job.work(session)


def _perform_together(store: Store, jobs: list[Job]) -> None:
    with store.writing() as session:
        if jobs[0].reading is not None:
            session.foresee(sql.BALANCES_OF, account=jobs[0].account, analyst=jobs[0].reading)
        journal = Journal(store, session, jobs[0].account)
        for job in jobs:
            before = journal.touched
            try:
                job.result = job.work(journal)
            except QuaestorError as problem:
                if journal.touched != before:
                    raise _Torn(problem) from None
                job.problem = problem
        journal.finish()
    journal.committed()


def accept_clock(store: Store, account: str, *, reason: str) -> None:
    """Go on at the present time, though the account's last event is of a later one."""
    said = texts.line("reason", reason)
    if not said:
        raise InvalidParameter("reason", reason, "one line with the reason why the clock was wrong")

    def work(session: Session) -> Journal:
        journal = Journal(store, session, account, time_after=texts.if_behind)
        journal.append("clock", detail=said)
        journal.finish()
        return journal

    write_alone(store, work, account=account).committed()


def read_balances(rows: Iterable[tuple[Any, ...]], *, account: str) -> Balances:
    """Totals as they are stored."""
    try:
        return {
            (str(dataset), str(analyst)): totals_from_text(totals)
            for dataset, analyst, totals in rows
        }
    except (TypeError, ValueError, ZeroDivisionError):
        raise LedgerCorrupted(
            f"the totals of account {account!r}", "they are not valid totals"
        ) from None


def history(session: Session, limits: AccountLimits) -> Iterator[tuple[Request, int]]:
    """What was charged and not given back, each different charge once, with how often."""
    account = limits.definition.name
    each = int(limits.definition.policy.by_query)
    for dataset, analyst, query, releases, imported, detail, count in session.rows(
        sql.HISTORY, account=account, each=each
    ):
        statement, blocks = texts.parts_of(detail)
        yield (
            Request(
                releases=texts.releases_from_text(releases),
                dataset=dataset,
                analyst=analyst,
                query=query,
                realised=bool(imported) and not statement,
                blocks=blocks,
            ),
            count,
        )
