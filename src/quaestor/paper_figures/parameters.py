"""The numbers that a figure of a paper is drawn for: the paper's own, or others."""

from __future__ import annotations

from dataclasses import dataclass

from quaestor.accounting.releases.base import check_count, check_real

__all__ = ["FigureParameters"]

_MOST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureParameters:
    """What was asked for; None leaves the paper's own number.

    >>> FigureParameters(epsilon=0.5).epsilon_or(0.1), FigureParameters().count_or(30)
    (0.5, 30)
    """

    epsilon: float | None = None
    delta: float | None = None
    count: int | None = None

    def epsilon_or(self, usual: float) -> float:
        """The epsilon of one release, positive and at most 20."""
        return (
            usual
            if self.epsilon is None
            else check_real("epsilon", self.epsilon, low=1e-6, high=20.0)
        )

    def delta_or(self, usual: float, *, low: float = 0.0) -> float:
        """A delta below 1/2."""
        return usual if self.delta is None else check_real("delta", self.delta, low=low, high=0.5)

    def count_or(self, usual: int, *, largest: int = _MOST) -> int:
        """How many releases, databases or curves."""
        return usual if self.count is None else check_count("count", self.count, largest=largest)
