"""Where charges are made: each one a single durable transaction under the account's lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from quaestor.errors import AccountClosed, AccountOverdrawn, ChargeSettled
from quaestor.ledger import texts
from quaestor.ledger.amounts import subtracted, totals_to_text
from quaestor.ledger.journal import Journal, State, read_balances, state_of
from quaestor.ledger.store import sql
from quaestor.ledger.theory import PRICING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.ledger.book import Balances, Book
    from quaestor.ledger.price import Price
    from quaestor.ledger.request import Request
    from quaestor.ledger.store.base import Session, Store

__all__ = ["Till"]


class _Known(NamedTuple):
    """Totals that were seen last: true as long as the chain has not grown."""

    head: str
    holders: frozenset[str]
    balances: Balances


_NOTHING = _Known("", frozenset(), {})
_MOST_PRICES = 256


class _Refused(Exception):
    """A request does not fit these balances; undoes a transaction on its way out."""

    def __init__(self, balances: Balances, request: Request) -> None:
        super().__init__()
        self.balances, self.request = balances, request


class Till:
    """Takes charges for one account, and gives back what was not used.

    The totals seen last are remembered with the head of the chain that they belong to; they are
    read again only where somebody else has charged meanwhile.
    """

    def __init__(self, store: Store, book: Book) -> None:
        """Keep the store and the account's arithmetic."""
        self.store, self.book = store, book
        self._known = _NOTHING
        self._prices: tuple[object, dict[object, Price]] = (None, {})

    @property
    def name(self) -> str:
        """The account's name."""
        return self.book.definition.name

    def charge(self, kind: str, requests: Sequence[Request]) -> tuple[int, ...]:
        """Charge for all of these, or for none; the numbers of their entries.

        Raises:
            BudgetExceeded: they do not fit. What it says is worked out after the lock is let go.
        """
        try:
            seen, expected = self._foreseen(requests)
            with self.store.writing() as session:
                journal = Journal(session, self.name)
                journal.refuse_if_closed()
                known = self._totals(session, journal, requests)
                balances = expected if known is seen else self._after(known.balances, requests)
                entries = tuple(journal.charge(kind, request) for request in requests)
                old = known.balances
                journal.keep({p: new for p, new in balances.items() if old.get(p) is not new})
                journal.finish()
        except _Refused as refused:
            raise self._overdrawn(refused) or self._priced(refused).refusal() from None
        self._known = known._replace(head=journal.state.head, balances=balances)
        return entries

    def _overdrawn(self, refused: _Refused) -> AccountOverdrawn | None:
        """The refusal of an account in which nothing can fit, since too much was charged before."""
        reason = self.book.overdrawn(refused.balances)
        if reason is None:
            return None
        return AccountOverdrawn(self.name, reason="" if self.book.definition.shares else reason)

    def overdrawn(self) -> str | None:
        """What was charged beyond the account's limit, in words; None if it holds."""
        return self.book.overdrawn(self.balances(""))

    def _priced(self, refused: _Refused) -> Price:
        """What a refusal says; worked out once for all who ask the same of the same state."""
        balances, request = refused.balances, refused.request
        asked = (request.releases, request.dataset, request.analyst, request.query)
        state = tuple(sorted((p, totals_to_text(totals)) for p, totals in balances.items()))
        if state != self._prices[0]:
            self._prices = (state, {})
        known = self._prices[1]
        if asked not in known:
            if len(known) >= _MOST_PRICES:
                known.clear()
            known[asked] = self.book.price(balances, request)
        return known[asked]

    def _foreseen(self, requests: Sequence[Request]) -> tuple[_Known, Balances]:
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
            changed = self.book.after(after, request)
            if changed is None:
                raise self._beyond_quota(balances, requests) or _Refused(after, request)
            after.update(changed)
        return after

    def _beyond_quota(self, balances: Balances, requests: Sequence[Request]) -> _Refused | None:
        """The first request that the analyst's quota has no room for, if there is one.

        A quota that is too small is always the reason given, whether or not the account's total
        would do: which of both is short must not tell what others have charged.
        """
        if not self.book.definition.shares:
            return None
        after = dict(balances)
        for request in requests:
            changed = self.book.after_in_quota(after, request)
            if changed is None:
                return _Refused(after, request)
            after.update(changed)
        return None

    def release(self, request: Request, *, entry: int, answer: str | None) -> None:
        """Settle a charge as released, with its answer."""
        kept = None if answer is None else texts.answer_text(answer)
        with self.store.writing() as session:
            journal = Journal(session, self.name)
            self._refuse_if_settled(session, entry)
            digest = "" if kept is None else texts.digest(kept)
            journal.append("released", entry=entry, answer=digest)
            if kept is not None:
                session.run(
                    sql.ADD_ANSWER,
                    account=self.name,
                    entry=entry,
                    dataset=request.dataset,
                    query=request.query,
                    analyst=request.analyst,
                    answer=kept,
                )
            journal.finish()
        known = self._known
        if known.head == journal.before:
            self._known = known._replace(head=journal.state.head)

    def void(self, request: Request, *, entry: int, reason: str) -> None:
        """Settle a charge as void, and give back what it used."""
        said = texts.line("reason", reason)
        with self.store.writing() as session:
            journal = Journal(session, self.name)
            self._refuse_if_settled(session, entry)
            known = self._totals(session, journal, [request])
            journal.append("void", entry=entry, detail=said)
            changed = self._without(known.balances, request)
            if changed is None:
                journal.price_again(self.book)
            else:
                journal.keep(changed)
            journal.finish()
        self._known = _NOTHING

    def _without(self, balances: Balances, request: Request) -> Balances | None:
        """The totals that change when a charge is given back; None if only history can tell."""
        changed: Balances = {}
        for holder, costs in self.book.costs(request).items():
            place = (request.dataset, holder)
            less = subtracted(balances.get(place, {}), costs)
            if less is None:
                return None
            changed[place] = less
        return changed

    def receipt(self, request: Request, *, entry: int) -> int:
        """The number of a charge as its analyst may know it.

        Where there are quotas, analysts count their own charges only: the number of the entry
        would tell how often others have charged.
        """
        if not self.book.definition.shares:
            return entry
        with self.store.reading() as session:
            row = session.row(
                sql.CHARGES_OF, account=self.name, analyst=request.analyst, entry=entry
            )
        return int(row[0]) if row else 0

    def _refuse_if_settled(self, session: Session, entry: int) -> None:
        found = session.row(sql.SETTLED, account=self.name, entry=entry)
        if found is not None:
            raise ChargeSettled(entry, problem=f"is {found[0]} already")

    def close(self) -> None:
        """Take no further charges."""
        with self.store.writing() as session:
            journal = Journal(session, self.name)
            journal.refuse_if_closed()
            journal.close()
            journal.finish()

    def price_again(self) -> None:
        """Price the whole history by today's costs, if it was priced by others."""
        with self.store.writing() as session:
            journal = Journal(session, self.name)
            if journal.state.pricing != PRICING:
                journal.price_again(self.book)
                journal.finish()

    def state(self) -> State:
        """Where the account stands."""
        with self.store.reading() as session:
            return state_of(session.row(sql.STATE, account=self.name), account=self.name)

    def balances(self, analyst: str) -> Balances:
        """The totals of all analysts together and, with quotas, of this one."""
        return self._read(analyst, charging=False).balances

    def _read(self, analyst: str, *, charging: bool) -> _Known:
        with self.store.reading() as session:
            state = state_of(session.row(sql.STATE, account=self.name), account=self.name)
            if state.closed and charging:
                raise AccountClosed(self.name)
            current = state.pricing == PRICING
            known = self._seen(session, state, analyst) if current else _NOTHING
        if not current:
            self.price_again()
            return self._read(analyst, charging=charging)
        self._known = known
        return known

    def _totals(self, session: Session, journal: Journal, requests: Sequence[Request]) -> _Known:
        analysts = {request.analyst for request in requests}
        if journal.state.pricing != PRICING:
            balances = journal.price_again(self.book)
            holders = frozenset(holder for a in analysts for holder in self.book.holders(a))
            return _Known(journal.state.head, holders, balances)
        (analyst,) = analysts or {""}
        return self._seen(session, journal.state, analyst)

    def _seen(self, session: Session, state: State, analyst: str) -> _Known:
        known, holders = self._known, frozenset(self.book.holders(analyst))
        if known.head == state.head and known.holders >= holders:
            return known
        rows = session.rows(sql.BALANCES_OF, account=self.name, analyst=analyst)
        return _Known(state.head, holders, read_balances(rows, account=self.name))
