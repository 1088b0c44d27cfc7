r"""Totals of x - low and of high - x: means, sums and counts of one operand, for one epsilon.

Every row adds :math:`W = high - low` to the two totals S and C together, wherever its value is, so
that a unit of m rows moves the pair by mW in the sum of magnitudes, just what it moves S alone by
at worst: both have geometric noise of the whole epsilon. A third total Z, of W for every row
without a value, makes it all rows, at the same price: S + C + Z is W times the rows. Of the three
come

.. math:: \text{COUNT}(x) = \frac{S + C}{W},\quad \text{COUNT}(*) = \frac{S + C + Z}{W},\quad
   \text{SUM}(x) = S + low\,\text{COUNT}(x),\quad \text{AVG}(x) = low + W\frac{S}{S + C}.

Of Gaussian noise it is no better than a total about the middle and the rows, each with a share of
the rho: there squares of moves add up, and these two are at right angles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quaestor.curator.aggregates.aggregate_kind import centred_steps, evened, rows_of, total_of
from quaestor.curator.aggregates.linearised import Linearised, ratio_interval
from quaestor.curator.aggregates.mean import whole_mean
from quaestor.curator.aggregates.recipe import (
    Estimates,
    Expected,
    Linear,
    Recipe,
    approximate_reach,
)
from quaestor.curator.kernel.measures import JointTotals, RowCount, Total
from quaestor.curator.language.expressions import Arithmetic, Case, Constant, IsNull
from quaestor.mechanisms import Geometric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.aggregate_kind import Stepped
    from quaestor.curator.aggregates.recipe import Noised, Scatter
    from quaestor.curator.aggregates.whole_error import Ends, Missing
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Aggregate

__all__ = ["ComplementaryMean", "Complements", "OfComplements", "laplace_sum_reach"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Complements:
    """The totals of one operand in whole steps, at most so many rows of a unit.

    With ``absent`` rows without a value are counted too, in a third total. The totals are in finer
    steps than ``asked``, so that they add up for units that have too many rows, too.
    """

    asked: Stepped
    rows: int
    absent: bool

    @property
    def whole(self) -> Stepped:
        """The operand in the steps of the totals."""
        return evened(self.asked, self.rows)

    @property
    def width(self) -> int:
        """The steps between the bounds."""
        return self.whole.high - self.whole.low

    @property
    def measure(self) -> JointTotals:
        """What is drawn.

        Units of too many rows are cut as they are in a count of the operand, and in its sum: by
        their rows with a value. The third total, of rows without one, comes last and has what is
        left of the joint bound, so that all three are W times the rows that count.
        """
        whole, step = self.whole, self.whole.step
        operand = whole.operand
        above: Expression = operand
        if whole.low:
            above = Arithmetic("-", operand, Constant(whole.low * step, "real"))
        below: Expression = Arithmetic("-", Constant(whole.high * step, "real"), operand)
        operands = [above, below]
        if self.absent:
            none, all_of_it = Constant(None, "real"), Constant(self.width * step, "real")
            operands.append(Case(((IsNull(operand), all_of_it),), none))
        totals = tuple(
            Total(operand=each, low=0, high=self.width, step=step, rows=self.rows)
            for each in operands
        )
        return JointTotals(totals=totals, bound=self.rows * self.width)

    def count(self, aggregate: Aggregate, *, all_rows: bool) -> Recipe:
        """The rows with a value, or all of them."""
        each = 1 / self.width
        times = (each, each, each * all_rows) if self.absent else (each, each)
        return OfComplements(
            aggregate=aggregate,
            terms=((self.measure, 1.0),),
            times=times,
            largest=float(self.rows),
            least=0.0,
            rounds=True,
            counts=True,
        )

    def total(self, aggregate: Aggregate) -> Recipe:
        """The sum of the operand."""
        whole, step = self.whole, self.whole.step
        share = whole.low / self.width
        times = ((1 + share) * step, share * step, 0.0)[: 3 if self.absent else 2]
        return OfComplements(
            aggregate=aggregate,
            terms=((self.measure, 1.0),),
            times=times,
            largest=self.rows * whole.reach * step,
            least=0.0 if whole.low >= 0 else -math.inf,
            most=0.0 if whole.high <= 0 else math.inf,
            rounds=whole.low == 0 and float(self.asked.step).is_integer(),
            cut=total_of(whole, self.rows),
        )

    def mean(self, aggregate: Aggregate) -> Recipe:
        """The mean of the operand."""
        step = self.whole.step
        return ComplementaryMean(
            aggregate=aggregate,
            joint=self.measure,
            centre=(self.whole.low + self.whole.high) / 2 * step,
            half=self.width / 2 * step,
            width=self.width,
            rows=self.rows,
            whole_steps=self.whole,
        )


def laplace_sum_reach(times: Sequence[float], *, risk: float) -> float:
    r"""How far a sum of independent Laplace noises of scale 1, each times a number, is at most.

    Theorem:
        With different factors c, :math:`\prod 1/(1-c_i^2s^2) = \sum A_i/(1-c_i^2s^2)`, so that
        the sum is beyond t, either way, with probability :math:`\sum A_ie^{-t/c_i}`. Factors that
        are nearly equal are made larger until they differ: all noises are symmetric and unimodal,
        so that none of it makes the sum less likely to be far off (Anderson's inequality).

    >>> round(laplace_sum_reach([1.0], risk=0.05), 4)
    2.9957
    """
    factors: list[float] = []
    for each in sorted(abs(x) for x in times if x):
        factors.append(max(each, factors[-1] * (1 + 2e-3)) if factors else each)
    if not factors:
        return 0.0
    shares = [math.prod(a**2 / (a**2 - b**2) for b in factors if b != a) for a in factors]
    low, high = 0.0, factors[-1] * len(factors) * math.log(2 * len(factors) / risk)
    for _ in range(100):
        middle = (low + high) / 2
        beyond = math.fsum(
            share * math.exp(-middle / factor)
            for share, factor in zip(shares, factors, strict=True)
        )
        low, high = (low, middle) if beyond <= risk * (1 - 1e-6) else (middle, high)
    return high


def _reach(scatter: Scatter, times: Sequence[float], confidence: float) -> float:
    """How far a sum of these totals is off, times such numbers, with at most this probability.

    Geometric noise is the difference of two exponential numbers, each rounded down: it is within
    one of Laplace noise, and a total is rounded by half a grain at most.
    """
    draw = scatter.draw
    mechanism = getattr(draw, "mechanism", None)
    if not isinstance(mechanism, Geometric):  # each of them, with a part of the risk
        used = [abs(x) for x in times if x]
        return math.fsum(used) * scatter.reach(1 - (1 - confidence) / max(len(used), 1))
    grain: int = getattr(draw, "grain", 1)
    scaled = laplace_sum_reach(times, risk=1 - confidence) * mechanism.scale
    return (scaled + 1.5 * math.fsum(map(abs, times))) * grain * (1 + 1e-12)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfComplements(Linear):
    """A sum of complementary totals times public numbers: a count, or a sum.

    Guarantee:
        The interval holds with at least its confidence, but for one rounding: each unit that has
        more rows than count is rounded down, by less than one fine step in each total. That is at
        most a millionth of what such units count with, and in no interval.
    """

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
        reach = _reach(scatters[self.measures[0]], self.times, confidence)
        if not self.rounds:
            return reach
        # what people with too many rows add to a sum is a share, and need not be whole
        return float(math.floor(reach + 0.5) if self.counts else math.ceil(reach + 0.5))

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The figures, their noise, and an interval that is certain."""
        held = noised[self.measures[0]]
        floats = np.tensordot(np.array(self.times), held.values.astype(np.float64), axes=1)
        scatters = {self.measures[0]: held.scatter}
        reach = self.reach(scatters, confidence=confidence)
        if self.rounds:
            floats = np.rint(floats)
        return Estimates(
            values=floats.astype(np.int64) if self.rounds else floats,
            errors=np.full(floats.shape, self._error(scatters)),
            lower=np.clip(floats - reach, self.least, self.most),
            upper=np.clip(floats + reach, self.least, self.most),
            approximate=False,
        )

    def measured(
        self, noised: Mapping[Measure, Noised], measure: Measure
    ) -> NDArray[np.float64] | None:
        """The count, or the sum in steps of the measure that would be it alone."""
        found = self.estimates(noised, confidence=0.5).values.astype(np.float64)
        return found / measure.step if isinstance(measure, Total) else found

    def _error(self, scatters: Mapping[Measure, Scatter]) -> float:
        each = scatters[self.measures[0]].standard_error
        return math.hypot(*(x * each for x in self.times), self.rounds * 12**-0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplementaryMean(Recipe):
    r"""``low + W S / (S + C)``; its interval is Fieller's, of (S - C) / 2 by the rows.

    To first order its squared error is :math:`(u^2 + (1-u)^2)\sigma^2/n^2`, u being the share of
    the range that is below the mean, and :math:`\sigma` the noise of one total. Where the rows
    might be none at this confidence, the interval is all that is possible.
    """

    joint: JointTotals
    centre: float
    half: float
    width: int
    rows: int
    whole_steps: Stepped

    @property
    def cuts(self) -> tuple[tuple[Counted, float], ...]:
        """The total about the middle in steps as fine as those of the totals, and the rows."""
        middle, operand = centred_steps(self.whole_steps), self.whole_steps.operand
        return (
            (total_of(middle, self.rows), middle.centre),
            (rows_of(operand, self.rows), 0.0),
        )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The totals."""
        return (self.joint,)

    @property
    def weights(self) -> tuple[float, ...]:
        """In units of half the range: four times 2/3, that of a mean that is uniform."""
        return (8 / 3,)

    def _parts(self, noised: Mapping[Measure, Noised]) -> tuple[Linearised, Linearised]:
        """The total about the middle of the bounds, and the rows."""
        held = noised[self.joint]
        step, error = self.joint.totals[0].step, held.scatter.standard_error
        above, below = held.values[:2].astype(np.float64)
        ones = np.ones((1, above.size)) * error
        total = Linearised((above - below) / 2 * step, np.vstack((ones, -ones)) / 2 * step)
        return total, Linearised((above + below) / self.width, np.vstack((ones, ones)) / self.width)

    def _reaches(self, scatter: Scatter, confidence: float) -> tuple[float, float]:
        """How far both are off at most."""
        step = self.joint.totals[0].step
        return (
            _reach(scatter, (step / 2, step / 2), confidence),
            _reach(scatter, (1 / self.width, 1 / self.width), confidence),
        )

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The quotient and its interval."""
        total, rows = self._parts(noised)
        scatter, half = noised[self.joint].scatter, self.half
        number = rows.within(1.0, np.inf)
        mean = total.over(number).within(-half, half)
        errors = (total - number * mean.values).error / number.values
        times = approximate_reach([scatter], confidence=confidence)
        lower, upper = ratio_interval(total, rows, times)
        unknown = rows.values <= self._reaches(scatter, confidence)[1]
        return Estimates(
            values=self.centre + mean.values,
            errors=np.minimum(errors, 2 * half),
            lower=self.centre + np.where(unknown, -half, np.clip(lower, -half, half)),
            upper=self.centre + np.where(unknown, half, np.clip(upper, -half, half)),
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
        reaches = self._reaches(noised[self.joint].scatter, 1 - risk / 8)
        ends = whole_mean((total.values, rows.values), reaches, missing, risk=risk)
        return self.centre + ends[0], self.centre + ends[1]

    def measured(
        self, noised: Mapping[Measure, Noised], measure: Measure
    ) -> NDArray[np.float64] | None:
        """The rows; a total about the middle of the bounds is no sum that can lack a share."""
        return self._parts(noised)[1].values if isinstance(measure, RowCount) else None

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """What it is at most for any mean, times the rows."""
        scatter = scatters[self.joint]
        error = self.joint.totals[0].step * scatter.standard_error
        reach = approximate_reach([scatter], confidence=confidence) * error
        return Expected(
            name=name,
            standard_error=error,
            half_width=reach,
            divided_by="rows",
            words=f"within about {reach:.6g} / n with probability {confidence:g}, "
            "n being the rows of the group",
        )
