"""What an audit found, in words, in numbers and as points to draw."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from quaestor.accounting.numerics.digits import rounded_down, rounded_up

if TYPE_CHECKING:
    from quaestor.audit.claims import Claim
    from quaestor.audit.confidence import Counts

__all__ = ["Finding", "MeasuredPoint", "Report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one test showed on fresh runs, in one of the two directions."""

    test: str
    looks_at: str
    towards_one: bool
    threshold: float
    delta: float
    claimed_epsilon: float
    epsilon: float
    counts: Counts

    @property
    def violates(self) -> bool:
        """Whether the bound passes the claim."""
        return self.epsilon > self.claimed_epsilon

    @property
    def nearness(self) -> float:
        """By how much the claim is passed, or how near to it the bound comes."""
        if self.claimed_epsilon == 0.0:
            return 1 + self.epsilon / 1000 if self.epsilon > 0 else -1.0
        if self.violates:
            return 1 + self.epsilon - self.claimed_epsilon
        return self.epsilon / self.claimed_epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoint:
    """One threshold of a test: shares of false alarms and missed detections.

    ``most_...`` are upper bounds; for all points together they hold with the report's confidence.
    """

    false_positive: float
    false_negative: float
    most_false_positive: float
    most_false_negative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of an audit.

    With a probability of at least ``confidence``, over the runs, every finding's ``epsilon`` is
    true: the target is not (epsilon', its delta)-DP for any smaller epsilon'. That nothing was
    found proves nothing.
    """

    claim: Claim
    runs: int
    judged: int
    confidence: float
    findings: tuple[Finding, ...]
    curve: tuple[MeasuredPoint, ...]

    @property
    def best(self) -> Finding:
        """The finding that comes nearest to its claim, or passes it by most."""
        return max(self.findings, key=lambda finding: finding.nearness)

    @property
    def epsilon(self) -> float:
        """The lower bound of the best finding, at its delta."""
        return self.best.epsilon

    @property
    def violated(self) -> bool:
        """Whether the claim is false, with the stated confidence."""
        return any(finding.violates for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The result in words."""
        best = self.best
        claimed = f"claimed {rounded_up(best.claimed_epsilon)}"
        if best.delta > 0:
            claimed += f" at delta = {best.delta!r}"
        sure = f"with {_percent(self.confidence)} confidence"
        least = f"epsilon at least {rounded_down(best.epsilon)} {sure}, {claimed}"
        return f"VIOLATES its claim: {least}" if self.violated else f"consistent: {least}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        best = self.best
        return {
            "verdict": "violates" if self.violated else "consistent",
            "epsilon": best.epsilon,
            "delta": best.delta,
            "claimed_epsilon": best.claimed_epsilon,
            "confidence": self.confidence,
            "runs": self.runs,
            "judged": self.judged,
            "findings": [asdict(finding) for finding in self.findings],
            "curve": [asdict(point) for point in self.curve],
        }


def _percent(confidence: float) -> str:
    digits = max(0, math.ceil(-math.log10(max(1 - confidence, 1e-12)) - 1e-9) - 2)
    return f"{100 * confidence:.{digits}f} %"
