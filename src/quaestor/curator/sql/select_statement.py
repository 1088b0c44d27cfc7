"""Rules for the whole question: its keys, outputs, conditions on released values, and order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.questions.completion import Parts, finish
from quaestor.curator.questions.plan import plan_contribution, plan_key
from quaestor.curator.sql.clauses import (
    by_place,
    read_condition,
    read_limit,
    read_order,
    read_outputs,
)
from quaestor.curator.sql.from_clause import Rows, RowTranslator
from quaestor.curator.sql.outer_select import inner_select, wrapped
from quaestor.curator.sql.refusals import only
from quaestor.curator.sql.released_values import OutputTranslator
from quaestor.curator.sql.syntax_tree import aggregates_in, placed
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.query import Key, Query
    from quaestor.curator.questions.scope import Frame

__all__ = ["Statement"]

_MOST_KEYS = 10


class Statement:
    """Builds the query that one SELECT means."""

    def __init__(self, text: str, catalog: Catalog) -> None:
        self.text, self.rows = text, Rows(text, catalog)

    def query(self, select: exp.Select, *, rows: int | None, groups: int | None) -> Query:
        """The query, with contributions as declared or less."""
        inside = inner_select(select)
        if inside is None:
            frame, translator, parts = self._aggregated(select, {})
        else:
            inner, name = inside
            known = self.rows.named(select, {}, without=inner)
            frame, translator, parts = self._aggregated(inner, known)
            parts = wrapped(translator, parts, select, name)
        contribution = plan_contribution(frame, parts.keys, rows=rows, groups=groups)
        return finish(frame, parts, contribution)

    def _aggregated(
        self, select: exp.Select, known: Mapping[str, Frame]
    ) -> tuple[Frame, OutputTranslator, Parts]:
        only(
            select,
            "expressions", "from_", "joins", "where", "with_", "group", "having", "order", "limit",
        )  # fmt: skip
        frame = self.rows.source(select, self.rows.named(select, known))
        keys = self._keys(select, frame)
        outputs = OutputTranslator(self.text, frame, keys)
        columns = read_outputs(outputs, select.expressions, keys)
        outputs.aliases = {column.name.lower(): column.expression for column in columns}
        having = read_condition(outputs, select.args.get("having"))
        order = read_order(outputs, select, columns)
        parts = Parts(
            keys=keys,
            aggregates=tuple(outputs.aggregates),
            outputs=columns,
            having=having,
            order=order,
            limit=read_limit(outputs, select),
        )
        return frame, outputs, parts

    def _keys(self, select: exp.Select, frame: Frame) -> tuple[Key, ...]:
        group = select.args.get("group")
        if group is None:
            return ()
        found: list[Key] = []
        with placed(self.text, group):
            only(group, "expressions")
            if len(group.expressions) > _MOST_KEYS:
                raise RefusedQuery(
                    f"there are more than {_MOST_KEYS} keys", remedy="group by fewer columns"
                )
            analysis = Analysis(frame.schema)
            translator = RowTranslator(self.text, frame, analysis)
            for node in group.expressions:
                key = self._key(node, select, translator)
                if not any(other.expression == key.expression for other in found):
                    found.append(key)
        return tuple(found)

    def _key(self, node: Any, select: exp.Select, translator: RowTranslator) -> Key:
        """A key by its expression, by the name of an output, or by the place of one."""
        target, name = node, ""
        with placed(self.text, node):
            if type(node).__name__ == "Literal" and not node.is_string:
                target = by_place(str(node.this), select.expressions)
                name = target.alias_or_name
            elif type(node).__name__ == "Column" and not node.table:
                target, name = self._aliased(node, select, translator), node.name
            if type(target).__name__ == "Alias":
                target = target.this
            if aggregates_in(target):
                raise RefusedQuery(
                    "rows cannot be grouped by an aggregate of them",
                    remedy="group by columns; conditions on aggregates go after HAVING",
                )
            made = translator.convert(target)
            named = next((s for s in select.expressions if s.alias and _same(s.this, target)), None)
            name = (
                (named.alias if named is not None else name)
                or target.alias_or_name
                or _word(target)
            )
            return plan_key(name, made, translator.analysis)

    def _aliased(self, node: Any, select: exp.Select, translator: RowTranslator) -> Any:
        """A column if there is one of the name, else the output that has it."""
        try:
            translator.column(node)
        except RefusedQuery:
            for part in select.expressions:
                if part.alias and part.alias.lower() == node.name.lower():
                    return part
        return node


def _same(left: Any, right: Any) -> bool:
    return left is right or left == right


def _word(node: Any) -> str:
    """A name for a key that has none: its function."""
    inner: Any = getattr(node, "this", None)
    column = f"_{inner.name}" if type(inner).__name__ == "Column" else ""
    return f"{node.key}{column}"
