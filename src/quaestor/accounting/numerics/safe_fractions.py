"""Out of balls and fractions into floats on the safe side, kept as exact fractions.

Costs and limits are floats, so that sums of them have small denominators however long they get.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting.numerics.balls import outward, refined

if TYPE_CHECKING:
    from collections.abc import Callable

    from flint import arb

__all__ = ["at_least", "ball_at_least", "ball_at_most", "ratio_at_least"]


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
