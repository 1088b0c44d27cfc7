r"""How often a mechanism is run before the best of its outputs is released.

With a random number K of runs, and y the chance that one run is better than a given output, that
output is the best so far with a density that grows by :math:`a(y) = E[K(1-y)^{K-1}]`; none of the
runs is better with probability :math:`E[(1-y)^K]`.

A truncated negative binomial number of runs has :math:`a(y) = m(1+ry)^{-(\eta+1)}`, where eta is
its shape, m its mean and :math:`r = (1-\gamma)/\gamma`. A shape of 1 is the geometric distribution,
0 the logarithmic one, and infinity, where :math:`a(y) = me^{-my}`, is Poisson's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from flint import arb

from quaestor.accounting.numerics.balls import working_precision

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["RunCount"]

_BITS = 256
_TURNS = 400


class RunCount(NamedTuple):
    """A number of runs: its mean, and its shape, of which None is Poisson's.

    Numbers are floats, off by at most :meth:`doubt` in their logarithms.

    >>> geometric = RunCount(10.0, 1.0)
    >>> round(float(geometric.odds()), 12)  # it stops after each run with probability 1/10
    9.0
    """

    mean: float
    shape: float | None

    def odds(self) -> float:
        """The r of the truncated negative binomial distribution, to a unit in the last place."""
        assert self.shape is not None  # noqa: S101
        return _odds(self.mean, self.shape)

    def falls(self, better: Floats) -> Floats:
        """``log(a(0) / a(y))``: how much less often a run with y better ones is the best."""
        if self.shape is None:
            return self.mean * better
        slower: Floats = (self.shape + 1) * np.log1p(self.odds() * better)
        return slower

    def places(self, falls: Floats) -> Floats:
        """The y up to 1 at which ``a`` has fallen so much: the other way round."""
        inside = np.minimum(falls, float(self.falls(np.ones(1))[0]))
        if self.shape is None:
            return np.minimum(inside / self.mean, 1.0)
        odds = self.odds()
        if odds == 0.0:
            return np.ones(falls.shape)
        return np.minimum(np.expm1(inside / (self.shape + 1)) / odds, 1.0)

    def reached(self, better: Floats) -> Floats:
        """The chance that the best run is among the best y: ``1 - E[(1 - y)^K]``."""
        if self.shape is None:
            some: Floats = -np.expm1(-self.mean * better)
            return some
        odds = self.odds()
        if odds == 0.0:
            return better
        inside, whole = np.log1p(odds * better), np.log1p(odds)
        if self.shape == 0.0:
            return np.asarray(inside / whole)
        share: Floats = np.expm1(-self.shape * inside) / np.expm1(-self.shape * whole)
        return share

    def doubt(self, falls: Floats) -> Floats:
        """How far the logarithm of ``a`` may be off where it has fallen so much."""
        return 1e-13 * (2.0 + (self.shape or 0.0) + falls)


@lru_cache(maxsize=1024)
def _odds(mean: float, shape: float) -> float:
    r"""The r with :math:`m = \eta r/(1-(1+r)^{-\eta})`, by bisection in balls."""
    if mean == 1.0:
        return 0.0
    if shape == 1.0:
        return mean - 1.0
    with working_precision(_BITS):
        low, high = arb(0), arb(1)
        while not _mean(high, shape) > mean:
            low, high = high, high * 2
        for _ in range(_TURNS):
            middle = ((low + high) / 2).mid()
            if _mean(middle, shape) > mean:
                high = middle
            else:
                low = middle
            if float(low) == float(high):
                break
        return float(high)


def _mean(odds: arb, shape: float) -> arb:
    if shape == 0.0:
        return odds / odds.log1p()
    power = -(-odds.log1p() * arb(shape)).expm1()
    return arb(shape) * odds / power
