"""Arb balls: arithmetic that carries its own proof, and the way out of it into floats.

A ball is a midpoint with a radius that is certain to cover the truth. Everything here either
returns a ball or rounds one outward. The working precision is a setting of the arithmetic, not of
the answer: a thread that lowers it can only make another thread's balls wider, never wrong. Threads
take turns at it (:mod:`quaestor.accounting.numerics.precision_turns`), so that the same question
has the same figures, however many are asked at the same time.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, ctx, fmpq

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.precision_turns import working_precision

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ONE",
    "ZERO",
    "at_least",
    "ball_at_least",
    "ball_at_most",
    "ball_of",
    "between",
    "outward",
    "ratio_at_least",
    "rational",
    "refined",
    "working_precision",
]

ZERO, ONE = arb(0), arb(1)

_ENOUGH_BITS = 56  # three more than a float64 holds, so that outward rounding costs one ulp
_STEPS_OF_PRECISION = (64, 128, 256, 512, 1024, 2048, 4096)
_SMALLEST_FLOAT = 5e-324


def _float_at_most(exact: arb) -> float:
    value = float(exact)
    while not arb(value) <= exact:
        value = math.nextafter(value, -math.inf)
    return value


def _float_at_least(exact: arb) -> float:
    value = float(exact)
    while not arb(value) >= exact:
        value = math.nextafter(value, math.inf)
    return value


def outward(ball: arb) -> Bounds:
    """The narrowest float64 interval that contains the ball.

    >>> one_third = outward(arb(1) / 3)
    >>> one_third.lower < 1 / 3 + 1e-16 and one_third.width < 2e-16
    True
    """
    with working_precision(max(64, ctx.prec)):
        if not ball.is_finite():
            return Bounds(lower=-math.inf, upper=math.inf)
        return Bounds(lower=_float_at_most(ball.lower()), upper=_float_at_least(ball.upper()))


def between(low: arb, high: arb) -> arb:
    """The ball that contains both, and everything between them."""
    return low.union(high)


def ball_of(bounds: Bounds) -> arb:
    """The ball of a float interval, for further arithmetic."""
    return between(arb(bounds.lower), arb(bounds.upper))


def rational(value: Fraction) -> arb:
    """The ball of an exact fraction, at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def refined(compute: Callable[[int], arb]) -> arb:
    """Ask ``compute`` for more and more bits until the ball is as narrow as a float64 can show.

    ``compute(bits)`` aims at ``bits`` bits of relative accuracy and returns whatever it certifies.
    """
    ball = ZERO
    for bits in _STEPS_OF_PRECISION:
        with working_precision(bits + 16):
            ball = compute(bits)
            if ball.is_zero() or ball.rel_accuracy_bits() >= _ENOUGH_BITS:
                break
            if ball.is_finite() and abs(ball) < _SMALLEST_FLOAT:
                break
    return ball


# Floats on the safe side, kept as exact fractions: costs and limits, whose sums then have small
# denominators however long they get.


def at_least(value: Fraction) -> Fraction | None:
    """The least float that is not below the value; None if there is none."""
    try:
        nearest = float(value)
    except OverflowError:
        return None
    if nearest < value:
        nearest = math.nextafter(nearest, math.inf)
    return Fraction(nearest) if math.isfinite(nearest) else None


def ratio_at_least(numerator: int, denominator: int) -> float | None:
    """The least float that is not below a quotient of whole numbers; None if there is none.

    The same as :func:`at_least`, for whoever has many: a fraction looks for common divisors.

    >>> ratio_at_least(1, 4), ratio_at_least(1, 3) > 1 / 3 - 1e-17
    (0.25, True)
    """
    try:
        nearest = numerator / denominator  # whole numbers divide to the nearest float
    except OverflowError:
        return None
    above, below = nearest.as_integer_ratio()
    if above * denominator < numerator * below:
        nearest = math.nextafter(nearest, math.inf)
    return nearest if math.isfinite(nearest) else None


def ball_at_least(compute: Callable[[int], arb]) -> Fraction | None:
    """A float that is not below what ``compute`` encloses; None if no float is certain to be."""
    upper = outward(refined(compute)).upper
    return Fraction(upper) if math.isfinite(upper) else None


def ball_at_most(compute: Callable[[int], arb]) -> Fraction:
    """A float that is not above what ``compute`` encloses; far below 0 if nothing is certain."""
    lower = outward(refined(compute)).lower
    return Fraction(lower) if math.isfinite(lower) else Fraction(-1)
