"""What is drawn for a query, and what it costs: here noise on measures.

Each knows the releases that describe it exactly, or from above, to the accountant; its pure
epsilon, if it has one; its rho; and its delta. The last three are exact fractions that are never
below what the releases say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from quaestor.accounting import releases
from quaestor.curator.pricing.losses import geometric_loss
from quaestor.mechanisms import DiscreteGaussian, Geometric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from quaestor.accounting.releases import Release
    from quaestor.curator.measures import Measure

__all__ = ["Draw", "NoisyMeasure"]


class Draw(ABC):
    """One part of what is drawn for a query."""

    __slots__ = ()

    measure: Measure

    @property
    @abstractmethod
    def one(self) -> Release:
        """One release of it, as the accountant knows it."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many such releases one unit can have a part in."""

    @property
    @abstractmethod
    def epsilon(self) -> Fraction | None:
        """The pure epsilon of all of them together; None if there is none."""

    @property
    @abstractmethod
    def rho(self) -> Fraction:
        """The rho of zero-concentrated DP of all of them together (but for ``delta``)."""

    @property
    def delta(self) -> Fraction:
        """The probability with which these do not hold."""
        return Fraction(0)

    @property
    @abstractmethod
    def standard_error(self) -> float:
        """The standard deviation of the noise, in steps of the measure."""

    @abstractmethod
    def reach(self, confidence: float) -> float:
        """How far what is released is off at most with this probability, in steps."""

    @property
    def heavy(self) -> bool:
        """Whether the tails are those of Laplace."""
        return True

    @property
    def certain(self) -> bool:
        """Whether the reach holds for every figure that is shown."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMeasure(Draw):
    r"""A measure of every group, each with independent noise.

    A unit is in at most ``spread`` of the groups and moves each by at most the mechanism's
    sensitivity, so that all groups together are ``spread`` releases, in the product of as many
    pairs at worst. (A smaller move of one number is no easier to see than a larger one: the noise
    is log-concave, the best tests are half-lines, and their odds rise with the move.)

    Totals of very many steps are rounded to the nearest multiple of ``grain`` first, upwards if
    there are two; totals d apart are then at most :math:`\lceil d/g\rceil` multiples apart, which
    is the mechanism's sensitivity. The rounding is of the total and not of rows: it is by half a
    grain at most.
    """

    measure: Measure
    mechanism: Geometric | DiscreteGaussian
    spread: int
    grain: int = 1

    @property
    def one(self) -> Release:
        """The noise on one group."""
        if isinstance(self.mechanism, Geometric):
            return geometric_loss(self.mechanism)
        return self.mechanism.loss

    @property
    def count(self) -> int:
        """The groups that a unit may be in."""
        return self.spread

    @property
    def epsilon(self) -> Fraction | None:
        """The sensitivity by the scale, as the description has them; none for Gaussian noise."""
        one = self.one
        if isinstance(one, releases.Laplace | releases.Geometric):
            return self.spread * Fraction(one.sensitivity) / Fraction(one.scale)
        return None

    @property
    def rho(self) -> Fraction:
        r""":math:`\Delta^2/2\sigma^2` [Canonne, Kamath, Steinke 2020], or half the squared epsilon.

        The latter is [Bun, Steinke 2016, Proposition 1.4].
        """
        if isinstance(self.mechanism, DiscreteGaussian):
            moved = Fraction(self.mechanism.sensitivity) / Fraction(self.mechanism.sigma)
            return self.spread * moved**2 / 2
        each = (self.epsilon or Fraction(0)) / self.spread
        return self.spread * each**2 / 2

    @property
    def standard_error(self) -> float:
        """That of the noise, and of rounding to a grain as if it was uniform."""
        noise = _standard_error(self.mechanism) * self.grain
        if self.grain == 1:
            return noise
        return float((noise**2 + self.grain**2 / 12) ** 0.5)

    def reach(self, confidence: float) -> float:
        """The exact quantile of the noise, and half a grain."""
        steps = _reach(self.mechanism, confidence) * self.grain
        return steps if self.grain == 1 else steps + self.grain / 2

    @property
    def heavy(self) -> bool:
        """Geometric noise has the tails of Laplace."""
        return isinstance(self.mechanism, Geometric)

    def draw(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The values of all groups with noise, in steps."""
        if self.grain == 1:
            return self.mechanism.release(values)
        return self.mechanism.release((values + self.grain // 2) // self.grain) * self.grain


@lru_cache(maxsize=1024)
def _reach(mechanism: Geometric | DiscreteGaussian, confidence: float) -> float:
    return mechanism.interval(confidence=confidence).upper


@lru_cache(maxsize=1024)
def _standard_error(mechanism: Geometric | DiscreteGaussian) -> float:
    return mechanism.standard_error
