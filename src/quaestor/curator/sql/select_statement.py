"""Rules for the whole question: its keys, outputs, conditions on released values, and order.

A SELECT around one that aggregates only reckons with what is released: ``SELECT n / 2 FROM (SELECT
COUNT(*) AS n FROM visits) AS t WHERE n > 10`` looks at no row of anybody. Its WHERE is a HAVING.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.language.expressions import Expression, Logic
from quaestor.curator.questions.plan import Parts, finish, plan_contribution, plan_key
from quaestor.curator.questions.scope import nearest
from quaestor.curator.sql.from_clause import FromClause, RowTranslator
from quaestor.curator.sql.released_values import (
    OutputTranslator,
    by_place,
    read_condition,
    read_limit,
    read_order,
    read_outputs,
)
from quaestor.curator.sql.row_functions import CALLS
from quaestor.curator.sql.row_values import SCALARS
from quaestor.curator.sql.text import read
from quaestor.curator.sql.translator import Translator, aggregates_in, only, placed
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.query import Key, Query
    from quaestor.curator.questions.scope import Frame

__all__ = ["SelectStatement", "parse"]

_MOST_KEYS = 10


def parse(
    text: str, catalog: Catalog, *, rows: int | None = None, groups: int | None = None
) -> Query:
    """The query that a SELECT means, over the tables of a catalog.

    ``rows`` and ``groups`` say how much of one unit counts, if less than declared: fewer rows
    need less noise, and leave more out.

    Raises:
        RefusedQuery: it is not allowed; the error says where, why, and what to write instead.
    """
    tree = read(text)
    try:
        return SelectStatement(text, catalog).query(tree, rows=rows, groups=groups)
    except RecursionError:
        raise RefusedQuery(
            "the question is nested too deeply",
            remedy="name parts of it: WITH part AS (SELECT ...) SELECT ... FROM part",
        ) from None


class SelectStatement:
    """Builds the query that one SELECT means."""

    def __init__(self, text: str, catalog: Catalog) -> None:
        self.text, self.rows = text, FromClause(text, catalog)

    def query(self, select: exp.Select, *, rows: int | None, groups: int | None) -> Query:
        """The query, with contributions as declared or less."""
        inside = _inner_select(select)
        if inside is not None and self._of_units(select, inside[0]):
            inside = None
        if inside is None:
            frame, translator, parts = self._aggregated(select, {})
        else:
            inner, name = inside
            known = self.rows.named(select, {}, without=inner)
            frame, translator, parts = self._aggregated(inner, known)
            parts = _wrapped(translator, parts, select, name)
        contribution = plan_contribution(frame, parts.keys, rows=rows, groups=groups)
        return finish(frame, parts, contribution)

    def _of_units(self, select: exp.Select, inner: exp.Select) -> bool:
        """Whether the SELECT inside has one row a person, which nobody sees."""
        return self.rows.by_unit(inner, self.rows.named(select, {}, without=inner))

    def _aggregated(
        self, select: exp.Select, known: Mapping[str, Frame]
    ) -> tuple[Frame, OutputTranslator, Parts]:
        only(
            select,
            "expressions", "from_", "joins", "where", "with_", "group", "having", "order", "limit",
            "distinct",
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
        group, wanted = select.args.get("group"), _grouped(select)
        if not wanted:
            return ()
        found: list[Key] = []
        with placed(self.text, group or select):
            if len(wanted) > _MOST_KEYS:
                raise RefusedQuery(
                    f"there are more than {_MOST_KEYS} keys", remedy="group by fewer columns"
                )
            analysis = Analysis(frame.schema)
            translator = RowTranslator(self.text, frame, analysis)
            for node in wanted:
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


def _grouped(select: exp.Select) -> list[Any]:
    """What rows are grouped by: as written, or with ALL and DISTINCT the outputs themselves."""
    group, distinct = select.args.get("group"), select.args.get("distinct")
    plain = [node for node in select.expressions if not aggregates_in(node)]
    plain = [node.this if type(node).__name__ == "Alias" else node for node in plain]
    if group is not None:
        only(group, "expressions", "all")
        if distinct is not None:
            only(distinct)  # groups are different already
        return plain if group.args.get("all") else list(group.expressions)
    if distinct is None:
        return []
    only(distinct)
    if len(plain) < len(select.expressions):
        raise RefusedQuery(
            "DISTINCT stands beside aggregates, and there is no GROUP BY",
            remedy="write GROUP BY, which shows each group once",
        )
    return plain


def _same(left: Any, right: Any) -> bool:
    return left is right or left == right


def _word(node: Any) -> str:
    """A name for a key that has none: its function."""
    inner: Any = getattr(node, "this", None)
    column = f"_{inner.name}" if type(inner).__name__ == "Column" else ""
    return f"{node.key}{column}"


class _OuterTranslator(Translator):
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


def _inner_select(select: exp.Select) -> tuple[Any, str] | None:
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


def _wrapped(inner: Translator, parts: Parts, select: exp.Select, name: str) -> Parts:
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
        outer = _OuterTranslator(inner, parts, name)
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
