"""Decimals among floats: the nearest floats on either side of a decimal, and releases made of them.

A vector states its inputs as decimals, which are not floats. All theorems are monotone in every
input, so the answers at the neighbouring floats enclose the answer at the decimal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from quaestor import ApproxDP
from tests.oracles.composition import exact, read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor import Release

__all__ = ["Side", "float_beside", "releases_beside"]

Side = Literal["below", "nearest", "above"]


def float_beside(text: str, side: Side) -> float:
    """The float next to a decimal: the largest below or the least above (itself, if it is one)."""
    truth = exact(read_number(text))
    nearest = float(truth)
    if side == "below" and nearest > truth:
        return math.nextafter(nearest, -math.inf)
    if side == "above" and nearest < truth:
        return math.nextafter(nearest, math.inf)
    return nearest


def releases_beside(
    epsilons: Sequence[str], deltas: Sequence[str], counts: Sequence[int], side: Side
) -> list[Release]:
    """The black boxes of a case, every parameter moved to the same side."""
    return [
        ApproxDP(epsilon=float_beside(epsilon, side), delta=float_beside(delta, side)) * count
        for epsilon, delta, count in zip(epsilons, deltas, counts, strict=True)
    ]
