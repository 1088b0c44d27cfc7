"""Means and variances that are made of complementary totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quaestor.curator.aggregates.aggregate_kind import centred_steps, rows_of, total_of
from quaestor.curator.aggregates.linearised import Linearised, ratio_interval
from quaestor.curator.aggregates.noise_sums import sum_reach
from quaestor.curator.aggregates.recipe import Estimates, Expected, Recipe, approximate_reach
from quaestor.curator.aggregates.whole_mean import whole_mean
from quaestor.curator.kernel.measures import RowCount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.complementary import Complements
    from quaestor.curator.aggregates.recipe import Noised, Scatter
    from quaestor.curator.aggregates.whole_error import Ends, Missing
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.kernel.measures import Measure

__all__ = ["ComplementaryMean", "ComplementaryVariance"]

_MEANS = np.linspace(0.0, 1.0, 17)
"""At which places between the ends of a mean's interval a variance is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfTotals(Recipe):
    """A figure that is divided by the rows."""

    totals: Complements

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The totals."""
        return (self.totals.measure,)

    def _sum(self, noised: Mapping[Measure, Noised], times: Sequence[float]) -> Linearised:
        """The totals times these numbers, in rows."""
        held = noised[self.measures[0]]
        each = np.array(times) / self.totals.steps
        values = np.tensordot(each, held.values.astype(np.float64), axes=1)
        moves = np.repeat(each[:, None], values.size, axis=1) * held.scatter.standard_error
        return Linearised(values, moves)

    def _rows_reach(self, scatter: Scatter, confidence: float) -> float:
        """How far the number of rows is off."""
        return self._reach(scatter, self.totals.held_rows, confidence)

    def _reach(self, scatter: Scatter, times: Sequence[float], confidence: float) -> float:
        return sum_reach(scatter, [each / self.totals.steps for each in times], confidence)

    def _expected(
        self, name: str, scatter: Scatter, confidence: float, unit: float, *, root: bool = False
    ) -> Expected:
        """What is so many units at most, and divided by the rows."""
        error = unit * scatter.standard_error / self.totals.steps
        reach = approximate_reach([scatter], confidence=confidence) * error
        words = f"within about {reach:.6g} / n with probability {confidence:g}"
        return Expected(
            name=name,
            standard_error=None if root else error,
            half_width=None if root else reach,
            divided_by=None if root else "rows",
            words=f"{'its square is ' * root}{words}, n being the rows of the group",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplementaryMean(_OfTotals):
    r"""``low + (high - low) S / n``; its interval is Fieller's, of S - n/2 by the rows.

    To first order its squared error is :math:`(u^2 + (1-u)^2)\sigma^2/n^2`, u being the share of
    the range that is below the mean, and :math:`\sigma` the noise of one total; with totals of
    squares :math:`(u - 1/2)^2\sigma^2/n^2` comes to it. Where the rows might be none at this
    confidence, the interval is all that is possible.
    """

    @property
    def cuts(self) -> tuple[tuple[Counted, float], ...]:
        """The total about the middle in steps as fine as those of the totals, and the rows."""
        whole, rows = self.totals.whole, self.totals.rows
        middle = centred_steps(whole)
        return (
            (total_of(middle, rows), middle.centre),
            (rows_of(whole.operand, rows), 0.0),
        )

    @property
    def weights(self) -> tuple[float, ...]:
        """In units of half the range: four times that of a mean that is uniform."""
        return (3.0 if self.totals.squares else 8 / 3,)

    @property
    def _centred(self) -> list[float]:
        """What times the totals is the sum about the middle, in ranges."""
        totals = self.totals
        both = zip(totals.shares, totals.held_rows, strict=True)
        return [share - row / 2 for share, row in both]

    def _parts(self, noised: Mapping[Measure, Noised]) -> tuple[Linearised, Linearised]:
        """The total about the middle of the bounds, and the rows."""
        total = self._sum(noised, self._centred) * self.totals.width
        return total, self._sum(noised, self.totals.held_rows)

    def _reaches(self, scatter: Scatter, confidence: float) -> tuple[float, float]:
        """How far both are off at most."""
        return (
            self._reach(scatter, self._centred, confidence) * self.totals.width,
            self._rows_reach(scatter, confidence),
        )

    @property
    def _middle(self) -> tuple[float, float, float]:
        """The middle of the bounds, how far they are from it, and what steps may move a mean."""
        half = self.totals.width / 2
        return self.totals.low + half, half, 3 * self.totals.loose * self.totals.width

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The quotient and its interval."""
        total, rows = self._parts(noised)
        scatter = noised[self.measures[0]].scatter
        centre, half, loose = self._middle
        number = rows.within(1.0, np.inf)
        mean = total.over(number).within(-half, half)
        errors = (total - number * mean.values).error / number.values
        times = approximate_reach([scatter], confidence=confidence)
        lower, upper = ratio_interval(total, rows, times)
        unknown = rows.values <= self._reaches(scatter, confidence)[1]
        return Estimates(
            values=centre + mean.values,
            errors=np.minimum(errors, 2 * half),
            lower=centre + np.where(unknown, -half, np.clip(lower - loose, -half, half)),
            upper=centre + np.where(unknown, half, np.clip(upper + loose, -half, half)),
            approximate=True,
        )

    def whole_interval(
        self, noised: Mapping[Measure, Noised], missing: Sequence[Missing], *, confidence: float
    ) -> Ends:
        """The quotients of all totals and rows that are possible under outer limits."""
        if not any(each.error for each in missing):
            found = self.estimates(noised, confidence=confidence)
            assert found.lower is not None  # noqa: S101  # a mean has both
            assert found.upper is not None  # noqa: S101
            return found.lower, found.upper
        total, rows = self._parts(noised)
        risk = 1 - confidence
        off, astray = self._reaches(noised[self.measures[0]].scatter, 1 - risk / 8)
        centre, _, loose = self._middle
        most = 2 * np.maximum(rows.values + astray, 1.0)  # twice: what is missing is in steps, too
        reaches = off + loose * most, astray + 3 * self.totals.loose * most
        ends = whole_mean((total.values, rows.values), reaches, missing, risk=risk)
        return centre + ends[0], centre + ends[1]

    def measured(
        self, noised: Mapping[Measure, Noised], measure: Measure
    ) -> NDArray[np.float64] | None:
        """The rows; a total about the middle of the bounds is no sum that can lack a share."""
        return self._parts(noised)[1].values if isinstance(measure, RowCount) else None

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """What it is at most for any mean, times the rows."""
        most = 1.25**0.5 if self.totals.squares else 1.0
        scatter = scatters[self.measures[0]]
        return self._expected(name, scatter, confidence, most * self.totals.width)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplementaryVariance(_OfTotals):
    r"""The variance of u times the squared range, or its root.

    With m the mean of u and v its variance, :math:`G(m, r) = Q - 2mS + m^2n - rn` is 0 for r = v;
    with n - 1 for the last n it is 0 for the sample variance. It is linear in the totals, and its
    noise has the variance

    .. math:: \sigma^2\left(((1-m)^2 - r)^2 + (m(1-m) + r)^2 + (m^2 - r)^2\right).

    The interval is of all r for which G(m, r) is within what its noise reaches of 0 for some m of
    the mean's own interval (Fieller's, as for a mean): as m matters to second order only, that is
    hardly wider than if it was known. A tenth of the risk is left to the mean and to the rows.
    Where the rows might be too few, it is all that is possible. Estimates are moved to where
    variances are.
    """

    root: bool = False
    population: bool = False
    """Whether it is divided by n, and not by n - 1."""

    @property
    def weights(self) -> tuple[float, ...]:
        """In units of half the range, squared: for a uniform mean m, and v = m (1 - m) / 3."""
        return (6.4,)

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The variance and its linearised error, or the roots."""
        totals, scale = self.totals, self.totals.width**2
        less = 0.0 if self.population else 1.0
        rows = self._sum(noised, totals.held_rows)
        number = np.maximum(rows.values, 2.0)
        mean = np.clip(self._sum(noised, totals.shares).values / number, 0.0, 1.0)
        # as u and as 1 - u alike: the mean square is the mean, less half of 2u(1-u)
        mixed = self._sum(noised, totals.mixed_shares).values / number
        own = np.clip(mean * (1 - mean) - np.maximum(mixed, 0.0) / 2, 0.0, 0.25)
        sample = number / (number - less)
        coefficients = ((1 - mean) ** 2 - own, mean * (1 - mean) + own, mean**2 - own)
        spread = np.sqrt(sum(each**2 for each in coefficients))
        scatter = noised[self.measures[0]].scatter
        errors = spread * sample * scatter.standard_error / totals.steps / number * scale
        lower, upper = (end * scale for end in self._ends(noised, confidence))
        variance = own * sample * scale
        if not self.root:
            return Estimates(
                values=variance, errors=errors, lower=lower, upper=upper, approximate=True
            )
        deviation = np.sqrt(variance)
        steep = np.maximum(2 * deviation, np.sqrt(errors))
        return Estimates(
            values=deviation,
            errors=np.divide(errors, steep, out=np.zeros_like(errors), where=steep > 0),
            lower=np.sqrt(lower),
            upper=np.sqrt(upper),
            approximate=True,
        )

    def _ends(self, noised: Mapping[Measure, Noised], confidence: float) -> Ends:
        """The interval of the variance of u."""
        totals, scatter = self.totals, noised[self.measures[0]].scatter
        less = 0.0 if self.population else 1.0
        risk = 1 - confidence
        first, second, rows = (
            self._sum(noised, each)
            for each in (totals.shares, totals.squared_shares, totals.held_rows)
        )
        few = rows.values - self._rows_reach(scatter, 1 - risk / 20)
        unknown = few < 1 + less
        few = np.maximum(few, 1 + less)
        most = few / (few - less)
        times = approximate_reach([scatter], confidence=1 - risk / 20)
        low, high = (np.clip(end, 0.0, 1.0) for end in ratio_interval(first, rows, times))
        times = approximate_reach([scatter], confidence=1 - 0.9 * risk)
        lower, upper = np.full(low.shape, np.inf), np.full(low.shape, -np.inf)
        for place in _MEANS:
            mean = low + place * (high - low)
            above = second - first * (2 * mean) + rows * mean**2
            start, end = ratio_interval(above, rows + (-less), times)
            lower, upper = np.minimum(lower, start), np.maximum(upper, end)
        middle = np.clip(0.5, low, high)
        greatest = middle * (1 - middle) * most
        loose = 8 * totals.loose
        lower = np.where(unknown, 0.0, np.clip(lower - loose, 0.0, greatest))
        upper = np.where(unknown, 0.25 * (1 + less), np.clip(upper + loose, 0.0, greatest))
        return lower, upper

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """What the variance's error is at most for any data, times the rows."""
        scatter = scatters[self.measures[0]]
        return self._expected(name, scatter, confidence, self.totals.width**2, root=self.root)
