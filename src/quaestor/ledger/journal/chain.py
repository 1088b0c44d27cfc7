"""Following an account's chain, event by event: what each may be, after those before it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from quaestor.errors import LedgerCorrupted
from quaestor.ledger import stored_text as texts
from quaestor.ledger.journal.declarations import DatasetDigests
from quaestor.ledger.journal.events import CHARGES, GENESIS, KINDS, SETTLEMENTS
from quaestor.ledger.journal.kept_terms import KeptTerms
from quaestor.ledger.price import is_audience, label_of

if TYPE_CHECKING:
    from quaestor.ledger.journal.events import Event

__all__ = ["Chain", "Charged"]


class Charged(NamedTuple):
    """What makes two charges alike."""

    dataset: str
    analyst: str
    query: str
    releases: str
    realised: bool
    """Whether it is a history that was imported without a statement."""
    blocks: tuple[str, ...]


class Chain:
    """What the events of one account, in their order, add up to; they are checked on the way."""

    def __init__(self, account: str) -> None:
        """Begin before the first event."""
        self.account = account
        self.events = self.entries = 0
        self.definition = self.opened = self.time = ""
        self.head = GENESIS
        self.heads: set[str] = set()
        self.closed = False
        self._terms = KeptTerms()
        self.charged: Counter[Charged] = Counter()
        """How often each was charged and not given back."""
        self.answers: dict[int, tuple[str, str, str, str]] = {}
        """(dataset, query, whose it is, digest) of entries with a stored answer."""
        self._labels: dict[int, str] = {}
        """Whose the answers of open entries will be."""
        self._open: dict[int, Charged] = {}
        self._drawn: set[int] = set()
        """Those of them whose noise may have been drawn."""

    def add(self, event: Event) -> None:
        """Follow one event more, or say what is wrong with it."""
        problem = self._broken(event) or self._out_of_order(event)
        if problem is not None:
            place = f"event {self.events + 1} of account {self.account!r}"
            raise LedgerCorrupted(place, problem)
        self._follow(event)
        self._terms.follow(event)
        self.events = event.seq
        self.time, self.head = event.time, event.hash
        self.heads.add(self.head)

    @property
    def unfinished(self) -> bool:
        """Whether it ends in the midst of a plan: they are written as a whole."""
        return self._terms.plans.unfinished

    def _broken(self, event: Event) -> str | None:
        """What is wrong with the link itself."""
        if event.seq != self.events + 1:
            return "it is missing"
        if event.previous != self.head:
            return "it does not follow the previous event"
        try:
            sealed = event.is_sealed
        except (TypeError, ValueError):
            return "its content was changed"
        return None if sealed else "its content does not match its hash"

    def _out_of_order(self, event: Event) -> str | None:
        """What is wrong with the event at this place, though it is well chained."""
        kind, entry = event.kind, event.entry
        if kind not in KINDS or (kind == "opened") != (self.events == 0):
            return f"an event of the kind {kind!r} is not allowed there"
        accepted = kind == "clock" and event.detail
        if not texts.is_time(event.time) or (event.time < self.time and not accepted):
            return "its time is missing, or earlier than that of the previous event"
        if kind in {"clock", "restored"} and (entry or not event.detail):
            return "its reason is missing"
        if kind in CHARGES and (self.closed or entry != self.entries + 1):
            return "its entry is not the next one, or the account is closed"
        if kind in {"declared", "refreshed"} and not self._describes(event):
            return "it does not name a dataset and its new state"
        return self._terms.problem(event, closed=self.closed) or self._misplaced(event)

    def _describes(self, event: Event) -> bool:
        """Whether it says something of a dataset: digests, or the label of a version."""
        if event.entry or not event.dataset or not event.detail:
            return False
        if event.kind == "refreshed":
            return True
        try:
            DatasetDigests.from_text(event.detail)
        except ValueError:
            return False
        return not self.closed

    def _misplaced(self, event: Event) -> str | None:
        """What is wrong with an event about a charge, as that charge stands."""
        kind, entry = event.kind, event.entry
        if kind in CHARGES and not is_audience(event.answer):
            return "it does not say who may see its answer"
        if kind in SETTLEMENTS and entry not in self._open:
            return "it settles an entry that is not pending"
        if kind == "drawing" and (entry not in self._open or entry in self._drawn):
            return "noise may be drawn only once for an entry, while it is pending"
        if kind == "void" and entry in self._drawn:
            return "it refunds an entry whose noise may have been drawn"
        return None

    def _follow(self, event: Event) -> None:
        kind, entry = event.kind, event.entry
        if kind == "opened":
            self.definition, self.opened = event.detail, event.purpose
        elif kind in CHARGES:
            self.entries = entry
            charged = Charged(
                event.dataset,
                event.analyst,
                event.query,
                event.releases,
                event.realised,
                event.blocks,
            )
            self.charged[charged] += 1
            if kind == "reserved":
                self._open[entry] = charged
                self._labels[entry] = label_of(event.answer, event.analyst)
        elif kind == "drawing":
            self._drawn.add(entry)
        elif kind in SETTLEMENTS:
            charged = self._open.pop(entry)
            self._drawn.discard(entry)
            label = self._labels.pop(entry)
            if kind == "void":
                self.charged[charged] -= 1
            elif event.answer:
                dataset, _, query, *_ = charged
                self.answers[entry] = (dataset, query, label, event.answer)
        elif kind == "closed":
            self.closed = True
