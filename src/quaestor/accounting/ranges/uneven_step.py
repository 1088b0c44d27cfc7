r"""One more release whose range is no whole number of cells: chords with one end between nodes.

Let the range be N cells and a share :math:`\theta` of one. A chord over a node has its left end x
at a node and its right end :math:`\theta` of a cell after one; or its right end at a node, and its
left end :math:`\theta` before one. These are all places of x at which it or Ex passes a node.

*Above*: as in :mod:`.adaptive_step`, g is linear between nodes and at least f; between two such
places next to each other, both ends stay in one cell each, so the height of the chord is
:math:`W - K x - J/x` there and at most the greater one of those at the two places plus :math:`x_l
(e^{l/2} - 1)^2 \max(K, 0)`, for l the distance between them and :math:`x_l` the first. In the cell
from :math:`x_n` of length h this is at most :math:`x_n (e^{h/2} - 1)^2 \max(K, 0)`: if the place
is d after :math:`x_n`, :math:`e^{d/2}(e^{l/2} - 1) \le e^{(d+l)/2} - 1 \le e^{h/2} - 1`. The
other end is in the N-th cell after that of x or in the next: with the smaller of the two slopes K
is largest.

*Below* (:class:`UnevenChords`): a test at a node is one everywhere. Between two nodes, that of
either serves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.ranges.adaptive_step import StepAbove, one_release, prolonged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from flint import arb

    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.ranges.adaptive_step import Beyond, Curve

__all__ = ["UnevenAbove", "UnevenChords", "step_above"]

_BITS = 96
_UP = 1 + 2.0**-50


def step_above(cell: Fraction, size: int | Fraction) -> StepAbove | UnevenAbove:
    """The step of a range of ``size`` cells, whether that is a whole number or not."""
    if size == int(size):
        return StepAbove(cell, int(size))
    return UnevenAbove(cell, size)


class UnevenChords:
    """The weights of all chords over a node, by where their ends are, rounded one way.

    Three rows of heights stand one after the other: at the nodes, from N + 1 before 0 on; the share
    of a cell after each; and what is left of a cell after each, which is that share before the
    next. A whole number of cells needs the first row only.
    """

    def __init__(
        self, cell: Fraction, size: int | Fraction, rounded: Callable[[Bounds], float]
    ) -> None:
        """Take a range of ``size`` cells."""
        self.cells = math.floor(size)
        self.even = size == self.cells
        with working_precision(_BITS):
            whole = rational(cell * size)
            share = -(-whole).expm1()

            def every(
                weight: Callable[[arb, arb], arb], places: Sequence[int | Fraction]
            ) -> list[float]:
                """For x and y, which sum up to the range."""
                return [
                    max(
                        rounded(outward(weight(rational(cell * n), rational(cell * (size - n))))),
                        0.0,
                    )
                    for n in places
                ]

            lefts = list(range(self.cells + 1))
            places = lefts if self.even else [*lefts, *(size - n for n in lefts)]
            self.near = np.array(every(lambda _, y: -(-y).expm1() / share, places))
            self.far = np.array(every(lambda x, y: -(-x).expm1() * (-y).exp() / share, places))
            before = range(1, self.cells + 2)
            self.constant = np.array(every(lambda x, _: -(-x).expm1(), before))
            self.slope = np.array(every(lambda x, _: (-x).exp(), before))
            self.first = np.array([*every(lambda _, y: one_release(y, whole), lefts), 0.0])
            """The curve of one release, which ends before the last node."""

    def starts(self, length: int) -> list[tuple[int, int]]:
        """Where the ends of each chord over the node 0 are, if a row has such a ``length``."""
        cells = self.cells
        zero = cells + 1
        if self.even:
            return [(zero - n, zero - n + cells) for n in range(cells + 1)]
        return [
            *((zero - n, length + zero - n + cells) for n in range(cells + 1)),
            *((2 * length + n, zero + n) for n in range(cells + 1)),
        ]


class UnevenAbove:
    """Upper bounds: all chords with an end at a node, and the bulge for those in between."""

    def __init__(self, cell: Fraction, size: int | Fraction) -> None:
        """Take a range of ``size`` cells."""
        self._chords = UnevenChords(cell, size, lambda ball: ball.upper)
        self.first = self._chords.first
        cells = self._chords.cells
        with working_precision(_BITS):
            width, part = rational(cell), rational(cell * (size - cells))
            self._lift = outward((width / 4).tanh() / -(-rational(cell * size)).expm1()).upper
            self._shrink = outward((-width * cells).exp()).lower
            self._shrink_more = outward((-width * (cells + 1)).exp()).lower
            shares = part.expm1() / width.expm1(), (width - part).expm1() / width.expm1()
            self._shares = [max(outward(share).lower, 0.0) for share in shares]

    def heights(self, curve: Curve, top: int, beyond: Beyond) -> Curve:
        """Bounds of the heights at the nodes 0 to ``top``, if ``beyond`` bounds the curve there."""
        nodes = self._extended(curve, top, beyond)
        np.minimum.accumulate(nodes, axis=-1, out=nodes)  # no less true, as the curve decreases
        drops = nodes[..., :-1] - nodes[..., 1:]
        rows = [nodes]
        for share in self._shares:
            between = (nodes[..., :-1] - drops * share) * _UP
            rows.append(np.concatenate([between, nodes[..., -1:]], axis=-1))
        places = np.concatenate(rows, axis=-1)
        bulges, either = self._bulges(drops)
        count, length = top + 1, nodes.shape[-1]
        shape = (*curve.shape[:-1], count)
        best, height, other = np.zeros(shape), np.empty(shape), np.empty(shape)
        starts = self._chords.starts(length)
        for (left, right), near, far in zip(
            starts, self._chords.near, self._chords.far, strict=True
        ):
            np.multiply(places[..., left : left + count], near, out=height)
            np.multiply(places[..., right : right + count], far, out=other)
            height += other
            if left < length:  # at a node, between two cells
                height += either[..., left - 1 : left - 1 + count]
            else:
                height += bulges[..., left - 2 * length : left - 2 * length + count]
            np.maximum(best, height, out=best)
        return best

    def _bulges(self, drops: Curve) -> tuple[Curve, Curve]:
        """For x in each cell, and in either of the two at the node after each."""
        cells = self._chords.cells
        after = drops.shape[-1] - cells - 1
        slopes = np.minimum(
            self._shrink * drops[..., cells : cells + after],
            self._shrink_more * drops[..., cells + 1 :],
        )
        bulges = np.maximum(drops[..., :after] * _UP - slopes, 0.0) * self._lift
        return bulges, np.maximum(bulges[..., 1:], bulges[..., :-1])

    def _extended(self, curve: Curve, top: int, beyond: Beyond) -> Curve:
        """The curve at the nodes from N + 1 before 0 on, as far as any chord needs it."""
        cells = self._chords.cells
        right = prolonged(curve, max(top, cells) + cells + 5, beyond)
        here = right[..., 1 : cells + 2]
        left = (self._chords.constant + self._chords.slope * here) * _UP
        return np.concatenate([left[..., ::-1], right], axis=-1)
