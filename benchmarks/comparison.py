"""One question, our outcome and a peer's: who is tighter, who is faster."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.isolation import Measured

if TYPE_CHECKING:
    from benchmarks.case import Case, Question
    from benchmarks.isolation import Outcome
    from benchmarks.peers import Answer

__all__ = ["Comparison", "Verdict"]

_FINEST, _WIDEST = 1e-9, 0.5  # widths that are asked for
_EQUAL = 1e-3  # relative: nearer than that to the truth counts as equally tight


class Verdict(StrEnum):
    """How a peer's number stands to our certified interval, in which the truth lies."""

    OURS = "quaestor tighter"
    EQUAL = "equal"
    OPEN = "peer lower, inside our interval"
    BELOW = "peer below the truth"
    MISSES = "peer's interval misses the truth"
    ALONE = "peer has no answer"
    SKIPPED = "not compared"
    FAILED = "quaestor has no answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A row of the table; ``theirs`` is missing where a peer is left out or there is none.

    ``alike`` is ours again, asked for no more than the width that the peer reaches; missing where
    the peer is as near to the truth as our usual answer.
    """

    case: Case
    question: Question
    peer: str
    ours: Outcome
    theirs: Outcome | None
    alike: Outcome | None = None

    @property
    def verdict(self) -> Verdict:
        """Who is tighter, as far as our interval can tell."""
        if not isinstance(self.ours, Measured):
            return Verdict.FAILED
        if self.theirs is None:
            return Verdict.SKIPPED
        if not isinstance(self.theirs, Measured) or math.isnan(self.theirs.answer.upper):
            return Verdict.ALONE
        return _verdict(self.ours.answer, self.theirs.answer)

    @property
    def gap(self) -> float | None:
        """The peer's number less the nearer end of our interval, as a share of it."""
        if not isinstance(self.ours, Measured) or not isinstance(self.theirs, Measured):
            return None
        lower, upper = self.ours.answer.lower, self.ours.answer.upper
        theirs = self.theirs.answer.upper
        if lower is not None and lower <= theirs <= upper:
            return 0.0
        end = lower if lower is not None and theirs < lower else upper
        return (theirs - end) / end if end else None

    @property
    def equally_tight(self) -> bool:
        """Whether the peer is as near to the truth as our interval is wide, or a thousandth."""
        if self.gap is None or not isinstance(self.ours, Measured):
            return False
        lower, upper = self.ours.answer.lower, self.ours.answer.upper
        width = 0.0 if lower is None else (upper - lower) / upper
        return abs(self.gap) <= max(width, _EQUAL)

    @property
    def peers_width(self) -> float | None:
        """How far the peer is from the truth, relatively; None where that is within our width."""
        if not isinstance(self.ours, Measured) or not self.gap or not math.isfinite(self.gap):
            return None
        lower, upper = self.ours.answer.lower, self.ours.answer.upper
        usual = 0.0 if lower is None else (upper - lower) / upper
        return min(abs(self.gap), _WIDEST) if abs(self.gap) > max(usual, _FINEST) else None

    @property
    def equal_ratio(self) -> float | None:
        """The same at equal tightness: by the quicker of our answers as near as the peer's."""
        if self.ratio is None or not isinstance(self.theirs, Measured):
            return None
        if not isinstance(self.alike, Measured) or self.peers_width is None:
            return self.ratio
        lower, upper = self.alike.answer.lower, self.alike.answer.upper
        if lower is None or upper - lower > self.peers_width * upper:
            return self.ratio  # it missed the width, and the usual answer has it
        return max(self.ratio, self.theirs.warm / self.alike.warm)

    @property
    def ratio(self) -> float | None:
        """The peer's time divided by ours, warm."""
        if not isinstance(self.ours, Measured) or not isinstance(self.theirs, Measured):
            return None
        return self.theirs.warm / self.ours.warm


def _verdict(ours: Answer, theirs: Answer) -> Verdict:
    if ours.lower is not None and theirs.upper < ours.lower:
        return Verdict.BELOW
    if theirs.lower is not None and theirs.lower > ours.upper:
        return Verdict.MISSES
    if theirs.upper < ours.upper:
        return Verdict.OPEN
    return Verdict.OURS if theirs.upper > ours.upper else Verdict.EQUAL
