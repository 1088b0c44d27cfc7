"""QUANTILE and MEDIAN: chosen by their ranks, with an interval in values about the choice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.aggregates.aggregate_kind import OfNumbers, Spelling, SqlCall
from quaestor.curator.aggregates.recipe import Estimates, Expected, Recipe
from quaestor.curator.aggregates.whole_error import allotted
from quaestor.curator.kernel.measures import Chosen, Reach, RowCount, ValueCounts
from quaestor.curator.language.expressions import Constant
from quaestor.curator.language.terms import measured
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.curator.aggregates.aggregate_kind import SqlReader, Stepped
    from quaestor.curator.aggregates.recipe import Noised, Scatter
    from quaestor.curator.aggregates.whole_error import Missing
    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Aggregate
    from quaestor.curator.language.terms import Term, Termlike

__all__ = ["QuantileKind", "Rank", "median", "quantile"]


def quantile(of: Termlike, probability: float) -> Term:
    """The value that a share of the rows is not above: ``quantile("cost", 0.9)``.

    >>> from quaestor.curator import table
    >>> asked = table("visits").group_by("ward").aggregate(figure=quantile("cost", 0.9))
    """
    if not 0 <= probability <= 1:
        raise RefusedQuery(
            "the probability of a quantile must be from 0 to 1", remedy="write quantile(x, 0.9)"
        )
    return measured("quantile", of, float(probability))


def median(of: Termlike) -> Term:
    """The value in the middle: ``median("cost")``.

    >>> from quaestor.curator import table
    >>> asked = table("visits").group_by("ward").aggregate(figure=median("cost"))
    """
    return measured("quantile", of)


def _read(node: Any, reader: SqlReader) -> SqlCall:
    """``QUANTILE(x, 0.9)`` and its spellings."""
    asked = node.args.get("quantile") or node.args.get("expression")
    if asked is None:
        raise RefusedQuery("a quantile needs its probability", remedy="write QUANTILE(x, 0.9)")
    probability = _probability(asked, reader)
    reader.only(node, "this", "big_int", "quantile", "expression")
    return SqlCall(function="quantile", operand=node.this, probability=probability)


def _read_median(node: Any, reader: SqlReader) -> SqlCall:
    reader.only(node, "this")
    return SqlCall(function="quantile", operand=node.this)


def _read_named(node: Any, reader: SqlReader) -> SqlCall:
    """``PERCENTILE(x, 0.9)``."""
    operand, asked = node.expressions
    probability = _probability(asked, reader)
    return SqlCall(function="quantile", operand=operand, probability=probability)


def _read_within(node: Any, reader: SqlReader) -> SqlCall:
    """``PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)``; descending it counts from the top."""
    reader.only(node, "this", "expression")
    inner, order = node.this, node.expression
    if type(inner).__name__ not in {"PercentileCont", "PercentileDisc"}:
        raise reader.refused(inner)
    reader.only(inner, "this")
    reader.only(order, "expressions")
    if len(order.expressions) != 1:
        raise RefusedQuery("a quantile takes one column", remedy="write WITHIN GROUP (ORDER BY x)")
    (ordered,) = order.expressions
    reader.only(ordered, "this", "desc")
    probability = _probability(inner.this, reader)
    if ordered.args.get("desc"):
        probability = 1.0 - probability
    return SqlCall(function="quantile", operand=ordered.this, probability=probability)


def _probability(node: Any, reader: SqlReader) -> float:
    made = reader.value(node)
    if (
        isinstance(made, Constant)
        and isinstance(made.value, int | float)
        and made.kind != "boolean"
    ) and 0 <= made.value <= 1:
        return float(made.value)
    raise RefusedQuery(
        "the probability of a quantile must be a constant from 0 to 1",
        remedy="write QUANTILE(x, 0.9)",
    )


class QuantileKind(OfNumbers):
    """A quantile of a number, and the median."""

    name, word = "quantile", "QUANTILE"
    spellings = (
        Spelling("Median", _read_median, label="median"),
        Spelling("Quantile", _read, label="quantile"),
        Spelling("PercentileCont", _read, label="quantile"),
        Spelling("PercentileDisc", _read, label="quantile"),
        Spelling("ApproxQuantile", _read, label="quantile"),
        Spelling("WithinGroup", _read_within),
        # Labels are part of questions that are stored: these two were never called otherwise.
        Spelling("percentile", _read_named, label="anonymous", arguments=2),
        Spelling("approx_percentile", _read_named, label="anonymous", arguments=2),
    )
    functions = (quantile, median)
    buys_interval = True

    def whole(self, aggregate: Aggregate, analysis: Analysis) -> bool:
        """Of whole numbers, in steps of one."""
        operand = aggregate.operand
        return operand is not None and analysis.kind(operand) == "integer" and aggregate.step == 1.0

    def cuts(self, aggregate: Aggregate, rows: int) -> tuple[tuple[Counted, float], ...]:
        """The rows that have a value: values beyond bounds stay on their side of a quantile."""
        return ((RowCount(rows=rows, operand=aggregate.operand), 0.0),)

    def of_steps(self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool) -> Recipe:
        """One choice in the histogram of the operand, and how far its interval goes."""
        del centred
        return _ranked(aggregate, whole, rows, signed=True)

    def second_of_steps(
        self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool
    ) -> Recipe:
        """The same, where all values that hold the rank have one score."""
        del centred
        return _ranked(aggregate, whole, rows, signed=False)

    def first_of_steps(
        self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool
    ) -> Recipe:
        """Without an interval."""
        recipe = self.second_of_steps(aggregate, whole, rows, centred=centred)
        return self.without_interval(recipe)

    def without_interval(self, recipe: Recipe) -> Recipe:
        """The choice alone."""
        assert isinstance(recipe, Rank)  # noqa: S101  # its own
        return replace(recipe, about=None)

    def spell(self, aggregate: Aggregate, operand: str) -> str:
        """With its probability."""
        return f"{self.word}({operand}, {aggregate.probability:g})"


def _ranked(aggregate: Aggregate, whole: Stepped, rows: int, *, signed: bool) -> Rank:
    histogram = ValueCounts(
        operand=whole.operand, low=whole.low, high=whole.high, step=whole.step, rows=rows
    )
    chosen = Chosen(histogram=histogram, probability=aggregate.probability, signed=signed)
    return Rank(aggregate=aggregate, chosen=chosen, about=Reach(chosen=chosen))


_THRICE = 1 / 27
"""The weight with which the interval gets a third of what the quantile gets of an epsilon."""
_SURELY_WHOLE = 2.0**19
"""Reals between smaller bounds are never rounded to steps of one, unless that was declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank(Recipe):
    """A value of the operand, about so many of whose rows are below, with an interval in values.

    How far its *rank* is off is known before anything is drawn. How far off the value itself is
    depends on how the data lie about it, which is private: the interval is measured for itself,
    and holds with at least its confidence, whatever the data are. Half a step is added to either
    side where values were rounded to steps.
    """

    chosen: Chosen
    about: Reach | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The quantile as it is drawn, and how far its interval goes."""
        return (self.chosen,) if self.about is None else (self.chosen, self.about)

    @property
    def weights(self) -> tuple[float, ...]:
        """One: the ranks that one unit can move it by are its unit. The interval takes a little."""
        return (1.0,) if self.about is None else (1.0, _THRICE)

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The value that was chosen for every group."""
        del confidence
        held = self.chosen.histogram
        steps = noised[self.chosen].values.astype(np.float64)
        values = steps * held.step
        if self.about is None:
            return Estimates(values=values, errors=None, lower=None, upper=None, approximate=True)
        reach = noised[self.about].values + self._rounding
        return Estimates(
            values=values,
            errors=None,
            lower=np.clip(steps - reach, held.low, held.high) * held.step,
            upper=np.clip(steps + reach, held.low, held.high) * held.step,
            approximate=False,
        )

    @property
    def _rounding(self) -> float:
        """By how many steps a value may have been rounded."""
        held = self.chosen.histogram
        return 0.5 if held.step != 1.0 or max(-held.low, held.high) > _SURELY_WHOLE else 0.0

    def whole_words(
        self, noised: Mapping[Measure, Noised], missing: Sequence[Missing], *, confidence: float
    ) -> str | None:
        """How far its rank is off under outer limits, in the group where it is farthest.

        Rows that were left out are below a value, or above it: of the rank that was asked for, at
        most the larger of p and 1 - p times their number is missing.
        """
        (lack,) = missing
        if not lack.cut.grows or not lack.groups:
            return None
        risks = allotted(1 - confidence, [noised[self.chosen].scatter.standard_error, lack.error])
        ranks = noised[self.chosen].scatter.reach(1 - risks[0])
        p = self.chosen.probability
        more = float(lack.within(risks[1])[1].max()) * max(p, 1 - p) if lack.error else 0.0
        return (
            f"with what caps left out, its rank is off by at most {ranks + more:.6g} rows with "
            f"probability {confidence:g}, unless the value is a bound"
        )

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """The error of the rank, in words."""
        ranks = scatters[self.chosen].reach(confidence)
        words = f"its rank is off by at most {ranks:.6g} rows with probability {confidence:g}"
        if self.about is not None:
            beyond = scatters[self.about].reach(confidence)
            words = (
                f"its interval, in values, aims {beyond:.4g} ranks to either side of it and holds "
                f"with probability {confidence:g}"
            )
        return Expected(name=name, standard_error=None, half_width=None, words=words)
