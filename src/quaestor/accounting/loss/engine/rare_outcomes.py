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
from quaestor.accounting.loss.engine.saddle_point import SaddlePoint, likely_epsilon
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from quaestor.accounting.loss.engine.integral import LinePlan
    from quaestor.accounting.loss.engine.loss_sum import Product
    from quaestor.accounting.loss.engine.set_aside import Deficit

__all__ = ["COARSE", "RareOutcomes", "crossing", "is_quick", "least_width"]

_SHARE = 1e-8  # of delta: outcomes that are rare beside it, at the usual width
_LEAST = 1e-296  # of probabilities that are told from 0
COARSE = 1e-2  # relative, in delta: the width of lines that only show where to look
_CLEAR = 0.3  # relative, in delta: what such a line may leave open
_MOST_GUESSES = 6
_AIM = 0.7  # times the width: what a line is to leave open
_MANY_NODES = 120_000  # of a line: about as many as a tenth of a second allows
_CHEAP_NODES = 24_000  # where a narrower line costs hardly more
_PATIENT = 3  # times as many for a narrower answer than usual
_USUAL = 1e-4  # the width that lines have unless another is asked for
_FEW_NODES = 1500  # up to which a line through all losses is the quicker one
_LITTLE_WORK = 1e6  # exponentials, about a twentieth of a second
_LITTLE_EFFORT, _MOST_EFFORT = 5e6, 3e7  # terms to sum, for a line through all losses
_LARGEST_THETA = 100.0
_FEW_DIFFERENT = 4  # losses up to which lines cost little
_ONE_LINE, _WORK_EACH = 2.5e6, 4e4  # exponentials, about a tenth of a second
_TINY = 0.1  # spreads for which a line between -1 and 0 says little
_FALLS, _SPREADS = 30.0, 60.0  # nats, within so many spreads: some hundred nodes


class RareOutcomes:
    """A sum of losses, some of which have outcomes that are better left out."""

    def __init__(self, product: Product, *, width: float) -> None:
        """Keep the sum; it is shortened when questions come. What is rare depends on the width."""
        self.product, self._share = product, min(1e-4 * width, _SHARE)
        self._shortened: dict[tuple[float, float], Product] = {}
        self._deficits: dict[float, Deficit] = {}
        self._suitable: dict[float, SaddlePoint | None] = {}

    def without(self, delta: float, *, epsilon: float = math.inf) -> Product:
        """The losses without outcomes that are rare beside this delta, or beyond this epsilon."""
        rare = 10.0 ** math.floor(math.log10(max(delta * self._share, _LEAST)))
        key = rare, epsilon
        if rare not in self._deficits and epsilon < math.inf:
            self._deficits[rare] = self.product.deficit(rare)
        if key not in self._shortened:
            deficit = self._deficits.get(rare)
            self._shortened[key] = self.product.truncated(rare, above=epsilon, deficit=deficit)
        return self._shortened[key]

    @property
    def are_many(self) -> bool:
        """Whether there are many different losses, and so lines are to be few."""
        return self.product.different > _FEW_DIFFERENT

    @property
    def most_work(self) -> float:
        """What one fine line may cost, where there are to be few; enough for some nodes each."""
        least = self.product.different * _WORK_EACH
        return max(_ONE_LINE, least) if self.are_many else math.inf

    def line(
        self, epsilon: float, *, width: float, delta: float, most_work: float = math.inf
    ) -> Line:
        """A line for an epsilon, without what is rare beside this delta."""
        return self._whole(epsilon, width) or Line.through(
            self.without(delta, epsilon=epsilon), epsilon, width=width, most_work=most_work
        )

    def narrow_line(self, epsilon: float, *, width: float) -> Line:
        """A line for an epsilon, whatever its delta is: first coarse ones, which show that."""
        whole = self._whole(epsilon, width)
        if whole is not None:
            return whole
        delta, coarse = min(self.product.moment_delta(epsilon), 1e-6), max(COARSE, width)
        for _ in range(_MOST_GUESSES):
            line = Line.through(self.without(delta, epsilon=epsilon), epsilon, width=coarse)
            found = line.delta(epsilon)
            lost = line.aside.lost if line.aside else 0.0
            if lost > 10 * self._share * found.upper:
                delta = max(found.upper - lost, delta * 1e-10, _LEAST)
            elif found.relative_width < _CLEAR:
                break
            else:
                coarse = max(coarse / 16, least_width(line, coarse, width))
        return self._finer(line, epsilon, delta, drawn=coarse, width=width)

    def _finer(
        self, line: Line, epsilon: float, delta: float, *, drawn: float, width: float
    ) -> Line:
        """A line that leaves as little open as is wanted, or this one."""
        wanted = _wanted_width(line, epsilon, drawn=drawn, width=width)
        if wanted >= drawn:
            return line
        try:
            return Line.through(self.without(delta, epsilon=epsilon), epsilon, width=wanted)
        except (BeyondFloats, ValueError, MemoryError):
            return line

    def suits(self, epsilon: float) -> bool:
        """Whether a line through all losses does."""
        return self._suitable_point(epsilon) is not None

    def _suitable_point(self, epsilon: float) -> SaddlePoint | None:
        """Where that line is drawn, if it suits: asked more than once, found once."""
        if epsilon not in self._suitable:
            self._suitable[epsilon] = suitable_point(self.product, epsilon)
        return self._suitable[epsilon]

    def _whole(self, epsilon: float, width: float) -> Line | None:
        """A line through all losses, where that is the quicker one and leaves little open."""
        point = self._suitable_point(epsilon)
        if point is None:
            return None
        try:
            plan = planned(self.product, epsilon, width=width, point=point)
            quick = width < _USUAL or plan.extent.size <= _FEW_NODES
            line = Line.along(self.product, plan) if quick else None
        except (BeyondFloats, ValueError, MemoryError):
            return None
        clear = line is not None and line.delta(epsilon).relative_width < _CLEAR
        return line if clear else None

    def _effort(self, plan: LinePlan) -> float:
        integral = plan.integral
        return self.product.effort(integral.theta, plan.extent.size, integral.step)

    def whole_line(self, epsilon: float, *, width: float, vague: float) -> Line | None:
        """A line through all losses where the others leave so much open; None if too much work."""
        most = _MOST_EFFORT if vague > _CLEAR / 10 else _LITTLE_EFFORT
        try:
            with certified_arithmetic():
                plan = planned(self.product, epsilon, width=width)
            return Line.along(self.product, plan) if self._effort(plan) <= most else None
        except (BeyondFloats, ValueError, MemoryError):
            return None

    def first_epsilon(self, delta: float) -> float:
        """Where to look first for the epsilon of a delta."""
        try:
            shorter = self.without(delta)
            guess = shorter.typical_epsilon(delta)
            return likely_epsilon(shorter, delta, guess) if self.are_many else guess
        except BeyondFloats:
            return self.product.typical_epsilon(delta)

    def surely_below(self, epsilon: float, delta: float) -> bool:
        """Whether a coarse line shows that delta is no more than this at epsilon."""
        try:
            line = self.line(epsilon, width=COARSE, delta=delta)
        except (BeyondFloats, ValueError, MemoryError):
            return False
        return line.delta(epsilon).upper <= delta


def suitable_point(product: Product, epsilon: float) -> SaddlePoint | None:
    """Where a line through these losses is drawn; None where it does not suit.

    It does if the moment falls off about as a bell does.
    """
    try:
        point = SaddlePoint.of(product, epsilon)
        if abs(point.theta) > _LARGEST_THETA or (point.theta < 0 and point.spread < _TINY):
            return None
        nodes = np.asarray(point.theta + 1j * np.array([0.0, _SPREADS / point.spread]))
        values, _ = product.nominal_log_moment(nodes)
        return point if bool(values[0].real - values[1].real >= _FALLS) else None
    except (BeyondFloats, ValueError, MemoryError):
        return None


def is_quick(product: Product, epsilon: float, *, width: float) -> bool:
    """Whether a line through these losses suits and takes little work."""
    point = suitable_point(product, epsilon)
    if point is None:
        return False
    try:
        with certified_arithmetic():
            plan = planned(product, epsilon, width=width, point=point)
    except (BeyondFloats, ValueError, MemoryError):
        return False
    return plan.extent.size <= _FEW_NODES and plan.integral.work(plan.extent) <= _LITTLE_WORK


def least_width(line: Line, drawn: float, width: float, *, cheap: bool = False) -> float:
    """The least width for which there are not too many nodes: they go with its inverse root."""
    most = _CHEAP_NODES if cheap else _MANY_NODES * (_PATIENT if width < _USUAL else 1)
    return drawn * (line.nodes.size / most) ** 2


def _wanted_width(line: Line, epsilon: float, *, drawn: float, width: float) -> float:
    """For which width to draw, after a line drawn for another one left so much open."""
    open_ = max(line.delta(epsilon).relative_width, 1e-9)
    return max(min(drawn, drawn * _AIM * width / open_), least_width(line, drawn, width))


def crossing(line: Line, delta: float, guess: float) -> float:
    """About where a line is ``delta``, not far above a guess."""
    low, high = math.log(guess) - 12.0, math.log(guess) + 0.5
    for _ in range(20):
        middle = (low + high) / 2
        bounds = line.delta(math.exp(middle))
        above = bounds.lower + bounds.upper > 2 * delta
        low, high = (middle, high) if above else (low, middle)
    return math.exp(high)
