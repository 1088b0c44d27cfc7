"""Which groups may be shown at all: noisy counts above a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from flint import arb

from quaestor.accounting.numerics.balls import outward, working_precision
from quaestor.accounting.releases import ApproxDP, Release
from quaestor.accounting.releases.base import check_count, check_real
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.base import Mechanism
from quaestor.mechanisms.kinds.geometric import Geometric
from quaestor.mechanisms.undisclosed import Undisclosed

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from numpy.typing import NDArray

    from quaestor.accounting.numerics.bounds import Bounds

__all__ = ["PartitionSelection"]

_COUNTS = "a mapping from groups to counts of people, each at least 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSelection(Mechanism):
    r"""The groups whose noisy count of people reaches a threshold, with that count.

    For groups that are not known in advance: only those with people in them are looked at, so that
    a group's being shown at all could betray a person. One person is in at most ``contributions``
    groups and counts once in each.

    Guarantee:
        Per group :math:`(1/b, \delta)` with :math:`\delta = P(1 + X \ge t) = e^{-(t-1)/b}/(1 +
        e^{-1/b})`, X being the noise. A group that is there with and without the person has a
        count that differs by 1, which costs 1/b. One that is there with the person only has a
        count of 1 and is shown with probability delta; not to be shown then has a probability
        between :math:`1-\delta` and 1. Groups are independent, and ``contributions`` of them
        differ at most.

    >>> PartitionSelection(scale=2.0, threshold=30, contributions=3).loss.count
    3
    """

    scale: float
    threshold: int
    contributions: int = 1

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        object.__setattr__(self, "scale", self._noise.scale)
        threshold = check_count("threshold", self.threshold, smallest=2, largest=2**60)
        object.__setattr__(self, "threshold", threshold)
        contributions = check_count("contributions", self.contributions)
        object.__setattr__(self, "contributions", contributions)
        _ = self.loss

    @classmethod
    def with_delta(cls, *, scale: float, delta: float, contributions: int = 1) -> Self:
        """The least threshold for which ``contributions`` groups add at most this delta.

        >>> PartitionSelection.with_delta(scale=2.0, delta=1e-6).threshold
        28
        """
        delta = check_real("delta", delta, low=1e-300, high=1.0)
        scale = Geometric(scale=scale).scale
        contributions = check_count("contributions", contributions)
        log_chance = math.log(delta) - math.log(contributions) + math.log1p(math.exp(-1 / scale))
        threshold = max(2, math.floor(-scale * log_chance * (1 - 1e-12)) - 1)
        while not _chance(scale, threshold) * contributions <= delta:
            threshold += 1
        return cls(scale=scale, threshold=threshold, contributions=contributions)

    @property
    def loss(self) -> Release:
        """What one release of all groups costs."""
        with working_precision(128):
            epsilon = outward(1 / arb(self.scale)).upper
        delta = _chance(self.scale, self.threshold)
        return ApproxDP(epsilon=epsilon, delta=delta) * self.contributions

    def release(self, counts: Mapping[Hashable, int]) -> dict[Any, int]:
        """The groups that are shown, with their noisy counts, in an order that tells nothing.

        The order is that of the groups' own names (their ``repr``), whatever the mapping's was.
        """
        try:
            groups, numbers = list(counts), [int(number) for number in counts.values()]
            whole = all(
                number == given for number, given in zip(numbers, counts.values(), strict=True)
            )
        except (TypeError, ValueError, OverflowError, AttributeError):
            raise InvalidParameter("counts", Undisclosed(counts), _COUNTS) from None
        if not whole or not all(1 <= number < 2**62 for number in numbers):
            raise InvalidParameter("counts", Undisclosed(counts), _COUNTS)
        places, noisy = self.among(np.array(numbers, np.int64))
        shown = zip(places.tolist(), noisy.tolist(), strict=True)
        named = {groups[place]: count for place, count in shown}
        return dict(sorted(named.items(), key=lambda entry: repr(entry[0])))

    def among(self, counts: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The places, among counts that are all at least 1, of those that are shown; noisy counts.

        >>> PartitionSelection(scale=2.0, threshold=30).among(np.array([1000, 1]))[0].tolist()
        [0]
        """
        noisy = self._noise.release(counts) if counts.size else counts
        shown = np.flatnonzero(noisy >= self.threshold)
        return shown, noisy[shown]

    @property
    def standard_error(self) -> float:
        """The standard deviation of the noise on each count."""
        return self._noise.standard_error

    def interval(self, *, confidence: float) -> Bounds:
        """Where a noisy count, before the threshold, lies about the true one."""
        return self._noise.interval(confidence=confidence)

    @property
    def _noise(self) -> Geometric:
        return Geometric(scale=self.scale)


def _chance(scale: float, threshold: int) -> float:
    """The probability that a group of one person is shown, rounded up."""
    with working_precision(128):
        shown = (-(threshold - 1) / arb(scale)).exp() / (1 + (-1 / arb(scale)).exp())
        return outward(shown).upper
