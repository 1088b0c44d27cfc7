r"""Logarithms of Gaussian tails, on the line and on the whole numbers, from both sides.

:math:`\log\bar\Phi(z)` by ``erfc`` while that is far from underflow, and beyond by
:math:`\frac{e^{-x^2}}{x\sqrt\pi}(1-\frac1{2x^2}) \le \operatorname{erfc}(x) \le
\frac{e^{-x^2}}{x\sqrt\pi}`. The tail of :math:`e^{-x^2/2\sigma^2}` over the whole numbers is summed
for small sigma; for a large one it lies between the integrals from m and from m - 1, and beyond
sigma, where the bell is convex, between trapezoids and midpoints.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import arb

__all__ = ["gaussian_delta", "gaussian_tail", "lattice_tail"]

_MARGIN = 1e-10
_LARGEST_ERFC = 20.0
_LISTED = 3.0  # sigmas up to this are summed term by term

Ends = tuple[float, float]


def gaussian_delta(mu: arb, epsilon: arb) -> arb:
    r"""The ball of N(0, 1) against N(mu, 1).

    That is :math:`\Phi(\mu/2-\varepsilon/\mu) - e^\varepsilon\Phi(-\mu/2-\varepsilon/\mu)`.
    """
    from flint import arb

    root = arb(2).sqrt()
    near, far = (epsilon / mu - mu / 2) / root, (epsilon / mu + mu / 2) / root
    return (near.erfc() - epsilon.exp() * far.erfc()) / 2


def gaussian_tail(low: float, high: float) -> Ends:
    """Enclose the log of P(N >= z) for a z between ``low`` and ``high``."""
    return _log_tail(high)[0], _log_tail(low)[1]


def _log_tail(z: float) -> Ends:
    x = z / math.sqrt(2)
    if x < _LARGEST_ERFC:
        value = math.log(math.erfc(x) / 2)
        return value - _MARGIN, min(value + _MARGIN, 0.0)
    if x > 1e150:
        return -math.inf, -1e300
    square = x * x
    value = -square - math.log(2 * x * math.sqrt(math.pi))
    doubt = _MARGIN + 1e-15 * square
    return value - 1 / square - doubt, value + doubt


def lattice_tail(sigma: float, place: int) -> Ends:
    """Enclose the log of P(X >= place) for the discrete Gaussian X around 0."""
    if place <= 0:  # all but the tail from 1 - place on
        low, high = lattice_tail(sigma, 1 - place)
        return math.log1p(-math.exp(high)) - _MARGIN, min(math.log1p(-math.exp(low)) + _MARGIN, 0.0)
    if sigma <= _LISTED:
        value = _listed_tail(sigma, place) - _total(sigma)
        doubt = _MARGIN + 1e-15 * (place / sigma) ** 2
        return value - doubt, value + doubt
    if place < sigma + 2:
        least, most = _log_tail(place / sigma)[0], _log_tail((place - 1) / sigma)[1]
        return least - _MARGIN, most + _MARGIN
    half = _log_tail((place - 0.5) / sigma * (1 - 1e-15))[1]
    return _log_tail(place / sigma * (1 + 1e-15))[0] - _MARGIN, half + _MARGIN


def _listed_tail(sigma: float, place: int) -> float:
    """The log of the sum of the weights from ``place`` on."""
    total, step = 1.0, 0
    while True:
        step += 1
        term = math.exp(-step * (2 * place + step) / 2 / sigma / sigma)
        total += term
        if term < 1e-18 * total:
            return -((place / sigma) ** 2) / 2 + math.log(total)


@lru_cache(maxsize=256)
def _total(sigma: float) -> float:
    """The log of the sum of all weights."""
    return math.log1p(2 * math.exp(_listed_tail(sigma, 1)))
