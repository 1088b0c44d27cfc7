"""Outer limits: within these the whole error of an answer is promised, and beyond them nothing.

The inner limits (rows and groups a unit, bounds of a column) say how much of a person counts, and
decide the noise. The outer ones say how much a person may have. They are declared, or ten times as
far out as the inner ones.
"""

from __future__ import annotations

import math

__all__ = ["TIMES", "farther", "outer_bounds"]

TIMES = 10
"""How much farther out the outer limits are where none are declared."""
_LARGEST = 1e15


def outer_bounds(low: float, high: float, granularity: float | None) -> tuple[float, float]:
    """Ten times as far from zero on either side, in whole steps; zero itself is always inside.

    >>> outer_bounds(0.0, 120.0, 1.0), outer_bounds(18.0, 90.0, 1.0), outer_bounds(-5.0, 5.0, 0.5)
    ((0.0, 1200.0), (0.0, 900.0), (-50.0, 50.0))
    """
    below = -farther(-low, granularity) if low < 0 else 0.0
    above = farther(high, granularity) if high > 0 else 0.0
    return below, above


def farther(number: float, granularity: float | None) -> float:
    """Ten times a positive number, in whole steps; nothing is farther out than a bound may be."""
    if granularity is None:
        return min(TIMES * number, max(_LARGEST, number))
    most = max(math.floor(_LARGEST / granularity), round(number / granularity))
    return float(min(TIMES * round(number / granularity), most) * granularity)
