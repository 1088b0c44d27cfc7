r"""Two mixtures with finitely many outcomes: the hockey stick between them, and all it says.

Float64 with a stated error: every mass is a sum of products of positive numbers, so it is known up
to a factor :math:`1 \pm e`, and the truth of :math:`\sum_o (p_o - \alpha q_o)_+` lies between the
sums with p and q moved against and towards each other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.curves.epsilon_search import least_epsilon
from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.numerics.atoms import UNIT
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Outcomes"]

_TINY = 1e-150
_UNDERFLOW = 1e-285  # more than everything that underflow can lose


class Outcomes(Profile):
    """One direction: the first mixture against the second."""

    def __init__(self, first: Floats, second: Floats, *, error: float, reach: float) -> None:
        """Keep the masses of all outcomes; each is within a factor 1 +- ``error``.

        ``reach`` is more than any finite loss; it must be below 300, so that a second mass that
        is lost to underflow stands beside a first one that hardly counts.
        """
        self.first, self.second, self.error, self.reach = first, second, error, reach
        self._summing = (first.size + 16) * UNIT
        certain = (second == 0.0) & (first > 0.0)
        told = float(np.sum(first[certain & (first >= _TINY)]))
        self._lost = float(np.sum(first[certain & (first < _TINY)])) * 2
        self._told = self._widened(told, told)
        both = (first > 0.0) & (second > 0.0)
        ratios = np.log(first[both]) - np.log(second[both])
        largest = float(np.max(ratios, initial=0.0))
        doubt = 4 * error + 4 * UNIT * 1500
        self._largest = Bounds(
            lower=max(largest - doubt, 0.0),
            upper=largest + doubt if self._lost == 0.0 else max(reach, largest + doubt),
        )

    def turned(self) -> Outcomes:
        """The other direction."""
        return Outcomes(self.second, self.first, error=self.error, reach=self.reach)

    def _widened(self, low: float, high: float) -> Bounds:
        if high == 0.0 and self._lost == 0.0:
            return Bounds.exactly(0.0)
        slack = self.error + self._summing
        return Bounds(
            lower=max(low * (1 - slack) - _UNDERFLOW, 0.0),
            upper=min(high * (1 + slack) + self._lost + _UNDERFLOW, 1.0),
        )

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the sum of what the first has beyond e^epsilon times the second."""
        if epsilon >= self._largest.upper:
            return self._told
        slack = 2 * self.error + 8 * UNIT
        with np.errstate(over="ignore"):
            scaled = np.exp(epsilon + np.log(np.where(self.second > 0, self.second, 1.0)))
        scaled = np.where(self.second > 0, scaled, 0.0)
        wide = slack + 16 * UNIT * (epsilon + 750)
        high = float(np.sum(np.maximum(self.first - scaled * (1 - wide), 0.0)))
        low = float(np.sum(np.maximum(self.first - scaled * (1 + wide), 0.0)))
        bounds = self._widened(low, high)
        return Bounds(lower=bounds.lower, upper=max(bounds.upper, self._told.upper))

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon that is true at ``delta``."""
        if delta >= 1.0:
            return Bounds.exactly(0.0)
        if delta < self._told.lower:
            return Bounds.exactly(math.inf)
        if delta <= self._told.upper:
            pure = self._told.upper == 0.0
            return self._largest if pure else Bounds(lower=0.0, upper=math.inf)
        return least_epsilon(
            lambda epsilon: self.delta_bounds(epsilon=epsilon),
            target=Bounds.exactly(delta),
            guess=self._largest.upper / 2,
            largest=self._largest.upper,
        )

    def supports(self, at_most: int) -> Sequence[float]:
        """Evenly spread up to the largest finite loss."""
        gaps = max(at_most - 1, 1)
        return [self._largest.upper * i / gaps for i in range(gaps + 1)]
