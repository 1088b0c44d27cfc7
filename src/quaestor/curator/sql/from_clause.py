"""Rules for what stands after FROM: tables, joins, sub-queries and CTEs that filter and project."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.language.expressions import (
    Case,
    Column,
    Constant,
    Expression,
    IsNull,
    Logic,
    Not,
)
from quaestor.curator.questions.scope import Frame, find_table, scan
from quaestor.curator.sql.row_functions import CALLS
from quaestor.curator.sql.row_values import SCALARS
from quaestor.curator.sql.translator import (
    Translator,
    aggregates_in,
    is_aggregate,
    only,
    placed,
    refused,
)
from quaestor.curator.sql.unit_rows import UnitTranslator
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from quaestor.curator.catalog.model import Catalog

__all__ = ["FromClause", "RowTranslator"]

_SIDES = {"": "inner", "LEFT": "left"}


class RowTranslator(Translator):
    """Expressions of one row: aggregates have no place here."""

    rules: ClassVar[Any] = {**SCALARS, **CALLS}

    def __init__(
        self,
        text: str,
        frame: Frame,
        analysis: Analysis,
        marks: Mapping[int, Column] | None = None,
    ) -> None:
        super().__init__(text, frame, analysis)
        self.marks = marks or {}
        """Columns that say what IN (SELECT ...) and EXISTS found, by the node."""

    def convert(self, node: exp.Expr) -> Expression:
        """The expression; aggregates are refused with the clause that they belong to."""
        if id(node) in self.marks:
            return self._found(node)
        if is_aggregate(node):
            with placed(self.text, node):
                raise RefusedQuery(
                    "an aggregate is not allowed where single rows are evaluated",
                    remedy="put conditions on aggregates after HAVING, and do not nest aggregates",
                )
        return super().convert(node)

    def _found(self, node: Any) -> Expression:
        """Whether a public row agrees; ``x IN (SELECT ...)`` is NULL where x is."""
        there = Not(IsNull(self.marks[id(node)]))
        if type(node).__name__ == "Exists":
            return there
        operand = super().convert(node.this)
        if not self.analysis.facts(operand).nullable:
            return there
        return Case(((Not(IsNull(operand)), there),), Constant(None, "boolean"))


class FromClause:
    """Reads the rows that a question is about."""

    def __init__(self, text: str, catalog: Catalog) -> None:
        self.text, self.catalog = text, catalog

    def named(
        self, select: exp.Select, known: Mapping[str, Frame], *, without: Any = None
    ) -> dict[str, Frame]:
        """The frames that WITH names, beside those known already."""
        found = dict(known)
        clause = select.args.get("with_")
        if clause is None:
            return found
        with placed(self.text, clause):
            only(clause, "expressions")
            for part in clause.expressions:
                only(part, "this", "alias")
                if part.this is without:
                    continue
                name = part.alias
                found[name.lower()] = self._sub(part.this, name, part.args["alias"], found)
        return found

    def source(self, select: exp.Select, known: Mapping[str, Frame]) -> Frame:
        """The rows after FROM, joined and filtered."""
        origin = select.args.get("from_")
        if origin is None:
            raise RefusedQuery(
                "the question has no table", remedy="write SELECT COUNT(*) FROM a table"
            )
        only(origin, "this")
        frame = self._item(origin.this, known)
        where = select.args.get("where")
        if where is not None:
            only(where, "this")
        rest = [] if where is None else _conjuncts(where.this)
        for join in [*(origin.this.args.get("joins") or []), *(select.args.get("joins") or [])]:
            with placed(self.text, join):
                if _bare(join):
                    frame, rest = self._comma(frame, join, known, rest)
                else:
                    frame = self._join(frame, join, known)
        if not rest:
            return frame
        with placed(self.text, select.args["where"]):
            frame, marks = self._asked_elsewhere(frame, rest, known)
            rows = self._rows(frame, marks)
            parts = tuple(rows.convert(part) for part in rest)
            return frame.filtered(parts[0] if len(parts) == 1 else Logic("and", parts))

    def _rows(self, frame: Frame, marks: Mapping[int, Column] | None = None) -> RowTranslator:
        return RowTranslator(self.text, frame, Analysis(frame.schema), marks or {})

    def _comma(
        self, frame: Frame, join: exp.Join, known: Mapping[str, Frame], conditions: list[Any]
    ) -> tuple[Frame, list[Any]]:
        """A join by a comma: what the tables agree on is among the conditions after WHERE."""
        only(join, "this", "kind")
        other = self._item(join.this, known)
        _check_names(frame, other)
        pairs, rest = [], []
        for part in conditions:
            try:
                pair = self._pair(frame, other, part)
            except RefusedQuery:  # it is about another table, or wrong: that is seen later
                pair = None
            if pair is None:
                rest.append(part)
            else:
                pairs.append(pair)
        if not pairs:
            raise RefusedQuery(
                "a join needs a condition on columns, and WHERE has none",
                remedy="write FROM a, b WHERE a.key = b.key, or JOIN b ON a.key = b.key",
            )
        return frame.joined(other, pairs, "inner"), rest

    def _asked_elsewhere(
        self, frame: Frame, conditions: list[Any], known: Mapping[str, Frame]
    ) -> tuple[Frame, dict[int, Column]]:
        """The rows with a mark for every IN (SELECT ...) and EXISTS among the conditions."""
        marks: dict[int, Column] = {}
        for node in [node for part in conditions for node in part.walk()]:
            if type(node).__name__ == "Exists":
                with placed(self.text, node):
                    only(node, "this")
                    frame, marks[id(node)] = self._existing(frame, node.this, known)
            elif type(node).__name__ == "In" and node.args.get("query") is not None:
                with placed(self.text, node):
                    only(node, "this", "query")
                    frame, marks[id(node)] = self._listed(frame, node, known)
        return frame, marks

    def _listed(self, frame: Frame, node: Any, known: Mapping[str, Frame]) -> tuple[Frame, Column]:
        """``x IN (SELECT y FROM public)``."""
        mine = self._rows(frame).convert(node.this)
        if not isinstance(mine, Column):
            raise RefusedQuery(
                "IN (SELECT ...) needs a column on its left",
                remedy="name the expression in a sub-query after FROM, and use the name",
            )
        other = self._sub(node.args["query"], "sub-query", None, known)
        if len(other.visible) != 1:
            raise RefusedQuery(
                "IN (SELECT ...) must select one column",
                remedy="write IN (SELECT city FROM cities), or EXISTS for several columns",
            )
        return frame.marked(other, [(mine, Column(other.visible[0].column))])

    def _existing(
        self, frame: Frame, select: Any, known: Mapping[str, Frame]
    ) -> tuple[Frame, Column]:
        """``EXISTS (SELECT ... FROM public p WHERE p.x = y AND ...)``."""
        if type(select).__name__ != "Select" or select.args.get("joins"):
            raise refused(select)
        only(select, "expressions", "from_", "where")
        origin = select.args.get("from_")
        if origin is None:
            raise RefusedQuery(
                "a sub-query without FROM", remedy="write IN (SELECT key FROM a_public_table)"
            )
        other = self._item(origin.this, known)
        _check_names(frame, other)
        pairs, own = [], []
        where = select.args.get("where")
        for part in [] if where is None else _conjuncts(where.this):
            try:
                pair = self._pair(frame, other, part)
            except RefusedQuery:
                pair = None
            if pair is None:
                own.append(part)
            else:
                pairs.append(pair)
        if not pairs:
            raise RefusedQuery(
                "EXISTS needs a condition on columns of both tables",
                remedy="write EXISTS (SELECT 1 FROM cities c WHERE c.city = visits.city)",
            )
        if own:
            rows = self._rows(other)
            parts = tuple(rows.convert(part) for part in own)
            other = other.filtered(parts[0] if len(parts) == 1 else Logic("and", parts))
        return frame.marked(other, pairs)

    def _item(self, node: Any, known: Mapping[str, Frame]) -> Frame:
        with placed(self.text, node):
            kind = type(node).__name__
            if kind == "Subquery":
                only(node, "this", "alias", "joins")
                return self._sub(
                    node.this, node.alias or "sub-query", node.args.get("alias"), known
                )
            if kind != "Table" or type(node.this).__name__ != "Identifier":
                raise RefusedQuery(
                    "FROM supports only tables of the catalog and subqueries",
                    remedy="write FROM a table that the catalog declares",
                )
            only(node, "this", "alias", "joins")
            alias = node.args.get("alias")
            if alias is not None:
                only(alias, "this")
            if node.name.lower() in known:
                return known[node.name.lower()].called(node.alias or node.name)
            table = find_table(self.catalog, node.name)
            return scan(table, node.alias or table.name)

    def _sub(self, node: Any, name: str, alias: Any, known: Mapping[str, Frame]) -> Frame:
        if alias is not None:
            only(alias, "this")
        while type(node).__name__ == "Subquery" and not node.alias:
            only(node, "this")
            node = node.this
        if type(node).__name__ != "Select":
            raise refused(node)
        if node.args.get("group") or aggregates_in(node):
            return self._units(node, name, known)
        if node.args.get("order") or node.args.get("limit"):
            raise RefusedQuery(
                (
                    "a subquery with ORDER BY or LIMIT is not supported, because it mixes the "
                    "rows of many people"
                ),
                remedy="put ORDER BY and LIMIT at the end of the whole question",
            )
        only(node, "expressions", "from_", "joins", "where", "with_")
        frame = self.source(node, self.named(node, known))
        return frame.projected(self._columns(frame, node), name)

    def by_unit(self, select: exp.Select, known: Mapping[str, Frame]) -> bool:
        """Whether a sub-query is grouped by the unit: its rows are people's, and not released."""
        group = select.args.get("group")
        if group is None or not group.expressions:
            return False
        frame = self.source(select, self.named(select, known))
        rows = self._rows(frame)
        return frame.unit is not None and any(
            rows.analysis.facts(rows.convert(node)).unit
            for node in (_meant(part, select) for part in group.expressions)
            if type(node).__name__ == "Column"
        )

    def _units(self, select: Any, name: str, known: Mapping[str, Frame]) -> Frame:
        """One row a person, with figures of its rows: ``... GROUP BY patient``."""
        if not self.by_unit(select, known):
            raise RefusedQuery(
                (
                    "a subquery with aggregates is supported only if it is grouped by the "
                    "privacy unit"
                ),
                remedy=(
                    "group it by the unit, for one row per person, or aggregate in the outer "
                    "question only"
                ),
            )
        only(select, "expressions", "from_", "joins", "where", "with_", "group", "having")
        only(select.args["group"], "expressions")
        if len(select.args["group"].expressions) > 1:
            raise RefusedQuery(
                "a subquery grouped by the privacy unit cannot be grouped by anything else",
                remedy="take one value per person: MIN(sex) AS sex",
            )
        frame = self.source(select, self.named(select, known))
        units = UnitTranslator(self._rows(frame))
        columns = []
        for node in select.expressions:
            inner = node.this if type(node).__name__ == "Alias" else node
            called = node.alias or (node.name if type(node).__name__ == "Column" else "")
            if not called:
                with placed(self.text, node):
                    raise RefusedQuery("a column has no name", remedy="write ... AS name after it")
            columns.append((called, units.convert(inner)))
        units.aliases = {called.lower(): made for called, made in columns}
        having = select.args.get("having")
        condition = None if having is None else units.convert(having.this)
        made = frame.per_unit(units.figures, units.schema, units.unit)
        if condition is not None:
            made = made.filtered(condition)
        return made.projected(columns, name)

    def _columns(self, frame: Frame, select: exp.Select) -> list[tuple[str, Expression]]:
        rows, found = self._rows(frame), []
        for node in select.expressions:
            star = _star(node)
            if star is not None:
                with placed(self.text, node):
                    found += _everything(frame, star)
                continue
            inner = node.this if type(node).__name__ == "Alias" else node
            made = rows.convert(inner)
            name = node.alias_or_name
            if not name:
                with placed(self.text, node):
                    raise RefusedQuery("a column has no name", remedy="write ... AS name after it")
            if inner is node and isinstance(made, Column):
                name = next((v.name for v in frame.visible if v.column == made.name), name)
            found.append((name, made))
        return found

    def _join(self, frame: Frame, join: exp.Join, known: Mapping[str, Frame]) -> Frame:
        only(join, "this", "side", "kind", "on", "using")
        side, kind = str(join.args.get("side") or ""), str(join.args.get("kind") or "")
        if side not in _SIDES or kind not in {"", "INNER", "OUTER"}:
            raise RefusedQuery(
                f"{' '.join(word for word in (side, kind) if word)} JOIN is not supported",
                remedy="write JOIN or LEFT JOIN, with the private table first",
            )
        other = self._item(join.this, known)
        how: Any = _SIDES[side]
        _check_names(frame, other)
        if join.args.get("using"):
            names = [name.name for name in join.args["using"]]
            pairs = [(frame.find(name), other.find(name)) for name in names]
            made = frame.joined(other, pairs, how)
            return _merged(made, names, how)
        on = join.args.get("on")
        if on is None:
            raise RefusedQuery(
                "a join needs a condition on columns", remedy="write JOIN b ON a.key = b.key"
            )
        pairs, rest = self._agreements(frame, other, on)
        if rest and how == "left":
            raise RefusedQuery(
                "the condition of a LEFT JOIN may only compare columns",
                remedy="filter first: LEFT JOIN (SELECT * FROM b WHERE ...) AS b",
            )
        made = frame.joined(other, pairs, how)
        if not rest:
            return made
        rows = self._rows(made)
        parts = tuple(rows.convert(part) for part in rest)
        return made.filtered(parts[0] if len(parts) == 1 else Logic("and", parts))

    def _agreements(
        self, frame: Frame, other: Frame, on: Any
    ) -> tuple[list[tuple[Column, Column]], list[Any]]:
        """The equalities of one column of each side, and the other conditions."""
        pairs: list[tuple[Column, Column]] = []
        rest: list[Any] = []
        for part in _conjuncts(on):
            pair = self._pair(frame, other, part)
            if pair is None:
                rest.append(part)
            else:
                pairs.append(pair)
        return pairs, rest

    def _pair(self, frame: Frame, other: Frame, part: Any) -> tuple[Column, Column] | None:
        if type(part).__name__ != "EQ":
            return None
        if any(type(side).__name__ != "Column" for side in (part.left, part.right)):
            return None
        left, right = (self._owner(frame, other, side) for side in (part.left, part.right))
        if left[0] is right[0]:
            return None
        return (left[1], right[1]) if left[0] is frame else (right[1], left[1])

    def _owner(self, frame: Frame, other: Frame, node: Any) -> tuple[Frame, Column]:
        """The side that a column is of."""
        found = []
        with placed(self.text, node):
            only(node, "this", "table")
            for side in (frame, other):
                try:
                    found.append((side, side.find(node.name, node.table or None)))
                except RefusedQuery as refusal:
                    problem = refusal
            if len(found) > 1:
                raise RefusedQuery(
                    f"{node.name!r} is a column of both sides",
                    remedy=f"write the table's name before it, or USING ({node.name})",
                )
            if not found:
                raise problem
        return found[0]


def _meant(key: Any, select: Any) -> Any:
    """What GROUP BY means by the number or the name of an output."""
    if type(key).__name__ == "Literal" and not key.is_string and str(key.this).isdigit():
        parts = select.expressions[int(str(key.this)[:5]) - 1 :][:1]
        key = parts[0] if parts else key
    elif type(key).__name__ == "Column" and not key.table:
        named = (part for part in select.expressions if part.alias.lower() == key.name.lower())
        key = next(named, key)
    return key.this if type(key).__name__ == "Alias" else key


def _bare(join: Any) -> bool:
    """Whether tables stand side by side: a comma, or CROSS JOIN."""
    return not any(join.args.get(name) for name in ("on", "using", "side", "method")) and str(
        join.args.get("kind") or ""
    ) in {"", "CROSS"}


def _check_names(frame: Frame, other: Frame) -> None:
    taken = {column.qualifier.lower() for column in frame.visible}
    if any(column.qualifier.lower() in taken for column in other.visible):
        raise RefusedQuery(
            "two tables have the same name here", remedy="give one of them another: JOIN b AS c"
        )


def _conjuncts(node: Any) -> list[Any]:
    """The conditions that AND joins."""
    found, waiting = [], [node]
    while waiting:
        part = waiting.pop()
        if type(part).__name__ == "Paren":
            waiting.append(part.this)
        elif type(part).__name__ == "And":
            waiting += [part.right, part.left]
        else:
            found.append(part)
    return found


def _star(node: Any) -> str | None:
    """The table whose columns are all meant; empty for those of every table."""
    if type(node).__name__ == "Star":
        only(node)
        return ""
    if type(node).__name__ == "Column" and type(node.this).__name__ == "Star":
        only(node, "this", "table")
        only(node.this)
        return str(node.table)
    return None


def _everything(frame: Frame, qualifier: str) -> list[tuple[str, Expression]]:
    found: list[tuple[str, Expression]] = [
        (column.name, Column(column.column))
        for column in frame.visible
        if not qualifier or column.qualifier.lower() == qualifier.lower()
    ]
    if not found:
        frame.find("*", qualifier)
    return list(dict(found).items()) if len({c for _, c in found}) == len(dict(found)) else found


def _merged(frame: Frame, names: list[str], how: str) -> Frame:
    """After USING the name means the first column; of a LEFT JOIN the other one is not seen."""
    lowered = {name.lower() for name in names}
    first: dict[str, str] = {}
    keep = []
    for column in frame.visible:
        name = column.name.lower()
        if name in lowered and name in first:
            if how == "inner":
                keep.append(replace(column, column=first[name]))
        else:
            first[name] = column.column
            keep.append(column)
    return replace(frame, visible=tuple(keep))
