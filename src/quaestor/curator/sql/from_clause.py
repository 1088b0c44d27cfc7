"""Rules for what stands after FROM: tables, joins, sub-queries and CTEs that filter and project."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.language.expressions import Column, Expression, Logic
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

    def convert(self, node: exp.Expr) -> Expression:
        """The expression; aggregates are refused with the clause that they belong to."""
        if is_aggregate(node):
            with placed(self.text, node):
                raise RefusedQuery(
                    "an aggregate stands where one row is looked at",
                    remedy="put conditions on aggregates after HAVING, and do not nest aggregates",
                )
        return super().convert(node)


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
                "the question names no table", remedy="write SELECT COUNT(*) FROM a table"
            )
        only(origin, "this")
        frame = self._item(origin.this, known)
        for join in [*(origin.this.args.get("joins") or []), *(select.args.get("joins") or [])]:
            with placed(self.text, join):
                frame = self._join(frame, join, known)
        where = select.args.get("where")
        if where is None:
            return frame
        only(where, "this")
        with placed(self.text, where):
            return frame.filtered(self._rows(frame).convert(where.this))

    def _rows(self, frame: Frame) -> RowTranslator:
        return RowTranslator(self.text, frame, Analysis(frame.schema))

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
                    "only tables of the catalog and sub-queries stand after FROM",
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
            raise RefusedQuery(
                "a sub-query that aggregates would have to be released first",
                remedy="sub-queries filter and project; aggregate in the outer question only",
            )
        if node.args.get("order") or node.args.get("limit"):
            raise RefusedQuery(
                "a sub-query that sorts or cuts rows mixes the rows of many people",
                remedy="put ORDER BY and LIMIT at the end of the whole question",
            )
        only(node, "expressions", "from_", "joins", "where", "with_")
        frame = self.source(node, self.named(node, known))
        return frame.projected(self._columns(frame, node), name)

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
                f"{' '.join(word for word in (side, kind) if word)} JOIN is not part of it",
                remedy="write JOIN or LEFT JOIN, with the private table first",
            )
        other = self._item(join.this, known)
        how: Any = _SIDES[side]
        taken = {column.qualifier.lower() for column in frame.visible}
        if any(column.qualifier.lower() in taken for column in other.visible):
            raise RefusedQuery(
                "two tables have one name here", remedy="give one of them another: JOIN b AS c"
            )
        if join.args.get("using"):
            names = [name.name for name in join.args["using"]]
            pairs = [(frame.find(name), other.find(name)) for name in names]
            made = frame.joined(other, pairs, how)
            return _merged(made, names, how)
        on = join.args.get("on")
        if on is None:
            raise RefusedQuery(
                "a join needs columns to agree on", remedy="write JOIN b ON a.key = b.key"
            )
        pairs, rest = self._agreements(frame, other, on)
        if rest and how == "left":
            raise RefusedQuery(
                "a LEFT JOIN agrees on columns, and on nothing else",
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
        waiting = [on]
        while waiting:
            part = waiting.pop()
            if type(part).__name__ == "Paren":
                waiting.append(part.this)
            elif type(part).__name__ == "And":
                waiting += [part.right, part.left]
            else:
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
