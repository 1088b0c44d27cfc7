"""What a sequential audit found when it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quaestor.accounting.numerics.digits import rounded_down, rounded_up
from quaestor.audit.report import percent
from quaestor.documents.presented import Presented
from quaestor.documents.text_table import TextTable, headed

if TYPE_CHECKING:
    from quaestor.audit.claims import Claim

__all__ = ["SequentialReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialReport(Presented):
    """The result of a sequential audit.

    With a probability of at least ``confidence``, ``violated`` is not a false accusation and
    ``epsilon`` is below the true one at ``delta``, whenever the audit stopped. ``evidence`` is what
    a gambler made of 1 by betting against the claim: ``4 / 3 / (1 - confidence)`` refutes it.
    ``path`` has its logarithm after each block of runs.

    >>> from quaestor import PureDP
    >>> from quaestor.audit import FourPoints, audit_sequentially
    >>> told = FourPoints(epsilon=4.0)
    >>> report = audit_sequentially(told, neighbours=(0, 1), claim=PureDP(epsilon=1.0))
    >>> report.violated, report.evidence >= 1000
    (True, True)
    """

    claim: Claim
    runs: int
    confidence: float
    violated: bool
    epsilon: float
    delta: float
    claimed_epsilon: float
    evidence: float
    test: str
    looks_at: str
    path: tuple[tuple[int, float], ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The result in words."""
        sure = f"with {percent(self.confidence)} confidence"
        claimed = f"claimed {rounded_up(self.claimed_epsilon)}"
        if self.delta > 0:
            claimed += f" at delta = {self.delta!r}"
        if not self.violated:
            least = rounded_down(self.epsilon)
            return f"consistent after {self.runs} runs: epsilon at least {least} {sure}, {claimed}"
        if self.epsilon >= self.claimed_epsilon:
            least = f"epsilon above {rounded_down(self.epsilon)} {sure}, {claimed}"
        else:
            least = f"the claimed curve is false as a whole {sure}"
        return f"VIOLATES its claim, after {self.runs} runs: {least}"

    def to_table(self) -> TextTable:
        """One row: the last bets, what they made, and the bound."""
        headings = headed("last test", "looks at", "#runs", "#evidence", "#delta", "#epsilon >=")
        row = [
            self.test,
            self.looks_at,
            str(self.runs),
            f"{self.evidence:.4g}",
            repr(self.delta),
            rounded_down(self.epsilon),
        ]
        return TextTable(title=self.verdict, headings=headings, rows=[row], notes=list(self.notes))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "verdict": "violates" if self.violated else "consistent",
            "epsilon": self.epsilon,
            "delta": self.delta,
            "claimed_epsilon": self.claimed_epsilon,
            "confidence": self.confidence,
            "runs": self.runs,
            "evidence": self.evidence,
            "test": self.test,
            "looks_at": self.looks_at,
            "notes": list(self.notes),
            "path": [{"runs": runs, "log_evidence": owned} for runs, owned in self.path],
        }
