"""Lines through losses whose rarest outcomes are left out: where a line through all is no use.

Some losses (Gaussian noise on a small sample) have moments that are made by outcomes which no delta
of interest sees. A sum of these has a line for every probability that may be left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.engine.integral import planned
from quaestor.accounting.loss.engine.inversion import Line
from quaestor.accounting.loss.engine.saddle_point import SaddlePoint
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from quaestor.accounting.loss.engine.loss_sum import Product

__all__ = ["MANY_NODES", "RareOutcomes"]

_SHARE = 1e-6  # of delta: outcomes that are rare beside it, at the usual width
_LEAST = 1e-270  # of probabilities that are told from 0
_COARSE = 1e-2  # relative, in delta: the width of lines that only show where to look
_CLEAR = 0.3  # relative, in delta: what such a line may leave open
_MOST_GUESSES = 6
_AIM = 5.0  # times the width: what a line is to leave open
MANY_NODES = 120_000  # of a line: about as many as a tenth of a second allows
_PATIENT = 3  # times as many for a narrower answer than usual
_USUAL = 1e-4  # the width that lines have unless another is asked for
_FEW_NODES = 1500  # up to which a line through all losses is the quicker one
_LARGEST_THETA = 100.0
_TINY = 0.1  # spreads for which a line between -1 and 0 says little
_FALLS = 30.0  # nats


class RareOutcomes:
    """A sum of losses, some of which have outcomes that are better left out."""

    def __init__(self, product: Product, *, width: float) -> None:
        """Keep the sum; it is shortened when questions come. What is rare depends on the width."""
        self.product, self._share = product, min(1e-2 * width, _SHARE)
        self._shortened: dict[float, Product] = {}

    def without(self, delta: float) -> Product:
        """The losses without outcomes that are rare beside this delta."""
        rare = 10.0 ** math.floor(math.log10(max(delta * self._share, _LEAST)))
        if rare not in self._shortened:
            self._shortened[rare] = self.product.truncated(rare)
        return self._shortened[rare]

    def line(self, epsilon: float, *, width: float, delta: float) -> Line:
        """A line for an epsilon, without what is rare beside this delta."""
        whole = self._whole(epsilon, width)
        return whole or Line.through(self.without(delta), epsilon, width=width)

    def narrow_line(self, epsilon: float, *, width: float) -> Line:
        """A line for an epsilon, whatever its delta is: first coarse ones, which show that."""
        whole = self._whole(epsilon, width)
        if whole is not None:
            return whole
        delta, coarse = min(self.product.moment_delta(epsilon), 1e-6), max(_COARSE, width)
        for _ in range(_MOST_GUESSES):
            line = Line.through(self.without(delta), epsilon, width=coarse)
            found = line.delta(epsilon)
            if line.lost > 10 * self._share * found.upper:
                delta = max(found.upper - line.lost, delta * 1e-10, _LEAST)
            elif found.relative_width < _CLEAR:
                break
            else:
                coarse = max(coarse / 16, _least_width(line, coarse, width))
        wanted = _wanted_width(line, epsilon, drawn=coarse, width=width)
        return Line.through(self.without(delta), epsilon, width=wanted)

    def suits(self, epsilon: float) -> bool:
        """Whether a line through all losses does: if the moment falls off as that of a bell."""
        try:
            point = SaddlePoint.of(self.product, epsilon)
            if abs(point.theta) > _LARGEST_THETA or (point.theta < 0 and point.spread < _TINY):
                return False
            nodes = np.asarray(point.theta + 1j * np.array([0.0, 9.0 / point.spread]))
            values, _ = self.product.nominal_log_moment(nodes)
            return bool(values[0].real - values[1].real >= _FALLS)
        except (BeyondFloats, ValueError, MemoryError):
            return False

    def _whole(self, epsilon: float, width: float) -> Line | None:
        """A line through all losses, where that is the quicker one."""
        if not self.suits(epsilon):
            return None
        try:
            plan = planned(self.product, epsilon, width=width)
            quick = width < _USUAL or plan.extent.size <= _FEW_NODES
            return Line.along(self.product, plan) if quick else None
        except (BeyondFloats, ValueError, MemoryError):
            return None

    def root(self, delta: float, *, width: float) -> tuple[float, float]:
        """About where the curve is ``delta``, and for which width a line is to be drawn there.

        From coarse lines, each drawn where the last one led. What a line leaves open is in
        proportion to the width that it was drawn for.
        """
        product, coarse = self.without(delta), max(_COARSE, width)
        guess = product.typical_epsilon(delta)
        for _ in range(_MOST_GUESSES):
            try:
                line = Line.through(product, guess, width=coarse)
            except (BeyondFloats, ValueError, MemoryError):
                break
            if line.delta(0.0).upper <= delta:
                return guess, coarse
            last, guess = guess, _crossing(line, delta, guess)
            open_ = line.delta(guess).relative_width
            if open_ < _CLEAR and abs(last - guess) < 0.1 * last:
                return guess, _wanted_width(line, guess, drawn=coarse, width=width)
            if open_ >= _CLEAR:
                coarse = max(coarse / 16, _least_width(line, coarse, width))
        return guess, min(width, coarse)


def _least_width(line: Line, drawn: float, width: float) -> float:
    """The least width for which there are not too many nodes: they go with its inverse root."""
    most = MANY_NODES * (_PATIENT if width < _USUAL else 1)
    return drawn * (line.nodes.size / most) ** 2


def _wanted_width(line: Line, epsilon: float, *, drawn: float, width: float) -> float:
    """For which width to draw, after a line drawn for another one left so much open."""
    open_ = max(line.delta(epsilon).relative_width, 1e-9)
    return max(min(width, drawn * _AIM * width / open_), _least_width(line, drawn, width))


def _crossing(line: Line, delta: float, guess: float) -> float:
    low, high = math.log(guess) - 12.0, math.log(guess) + 0.5
    for _ in range(20):
        middle = (low + high) / 2
        bounds = line.delta(math.exp(middle))
        above = bounds.lower + bounds.upper > 2 * delta
        low, high = (middle, high) if above else (low, middle)
    return math.exp(high)
