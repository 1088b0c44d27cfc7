"""Pairs of laws at sixty digits, by their definitions: what a release looks like in two worlds.

Discrete ones are lists of masses; Laplace and staircase noise are integrated piece by piece, with
pieces between all places where a density bends. Nothing here is from the package.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import mpmath
from mpmath import mp, mpf

if TYPE_CHECKING:
    from collections.abc import Sequence

    Masses = Sequence[tuple[mpf, mpf]]

__all__ = [
    "curve_of",
    "discrete_gaussian",
    "gaussian_delta",
    "geometric",
    "laplace_delta",
    "poisson_sampled",
    "product_curve",
    "response",
    "staircase",
    "worst_sampled",
]

mp.dps = 60


def curve_of(masses: Masses, epsilon: float) -> mpf:
    """Delta of a pair of discrete laws: the sum of the positive parts."""
    odds = mpmath.exp(mpf(epsilon))
    return mpmath.fsum(max(p - odds * q, mpf(0)) for p, q in masses)


def product_curve(masses: Masses, count: int, epsilon: float) -> mpf:
    """Delta of so many independent copies, every outcome listed."""
    listed = [(mpf(1), mpf(1))]
    for _ in range(count):
        listed = [(a * p, b * q) for a, b in listed for p, q in masses]
    return curve_of(listed, epsilon)


def poisson_sampled(masses: Masses, rate: float) -> Masses:
    """The first world with probability ``rate``, the second one otherwise; against the second."""
    share = mpf(rate)
    return [(share * p + (1 - share) * q, q) for p, q in masses]


def worst_sampled(masses: Masses, rate: float, epsilon: float) -> mpf:
    """The larger delta of both directions."""
    sampled = poisson_sampled(masses, rate)
    return max(curve_of(sampled, epsilon), curve_of([(q, p) for p, q in sampled], epsilon))


def response(epsilon: float, delta: float = 0.0, categories: int = 2) -> Masses:
    """Told outright, the truth, the other answer, and what says nothing."""
    lie = mpmath.exp(-mpf(epsilon))
    kept, told = 1 - mpf(delta), mpf(delta)
    truth = kept / (1 + (categories - 1) * lie)
    return [
        (told, mpf(0)),
        (truth, truth * lie),
        (truth * lie, truth),
        (truth * lie * (categories - 2), truth * lie * (categories - 2)),
        (mpf(0), told),
    ]


def geometric(scale: float, sensitivity: int) -> Masses:
    """Every number between the centres, and the two tails."""
    ratio = mpmath.exp(-1 / mpf(scale))
    share = (1 - ratio) / (1 + ratio)
    tail = 1 / (1 + ratio)
    inner = [(share * ratio ** (sensitivity - x), share * ratio**x) for x in range(1, sensitivity)]
    far = tail * ratio**sensitivity
    return [(tail, far), *inner, (far, tail)]


def discrete_gaussian(sigma: float, sensitivity: int) -> Masses:
    """Every number that has more than 1e-400 of anything."""
    width, shift = mpf(sigma), sensitivity
    reach = int(45 * sigma) + 2
    weights = {x: mpmath.exp(-(mpf(x) ** 2) / (2 * width**2)) for x in range(-reach, reach + 1)}
    total = mpmath.fsum(weights.values())
    return [
        (weights.get(x - shift, mpf(0)) / total, weights.get(x, mpf(0)) / total)
        for x in range(-reach, reach + shift + 1)
    ]


def staircase(epsilon: float, gamma: float | None) -> Masses:
    """The pieces of a thousand steps to either side, from one bend of a density to the next."""
    b = mpmath.exp(-mpf(epsilon))
    share = 1 / (1 + mpmath.exp(mpf(epsilon) / 2)) if gamma is None else mpf(gamma)
    height = (1 - b) / (2 * (share + b * (1 - share)))

    def density(x: mpf) -> mpf:
        distance = abs(x)
        step = int(mpmath.floor(distance))
        return height * b ** (step if distance - step < share else step + 1)

    steps = int(130 / epsilon) + 3
    bends = sorted(
        {mpf(k) for k in range(-steps, steps + 1)}
        | {k + share for k in range(steps)}
        | {-(k + share) for k in range(steps)}
        | {1 - k - share for k in range(steps)}
        | {1 + k + share for k in range(steps)}
    )
    pieces = []
    for low, high in pairwise(bends):
        if high > low:
            middle = (low + high) / 2
            pieces.append(((high - low) * density(middle - 1), (high - low) * density(middle)))
    return pieces


def laplace_delta(scale: float, sensitivity: float, epsilon: float) -> mpf:
    """The best threshold x: P(X >= x - shift) - e^epsilon P(X >= x), X of scale 1."""
    shift = mpf(Fraction(sensitivity).numerator) / Fraction(sensitivity).denominator / mpf(scale)
    if mpf(epsilon) >= shift:
        return mpf(0)
    below = (shift - mpf(epsilon)) / 2
    return 1 - mpmath.exp(-below) / 2 - mpmath.exp(mpf(epsilon) - (shift - below)) / 2


def gaussian_delta(mu: float | mpf, epsilon: float | mpf) -> mpf:
    """The Gaussian's own curve, with digits to spare for what cancels."""
    with mpmath.workdps(160):
        m, e = mpf(mu), mpf(epsilon)
        near, far = (e / m - m / 2) / mpmath.sqrt(2), (e / m + m / 2) / mpmath.sqrt(2)
        return (mpmath.erfc(near) - mpmath.exp(e) * mpmath.erfc(far)) / 2
