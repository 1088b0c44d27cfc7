"""What is drawn for a query without adding noise to a measure: choices of groups, and quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting import releases
from quaestor.curator.pricing.draws import Draw

if TYPE_CHECKING:
    from quaestor.curator.measures import Measure, Units
    from quaestor.curator.pricing.recipes import Chosen
    from quaestor.mechanisms import CountedQuantile, PartitionSelection, TopK

__all__ = ["NoisyQuantile", "NoisyTop", "NoisyUnits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyUnits(Draw):
    """The choice of private groups: those whose noisy number of units reaches a threshold.

    The noisy number is released with the group, and serves as the count of units too. Of a group
    near the threshold it is one of those that happened to pass, and a little too large on average.
    """

    measure: Units
    mechanism: PartitionSelection

    @property
    def one(self) -> releases.ApproxDP:
        """One group."""
        loss = self.mechanism.loss
        one = loss.release if isinstance(loss, releases.Repeated) else loss
        assert isinstance(one, releases.ApproxDP)  # noqa: S101  # by its definition
        return one

    @property
    def count(self) -> int:
        """The groups that a unit may be in."""
        return self.mechanism.contributions

    @property
    def epsilon(self) -> Fraction:
        """What holds but for delta."""
        return self.count * Fraction(self.one.epsilon)

    @property
    def rho(self) -> Fraction:
        r"""An :math:`(\varepsilon, \delta)` release is :math:`\varepsilon^2/2` but for delta.

        [Bun, Steinke 2016, section 8: approximate concentrated DP, and Proposition 1.4]
        """
        return self.count * Fraction(self.one.epsilon) ** 2 / 2

    @property
    def delta(self) -> Fraction:
        """The chance that groups of one unit alone are shown."""
        return self.count * Fraction(self.one.delta)

    @property
    def certain(self) -> bool:
        """Of groups near the threshold only those with large noise are shown."""
        return False

    @property
    def standard_error(self) -> float:
        """That of the noise, before the threshold."""
        return self.mechanism.standard_error

    def reach(self, confidence: float) -> float:
        """That of the noise, before the threshold."""
        return self.mechanism.interval(confidence=confidence).upper


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyTop(Draw):
    """The choice of the largest groups, one after another by the exponential mechanism.

    All scores together move by at most the sensitivity each when a unit comes, and none of them
    falls if the mechanism is monotonic: so the number of groups that a unit is in does not matter.
    """

    measure: Measure
    mechanism: TopK

    @property
    def one(self) -> releases.ExponentialMechanism:
        """One choice."""
        return releases.ExponentialMechanism(
            epsilon=self.mechanism.epsilon,
            sensitivity=self.mechanism.sensitivity,
            monotonic=self.mechanism.monotonic,
        )

    @property
    def count(self) -> int:
        """The groups that are chosen."""
        return self.mechanism.count

    @property
    def epsilon(self) -> Fraction:
        """The bounded range of all choices, which they are pure DP with."""
        return self.count * Fraction(self.one.range_epsilon)

    @property
    def rho(self) -> Fraction:
        """An eighth of the squared range [Cesar, Rogers 2021]."""
        return self.count * Fraction(self.one.range_epsilon) ** 2 / 8

    @property
    def standard_error(self) -> float:
        """That of an exponential law of the mechanism's rate."""
        return 2 * self.mechanism.sensitivity / self.mechanism.epsilon

    def reach(self, confidence: float) -> float:
        """How far a choice among two is behind; among more it may be more."""
        return -self.mechanism.interval(confidence=confidence, candidates=2).lower


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyQuantile(Draw):
    """A quantile of every group, by the exponential mechanism on ranks."""

    measure: Chosen
    mechanism: CountedQuantile
    spread: int

    @property
    def one(self) -> releases.ExponentialMechanism:
        """One group's quantile."""
        loss = self.mechanism.loss
        assert isinstance(loss, releases.ExponentialMechanism)  # noqa: S101  # by its definition
        return loss

    @property
    def count(self) -> int:
        """The groups that a unit may be in."""
        return self.spread

    @property
    def epsilon(self) -> Fraction:
        """The bounded range of all of them, which they are pure DP with."""
        return self.spread * Fraction(self.one.range_epsilon)

    @property
    def rho(self) -> Fraction:
        """An eighth of the squared range [Cesar, Rogers 2021]."""
        return self.spread * Fraction(self.one.range_epsilon) ** 2 / 8

    @property
    def standard_error(self) -> float:
        """In ranks, for values that lie densely: that of a Laplace law of the mechanism's rate."""
        return float(2 * 2**0.5 * self.one.sensitivity / self.mechanism.epsilon)

    def reach(self, confidence: float) -> float:
        """In ranks."""
        return self.mechanism.interval(confidence=confidence).upper
