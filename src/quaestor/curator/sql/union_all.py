"""``SELECT ... UNION ALL SELECT ...``: several questions, and one table of all their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.questions.union_plan import check_parts, united
from quaestor.curator.sql.released_values import by_place, read_limit
from quaestor.curator.sql.select_statement import SelectStatement
from quaestor.curator.sql.translator import only, placed
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.compound import Compound
    from quaestor.curator.language.query import Output

__all__ = ["united_selects"]

_END = "put ORDER BY and LIMIT at the end of the whole question"


def united_selects(
    text: str, tree: Any, catalog: Catalog, *, rows: int | None, groups: int | None
) -> Compound:
    """The questions between UNION ALL, with ORDER BY and LIMIT of all their rows."""
    with placed(text, tree):
        selects = list(_selects(text, tree, outermost=True))
        check_parts(len(selects))
    made = []
    for select in selects:
        with placed(text, select):
            _give_names(select, tree.args.get("with_"))
            made.append(SelectStatement(text, catalog).question(select, rows=rows, groups=groups))
    with placed(text, tree):
        limit = read_limit(text, tree)
        return united(made, lambda outputs: _order(tree, outputs), limit)


def _selects(text: str, node: Any, *, outermost: bool) -> Iterator[Any]:
    """Every SELECT, from the first on."""
    name = type(node).__name__
    while name == "Subquery":
        with placed(text, node):
            only(node, "this")
        node = node.this
        name = type(node).__name__
        outermost = False
    if name == "Select":
        yield node
        return
    if name != "Union" or node.args.get("distinct"):
        word = "UNION" if name == "Union" else name.upper()
        raise RefusedQuery(
            f"{word} would compare rows of several noisy answers",
            remedy="use UNION ALL, which appends the rows of each part",
        )
    if not outermost and any(node.args.get(each) for each in ("order", "limit", "with_")):
        raise RefusedQuery("a UNION ALL in brackets has a clause of its own", remedy=_END)
    only(node, "this", "expression", "order", "limit", "with_", "distinct")
    yield from _selects(text, node.this, outermost=False)
    yield from _selects(text, node.expression, outermost=False)


def _give_names(select: Any, clause: Any) -> None:
    """The names after WITH hold in every part."""
    if clause is None:
        return
    only(clause, "expressions")
    own = select.args.get("with_")
    if own is None:
        select.set("with_", clause.copy())
        return
    own.set("expressions", [*(each.copy() for each in clause.expressions), *own.expressions])


def _order(tree: Any, outputs: Sequence[Output]) -> list[tuple[int, bool]]:
    """ORDER BY after the last part: by names or numbers of outputs."""
    order = tree.args.get("order")
    if order is None:
        return []
    only(order, "expressions")
    names = [output.name.lower() for output in outputs]
    found = []
    for part in order.expressions:
        only(part, "this", "desc")
        node = part.this
        if type(node).__name__ == "Literal" and not node.is_string:
            place = list(outputs).index(by_place(str(node.this), outputs))
        elif type(node).__name__ == "Column" and not node.table and node.name.lower() in names:
            place = names.index(node.name.lower())
        else:
            raise RefusedQuery(
                "after UNION ALL, ORDER BY takes names and numbers of outputs",
                remedy=f"write ORDER BY 1, or ORDER BY {outputs[0].name}",
            )
        found.append((place, bool(part.args.get("desc"))))
    return found
