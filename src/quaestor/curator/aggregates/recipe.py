"""Recipes: from noisy measures to an aggregate, with its error.

What is released scatters about the truth as its draw says (:class:`Scatter`); a recipe says what
an aggregate is made of, and what becomes of its measures' noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from quaestor.curator.aggregates.whole_error import allotted
from quaestor.curator.kernel.draws import (
    NoisyMeasure,
    NoisyQuantile,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.kernel.measures import Total
from quaestor.mechanisms import DiscreteGaussian, Geometric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.whole_error import Ends, Missing
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.kernel.draws import Draw
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Aggregate

__all__ = ["Estimates", "Expected", "Linear", "Noised", "Recipe", "Scatter", "approximate_reach"]

_FEW_STEPS = 50.0
"""The scale of geometric noise from which on it is nearly Laplace noise."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """The noise of a draw, in steps of its measure, before anything is drawn.

    Of private groups it is that before the threshold; of quantiles and of the largest groups it is
    counted in ranks and in scores.
    """

    draw: Draw

    @property
    def standard_error(self) -> float:
        """The standard deviation; rounding to a grain counts as if it was uniform."""
        match self.draw:
            case NoisyMeasure() as draw:
                noise = _standard_error(draw.mechanism) * draw.grain
                return noise if draw.grain == 1 else float((noise**2 + draw.grain**2 / 12) ** 0.5)
            case NoisyUnits() as draw:
                return draw.mechanism.standard_error
            case ShownGroups() as draw:  # of the threshold that noise of its epsilon would have
                return float(2**0.5 / draw.mechanism.epsilon)
            case NoisyTop() as draw:  # that of an exponential law of the mechanism's rate
                return 2 * draw.mechanism.sensitivity / draw.mechanism.epsilon
            case NoisyQuantile() as draw:  # for values that lie densely: that of a Laplace law
                return float(2 * 2**0.5 * draw.one.sensitivity / draw.mechanism.epsilon)
            case NoisyReach():  # it is an error itself
                return 0.0
        raise TypeError(type(self.draw).__name__)

    def reach(self, confidence: float) -> float:
        """How far what is released is off at most with this probability."""
        match self.draw:
            case NoisyMeasure() as draw:
                steps = _reach(draw.mechanism, confidence) * draw.grain
                return steps if draw.grain == 1 else steps + draw.grain / 2
            case NoisyTop() as draw:  # behind a choice among two; among more it may be more
                return -draw.mechanism.interval(confidence=confidence, candidates=2).lower
            case NoisyUnits() | NoisyQuantile() as draw:
                return draw.mechanism.interval(confidence=confidence).upper
            case NoisyReach() as draw:
                return draw.mechanism.ranks
        raise TypeError(type(self.draw).__name__)

    def steps_reach(self, confidence: float) -> float:
        """How many standard errors the reach of geometric noise of few steps is; else 0."""
        draw = self.draw
        if not (isinstance(draw, NoisyMeasure) and isinstance(draw.mechanism, Geometric)):
            return 0.0
        few = draw.mechanism.scale < _FEW_STEPS
        return self.reach(confidence) / self.standard_error * (1 + 1e-9) if few else 0.0

    @property
    def heavy(self) -> bool:
        """Whether the tails are those of Laplace, and not of Gauss."""
        draw = self.draw
        return not (isinstance(draw, NoisyMeasure) and isinstance(draw.mechanism, DiscreteGaussian))

    @property
    def certain(self) -> bool:
        """Whether the reach holds for every figure that is shown.

        Of private groups near the threshold only those with large noise are shown.
        """
        return not isinstance(self.draw, NoisyUnits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noised:
    """A measure as it was released: one number a group, in its steps, and how it scatters."""

    values: NDArray[np.int64]
    scatter: Scatter


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """An aggregate by group, with what is known of its error.

    ``approximate`` says that errors and intervals are those of the linearised aggregate (the
    delta method); if it is False the interval holds with at least the stated probability.
    """

    values: NDArray[Any]
    errors: NDArray[np.float64] | None
    lower: NDArray[np.float64] | None
    upper: NDArray[np.float64] | None
    approximate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The error of an output, foretold without looking at the data.

    With ``divided_by`` the figures are to be divided by the number of rows of the group, which is
    private: they are then bounds for whatever the data are. None: nothing can be foretold.
    """

    name: str
    standard_error: float | None
    half_width: float | None
    words: str
    divided_by: Literal["rows"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(ABC):
    """How one aggregate is computed of measures."""

    aggregate: Aggregate

    @property
    @abstractmethod
    def measures(self) -> tuple[Measure, ...]:
        """The measures that it takes."""

    @property
    @abstractmethod
    def weights(self) -> tuple[float, ...]:
        """How much each measure's noise matters.

        The squared error of the aggregate, in units of the most that one person can move it, is
        the sum of these times the variance of each measure's noise in units of its sensitivity.
        """

    @property
    def whole(self) -> bool:
        """Whether estimates are whole numbers."""
        return False

    @property
    def alone(self) -> Measure | None:
        """The one measure that it is a multiple of, if it is: groups are chosen by such only."""
        return None

    @property
    def error_known(self) -> bool:
        """Whether its error is that of the noise alone, whatever the data are."""
        return False

    def reach(self, scatters: Mapping[Measure, Scatter], *, confidence: float) -> float:
        """How far it is off at most with this probability, where its error is known."""
        del scatters, confidence
        return math.inf

    @abstractmethod
    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The aggregate of every group."""

    def whole_interval(
        self, noised: Mapping[Measure, Noised], missing: Sequence[Missing], *, confidence: float
    ) -> Ends | None:
        """An interval for the aggregate under outer limits; None where there is none.

        ``missing`` is of the measures that the aggregate's kind says are cut, in their order.
        """
        del noised, missing, confidence
        return None

    @property
    def cuts(self) -> tuple[tuple[Counted, float], ...] | None:
        """What limits cut of it, where that is in other steps than its kind says; else None."""
        return None

    def measured(
        self, noised: Mapping[Measure, Noised], measure: Measure
    ) -> NDArray[np.float64] | None:
        """What was released of a measure, or follows for it from others; None if nothing does."""
        held = noised.get(measure)
        return None if held is None else held.values.astype(np.float64)

    def whole_words(
        self, noised: Mapping[Measure, Noised], missing: Sequence[Missing], *, confidence: float
    ) -> str | None:
        """What else there is to say of the whole error, for an aggregate without an interval."""
        del noised, missing, confidence
        return None

    @abstractmethod
    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """Its error, before anything is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(Recipe):
    r"""A sum of measures times public coefficients.

    One measure with its coefficient for counts and most sums. A sum next to a mean of the same
    operand takes two that the mean takes too, and costs nothing: the total of x - c, and c times
    the rows.

    Estimates are never moved into the range of what is possible, so that they stay unbiased and
    their sums over groups do too; a count may be released as -3. The ends of intervals are moved
    there (0 is the ``least`` count, say), which leaves out nothing that could be true.

    Guarantee:
        The interval holds with at least its confidence, rounding included: the exact quantile of
        the noise for one measure, and for several the sum of their reaches, each of which is
        missed with an equal part of the probability.
    """

    terms: tuple[tuple[Measure, float], ...]
    largest: float
    """The most that one unit can move it."""
    least: float = -math.inf
    most: float = math.inf

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures with a coefficient."""
        return tuple(measure for measure, _ in self.terms)

    @property
    def weights(self) -> tuple[float, ...]:
        """The squared share of each term in the most that one unit can do."""
        if len(self.terms) == 1 or not self.largest:
            return (1.0,) * len(self.terms)
        return tuple(
            (coefficient * measure.sensitivity / self.largest) ** 2
            for measure, coefficient in self.terms
        )

    @property
    def whole(self) -> bool:
        """Sums of whole numbers are whole."""
        return all(float(coefficient).is_integer() for _, coefficient in self.terms)

    @property
    def alone(self) -> Measure | None:
        """Its measure, where it has one term."""
        return self.terms[0][0] if len(self.terms) == 1 else None

    @property
    def error_known(self) -> bool:
        """It is the sum of its terms' errors."""
        return True

    def reach(self, scatters: Mapping[Measure, Scatter], *, confidence: float) -> float:
        """How far it is off at most with this probability, rounded up."""
        if not 0 < confidence < 1:
            return math.inf
        each = 1 - (1 - confidence) / len(self.terms)
        reach = math.fsum(
            abs(coefficient) * scatters[measure].reach(each) for measure, coefficient in self.terms
        )
        return reach if self.whole else reach * (1 + 1e-12)

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The figures, their noise, and an interval that is certain."""
        scatters = {measure: noised[measure].scatter for measure in self.measures}
        figures = self._figures(noised)
        lower, upper = self.ends(noised, confidence=confidence)
        return Estimates(
            values=figures,
            errors=np.full(figures.shape, self._error(scatters)),
            lower=np.clip(lower, self.least, self.most),
            upper=np.clip(upper, self.least, self.most),
            approximate=not all(scatter.certain for scatter in scatters.values()),
        )

    def ends(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Ends:
        """As far as noise reaches, also where that is not possible."""
        scatters = {measure: noised[measure].scatter for measure in self.measures}
        floats = self._figures(noised).astype(np.float64)
        reach = self.reach(scatters, confidence=confidence)
        return floats - reach, floats + reach

    def _figures(self, noised: Mapping[Measure, Noised]) -> NDArray[Any]:
        kind = np.int64 if self.whole else np.float64
        figures: NDArray[Any] = np.sum(
            [noised[measure].values.astype(kind) * kind(times) for measure, times in self.terms],
            axis=0,
        )
        return figures

    def whole_interval(
        self, noised: Mapping[Measure, Noised], missing: Sequence[Missing], *, confidence: float
    ) -> Ends:
        """The figures with their noise, and with what is missing of them.

        Guarantee:
            It holds with at least its confidence for every unit within the outer limits: the risk
            is divided between the noise of the figures and what is missing.
        """
        scatters = {measure: noised[measure].scatter for measure in self.measures}
        (lack,) = missing
        risks = allotted(1 - confidence, [self._error(scatters), lack.error])
        lower, upper = self.ends(noised, confidence=1 - risks[0])
        low, high = lack.within(risks[1]) if lack.error else (0.0, 0.0)
        least, most = self.least, self.most
        if not lack.cut.grows:
            least = -math.inf if isinstance(lack.cut.outer, Total) else least
            most = math.inf
        return np.clip(lower + low, least, most), np.clip(upper + high, least, most)

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """What the noise alone says."""
        error, reach = self._error(scatters), self.reach(scatters, confidence=confidence)
        return Expected(
            name=name,
            standard_error=error,
            half_width=reach,
            words=f"within {reach:.6g} with probability {confidence:g}",
        )

    def _error(self, scatters: Mapping[Measure, Scatter]) -> float:
        return math.hypot(
            *(times * scatters[measure].standard_error for measure, times in self.terms)
        )


def approximate_reach(scatters: list[Scatter], *, confidence: float) -> float:
    """How many standard errors to either side an approximate interval goes.

    The quantile of a Gaussian; where a part of the noise is Laplace, that of Laplace noise if it
    is farther out, and where that is of few whole steps, that of the steps: with an epsilon of 1.4
    an end that lies just before a whole number would be missed twice as often. A sum of several
    such is in between.
    """
    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    if not any(scatter.heavy for scatter in scatters):
        return normal
    steps = [scatter.steps_reach(confidence) for scatter in scatters]
    return max(normal, math.log(1 / (1 - confidence)) / math.sqrt(2), *steps)


@lru_cache(maxsize=1024)
def _reach(mechanism: Geometric | DiscreteGaussian, confidence: float) -> float:
    return mechanism.interval(confidence=confidence).upper


@lru_cache(maxsize=1024)
def _standard_error(mechanism: Geometric | DiscreteGaussian) -> float:
    return mechanism.standard_error
