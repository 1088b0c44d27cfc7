"""What an audit found, in words, in numbers and as points to draw."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from quaestor.accounting.numerics.digits import rounded_down, rounded_up
from quaestor.documents.presented import Presented
from quaestor.documents.text_table import TextTable, headed

if TYPE_CHECKING:
    from quaestor.audit.claims import Claim
    from quaestor.audit.confidence import Counts

__all__ = ["Finding", "MeasuredPoint", "Report", "percent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one test showed on fresh runs, in one of the two directions.

    >>> from quaestor.audit import audit
    >>> from quaestor.mechanisms import RandomizedResponse
    >>> told = RandomizedResponse(epsilon=1.0)
    >>> found = audit(told, neighbours=(0, 1), runs=1000, confidence=0.999999).best
    >>> found.claimed_epsilon, found.violates
    (1.0, False)
    """

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
    def rates(self) -> tuple[float, float]:
        """The shares of missed detections and false alarms, as the curve counts them."""
        counts = self.counts
        flagged = counts.said_in_one / max(counts.runs_in_one, 1)
        wrongly = counts.said_in_zero / max(counts.runs_in_zero, 1)
        return (1 - flagged, wrongly) if self.towards_one else (wrongly, 1 - flagged)

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

    >>> point = MeasuredPoint(
    ...     false_positive=0.1, false_negative=0.2, most_false_positive=0.2, most_false_negative=0.3
    ... )
    >>> point.most_false_positive >= point.false_positive
    True
    """

    false_positive: float
    false_negative: float
    most_false_positive: float
    most_false_negative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Presented):
    """The result of an audit.

    With a probability of at least ``confidence``, over the runs, every finding's ``epsilon`` is
    true: the target is not (epsilon', its delta)-DP for any smaller epsilon'. That nothing was
    found proves nothing.

    >>> from quaestor.audit import audit
    >>> from quaestor.mechanisms import RandomizedResponse
    >>> told = RandomizedResponse(epsilon=1.0)
    >>> report = audit(told, neighbours=(0, 1), runs=1000, confidence=0.999999)
    >>> report.violated, report.runs, report.epsilon <= 1.0
    (False, 1000, True)
    """

    claim: Claim
    runs: int
    judged: int
    confidence: float
    findings: tuple[Finding, ...]
    curve: tuple[MeasuredPoint, ...]
    notes: tuple[str, ...] = ()

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
        sure = f"with {percent(self.confidence)} confidence"
        least = f"epsilon at least {rounded_down(best.epsilon)} {sure}, {claimed}"
        return f"VIOLATES its claim: {least}" if self.violated else f"consistent: {least}"

    def to_table(self) -> TextTable:
        """Every finding: the test, how often it flags either database, and what that proves."""
        headings = headed("test", "looks at", "#flags", "#flags the other", "#delta", "#epsilon >=")
        rows = [
            [
                finding.test,
                finding.looks_at,
                f"{finding.counts.said_in_one} of {finding.counts.runs_in_one}",
                f"{finding.counts.said_in_zero} of {finding.counts.runs_in_zero}",
                repr(finding.delta),
                rounded_down(finding.epsilon),
            ]
            for finding in self.findings
        ]
        played = f"{self.runs} runs, of which {self.judged} judge the tests that the others chose"
        return TextTable(
            title=self.verdict, headings=headings, rows=rows, notes=[played, *self.notes]
        )

    def plot(self, *, axes: Any = None) -> Any:
        """Draw the claimed region, the tests as measured, and the test that proves most.

        Where the confidence band, or the star, lies below the claimed line, the claim is false.
        Returns matplotlib's axes: those that are given, or new ones.
        """
        from quaestor.figures.audit import plot_audit
        from quaestor.figures.style import given_or_new

        best = self.best
        with given_or_new(axes) as drawn:
            plot_audit(
                drawn,
                self.claim.composition.tradeoff().vertices(at_most=201),
                [(point.false_negative, point.false_positive) for point in self.curve],
                [(point.most_false_negative, point.most_false_positive) for point in self.curve],
                label=f"measured: the {best.test} test",
                proof=best.rates,
                proof_label=f"proves epsilon at least {rounded_down(best.epsilon)}",
            )
            return drawn

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
            "notes": list(self.notes),
            "findings": [asdict(finding) for finding in self.findings],
            "curve": [asdict(point) for point in self.curve],
        }


def percent(confidence: float) -> str:
    """A confidence with as many digits as it needs."""
    digits = max(0, math.ceil(-math.log10(max(1 - confidence, 1e-12)) - 1e-9) - 2)
    return f"{100 * confidence:.{digits}f} %"
