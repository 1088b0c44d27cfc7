"""Errors about many databases, and who is in them."""

from __future__ import annotations

from typing import Any

from quaestor.errors.base import InvalidParameter, shorter, shown

__all__ = ["ContradictoryFacts", "InvalidPlan", "UnknownDatabase"]


class UnknownDatabase(InvalidParameter):
    """A fact, or a prior, names a database that is not among those with releases.

    What to do: correct the name (``near`` is the closest one), or add the database.

    >>> UnknownDatabase("nroth", near="north", known=2).fields()
    {'name': 'nroth', 'near': 'north'}
    """

    code = "unknown_database"

    def __init__(self, name: str, *, near: str | None, known: int) -> None:
        hint = f"did you mean {shown(near)}?" if near else "add it, or correct the name"
        ValueError.__init__(self, f"there is no database {shown(name)} among {known}: {hint}")
        self.field, self.value, self.valid = "database", name, "one that has releases"
        self.name, self.near = name, near

    def fields(self) -> dict[str, Any]:
        """The name that was given, and the nearest that there is."""
        return {"name": self.name, "near": self.near}


class ContradictoryFacts(InvalidParameter):
    """The facts contradict each other: nobody could be in the data at all.

    What to do: remove or weaken one of the facts.

    >>> from quaestor import All, AtMost, ExactlyOne, PureDP, compose_across
    >>> facts = All(ExactlyOne(), AtMost(0))
    >>> try:
    ...     compose_across({"a": [PureDP(epsilon=1)]}, membership=facts, neighbours="replace")
    ... except ContradictoryFacts as error:
    ...     print(error.code)
    contradictory_facts
    """

    code = "contradictory_facts"

    def __init__(self, facts: str) -> None:
        ValueError.__init__(
            self,
            (f"the facts contradict each other: {shorter(facts)}; remove or weaken one of them"),
        )
        self.field, self.value, self.valid = (
            "membership",
            facts,
            "consistent facts",
        )
        self.facts = facts

    def fields(self) -> dict[str, Any]:
        """The facts, as they print."""
        return {"facts": shorter(self.facts)}


class InvalidPlan(InvalidParameter):
    """A plan file does not say what it should; ``place`` says where.

    What to do: correct the plan file at ``place``.

    >>> InvalidPlan("fact 1", "m must be a whole number").fields()
    {'place': 'fact 1', 'problem': 'm must be a whole number'}
    """

    code = "invalid_plan"

    def __init__(self, place: str, problem: str) -> None:
        ValueError.__init__(self, f"plan, {place}: {problem}" if place else f"plan: {problem}")
        self.field, self.value, self.valid = "plan", place, "a plan file"
        self.place, self.problem = place, problem

    def fields(self) -> dict[str, Any]:
        """Where in the plan, and what is wrong there."""
        return {"place": self.place, "problem": self.problem}
