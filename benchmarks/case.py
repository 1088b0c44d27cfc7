"""A history of releases and the questions that are asked about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.mechanisms import BlackBox, Mechanism

__all__ = ["Case", "Group", "Question", "plain"]

Question = Literal["epsilon", "delta", "one more"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """``count`` releases with the same description."""

    mechanism: Mechanism
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A history, the delta at which epsilon is asked, and the epsilon at which delta is asked.

    Attributes:
        epsilon: ``None`` where delta is not asked.
        slow: peers need much time or memory; left out of a quick run.
        growing: asked what one more release costs, which no peer can say without starting anew.
        why_slow: what takes the time, in one line; shown where the target for speed is missed.
    """

    name: str
    groups: tuple[Group, ...]
    delta: float
    epsilon: float | None = None
    slow: bool = False
    growing: bool = False
    why_slow: str = ""

    @property
    def count(self) -> int:
        """How many releases there are."""
        return sum(group.count for group in self.groups)

    @property
    def homogeneous(self) -> bool:
        """Whether all releases are alike."""
        return len(self.groups) == 1

    @property
    def only_black_boxes(self) -> bool:
        """Whether nothing is known of any release but its epsilon and delta."""
        return all(isinstance(group.mechanism, BlackBox) for group in self.groups)

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is asked."""
        if self.growing:
            return ("epsilon", "one more")
        return ("epsilon",) if self.epsilon is None else ("epsilon", "delta")

    def asked(self, question: Question) -> str:
        """The question in words."""
        if question == "delta" and self.epsilon is not None:
            return f"delta at epsilon {plain(self.epsilon)}"
        more = " after one more" if question == "one more" else ""
        return f"epsilon{more} at delta {plain(self.delta)}"


def plain(number: float) -> str:
    """Like ``1e-8``, where ``%g`` would write ``1e-08``."""
    return f"{number:g}".replace("e-0", "e-")
