"""Walking expressions: what an expression is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    Expression,
    IsNull,
    Like,
    Logic,
    Member,
    Not,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["children", "columns_in", "nodes", "with_children"]


def children(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside; none in columns, constants and released values."""
    match expression:
        case Arithmetic() | Comparison():
            return (expression.left, expression.right)
        case Logic():
            return expression.operands
        case Not() | IsNull() | Like() | Cast() | Member():
            return (expression.operand,)
        case Case():
            branches = tuple(part for branch in expression.branches for part in branch)
            return (*branches, expression.otherwise)
        case Call():
            return expression.arguments
        case _:
            return ()


def with_children(expression: Expression, inside: Sequence[Expression]) -> Expression:
    """The same operation on other expressions, in the order of :func:`children`."""
    match expression:
        case Arithmetic() | Comparison():
            return replace(expression, left=inside[0], right=inside[1])
        case Logic():
            return replace(expression, operands=tuple(inside))
        case Not() | IsNull() | Like() | Cast() | Member():
            return replace(expression, operand=inside[0])
        case Case():
            pairs = zip(inside[:-1:2], inside[1:-1:2], strict=True)
            return Case(tuple(pairs), inside[-1])
        case Call():
            return replace(expression, arguments=tuple(inside))
        case _:
            return expression


def nodes(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it."""
    waiting = [expression]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(children(found))


def columns_in(expression: Expression) -> frozenset[str]:
    """The names of the columns that it reads."""
    return frozenset(node.name for node in nodes(expression) if isinstance(node, Column))
