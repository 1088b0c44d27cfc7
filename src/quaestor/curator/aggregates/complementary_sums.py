"""Counts and sums that are made of complementary totals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quaestor.curator.aggregates.aggregate_kind import total_of
from quaestor.curator.aggregates.noise_sums import MARGIN, sum_reach
from quaestor.curator.aggregates.recipe import Estimates, Linear
from quaestor.curator.kernel.measures import Total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.complementary import Complements
    from quaestor.curator.aggregates.recipe import Noised, Scatter
    from quaestor.curator.aggregates.whole_error import Ends
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Aggregate

__all__ = ["OfComplements", "count_of_totals", "sum_of_totals"]


def count_of_totals(
    aggregate: Aggregate, totals: Complements, *, all_rows: bool = False
) -> OfComplements:
    """The rows with a value, or all of them."""
    times = totals.all_rows if all_rows else totals.held_rows
    return OfComplements(
        aggregate=aggregate,
        terms=((totals.measure, 1.0),),
        totals=totals,
        times=tuple(each / totals.steps for each in times),
        largest=float(totals.rows),
        least=0.0,
        rounds=True,
        counts=True,
    )


def sum_of_totals(aggregate: Aggregate, totals: Complements) -> OfComplements:
    """The sum of the operand."""
    whole, low, width = totals.whole, totals.low, totals.width
    parts = zip(totals.shares, totals.held_rows, strict=True)
    return OfComplements(
        aggregate=aggregate,
        terms=((totals.measure, 1.0),),
        totals=totals,
        times=tuple((width * share + low * row) / totals.steps for share, row in parts),
        largest=totals.rows * whole.reach * whole.step,
        least=0.0 if whole.low >= 0 else -math.inf,
        most=0.0 if whole.high <= 0 else math.inf,
        rounds=whole.low == 0 and float(totals.asked.step).is_integer(),
        cut=total_of(whole, totals.rows),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OfComplements(Linear):
    """A sum of complementary totals times public numbers: a count, or a sum.

    Guarantee:
        The interval holds with at least its confidence: it is as wide as noise reaches, and as
        what whole steps make of so many rows at most.
    """

    totals: Complements
    times: tuple[float, ...]
    rounds: bool = False
    """Whether estimates are rounded to whole numbers."""
    counts: bool = False
    """Whether what is estimated is a whole number, too."""
    cut: Total | None = None
    """What limits cut of it, if that is a sum."""

    @property
    def cuts(self) -> tuple[tuple[Counted, float], ...] | None:
        """The sum in steps as fine as those of the totals."""
        return None if self.cut is None else ((self.cut, 0.0),)

    @property
    def weights(self) -> tuple[float, ...]:
        """The squared error, in units of the most that one unit can do."""
        ((joint, _),) = self.terms
        squares = math.fsum(each**2 for each in self.times)
        return (squares * (joint.sensitivity / self.largest) ** 2 if self.largest else 1.0,)

    @property
    def whole(self) -> bool:
        """As it is rounded."""
        return self.rounds

    @property
    def alone(self) -> Measure | None:
        """None: it is of several totals."""
        return None

    def reach(self, scatters: Mapping[Measure, Scatter], *, confidence: float) -> float:
        """How far it is off at most with this probability, rounded up."""
        if not 0 < confidence < 1:
            return math.inf
        reach = sum_reach(scatters[self.measures[0]], self.times, confidence)
        return float(self._rounded_up(np.array(reach)))

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The figures, their noise, and an interval that is certain."""
        floats = self._figures(noised)
        lower, upper = self.ends(noised, confidence=confidence)
        return Estimates(
            values=floats.astype(np.int64) if self.rounds else floats,
            errors=np.full(floats.shape, self._error({m: noised[m].scatter for m in noised})),
            lower=np.clip(lower, self.least, self.most),
            upper=np.clip(upper, self.least, self.most),
            approximate=False,
        )

    def ends(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Ends:
        """As far as noise reaches, and as rounding to steps may have moved so many rows."""
        held, floats = noised[self.measures[0]], self._figures(noised)
        noise = sum_reach(held.scatter, self.times, confidence)
        reach = self._rounded_up(noise + self._loose(held, confidence))
        return floats - reach, floats + reach

    def _rounded_up(self, reach: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far a figure is off if it was so far off before it was rounded.

        What people with too many rows add to a sum is a share, and need not be whole.
        """
        if not self.rounds:
            return reach
        return np.floor(reach + 0.5) if self.counts else np.ceil(reach + 0.5)

    def _loose(self, held: Noised, confidence: float) -> NDArray[np.float64]:
        """How far whole steps may have moved it: of no more rows than there can be."""
        totals = self.totals
        each = MARGIN / 10 * (1 - confidence) / len(self.times)  # which no reach makes use of
        rows = held.values.astype(np.float64).sum(axis=0) / totals.steps
        most = rows + len(self.times) * held.scatter.reach(1 - each) / totals.steps
        moved = math.fsum(map(abs, self.times)) * totals.steps * totals.loose
        loose: NDArray[np.float64] = np.maximum(most, 1.0) * (1 + 8 * totals.loose) * moved
        return loose

    def measured(
        self, noised: Mapping[Measure, Noised], measure: Measure
    ) -> NDArray[np.float64] | None:
        """The count, or the sum in steps of the measure that would be it alone."""
        found = self._figures(noised)
        return found / measure.step if isinstance(measure, Total) else found

    def _figures(self, noised: Mapping[Measure, Noised]) -> NDArray[np.float64]:
        held = noised[self.measures[0]].values.astype(np.float64)
        floats: NDArray[np.float64] = np.tensordot(np.array(self.times), held, axes=1)
        return np.rint(floats) if self.rounds else floats

    def _error(self, scatters: Mapping[Measure, Scatter]) -> float:
        each = scatters[self.measures[0]].standard_error
        return math.hypot(*(x * each for x in self.times), self.rounds * 12**-0.5)
