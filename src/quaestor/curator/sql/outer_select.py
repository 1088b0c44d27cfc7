"""Rules for a SELECT around one that aggregates: it only reckons with what is released.

``SELECT n / 2 FROM (SELECT COUNT(*) AS n FROM visits) AS t WHERE n > 10`` looks at no row of
anybody. Its WHERE is a HAVING.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.curator.language.expressions import Expression, Logic
from quaestor.curator.questions.scope import nearest
from quaestor.curator.sql.clauses import read_condition, read_limit, read_order, read_outputs
from quaestor.curator.sql.refusals import only
from quaestor.curator.sql.row_functions import CALLS
from quaestor.curator.sql.row_values import SCALARS
from quaestor.curator.sql.syntax_tree import aggregates_in, placed
from quaestor.curator.sql.translator import Translator
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from sqlglot import exp

    from quaestor.curator.questions.completion import Parts

__all__ = ["OuterTranslator", "inner_select", "wrapped"]


class OuterTranslator(Translator):
    """Expressions over the outputs of the question inside."""

    rules: ClassVar[Any] = {**SCALARS, **CALLS}

    def __init__(self, inner: Translator, parts: Parts, name: str) -> None:
        super().__init__(inner.text, inner.frame, inner.analysis)
        self.parts, self.name = parts, name
        self.outputs = {output.name.lower(): output.expression for output in parts.outputs}

    def column(self, node: exp.Column) -> Expression:
        """An output of the question inside."""
        if node.table and node.table.lower() != self.name.lower():
            raise RefusedQuery(
                f"no table here is called {node.table!r}", remedy=f"write {self.name}"
            )
        if node.name.lower() not in self.outputs:
            raise RefusedQuery(
                f"the question inside has no output {node.name!r}",
                remedy=nearest(node.name, [output.name for output in self.parts.outputs]),
            )
        return self.outputs[node.name.lower()]


def inner_select(select: exp.Select) -> tuple[Any, str] | None:
    """The aggregating SELECT that this one is around, and its name; ``None`` if it is not."""
    origin: Any = select.args.get("from_")
    if origin is None or type(origin.this).__name__ not in {"Subquery", "Table"}:
        return None
    item, clause = origin.this, select.args.get("with_")
    name, inner = item.alias or item.name, item.this
    if type(item).__name__ == "Table":
        parts = clause.expressions if clause is not None else []
        inner = next((p.this for p in parts if p.alias.lower() == item.name.lower()), None)
    if type(inner).__name__ != "Select":
        return None
    if not inner.args.get("group") and not any(aggregates_in(e) for e in inner.expressions):
        return None
    return inner, name


def wrapped(inner: Translator, parts: Parts, select: exp.Select, name: str) -> Parts:
    """What the outer SELECT makes of the released values of the inner one."""
    with placed(inner.text, select):
        only(select, "expressions", "from_", "where", "with_", "order", "limit")
        origin: Any = select.args["from_"]
        only(origin.this, "this", "alias")
        if any(aggregates_in(node) for node in select.expressions):
            raise RefusedQuery(
                "an aggregate of released values has no known error",
                remedy="aggregate once, over the rows",
            )
        changes = any(select.args.get(clause) for clause in ("where", "order", "limit"))
        if parts.limit is not None and changes:
            raise RefusedQuery(
                "the question inside is cut off by LIMIT already",
                remedy="put WHERE, ORDER BY and LIMIT on one level",
            )
        outer = OuterTranslator(inner, parts, name)
        outputs = parts.outputs
        if [type(node).__name__ for node in select.expressions] != ["Star"]:
            outputs = read_outputs(outer, select.expressions, parts.keys)
        else:
            only(select.expressions[0])
        outer.outputs |= {output.name.lower(): output.expression for output in outputs}
        condition = read_condition(outer, select.args.get("where"))
        both = [part for part in (parts.having, condition) if part is not None]
        return replace(
            parts,
            outputs=outputs,
            having=Logic("and", tuple(both)) if len(both) > 1 else next(iter(both), None),
            order=read_order(outer, select, outputs) or parts.order,
            limit=read_limit(outer, select) or parts.limit,
        )
