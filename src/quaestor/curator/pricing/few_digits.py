"""Parameters of few digits that keep an exact promise."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

__all__ = ["few_digits_down", "few_digits_up", "float_below", "least_real"]

_DIGITS = 6
_STEP = 1e-6
_PRECISE = 1e-9


def float_below(value: Fraction) -> float:
    """The largest float that is not above a positive fraction.

    >>> from fractions import Fraction
    >>> Fraction(float_below(Fraction(1, 3))) < Fraction(1, 3)
    True
    """
    nearest = float(value)
    return nearest if nearest <= value else math.nextafter(nearest, 0.0)


def few_digits_up(value: float, holds: Callable[[float], bool]) -> float:
    """The first number of six digits from ``value`` on for which ``holds`` is true.

    >>> few_digits_up(3.3333333333, lambda scale: 0.3 * scale >= 1)
    3.33334
    """
    found = _rounded(value, ROUND_CEILING)
    while not holds(found):
        found = _rounded(found * (1 + _STEP), ROUND_CEILING)
    return found


def few_digits_down(value: float, holds: Callable[[float], bool]) -> float:
    """The first number of six digits from ``value`` downwards for which ``holds`` is true."""
    found = _rounded(value, ROUND_FLOOR)
    while not holds(found):
        found = _rounded(found * (1 - _STEP), ROUND_FLOOR)
    return found


def _rounded(value: float, rounding: str) -> float:
    return float(Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value)))


def least_real(holds: Callable[[float], bool], *, low: float, high: float) -> float | None:
    """The least number for which ``holds`` is true, to nine digits; None if it never is.

    ``holds`` is true from some number on. What is returned is one for which it was seen true.
    """
    if not holds(high):
        return None
    if holds(low):
        return low
    while high > low * (1 + _PRECISE):
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
