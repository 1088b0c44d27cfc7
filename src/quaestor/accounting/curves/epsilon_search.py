"""Where a certified curve comes down to a delta: few questions, and ends that the curve certifies.

A question may take milliseconds, so each one serves twice: it shows where to ask next, and it moves
an end of the answer if it can.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["least_epsilon", "step_out"]

_ZERO = Bounds.exactly(0.0)
_MOST_STEPS = 48  # each four times as long as the one before
_MOST_QUESTIONS, _MANY_QUESTIONS = 100, 8  # in all; until one in vain halves what is left
_FAR = 0.5  # of the guess: below it, 0 is tried
_LONGEST = 0.25  # a step where the other side is not known, as a share of the place
_OVER = 1.001  # times the way that should suffice: a curve is not quite straight
_LEFT = 0.01  # of the width: what is not worth another question
_CLOSER = 6  # times that an end is drawn closer; one or two, unless the curve bends or jumps there
_NEARER = 0.25  # of the way, where no line shows how far: and of that in each round
_FURTHEST = 1e300
_UP, _DOWN = 1, -1


def least_epsilon(  # noqa: PLR0913  # a search has this much to know
    curve: Callable[[float], Bounds],
    *,
    target: Bounds,
    guess: float,
    largest: float,
    stride: float = _LONGEST,
    order: float = 0.0,
) -> Bounds:
    """Invert a decreasing certified curve: enclose the least epsilon in [0, largest] that fits.

    The search is a safeguarded secant on the logarithm of delta, from ``guess``. Its first step is
    Newton's where it is known about how steeply that falls, the ``order``, and else a share
    ``stride`` of the guess: small where the curve is known well only near there. Whatever it does,
    the ends are only moved on the curve's own certified word: the upper end fits by an upper bound,
    the lower end does not by a lower bound. At ``largest`` (maybe infinite) the curve must be known
    to fit.
    """
    start = guess if 0.0 < guess < largest else min(largest, 2.0) / 2
    search = _Search(curve, target, largest)
    root = search.root(start, stride=stride, order=order)
    if root is None:
        return _ZERO
    search.draw(root, _UP)
    search.draw(root, _DOWN)
    if search.low == 0.0 and search.fits_zero():
        return _ZERO
    return Bounds(lower=min(search.low, search.high), upper=search.high)


def step_out(
    curve: Callable[[float], Bounds], target: Bounds, root: float, largest: float
) -> tuple[float, float]:
    """Step away from the estimated root until the curve certifies either side."""
    search = _Search(curve, target, largest)
    search.draw(root, _UP)
    search.draw(root, _DOWN)
    return min(search.low, search.high), search.high


class _Search:
    """What a curve has said, and the ends that follow from it."""

    def __init__(self, curve: Callable[[float], Bounds], target: Bounds, largest: float) -> None:
        self._curve, self._target = curve, target
        self._said: dict[float, Bounds] = {}
        self.low, self.high = 0.0, largest
        self._order = 0.0  # about how steeply the logarithm of delta falls; 0: not known

    def ask(self, epsilon: float) -> Bounds:
        """The curve at ``epsilon``; moves an end if that is certain."""
        said = self._said.get(epsilon)
        if said is None:
            said = self._said[epsilon] = self._curve(epsilon)
            if said.upper <= self._target.lower:
                self.high = min(self.high, epsilon)
            elif said.lower > self._target.upper:
                self.low = max(self.low, epsilon)
        return said

    def fits_zero(self) -> bool:
        """Whether even 0 is enough."""
        return self.ask(0.0).upper <= self._target.lower

    def root(self, start: float, *, stride: float, order: float) -> float | None:
        """Estimate the place where the curve meets the target; None if it starts below it."""
        place, last, self._order = start, None, order
        for number in range(_MOST_QUESTIONS):
            excess = _log_excess(self.ask(place), self._target)
            if last is not None and place != last[0]:
                self._order = max((last[1] - excess) / (place - last[0]), 0.0)
            if excess == 0.0:
                return place
            if place < _FAR * start and self.low == 0.0 and self.fits_zero():
                return None
            if self.high - self.low <= 4e-16 * min(self.high, _FURTHEST):
                break
            in_vain = last is not None and abs(excess) > abs(last[1]) / 2
            last = place, excess
            if in_vain and number > _MANY_QUESTIONS and self.high < math.inf:
                place = (self.low + self.high) / 2
            else:
                place = self._next(place, excess, stride)
            stride = min(2 * stride, _LONGEST)
        return (self.low + self.high) / 2 if self.high < math.inf else self.low

    def _next(self, place: float, excess: float, stride: float) -> float:
        """Where to look next: as the curve fell last, not too far, and between the ends."""
        step = excess / self._order if self._order else math.copysign(stride * place, excess)
        longest = _LONGEST * place
        step = min(max(step, -longest / (1 + _LONGEST)), longest)
        following = place + math.copysign(max(abs(step), 2 * math.ulp(place)), step)
        if self.low < following < self.high:
            return following
        return (self.low + self.high) / 2 if self.high < math.inf else 2 * self.low

    def draw(self, root: float, way: int) -> None:
        """Draw one end close to the root: by how steep the curve is, and then by what it says."""
        missing = self._missing(root, way)
        if missing <= 0.0:
            return  # the root is an end itself
        step = _first_step(root, self.ask(root))
        if self._order and math.isfinite(ahead := _OVER * missing / self._order):
            step = max(ahead, math.ulp(root))
        before, come = missing, 0.0
        for _ in range(_MOST_STEPS):
            edge = min(self.high, _FURTHEST) if way > 0 else self.low
            if step >= abs(edge - root):  # near its end a curve falls more steeply than before
                step = (come + abs(edge - root)) / 2
            probe = root + way * step
            if not self.low < probe < min(self.high, _FURTHEST):
                break
            left = self._missing(probe, way)
            if left <= 0.0:
                break
            fallen, further = before - left, 3 * step
            if 0.0 < fallen < math.inf:  # as steeply as since the last one: less is known at a root
                self._order = fallen / (step - come)
                further = min(_OVER * left / self._order, further)
            before, come = left, step
            step += max(further, 2 * math.ulp(root))
        self._draw_closer(root, way)

    def _draw_closer(self, inner: float, way: int) -> None:
        """Where a straight line from what is not enough to the end would meet the target.

        Where the curve bends or jumps there, only one of the two comes closer round after round:
        then what is missing counts for less each time, or for more.
        """
        share = 1.0
        for _ in range(_CLOSER):
            end = self.high if way > 0 else self.low
            if end not in self._said:
                return  # nothing was asked there
            missing, spare = share * self._missing(inner, way), -self._missing(end, way)
            if not missing + spare > 0.0:
                return
            known = math.isfinite(missing) and math.isfinite(spare)
            across = (end - inner) * (missing / (missing + spare) if known else share * _NEARER)
            if abs(end - inner - across) <= _LEFT * abs(end - inner):
                return
            probe = inner + _OVER * across + way * math.ulp(inner)
            if not min(inner, end) < probe < max(inner, end):
                return
            if self._missing(probe, way) > 0.0:
                inner, share = probe, max(share / _NEARER, 1.0)
            else:
                share *= _NEARER

    def _missing(self, epsilon: float, way: int) -> float:
        """By how many nats the curve does not certify this side yet; 0 or less where it does."""
        said = self.ask(epsilon)
        value, aim = (
            (said.upper, self._target.lower) if way > 0 else (said.lower, self._target.upper)
        )
        certain = value <= aim if way > 0 else value > aim
        nats = way * _log_ratio(value, aim)
        return min(nats, 0.0) if certain else max(nats, 5e-324)


def _first_step(root: float, at_root: Bounds) -> float:
    doubt = min(at_root.relative_width / 16, 1e-3)
    return max(root * max(doubt, 1e-14), 5e-324)


def _log_excess(delta: Bounds, target: Bounds) -> float:
    """How far the curve lies above the target, in nats; 0 where the intervals cannot tell."""
    if delta.overlaps(target):
        return 0.0
    value = (delta.lower + delta.upper) / 2
    aim = (target.lower + target.upper) / 2
    return max(min(_log_ratio(value, aim), 800.0), -800.0)


def _log_ratio(value: float, aim: float) -> float:
    """The logarithm of a ratio, also of one that is nearly 1."""
    if value <= 0.0 or aim <= 0.0:
        return -math.inf if value <= 0.0 else math.inf
    apart = (value - aim) / aim
    return math.log1p(apart) if abs(apart) < 0.5 else math.log(value) - math.log(aim)
