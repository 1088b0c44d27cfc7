"""Rules for what is released: aggregates, and what is computed from them and from keys.

They are for SELECT, HAVING, ORDER BY and LIMIT. How an aggregate is spelled, it knows itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.aggregates import kind_of, spelling_of
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
from quaestor.curator.questions.plan import key_facts
from quaestor.curator.sql.from_clause import RowTranslator
from quaestor.curator.sql.quantile_list import one_by_one
from quaestor.curator.sql.row_functions import CALLS
from quaestor.curator.sql.row_values import SCALARS
from quaestor.curator.sql.translator import Translator, aggregates_in, only, placed, refused
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    from quaestor.curator.aggregates.aggregate_kind import SqlCall
    from quaestor.curator.analysis.facts import ValueFacts
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
_MOST_OUTPUTS = 200


class OutputTranslator(Translator):
    """Expressions over keys and aggregates; collects the aggregates as it meets them.

    ``aliases`` are outputs by name, which HAVING and ORDER BY may use.
    """

    def __init__(self, text: str, frame: Frame, keys: Sequence[Key]) -> None:
        self.row = RowTranslator(text, frame, Analysis(frame.schema))
        self.keys = keys
        self.aggregates: list[Aggregate] = []
        self.aliases: dict[str, Expression] = {}
        self._facts: list[ValueFacts] = []
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

    def rule_for(self, node: exp.Expr) -> Callable[[Any, Any], Expression] | None:
        """Aggregates know how they are spelled."""
        return super().rule_for(node) if spelling_of(node) is None else _aggregate

    def only(self, node: exp.Expr, *names: str) -> None:
        """Refuse the node if it says anything beside these arguments."""
        only(node, *names)

    def value(self, node: exp.Expr) -> Expression:
        """What a node means in one row."""
        return self.row.convert(node)

    def refused(self, node: exp.Expr) -> RefusedQuery:
        """The refusal of something that is not part of the language."""
        return refused(node)

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
        if self.frame.unit is not None and self.facts_of(found).unit:
            raise RefusedQuery(
                f"{name} says whom a row is about, and is never shown",
                remedy=f"count people: COUNT(DISTINCT {name})",
            )
        raise RefusedQuery(
            f"{name} is a value of single rows",
            remedy=f"GROUP BY {name}, or aggregate it, as in AVG({name})",
        )

    def facts_of(self, expression: Expression) -> ValueFacts:
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
            self._facts.append(kind_of(aggregate.function).facts(aggregate, analysis))
        return Aggregated(self.aggregates.index(aggregate))


def _aggregate(t: OutputTranslator, node: Any) -> Expression:
    """An aggregate by any of its spellings, with a condition after FILTER or without."""
    condition = None
    if type(node).__name__ == "Filter":
        only(node, "this", "expression")
        only(node.expression, "this")
        condition = t.row.convert(node.expression.this)
        node = node.this
    spelling = spelling_of(node)
    if spelling is None:
        raise refused(node)
    call = spelling.read(node, t)
    if call.condition is not None:
        if condition is not None:
            raise refused(node)
        condition = t.row.convert(call.condition)
    return _released(t, call, condition)


def _released(t: OutputTranslator, call: SqlCall, condition: Expression | None) -> Expression:
    """The aggregate that a call means, of the rows for which the condition is true."""
    kind, analysis = kind_of(call.function), t.row.analysis
    if call.operand is None:
        operand = None if condition is None else _one_where(condition)
        return t.add(kind.plan(operand, analysis), analysis)
    operand = t.row.convert(call.operand)
    if call.second is not None:
        return _of_two(t, call, operand, condition)
    if condition is None:
        return t.add(kind.plan(operand, analysis, probability=call.probability), analysis)
    analysis = Analysis(narrowed(t.frame.schema, condition))
    made = kind.plan(operand, analysis, probability=call.probability)
    case = Case(((condition, operand),), Constant(None, analysis.kind(operand)))
    shown = _one_where(condition) if made.operand is None else case
    return t.add(replace(made, operand=shown), analysis)


def _of_two(
    t: OutputTranslator, call: SqlCall, operand: Expression, condition: Expression | None
) -> Expression:
    """An aggregate of two numbers: where one of them has no value, the row does not count."""
    analysis, second = t.row.analysis, t.row.convert(call.second)
    if condition is not None:
        analysis = Analysis(narrowed(t.frame.schema, condition))
        operand = Case(((condition, operand),), Constant(None, analysis.kind(operand)))
    return t.add(kind_of(call.function).plan(operand, analysis, second=second), analysis)


def _one_where(condition: Expression) -> Expression:
    """What has a value in the rows for which a condition is true."""
    return Case(((condition, Constant(1, "integer")),), Constant(None, "integer"))


def _star(_: OutputTranslator, node: exp.Star) -> Expression:
    raise refused(node)


OutputTranslator.rules = {**SCALARS, **CALLS, "Filter": _aggregate, "Star": _star}


def read_outputs(t: Translator, nodes: Sequence[Any], keys: Sequence[Key]) -> tuple[Output, ...]:
    """The columns of the answer, each with a name of its own."""
    listed: list[tuple[Any, str]] = [(node, "") for node in nodes]
    if any(type(part).__name__ == "Array" for node in nodes for part in node.walk()):
        listed = list(one_by_one(nodes))
    if len(listed) > _MOST_OUTPUTS:
        raise RefusedQuery(
            f"there are more than {_MOST_OUTPUTS} outputs", remedy="ask several questions"
        )
    found: list[Output] = []
    names: set[str] = set()
    for node, ending in listed:
        inner = node.this if type(node).__name__ == "Alias" else node
        made = t.convert(inner)
        name = (node.alias or _name(inner, made, keys)) + ending
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
    spelling = spelling_of(inner)
    word = inner.key if spelling is None else spelling.label_of(inner)
    return f"{word}{column}"


def _another(name: str, taken: set[str]) -> str:
    count = 2
    while f"{name}_{count}".lower() in taken:
        count += 1
    return f"{name}_{count}"
