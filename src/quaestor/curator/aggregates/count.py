"""COUNT: how many rows, or how many where an operand has a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.aggregates.aggregate_kind import AggregateKind, Spelling, SqlCall
from quaestor.curator.aggregates.count_distinct import read_distinct
from quaestor.curator.aggregates.recipe import Linear
from quaestor.curator.kernel.measures import RowCount
from quaestor.curator.language.query import Aggregate
from quaestor.curator.language.terms import Measured, Term, measured

if TYPE_CHECKING:
    from quaestor.curator.aggregates.aggregate_kind import SqlReader
    from quaestor.curator.aggregates.recipe import Recipe
    from quaestor.curator.analysis.facts import ValueFacts
    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.terms import Termlike

__all__ = ["CountKind", "count"]


def count(of: Termlike = None) -> Term:
    """How many rows, ``count()``; of those where a column has a value, ``count("age")``.

    >>> from quaestor.curator import table
    >>> asked = table("visits").group_by("ward").aggregate(figure=count())
    """
    return Term(Measured("count")) if of is None else measured("count", of)


def _read(node: Any, reader: SqlReader) -> SqlCall:
    """``COUNT(*)``, ``COUNT(x)`` and ``COUNT(DISTINCT x)``."""
    reader.only(node, "this", "big_int")
    inner = node.this
    if inner is None or type(inner).__name__ == "Star":
        if inner is not None:
            reader.only(inner)
        return SqlCall(function="count")
    if type(inner).__name__ == "Distinct":
        return read_distinct(inner, reader)
    return SqlCall(function="count", operand=inner)


def _read_if(node: Any, reader: SqlReader) -> SqlCall:
    """``COUNT_IF(condition)``."""
    reader.only(node, "this")
    return SqlCall(function="count", condition=node.this)


class CountKind(AggregateKind):
    """Rows, each unit counting with so many at most."""

    name = "count"
    spellings = (Spelling("Count", _read), Spelling("CountIf", _read_if))
    functions = (count,)
    ranks = True

    def planned(self, operand: Expression, facts: ValueFacts, *, probability: float) -> Aggregate:
        """An operand that always has a value says nothing: all rows count."""
        del probability
        return Aggregate(function=self.name, operand=operand if facts.nullable else None)

    def whole(self, aggregate: Aggregate, analysis: Analysis) -> bool:
        """Counts are."""
        del aggregate, analysis
        return True

    def cuts(self, aggregate: Aggregate, rows: int) -> tuple[tuple[Counted, float], ...]:
        """The rows themselves."""
        return ((RowCount(rows=rows, operand=aggregate.operand), 0.0),)

    def recipe(self, aggregate: Aggregate, rows: int, *, centred: bool) -> Recipe:
        """The rows themselves."""
        del centred
        counted = RowCount(rows=rows, operand=aggregate.operand)
        return Linear(aggregate=aggregate, terms=((counted, 1.0),), largest=rows, least=0.0)
