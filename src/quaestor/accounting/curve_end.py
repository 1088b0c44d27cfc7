r"""Where the curve of a composition ends: its largest finite loss, and what is told outright.

Losses of independent releases add up, and so do the largest ones. From their sum on, delta is the
probability that some release tells everything, :math:`1-\prod(1-\delta_i)`, and no contour is
needed. Sums are exact: a float is the binary number that it is, so that three times 1 is 3 and
three times 0.1 is a little more than the float 0.3.

Added up from what the releases say of their own ends, which is written from their parameters alone;
nothing here asks their laws.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from flint import arb

from quaestor.accounting.numerics.balls import (
    ONE,
    ZERO,
    between,
    outward,
    rational,
    working_precision,
)
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.loss_ends import exactly

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from quaestor.accounting.releases import Release
    from quaestor.accounting.releases.loss_ends import Ends, LossEnd

__all__ = ["CurveEnd"]

_CACHED = 4096
_CLOSE = 1e-12  # relative: nearer than this to the sum of floats, exact sums decide
_FURTHEST = 1.7976931348623157e308  # the largest float
_FEW = 64  # different releases of which exact sums are formed
_NOTHING = Fraction(0)


class _Ends(NamedTuple):
    """The ends of one release, in both directions, with their floats at hand."""

    ends: tuple[LossEnd, LossEnd]
    rough: tuple[float, float]
    size: float
    bounded: bool
    log_kept: tuple[arb, arb] | None
    """The logs of the probability that not everything is told; None if nothing is."""


_Told = tuple[tuple[arb, arb], int]


@lru_cache(maxsize=_CACHED)
def _both_ends(release: Release) -> _Ends | None:
    ends = release.loss_ends()
    if ends is None:
        return None
    first, last = ends[0], ends[-1]
    rough, kept = _as_float(first), _kept(first)
    others = (rough, kept) if last is first else (_as_float(last), _kept(last))
    return _Ends(
        (first, last),
        (rough, others[0]),
        max(abs(rough), abs(others[0])),
        first.largest is not None and last.largest is not None,
        None if kept is ZERO and others[1] is ZERO else (kept, others[1]),
    )


def _kept(end: LossEnd) -> arb:
    return _log_kept(end.outright) if end.outright[1] else ZERO


class CurveEnd:
    """The ends of a composition's curves, one for each direction, as running totals."""

    __slots__ = ("_bounded", "_doubt", "_log_kept", "_parts", "_rough", "known")

    def __init__(self) -> None:
        """Nothing was released yet."""
        self.known = True
        self._parts: tuple[tuple[tuple[LossEnd, LossEnd], int], ...] | None = ()
        self._rough = (0.0, 0.0)
        self._doubt = 0.0  # of either sum
        self._bounded = True
        self._log_kept: tuple[arb, arb] | None = None  # nothing is told outright

    @classmethod
    def of(cls, releases: Iterable[Release]) -> CurveEnd:
        """The end of these releases together."""
        return cls().then(release.counted() for release in releases)

    @classmethod
    def of_boxes(
        cls, responses: Iterable[tuple[float, int]], failures: Iterable[tuple[float, int]]
    ) -> CurveEnd:
        """The end of many different black boxes: their epsilons and deltas, each with its count."""
        end = cls()
        total = math.fsum(epsilon * count for epsilon, count in responses)
        end._rough, end._parts = (total, total), None
        end._doubt = 2 * _CLOSE * total
        with working_precision(256):
            kept = sum((_log_kept(exactly(delta)) * count for delta, count in failures), ZERO)
        end._log_kept = None if kept.is_zero() else (kept, kept)
        return end

    def then(self, releases: Iterable[tuple[Release, int]]) -> CurveEnd:
        """The same with more releases and their counts; the old ones are not looked at again."""
        longer = CurveEnd()
        longer.known, longer._doubt, longer._bounded = self.known, self._doubt, self._bounded
        longer._log_kept = self._log_kept
        first, second = self._rough
        parts = None if self._parts is None else [*self._parts]
        told: dict[tuple[int, int], _Told] = {}
        for release, count in releases:
            each = _both_ends(release)
            if each is None:
                longer.known = False
                break
            first += each.rough[0] * count
            second += each.rough[1] * count
            longer._doubt += _CLOSE * each.size * count + 2.0**-51 * abs(first + second)
            longer._bounded &= each.bounded
            if (kept := each.log_kept) is not None:
                same = id(kept[0]), id(kept[1])  # the same chance is the same ball, mostly
                told[same] = kept, count + (told[same][1] if same in told else 0)
            if parts is not None:
                parts.append((each.ends, count))
                parts = parts if len(parts) <= _FEW else None
        longer._rough, longer._parts = (first, second), None if parts is None else tuple(parts)
        longer._tell(told.values())
        return longer

    def _tell(self, told: Collection[_Told]) -> None:
        if told:
            first, second = self._log_kept or (ZERO, ZERO)
            with working_precision(256):
                for kept, count in told:
                    first, second = first + kept[0] * count, second + kept[1] * count
            self._log_kept = first, second

    def outright(self, direction: int) -> arb:
        """The probability that some release of this direction tells everything."""
        kept = ZERO if self._log_kept is None else self._log_kept[direction]
        if kept.is_zero():
            return ZERO
        chances = self._chances(direction)
        if chances is not None and [count for _, count in chances] == [1]:
            with working_precision(1200):  # a product of two floats, or one of them
                return between(*map(rational, chances[0][0]))
        with working_precision(256):
            if kept.is_finite():
                return -kept.expm1()
            if kept == arb.neg_inf():
                return ONE
            least = max((ends[0] for ends, _ in chances or ()), default=Fraction(0))
            return between(rational(least), ONE)  # it may be all, or nearly

    def _exact_largest(self, direction: int) -> Ends | None:
        """The sum of the largest losses, where few enough releases differ."""
        if self._parts is None:
            return None
        low = high = _NOTHING
        for ends, count in self._parts:
            largest = ends[direction].largest
            if largest is None:
                return None
            low, high = low + largest[0] * count, high + largest[1] * count
        return low, high

    def largest(self, direction: int) -> Bounds:
        """Enclose the largest finite loss there can be in this direction; maybe infinite."""
        rough = self._rough[direction]
        if math.isinf(rough):
            return Bounds(lower=_FURTHEST if self._bounded else math.inf, upper=math.inf)
        exact = self._exact_largest(direction)
        if exact is None:
            slack = self._doubt + 5e-324
            return Bounds(lower=max(rough - slack, 0.0), upper=max(rough + slack, 0.0))
        with working_precision(256):
            low = outward(rational(exact[0])).lower
            return Bounds(lower=max(low, 0.0), upper=max(outward(rational(exact[1])).upper, 0.0))

    def _is_beyond(self, epsilon: float, direction: int) -> bool:
        """Whether no finite loss of this direction is larger than epsilon, for certain."""
        rough = self._rough[direction]
        if math.isinf(rough) or math.isinf(epsilon):
            return math.isinf(epsilon)
        if abs(epsilon - rough) > self._doubt:
            return epsilon > rough
        exact = self._exact_largest(direction)
        return exact is not None and Fraction(epsilon) >= exact[1]

    def delta(self, epsilon: float) -> Bounds | None:
        """The curve at an epsilon that no finite loss passes; None before that."""
        if not (self.known and self._is_beyond(epsilon, 0) and self._is_beyond(epsilon, 1)):
            return None
        return self.worst_outright()

    def worst_outright(self) -> Bounds:
        """Enclose the probability that everything is told outright, in the worse direction."""
        if self._log_kept is None:
            return Bounds.exactly(0.0)
        outright = [outward(self.outright(direction)).clipped(0.0, 1.0) for direction in (0, 1)]
        return Bounds(
            lower=max(bounds.lower for bounds in outright),
            upper=max(bounds.upper for bounds in outright),
        )

    def epsilon(self, delta: float) -> Bounds | None:
        """The least epsilon at a delta that leaves no room beside what is told; None otherwise.

        Infinite if not even that fits. Exactly the largest loss if nothing is left.
        """
        if not self.known or delta >= 1.0:
            return None
        if self._log_kept is None and delta > 0.0:
            return None
        signs = [self._room(delta, direction) for direction in (0, 1)]
        if -1 in signs:
            return Bounds.exactly(math.inf)
        if None in signs or 0 not in signs:
            return None
        answers = [self.largest(d) for d, sign in enumerate(signs) if sign == 0]
        upper = max(bounds.upper for bounds in answers)
        # a direction with room needs no more than its largest loss; below, others decide
        others = [self.largest(d).upper for d, sign in enumerate(signs) if sign == 1]
        lower = max(bounds.lower for bounds in answers)
        return Bounds(lower=lower, upper=max([upper, *others]))

    def _room(self, delta: float, direction: int) -> int | None:
        """The sign of delta minus what is told; None where it cannot be decided."""
        if self._log_kept is None or self._log_kept[direction].is_zero():
            return 1 if delta else 0
        for bits in (256, 8192):
            with working_precision(bits):
                outright = (
                    self.outright(direction) if bits == 256 else self._precise_outright(direction)
                )
                left = arb(delta) - outright
                if left.is_zero():
                    return 0
                if left > 0 or left < 0:
                    return 1 if left > 0 else -1
        return None

    def _precise_outright(self, direction: int) -> arb:
        """The same, multiplied out: exact where the product has few enough digits."""
        chances = self._chances(direction)
        if chances is None:
            return self.outright(direction)
        kept = ((1 - between(*map(rational, each))) ** count for each, count in chances)
        return 1 - math.prod(kept, start=ONE)

    def _chances(self, direction: int) -> list[tuple[Ends, int]] | None:
        """What tells everything with some probability, and how often, if they are few."""
        if self._parts is None:
            return None
        outright = ((ends[direction].outright, count) for ends, count in self._parts)
        return [(chance, count) for chance, count in outright if chance[1] > 0]


@lru_cache(maxsize=_CACHED)
def _log_kept(outright: Ends) -> arb:
    """The log of the probability that not everything is told."""
    if outright[0] >= 1:
        return arb.neg_inf()
    with working_precision(256):
        return (-between(rational(outright[0]), rational(outright[1]))).log1p()


def _as_float(end: LossEnd) -> float:
    if end.largest is None:
        return math.inf
    try:
        return float(end.largest[1])
    except OverflowError:
        return math.inf
