"""COUNT(DISTINCT ...): how many different values there are, or how many units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.aggregates.aggregate_kind import AggregateKind, SqlCall
from quaestor.curator.aggregates.recipe import Linear
from quaestor.curator.kernel.measures import Distinct, RowCount, Units
from quaestor.curator.language.expressions import Case, Constant, spell
from quaestor.curator.language.query import Aggregate
from quaestor.curator.language.terms import measured
from quaestor.errors import InvalidParameter, RefusedQuery

if TYPE_CHECKING:
    from quaestor.curator.aggregates.aggregate_kind import SqlReader
    from quaestor.curator.aggregates.recipe import Recipe
    from quaestor.curator.analysis.facts import ValueFacts
    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.terms import Term, Termlike

__all__ = ["DistinctKind", "UnitsKind", "count_distinct", "read_distinct"]


def count_distinct(of: Termlike) -> Term:
    """How many different values, ``count_distinct("city")``; of the unit: how many units.

    >>> from quaestor.curator import table
    >>> asked = table("visits").group_by("ward").aggregate(figure=count_distinct("patient"))
    """
    return measured("distinct", of)


def read_distinct(inner: Any, reader: SqlReader) -> SqlCall:
    """What stands in the brackets of ``COUNT(DISTINCT x)``."""
    reader.only(inner, "expressions")
    if len(inner.expressions) != 1:
        raise RefusedQuery(
            "COUNT(DISTINCT ...) of several columns is not supported",
            remedy="COUNT(DISTINCT x) of one column",
        )
    return SqlCall(function="distinct", operand=inner.expressions[0])


class _Different(AggregateKind):
    """What units and values have in common: they are counted."""

    def planned(self, operand: Expression, facts: ValueFacts, *, probability: float) -> Aggregate:
        """Units, where the operand says whom a row is about."""
        del probability
        if facts.unit:
            return Aggregate(function=UnitsKind.name)
        if facts.kind == "real":
            raise RefusedQuery(
                (
                    "COUNT(DISTINCT ...) of real numbers is not supported: it would depend on "
                    "rounding"
                ),
                remedy=f"count whole numbers: COUNT(DISTINCT FLOOR({spell(operand)}))",
            )
        return Aggregate(function=DistinctKind.name, operand=operand)

    def plan(
        self,
        operand: Expression | None,
        analysis: Analysis,
        *,
        probability: float = 0.5,
        second: Expression | None = None,
    ) -> Aggregate:
        """``CASE WHEN condition THEN unit END`` has one value a unit, in some of its rows."""
        made = super().plan(operand, analysis, probability=probability, second=second)
        if made.function == DistinctKind.name and _some_units(operand, analysis):
            return Aggregate(function=UnitsKind.name, operand=operand)
        return made

    def whole(self, aggregate: Aggregate, analysis: Analysis) -> bool:
        """Counts are."""
        del aggregate, analysis
        return True


def _some_units(operand: Expression | None, analysis: Analysis) -> bool:
    """Whether it is the unit wherever it is not NULL."""
    if not isinstance(operand, Case):
        return False
    values = [*(then for _, then in operand.branches), operand.otherwise]
    there = [v for v in values if not (isinstance(v, Constant) and v.value is None)]
    return bool(there) and all(analysis.facts(value).unit for value in there)


def _units(aggregate: Aggregate) -> Units | RowCount:
    if aggregate.operand is None:
        return Units()
    return RowCount(rows=1, operand=aggregate.operand)


class UnitsKind(_Different):
    """How many units there are: ``COUNT(DISTINCT unit)``."""

    name = "units"
    ranks = True
    once = True

    def cuts(self, aggregate: Aggregate, rows: int) -> tuple[tuple[Counted, float], ...]:
        """The units themselves; with an operand, those with a row where it has a value."""
        del rows
        return ((_units(aggregate), 0.0),)

    def recipe(self, aggregate: Aggregate, rows: int, *, centred: bool) -> Recipe:
        """The units themselves; with an operand, those with a row where it has a value."""
        del rows, centred
        terms = ((_units(aggregate), 1.0),)
        return Linear(aggregate=aggregate, terms=terms, largest=1.0, least=0.0)

    def spell(self, aggregate: Aggregate, operand: str) -> str:
        """The unit goes without its name."""
        if aggregate.operand is None:
            return "COUNT(DISTINCT unit)"
        if isinstance(aggregate.operand, Case) and len(aggregate.operand.branches) == 1:
            ((condition, _),) = aggregate.operand.branches
            return f"COUNT(DISTINCT unit) FILTER (WHERE {spell(condition)})"
        return f"COUNT(DISTINCT unit) FILTER (WHERE {operand} IS NOT NULL)"


class DistinctKind(_Different):
    """How many different values there are, counting so many of each unit."""

    name = "distinct"
    functions = (count_distinct,)

    def recipe(self, aggregate: Aggregate, rows: int, *, centred: bool) -> Recipe:
        """The different values themselves."""
        del centred
        if aggregate.operand is None:
            raise InvalidParameter(aggregate.function, None, "given an operand")
        different = Distinct(operand=aggregate.operand, rows=rows)
        return Linear(aggregate=aggregate, terms=((different, 1.0),), largest=rows, least=0.0)

    def spell(self, aggregate: Aggregate, operand: str) -> str:
        """As it is written."""
        del aggregate
        return f"COUNT(DISTINCT {operand})"
