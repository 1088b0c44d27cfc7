"""AVG: the total of what is above the middle of the bounds, divided by the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quaestor.curator.aggregates.aggregate_kind import (
    OfNumbers,
    Spelling,
    centred_steps,
    finer,
    of_one_operand,
    rows_of,
    total_of,
)
from quaestor.curator.aggregates.complementary_ratios import ComplementaryMean
from quaestor.curator.aggregates.recipe import Estimates, Expected, Recipe, approximate_reach
from quaestor.curator.aggregates.whole_mean import whole_mean
from quaestor.curator.language.terms import measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.aggregate_kind import Stepped
    from quaestor.curator.aggregates.complementary import Complements
    from quaestor.curator.aggregates.recipe import Noised, Scatter
    from quaestor.curator.aggregates.whole_error import Ends, Missing
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.kernel.measures import Measure, RowCount, Total
    from quaestor.curator.language.query import Aggregate
    from quaestor.curator.language.terms import Term, Termlike

__all__ = ["Mean", "MeanKind", "mean"]


def mean(of: Termlike) -> Term:
    """The mean: ``mean("cost")``, or ``mean(clamp(col("age"), 18, 90))``.

    >>> from quaestor.curator import table
    >>> asked = table("visits").group_by("ward").aggregate(figure=mean("cost"))
    """
    return measured("mean", of)


class MeanKind(OfNumbers):
    """The mean of a number."""

    name, word = "mean", "AVG"
    spellings = (Spelling("Avg", of_one_operand("mean")),)
    functions = (mean,)
    centres = True
    degree = 1
    adds_up = True

    def of_totals(self, aggregate: Aggregate, totals: Complements) -> Recipe:
        """The share of the range by the rows."""
        return ComplementaryMean(aggregate=aggregate, totals=totals)

    def cuts(self, aggregate: Aggregate, rows: int) -> tuple[tuple[Counted, float], ...]:
        """The total of the operand less the middle of its bounds, and its rows."""
        whole = self.steps(aggregate)
        middle = centred_steps(whole)
        counted = rows_of(whole.operand, rows)
        return ((total_of(middle, rows), middle.centre), (counted, 0.0))

    def of_steps(self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool) -> Recipe:
        """In steps that round nothing away."""
        return self.second_of_steps(aggregate, finer(whole, rows), rows, centred=centred)

    def second_of_steps(
        self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool
    ) -> Recipe:
        """The total of the operand less the middle of its bounds, and its rows."""
        del centred
        middle = centred_steps(whole)
        return Mean(
            aggregate=aggregate,
            total=total_of(middle, rows),
            rows=rows_of(whole.operand, rows),
            centre=middle.centre,
            half=middle.reach * middle.step,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(Recipe):
    r"""``centre + total / rows``, the total being that of operand - centre.

    The centre is the middle of the operand's bounds: so one person moves the total by half of
    what the plain sum would move, and noise on the rows does little where the mean is near the
    middle.

    The error is that of the linearised quotient, :math:`\sqrt{s_T^2 + (m-c)^2s_N^2}/N`, with the
    released figures for N and m: an approximation, good where N is large against its own noise.
    Where the rows might be none at this confidence, the interval is all that is possible.
    Estimates are moved into the bounds of the operand, where every mean is.
    """

    total: Total
    rows: RowCount
    centre: float
    half: float
    """How far from the centre a value may be."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The total and the rows."""
        return (self.total, self.rows)

    @property
    def weights(self) -> tuple[float, ...]:
        """One for the total; for the rows ((mean - centre) / half)^2, as if that was uniform."""
        return (1.0, 1 / 3)

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The quotient and its linearised error."""
        above, rows = noised[self.total], noised[self.rows]
        number = np.maximum(rows.values, 1).astype(np.float64)
        quotient = above.values * self.total.step / number
        held = np.clip(quotient, -self.half, self.half)
        errors = self._error(above.scatter, rows.scatter, held) / number
        reach = approximate_reach([above.scatter, rows.scatter], confidence=confidence) * errors
        unknown = rows.values <= rows.scatter.reach(confidence)
        lower = np.where(unknown, -self.half, np.clip(held - reach, -self.half, self.half))
        upper = np.where(unknown, self.half, np.clip(held + reach, -self.half, self.half))
        return Estimates(
            values=self.centre + held,
            errors=np.minimum(errors, 2 * self.half),
            lower=self.centre + lower,
            upper=self.centre + upper,
            approximate=True,
        )

    def whole_interval(
        self, noised: Mapping[Measure, Noised], missing: Sequence[Missing], *, confidence: float
    ) -> Ends:
        """The quotients of all totals and rows that are possible under outer limits.

        A quarter of the risk is left to the noise of both, the rest to what is missing of them.
        """
        if not any(each.error for each in missing):
            found = self.estimates(noised, confidence=confidence)
            assert found.lower is not None  # noqa: S101  # a mean has both
            assert found.upper is not None  # noqa: S101
            return found.lower, found.upper
        risk = 1 - confidence
        above, rows = noised[self.total], noised[self.rows]
        reaches = above.scatter.reach(1 - risk / 8), rows.scatter.reach(1 - risk / 8)
        ends = whole_mean(
            (above.values.astype(np.float64) * self.total.step, rows.values.astype(np.float64)),
            (reaches[0] * self.total.step, reaches[1]),
            missing,
            risk=risk,
        )
        return self.centre + ends[0], self.centre + ends[1]

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """What it is at most for any mean, times the rows."""
        total, rows = scatters[self.total], scatters[self.rows]
        error = float(self._error(total, rows, np.array(self.half)))
        reach = approximate_reach([total, rows], confidence=confidence) * error
        return Expected(
            name=name,
            standard_error=error,
            half_width=reach,
            divided_by="rows",
            words=f"within about {reach:.6g} / n with probability {confidence:g}, "
            "n being the rows of the group",
        )

    def _error(
        self, total: Scatter, rows: Scatter, above: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        error: NDArray[np.float64] = np.hypot(
            self.total.step * total.standard_error, np.abs(above) * rows.standard_error
        )
        return error
