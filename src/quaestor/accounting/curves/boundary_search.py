r"""The lower boundary of a privacy region at one false positive rate: its highest supporting line.

The line of an epsilon is :math:`1 - \delta(\varepsilon) - e^{\varepsilon}a` at a false positive
rate a, and :math:`e^{-\varepsilon}(1 - \delta(\varepsilon) - a)` for what is below the diagonal,
which is written here as that of a negative epsilon. Both are concave in :math:`e^{\varepsilon}`.
"""

from __future__ import annotations

import math
from bisect import insort
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from flint import arb

from quaestor.accounting.numerics.balls import ball_of, outward, working_precision
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.accounting.curves.profile import Profile, WorldPair

__all__ = ["false_negative"]

_FURTHEST: Final = 700.0  # beyond this, powers of e leave the floats
_MARGIN: Final = 1e-6
_STEPS: Final = 40
_TRIALS: Final = 9
_ZOOMS: Final = 40
_FINE: Final = 2e-12  # a ceiling has an error of its own of half that
_NOTHING: Final = 1e-15  # deltas below it change no boundary
_PATIENCE: Final = 3
_WIDER: Final = (1, 6, 36)


def false_negative(pair: WorldPair, alarm: float) -> Bounds:
    """Maximise over the supporting lines of one pair.

    Every line is a lower bound. Between two neighbours of the best trial, a concave function
    stays below the lines through the trials further out; where those meet is an upper bound.
    """
    if alarm == 0.0:
        return _never_certain(pair.over)
    if alarm >= _never_certain(pair.under).upper:  # the mirror image of the same corner
        return Bounds.exactly(0.0)
    line = cache(lambda epsilon: _line(pair, epsilon, alarm))
    search = _PeakSearch(line, alarm)
    low, high = search.narrow_range()
    guessing = math.nextafter(1.0 - alarm, 1.0)  # a test that does not look
    known = Bounds(lower=min(search.best(), guessing), upper=guessing)
    for wider in _WIDER:  # closer together than lines are known, trials say nothing
        middle, reach = (low + high) / 2, wider * (high - low) / 2
        near = max(middle - reach, -_FURTHEST), min(middle + reach, _FURTHEST)
        known = _enclosed(line, *near, known)
        if known.upper < guessing:
            return known
    return _enclosed(line, *search.whole_range(), known)


def _line(pair: WorldPair, epsilon: float, alarm: float) -> Bounds:
    """Enclose the supporting line 1 - delta(epsilon) - e^epsilon a, for epsilon of either sign."""
    curve = pair.over if epsilon >= 0.0 else pair.under
    delta = ball_of(curve.delta_or_less(epsilon=abs(epsilon), least=_NOTHING))
    with working_precision(128):
        if epsilon < 0:
            return outward(arb(epsilon).exp() * (1 - delta - alarm))
        return outward(1 - delta - arb(epsilon).exp() * alarm)


def _never_certain(curve: Profile) -> Bounds:
    with working_precision(128):
        return outward(1 - ball_of(curve.delta_bounds(epsilon=math.inf))).clipped(0.0, 1.0)


class _PeakSearch:
    """Looks for the peak of lines, as roughly as they are known."""

    def __init__(self, line: Callable[[float], Bounds], alarm: float) -> None:
        self._line, self._alarm = line, alarm
        self._trials = [0.0]

    def best(self) -> float:
        """How high the best trial's line is at least; no line is below 0 everywhere."""
        return max(0.0, *(self._line(trial).lower for trial in self._trials))

    def whole_range(self) -> tuple[float, float]:
        r"""Between which epsilons the peak is, by the best trial so far.

        Lines are at most :math:`1 - e^{\varepsilon}a` high on one side, and at most
        :math:`e^{\varepsilon}(1-a)` on the other.
        """
        best = self.best()
        if best == 0.0:
            return -_FURTHEST, _MARGIN
        low = math.log(min(best / (1.0 - self._alarm), 1.0))
        high = math.log(max((1.0 - best) / self._alarm, 1.0))
        return max(low, -_FURTHEST) - _MARGIN, min(high, _FURTHEST) + _MARGIN

    def narrow_range(self) -> tuple[float, float]:
        """A narrow range with the peak in its middle, most likely: by parabolas.

        It is so narrow that lines in it differ little more than by how well they are known.
        """
        spans = [math.inf, math.inf]
        for _ in range(_STEPS):
            top = max(range(len(self._trials)), key=lambda at: self._height(self._trials[at]))
            if not 0 < top < len(self._trials) - 1:
                if math.exp(self._trials[0]) * (1.0 - self._alarm) < _FINE:
                    break  # it makes no difference where the peak is
                self._step_out(at_the_end=top > 0)
                continue
            left, middle, right = self._trials[top - 1 : top + 2]
            most = 16 * max(self._line(middle).width, _FINE / 4)
            if self._height(middle) - min(map(self._height, (left, right))) <= most:
                reach = 4 * max(middle - left, right - middle)
                return max(middle - reach, -_FURTHEST), min(middle + reach, _FURTHEST)
            vertex = self._vertex(left, middle, right)
            known = min(abs(vertex - trial) for trial in (left, middle, right))
            if known < (right - left) / 64 or right - left > spans[-2] / 2:  # it comes no nearer
                wider = (left, middle) if middle - left > right - middle else (middle, right)
                vertex = sum(wider) / 2
            spans.append(right - left)
            insort(self._trials, vertex)
        return self.whole_range()

    def _step_out(self, *, at_the_end: bool) -> None:
        """One more trial beyond the last one, or before the first: each time twice as far."""
        low, high = self.whole_range()
        first, last = self._trials[0], self._trials[-1]
        step = 2 * (last - first) or max(1.0 - self.best() - self._alarm, _MARGIN)
        if at_the_end or (first == last and high > -low):
            self._trials.append(min(last + step, (last + high) / 2))
        else:
            self._trials.insert(0, max(first - step, (first + low) / 2))

    def _height(self, trial: float) -> float:
        found = self._line(trial)
        return (found.lower + found.upper) / 2

    def _vertex(self, left: float, middle: float, right: float) -> float:
        """Where the parabola through three trials has its peak; the middle one if nowhere."""
        here = self._height(middle)
        before = (here - self._height(left)) / (middle - left)
        after = (self._height(right) - here) / (right - middle)
        bend = 2 * (after - before) / (right - left)
        if bend >= 0.0:
            return middle
        slope = (before * (right - middle) + after * (middle - left)) / (right - left)
        vertex = middle - slope / bend
        return vertex if left < vertex < right else middle


def _enclosed(line: Callable[[float], Bounds], low: float, high: float, best: Bounds) -> Bounds:
    """Lines at trials ever closer to each other, around the best: as long as that says more."""
    stalled, finest = 0, 1e-13 * max(abs(low), abs(high))
    gap = (high - low) / (_TRIALS - 1)
    trials = [low + at * gap for at in range(_TRIALS)]
    for _ in range(_ZOOMS):
        lines = [line(trial) for trial in trials]
        top = max(range(_TRIALS), key=lambda at: lines[at].lower)
        gained, doubt = lines[top].lower - best.lower, lines[top].width
        lower, ceiling = max(best.lower, lines[top].lower), _ceiling(trials, lines, top)
        best = Bounds(lower=lower, upper=max(min(best.upper, ceiling), lower))
        lost = ceiling == math.inf and doubt > _FINE / 16 and gained <= doubt / 16
        stalled = stalled + 1 if lost else 0  # trials are closer together than they are known
        if best.width <= max(_FINE, 2 * doubt) or gap < finest or stalled == _PATIENCE:
            break
        first = min(max(top - 2, 0), _TRIALS - 5)
        kept = trials[first : first + 5]
        gap = (kept[-1] - kept[0]) / (_TRIALS - 1)
        trials = sorted([*kept, *((one + two) / 2 for one, two in pairwise(kept))])
    return best


def _ceiling(trials: Sequence[float], lines: Sequence[Bounds], top: int) -> float:
    """An upper bound on a concave function of e^trial, if its peak is certainly near ``top``.

    Ways between trials are computed as such: they may be tiny beside e^trial, and lines steep.
    """
    if not 2 <= top <= len(trials) - 3:
        return math.inf
    places = [trials[at] - trials[top] for at in range(top - 2, top + 3)]
    ys = lines[top - 2 : top + 3]
    if ys[1].upper > ys[2].lower or ys[3].upper > ys[2].lower:
        return math.inf

    def way(start: int, end: int) -> float:
        return math.exp(places[start]) * math.expm1(places[end] - places[start])

    def beyond(first: int, second: int) -> _Chord:
        """From the second point's upper end, as steeply as the first one allows."""
        slope = (ys[second].upper - ys[first].lower) / way(first, second)
        return _Chord(ys[second].upper, slope)

    return max(
        _peak(beyond(0, 1), beyond(3, 2), way(1, 2)),
        _peak(beyond(1, 2), beyond(4, 3), way(2, 3)),
    )


class _Chord(NamedTuple):
    """The line through two points of a concave function, beyond the second: it stays above it."""

    height: float
    slope: float


def _peak(left: _Chord, right: _Chord, way: float) -> float:
    """The largest value of the lower of two lines, of which the second starts a way further."""
    ends = [0.0, way]
    if left.slope != right.slope:
        cross = (right.height - right.slope * way - left.height) / (left.slope - right.slope)
        ends.append(min(max(cross, 0.0), way))
    lower = (
        min(left.height + left.slope * x, right.height + right.slope * (x - way)) for x in ends
    )
    sizes = abs(left.height) + abs(right.height) + (abs(left.slope) + abs(right.slope)) * way
    return max(lower) * (1 + 1e-12) + 1e-14 + 1e-15 * sizes  # of which nearly all may cancel
