"""Steps: the granularity at which numbers of a column are added up, and bounds in whole steps.

A number is read as a whole number of steps. Limits on that number are what keeps sums of integers
from overflowing, on every engine and whatever the data are.
"""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = [
    "FINEST",
    "LARGEST",
    "MOST_STEPS",
    "coarse_enough",
    "default_granularity",
    "in_steps",
    "outward",
    "plain",
]

MOST_STEPS = 2**24
"""No value is further from zero than so many steps."""
LARGEST = 1e15
"""No bound is further from zero; whole numbers up to there are floats."""
FINEST = 2.0**-40
"""No step is smaller, so that no engine meets numbers that vanish."""
_DEFAULT_STEPS = 2**20


def plain(number: float) -> str:
    """The number as one writes it in the file; ``float`` reads the same one back."""
    return str(int(number)) if number.is_integer() else repr(number)


def in_steps(number: float, granularity: float) -> Fraction:
    """How many steps a number is from zero, exactly.

    Decimals count as they were written: 0.3 is three steps of 0.1. Steps that are powers of two,
    which floats hold exactly, count as the floats that they are.
    """
    if math.frexp(granularity)[0] == 0.5:
        return Fraction(number) / Fraction(granularity)
    return Fraction(repr(number)) / Fraction(repr(granularity))


def outward(low: float, high: float, granularity: float) -> tuple[float, float]:
    """The nearest bounds around these in whole steps; inward only where they would be too large."""
    step = Fraction(LARGEST) / in_steps(LARGEST, granularity)
    most = math.floor(in_steps(LARGEST, granularity))
    below = min(max(math.floor(in_steps(low, granularity)), -most), most - 1)
    above = max(min(math.ceil(in_steps(high, granularity)), most), below + 1)
    return float(below * step), float(above * step)


def default_granularity(low: float, high: float) -> float:
    """The granularity of a real column that states none.

    The smallest power of two (not below :data:`FINEST`) with at most 2**20 steps between the
    bounds, when these have moved outward to whole steps, and at most 2**24 from zero.

    >>> default_granularity(0.0, 300.0)
    0.00048828125
    >>> default_granularity(1_000_000.0, 1_000_001.0)
    0.0625
    """
    granularity = coarse_enough((high - low) / _DEFAULT_STEPS)
    while True:
        below, above = math.floor(low / granularity), math.ceil(high / granularity)
        if above - below <= _DEFAULT_STEPS and max(-below, above) <= MOST_STEPS:
            return granularity
        granularity *= 2


def coarse_enough(size: float) -> float:
    """The smallest power of two that is not below ``size``, nor below the finest step.

    >>> coarse_enough(3.0)
    4.0
    """
    if size <= FINEST:
        return FINEST
    mantissa, exponent = math.frexp(size)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)
