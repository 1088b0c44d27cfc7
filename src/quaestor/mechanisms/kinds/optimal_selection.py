"""Which groups may be shown where nothing else is told of them: the optimal probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb

from quaestor.accounting.numerics.balls import rational, working_precision
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases import ApproxDP, Release
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.base import Mechanism, check_confidence
from quaestor.mechanisms.samplers.inversion import all_happen
from quaestor.mechanisms.undisclosed import Undisclosed

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from numpy.typing import NDArray

__all__ = ["OptimalSelection"]

_COUNTS = "a mapping from groups to counts of people, each at least 1"
_BITS = 128
_LARGEST_DELTA = 0.25  # with a half, two people are shown with just 1, which no ball can tell


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimalSelection(Mechanism):
    r"""The groups that are shown, each with the largest probability that privacy allows.

    For groups that are not known in advance, where no count of people is wanted with them: noise on
    a count tells more than whether the group is shown. One person is in at most ``contributions``
    groups and counts once in each.

    Guarantee:
        Per group :math:`(\varepsilon, \delta)`, and ``contributions`` of them differ at most. A
        group of n people is shown with probability :math:`\pi_n`, independently of others:
        :math:`\pi_0 = 0` and

        .. math:: \pi_{n+1} = \min(e^\varepsilon\pi_n + \delta,\;
           1 - e^{-\varepsilon}(1 - \pi_n - \delta),\; 1),

        which is the largest value that keeps :math:`\pi_{n+1} \le e^\varepsilon\pi_n + \delta` and
        :math:`1 - \pi_n \le e^\varepsilon(1 - \pi_{n+1}) + \delta`. So no selection that is
        :math:`(\varepsilon, \delta)`-DP shows any group more often [Desfontaines, Voss, Gipson,
        Mandayam 2022, Theorem 1]. The first bound is the smaller one until :math:`\pi_n` passes
        :math:`(1-\delta)/(1+e^\varepsilon)`, and the second from there on. (Both comparisons, and
        that with 1, are of polynomials in :math:`e^\varepsilon`, which is transcendental: they are
        never equal, so that balls of enough bits decide.)

    >>> some = OptimalSelection(epsilon=1.0, delta=1e-6)
    >>> some.likely, some.certain
    (14, 28)
    """

    epsilon: float
    delta: float
    contributions: int = 1

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        epsilon = check_real("epsilon", self.epsilon, low=1e-9, high=700.0)
        object.__setattr__(self, "epsilon", epsilon)
        delta = check_real("delta", self.delta, low=1e-300, high=_LARGEST_DELTA)
        object.__setattr__(self, "delta", delta)
        contributions = check_count("contributions", self.contributions)
        object.__setattr__(self, "contributions", contributions)

    @property
    def loss(self) -> Release:
        """What one release of all groups costs."""
        return ApproxDP(epsilon=self.epsilon, delta=self.delta) * self.contributions

    def chance(self, count: int) -> arb:
        """The probability that a group of so many people is shown, at the working precision."""
        grown = _grown(self.epsilon, self.delta, min(count, self.turn))
        if count <= self.turn:
            return grown
        fall, odds = (-arb(self.epsilon) * (count - self.turn)), arb(self.epsilon).expm1()
        hidden = fall.exp() * (1 - grown) + arb(self.delta) * fall.expm1() / odds
        return 1 - hidden.max(arb(0))

    @property
    def turn(self) -> int:
        """The last number of people at which the probability grows by the first bound."""
        return _turn(self.epsilon, self.delta)

    @property
    def certain(self) -> int:
        """The least number of people whose group is always shown."""
        return _certain(self)

    @property
    def likely(self) -> int:
        """The least number of people whose group is shown at least every other time."""
        return _least(lambda count: self.chance(count) - arb(1) / 2, start=1)

    def interval(self, *, confidence: float) -> Bounds:
        """The numbers of people between which it is open whether a group is shown.

        Groups of the upper end or more are shown with at least this probability, and groups of
        the lower end or less with at most what is missing to 1.

        >>> OptimalSelection(epsilon=1.0, delta=1e-6).interval(confidence=0.95)
        Bounds(lower=11.0, upper=16.0)
        """
        missing = rational(check_confidence(confidence))
        upper = _least(lambda count: self.chance(count) - (1 - missing), start=1)
        lower = _least(lambda count: self.chance(count) - missing, start=1) - 1
        return Bounds(lower=float(lower), upper=float(upper))

    def release(self, counts: Mapping[Hashable, int]) -> list[Any]:
        """The groups that are shown, in an order that tells nothing.

        The order is that of the groups' own names (their ``repr``), whatever the mapping's was.
        """
        try:
            numbers = {group: int(number) for group, number in counts.items()}
            whole = all(numbers[group] == given for group, given in counts.items())
        except (TypeError, ValueError, OverflowError, AttributeError):
            raise InvalidParameter("counts", Undisclosed(counts), _COUNTS) from None
        if not whole or not all(1 <= number < 2**62 for number in numbers.values()):
            raise InvalidParameter("counts", Undisclosed(counts), _COUNTS)
        groups = list(numbers)
        shown = self.among(np.array(list(numbers.values()), np.int64))
        return sorted((groups[place] for place in shown.tolist()), key=repr)

    def among(self, counts: NDArray[np.int64]) -> NDArray[np.intp]:
        """The places, among counts that are all at least 1, of those that are shown.

        >>> OptimalSelection(epsilon=1.0, delta=1e-6).among(np.array([28, 1])).tolist()
        [0]
        """
        shown = counts >= self.certain
        doubtful = np.flatnonzero(~shown)
        numbers, which = np.unique(counts[doubtful], return_inverse=True)
        chances = [partial(self.chance, count) for count in numbers.tolist()]
        shown[doubtful] = all_happen(chances, which)
        return np.flatnonzero(shown)


def _grown(epsilon: float, delta: float, count: int) -> arb:
    r""":math:`\delta(e^{n\varepsilon} - 1)/(e^\varepsilon - 1)`."""
    return arb(delta) * (arb(epsilon) * count).expm1() / arb(epsilon).expm1()


def _least(above: Callable[[int], arb], *, start: int) -> int:
    """The least number from a start on at which a rising function is at least 0, in balls."""

    def reached(count: int) -> bool:
        bits = _BITS
        while True:
            with working_precision(bits):
                value = above(count)
                if value >= 0:
                    return True
                if value < 0:
                    return False
            bits *= 2

    low, high = start, start
    while not reached(high):
        low, high = high + 1, 2 * high + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return low


@lru_cache(maxsize=256)
def _turn(epsilon: float, delta: float) -> int:
    def above(count: int) -> arb:
        """It is never 0: the power of e would be algebraic."""
        if epsilon * count > 2 - math.log(delta):  # far beyond, and perhaps beyond all exponents
            return arb(1)
        limit = (1 - arb(delta)) / (1 + arb(epsilon).exp())
        return _grown(epsilon, delta, count) - limit

    return _least(above, start=1)


@lru_cache(maxsize=256)
def _certain(mechanism: OptimalSelection) -> int:
    return _least(lambda count: mechanism.chance(count) - 1, start=mechanism.turn)
