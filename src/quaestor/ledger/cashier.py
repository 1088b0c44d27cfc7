"""Where charges are made: each one a single durable transaction under the account's lock."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from quaestor.errors import (
    AccountClosed,
    AccountOverdrawn,
    ApprovalNeeded,
    BudgetExceeded,
    ChargeSettled,
)
from quaestor.ledger import jobs
from quaestor.ledger import stored_text as texts
from quaestor.ledger.account_limits import places_of
from quaestor.ledger.amounts import subtracted, totals_to_text
from quaestor.ledger.approvals import check_approval
from quaestor.ledger.jobs import hold
from quaestor.ledger.journal.appender import (
    Journal,
    Known,
    State,
    accept_clock,
    read_balances,
    read_state,
    refuse_after,
    write,
)
from quaestor.ledger.journal.one_step import charge_at_once
from quaestor.ledger.price import label_of
from quaestor.ledger.store import statements as sql
from quaestor.ledger.theory import PRICING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.ledger.account_limits import AccountLimits, Balances
    from quaestor.ledger.jobs import JobState
    from quaestor.ledger.price import Price, Request
    from quaestor.ledger.store.base import Session, Store

__all__ = ["Cashier"]


_NOTHING = Known(State(0, 0, "", "", 0, 0), frozenset(), {})
_MOST_PRICES = 256


_Found = TypeVar("_Found", covariant=True)  # noqa: PLC0105  # of a protocol


class Once(Protocol[_Found]):
    """What makes a charge the same as an earlier one."""

    def look(self, session: Session) -> _Found | jobs.Left | None:
        """What is known of it without a lock; None if it must be charged."""

    def take(self, journal: Journal) -> _Found | None:
        """What is known of it under the account's lock; None if it must be charged."""

    def add(self, journal: Journal, *, entry: int) -> JobState:
        """Keep that it was charged, in the same transaction."""


class _Refused(Exception):
    """A request does not fit these balances; nothing was written for it."""

    def __init__(self, balances: Balances, request: Request) -> None:
        super().__init__()
        self.balances, self.request = balances, request


class Cashier:
    """Takes charges for one account, and gives back what was not used.

    The totals seen last are remembered with the head of the chain that they belong to; they are
    read again only where somebody else has charged meanwhile.
    """

    def __init__(self, store: Store, limits: AccountLimits) -> None:
        """Keep the store and the account's arithmetic."""
        self.store, self.limits = store, limits
        self._prices: tuple[object, dict[object, Price]] = (None, {})
        self._others = False  # whether somebody else has charged since this one did

    @property
    def name(self) -> str:
        """The account's name."""
        return self.limits.definition.name

    @property
    def _known(self) -> Known:
        known: Known = self.store.totals.get(self.name, _NOTHING)
        return known

    def charge(self, kind: str, requests: Sequence[Request]) -> tuple[int, ...]:
        """Charge for all of these, or for none; the numbers of their entries.

        Raises:
            BudgetExceeded: they do not fit. What it says is worked out after the lock is let go.
        """
        charged: tuple[int, ...] = self._charge(kind, requests, None)
        return charged

    def charge_once(self, request: Request, job: Once[_Found]) -> _Found | JobState:
        """Charge for this, unless it was done before: then what was found of that."""
        if (found := self._earlier(job)) is not None:
            return found
        try:
            made: _Found | JobState = self._charge("reserved", [request], job)
        except (AccountClosed, ApprovalNeeded, BudgetExceeded):
            if (found := self._earlier(job)) is not None:  # it was charged meanwhile
                return found
            raise
        return made

    def _earlier(self, job: Once[_Found]) -> _Found | None:
        """What is known of an earlier charge, which may be taken over: there is room for it."""
        with self.store.reading() as session:
            found = job.look(session)
            final = not isinstance(found, jobs.Left | jobs.Waiting | None)
            hasty = final and not session.durable()
        if hasty:
            write(self.store, self.name, lambda _: None)  # durable with all that was before
        if isinstance(found, jobs.Left):
            taken: _Found | None = write(self.store, self.name, job.take)
            return taken
        return found

    def _charge(self, kind: str, requests: Sequence[Request], job: Once[Any] | None) -> Any:
        for request in requests:  # worked out, and remembered, before any lock is had
            self.limits.definition.needs_approval(request.releases)
        try:
            seen, expected = self._foreseen(requests)
        except _Refused as refused:
            raise self._overdrawn(refused) or self._priced(refused).refusal() from None

        def work(journal: Journal) -> Any:
            if job is not None and (found := job.take(journal)) is not None:
                return found
            journal.refuse_if_closed(closes=self.limits.definition.closes)
            for request in requests:
                if request.blocks:
                    self.limits.definition.policy.refuse_later(request.blocks, journal.time)
                if kind == "reserved":
                    check_approval(journal.session, self.limits.definition, request)
            known = self._totals(journal, requests)
            try:
                balances = expected if known is seen else self._after(known.balances, requests)
            except _Refused as refused:
                return refused
            entries = tuple(journal.charge(kind, request) for request in requests)
            journal.keep(known, balances)
            return entries if job is None else job.add(journal, entry=entries[0])

        step = self._step(requests, seen, expected) if job is None and kind == "reserved" else None
        analyst = requests[0].analyst if self._others and requests else None
        done = write(self.store, self.name, work, reading=analyst, at_once=step)
        if isinstance(done, _Refused):
            raise self._overdrawn(done) or self._priced(done).refusal()
        return done

    def _step(
        self, requests: Sequence[Request], seen: Known, expected: Balances
    ) -> Callable[[], tuple[int, ...] | None] | None:
        """How to make this charge in one step; None where more than known totals decides."""
        terms = self.limits.definition
        if self._others:  # what is known is old by the time it would be used
            return None
        if len(requests) != 1 or terms.approval is not None or terms.closes is not None:
            return None
        (request,) = requests
        if request.approval or request.blocks or seen.state.pricing != PRICING:
            return None
        if not seen.covers(frozenset(self.limits.holders(request.analyst))):
            return None
        return partial(charge_at_once, self.store, self.name, request, seen=seen, balances=expected)

    def _overdrawn(self, refused: _Refused) -> AccountOverdrawn | None:
        """The refusal of an account in which nothing can fit, since too much was charged before."""
        reason = self.limits.overdrawn(refused.balances)
        if reason is None:
            return None
        return AccountOverdrawn(self.name, reason="" if self.limits.definition.shares else reason)

    def overdrawn(self) -> str | None:
        """What was charged beyond the account's limit, in words; None if it holds."""
        return self.limits.overdrawn(self.balances(""))

    def _priced(self, refused: _Refused) -> Price:
        """What a refusal says; worked out once for all who ask the same of the same state."""
        balances, request = refused.balances, refused.request
        asked = (
            request.releases,
            request.dataset,
            request.analyst,
            request.query,
            request.blocks,
        )
        state = tuple(sorted((p, totals_to_text(totals)) for p, totals in balances.items()))
        if state != self._prices[0]:
            self._prices = (state, {})
        known = self._prices[1]
        if asked not in known:
            if len(known) >= _MOST_PRICES:
                known.clear()
            known[asked] = self.limits.price(balances, request)
        return known[asked]

    def _foreseen(self, requests: Sequence[Request]) -> tuple[Known, Balances]:
        """Totals, and what they will be if nobody else charges before the lock is had.

        What cannot be charged at all fails here, before any lock.

        What leaves no room in the totals seen last is looked at again, and refused without a lock
        if it does not fit the ledger as it is now: charges that fit do not pay for that, and an
        account that is used up costs others nothing, however often it is asked.
        """
        known = self._known
        try:
            return known, self._after(known.balances, requests)
        except _Refused:
            (analyst,) = {request.analyst for request in requests}
            known = self._read(analyst, charging=True)
            return known, self._after(known.balances, requests)

    def _after(self, balances: Balances, requests: Sequence[Request]) -> Balances:
        """The totals after these requests."""
        after = dict(balances)
        for request in requests:
            changed = self.limits.after(after, request)
            if changed is None:
                raise self._beyond_quota(balances, requests) or _Refused(after, request)
            after.update(changed)
        return after

    def _beyond_quota(self, balances: Balances, requests: Sequence[Request]) -> _Refused | None:
        """The first request that the analyst's quota has no room for, if there is one.

        A quota that is too small is always the reason given, whether or not the account's total
        would do: which of both is short must not tell what others have charged.
        """
        if not self.limits.definition.shares:
            return None
        after = dict(balances)
        for request in requests:
            changed = self.limits.after_in_quota(after, request)
            if changed is None:
                return _Refused(after, request)
            after.update(changed)
        return None

    def hold(self, job: JobState, *, give_up: bool) -> None:
        """Hold a charge for a while longer, or let others take it over at once."""

        def work(journal: Journal) -> None:
            lease = "" if give_up else texts.later(journal.time, seconds=jobs.LEASE)
            hold(journal.session, self.name, job._replace(lease=lease), before=job.attempt)

        write(self.store, self.name, work)

    def draw(self, *, entry: int, attempt: int) -> None:
        """Mark a charge, durably and once: from here on its noise may have been drawn.

        An attempt of 0 is of a charge that nobody else can hold.
        """

        def work(journal: Journal) -> None:
            self._refuse_others(journal.session, entry, attempt, drawn=False)
            journal.append("drawing", entry=entry, detail=f"attempt {attempt or 1}")

        write(self.store, self.name, work)

    def release(
        self, request: Request, *, entry: int, attempt: int, drawn: bool, answer: str | None
    ) -> None:
        """Settle a charge as released, with its answer; ``drawn`` if the mark is the caller's."""
        kept = None if answer is None else texts.answer_text(answer)
        digest = "" if kept is None else texts.digest(kept)

        def work(journal: Journal) -> None:
            self._refuse_others(journal.session, entry, attempt, drawn=drawn)
            journal.append("released", entry=entry, answer=digest)
            if kept is not None:
                journal.session.run(
                    sql.ADD_ANSWER,
                    account=self.name,
                    entry=entry,
                    dataset=request.dataset,
                    query=request.query,
                    analyst=label_of(request.audience, request.analyst),
                    answer=kept,
                )

        write(self.store, self.name, work)

    def void(self, request: Request, *, entry: int, attempt: int, reason: str) -> None:
        """Settle a charge as void, and give back what it used."""
        said = texts.line("reason", reason)

        def work(journal: Journal) -> None:
            self._refuse_others(journal.session, entry, attempt, drawn=False)
            known = self._totals(journal, [request])
            journal.append("void", entry=entry, detail=said)
            changed = self._without(known.balances, request)
            if changed is None:
                journal.price_again(self.limits)
            else:
                journal.keep(known, {**known.balances, **changed})

        write(self.store, self.name, work)

    def _without(self, balances: Balances, request: Request) -> Balances | None:
        """The totals that change when a charge is given back; None if only history can tell."""
        changed: Balances = {}
        for holder, costs in self.limits.costs(request).items():
            for where in places_of(request):
                less = subtracted(balances.get((where, holder), {}), costs)
                if less is None:
                    return None
                changed[where, holder] = less
        return changed

    def receipt(self, request: Request, *, entry: int) -> int:
        """The number of a charge as its analyst may know it.

        Where there are quotas, analysts count their own charges only: the number of the entry
        would tell how often others have charged.
        """
        if not self.limits.definition.shares:
            return entry
        with self.store.reading() as session:
            row = session.row(
                sql.CHARGES_OF, account=self.name, analyst=request.analyst, entry=entry
            )
        return int(row[0]) if row else 0

    def _refuse_others(self, session: Session, entry: int, attempt: int, *, drawn: bool) -> None:
        """See that a charge is open, that the mark is the caller's, and so is the last attempt."""
        marks = [row[0] for row in session.rows(sql.MARKS, account=self.name, entry=entry)]
        for settled in set(marks) & {"released", "void"}:
            raise ChargeSettled(entry, problem=f"is {settled} already")
        if bool(marks) != drawn:
            raise ChargeSettled(entry, problem="stays charged: noise may have been drawn")
        if attempt:
            current = session.row(sql.JOB_ATTEMPT, account=self.name, entry=entry)
            if current != (attempt,):
                raise ChargeSettled(entry, problem="was taken over by another process")

    def close(self) -> None:
        """Take no further charges."""

        def work(journal: Journal) -> None:
            journal.refuse_if_closed()
            journal.close()

        write(self.store, self.name, work)

    def accept_clock(self, reason: str) -> None:
        """Go on at the present time, though the last event is of a later one."""
        accept_clock(self.store, self.name, reason=reason)

    def price_again(self) -> None:
        """Price the whole history by today's costs, if it was priced by others."""

        def work(journal: Journal) -> None:
            if journal.state.pricing != PRICING:
                journal.price_again(self.limits)

        write(self.store, self.name, work)

    def is_closed(self) -> bool:
        """Whether the account was closed, or its closing date has come by the store's clock."""
        closes = self.limits.definition.closes
        with self.store.reading() as session:
            state = read_state(self.store, session, self.name)
            return bool(state.closed) or (closes is not None and session.now() >= closes)

    def state(self) -> State:
        """Where the account stands."""
        with self.store.reading() as session:
            return read_state(self.store, session, self.name)

    def balances(self, analyst: str) -> Balances:
        """The totals of all analysts together and, with quotas, of this one."""
        return self._read(analyst, charging=False).balances

    def _read(self, analyst: str, *, charging: bool) -> Known:
        with self.store.reading() as session:
            state = read_state(self.store, session, self.name)
            if charging:
                if state.closed:
                    raise AccountClosed(self.name)
                refuse_after(self.name, self.limits.definition.closes, session.now())
            current = state.pricing == PRICING
            known = self._seen(session, self._known, state, analyst) if current else _NOTHING
        if not current:
            self.price_again()
            return self._read(analyst, charging=charging)
        self.store.totals[self.name] = known
        return known

    def _totals(self, journal: Journal, requests: Sequence[Request]) -> Known:
        """What the account's totals are now, within a transaction."""
        analysts = {request.analyst for request in requests}
        if journal.state.pricing != PRICING:
            return journal.price_again(self.limits)
        (analyst,) = analysts or {""}
        if journal.known is None:
            known = self._known
            self._others = known is not _NOTHING and known.state.head != journal.state.head
            return self._seen(journal.session, self._known, journal.state, analyst)
        known, holders = journal.known, frozenset(self.limits.holders(analyst))
        if known.holders is None or known.covers(holders):
            return known
        # somebody else was charged in this transaction: what is not written yet comes first
        rows = journal.session.rows(sql.BALANCES_OF, account=self.name, analyst=analyst)
        read = read_balances(rows, account=self.name)
        return Known(known.state, known.holders | holders, read | known.balances)

    def _seen(self, session: Session, known: Known, state: State, analyst: str) -> Known:
        holders = frozenset(self.limits.holders(analyst))
        if known.state.head == state.head and known.covers(holders):
            return known
        rows = session.rows(sql.BALANCES_OF, account=self.name, analyst=analyst)
        return Known(state, holders, read_balances(rows, account=self.name))
