"""Rules for what is released: aggregates, and what is computed from them and from keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.analysis.possible_values import narrowed
from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.language.expressions import (
    Aggregated,
    Case,
    Constant,
    Expression,
    Keyed,
)
from quaestor.curator.language.query import Output
from quaestor.curator.questions.plan import (
    FunctionName,
    aggregate_facts,
    key_facts,
    plan_aggregate,
)
from quaestor.curator.sql.from_clause import RowTranslator
from quaestor.curator.sql.row_functions import CALLS
from quaestor.curator.sql.row_values import SCALARS
from quaestor.curator.sql.translator import Translator, aggregates_in, only, placed, refused
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    from quaestor.curator.analysis.facts import Facts
    from quaestor.curator.language.query import Aggregate, Key
    from quaestor.curator.questions.scope import Frame


__all__ = [
    "OutputTranslator",
    "by_place",
    "read_condition",
    "read_limit",
    "read_order",
    "read_outputs",
]

_MOST_AGGREGATES = 100


class OutputTranslator(Translator):
    """Expressions over keys and aggregates; collects the aggregates as it meets them.

    ``aliases`` are outputs by name, which HAVING and ORDER BY may use.
    """

    def __init__(self, text: str, frame: Frame, keys: Sequence[Key]) -> None:
        self.row = RowTranslator(text, frame, Analysis(frame.schema))
        self.keys = keys
        self.aggregates: list[Aggregate] = []
        self.aliases: dict[str, Expression] = {}
        self._facts: list[Facts] = []
        super().__init__(
            text,
            frame,
            Analysis(
                {},
                keys=[key_facts(key) for key in keys],
                aggregates=self._facts,
                released=True,
            ),
        )

    def convert(self, node: exp.Expr) -> Expression:
        """The expression; what rows are grouped by is a key, however it is made."""
        alias = self._alias(node)
        if alias is not None:
            return alias
        if self.keys and not aggregates_in(node):
            key = self._key(node)
            if key is not None:
                return key
        return super().convert(node)

    def _alias(self, node: Any) -> Expression | None:
        if type(node).__name__ != "Column" or node.table:
            return None
        return self.aliases.get(node.name.lower())

    def _key(self, node: exp.Expr) -> Expression | None:
        try:
            made = self.row.convert(node)
        except RefusedQuery:
            return None  # what it is, the rules for outputs will say
        places = (place for place, key in enumerate(self.keys) if key.expression == made)
        place = next(places, None)
        return None if place is None else Keyed(place)

    def column(self, node: exp.Column) -> Expression:
        """A column that is neither grouped by nor aggregated belongs to single rows."""
        found = self.row.column(node)
        name = node.name
        if self.frame.unit is not None and self.analysis_of(found).unit:
            raise RefusedQuery(
                f"{name} says whom a row is about, and is never shown",
                remedy=f"count people: COUNT(DISTINCT {name})",
            )
        raise RefusedQuery(
            f"{name} is a value of single rows",
            remedy=f"GROUP BY {name}, or aggregate it, as in AVG({name})",
        )

    def analysis_of(self, expression: Expression) -> Facts:
        """What is known of an expression of rows."""
        return self.row.analysis.facts(expression)

    def add(self, aggregate: Aggregate, analysis: Analysis) -> Expression:
        """The place of an aggregate; the same one is released once only."""
        if aggregate not in self.aggregates:
            if len(self.aggregates) >= _MOST_AGGREGATES:
                raise RefusedQuery(
                    f"there are more than {_MOST_AGGREGATES} aggregates",
                    remedy="ask several questions",
                )
            self.aggregates.append(aggregate)
            self._facts.append(aggregate_facts(aggregate, analysis))
        return Aggregated(self.aggregates.index(aggregate))


def _simple(function: FunctionName) -> Callable[[OutputTranslator, Any], Expression]:
    def rule(t: OutputTranslator, node: exp.Func) -> Expression:
        return _released(t, node, None, function)

    return rule


def _released(
    t: OutputTranslator,
    node: Any,
    condition: Expression | None,
    function: FunctionName,
    *,
    probability: float = 0.5,
) -> Expression:
    """One aggregate of one operand, of the rows for which the condition is true."""
    only(node, "this", "big_int", "quantile", "expression")
    operand = t.row.convert(node.this)
    analysis = t.row.analysis
    if condition is not None:
        if t.analysis_of(operand).unit:
            raise RefusedQuery(
                "people under a condition are counted in a question of their own",
                remedy="put the condition after WHERE",
            )
        analysis = Analysis(narrowed(t.frame.schema, condition))
        facts = analysis.facts(operand)
        case = Case(((condition, operand),), Constant(None, facts.kind))
        made = plan_aggregate(function, operand, analysis, probability=probability)
        if made.function == "count" and made.operand is None:
            case = Case(((condition, Constant(1, "integer")),), Constant(None, "integer"))
        return t.add(replace(made, operand=case), analysis)
    aggregate = plan_aggregate(function, operand, analysis, probability=probability)
    return t.add(aggregate, analysis)


def _count(t: OutputTranslator, node: Any, condition: Expression | None = None) -> Expression:
    """``COUNT(*)``, ``COUNT(x)`` and ``COUNT(DISTINCT x)``."""
    only(node, "this", "big_int")
    inner = node.this
    if inner is None or type(inner).__name__ == "Star":
        if inner is not None:
            only(inner)
        operand = None
        if condition is not None:
            operand = Case(((condition, Constant(1, "integer")),), Constant(None, "integer"))
        return t.add(plan_aggregate("count", operand, t.row.analysis), t.row.analysis)
    if type(inner).__name__ != "Distinct":
        return _released(t, node, condition, "count")
    only(inner, "expressions")
    if len(inner.expressions) != 1:
        raise RefusedQuery(
            "combinations of columns are not counted", remedy="COUNT(DISTINCT x) of one column"
        )
    return _released(t, _With(inner.expressions[0]), condition, "distinct")


class _With:
    """A node's only argument, where an aggregate is expected."""

    def __init__(self, this: exp.Expr) -> None:
        self.this = this
        self.args: dict[str, Any] = {"this": this}


def _count_if(t: OutputTranslator, node: exp.CountIf) -> Expression:
    only(node, "this")
    condition = t.row.convert(node.this)
    operand = Case(((condition, Constant(1, "integer")),), Constant(None, "integer"))
    return t.add(plan_aggregate("count", operand, t.row.analysis), t.row.analysis)


def _quantile(t: OutputTranslator, node: Any, condition: Expression | None = None) -> Expression:
    """``QUANTILE(x, 0.9)`` and its spellings."""
    asked = node.args.get("quantile") or node.args.get("expression")
    if asked is None:
        raise RefusedQuery("a quantile needs its probability", remedy="write QUANTILE(x, 0.9)")
    return _released(t, node, condition, "quantile", probability=_probability(t, asked))


def _median(t: OutputTranslator, node: Any, condition: Expression | None = None) -> Expression:
    only(node, "this")
    return _released(t, node, condition, "quantile", probability=0.5)


def _within(t: OutputTranslator, node: Any, condition: Expression | None = None) -> Expression:
    """``PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)``; descending it counts from the top."""
    only(node, "this", "expression")
    inner, order = node.this, node.expression
    if type(inner).__name__ not in {"PercentileCont", "PercentileDisc"}:
        raise refused(inner)
    only(inner, "this")
    only(order, "expressions")
    if len(order.expressions) != 1:
        raise RefusedQuery("a quantile is of one column", remedy="write WITHIN GROUP (ORDER BY x)")
    (ordered,) = order.expressions
    only(ordered, "this", "desc")
    probability = _probability(t, inner.this)
    if ordered.args.get("desc"):
        probability = 1.0 - probability
    return _released(t, _With(ordered.this), condition, "quantile", probability=probability)


def _probability(t: OutputTranslator, node: exp.Expr) -> float:
    made = t.row.convert(node)
    if (
        isinstance(made, Constant)
        and isinstance(made.value, int | float)
        and made.kind != "boolean"
    ) and 0 <= made.value <= 1:
        return float(made.value)
    raise RefusedQuery(
        "a quantile's probability is a constant from 0 to 1", remedy="write QUANTILE(x, 0.9)"
    )


def _filter(t: OutputTranslator, node: exp.Filter) -> Expression:
    """``COUNT(*) FILTER (WHERE x > 1)``."""
    only(node, "this", "expression")
    only(node.expression, "this")
    condition = t.row.convert(node.expression.this)
    name = type(node.this).__name__
    if name in _SIMPLE:
        return _released(t, node.this, condition, _SIMPLE[name])
    if name in _MORE:
        return _MORE[name](t, node.this, condition)
    raise refused(node.this)


_SIMPLE: dict[str, FunctionName] = {
    "Sum": "sum",
    "Avg": "mean",
    "Variance": "variance",
    "Stddev": "stddev",
    "StddevSamp": "stddev",
}
_MORE: dict[str, Callable[..., Expression]] = {
    "Count": _count,
    "Median": _median,
    "Quantile": _quantile,
    "PercentileCont": _quantile,
    "PercentileDisc": _quantile,
    "ApproxQuantile": _quantile,
    "WithinGroup": _within,
}


def _star(_: OutputTranslator, node: exp.Star) -> Expression:
    raise refused(node)


def _named_rule(t: OutputTranslator, node: Any) -> Expression:
    if str(node.this).lower() in {"approx_percentile", "percentile"} and len(node.expressions) == 2:
        operand, asked = node.expressions
        return _released(t, _With(operand), None, "quantile", probability=_probability(t, asked))
    return CALLS["Anonymous"](t, node)


OutputTranslator.rules = {
    **SCALARS,
    **CALLS,
    **{name: _simple(function) for name, function in _SIMPLE.items()},
    **_MORE,
    "CountIf": _count_if,
    "Filter": _filter,
    "Star": _star,
    "Anonymous": _named_rule,
}


_MOST_OUTPUTS = 200
_QUANTILES = frozenset({"PercentileCont", "PercentileDisc", "ApproxQuantile", "Median"})


def read_outputs(t: Translator, nodes: Sequence[Any], keys: Sequence[Key]) -> tuple[Output, ...]:
    """The columns of the answer, each with a name of its own."""
    if len(nodes) > _MOST_OUTPUTS:
        raise RefusedQuery(
            f"there are more than {_MOST_OUTPUTS} outputs", remedy="ask several questions"
        )
    found: list[Output] = []
    names: set[str] = set()
    for node in nodes:
        inner = node.this if type(node).__name__ == "Alias" else node
        made = t.convert(inner)
        name = node.alias or _name(inner, made, keys)
        if name.lower() in names:
            if node.alias:
                with placed(t.text, node):
                    raise RefusedQuery(
                        f"two outputs are called {name!r}", remedy="give one another name"
                    )
            name = _another(name, names)
        names.add(name.lower())
        found.append(Output(name=name, expression=made))
    return tuple(found)


def read_condition(t: Translator, clause: Any) -> Expression | None:
    """The condition of HAVING, or of a WHERE around an aggregating sub-query."""
    if clause is None:
        return None
    with placed(t.text, clause):
        only(clause, "this")
        made = t.convert(clause.this)
        if t.analysis.kind(made) != "boolean":
            raise RefusedQuery("HAVING needs a condition", remedy="write HAVING COUNT(*) > 100")
    return made


def read_order(
    t: Translator, select: exp.Select, columns: Sequence[Output]
) -> tuple[tuple[Expression, bool], ...]:
    """What the answer is sorted by, and whether from the largest on."""
    order = select.args.get("order")
    if order is None:
        return ()
    found = []
    with placed(t.text, order):
        only(order, "expressions")
        for part in order.expressions:
            only(part, "this", "desc")
            node = part.this
            if type(node).__name__ == "Literal" and not node.is_string:
                made = by_place(str(node.this), columns).expression
            else:
                made = t.convert(node)
            found.append((made, bool(part.args.get("desc"))))
    return tuple(found)


def read_limit(t: Translator, select: exp.Select) -> int | None:
    """How many rows of the answer are shown at most."""
    limit = select.args.get("limit")
    if limit is None:
        return None
    with placed(t.text, limit):
        node = limit.args.get("expression")
        if type(limit).__name__ == "Limit":
            only(limit, "expression")
            text = str(node.this) if type(node).__name__ == "Literal" else ""
            if text.isascii() and text.isdigit() and 1 <= int(text[:30]) <= 10**9:
                return int(text)
        raise RefusedQuery("LIMIT takes a whole number from 1 on", remedy="write LIMIT 10")


def by_place(text: str, among: Sequence[Any]) -> Any:
    """The output that a number means, from 1 on."""
    place = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= place <= len(among):
        raise RefusedQuery(
            f"there is no output number {text[:20]}", remedy=f"count from 1 to {len(among)}"
        )
    return among[place - 1]


def _name(node: Any, made: Expression, keys: Sequence[Key]) -> str:
    """A name for an output that has none: the key's, or the function and its column."""
    if type(node).__name__ == "Column":
        return str(node.name) if not isinstance(made, Keyed) else keys[made.place].name
    if isinstance(made, Keyed):
        return keys[made.place].name
    if isinstance(made, Constant):
        return "constant"
    if not isinstance(made, Aggregated):
        return "expression"
    inner, column = node, ""
    while type(inner).__name__ in {"Filter", "Paren", "WithinGroup"}:
        inner = inner.this
    if type(inner.this).__name__ == "Column":
        column = f"_{inner.this.name}"
    median = type(inner).__name__ == "Median"
    word = "median" if median else "quantile" if type(inner).__name__ in _QUANTILES else inner.key
    return f"{word}{column}"


def _another(name: str, taken: set[str]) -> str:
    count = 2
    while f"{name}_{count}".lower() in taken:
        count += 1
    return f"{name}_{count}"
