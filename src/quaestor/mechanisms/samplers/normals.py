r"""Standard normal numbers from the operating system's bits, many at once.

By Box and Muller: with U and V uniform, :math:`\sqrt{-2\ln U}\,(\cos 2\pi V, \sin 2\pi V)` are two
independent standard normal numbers. U has 64 bits and lies in the middle of its cell, V has 53.

These are floats, and not exactly normal: each is off by a few units in the last place, none is
beyond 9.5, and what is missing there has a probability of 2^-65 for each pair. Whoever needs an
exact law uses :class:`~quaestor.mechanisms.kinds.gaussian.Gaussian`, on a grid.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.mechanisms.samplers.randomness import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["standard_normals"]

_BLOCK = 1 << 14  # pairs at once, to stay in the cache


def standard_normals(count: int) -> NDArray[np.float64]:
    """So many independent standard normal numbers, up to floats."""
    pairs = (count + 1) // 2
    drawn = np.empty(2 * pairs)
    for start in range(0, pairs, _BLOCK):
        size = min(_BLOCK, pairs - start)
        block = drawn[2 * start : 2 * (start + size)]
        bits = words(2 * size)
        radius = (bits[:size].astype(np.float64) + 0.5) * 2.0**-64
        np.log(radius, out=radius)
        np.sqrt(-2.0 * radius, out=radius)
        angle = (bits[size:] >> np.uint64(11)).astype(np.float64) * (2 * math.pi * 2.0**-53)
        np.multiply(radius, np.cos(angle), out=block[:size])
        np.multiply(radius, np.sin(angle), out=block[size:])
    return drawn[:count]
