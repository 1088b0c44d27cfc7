"""CORR, COVAR_POP, COVAR_SAMP, REGR_SLOPE, REGR_INTERCEPT: from totals of two centred numbers.

Rows in which one of the two is NULL are left out of every total, as SQL does.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from quaestor.curator.aggregates.aggregate_kind import (
    MOST_STEPS,
    OfNumbers,
    Spelling,
    SqlCall,
    Stepped,
    centred_steps,
    rows_of,
    squared_steps,
    stepped,
    total_of,
)
from quaestor.curator.aggregates.linearised import Linearised, linearised, ratio_interval
from quaestor.curator.aggregates.recipe import Estimates, Expected, Recipe, approximate_reach
from quaestor.curator.language.expressions import Arithmetic, Case, Constant, IsNull, Not, spell
from quaestor.curator.language.terms import measured_pair
from quaestor.errors import InvalidParameter, RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quaestor.curator.aggregates.aggregate_kind import SqlReader
    from quaestor.curator.aggregates.recipe import Noised, Scatter
    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.kernel.measures import Measure, RowCount, Total
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Aggregate
    from quaestor.curator.language.terms import Term, Termlike

__all__ = [
    "CorrelationKind",
    "CovarianceKind",
    "InterceptKind",
    "PopulationCovarianceKind",
    "SlopeKind",
    "correlation",
    "covariance",
    "covariance_of_all",
    "intercept",
    "slope",
]


def correlation(first: Termlike, second: Termlike) -> Term:
    """Pearson's correlation of two numbers: ``correlation("age", "cost")``."""
    return measured_pair("correlation", first, second)


def covariance(first: Termlike, second: Termlike) -> Term:
    """The sample covariance, divided by n - 1: ``covariance("age", "cost")``."""
    return measured_pair("covariance", first, second)


def covariance_of_all(first: Termlike, second: Termlike) -> Term:
    """The covariance of a population, divided by n: ``covariance_of_all("age", "cost")``."""
    return measured_pair("covariance_of_all", first, second)


def slope(of: Termlike, by: Termlike) -> Term:
    """The slope of the least-squares line of one number by another: ``slope("cost", "age")``."""
    return measured_pair("slope", of, by)


def intercept(of: Termlike, by: Termlike) -> Term:
    """What that line is where the other number is 0: ``intercept("cost", "age")``."""
    return measured_pair("intercept", of, by)


def _of_two_operands(function: str) -> Callable[[Any, SqlReader], SqlCall]:
    def read(node: Any, reader: SqlReader) -> SqlCall:
        reader.only(node, "this", "expression")
        return SqlCall(function=function, operand=node.this, second=node.expression)

    return read


def _kept(of: Expression, other: Expression, analysis: Analysis) -> Expression:
    """A number in the rows where the other one has a value too."""
    if not analysis.facts(other).nullable:
        return of
    return Case(((Not(IsNull(other)), of),), Constant(None, analysis.kind(of)))


class _OfPairs(OfNumbers):
    """A figure of two bounded numbers."""

    adds_up = True
    made: ClassVar[type[_Comoments]]

    def plan(
        self,
        operand: Expression | None,
        analysis: Analysis,
        *,
        probability: float = 0.5,
        second: Expression | None = None,
    ) -> Aggregate:
        """Both numbers with their bounds, each NULL where the other one is."""
        if operand is None or second is None:
            raise RefusedQuery(f"{self.word} takes two numbers", remedy=f"write {self.word}(x, y)")
        one = self.planned(operand, analysis.facts(operand), probability=probability)
        other = self.planned(second, analysis.facts(second), probability=probability)
        assert one.operand is not None  # noqa: S101  # of a number there is one
        assert other.operand is not None  # noqa: S101
        return replace(
            one,
            operand=_kept(one.operand, second, analysis),
            second=_kept(other.operand, operand, analysis),
            second_low=other.low,
            second_high=other.high,
            second_step=other.step,
        )

    def of_steps(self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool) -> Recipe:
        """Totals of both less the middles of their bounds, of squares and of the product."""
        del centred
        if aggregate.second is None:
            raise InvalidParameter(aggregate.function, None, "given two operands")
        other = stepped(
            aggregate.second,
            low=aggregate.second_low,
            high=aggregate.second_high,
            step=aggregate.second_step,
        )
        one, two = centred_steps(whole), centred_steps(other)
        squares = squared_steps(one), squared_steps(two)
        ordered = sorted((whole, other), key=lambda each: repr(each.operand))
        return self.made(
            aggregate=aggregate,
            first=total_of(one, rows),
            second=total_of(two, rows),
            product=total_of(_product(one, two), rows),
            rows=rows_of(ordered[0].operand, rows),
            first_square=total_of(squares[0], rows),
            second_square=total_of(squares[1], rows),
            centres=(one.centre, two.centre),
            square_centres=(squares[0].centre, squares[1].centre),
            halves=(one.reach * one.step, two.reach * two.step),
        )

    def spell(self, aggregate: Aggregate, operand: str) -> str:
        """With both operands, as they were written."""
        if aggregate.operand is None or aggregate.second is None:
            return f"{self.word}({operand})"
        one, other = (_written(each) for each in (aggregate.operand, aggregate.second))
        return f"{self.word}({spell(one)[:200]}, {spell(other)[:200]})"


def _written(operand: Expression) -> Expression:
    """Without the condition that the other number has a value."""
    match operand:
        case Case(branches=((Not(operand=IsNull()), inner),)):
            return inner
    return operand


def _product(one: Stepped, two: Stepped) -> Stepped:
    """The product of two centred operands; its step is doubled until 2^24 of them hold it.

    The operands are in one order, so that figures of the same two numbers share it.
    """
    largest, step = one.reach * two.reach, one.step * two.step
    doublings = max(0, (largest - 1).bit_length() - MOST_STEPS.bit_length() + 1)
    high = -(-largest // 2**doublings)
    left, right = sorted((one.operand, two.operand), key=repr)
    product = Arithmetic("*", left, right)
    return Stepped(operand=product, low=-high, high=high, step=step * 2**doublings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comoments(Recipe):
    r"""A ratio of moments of two numbers, each less the middle of its bounds.

    All moments are linear in the noisy totals over the noisy rows, to first order; the interval is
    Fieller's of the ratio, which holds where the divisor is uncertain too. An approximation, good
    where the rows are many against their noise. Where the rows, or a variance that is divided by,
    might be 0 at this confidence, the interval is all that is possible.
    """

    first: Total
    second: Total
    product: Total
    rows: RowCount
    first_square: Total
    second_square: Total
    centres: tuple[float, float]
    square_centres: tuple[float, float]
    halves: tuple[float, float]

    @abstractmethod
    def ratio(self, moments: Moments) -> tuple[Linearised, Linearised]:
        """What is divided, and by what."""

    def divisors(self, moments: Moments) -> tuple[Linearised, ...]:
        """The variances that have to be above 0."""
        del moments
        return ()

    def limit(self, moments: Moments) -> Any:
        """The largest magnitude that is possible."""
        del moments
        return np.inf

    def moments(self, noised: Mapping[Measure, Noised]) -> Moments:
        """Means, variances and the covariance, moved into what is possible."""
        measures = self.measures
        steps = [1.0 if each == self.rows else each.step for each in measures]  # type: ignore[attr-defined]
        totals = linearised([noised[each] for each in measures], steps)
        held = dict(zip(measures, totals, strict=True))
        number = held[self.rows].within(2.0, np.inf)
        one, two = self.halves
        means = (
            held[self.first].over(number).within(-one, one),
            held[self.second].over(number).within(-two, two),
        )
        mixed = held[self.product].over(number) - means[0] * means[1]
        variances: list[Linearised | None] = []
        for place, square in enumerate((self.first_square, self.second_square)):
            if square not in held:
                variances.append(None)
                continue
            above = held[square].over(number) + self.square_centres[place]
            spread = above - means[place] * means[place]
            variances.append(spread.within(-np.inf, self.halves[place] ** 2))
        return Moments(
            rows=number.values,
            means=means,
            covariance=mixed.within(-one * two, one * two),
            variances=(variances[0], variances[1]),
        )

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The figure and its linearised error; NaN where a variance is not above 0."""
        moments = self.moments(noised)
        divisors = self.divisors(moments)
        scatters = [noised[measure].scatter for measure in self.measures]
        times = approximate_reach(scatters, confidence=confidence)
        known = np.ones(moments.rows.shape, dtype=bool)
        for each in divisors:
            known &= each.values > 0
        held = moments.where(known)
        above, below = self.ratio(held)
        limit = self.limit(held)
        figure = above.over(below)
        lower, upper = ratio_interval(above, below, times)
        count = noised[self.rows]
        sure = known & (count.values > count.scatter.reach(confidence) + 1)
        for each in divisors:
            sure &= each.values > times * each.error
        return Estimates(
            values=np.where(known, np.clip(figure.values, -limit, limit), np.nan),
            errors=np.where(known, figure.error, np.nan),
            lower=np.where(sure, np.clip(lower, -limit, limit), -limit),
            upper=np.where(sure, np.clip(upper, -limit, limit), limit),
            approximate=True,
        )

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """What the covariance's error is at most for any data, times the rows."""
        one, two = self.halves
        terms = (
            (self.product, self.product.step),
            (self.first, two * self.first.step),
            (self.second, one * self.second.step),
            (self.rows, 2 * one * two),
        )
        error = float(np.hypot.reduce([x * scatters[m].standard_error for m, x in terms]))
        found = [scatters[measure] for measure, _ in terms]
        reach = approximate_reach(found, confidence=confidence) * error
        return self._foretold(name, error, reach, confidence)

    def _foretold(self, name: str, error: float, reach: float, confidence: float) -> Expected:
        del error
        return Expected(
            name=name,
            standard_error=None,
            half_width=None,
            words=f"its error depends on how much the numbers vary; their covariance is within "
            f"about {reach:.6g} / n with probability {confidence:g}, n being the rows of the group",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """What is estimated of two numbers in every group; of a variance only if it was measured."""

    rows: Any
    means: tuple[Linearised, Linearised]
    covariance: Linearised
    variances: tuple[Linearised | None, Linearised | None]

    def variance(self, place: int) -> Linearised:
        """A variance that was measured."""
        found = self.variances[place]
        assert found is not None  # noqa: S101  # figures measure what they divide by
        return found

    def where(self, known: Any) -> Moments:
        """With 1 as the variances of the groups where they are not known."""

        def held(variance: Linearised | None) -> Linearised | None:
            if variance is None:
                return None
            return replace(variance, values=np.where(known, variance.values, 1.0))

        return replace(self, variances=(held(self.variances[0]), held(self.variances[1])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Covariance(_Comoments):
    """The mean product less the product of the means, of all rows: divided by n."""

    sample: ClassVar[bool] = False

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The product, both totals and the rows."""
        return (self.product, self.first, self.second, self.rows)

    @property
    def weights(self) -> tuple[float, ...]:
        """As if means were uniform in their bounds, and the covariance likewise small."""
        return (1.0, 1 / 3, 1 / 3, 2 / 9)

    def _times(self, moments: Moments) -> Any:
        return moments.rows / (moments.rows - 1) if self.sample else np.ones_like(moments.rows)

    def ratio(self, moments: Moments) -> tuple[Linearised, Linearised]:
        """Nothing is divided by."""
        above = moments.covariance * self._times(moments)
        return above, Linearised(np.ones_like(above.values), np.zeros_like(above.moves))

    def limit(self, moments: Moments) -> Any:
        """The product of the largest deviations."""
        return self.halves[0] * self.halves[1] * self._times(moments)

    def _foretold(self, name: str, error: float, reach: float, confidence: float) -> Expected:
        return Expected(
            name=name,
            standard_error=error,
            half_width=reach,
            divided_by="rows",
            words=f"within about {reach:.6g} / n with probability {confidence:g}, n being the rows "
            "of the group",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCovariance(Covariance):
    """The same, divided by n - 1."""

    sample: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation(_Comoments):
    """The covariance by the root of both variances."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All of them."""
        squares = (self.first_square, self.second_square)
        return (self.product, self.first, self.second, self.rows, *squares)

    @property
    def weights(self) -> tuple[float, ...]:
        """As for covariances; of squares, for numbers and correlations that are uniform."""
        return (1.0, 4 / 9, 4 / 9, 2 / 9, 1 / 48, 1 / 48)

    def ratio(self, moments: Moments) -> tuple[Linearised, Linearised]:
        """Both variances are as uncertain as the covariance."""
        return moments.covariance, (moments.variance(0) * moments.variance(1)).root()

    def divisors(self, moments: Moments) -> tuple[Linearised, ...]:
        """Both variances."""
        return (moments.variance(0), moments.variance(1))

    def limit(self, moments: Moments) -> Any:
        """No correlation is beyond 1."""
        del moments
        return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope(_Comoments):
    """The covariance by the second number's variance."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All but the square of the first."""
        return (self.product, self.first, self.second, self.rows, self.second_square)

    @property
    def weights(self) -> tuple[float, ...]:
        """As for covariances; of the square, for numbers and correlations that are uniform."""
        return (1.0, 1 / 3, 4 / 9, 2 / 9, 1 / 12)

    def ratio(self, moments: Moments) -> tuple[Linearised, Linearised]:
        """The covariance is at most the deviation of the one times the range of the other."""
        spread = moments.variance(1)
        most = np.sqrt(spread.values) * self.halves[0]
        return moments.covariance.within(-most, most), spread

    def divisors(self, moments: Moments) -> tuple[Linearised, ...]:
        """The variance of the second."""
        return (moments.variance(1),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intercept(Slope):
    """The mean of the first number, less the slope times the mean of the second."""

    @property
    def weights(self) -> tuple[float, ...]:
        """As for the slope, and a mean beside it."""
        return (1.0, 4 / 9, 4 / 9, 2 / 9, 1 / 12)

    def ratio(self, moments: Moments) -> tuple[Linearised, Linearised]:
        """Over the same divisor."""
        mixed, spread = Slope.ratio(self, moments)
        first, second = (
            mean + centre for mean, centre in zip(moments.means, self.centres, strict=True)
        )
        return first * spread - mixed * second, spread


class CorrelationKind(_OfPairs):
    """Pearson's correlation."""

    name, word = "correlation", "CORR"
    spellings = (Spelling("Corr", _of_two_operands(name)),)
    functions = (correlation,)
    made = Correlation


class CovarianceKind(_OfPairs):
    """The sample covariance."""

    name, word = "covariance", "COVAR_SAMP"
    spellings = (Spelling("CovarSamp", _of_two_operands(name), label="covar_samp"),)
    functions = (covariance,)
    made = SampleCovariance


class PopulationCovarianceKind(_OfPairs):
    """The covariance of all that there is: divided by n, not by n - 1."""

    name, word = "covariance_of_all", "COVAR_POP"
    spellings = (Spelling("CovarPop", _of_two_operands(name), label="covar_pop"),)
    functions = (covariance_of_all,)
    made = Covariance


class SlopeKind(_OfPairs):
    """The slope of the line of the first number by the second."""

    name, word = "slope", "REGR_SLOPE"
    spellings = (Spelling("RegrSlope", _of_two_operands(name), label="regr_slope"),)
    functions = (slope,)
    made = Slope


class InterceptKind(_OfPairs):
    """Where that line is over 0."""

    name, word = "intercept", "REGR_INTERCEPT"
    spellings = (Spelling("RegrIntercept", _of_two_operands(name), label="regr_intercept"),)
    functions = (intercept,)
    made = Intercept
