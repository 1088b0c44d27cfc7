"""What was charged: how often, of what and by whom, followed along the chain."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from quaestor.ledger.journal.appender import history, state_of
from quaestor.ledger.journal.events import (
    CHARGES,
    SETTLEMENTS,
    Event,
    releases_from_text,
)
from quaestor.ledger.price import Request
from quaestor.ledger.store import statements as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.ledger.account_limits import AccountLimits
    from quaestor.ledger.journal.appender import State
    from quaestor.ledger.store.base import Session

__all__ = ["ChargeCounts", "ChargeFacts", "charge_facts"]

_PAGE = 1000
_RECENT = 50
_LONGEST_TAIL = 5000  # events beyond which the store counts faster


class _Known(NamedTuple):
    """Counts as they were at one head of the chain."""

    head: str
    events: int
    counts: Counter[Request]


def _tail(
    session: Session, account: str, *, head: str, after: int, events: int
) -> list[Event] | None:
    """The events since a head; None where there are many, or the chain does not go on from it."""
    if not after or not 0 < events - after <= _LONGEST_TAIL:
        return None
    tail: list[Event] = []
    while after < events:
        rows = session.rows(sql.EVENTS, account=account, after=after, page=_PAGE)
        if not rows:
            return None
        for row in rows:
            event = Event(*row)
            if event.previous != head:
                return None
            head, after = event.hash, event.seq
            tail.append(event)
    return tail


class ChargeCounts:
    """Counts that were read last: only events since then are read again.

    They are thrown away where the chain does not go on from the head that they belong to, and
    where a charge was given back.
    """

    __slots__ = ("_known", "_limits")

    def __init__(self, limits: AccountLimits) -> None:
        """Nothing is known yet."""
        self._limits, self._known = limits, _Known("", 0, Counter())

    def read(self, session: Session) -> Mapping[Request, int]:
        """Each different charge, whoever made it, with how often: as the ledger is now."""
        account = self._limits.definition.name
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
        for request, count in history(session, self._limits):
            counts[_plain(request.dataset, request.releases, realised=request.realised)] += count
        return counts

    def _later(self, session: Session, known: _Known, events: int) -> Counter[Request] | None:
        """The counts with what was charged since; None where they must be counted anew."""
        account = self._limits.definition.name
        tail = _tail(session, account, head=known.head, after=known.events, events=events)
        if tail is None or any(event.kind == "void" for event in tail):
            return None
        counts = Counter(known.counts)
        for event in tail:
            if event.kind in CHARGES:
                listed = releases_from_text(event.releases)
                counts[_plain(event.dataset, listed, realised=event.realised)] += 1
        return counts


def _plain(dataset: str, releases: tuple[Release, ...], *, realised: bool) -> Request:
    return Request(releases=releases, dataset=dataset, realised=realised)


class ChargeFacts(NamedTuple):
    """What entries say together: how many stand how, of which datasets, and by whom."""

    head: str = ""
    events: int = 0
    statuses: Counter[str] = Counter()  # noqa: RUF012  # replaced, never changed
    datasets: tuple[str, ...] = ()
    """Those that were charged; the one charged last comes last."""
    analysts: tuple[str, ...] = ()
    """Those who were charged, in the order of their first charges."""
    last: tuple[str, ...] = ()
    """The releases of the last charges, as texts; the last one comes last."""

    def recent(self) -> Iterator[tuple[Release, ...]]:
        """The releases of the last charges, from the last one backwards."""
        return map(releases_from_text, reversed(self.last))

    def after(self, tail: Sequence[Event]) -> ChargeFacts:
        """The same after some more events."""
        statuses = Counter(self.statuses)
        datasets, analysts = dict.fromkeys(self.datasets), dict.fromkeys(self.analysts)
        last = list(self.last)
        for event in tail:
            if event.kind in SETTLEMENTS:
                statuses["reserved"] -= 1
                statuses[event.kind] += 1
            elif event.kind in CHARGES:
                statuses["released" if event.kind == "imported" else "reserved"] += 1
                datasets.pop(event.dataset, None)
                datasets[event.dataset] = None
                analysts.setdefault(event.analyst)
                last.append(event.releases)
        return ChargeFacts(
            tail[-1].hash,
            tail[-1].seq,
            statuses,
            tuple(datasets),
            tuple(analysts),
            tuple(last[-_RECENT:]),
        )


def charge_facts(session: Session, account: str, known: ChargeFacts) -> ChargeFacts:
    """What entries say now; of what was known before, only events since then are read."""
    state = state_of(session.row(sql.STATE, account=account), account=account)
    if known.head == state.head:
        return known
    tail = _tail(session, account, head=known.head, after=known.events, events=state.events)
    return known.after(tail) if tail else _all_facts(session, account, state)


def _all_facts(session: Session, account: str, state: State) -> ChargeFacts:
    kinds: Counter[str] = Counter(dict(session.rows(sql.EVENT_KINDS, account=account)))
    settled = {kind: kinds[kind] for kind in SETTLEMENTS}
    statuses = Counter(settled)
    statuses["released"] += kinds["imported"]
    statuses["reserved"] = kinds["reserved"] - sum(settled.values())
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for dataset, analyst, begun, ended in session.rows(sql.CHARGED_PAIRS, account=account):
        first[analyst] = min(begun, first.get(analyst, begun))
        last[dataset] = max(ended, last.get(dataset, ended))
    recent = session.rows(sql.LAST_CHARGES, account=account, page=_RECENT)
    return ChargeFacts(
        state.head,
        state.events,
        statuses,
        tuple(sorted(last, key=last.__getitem__)),
        tuple(sorted(first, key=first.__getitem__)),
        tuple(releases for (releases,) in reversed(recent)),
    )
