r"""From moments to (epsilon, delta): the one inequality behind most filters.

For every :math:`\lambda > 0` and real x, :math:`(1-e^{-x})_+ \le e^{\lambda x}
\lambda^\lambda/(1+\lambda)^{1+\lambda}` [Kairouz, Oh, Viswanath, inequality (20)]. So a loss L with
:math:`\log E[e^{\lambda L}] \le C` has a delta of at most the slack d at epsilon once

.. math:: C \le \lambda\varepsilon + \ln d + g(\lambda), \qquad
    g(\lambda) = (1+\lambda)\ln(1+\lambda) - \lambda\ln\lambda .
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.numerics.balls import rational

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

__all__ = ["gained", "largest_point", "log", "room", "rough_room"]

_GOLDEN = (math.sqrt(5) - 1) / 2
_SMALLEST_ORDER, _LARGEST_ORDER = 1e-9, 1e15


def room(order: arb, *, epsilon: float, slack: Fraction) -> arb:
    """The ball of the largest log-moment of this order that is allowed."""
    return order * arb(epsilon) + rational(slack).log() + _gain(order)


def _gain(order: arb) -> arb:
    return (1 + order).log() + order * (1 / order).log1p()


def gained(order: float) -> float:
    """What the inequality gains at this order, about."""
    return math.log1p(order) + order * math.log1p(1 / order)


def log(slack: Fraction) -> float:
    """The logarithm of a fraction, about, however small it is."""
    return math.log(slack.numerator) - math.log(slack.denominator)


def rough_room(order: float, *, epsilon: float, slack: Fraction) -> float:
    """The same as :func:`room`, about: to choose by."""
    return order * epsilon + log(slack) + gained(order)


def largest_point(function: Callable[[float], float]) -> float:
    """The order, to a few digits, at which a function that rises and then falls is largest."""
    low, high = math.log(_SMALLEST_ORDER), math.log(_LARGEST_ORDER)
    steps = 96
    ladder = [low + (high - low) * i / steps for i in range(steps + 1)]
    best = max(range(steps + 1), key=lambda i: function(math.exp(ladder[i])))
    low, high = ladder[max(best - 1, 0)], ladder[min(best + 1, steps)]
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(math.exp(left)), function(math.exp(right))
    while high - low > 1e-7:
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(math.exp(right))
    return math.exp((low + high) / 2)
