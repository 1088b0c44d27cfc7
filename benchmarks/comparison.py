"""One question, our outcome and a peer's: who is tighter, who is faster."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.isolation import Measured

if TYPE_CHECKING:
    from benchmarks.cases import Case, Question
    from benchmarks.isolation import Outcome

__all__ = ["Comparison", "Verdict"]


class Verdict(StrEnum):
    """How a peer's number stands to our certified interval, in which the truth lies."""

    OURS = "quaestor tighter"
    EQUAL = "equal"
    OPEN = "peer lower, inside our interval"
    BELOW = "peer below the truth"
    ALONE = "peer has no answer"
    SKIPPED = "not compared"
    FAILED = "quaestor has no answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A row of the table; ``theirs`` is missing where a quick run leaves the peer out."""

    case: Case
    question: Question
    peer: str
    ours: Outcome
    theirs: Outcome | None

    @property
    def verdict(self) -> Verdict:
        """Who is tighter, as far as our interval can tell."""
        if not isinstance(self.ours, Measured):
            return Verdict.FAILED
        if self.theirs is None:
            return Verdict.SKIPPED
        if not isinstance(self.theirs, Measured) or math.isnan(self.theirs.answer.upper):
            return Verdict.ALONE
        ours, theirs = self.ours.answer, self.theirs.answer.upper
        if ours.lower is not None and theirs < ours.lower:
            return Verdict.BELOW
        if theirs < ours.upper:
            return Verdict.OPEN
        return Verdict.OURS if theirs > ours.upper else Verdict.EQUAL

    @property
    def gap(self) -> float | None:
        """The peer's number less the nearer end of our interval, as a share of it."""
        if not isinstance(self.ours, Measured) or not isinstance(self.theirs, Measured):
            return None
        lower, upper = self.ours.answer.lower, self.ours.answer.upper
        theirs = self.theirs.answer.upper
        end = lower if lower is not None and theirs < lower else upper
        return (theirs - end) / end if end else None

    @property
    def ratio(self) -> float | None:
        """The peer's time divided by ours, warm."""
        if not isinstance(self.ours, Measured) or not isinstance(self.theirs, Measured):
            return None
        return self.theirs.warm / self.ours.warm
