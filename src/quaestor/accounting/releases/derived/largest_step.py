r"""What the largest of several noisy steps reveals: a test that anybody could make.

A random one of t steps is shifted by a in the first world and by b in the second. Then
:math:`P(\max < c) = \Phi(c)^{t-1}\Phi(c-a)`, and likewise with b.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from quaestor.accounting.releases.opinion import MARGIN

__all__ = ["LargestStep", "largest_step_curve"]

_PLACES = tuple(x / 4 for x in range(-12, 13))


class LargestStep(NamedTuple):
    """So many steps, and the shift of one of them in the first and in the second world."""

    steps: int
    first: float
    second: float


def largest_step_curve(pair: LargestStep, epsilon: float) -> float:
    """A lower bound on delta: the best of some thresholds, in the worse direction."""
    if epsilon > 600.0:
        return 0.0
    odds, apart = math.exp(epsilon), max(pair.first - pair.second, 1e-12)
    likely = (epsilon + math.log(pair.steps)) / apart + (pair.first + pair.second) / 2
    best = 0.0
    for shift in _PLACES:
        for place in (likely + shift, pair.second + shift, pair.second - epsilon / apart + shift):
            below = [_below(pair.steps, each, place) for each in (pair.first, pair.second)]
            gains = (
                -math.expm1(below[0]) * (1 - MARGIN) + odds * math.expm1(below[1]) * (1 + MARGIN),
                math.exp(below[1]) * (1 - MARGIN) - odds * math.exp(below[0]) * (1 + MARGIN),
            )
            best = max(best, *gains)
    return min(best, 1.0)


def _below(steps: int, shift: float, place: float) -> float:
    """The log of the probability that all steps are below a place."""
    return (steps - 1) * _log_below(place) + _log_below(place - shift)


def _log_below(z: float) -> float:
    above = math.erfc(z / math.sqrt(2)) / 2
    if above < 0.5:
        return math.log1p(-above)
    return math.log(max(math.erfc(-z / math.sqrt(2)) / 2, 1e-320))
