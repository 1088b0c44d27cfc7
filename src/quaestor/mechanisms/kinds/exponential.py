"""Selection: the exponential mechanism, the noisy maximum, and the best few."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting import releases
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases import PureDP, Release
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.base import Mechanism, check_confidence
from quaestor.mechanisms.samplers.choice import check_scores, choose, flip
from quaestor.mechanisms.samplers.randomness import uniform_below

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["ExponentialMechanism", "NoisyMax", "TopK", "report_noisy_max", "top_k"]

_LARGEST_EPSILON = 700.0


class _Selection(Mechanism):
    """A choice among finitely many candidates by their scores, which move by ``sensitivity``."""

    __slots__ = ()

    epsilon: float
    sensitivity: float

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        epsilon = check_real("epsilon", self.epsilon, low=1e-140, high=_LARGEST_EPSILON)
        sensitivity = check_real("sensitivity", self.sensitivity, low=1e-150, high=1e150)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "sensitivity", sensitivity)

    def interval(self, *, confidence: float, candidates: int) -> Bounds:
        r"""Where the score chosen, less the best one, lies with at least this probability.

        A candidate that is t behind has at most :math:`e^{-\varepsilon t/2\Delta}` times the
        weight of the best one; :math:`t = (2\Delta/\varepsilon)\ln(n/(1-c))` makes that of n
        candidates :math:`1-c` in sum.
        """
        missing = float(check_confidence(confidence))
        number = check_count("candidates", candidates)
        reach = 2 * self.sensitivity / self.epsilon * math.log(number / missing)
        return Bounds(lower=-reach * (1 + 1e-12), upper=0.0)

    @property
    def _rate(self) -> Fraction:
        return Fraction(self.epsilon) / (2 * Fraction(self.sensitivity))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism(_Selection):
    r"""One candidate, with probability :math:`\propto e^{\varepsilon u/2\Delta}` of its score u.

    Exactly so (:mod:`quaestor.mechanisms.samplers.choice` says why). ``monotonic`` says that one
    person moves all scores in the same direction; the law is the same, the cost is half.

    >>> print(ExponentialMechanism(epsilon=1.0).loss)
    ExponentialMechanism(epsilon=1.0, sensitivity=1.0, monotonic=False)
    """

    epsilon: float
    sensitivity: float = 1.0
    monotonic: bool = False

    def release(self, scores: ArrayLike) -> int:
        """The index of the candidate that is chosen."""
        return choose(check_scores(scores), rate=self._rate)

    @property
    def loss(self) -> Release:
        """What one release costs."""
        return releases.ExponentialMechanism(
            epsilon=self.epsilon, sensitivity=self.sensitivity, monotonic=self.monotonic
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMax(_Selection):
    r"""The candidate whose score is largest after exponential noise.

    Theorem:
        With noise of scale :math:`2\Delta/\varepsilon` it is :math:`\varepsilon`-DP, and never
        worse in expectation than the exponential mechanism. The noise is never drawn: to go
        through the candidates in random order and take one with probability
        :math:`e^{\varepsilon(u-u_{max})/2\Delta}` has the same law [McKenna, Sheldon 2020; Ding et
        al. 2021], and takes uniform numbers and coins only, which are drawn exactly.

    >>> print(NoisyMax(epsilon=1.0).loss)
    PureDP(epsilon=1.0)
    """

    epsilon: float
    sensitivity: float = 1.0

    def release(self, scores: ArrayLike) -> int:
        """The index of the candidate that is chosen."""
        checked = check_scores(scores)
        heads = flip(checked, rate=self._rate)
        left = list(range(checked.size))
        while True:
            place = uniform_below(len(left))
            left[place], left[-1] = left[-1], left[place]
            candidate = left.pop()
            if heads(candidate):
                return candidate

    @property
    def loss(self) -> Release:
        """What one release costs."""
        return PureDP(epsilon=self.epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK(_Selection):
    r"""The best ``count`` candidates, one after another by the exponential mechanism.

    Each is drawn exactly from those that are left, so that all together cost ``count`` releases
    of the exponential mechanism with ``epsilon``.

    >>> print(TopK(epsilon=0.1, count=3).loss)
    ExponentialMechanism(epsilon=0.1, sensitivity=1.0, monotonic=False) * 3
    """

    epsilon: float
    count: int
    sensitivity: float = 1.0
    monotonic: bool = False

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        _Selection.__post_init__(self)
        object.__setattr__(self, "count", check_count("count", self.count, largest=10**6))

    def release(self, scores: ArrayLike) -> list[int]:
        """The indices of the candidates, in the order in which they were chosen."""
        checked = check_scores(scores)
        if checked.size < self.count:
            raise InvalidParameter("scores", checked.size, f"at least {self.count} candidates")
        left: NDArray[np.int64] = np.arange(checked.size)
        chosen: list[int] = []
        for _ in range(self.count):
            place = choose(checked[left], rate=self._rate)
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return chosen

    @property
    def loss(self) -> Release:
        """What one release of all of them costs."""
        each = releases.ExponentialMechanism(
            epsilon=self.epsilon, sensitivity=self.sensitivity, monotonic=self.monotonic
        )
        return each * self.count


def report_noisy_max(scores: ArrayLike, *, epsilon: float, sensitivity: float = 1.0) -> int:
    """The index that :class:`NoisyMax` chooses.

    >>> report_noisy_max([0.0, 5.0, 1000.0], epsilon=1.0)
    2
    """
    return NoisyMax(epsilon=epsilon, sensitivity=sensitivity).release(scores)


def top_k(scores: ArrayLike, *, count: int, epsilon: float, sensitivity: float = 1.0) -> list[int]:
    """The indices that :class:`TopK` chooses, ``epsilon`` each.

    >>> sorted(top_k([0.0, 1000.0, 2000.0], count=2, epsilon=1.0))
    [1, 2]
    """
    return TopK(epsilon=epsilon, count=count, sensitivity=sensitivity).release(scores)
