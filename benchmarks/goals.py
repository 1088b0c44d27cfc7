"""Goals held against what was measured, and why some were missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Goal", "goal_lines"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A number that is to be at most so large. ``reason`` says in a line what keeps it larger."""

    what: str
    measured: float
    at_most: float
    unit: str
    reason: str = "not yet known why"

    @property
    def met(self) -> bool:
        """Whether it was reached."""
        return self.measured <= self.at_most


def goal_lines(goals: Sequence[Goal]) -> list[str]:
    """A table of all goals, and a line for each that was missed."""
    lines = [
        "",
        "## Goals",
        "",
        "| goal | at most | measured | met |",
        "| --- | ---: | ---: | --- |",
    ]
    lines += [
        f"| {goal.what} | {_shown(goal.at_most)} {goal.unit} "
        f"| {_shown(goal.measured)} {goal.unit} | {'yes' if goal.met else '**no**'} |"
        for goal in goals
    ]
    missed = [f"- {goal.what}: {goal.reason}" for goal in goals if not goal.met]
    return [*lines, "", *(["Missed, and why:", "", *missed, ""] if missed else [])]


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
