r"""A loss of which only Renyi divergences at some orders are known.

:math:`\log M(\lambda) = \lambda D_{1+\lambda}` is convex in lambda and 0 at 0. So between known
orders it lies below every chord: below the lower convex hull of what is known. Beyond the largest
known order nothing is known.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.laws.law import Law
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["RenyiLoss", "lower_hull"]


class RenyiLoss(Law):
    """Upper bounds on the divergences of some orders above 1."""

    known_by_moments_only = True

    def __init__(self, orders: Sequence[float], epsilons: Sequence[float]) -> None:
        points = [
            (order - 1.0, (order - 1.0) * epsilon * (1 + 8 * UNIT))
            for order, epsilon in sorted(zip(orders, epsilons, strict=True))
        ]
        self.places, self.heights = (
            np.array(each) for each in zip(*lower_hull(points), strict=True)
        )

    def rough_log_moments(self, thetas: Floats) -> Floats:
        inside = np.interp(thetas, self.places, self.heights)
        values: Floats = np.where(thetas > self.places[-1], np.inf, np.maximum(inside, 0.0))
        return values

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        """An upper bound on the real axis; elsewhere there is no telling."""
        if bool(np.any(s.imag != 0.0)) or float(np.max(s.real)) > float(self.places[-1]):
            raise BeyondFloats("only some real moments of the loss are known")
        values = self.rough_log_moments(s.real)
        return values.astype(np.complex128), 16 * UNIT * values

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:  # noqa: ARG002
        return np.zeros(low.shape)


def lower_hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The lower convex hull of the points and the origin, up to the last place."""
    hull: list[tuple[float, float]] = [(0.0, 0.0)]
    for place, height in points:
        if not math.isfinite(height):
            continue
        while len(hull) > 1 and _above(hull[-2], hull[-1], (place, height)):
            hull.pop()
        if place > hull[-1][0]:
            hull.append((place, height))
    return hull


def _above(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    """Whether the middle point is on or above the chord."""
    rise = (last[1] - first[1]) * (middle[0] - first[0])
    return (middle[1] - first[1]) * (last[0] - first[0]) >= rise
