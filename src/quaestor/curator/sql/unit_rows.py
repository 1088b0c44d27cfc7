"""Rules for a sub-query that is grouped by the unit: one row a person, with figures of its rows.

``SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient`` shows nobody: it is rows, each about
one person, that an outer question aggregates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.curator.aggregates import kind_of, spelling_of
from quaestor.curator.aggregates.aggregate_kind import stepped
from quaestor.curator.analysis.facts import ValueFacts, number_facts
from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.language.expressions import (
    Case,
    Cast,
    Column,
    Constant,
    Expression,
    spell,
)
from quaestor.curator.language.query import UnitFigure
from quaestor.curator.sql.row_functions import CALLS
from quaestor.curator.sql.row_values import SCALARS
from quaestor.curator.sql.translator import Translator, is_aggregate, only, placed
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from sqlglot import exp


__all__ = ["UnitTranslator"]

_EXTREMES = {"Min": "least", "Max": "greatest", "AnyValue": "least", "First": "least"}
_COUNTED = {"count": "values", "distinct": "different"}
_WORDS = {
    "rows": "COUNT({})",
    "values": "COUNT({})",
    "different": "COUNT(DISTINCT {})",
    "total": "SUM({})",
    "mean": "AVG({})",
    "least": "MIN({})",
    "greatest": "MAX({})",
}
_ALLOWED = "use COUNT, COUNT(DISTINCT x), SUM, AVG, MIN and MAX there"


class UnitTranslator(Translator):
    """Expressions over figures of one unit; collects the figures as it meets them."""

    rules: ClassVar[Any] = {**SCALARS, **CALLS}

    def __init__(self, rows: Translator) -> None:
        self.rows, self.unit = rows, "unit"
        frame = rows.frame
        unit = Column(frame.unit or "")
        self.figures: list[tuple[str, UnitFigure]] = [
            (self.unit, UnitFigure(function="least", operand=unit))
        ]
        self.schema: dict[str, ValueFacts] = {self.unit: frame.schema[unit.name]}
        self.aliases: dict[str, Expression] = {}
        super().__init__(rows.text, frame, Analysis(self.schema))

    def convert(self, node: exp.Expr) -> Expression:
        """The expression; an aggregate in it is a figure of the unit's rows."""
        if is_aggregate(node):
            with placed(self.text, node):
                return self._figure(node)
        return super().convert(node)

    def column(self, node: exp.Column) -> Expression:
        """The unit, or an output by its name; other columns differ between rows of one person."""
        if not node.table and node.name.lower() in self.aliases:
            return self.aliases[node.name.lower()]
        found = self.rows.column(node)
        if self.rows.analysis.facts(found).unit:
            return Column(self.unit)
        raise RefusedQuery(
            f"{node.name} may differ between the rows of one person",
            remedy=f"take one of them: MIN({node.name}) AS {node.name}",
        )

    def _figure(self, node: Any) -> Expression:
        condition = None
        if type(node).__name__ == "Filter":
            only(node, "this", "expression")
            condition, node = self.rows.convert(node.expression.this), node.this
        function, operand = self._read(node)
        if type(node).__name__ == "CountIf":
            condition, operand = self.rows.convert(node.this), None
        if condition is not None:
            kind = "integer" if operand is None else self.rows.analysis.kind(operand)
            value = operand or Constant(1, "integer")
            operand = Case(((condition, value),), Constant(None, kind))
            function = "values" if function == "rows" else function
        figure, facts = self._planned(function, operand)
        return self._place(figure, facts)

    def _read(self, node: Any) -> tuple[str, Expression | None]:
        """What is put together, and of what."""
        name = type(node).__name__
        if name in _EXTREMES:
            only(node, "this")
            return _EXTREMES[name], self.rows.convert(node.this)
        spelling = spelling_of(node)
        call = spelling.read(node, _Reader(self)) if spelling is not None else None
        if call is None or call.function not in {"count", "distinct", "sum", "mean"}:
            typed = node.sql(dialect="duckdb").split("(")[0][:40]
            raise RefusedQuery(
                f"{typed} is not supported in a subquery grouped by the privacy unit",
                remedy=_ALLOWED,
            )
        if call.operand is None:
            return "rows", None
        operand = self.rows.convert(call.operand)
        words = {"sum": "total", "mean": "mean", **_COUNTED}
        return words[call.function], operand

    def _planned(self, function: str, operand: Expression | None) -> tuple[UnitFigure, ValueFacts]:
        analysis, most = self.rows.analysis, self.frame.most
        counts: Any = function
        if function in {"rows", "values", "different"}:
            least = 1.0 if function == "rows" else 0.0
            made = UnitFigure(function=counts, operand=operand, most=most)
            if function == "different" and operand is not None:
                kind_of("distinct").plan(operand, analysis)  # refuses what cannot be told apart
            return made, number_facts("integer", least, float(most), grain=0, nullable=False)
        if operand is None:
            raise RefusedQuery("there is nothing to add up", remedy=_ALLOWED)
        facts = analysis.facts(operand)
        if function in {"least", "greatest"}:
            if facts.kind == "boolean":
                operand, facts = Cast(operand, "integer"), _truth(facts)
            return UnitFigure(function=counts, operand=operand), _plain(facts)
        bounds = kind_of("sum" if function == "total" else "mean").plan(operand, analysis)
        operand = bounds.operand or operand
        whole = stepped(operand, low=bounds.low, high=bounds.high, step=bounds.step)
        figure = UnitFigure(
            function=counts,
            operand=operand,
            most=most,
            low=whole.low,
            high=whole.high,
            step=whole.step,
        )
        return figure, _reckoned(figure, facts)

    def _place(self, figure: UnitFigure, facts: ValueFacts) -> Expression:
        for name, known in self.figures:
            if known == figure:
                return Column(name)
        name = _WORDS[figure.function].format(
            "*" if figure.operand is None else spell(figure.operand)
        )
        if name in self.schema:
            name = f"{name}, {len(self.figures)}"
        self.figures.append((name, figure))
        self.schema[name] = facts
        return Column(name)


class _Reader:
    """What an aggregate needs to read its own calls."""

    def __init__(self, translator: UnitTranslator) -> None:
        self._translator = translator

    def only(self, node: Any, *names: str) -> None:
        """Refuse the node if it says anything beside these arguments."""
        only(node, *names)

    def value(self, node: Any) -> Expression:
        """What a node means in one row."""
        return self._translator.rows.convert(node)

    def refused(self, node: Any) -> RefusedQuery:
        """The refusal of something that is not part of the language."""
        del node
        return RefusedQuery(
            "this is not supported in a subquery grouped by the privacy unit", remedy=_ALLOWED
        )


def _truth(facts: ValueFacts) -> ValueFacts:
    return number_facts("integer", 0.0, 1.0, grain=0, nullable=facts.nullable)


def _plain(facts: ValueFacts) -> ValueFacts:
    """The same of one of several values."""
    return ValueFacts(
        kind=facts.kind,
        low=facts.low,
        high=facts.high,
        most=facts.most,
        grain=facts.grain,
        nullable=facts.nullable,
        keys=facts.keys if not facts.unit else None,
    )


def _reckoned(figure: UnitFigure, facts: ValueFacts) -> ValueFacts:
    """Where a total or a mean lies; a total is of one row at least, if it is not NULL."""
    low, high = figure.low * figure.step, figure.high * figure.step
    grain = min(0, math.frexp(figure.step)[1] - 54)
    if figure.function == "mean":
        return number_facts("real", low, high, grain=grain - 64, nullable=facts.nullable)
    whole = facts.kind in {"integer", "boolean"} and float(figure.step).is_integer()
    return number_facts(
        "integer" if whole else "real",
        low if low > 0 else low * figure.most,
        high if high < 0 else high * figure.most,
        grain=0 if whole else grain,
        nullable=facts.nullable,
    )
