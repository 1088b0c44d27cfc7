"""Rules for the whole question: its keys, outputs, conditions on released values, and order.

A SELECT around one that aggregates only reckons with what is released: ``SELECT n / 2 FROM (SELECT
COUNT(*) AS n FROM visits) AS t WHERE n > 10`` looks at no row of anybody. Its WHERE is a HAVING.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.language.compound import Compound
from quaestor.curator.language.expressions import Constant, Expression, Logic
from quaestor.curator.questions.compound_plan import together
from quaestor.curator.questions.plan import (
    Parts,
    finish,
    has_totals,
    plan_contribution,
    plan_key,
)
from quaestor.curator.questions.scope import nearest
from quaestor.curator.questions.union_plan import Questioned
from quaestor.curator.sql.from_clause import FromClause, RowTranslator
from quaestor.curator.sql.grouping_sets import members_of, sets_of
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
from quaestor.curator.sql.shares import over_groups
from quaestor.curator.sql.text import read_question
from quaestor.curator.sql.translator import Translator, aggregates_in, is_aggregate, only, placed
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.expressions import Kind
    from quaestor.curator.language.query import Key, Query
    from quaestor.curator.questions.scope import Frame

__all__ = ["SelectStatement", "parse", "parse_question"]

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
    asked = parse_question(text, catalog, rows=rows, groups=groups)
    if isinstance(asked, Compound):
        raise RefusedQuery(
            (
                "UNION ALL, ROLLUP, CUBE and GROUPING SETS ask several questions at once "
                f"(here {len(asked.parts)}); only one is allowed here"
            ),
            remedy="write one SELECT with a plain GROUP BY",
        )
    return asked


def parse_question(
    text: str, catalog: Catalog, *, rows: int | None = None, groups: int | None = None
) -> Query | Compound:
    """What a text asks: the query of :func:`parse`, or several that are asked together.

    Several are the parts of a UNION ALL, and the grouping sets of ROLLUP, CUBE and GROUPING SETS.
    """
    tree = read_question(text)
    try:
        if type(tree).__name__ == "Select":
            statement = SelectStatement(text, catalog)
            return statement.question(tree, rows=rows, groups=groups).asked  # type: ignore[arg-type]
        from quaestor.curator.sql.union_all import united_selects

        return united_selects(text, tree, catalog, rows=rows, groups=groups)
    except RecursionError:
        raise RefusedQuery(
            "the question is nested too deeply",
            remedy="name parts of it: WITH part AS (SELECT ...) SELECT ... FROM part",
        ) from None


class SelectStatement:
    """Builds the query that one SELECT means."""

    def __init__(self, text: str, catalog: Catalog) -> None:
        self.text, self.rows = text, FromClause(text, catalog)

    def question(self, select: exp.Select, *, rows: int | None, groups: int | None) -> Questioned:
        """What is asked, with contributions as declared or less."""
        inside = _inner_select(select)
        if inside is not None and self._of_units(select, inside[0]):
            inside = None
        inner, name = (select, "") if inside is None else inside
        known = {} if inside is None else self.rows.named(select, {}, without=inner)
        _check_clauses(inner)
        frame = self.rows.source(inner, self.rows.named(inner, known))
        keys, sets = self._keys(inner, frame)

        def parts_of(present: Sequence[int]) -> tuple[OutputTranslator, Parts]:
            t = OutputTranslator(self.text, frame, keys, present=present, sets=sets is not None)
            parts = self._parts(inner, t)
            return t, parts if inside is None else _wrapped(t, parts, select, name)

        def finished(parts: Parts) -> Query:
            contribution = plan_contribution(frame, parts.keys, rows=rows, groups=groups)
            return finish(frame, parts, contribution)

        t, full = parts_of(range(len(keys)))
        kinds = tuple(_kind(t, output.expression) for output in full.outputs)
        if sets is None:
            return Questioned(asked=finished(full), kinds=kinds)
        made = [parts_of(present)[1] for present in sets]
        with placed(self.text, inner.args["group"]):
            asked = together(full, made, kinds, finished)
        return Questioned(asked=asked, kinds=kinds)

    def _of_units(self, select: exp.Select, inner: exp.Select) -> bool:
        """Whether the SELECT inside has one row a person, which nobody sees."""
        return self.rows.by_unit(inner, self.rows.named(select, {}, without=inner))

    def _parts(self, select: exp.Select, outputs: OutputTranslator) -> Parts:
        columns = read_outputs(outputs, select.expressions, outputs.keys)
        outputs.aliases = {column.name.lower(): column.expression for column in columns}
        having = read_condition(outputs, select.args.get("having"))
        order = read_order(outputs, select, columns)
        return Parts(
            keys=outputs.keys,
            aggregates=tuple(outputs.aggregates),
            outputs=columns,
            having=having,
            order=order,
            limit=read_limit(self.text, select),
        )

    def _keys(
        self, select: exp.Select, frame: Frame
    ) -> tuple[tuple[Key, ...], list[tuple[int, ...]] | None]:
        """All keys and, with ROLLUP and its like, the places of those of each set."""
        group = select.args.get("group")
        with placed(self.text, group or select):
            sets = None if group is None or not _has_sets(group) else sets_of(group)
        wanted = _grouped(select) if sets is None else [n for each in sets for n in each]
        if not wanted and sets is None:
            return (), None
        found: list[Key] = []
        places: dict[int, int] = {}
        with placed(self.text, group or select):
            if len(wanted) > _MOST_KEYS and sets is None:
                raise _too_many()
            translator = RowTranslator(self.text, frame, Analysis(frame.schema))
            for node in wanted:
                if id(node) in places:
                    continue
                key = self._key(node, select, translator)
                at = next((n for n, k in enumerate(found) if k.expression == key.expression), None)
                places[id(node)] = len(found) if at is None else at
                found += [key] if at is None else []
                if len(found) > _MOST_KEYS:
                    raise _too_many()
        if sets is None:
            return tuple(found), None
        distinct = [tuple(sorted({places[id(node)] for node in each})) for each in sets]
        return tuple(found), list(dict.fromkeys(distinct))

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


def _has_sets(group: exp.Expr) -> bool:
    return any(group.args.get(word) for word in ("rollup", "cube", "grouping_sets"))


def _check_clauses(select: exp.Select) -> None:
    only(
        select,
        "expressions", "from_", "joins", "where", "with_", "group", "having", "order", "limit",
        "distinct",
    )  # fmt: skip


def _too_many() -> RefusedQuery:
    return RefusedQuery(f"there are more than {_MOST_KEYS} keys", remedy="group by fewer columns")


def _kind(t: OutputTranslator, expression: Expression) -> Kind | None:
    null = isinstance(expression, Constant) and expression.value is None
    return None if null else t.analysis.kind(expression)


def _aggregates_bare(node: Any) -> bool:
    """Whether there is an aggregate outside of OVER."""
    parts = node.walk(prune=lambda part: type(part).__name__ == "Window")
    return any(is_aggregate(part) for part in parts)


def _grouped(select: exp.Select) -> list[Any]:
    """What rows are grouped by: as written, or with ALL and DISTINCT the outputs themselves."""
    group, distinct = select.args.get("group"), select.args.get("distinct")
    plain = [node for node in select.expressions if not aggregates_in(node)]
    plain = [node.this if type(node).__name__ == "Alias" else node for node in plain]
    if group is not None:
        only(group, "expressions", "all")
        if distinct is not None:
            only(distinct)  # groups are different already
        written = list(group.expressions)
        if any(type(node).__name__ in {"Paren", "Tuple"} for node in written):
            written = [*chain(*map(members_of, written))]
        return plain if group.args.get("all") else written
    if distinct is None:
        return []
    only(distinct)
    if len(plain) < len(select.expressions):
        raise RefusedQuery(
            "DISTINCT with aggregates needs GROUP BY",
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

    rules: ClassVar[Any] = {**SCALARS, **CALLS, "Window": over_groups}

    def __init__(self, inner: Translator, parts: Parts, name: str) -> None:
        super().__init__(inner.text, inner.frame, inner.analysis)
        self.parts, self.name = parts, name
        self.outputs = {output.name.lower(): output.expression for output in parts.outputs}

    def column(self, node: exp.Column) -> Expression:
        """An output of the question inside."""
        if node.table and node.table.lower() != self.name.lower():
            raise RefusedQuery(
                f"there is no table {node.table!r} in this question", remedy=f"write {self.name}"
            )
        if node.name.lower() not in self.outputs:
            raise RefusedQuery(
                f"the inner question has no output {node.name!r}",
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
        if any(_aggregates_bare(node) for node in select.expressions):
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
        if changes and any(has_totals(output.expression) for output in outputs):
            raise RefusedQuery(
                "the question inside adds up all of its groups with SUM(...) OVER",
                remedy="put OVER, WHERE, ORDER BY and LIMIT on one level",
            )
        if [type(node).__name__ for node in select.expressions] != ["Star"]:
            outputs = read_outputs(outer, select.expressions, parts.keys)
        else:
            only(select.expressions[0])
        if parts.limit is not None and any(has_totals(o.expression) for o in outputs):
            raise RefusedQuery(
                "SUM(...) OVER adds up all groups, and the question inside is cut off by LIMIT",
                remedy="put OVER and LIMIT on one level",
            )
        outer.outputs |= {output.name.lower(): output.expression for output in outputs}
        condition = read_condition(outer, select.args.get("where"))
        both = [part for part in (parts.having, condition) if part is not None]
        return replace(
            parts,
            outputs=outputs,
            having=Logic("and", tuple(both)) if len(both) > 1 else next(iter(both), None),
            order=read_order(outer, select, outputs) or parts.order,
            limit=read_limit(outer.text, select) or parts.limit,
        )
