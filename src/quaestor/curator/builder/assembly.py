"""From the builder's question to a query: names are looked up, constants take their kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.curator.aggregates import kind_of
from quaestor.curator.analysis.facts import LARGEST, alike, folded
from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.builder.grouping_sets import GroupingOf
from quaestor.curator.language.expressions import (
    Aggregated,
    Call,
    Case,
    Column,
    Comparison,
    Constant,
    Expression,
    Keyed,
    Member,
    children,
    with_children,
)
from quaestor.curator.language.functions import NUMBERS
from quaestor.curator.language.query import Output
from quaestor.curator.language.terms import Measured
from quaestor.curator.questions.compound_plan import together
from quaestor.curator.questions.plan import (
    Parts,
    finish,
    key_facts,
    plan_contribution,
    plan_key,
)
from quaestor.curator.questions.scope import nearest
from quaestor.curator.questions.union_plan import Questioned
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.curator.analysis.facts import ValueFacts
    from quaestor.curator.language.expressions import Kind
    from quaestor.curator.language.query import Aggregate, Key, Query
    from quaestor.curator.questions.scope import Frame

__all__ = ["AskedTerms", "Resolver", "assemble", "resolved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTerms:
    """What is asked of rows, in terms: keys, outputs, and what is made of released values."""

    keys: tuple[tuple[str, Expression], ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None
    """The places of the keys of each set of groups, where there are several sets."""
    outputs: tuple[tuple[str, Expression], ...] = ()
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None


def assemble(
    frame: Frame, asked: AskedTerms, *, rows: int | None, groups: int | None
) -> Questioned:
    """What is asked, with every check that SQL goes through."""
    resolver = Resolver(frame)
    keys = tuple(
        plan_key(name, resolver.resolve(expression), resolver.analysis)
        for name, expression in asked.keys
    )
    names = [*(key.name for key in keys), *(name for name, _ in asked.outputs)]
    if len({name.lower() for name in names}) < len(names):
        raise RefusedQuery("two outputs have the same name", remedy="rename one of them")

    def finished(parts: Parts) -> Query:
        contribution = plan_contribution(frame, parts.keys, rows=rows, groups=groups)
        return finish(frame, parts, contribution)

    everything = range(len(keys))
    outside = _Outside(resolver, keys, everything, sets=asked.sets is not None)
    full = _parts(asked, outside)
    kinds = tuple(outside.kind(output.expression) for output in full.outputs)
    if asked.sets is None:
        return Questioned(asked=finished(full), kinds=kinds)
    made = [_parts(asked, _Outside(resolver, keys, some, sets=True)) for some in asked.sets]
    return Questioned(asked=together(full, made, kinds, finished), kinds=kinds)


def _parts(asked: AskedTerms, outside: _Outside) -> Parts:
    """What is asked of the groups by those keys that are present."""
    outputs = [
        Output(name=name, expression=outside.outputs[name.lower()]) for name, _ in asked.keys
    ]
    for name, expression in asked.outputs:
        outputs.append(Output(name=name, expression=outside.resolve(expression)))
    outside.outputs = {output.name.lower(): output.expression for output in outputs}
    having = None if asked.having is None else outside.resolve(asked.having)
    if having is not None and outside.analysis.kind(having) != "boolean":
        raise RefusedQuery("having needs a condition", remedy="write having(col('n') > 100)")
    return Parts(
        keys=outside.keys,
        aggregates=tuple(outside.aggregates),
        outputs=tuple(outputs),
        having=having,
        order=tuple((outside.resolve(expression), down) for expression, down in asked.order),
        limit=asked.limit,
    )


class _Outside:
    """Resolves terms over released values: keys, outputs by name, and aggregates.

    With several ``sets`` of groups the keys that are not ``present`` in this one are NULL.
    """

    def __init__(
        self, resolver: Resolver, keys: tuple[Key, ...], present: Sequence[int], *, sets: bool
    ) -> None:
        self.resolver, self.sets = resolver, sets
        self.keys = tuple(keys[place] for place in present)
        self.absent = {key.name.lower(): place not in present for place, key in enumerate(keys)}
        self.aggregates: list[Aggregate] = []
        self.outputs: dict[str, Expression] = {
            key.name.lower(): Constant(None, key.kind) for key in keys
        } | {key.name.lower(): Keyed(place) for place, key in enumerate(self.keys)}
        self._facts: list[ValueFacts] = []
        self.analysis = Analysis(
            {},
            keys=[key_facts(key) for key in self.keys],
            aggregates=self._facts,
            released=True,
        )

    def resolve(self, expression: Expression) -> Expression:
        return resolved(expression, self.analysis, self._leaf)

    def kind(self, expression: Expression) -> Kind | None:
        """The kind of an output; None where all that is known is that it is NULL."""
        null = isinstance(expression, Constant) and expression.value is None
        return None if null else self.analysis.kind(expression)

    def _leaf(self, leaf: Expression) -> Expression:
        if isinstance(leaf, Measured):
            return self._place(leaf)
        if isinstance(leaf, GroupingOf):
            return self._grouping(leaf)
        if not isinstance(leaf, Column):
            return leaf
        if leaf.name.lower() not in self.outputs:
            raise RefusedQuery(
                f"{leaf.name} is neither a key nor an output",
                remedy=nearest(leaf.name, self.outputs),
            )
        return self.outputs[leaf.name.lower()]

    def _grouping(self, asked: GroupingOf) -> Expression:
        """One bit a key, 1 where the row is of all of its values."""
        if not self.sets:
            raise RefusedQuery(
                "grouping(...) says whether a row is a subtotal, and there are none here",
                remedy="leave it out, or write group_by(rollup(...))",
            )
        bits = 0
        for name in asked.names:
            if name.lower() not in self.absent:
                raise RefusedQuery(
                    f"grouping(...) takes keys, and {name} is none of group_by(...)",
                    remedy=nearest(name, self.absent),
                )
            bits = 2 * bits + self.absent[name.lower()]
        return Constant(bits, "integer")

    def _place(self, asked: Measured) -> Expression:
        operand = None if asked.operand is None else self.resolver.resolve(asked.operand)
        second = None if asked.second is None else self.resolver.resolve(asked.second)
        kind, analysis = kind_of(asked.function), self.resolver.analysis
        made = kind.plan(operand, analysis, probability=asked.probability, second=second)
        if made not in self.aggregates:
            self.aggregates.append(made)
            self._facts.append(kind_of(made.function).facts(made, analysis))
        return Aggregated(self.aggregates.index(made))


_ALIKE_CALLS = frozenset({"coalesce", "least", "greatest", "nullif"})


class Resolver:
    """Resolves terms over the columns of a frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.analysis = frame, Analysis(frame.schema)

    def resolve(self, expression: Expression) -> Expression:
        """The expression over the frame's columns, checked."""
        return resolved(expression, self.analysis, self._leaf)

    def _leaf(self, leaf: Expression) -> Expression:
        if isinstance(leaf, Measured):
            raise RefusedQuery(
                "an aggregate is not allowed where single rows are evaluated",
                remedy="use aggregates in aggregate(...), and conditions on them in having(...)",
            )
        return self.find(leaf.name) if isinstance(leaf, Column) else leaf

    def find(self, name: str) -> Column:
        """A column by its name, or by its table's and its own."""
        try:
            return self.frame.find(name)
        except RefusedQuery:
            qualifier, dot, rest = name.partition(".")
            if not dot:
                raise
            return self.frame.find(rest, qualifier)


def resolved(
    expression: Expression, analysis: Analysis, leaf: Callable[[Expression], Expression]
) -> Expression:
    """The expression with other leaves, with constants of the right kinds, checked."""
    inside = [resolved(child, analysis, leaf) for child in children(expression)]
    made = with_children(expression, inside) if inside else leaf(expression)
    made = folded(_agreeing(made, analysis), analysis)
    number = made.value if isinstance(made, Constant) and made.kind in NUMBERS else None
    if isinstance(number, int | float) and not abs(number) <= LARGEST:
        raise RefusedQuery("no number may be larger than 10^15", remedy="give a smaller one")
    analysis.facts(made)
    return made


def _agreeing(made: Expression, analysis: Analysis) -> Expression:
    match made:
        case Comparison():
            left, right = alike(analysis, made.left, made.right)
            if any(isinstance(side, Constant) and side.value is None for side in (left, right)):
                raise RefusedQuery(
                    "comparisons with NULL are never true", remedy="write x.is_null()"
                )
            return Comparison(made.operator, left, right)
        case Member():
            values = [alike(analysis, made.operand, value)[1] for value in made.values]
            found = [value for value in values if isinstance(value, Constant)]
            if not found or any(value.value is None for value in found):
                raise RefusedQuery(
                    "isin needs constants other than None", remedy="write x.is_null() | ..."
                )
            return Member(made.operand, tuple(found))
        case Case():
            *thens, otherwise = alike(analysis, *(t for _, t in made.branches), made.otherwise)
            whens = [when for when, _ in made.branches]
            return Case(tuple(zip(whens, thens, strict=True)), otherwise)
        case Call() if made.function in _ALIKE_CALLS:
            return Call(made.function, tuple(alike(analysis, *made.arguments)))
        case _:
            return made
