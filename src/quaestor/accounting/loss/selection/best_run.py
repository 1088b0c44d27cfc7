r"""What the best of a random number of runs tells, from what one run tells.

Let P and Q be the two worlds' laws of one output, outputs be ordered, and y the chance in world P
that a run beats an output. In world Q that chance is at most :math:`R(y)`, where R is the curve of
detections of one run. With ``a`` from :mod:`~quaestor.accounting.loss.selection.run_counts`, the
best run has the densities :math:`a(y)\,dP` and at least :math:`a(R(y))\,dQ`. So for
:math:`\alpha\ge1`, with L = dP/dQ,

.. math:: \delta' \le \int\bigl(a(y) - \alpha a(R(y))/L\bigr)_+dP,

where y is uniform under P. Each L may stand at any y, but only dy of P at each. For any price
:math:`\varphi(y)\ge0` of a place the integral is at most
:math:`\int_0^1\varphi + E_P[\max_y(a(y)-\alpha a(R(y))/L)_+-\varphi(y)]` (weak duality). Prices
:math:`\varphi = (a-\theta)_+` make that

.. math:: \int_0^1(a-\theta)_+dy + E_P[g_\theta(\alpha/L)],\qquad
          g_\theta(s) = \max_y\,(\min(a(y),\theta) - s\,a(R(y)))_+,

and every theta gives a bound. The moments follow in the same way: :math:`\int a(y)^\lambda
a(R(y))^{1-\lambda}P^\lambda Q^{1-\lambda}` is at most the moment of one run times the largest
:math:`a(y)(a(y)/a(R(y)))^{\lambda-1}`.

The maximum over y is taken over cells: ``a`` falls, and :math:`a(R(y))/a(y)` is monotone where R is
straight, so that the ends of a cell bound both.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quaestor.accounting.loss.selection.run_counts import RunCount
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["Selection", "selected_pair"]

_STEP, _FAR_STEP = 0.008, 0.1  # nats by which a falls from place to place
_NEAR, _FAR = 16.0, 80.0
_PRICES = (0.0, 0.03, 0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
_POINTS = 240
_FEW = 60
_LEAST = 1e-36  # deltas below this are not told apart
_LEVELS = 1200
_DEEP = 45.0  # log s below which nothing is lost to it
_WIDEST = 600.0  # gaps of log s within which there are chords
_SHARES = 32
_COARSEST = 1e-6  # share by which a mass of a pair may be off
_UP = 1 + 1e-11  # sums of thousands of masses, each off by some units


class _Cells(NamedTuple):
    """Stretches of y, each bounded by its two ends; ``a`` is in units of its largest value."""

    height: Floats
    """The largest ``log a``."""

    end: Floats
    """The least ``log a``."""

    change: Floats
    """The least ``log(a(R) / a)``."""

    rest: Floats
    """The least ``log a(R)``."""


class Selection:
    """The best of so many runs, each of which tells at most what a symmetric law has."""

    def __init__(self, law: FiniteLoss, runs: RunCount) -> None:
        self.runs = runs
        self._known_gains: dict[float, Floats] = {}
        order = np.argsort(-law.losses, kind="stable")
        self.losses = law.losses[order] * (1 + np.sign(law.losses[order]) * 1e-14) + law.blur
        self.masses = np.exp(law.log_first[order]) * (_UP + law.error)
        self.told = law.infinite.upper
        with certified_arithmetic():
            alarms = np.concatenate(([0.0], np.cumsum(np.exp(law.log_second[order]))))
            detections = self.told + np.concatenate(([0.0], np.cumsum(self.masses)))
            self.cells = self._cells(alarms, detections, law.opposite.upper)
        self.change = float(np.min(self.cells.change))

    def _cells(self, alarms: Floats, detections: Floats, missing: float) -> _Cells:
        falls = np.concatenate(
            (np.arange(0.0, _NEAR, _STEP), np.arange(_NEAR, _FAR + _FAR_STEP, _FAR_STEP))
        )
        places = np.concatenate((alarms, self.runs.places(falls), [1.0]))
        places = np.unique(np.clip(places, 0.0, 1.0))
        found = np.interp(places + missing, alarms, detections, right=1.0)
        found = np.minimum(np.maximum(found * _UP, places), 1.0)
        before, after = self.runs.falls(places), self.runs.falls(found)
        doubts = self.runs.doubt(before), self.runs.doubt(after)
        change = np.minimum(before - after, 0.0) - doubts[0] - doubts[1]
        return _Cells(
            np.minimum(doubts[0] - before, 0.0)[:-1],
            (-before - doubts[0])[1:],
            np.minimum(change[:-1], change[1:]),
            (-after - doubts[1])[1:],
        )

    def furthest(self) -> float:
        """No finite loss is larger than this."""
        most = float(np.max(self.losses, initial=0.0)) + float(self.levels[-1])
        return most * (1 + 1e-14)

    def log_factor(self, order: float) -> float:
        """What the log-moment of this order grows by: the mean and all."""
        with certified_arithmetic():
            most = float(np.max(self.cells.height - order * self.cells.change))
        return math.log(self.runs.mean) + most + 1e-12 * (1 + abs(most))

    def deltas(self, epsilons: Floats) -> Floats:
        """Upper bounds on delta at each epsilon, for the best price."""
        best = np.ones(epsilons.shape)
        with certified_arithmetic():
            chords = _Chords.of(self.levels, np.subtract.outer(epsilons, self.losses))
            for price in _PRICES:
                best = np.minimum(best, self._at_price(chords, price))
        return best

    def _at_price(self, chords: _Chords, price: float) -> Floats:
        """Where a place costs all that ``a`` has above ``e^-price`` of its largest value."""
        mean, paid = self.runs.mean, 0.0
        if price > 0.0:
            place = self.runs.places(np.array([price]))
            reached = float(self.runs.reached(place)[0])
            above = reached - mean * math.exp(-price) * float(place[0])
            paid = max(above, 0.0) + 1e-11 * reached
        gains = self._gains(price)
        gain = chords.through(gains) @ self.masses + self.told * gains[0]
        total: Floats = paid + mean * gain * (1 + 1e-9)
        return total

    @cached_property
    def levels(self) -> Floats:
        """Logarithms of s, up to where nothing is left."""
        end = max(-self.change, 1e-12)
        near = np.linspace(-_DEEP, min(end, _DEEP), _LEVELS)
        if end <= _DEEP:
            return near
        return np.concatenate((near, np.geomspace(_DEEP, end, _LEVELS // 2)[1:]))

    def _gains(self, price: float) -> Floats:
        r"""At least :math:`g_\theta(s)` at each level; below the first one it is the largest."""
        if price in self._known_gains:
            return self._known_gains[price]
        cells = self.cells
        top = np.minimum(cells.height, 1e-13 - price)
        change = np.where(
            cells.end >= -price, np.maximum(cells.rest - top, cells.change), cells.change
        )
        top, change = _undominated(top, change)
        tops = np.exp(top)
        gains = np.zeros(self.levels.shape)
        for i, level in enumerate(self.levels):
            eased = level - 1e-13 * (1 + abs(level))
            gains[i] = float(np.max(-tops * np.expm1(np.minimum(eased + change, 0.0))))
        gains[0], gains[-1] = float(np.max(tops)), 0.0
        self._known_gains[price] = gains
        return gains

    def points(self) -> tuple[list[float], list[float]]:
        """Points of the profile, from 0 to where next to nothing more is to be had."""
        end = self.furthest()
        epsilons = np.linspace(0.0, end, _FEW)
        deltas = self.deltas(epsilons)
        floor = max(deltas[-1] * 2, _LEAST)
        reach = epsilons[min(int(np.searchsorted(-deltas, -floor)), _FEW - 1)]
        epsilons = np.append(np.linspace(0.0, reach, _POINTS), end)
        deltas = np.maximum.accumulate(self.deltas(epsilons)[::-1])[::-1]
        return epsilons.tolist(), np.minimum(deltas, 1.0).tolist()


def _undominated(top: Floats, change: Floats) -> tuple[Floats, Floats]:
    """Without cells of which another one has more, and loses less of it."""
    order = np.lexsort((change, -top))
    least = np.minimum.accumulate(change[order])
    kept = order[np.concatenate(([True], least[1:] < least[:-1]))]
    return top[kept], change[kept]


class _Chords(NamedTuple):
    """Where some log s lie between levels: a convex function of s is below its chords."""

    left: NDArray[np.intp]
    share: Floats

    @classmethod
    def of(cls, levels: Floats, odds: Floats) -> _Chords:
        inside = np.clip(odds, levels[0], levels[-1])
        left = np.clip(np.searchsorted(levels, inside, side="right") - 1, 0, levels.size - 2)
        gap, beyond = levels[left + 1] - levels[left], inside - levels[left]
        wide = gap > _WIDEST
        share = np.expm1(np.where(wide, 0.0, beyond)) / np.expm1(np.where(wide, 1.0, gap))
        return cls(left, np.clip(share, 0.0, 1.0))

    def through(self, values: Floats) -> Floats:
        """The chords of a function that has these values at the levels."""
        start = values[self.left]
        ends: Floats = start + self.share * (values[self.left + 1] - start)
        return ends


def selected_pair(law: FiniteLoss, runs: RunCount, *, best_first: bool) -> FiniteLoss | None:
    """What the best run tells, if the likeliest output is the best one, or the worst.

    Each outcome of one run is many outputs of different quality and the same likelihood. None
    where floats do not hold the pair.
    """
    told, never = law.infinite, law.opposite
    if told.lower < told.upper or never.lower < never.upper or law.error > 0.0:
        return None
    rising = np.argsort(law.losses, kind="stable")
    shares = np.zeros((2, _SHARES * rising.size + 2))
    for world, logs in enumerate((law.log_first, law.log_second)):
        shares[world, 1:-1] = np.repeat(np.exp(np.maximum(logs[rising], -_DEEP)), _SHARES) / _SHARES
    shares[1, 0], shares[0, -1] = never.lower, told.lower
    if bool(np.any(np.abs(np.sum(shares, axis=1) - 1.0) > 1e-9)):
        return None
    if best_first:
        shares = shares[:, ::-1]
    better = np.minimum(np.cumsum(np.pad(shares, ((0, 0), (1, 0))), axis=1), 1.0)
    masses = np.diff(runs.reached(better), axis=1)
    inside = np.min(shares, axis=0) > 0.0
    least = float(np.min(masses[:, inside], initial=1.0))
    if not least > 1e-12 / _COARSEST:
        return None
    only = np.sum(masses[:, ~inside], axis=1).tolist()
    none = 1.0 - float(runs.reached(np.ones(1))[0])
    kept = masses[:, inside]
    if none > 0.0:
        kept = np.append(kept, [[none], [none]], axis=1)
    logs = np.log(kept)
    error = 1e-12 / min(least, none or 1.0)
    return FiniteLoss(
        logs[0] - logs[1],
        *logs,
        infinite=_near(only[0]),
        opposite=_near(only[1]),
        blur=2 * error,
        error=error,
    )


def _near(mass: float) -> Bounds:
    """An exact 0 stays one."""
    if mass == 0.0:
        return Bounds.exactly(0.0)
    return Bounds(lower=mass * (1 - 1e-9), upper=mass * (1 + 1e-9)).clipped(0.0, 1.0)
