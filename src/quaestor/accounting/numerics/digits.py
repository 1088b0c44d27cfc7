"""Numbers for people: few digits, rounded to the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

__all__ = ["rounded_down", "rounded_up"]

_DIGITS = 7


def _rounded(value: float, rounding: str) -> str:
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    exact = Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value)).normalize()
    plain = -5 < exact.adjusted() < _DIGITS + 2
    return format(exact, "f" if plain else "e").replace("e+", "e")


def rounded_up(value: float) -> str:
    """Seven digits, never below the value: how an upper bound is shown.

    >>> rounded_up(2.3693499904), rounded_up(1e-6), rounded_up(0.1)
    ('2.36935', '1e-6', '0.1000001')
    """
    return _rounded(value, ROUND_CEILING)


def rounded_down(value: float) -> str:
    """Seven digits, never above the value: how a lower bound is shown."""
    return _rounded(value, ROUND_FLOOR)
