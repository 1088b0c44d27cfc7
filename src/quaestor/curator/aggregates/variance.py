"""VARIANCE and STDDEV, of a sample or of all.

From complementary totals; with Gaussian noise, from totals of centred values and their squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from quaestor.curator.aggregates.aggregate_kind import (
    OfNumbers,
    Spelling,
    centred_steps,
    finer,
    of_one_operand,
    rows_of,
    squared_steps,
    total_of,
)
from quaestor.curator.aggregates.complementary_ratios import ComplementaryVariance
from quaestor.curator.aggregates.recipe import Estimates, Expected, Recipe, approximate_reach
from quaestor.curator.language.terms import measured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.curator.aggregates.aggregate_kind import Stepped
    from quaestor.curator.aggregates.complementary import Complements
    from quaestor.curator.aggregates.recipe import Noised, Scatter
    from quaestor.curator.kernel.measures import Measure, RowCount, Total
    from quaestor.curator.language.query import Aggregate
    from quaestor.curator.language.terms import Term, Termlike

__all__ = [
    "Deviation",
    "PopulationStddevKind",
    "PopulationVarianceKind",
    "StddevKind",
    "VarianceKind",
    "stddev",
    "stddev_of_all",
    "variance",
    "variance_of_all",
]


def variance(of: Termlike) -> Term:
    """The sample variance: ``variance("cost")``.

    >>> from quaestor.curator import table
    >>> asked = table("visits").group_by("ward").aggregate(figure=variance("cost"))
    """
    return measured("variance", of)


def stddev(of: Termlike) -> Term:
    """The sample standard deviation: ``stddev("cost")``.

    >>> from quaestor.curator import table
    >>> asked = table("visits").group_by("ward").aggregate(figure=stddev("cost"))
    """
    return measured("stddev", of)


def variance_of_all(of: Termlike) -> Term:
    """The variance of a population, divided by n: ``variance_of_all("cost")``."""
    return measured("variance_of_all", of)


def stddev_of_all(of: Termlike) -> Term:
    """The standard deviation of a population: ``stddev_of_all("cost")``."""
    return measured("stddev_of_all", of)


class _OfSquares(OfNumbers):
    """The sample variance of a number, or its root."""

    centres = True
    degree = 2
    adds_up = True
    root: ClassVar[bool] = False
    population: ClassVar[bool] = False

    def of_totals(self, aggregate: Aggregate, totals: Complements) -> Recipe:
        """From the totals of the second degree."""
        return ComplementaryVariance(
            aggregate=aggregate, totals=totals, root=self.root, population=self.population
        )

    def of_steps(self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool) -> Recipe:
        """In steps that round nothing away."""
        return self.second_of_steps(aggregate, finer(whole, rows), rows, centred=centred)

    def second_of_steps(
        self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool
    ) -> Recipe:
        """What a mean takes, and the total of the centred square."""
        del centred
        middle = centred_steps(whole)
        square = squared_steps(middle)
        return Deviation(
            aggregate=aggregate,
            total=total_of(middle, rows),
            square=total_of(square, rows),
            rows=rows_of(whole.operand, rows),
            square_centre=square.centre,
            half=middle.reach * middle.step,
            root=self.root,
            population=self.population,
        )


class VarianceKind(_OfSquares):
    """The sample variance."""

    name, word = "variance", "VARIANCE"
    spellings = (Spelling("Variance", of_one_operand("variance")),)
    functions = (variance,)


class StddevKind(_OfSquares):
    """The sample standard deviation."""

    name, word = "stddev", "STDDEV"
    spellings = (
        Spelling("Stddev", of_one_operand("stddev")),
        Spelling("StddevSamp", of_one_operand("stddev")),
    )
    functions = (stddev,)
    root = True


class PopulationVarianceKind(_OfSquares):
    """The variance of all that there is: divided by n, not by n - 1."""

    name, word = "variance_of_all", "VAR_POP"
    spellings = (Spelling("VariancePop", of_one_operand("variance_of_all"), label="var_pop"),)
    functions = (variance_of_all,)
    population = True


class PopulationStddevKind(_OfSquares):
    """Its root."""

    name, word = "stddev_of_all", "STDDEV_POP"
    spellings = (Spelling("StddevPop", of_one_operand("stddev_of_all"), label="stddev_pop"),)
    functions = (stddev_of_all,)
    root = True
    population = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation(Recipe):
    r"""The sample variance, ``(mean square - square of the mean) n / (n - 1)``, or its root.

    All of x - c, c being the middle of the bounds. The squares are centred once more, on half of
    the largest, which halves what one person can add.

    With :math:`q` the mean square less its centre and m the mean, the linearised error is
    :math:`\sqrt{s_Q^2 + 4m^2s_T^2 + (2m^2 - q)^2s_N^2}/N`; for the root it is divided by twice
    the deviation, and its interval is the root of the variance's. An approximation, good where
    the rows are many against their noise. Where they might be none at this confidence, the
    interval is all that is possible. Estimates are moved to where variances are, from 0 to a
    quarter of the squared range (times n / (n - 1)).
    """

    total: Total
    square: Total
    rows: RowCount
    square_centre: float
    half: float
    root: bool
    population: bool = False
    """Whether it is divided by n, and not by n - 1."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Both totals and the rows."""
        return (self.total, self.square, self.rows)

    @property
    def weights(self) -> tuple[float, ...]:
        """As if the mean was uniform in its bounds, and the mean square in the middle of its."""
        return (4 / 3, 1 / 4, 4 / 9)

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The variance and its linearised error, or the roots."""
        total, square, rows = (noised[measure] for measure in self.measures)
        number = np.maximum(rows.values, 2).astype(np.float64)
        mean = np.clip(total.values * self.total.step / number, -self.half, self.half)
        largest = self.half**2
        above = np.clip(
            square.values * self.square.step / number,
            -self.square_centre,
            largest - self.square_centre,
        )
        sample = np.ones_like(number) if self.population else number / (number - 1)
        variance = np.clip(above + self.square_centre - mean**2, 0.0, largest) * sample
        errors = sample * np.sqrt(
            (self.square.step * square.scatter.standard_error) ** 2
            + (2 * mean * self.total.step * total.scatter.standard_error) ** 2
            + ((2 * mean**2 - above) * rows.scatter.standard_error) ** 2
        )
        errors /= number
        scatters = [each.scatter for each in (total, square, rows)]
        reach = approximate_reach(scatters, confidence=confidence) * errors
        unknown = rows.values <= rows.scatter.reach(confidence) + 1
        few = np.maximum(rows.values - rows.scatter.reach(confidence), 2)
        most = largest if self.population else largest * few / (few - 1)
        lower = np.where(unknown, 0.0, np.clip(variance - reach, 0.0, most))
        upper = np.where(unknown, largest * 2, np.clip(variance + reach, 0.0, most))
        if self.root:
            deviation = np.sqrt(variance)
            steep = np.maximum(2 * deviation, np.sqrt(errors))
            errors = np.divide(errors, steep, out=np.zeros_like(errors), where=steep > 0)
            variance, lower, upper = deviation, np.sqrt(lower), np.sqrt(upper)
        return Estimates(values=variance, errors=errors, lower=lower, upper=upper, approximate=True)

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """What the variance's error is at most for any data, times the rows."""
        total, square, rows = (scatters[measure] for measure in self.measures)
        error = math.hypot(
            self.square.step * square.standard_error,
            2 * self.half * self.total.step * total.standard_error,
            1.5 * self.half**2 * rows.standard_error,
        )
        reach = approximate_reach([total, square, rows], confidence=confidence) * error
        words = (
            f"its square is within about {reach:.6g} / n with probability {confidence:g}"
            if self.root
            else f"within about {reach:.6g} / n with probability {confidence:g}"
        )
        return Expected(
            name=name,
            standard_error=None if self.root else error,
            half_width=None if self.root else reach,
            divided_by=None if self.root else "rows",
            words=f"{words}, n being the rows of the group",
        )
