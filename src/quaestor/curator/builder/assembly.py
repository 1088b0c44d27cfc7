"""From the builder's question to a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.builder.name_resolution import Resolver, resolved
from quaestor.curator.builder.terms import Measured
from quaestor.curator.language.expressions import Aggregated, Column, Expression, Keyed
from quaestor.curator.language.query import Output
from quaestor.curator.questions.completion import Parts, finish
from quaestor.curator.questions.plan import (
    aggregate_facts,
    key_facts,
    plan_aggregate,
    plan_contribution,
    plan_key,
)
from quaestor.curator.questions.scope import nearest
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from quaestor.curator.analysis.facts import Facts
    from quaestor.curator.language.query import Aggregate, Key, Query
    from quaestor.curator.questions.scope import Frame

__all__ = ["Asked", "assemble"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of rows, in terms: keys, outputs, and what is made of released values."""

    keys: tuple[tuple[str, Expression], ...] = ()
    outputs: tuple[tuple[str, Expression], ...] = ()
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None


def assemble(frame: Frame, asked: Asked, *, rows: int | None, groups: int | None) -> Query:
    """The query, with every check that SQL goes through."""
    resolver = Resolver(frame)
    keys = tuple(
        plan_key(name, resolver.resolve(expression), resolver.analysis)
        for name, expression in asked.keys
    )
    contribution = plan_contribution(frame, keys, rows=rows, groups=groups)
    names = [*(key.name for key in keys), *(name for name, _ in asked.outputs)]
    if len({name.lower() for name in names}) < len(names):
        raise RefusedQuery("two outputs have one name", remedy="give one another name")
    outside = _Outside(resolver, keys)
    outputs = [Output(name=key.name, expression=Keyed(place)) for place, key in enumerate(keys)]
    for name, expression in asked.outputs:
        outputs.append(Output(name=name, expression=outside.resolve(expression)))
    outside.outputs = {output.name.lower(): output.expression for output in outputs}
    having = None if asked.having is None else outside.resolve(asked.having)
    if having is not None and outside.analysis.kind(having) != "boolean":
        raise RefusedQuery("having needs a condition", remedy="write having(col('n') > 100)")
    order = tuple((outside.resolve(expression), down) for expression, down in asked.order)
    parts = Parts(
        keys=keys,
        aggregates=tuple(outside.aggregates),
        outputs=tuple(outputs),
        having=having,
        order=order,
        limit=asked.limit,
    )
    return finish(frame, parts, contribution)


class _Outside:
    """Resolves terms over released values: keys, outputs by name, and aggregates."""

    def __init__(self, resolver: Resolver, keys: tuple[Key, ...]) -> None:
        self.resolver, self.keys = resolver, keys
        self.aggregates: list[Aggregate] = []
        self.outputs: dict[str, Expression] = {
            key.name.lower(): Keyed(place) for place, key in enumerate(keys)
        }
        self._facts: list[Facts] = []
        self.analysis = Analysis(
            {},
            keys=[key_facts(key) for key in keys],
            aggregates=self._facts,
            released=True,
        )

    def resolve(self, expression: Expression) -> Expression:
        return resolved(expression, self.analysis, self._leaf)

    def _leaf(self, leaf: Expression) -> Expression:
        if isinstance(leaf, Measured):
            return self._place(leaf)
        if not isinstance(leaf, Column):
            return leaf
        if leaf.name.lower() not in self.outputs:
            raise RefusedQuery(
                f"{leaf.name} is neither a key nor an output",
                remedy=nearest(leaf.name, self.outputs),
            )
        return self.outputs[leaf.name.lower()]

    def _place(self, asked: Measured) -> Expression:
        operand = None if asked.operand is None else self.resolver.resolve(asked.operand)
        made = plan_aggregate(
            asked.function, operand, self.resolver.analysis, probability=asked.probability
        )
        if made not in self.aggregates:
            self.aggregates.append(made)
            self._facts.append(aggregate_facts(made, self.resolver.analysis))
        return Aggregated(self.aggregates.index(made))
