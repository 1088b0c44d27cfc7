r"""Curves of a game as pairs of worlds: upper bounds at nodes, made convex, and their masses.

Let f be convex, decreasing and symmetric (:math:`f(1/a) = 1 - 1/a + f(a)/a`), with known upper
bounds at some nodes :math:`a = e^{nh}, n \ge 0`. The curve of straight pieces through any choice of
these points is at least f, whichever are left out; what remains is convex if those that stick out
are. A convex curve of straight pieces is the profile of one pair of worlds: with the neighbours l
and r of a node, L and R away, its loss is the node's with probability

.. math:: P_n = \frac{f_l - f_n}{1 - e^{-L}} - \frac{f_n - f_r}{e^R - 1},

and infinite with the probability of the last height. The other half follows by symmetry,
:math:`P_{-n} = e^{-nh} P_n`. The left neighbour of the first node is its mirror image, where the
first quotient is :math:`(1 - f_n)/(1 + e^{-nh})`; the node 0 is its own, and has twice that mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from quaestor.accounting.ranges.adaptive_step import Curve

__all__ = ["ConvexCurve", "GameCurve"]

_UNIT = 2.0**-53
_UP = 1 + 2.0**-48
_LARGEST_ERROR = 1e-8  # of a mass; a node where it is more is left out
_MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class GameCurve:
    """Upper bounds of a convex, decreasing, symmetric curve at the nodes 0, 1, ... of a lattice.

    From the last node on the curve is at most the last height.
    """

    cell: Fraction
    heights: Curve

    def every(self, stride: int) -> GameCurve:
        """The same, known at fewer nodes; the last of them is not before the end."""
        beyond = -(len(self.heights) - 1) % stride
        heights = np.append(self.heights, np.full(beyond, self.heights[-1]))
        return GameCurve(cell=self.cell * stride, heights=heights[::stride])

    def finer(self, cells: int) -> GameCurve:
        """At least the same on a lattice with so many cells in each one, without its corners.

        One more release is made: its loss is spread evenly over one coarse cell to each side. So
        the corners, which are at the coarse nodes, become as flat as the pieces.
        """
        width = float(self.cell) / cells
        top = (len(self.heights) - 1) * cells
        shares = np.expm1(width * np.arange(cells)) / np.expm1(float(self.cell))
        drops = self.heights[:-1] - self.heights[1:]
        right = (self.heights[:-1, None] - drops[:, None] * (shares * (1 - 16 * _UNIT))).ravel()
        right = np.concatenate([right, np.full(cells + 1, self.heights[-1])])
        places = width * np.arange(cells, 0, -1)
        left = -np.expm1(-places) + np.exp(-places) * right[cells:0:-1]
        nodes = np.concatenate([left, right])
        weights = np.exp(width / 2 * np.arange(-cells, cells + 1))
        weights[[0, -1]] /= 2
        weights /= np.sum(weights)
        spread = np.zeros(top + 1)
        for place, weight in enumerate(weights[::-1]):
            spread += weight * nodes[place : place + top + 1]
        return GameCurve(cell=self.cell / cells, heights=spread * (_UP**16))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexCurve:
    """A convex curve of straight pieces, and its pair of worlds.

    ``nodes`` are its corners from 0 on, ``masses`` the probabilities of their losses in the first
    world, each known to the share ``error``, and ``outright`` that of an infinite loss.
    """

    cell: Fraction
    nodes: NDArray[np.int64]
    heights: Curve
    masses: Curve
    error: float
    outright: float

    @classmethod
    def at_least(cls, curve: GameCurve) -> ConvexCurve | None:
        """A convex curve that is nowhere below; None if rounding leaves nothing of it."""
        heights = np.minimum.accumulate(curve.heights)
        nodes = np.arange(len(heights), dtype=np.int64)
        cell = float(curve.cell)
        for _ in range(_MOST_ROUNDS):
            if len(nodes) < 3:
                return None
            masses, errors = _masses(nodes, heights[nodes], cell)
            good = (masses > 0.0) & (errors <= _LARGEST_ERROR * masses)
            if bool(np.all(good)):
                return cls(
                    cell=curve.cell,
                    nodes=nodes,
                    heights=heights[nodes],
                    masses=masses,
                    error=float(np.max(errors / masses)),
                    outright=float(heights[nodes[-1]]),
                )
            good[-1] |= not np.all(good[:-1])  # the end only if nothing else is wrong
            nodes = nodes[good]
        return None

    def at_every_node(self, last: int) -> Curve:
        """The heights at the nodes 0 to ``last``, at most some units too large."""
        places = np.arange(last + 1)
        after = np.minimum(np.searchsorted(self.nodes, places), len(self.nodes) - 1)
        before = np.maximum(after - 1, 0)
        cell = float(self.cell)
        away = places - self.nodes[before]
        whole = np.maximum(self.nodes[after] - self.nodes[before], 1)
        shares = np.minimum(np.expm1(cell * away) / np.expm1(cell * whole) * (1 - 16 * _UNIT), 1.0)
        between = self.heights[before] - (self.heights[before] - self.heights[after]) * shares
        first = float(self.nodes[0]) * cell
        rise = -np.expm1(np.minimum(cell * places - first, 0.0)) / (1 + np.exp(-first))
        between = np.where(
            places < self.nodes[0],
            self.heights[0] + (1 - self.heights[0]) * rise * (1 + 16 * _UNIT),
            between,
        )
        corner = np.zeros(last + 1, bool)
        corner[self.nodes[self.nodes <= last]] = True
        beyond = places >= self.nodes[-1]
        every: Curve = np.where(corner | beyond, self.heights[after], between * _UP)
        return every


def _masses(nodes: NDArray[np.int64], heights: Curve, cell: float) -> tuple[Curve, Curve]:
    """The mass at every node and how far it may be off."""
    gaps = cell * np.diff(nodes)
    drops = heights[:-1] - heights[1:]
    up = drops / -np.expm1(-gaps)  # into the node to the right of a gap
    down = drops / np.expm1(gaps)  # out of the node to its left
    masses = np.append(up[:-1] - down[1:], up[-1])
    sizes = np.append(up[:-1] + down[1:], up[-1])
    first = cell * float(nodes[0])
    rest = (1 - heights[0]) / (1 + np.exp(-first))  # into the first, from its mirror image
    doubled = 2.0 if nodes[0] == 0 else 1.0  # the node 0 is its own mirror image
    masses = np.append(doubled * (rest - down[0]), masses)
    return masses, 16 * _UNIT * np.append(doubled * (rest + down[0]), sizes)
