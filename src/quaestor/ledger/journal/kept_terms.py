"""Following an account's terms along its chain: its closing date, and what needs approval."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from quaestor.errors import QuaestorError
from quaestor.ledger import stored_text as texts
from quaestor.ledger.definition import AccountDefinition
from quaestor.ledger.journal.events import CHARGES
from quaestor.ledger.journal.submitted_plans import SubmittedPlans

if TYPE_CHECKING:
    from quaestor.ledger.journal.events import Event

__all__ = ["KeptTerms"]


class KeptTerms:
    """What is submitted, approved and used so far, by the terms that an account was opened with."""

    def __init__(self) -> None:
        """Begin before the first event."""
        self._terms: AccountDefinition | None = None
        self.plans = SubmittedPlans()
        self._submitted: dict[str, tuple[str, ...]] = {}
        """What was submitted and is not decided, by its id: who, of what, what."""
        self._approved: dict[str, tuple[str, ...]] = {}
        """The same of what is approved, and not charged."""
        self._used: dict[int, tuple[str, tuple[str, ...]]] = {}
        """The approvals of open entries: given back with them."""

    def problem(self, event: Event, *, closed: bool) -> str | None:
        """What of the terms an event does not keep to."""
        terms = self._terms
        if terms is None:
            return None
        if (broken := self.plans.problem(event)) is not None:
            return broken
        over = closed or (terms.closes is not None and event.time >= terms.closes)
        if over and event.kind in {*CHARGES, "submitted", "approved"}:
            return "it comes after the account has closed"
        if event.kind in {"approved", "declined"}:
            return self._wrong_decision(event)
        if event.kind == "submitted" and (terms.approval is None or event.entry):
            return "nothing can be submitted to the account"
        return self._wrong_charge(event, terms) if event.kind == "reserved" else None

    def _wrong_decision(self, event: Event) -> str | None:
        asked = self._submitted.get(event.detail)
        if asked is None or event.entry or asked[0].casefold() == event.analyst.casefold():
            return "it decides about something that nobody else submitted"
        return None

    def _wrong_charge(self, event: Event, terms: AccountDefinition) -> str | None:
        said, _ = texts.parts_of(event.detail)
        if said:
            approved = self._approved.get(said) == _asked(event)
            return None if approved else "it charges a question that was not approved"
        if terms.approval is None:
            return None
        try:
            needed = terms.needs_approval(texts.releases_from_text(event.releases))
        except (KeyError, TypeError, ValueError):
            return "its releases are not valid"
        return "it charges without approval" if needed else None

    def follow(self, event: Event) -> None:
        """Follow one event more."""
        kind, entry = event.kind, event.entry
        detail, _ = texts.parts_of(event.detail)
        self.plans.follow(event)
        if kind == "opened":
            with suppress(QuaestorError):  # what is wrong with it is said elsewhere
                self._terms = AccountDefinition.from_json(event.detail)
        elif kind == "submitted":
            self._submitted[texts.short_digest(event.hash)] = _asked(event)
        elif kind == "approved":
            self._approved[detail] = self._submitted.pop(detail)
        elif kind == "declined":
            self._submitted.pop(detail)
        elif kind == "reserved" and detail in self._approved:
            self._used[entry] = (detail, self._approved.pop(detail))
        elif kind == "void" and entry in self._used:
            given_back, asked = self._used.pop(entry)
            self._approved[given_back] = asked


def _asked(event: Event) -> tuple[str, ...]:
    """All that an approval is about: who, of what, what, and of which blocks of time."""
    _, blocks = texts.parts_of(event.detail)
    return event.analyst, event.dataset, event.query, event.purpose, event.releases, *blocks
