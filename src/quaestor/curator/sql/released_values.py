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
    spell,
)
from quaestor.curator.language.query import Output
from quaestor.curator.questions.plan import has_totals, key_facts
from quaestor.curator.sql.from_clause import RowTranslator
from quaestor.curator.sql.quantile_list import one_by_one
from quaestor.curator.sql.row_functions import CALLS
from quaestor.curator.sql.row_values import SCALARS
from quaestor.curator.sql.shares import over_groups
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

    ``aliases`` are outputs by name, which HAVING and ORDER BY may use. With several grouping
    ``sets`` the keys that are not ``present`` in this one are NULL.
    """

    def __init__(
        self, text: str, frame: Frame, keys: Sequence[Key], *, present: Sequence[int], sets: bool
    ) -> None:
        self.row = RowTranslator(text, frame, Analysis(frame.schema))
        self.keys = tuple(keys[place] for place in present)
        self.absent = tuple(key for place, key in enumerate(keys) if place not in present)
        self.sets = sets
        self.aggregates: list[Aggregate] = []
        self.aliases: dict[str, Expression] = {}
        self._facts: list[ValueFacts] = []
        super().__init__(
            text,
            frame,
            Analysis(
                {},
                keys=[key_facts(key) for key in self.keys],
                aggregates=self._facts,
                released=True,
            ),
        )

    def convert(self, node: exp.Expr) -> Expression:
        """The expression; what rows are grouped by is a key, however it is made."""
        alias = self._alias(node)
        if alias is not None:
            return alias
        if (self.keys or self.absent) and not aggregates_in(node):
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
        if place is not None:
            return Keyed(place)
        kinds = (key.kind for key in self.absent if key.expression == made)
        kind = next(kinds, None)
        return None if kind is None else Constant(None, kind)

    def column(self, node: exp.Column) -> Expression:
        """A column that is neither grouped by nor aggregated belongs to single rows."""
        found = self.row.column(node)
        name = node.name
        if self.frame.unit is not None and self.facts_of(found).unit:
            raise RefusedQuery(
                f"{name} identifies people and is never shown",
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


def _window(t: OutputTranslator, node: Any) -> Expression:
    """A total over groups; of rows there is none."""
    if type(node.this).__name__ == "Sum" and not aggregates_in(node.this.this):
        raise refused(node)
    return over_groups(t, node)


def _grouping(t: OutputTranslator, node: Any) -> Expression:
    """``GROUPING(a, b)``: one bit a key, 1 where the row is of all of its values."""
    only(node, "expressions")
    if not t.sets:
        raise RefusedQuery(
            "GROUPING(x) marks subtotals, and this question has none",
            remedy="leave it out, or write GROUP BY ROLLUP (x)",
        )
    bits = 0
    for part in node.expressions:
        bits = 2 * bits + _is_absent(t, part)
    return Constant(bits, "integer")


def _is_absent(t: OutputTranslator, node: Any) -> bool:
    """Whether a key, by its expression or the name that it has, is not in this set."""
    named = [key for key in (*t.absent, *t.keys) if key.name.lower() == node.name.lower()]
    try:
        made = t.row.convert(node)
    except RefusedQuery:
        if type(node).__name__ != "Column" or node.table or not named:
            raise
        made = named[0].expression
    if any(key.expression == made for key in t.absent):
        return True
    if not any(key.expression == made for key in t.keys):
        raise RefusedQuery(
            f"GROUPING takes keys, and {spell(made)} is none of GROUP BY",
            remedy="write GROUPING(x) with a key of GROUP BY",
        )
    return False


OutputTranslator.rules = {
    "Grouping": _grouping,
    "GroupingId": _grouping,
    **SCALARS,
    **CALLS,
    "Filter": _aggregate,
    "Star": _star,
    "Window": _window,
}


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
                        f"two outputs have the name {name!r}", remedy="rename one of them"
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
        if has_totals(made):
            raise RefusedQuery(
                "HAVING decides which groups SUM(...) OVER adds up, and cannot depend on it",
                remedy="show the share, and leave rows out when you read the answer",
            )
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


def read_limit(text: str, select: Any) -> int | None:
    """How many rows of the answer are shown at most."""
    limit = select.args.get("limit")
    if limit is None:
        return None
    with placed(text, limit):
        node = limit.args.get("expression")
        if type(limit).__name__ == "Limit":
            only(limit, "expression")
            count = str(node.this) if type(node).__name__ == "Literal" else ""
            if count.isascii() and count.isdigit() and 1 <= int(count[:30]) <= 10**9:
                return int(count)
        raise RefusedQuery("LIMIT must be a whole number of at least 1", remedy="write LIMIT 10")


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
    if type(node).__name__ in {"Grouping", "GroupingId"}:
        return "grouping"
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
