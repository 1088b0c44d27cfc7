"""``SELECT ... UNION ALL SELECT ...``: several questions, and one table of all their rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.language.compound import Compound
from quaestor.curator.questions.compound_plan import check_cells
from quaestor.curator.questions.stored_form import canonical_json
from quaestor.curator.sql.grouping_sets import MOST_SETS
from quaestor.curator.sql.released_values import by_place, read_limit
from quaestor.curator.sql.select_statement import SelectStatement
from quaestor.curator.sql.translator import only, placed
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quaestor.curator.catalog.model import Catalog
    from quaestor.curator.language.expressions import Expression, Kind
    from quaestor.curator.language.query import Output, Query
    from quaestor.curator.sql.select_statement import Questioned

__all__ = ["united"]

_NUMBERS = {"integer", "real"}
_END = "put ORDER BY and LIMIT at the end of the whole question"


def united(
    text: str, tree: Any, catalog: Catalog, *, rows: int | None, groups: int | None
) -> Compound:
    """The questions between UNION ALL, with ORDER BY and LIMIT of all their rows."""
    with placed(text, tree):
        selects = list(_selects(text, tree, outermost=True))
        if len(selects) > MOST_SETS:
            raise RefusedQuery(
                f"there are more than {MOST_SETS} questions between UNION ALL",
                remedy="ask some of them by themselves",
            )
    made = []
    for select in selects:
        with placed(text, select):
            _give_names(select, tree.args.get("with_"))
            made.append(SelectStatement(text, catalog).question(select, rows=rows, groups=groups))
    with placed(text, tree):
        parts = [part for each in made for part in _parts(each)]
        queries = _named([query for query, _ in parts])
        _check(queries)
        return Compound(
            parts=queries,
            labels=tuple(label or f"part {at}" for at, (_, label) in enumerate(parts, 1)),
            kinds=_common_kinds(made, queries[0].outputs),
            order=_order(tree, queries),
            limit=read_limit(text, tree),
            notes=tuple(dict.fromkeys(n for each in made for n in _notes(each))),
        )


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
            f"{word} compares rows of several answers, which have noise",
            remedy="write UNION ALL, which puts the rows of each below those of the one before",
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


def _parts(each: Questioned) -> list[tuple[Query, str]]:
    """The questions of one part, each with a word for it, if it has one."""
    asked = each.asked
    if not isinstance(asked, Compound):
        return [(asked, "")]
    if asked.order or asked.limit is not None:
        raise RefusedQuery(
            "ORDER BY and LIMIT of a part with several grouping sets cannot be kept", remedy=_END
        )
    return list(zip(asked.parts, asked.labels, strict=True))


def _notes(each: Questioned) -> tuple[str, ...]:
    return each.asked.notes if isinstance(each.asked, Compound) else ()


def _named(queries: Sequence[Query]) -> tuple[Query, ...]:
    """The questions with the names of the first one's outputs."""
    names = [output.name for output in queries[0].outputs]
    for query in queries:
        if len(query.outputs) != len(names):
            raise RefusedQuery(
                f"one part of UNION ALL has {len(names)} outputs and another {len(query.outputs)}",
                remedy="select as many in each part, and NULL where there is nothing to show",
            )
    return tuple(
        replace(
            query,
            outputs=tuple(
                replace(output, name=name)
                for output, name in zip(query.outputs, names, strict=True)
            ),
        )
        for query in queries
    )


def _check(queries: Sequence[Query]) -> None:
    datasets = list(dict.fromkeys(query.dataset for query in queries))
    if len(datasets) > 1:
        raise RefusedQuery(
            f"the parts of UNION ALL are about different datasets: {', '.join(datasets)}",
            remedy="ask about each dataset by itself: each has its own account",
        )
    told: dict[str, int] = {}
    for place, query in enumerate(queries, 1):
        before = told.setdefault(canonical_json(query), place)
        if before != place:
            raise RefusedQuery(
                f"parts {before} and {place} of UNION ALL are the same question, which would be "
                "paid for twice",
                remedy="leave one of them out",
            )
    check_cells(queries)


def _common_kinds(made: Sequence[Questioned], outputs: Sequence[Output]) -> tuple[Kind, ...]:
    """One kind for each output; whole numbers and reals go together, and NULL with anything."""
    found: list[Kind] = []
    for place, output in enumerate(outputs):
        kinds = {kind for each in made if (kind := each.kinds[place]) is not None}
        if kinds == _NUMBERS:
            kinds = {"real"}
        if len(kinds) > 1:
            listed = " and ".join(sorted(str(kind) for kind in kinds))
            raise RefusedQuery(
                f"output {output.name} is of different kinds in the parts of UNION ALL: {listed}",
                remedy="make them of one kind, as in CAST(x AS TEXT)",
            )
        found += [*kinds] or ["real"]
    return tuple(found)


def _order(tree: Any, queries: Sequence[Query]) -> tuple[tuple[tuple[Expression, ...], bool], ...]:
    """ORDER BY after the last part: by names or numbers of outputs."""
    order = tree.args.get("order")
    if order is None:
        return ()
    only(order, "expressions")
    outputs = queries[0].outputs
    names = [output.name.lower() for output in outputs]
    found = []
    for part in order.expressions:
        only(part, "this", "desc")
        node = part.this
        if type(node).__name__ == "Literal" and not node.is_string:
            place = outputs.index(by_place(str(node.this), outputs))
        elif type(node).__name__ == "Column" and not node.table and node.name.lower() in names:
            place = names.index(node.name.lower())
        else:
            raise RefusedQuery(
                "after UNION ALL, ORDER BY takes names and numbers of outputs",
                remedy=f"write ORDER BY 1, or ORDER BY {outputs[0].name}",
            )
        each = tuple(query.outputs[place].expression for query in queries)
        found.append((each, bool(part.args.get("desc"))))
    return tuple(found)
