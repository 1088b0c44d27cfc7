"""How far noise reaches: the least whole number that it passes with at most a given probability."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from flint import arb

from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.errors import InvalidParameter

__all__ = [
    "check_confidence",
    "floored_laplace_reach",
    "gaussian_error",
    "gaussian_reach",
    "laplace_error",
    "laplace_reach",
]

_BITS = 128
_WIDE = 2.0  # from this sigma on, the variance is sigma^2 to all digits of a float


def check_confidence(value: float) -> Fraction:
    """The probability of missing, ``1 - confidence``, exactly."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1.0:
        raise InvalidParameter("confidence", value, "a number between 0 and 1")
    return 1 - Fraction(value)


def laplace_reach(scale: float, *, confidence: float) -> int:
    r"""The least t with :math:`P(|X| > t) = 2e^{-(t+1)/b}/(1+e^{-1/b}) \le 1 - c`."""
    missing = check_confidence(confidence)
    with working_precision(_BITS):
        return _reach(scale, missing, 2 / (1 + (-1 / arb(scale)).exp())) - 1


def floored_laplace_reach(scale: float, *, confidence: float) -> int:
    r"""The least t of which floored Laplace noise stays within, in cells from the centre.

    Both :math:`X \ge t` and :math:`X < -t` have the probability :math:`e^{-t/b}/2`.
    """
    missing = check_confidence(confidence)
    with working_precision(_BITS):
        return _reach(scale, missing, arb(1))


def _reach(scale: float, missing: Fraction, factor: arb) -> int:
    """The least t from 1 on with ``factor * exp(-t/scale)`` at most ``missing``."""
    b, limit = arb(scale), rational(missing)
    guess = float(b * (factor / limit).log())
    reach = max(1, math.floor(guess * (1 - 1e-12)) - 1)
    while not factor * (-reach / b).exp() <= limit:
        reach += 1
    return reach


def gaussian_reach(sigma: float, *, confidence: float) -> int:
    r"""A t with :math:`P(|X| > t) \le 1 - c`, the least one or one more.

    Theorem:
        For m from 1 on, :math:`P(X \ge m) \le P(N(0, \sigma^2) \ge m - 1)` [Canonne, Kamath,
        Steinke 2020], so that t suffices where the Gaussian passes t with that probability.
        Proof: the weights fall, so that those from m on add up to at most the integral of
        :math:`e^{-x^2/2\sigma^2}` from m - 1 on, and all together to at least
        :math:`\sqrt{2\pi\sigma^2}`, by Poisson summation, whose other terms are positive.
    """
    missing = check_confidence(confidence)
    with working_precision(_BITS):
        limit, unit = rational(missing), 1 / (arb(sigma) * arb(2).sqrt())
        guess = -NormalDist().inv_cdf(float(missing) / 2) * sigma
        reach = max(0, math.floor(guess * (1 - 1e-9)) - 1)
        while not (reach * unit).erfc() <= limit:
            reach += 1
    return reach


def laplace_error(scale: float) -> float:
    r"""The standard deviation of discrete Laplace noise, :math:`1/(\sqrt2\sinh(1/2b))`."""
    with working_precision(_BITS):
        return outward(1 / (arb(2).sqrt() * (1 / (2 * arb(scale))).sinh())).upper


@lru_cache(maxsize=64)
def gaussian_error(sigma: float) -> float:
    """The standard deviation of discrete Gaussian noise: sigma, unless that is small.

    It is never above sigma [Canonne, Kamath, Steinke 2020].
    """
    if sigma >= _WIDE:
        return sigma
    weights = [math.exp(-(x * x) / (2 * sigma * sigma)) for x in range(80)]
    squares = math.fsum(x * x * weight for x, weight in enumerate(weights))
    return min(sigma, math.sqrt(2 * squares / (2 * math.fsum(weights) - 1)))
