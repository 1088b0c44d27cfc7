"""How often each list of releases was charged and not given back, followed along the chain."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from quaestor.ledger.journal.appender import history, state_of
from quaestor.ledger.journal.events import CHARGES, COLUMNS, Event, releases_from_text
from quaestor.ledger.request import Request
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.accounting.releases import Release
    from quaestor.ledger.account_arithmetic import Book
    from quaestor.ledger.store.base import Session

__all__ = ["ChargeCounts"]

_PAGE = 1000
_LONGEST_TAIL = 5000  # events beyond which the store counts faster


class _Known(NamedTuple):
    """Counts as they were at one head of the chain."""

    head: str
    events: int
    counts: Counter[Request]


class ChargeCounts:
    """Counts that were read last: only events since then are read again.

    They are thrown away where the chain does not go on from the head that they belong to, and
    where a charge was given back.
    """

    __slots__ = ("_book", "_known")

    def __init__(self, book: Book) -> None:
        """Nothing is known yet."""
        self._book, self._known = book, _Known("", 0, Counter())

    def read(self, session: Session) -> Mapping[Request, int]:
        """Each different charge, whoever made it, with how often: as the ledger is now."""
        account = self._book.definition.name
        state = state_of(session.row(sql.STATE, account=account), account=account)
        known = self._known
        if known.head != state.head:
            counts = self._later(session, known, state.events)
            if counts is None:
                counts = self._all(session)
            known = self._known = _Known(state.head, state.events, counts)
        return known.counts

    def _all(self, session: Session) -> Counter[Request]:
        counts: Counter[Request] = Counter()
        for request, count in history(session, self._book):
            counts[_plain(request.dataset, request.releases, realised=request.realised)] += count
        return counts

    def _later(self, session: Session, known: _Known, events: int) -> Counter[Request] | None:
        """The counts with what was charged since; None where they must be counted anew."""
        if not known.events or not 0 < events - known.events <= _LONGEST_TAIL:
            return None
        counts, head, after = Counter(known.counts), known.head, known.events
        while after < events:
            rows = session.rows(
                sql.EVENTS, account=self._book.definition.name, after=after, page=_PAGE
            )
            if not rows:
                return None
            for row in rows:
                event = Event(**dict(zip(COLUMNS, row, strict=True)))
                if event.previous != head or event.kind == "void":
                    return None
                if event.kind in CHARGES:
                    realised = event.kind == "imported" and event.detail == ""
                    listed = releases_from_text(event.releases)
                    counts[_plain(event.dataset, listed, realised=realised)] += 1
                head, after = event.hash, event.seq
        return counts


def _plain(dataset: str, releases: tuple[Release, ...], *, realised: bool) -> Request:
    return Request(releases=releases, dataset=dataset, realised=realised)
