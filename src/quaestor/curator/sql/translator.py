"""The way from a syntax tree to an expression: one rule a kind of node, and no other way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.curator.analysis.constant_folding import folded
from quaestor.curator.sql.refusals import refused
from quaestor.curator.sql.syntax_tree import placed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlglot import exp

    from quaestor.curator.analysis.static_analysis import Analysis
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.questions.scope import Frame

__all__ = ["Translator"]


class Translator:
    """Turns nodes into expressions over the columns of a frame."""

    rules: ClassVar[Mapping[str, Callable[[Any, Any], Expression]]] = {}

    def __init__(self, text: str, frame: Frame, analysis: Analysis) -> None:
        self.text, self.frame, self.analysis = text, frame, analysis

    def convert(self, node: exp.Expr) -> Expression:
        """The expression that a node means; refused if there is no rule for it."""
        with placed(self.text, node):
            rule = self.rules.get(type(node).__name__)
            if rule is None:
                raise refused(node)
            made = folded(rule(self, node), self.analysis)
            self.analysis.facts(made)
        return made

    def column(self, node: exp.Column) -> Expression:
        """What a name means."""
        return self.frame.find(node.name, node.table or None)
