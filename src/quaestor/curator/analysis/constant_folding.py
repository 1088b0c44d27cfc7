"""What is made of constants only is a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.expressions import Arithmetic, Call, Cast, Constant, Expression
from quaestor.curator.language.trees import children

if TYPE_CHECKING:
    from quaestor.curator.analysis.static_analysis import Analysis

__all__ = ["folded"]


def folded(expression: Expression, analysis: Analysis) -> Expression:
    """The constant that arithmetic, a cast or a function of constants is; else the same."""
    inside = children(expression)
    if not isinstance(expression, Arithmetic | Call | Cast) or not all(
        isinstance(child, Constant) for child in inside
    ):
        return expression
    kind = analysis.facts(expression).kind  # first of all: it refuses what cannot be evaluated
    return Constant(evaluate(expression), kind)
