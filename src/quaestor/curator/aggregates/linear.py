"""Counts and sums: measures, times public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.aggregates.base import Estimates, Expected, Recipe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.base import Noised, Scatter
    from quaestor.curator.kernel.measures import Measure

__all__ = ["Linear"]


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
        kind = np.int64 if self.whole else np.float64
        figures: NDArray[Any] = np.sum(
            [noised[measure].values.astype(kind) * kind(times) for measure, times in self.terms],
            axis=0,
        )
        reach = self.reach(scatters, confidence=confidence)
        floats = figures.astype(np.float64)
        return Estimates(
            values=figures,
            errors=np.full(figures.shape, self._error(scatters)),
            lower=np.clip(floats - reach, self.least, self.most),
            upper=np.clip(floats + reach, self.least, self.most),
            approximate=not all(scatter.certain for scatter in scatters.values()),
        )

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
