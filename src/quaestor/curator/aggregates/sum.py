"""SUM: the total of an operand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.aggregates.aggregate_kind import (
    OfNumbers,
    Spelling,
    centred_steps,
    finer,
    of_one_operand,
    rows_of,
    second_finer,
    total_of,
)
from quaestor.curator.aggregates.complementary_sums import sum_of_totals
from quaestor.curator.aggregates.recipe import Linear
from quaestor.curator.language.terms import measured

if TYPE_CHECKING:
    from quaestor.curator.aggregates.aggregate_kind import Stepped
    from quaestor.curator.aggregates.complementary import Complements
    from quaestor.curator.aggregates.recipe import Recipe
    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Aggregate
    from quaestor.curator.language.terms import Term, Termlike

__all__ = ["SumKind", "total"]


def total(of: Termlike) -> Term:
    """The sum: ``total("cost")``.

    >>> from quaestor.curator import table
    >>> asked = table("visits").group_by("ward").aggregate(figure=total("cost"))
    """
    return measured("sum", of)


class SumKind(OfNumbers):
    """The sum of a number, each unit counting with so many rows."""

    name, word = "sum", "SUM"
    spellings = (Spelling("Sum", of_one_operand("sum")),)
    functions = (total,)
    degree = 1
    adds_up = True

    def of_totals(self, aggregate: Aggregate, totals: Complements) -> Recipe:
        """The lower bound times the rows, and what is above it."""
        return sum_of_totals(aggregate, totals)

    def whole(self, aggregate: Aggregate, analysis: Analysis) -> bool:
        """Of whole numbers, if they are added up as such."""
        operand = aggregate.operand
        return operand is not None and analysis.kind(operand) == "integer" and aggregate.step == 1.0

    def cuts(self, aggregate: Aggregate, rows: int) -> tuple[tuple[Counted, float], ...]:
        """The plain total."""
        return ((total_of(self.steps(aggregate), rows), 0.0),)

    def of_steps(self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool) -> Recipe:
        """The total, in steps that round nothing away."""
        return self.first_of_steps(aggregate, finer(whole, rows), rows, centred=centred)

    def second_of_steps(
        self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool
    ) -> Recipe:
        """Beside a mean, in its steps."""
        small = whole if centred else second_finer(whole, rows)
        return self.first_of_steps(aggregate, small, rows, centred=centred)

    def first_of_steps(
        self, aggregate: Aggregate, whole: Stepped, rows: int, *, centred: bool
    ) -> Recipe:
        """The total; beside a mean of the same operand what the mean takes, at no further cost."""
        inf = float("inf")
        return Linear(
            aggregate=aggregate,
            terms=_shared(whole, rows) if centred else ((total_of(whole, rows), whole.step),),
            largest=rows * whole.reach * whole.step,
            least=0.0 if whole.low >= 0 else -inf,
            most=0.0 if whole.high <= 0 else inf,
        )


def _shared(whole: Stepped, rows: int) -> tuple[tuple[Measure, float], ...]:
    """The total of x - c, and c times the rows."""
    middle = centred_steps(whole)
    terms: tuple[tuple[Measure, float], ...] = ((total_of(middle, rows), middle.step),)
    if middle.centre:
        terms += ((rows_of(whole.operand, rows), middle.centre),)
    return terms
