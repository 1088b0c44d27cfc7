"""Plans along a chain: their questions follow each other, and are decided about together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.ledger import stored_text as texts

if TYPE_CHECKING:
    from quaestor.ledger.journal.events import Event

__all__ = ["SubmittedPlans"]


class SubmittedPlans:
    """Which events must come next, since a plan, or a decision about one, is not whole yet."""

    def __init__(self) -> None:
        """Begin before the first event."""
        self._begun: list[str] = []
        """The ids of the questions so far of the plan that is being submitted."""
        self._due: tuple[tuple[str, str, str], ...] = ()
        """What must come next: kind, name, and the place in the plan or the question decided."""
        self._plans: dict[str, tuple[str, ...]] = {}
        """The ids of the others, by the id of the first question of a plan."""
        self._others: set[str] = set()

    @property
    def unfinished(self) -> bool:
        """Whether more of a plan, or of a decision about one, must follow."""
        return bool(self._due)

    def problem(self, event: Event) -> str | None:
        """What is wrong with an event, as plans stand."""
        said, _ = texts.parts_of(event.detail)
        if self._due:
            whole = (event.kind, event.analyst, said) == self._due[0]
            return None if whole else "a plan is submitted, and decided about, as a whole"
        if event.kind == "submitted":
            place = texts.place_in_plan(said)
            known = place.text == said and place.number == 1
            return None if known else "it is no question alone, and not the first one of a plan"
        if event.kind in {"approved", "declined"} and said in self._others:
            return "it decides about one question of a plan"
        return None

    def follow(self, event: Event) -> None:
        """Follow one event more."""
        kind, name, due = event.kind, event.analyst, bool(self._due)
        said, _ = texts.parts_of(event.detail)
        self._due = self._due[1:]
        if kind == "submitted":
            self._submitted(event, texts.place_in_plan(said))
        elif kind in {"approved", "declined"} and not due and said in self._plans:
            self._due = tuple((kind, name, each) for each in self._plans.pop(said))

    def _submitted(self, event: Event, place: texts.PlanPlace) -> None:
        self._begun.append(texts.short_digest(event.hash))
        if not place.is_last:
            then = place._replace(number=place.number + 1)
            self._due = ((event.kind, event.analyst, then.text),)
            return
        first, *others = self._begun
        self._begun = []
        if others:
            self._plans[first] = tuple(others)
            self._others.update(others)
