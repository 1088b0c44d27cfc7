"""From the builder's terms to expressions over rows: names are looked up, constants take kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.analysis.constant_folding import folded
from quaestor.curator.analysis.constant_kinds import alike
from quaestor.curator.analysis.facts import LARGEST
from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.builder.terms import Measured
from quaestor.curator.language.expressions import (
    Call,
    Case,
    Column,
    Comparison,
    Constant,
    Expression,
    Member,
)
from quaestor.curator.language.functions import NUMBERS
from quaestor.curator.language.trees import children, with_children
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.questions.scope import Frame

__all__ = ["Resolver", "resolved"]

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
                "an aggregate stands where one row is looked at",
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
                    "nothing is equal to NULL, nor different from it", remedy="write x.is_null()"
                )
            return Comparison(made.operator, left, right)
        case Member():
            values = [alike(analysis, made.operand, value)[1] for value in made.values]
            found = [value for value in values if isinstance(value, Constant)]
            if not found or any(value.value is None for value in found):
                raise RefusedQuery(
                    "isin takes constants other than None", remedy="write x.is_null() | ..."
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
