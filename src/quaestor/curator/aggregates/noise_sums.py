"""How far sums of independent noises are off."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from quaestor.mechanisms import Geometric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.aggregates.recipe import Scatter

__all__ = ["MARGIN", "laplace_sum_reach", "sum_reach"]

MARGIN = 1e-6
"""The part of a risk that no reach makes use of: whoever needs a little more of it has that."""


def laplace_sum_reach(times: Sequence[float], *, risk: float) -> float:
    r"""How far a sum of independent Laplace noises of scale 1, each times a number, is at most.

    Theorem:
        With different factors c, :math:`\prod 1/(1-c_i^2s^2) = \sum A_i/(1-c_i^2s^2)`, so that
        the sum is beyond t, either way, with probability :math:`\sum A_ie^{-t/c_i}`. Factors that
        are nearly equal are made larger until they differ: all noises are symmetric and unimodal,
        so that none of it makes the sum less likely to be far off (Anderson's inequality).

    >>> round(laplace_sum_reach([1.0], risk=0.05), 4)
    2.9957
    """
    return _laplace_sum_reach(tuple(times), risk)


@lru_cache(maxsize=256)
def _laplace_sum_reach(times: tuple[float, ...], risk: float) -> float:
    factors: list[float] = []
    for each in sorted(abs(x) for x in times if x):
        factors.append(max(each, factors[-1] * (1 + 2e-3)) if factors else each)
    if not factors:
        return 0.0
    shares = [math.prod(a**2 / (a**2 - b**2) for b in factors if b != a) for a in factors]
    low, high = 0.0, factors[-1] * len(factors) * math.log(2 * len(factors) / risk)
    for _ in range(100):
        middle = (low + high) / 2
        if not low < middle < high:  # no float is between them: nothing would change any more
            break
        beyond = math.fsum(
            share * math.exp(-middle / factor)
            for share, factor in zip(shares, factors, strict=True)
        )
        low, high = (low, middle) if beyond <= risk * (1 - MARGIN) else (middle, high)
    return high


def sum_reach(scatter: Scatter, times: Sequence[float], confidence: float) -> float:
    """How far a sum of totals is off, times such numbers, with at most this probability.

    Geometric noise is the difference of two exponential numbers, each rounded down: it is within
    one of Laplace noise, and a total is rounded by half a grain at most.
    """
    draw = scatter.draw
    mechanism = getattr(draw, "mechanism", None)
    risk = 1 - confidence
    if not isinstance(mechanism, Geometric):  # each of them, with a part of the risk
        used = [abs(x) for x in times if x]
        each = risk * (1 - MARGIN) / max(len(used), 1)
        return math.fsum(used) * scatter.reach(1 - each)
    grain: int = getattr(draw, "grain", 1)
    scaled = laplace_sum_reach(times, risk=risk) * mechanism.scale
    return (scaled + 1.5 * math.fsum(map(abs, times))) * grain * (1 + 1e-12)
