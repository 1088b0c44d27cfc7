"""QUANTILE and MEDIAN: chosen by their ranks, so that their error is one of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.aggregates.aggregate_kind import OfNumbers, Spelling, SqlCall
from quaestor.curator.aggregates.recipe import Estimates, Expected, Recipe
from quaestor.curator.kernel.measures import Chosen, ValueCounts
from quaestor.curator.language.expressions import Constant
from quaestor.curator.language.terms import measured
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.curator.aggregates.aggregate_kind import SqlReader, Stepped
    from quaestor.curator.aggregates.recipe import Noised, Scatter
    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Aggregate
    from quaestor.curator.language.terms import Term, Termlike

__all__ = ["QuantileKind", "Rank", "median", "quantile"]


def quantile(of: Termlike, probability: float) -> Term:
    """The value that a share of the rows is not above: ``quantile("cost", 0.9)``."""
    if not 0 <= probability <= 1:
        raise RefusedQuery(
            "a quantile's probability is from 0 to 1", remedy="write quantile(x, 0.9)"
        )
    return measured("quantile", of, float(probability))


def median(of: Termlike) -> Term:
    """The value in the middle: ``median("cost")``."""
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
        raise RefusedQuery("a quantile is of one column", remedy="write WITHIN GROUP (ORDER BY x)")
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
        "a quantile's probability is a constant from 0 to 1", remedy="write QUANTILE(x, 0.9)"
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

    def whole(self, aggregate: Aggregate, analysis: Analysis) -> bool:
        """Of whole numbers, in steps of one."""
        operand = aggregate.operand
        return operand is not None and analysis.kind(operand) == "integer" and aggregate.step == 1.0

    def of_steps(self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool) -> Recipe:
        """One choice in the histogram of the operand."""
        del centred
        histogram = ValueCounts(
            operand=whole.operand, low=whole.low, high=whole.high, step=whole.step, rows=rows
        )
        chosen = Chosen(histogram=histogram, probability=aggregate.probability)
        return Rank(aggregate=aggregate, chosen=chosen)

    def spell(self, aggregate: Aggregate, operand: str) -> str:
        """With its probability."""
        return f"{self.word}({operand}, {aggregate.probability:g})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank(Recipe):
    """A value of the operand, about so many of whose rows are below.

    How far its *rank* is off is known before anything is drawn. How far off the value itself is
    depends on how the data lie about it, which is private: no error is stated.
    """

    chosen: Chosen

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The quantile as it is drawn."""
        return (self.chosen,)

    @property
    def weights(self) -> tuple[float, ...]:
        """One: the ranks that one unit can move it by are its unit."""
        return (1.0,)

    def estimates(self, noised: Mapping[Measure, Noised], *, confidence: float) -> Estimates:
        """The value that was chosen for every group."""
        del confidence
        steps = noised[self.chosen].values.astype(np.float64)
        values = steps * self.chosen.histogram.step
        return Estimates(values=values, errors=None, lower=None, upper=None, approximate=True)

    def expected(
        self, name: str, scatters: Mapping[Measure, Scatter], *, confidence: float
    ) -> Expected:
        """The error of the rank, in words."""
        ranks = scatters[self.chosen].reach(confidence)
        return Expected(
            name=name,
            standard_error=None,
            half_width=None,
            words=f"its rank is off by at most {ranks:.6g} rows with probability {confidence:g}",
        )
