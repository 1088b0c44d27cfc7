"""What is drawn for a question: measures with noise, choices of groups, quantiles.

A draw is the one object of which both the price (``one``, ``count``) and the noise come. It is
checked, when it is made, that the noise is for at least the measure's sensitivity, which is what
the statement clamps to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting import releases
from quaestor.curator.kernel.measures import (
    Chosen,
    JointTotals,
    Measure,
    Reach,
    UnitBins,
    Units,
)
from quaestor.errors import InvalidParameter
from quaestor.mechanisms import (
    CountedQuantile,
    DiscreteGaussian,
    Geometric,
    OptimalSelection,
    PartitionSelection,
    QuantileReach,
    TopK,
)
from quaestor.mechanisms.kinds.geometric import geometric_loss

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from quaestor.accounting.releases import Release

__all__ = [
    "Draw",
    "NoisyMeasure",
    "NoisyQuantile",
    "NoisyReach",
    "NoisyTop",
    "NoisyUnits",
    "ShownGroups",
]

_MOST_FIGURE = 2**61
"""Exact sums are cut to this; a sum that large has no use, and noise cannot overflow it."""
_MOST_SCORE = 2**52
_MOST_COUNT = 2**46
"""More rows than there are: if some were left out, a unit could move ranks by twice as much."""


def _check(name: str, given: float, least: float) -> None:
    if not given >= least:
        raise InvalidParameter(name, given, f"at least {least}: less noise than one unit can move")


def _held(values: Sequence[int] | NDArray[np.int64], low: int, high: int) -> NDArray[np.int64]:
    """Whole numbers, moved into their range."""
    try:
        return np.clip(np.asarray(values, np.int64), low, high)
    except OverflowError:  # beyond 64 bits
        return np.array([min(max(int(value), low), high) for value in values], np.int64)


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
    grain at most. Of k totals with a joint bound B, moves :math:`d_i` of at most B in all become
    :math:`\sum\lceil d_i/g\rceil \le (B + k(g-1))/g` multiples at most, and so does their norm.
    """

    measure: Measure
    mechanism: Geometric | DiscreteGaussian
    spread: int
    grain: int = 1
    as_one: bool = False
    """Whether totals with a joint bound and geometric noise are charged as one total of it."""

    def __post_init__(self) -> None:
        """Check that the noise is for what one unit can do."""
        if type(self.mechanism) not in {Geometric, DiscreteGaussian}:
            raise InvalidParameter("mechanism", self.mechanism, "geometric or Gaussian noise")
        for name, value in (("spread", self.spread), ("grain", self.grain)):
            if type(value) is not int or value < 1:
                raise InvalidParameter(name, value, "a positive whole number")
        parts = len(self.measure.totals) if isinstance(self.measure, JointTotals) else 1
        joint = parts > 1 and type(self.mechanism) is Geometric
        if type(self.as_one) is not bool or (self.as_one and not joint):
            valid = "false, but for geometric noise on totals with a joint bound"
            raise InvalidParameter("as_one", self.as_one, valid)
        if isinstance(self.measure, UnitBins) and self.grain > 1:
            raise InvalidParameter("grain", self.grain, "1 for a histogram")
        if parts > 1 and getattr(self.mechanism, "coordinates", parts) != parts:
            raise InvalidParameter("coordinates", self.mechanism, f"{parts}, one a total")
        moved = (self.measure.sensitivity + parts * (self.grain - 1)) // self.grain
        _check("sensitivity", self.mechanism.sensitivity, moved)

    @property
    def one(self) -> Release:
        r"""The noise on one group; on totals with a joint bound, that of all of them.

        Of those, Gaussian noise is known by its rho, and geometric noise is pure DP of the bound
        by the scale. From the fourth edition of pricing on it is charged ``as_one`` total that
        moves by the whole bound, which is less in a composition.

        Theorem:
            Independent geometric noise of scale b on whole numbers that move by :math:`d_1, \dots,
            d_k` loses at most what it loses on one that moves by their sum, at every epsilon. It
            is enough to see that of two moves, :math:`d_1 \ge d_2`, with sum S. Let :math:`r =
            e^{-1/b}`, :math:`\varepsilon \ge 0`, and T be where the second number falls, as far
            as it tells anything: from 0 to :math:`d_2`, with the loss :math:`(d_2-2T)/b`. Given T,
            the first number's best test leaves

            .. math:: \max_t 1 - \frac{r^{d_1-t+1} + e^\varepsilon r^{d_2-2T} r^t}{1+r}
               = \max_u 1 - r^{-T}\,\frac{r^{S-u+1} + e^\varepsilon r^u}{1+r},

            or 0, with :math:`u = t + d_2 - T`, from :math:`d_2 - T` to :math:`S - T`. (To say yes
            to everything is never better, as :math:`\varepsilon - (d_2-2T)/b \ge -d_1/b`.) The
            fraction's least value over u from 0 to S is 1 less the delta of one move by S
            (:func:`~quaestor.mechanisms.kinds.geometric.laplace_above`), and :math:`r^{-T} \ge 1`:
            whatever T is, at most that delta is left. Both pairs are symmetric, so that this is
            the whole curve.
        """
        if isinstance(self.mechanism, DiscreteGaussian):
            joint = (self.mechanism.coordinates or 1) > 1
            return self.mechanism.concentrated_loss if joint else self.mechanism.loss
        several = isinstance(self.measure, JointTotals) and len(self.measure.totals) > 1
        if several and not self.as_one:
            each = Fraction(self.mechanism.sensitivity) / Fraction(self.mechanism.scale)
            return releases.PureDP(epsilon=above(each))
        return geometric_loss(self.mechanism)

    @property
    def count(self) -> int:
        """The groups that a unit may be in."""
        return self.spread

    @property
    def epsilon(self) -> Fraction | None:
        """The sensitivity by the scale, as the description has them; none for Gaussian noise."""
        one = self.one
        if isinstance(one, releases.PureDP):
            return self.spread * Fraction(one.epsilon)
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

    def draw(self, values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The values of all groups with noise, in steps; what is out of range is moved into it."""
        exact = _held(values, -_MOST_FIGURE, _MOST_FIGURE)
        if not exact.size:
            return exact
        if self.grain == 1:
            return self.mechanism.release(exact)
        return self.mechanism.release((exact + self.grain // 2) // self.grain) * self.grain


class _ByUnits(Draw):
    """A choice of private groups, by their numbers of units."""

    __slots__ = ()

    mechanism: PartitionSelection | OptimalSelection

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

    @staticmethod
    def _counted(
        units: Sequence[int] | NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The groups that have units: their numbers of units, and their places."""
        counts = _held(units, 0, _MOST_FIGURE)
        groups = np.flatnonzero(counts)
        return counts[groups], groups


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyUnits(_ByUnits):
    """The choice of private groups: those whose noisy number of units reaches a threshold.

    The noisy number is released with the group, and serves as the count of units too. Of a group
    near the threshold it is one of those that happened to pass, and a little too large on average.
    """

    measure: Units
    mechanism: PartitionSelection

    def __post_init__(self) -> None:
        """Check that units are what is counted."""
        if type(self.measure) is not Units or type(self.mechanism) is not PartitionSelection:
            raise InvalidParameter("choice", self.measure, "of groups by their units")

    def draw(
        self, units: Sequence[int] | NDArray[np.int64]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The places of the groups that are shown, in order, and their noisy numbers of units."""
        counts, groups = self._counted(units)
        shown, noisy = self.mechanism.among(counts)
        return groups[shown], noisy


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownGroups(_ByUnits):
    """The choice of private groups of which no number of units is told: as many as may be shown."""

    measure: Units
    mechanism: OptimalSelection

    def __post_init__(self) -> None:
        """Check that units are what is counted."""
        if type(self.measure) is not Units or type(self.mechanism) is not OptimalSelection:
            raise InvalidParameter("choice", self.measure, "of groups by their units")

    def draw(self, units: Sequence[int] | NDArray[np.int64]) -> NDArray[np.intp]:
        """The places of the groups that are shown, in their order."""
        counts, groups = self._counted(units)
        return groups[self.mechanism.among(counts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyTop(Draw):
    """The choice of the largest groups, one after another by the exponential mechanism.

    All scores together move by at most the sensitivity each when a unit comes, and none of them
    falls if the mechanism is monotonic: so the number of groups that a unit is in does not matter.
    """

    measure: Measure
    mechanism: TopK

    def __post_init__(self) -> None:
        """Check that the scores move by no more than they are chosen for."""
        vector = isinstance(self.measure, JointTotals | UnitBins)
        if type(self.mechanism) is not TopK or vector:
            raise InvalidParameter("choice", self.measure, "of groups by one measure")
        _check("sensitivity", self.mechanism.sensitivity, self.measure.sensitivity)
        if self.mechanism.monotonic and not self.measure.grows:
            raise InvalidParameter("monotonic", self.measure, "a measure that only grows")

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

    def draw(self, scores: Sequence[int]) -> list[int]:
        """The places of the groups that are chosen, the first one first."""
        held = _held(scores, -_MOST_SCORE, _MOST_SCORE)
        return [int(place) for place in self.mechanism.release(held)]


class _ByRanks(Draw):
    """A choice for every group, by the exponential mechanism on ranks."""

    __slots__ = ()

    mechanism: CountedQuantile | QuantileReach
    spread: int

    @property
    def one(self) -> releases.ExponentialMechanism:
        """One group's choice."""
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

    def _held(self, histogram: Mapping[int, int]) -> dict[int, int]:
        """The counts that the mechanism takes: of values of its domain, and not too many in all."""
        low, high = min(histogram, default=0), max(histogram, default=0)
        fewest = min(histogram.values(), default=0)
        inside = not histogram or self.mechanism.low <= low <= high <= self.mechanism.high
        if inside and fewest >= 0 and sum(histogram.values()) <= _MOST_COUNT:
            return dict(histogram)
        held, left = {}, _MOST_COUNT
        for value, count in histogram.items():
            if self.mechanism.low <= value <= self.mechanism.high:
                held[value] = min(max(count, 0), left)
                left -= held[value]
        return held


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyQuantile(_ByRanks):
    """A quantile of every group."""

    measure: Chosen
    mechanism: CountedQuantile
    spread: int

    def __post_init__(self) -> None:
        """Check that the ranks move by no more than they are chosen for."""
        if type(self.mechanism) is not CountedQuantile or type(self.measure) is not Chosen:
            raise InvalidParameter("quantile", self.measure, "of a histogram")
        _check("rows", self.mechanism.rows, self.measure.sensitivity)

    def draw(self, histograms: Sequence[Mapping[int, int]]) -> NDArray[np.int64]:
        """A value for every group; counts of values outside the domain do not count."""
        drawn = [self.mechanism.release(self._held(each)) for each in histograms]
        return np.array(drawn, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyReach(_ByRanks):
    """How far the interval of every group's quantile goes, about the value that was drawn."""

    measure: Reach
    mechanism: QuantileReach
    spread: int

    def __post_init__(self) -> None:
        """Check that the ranks move by no more than they are chosen for."""
        if type(self.mechanism) is not QuantileReach or type(self.measure) is not Reach:
            raise InvalidParameter("reach", self.measure, "of a quantile")
        _check("rows", self.mechanism.rows, self.measure.sensitivity)

    def draw(
        self, histograms: Sequence[Mapping[int, int]], centres: Sequence[int]
    ) -> NDArray[np.int64]:
        """A number of steps for every group, about its released value."""
        low, high = self.mechanism.low, self.mechanism.high
        drawn = [
            self.mechanism.release(self._held(each), min(max(centre, low), high))
            for each, centre in zip(histograms, centres, strict=True)
        ]
        return np.array(drawn, np.int64)


def above(value: Fraction) -> float:
    """The least float that is not below a fraction."""
    nearest = float(value)
    return nearest if nearest >= value else float(np.nextafter(nearest, np.inf))
