"""Writing to an account, under its lock: events are appended, and totals kept beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quaestor.errors import AccountClosed, LedgerCorrupted
from quaestor.ledger import clock
from quaestor.ledger.amounts import totals_from_text, totals_to_text
from quaestor.ledger.events import event_hash, releases_from_text, releases_to_text
from quaestor.ledger.policies import Dashboard
from quaestor.ledger.request import Request
from quaestor.ledger.store import sql
from quaestor.ledger.store.trouble import unavailable
from quaestor.ledger.theory import PRICING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quaestor.ledger.book import Balances, Book
    from quaestor.ledger.store.base import Session

__all__ = ["Journal", "State", "history", "read_balances", "state_of"]


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
        raise LedgerCorrupted(f"account {account!r}", "the head of its chain is gone")
    state = State(*row)
    if not all(isinstance(n, int) for n in (state.events, state.entries, state.pricing)):
        raise LedgerCorrupted(f"account {account!r}", "its row holds no numbers")
    if state.pricing > PRICING:
        raise unavailable("newer")
    return state


class Journal:
    """One account, locked for the length of one transaction."""

    __slots__ = ("_account", "_session", "before", "state", "time")

    def __init__(self, session: Session, account: str) -> None:
        """Lock the account, and see how late it is.

        Raises:
            ClockWentBack: the clock is behind the account's last event.
        """
        self._session, self._account = session, account
        now, row = session.locked(account)
        self.state = state_of(row, account=account)
        self.before = self.state.head
        self.time = clock.not_before(self.state.time, now)

    def refuse_if_closed(self) -> None:
        """Charges are for open accounts."""
        if self.state.closed:
            raise AccountClosed(self._account)

    def append(self, kind: str, *, entry: int = 0, **columns: str) -> None:
        """Add one event to the end of the chain."""
        event: dict[str, Any] = {
            "account": self._account,
            "seq": self.state.events + 1,
            "kind": kind,
            "entry": entry,
            "time": self.time,
            "analyst": "",
            "dataset": "",
            "purpose": "",
            "query": "",
            "releases": "[]",
            "detail": "",
            "answer": "",
            "previous": self.state.head,
            **columns,
        }
        event["hash"] = event_hash(event)
        self._session.run(sql.ADD_EVENT, **event)
        self.state = replace(
            self.state,
            events=event["seq"],
            entries=max(self.state.entries, entry),
            time=self.time,
            head=event["hash"],
        )

    def charge(self, kind: str, request: Request) -> int:
        """Add a charge; its entry's number."""
        entry = self.state.entries + 1
        self.append(
            kind,
            entry=entry,
            analyst=request.analyst,
            dataset=request.dataset,
            purpose=request.purpose,
            query=request.query,
            releases=releases_to_text(request.releases),
            detail=request.statement,
        )
        return entry

    def keep(self, balances: Balances) -> None:
        """Store totals that have changed."""
        for (dataset, analyst), totals in balances.items():
            self._session.run(
                sql.SET_BALANCE,
                account=self._account,
                dataset=dataset,
                analyst=analyst,
                totals=totals_to_text(totals),
            )

    def price_again(self, book: Book) -> Balances:
        """Price the whole history as it is priced now, and keep that."""
        balances = book.totals(history(self._session, book))
        self._session.run(sql.CLEAR_BALANCES, account=self._account)
        self.keep(balances)
        self.state = replace(self.state, pricing=PRICING)
        return balances

    def close(self) -> None:
        """Take no further charges."""
        self.append("closed")
        self.state = replace(self.state, closed=1)

    def finish(self) -> State:
        """Write down where the chain ends now."""
        state = self.state
        self._session.run(
            sql.SET_STATE,
            account=self._account,
            events=state.events,
            entries=state.entries,
            time=state.time,
            head=state.head,
            closed=state.closed,
            pricing=state.pricing,
        )
        return state


def read_balances(rows: Iterable[tuple[Any, ...]], *, account: str) -> Balances:
    """Totals as they are stored."""
    try:
        return {
            (str(dataset), str(analyst)): totals_from_text(totals)
            for dataset, analyst, totals in rows
        }
    except (TypeError, ValueError, ZeroDivisionError):
        raise LedgerCorrupted(f"the totals of account {account!r}", "they are no totals") from None


def history(session: Session, book: Book) -> Iterator[tuple[Request, int]]:
    """What was charged and not given back, each different charge once, with how often."""
    account = book.definition.name
    each = int(isinstance(book.definition.policy, Dashboard))
    for dataset, analyst, query, releases, realised, count in session.rows(
        sql.HISTORY, account=account, each=each
    ):
        yield (
            Request(
                releases=releases_from_text(releases),
                dataset=dataset,
                analyst=analyst,
                query=query,
                realised=bool(realised),
            ),
            count,
        )
