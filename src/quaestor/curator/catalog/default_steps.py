"""The steps in which reals are read where the catalog declares none."""

from __future__ import annotations

import math

__all__ = ["FINEST", "MOST_STEPS", "coarse_enough", "default_granularity", "fine_granularity"]

MOST_STEPS = 2**24
"""No value is further from zero than so many steps."""
FINEST = 2.0**-40
"""No step is smaller, so that no engine meets numbers that vanish."""
_DEFAULT_STEPS = 2**20
_FINER = 2**14  # so that no value is more than 2^38 fine steps from zero, nor 2^45 under outer ones


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


def fine_granularity(granularity: float) -> float:
    """The steps in which the same column is read where its values are only added up.

    >>> fine_granularity(2.0**-10) == 2.0**-24
    True
    """
    return max(granularity / _FINER, min(granularity, FINEST))


def coarse_enough(size: float) -> float:
    """The smallest power of two that is not below ``size``, nor below the finest step.

    >>> coarse_enough(3.0)
    4.0
    """
    if size <= FINEST:
        return FINEST
    mantissa, exponent = math.frexp(size)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)
