"""Rules for the clauses about released values: SELECT, HAVING, ORDER BY and LIMIT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.language.expressions import Aggregated, Constant, Expression, Keyed
from quaestor.curator.language.query import Output
from quaestor.curator.sql.refusals import only
from quaestor.curator.sql.syntax_tree import placed
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from quaestor.curator.language.query import Key
    from quaestor.curator.sql.translator import Translator

__all__ = ["by_place", "read_condition", "read_limit", "read_order", "read_outputs"]

_MOST_OUTPUTS = 200
_QUANTILES = frozenset({"PercentileCont", "PercentileDisc", "ApproxQuantile", "Median"})


def read_outputs(t: Translator, nodes: Sequence[Any], keys: Sequence[Key]) -> tuple[Output, ...]:
    """The columns of the answer, each with a name of its own."""
    if len(nodes) > _MOST_OUTPUTS:
        raise RefusedQuery(
            f"there are more than {_MOST_OUTPUTS} outputs", remedy="ask several questions"
        )
    found: list[Output] = []
    names: set[str] = set()
    for node in nodes:
        inner = node.this if type(node).__name__ == "Alias" else node
        made = t.convert(inner)
        name = node.alias or _name(inner, made, keys)
        if name.lower() in names:
            if node.alias:
                with placed(t.text, node):
                    raise RefusedQuery(
                        f"two outputs are called {name!r}", remedy="give one another name"
                    )
            name = _another(name, names)
        names.add(name.lower())
        found.append(Output(name=name, expression=made))
    return tuple(found)


def read_condition(t: Translator, clause: Any) -> Expression | None:
    """The condition of HAVING, or of a WHERE around an aggregating sub-query."""
    if clause is None:
        return None
    with placed(t.text, clause):
        only(clause, "this")
        made = t.convert(clause.this)
        if t.analysis.kind(made) != "boolean":
            raise RefusedQuery("HAVING needs a condition", remedy="write HAVING COUNT(*) > 100")
    return made


def read_order(
    t: Translator, select: exp.Select, columns: Sequence[Output]
) -> tuple[tuple[Expression, bool], ...]:
    """What the answer is sorted by, and whether from the largest on."""
    order = select.args.get("order")
    if order is None:
        return ()
    found = []
    with placed(t.text, order):
        only(order, "expressions")
        for part in order.expressions:
            only(part, "this", "desc")
            node = part.this
            if type(node).__name__ == "Literal" and not node.is_string:
                made = by_place(str(node.this), columns).expression
            else:
                made = t.convert(node)
            found.append((made, bool(part.args.get("desc"))))
    return tuple(found)


def read_limit(t: Translator, select: exp.Select) -> int | None:
    """How many rows of the answer are shown at most."""
    limit = select.args.get("limit")
    if limit is None:
        return None
    with placed(t.text, limit):
        node = limit.args.get("expression")
        if type(limit).__name__ == "Limit":
            only(limit, "expression")
            text = str(node.this) if type(node).__name__ == "Literal" else ""
            if text.isascii() and text.isdigit() and 1 <= int(text[:30]) <= 10**9:
                return int(text)
        raise RefusedQuery("LIMIT takes a whole number from 1 on", remedy="write LIMIT 10")


def by_place(text: str, among: Sequence[Any]) -> Any:
    """The output that a number means, from 1 on."""
    place = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= place <= len(among):
        raise RefusedQuery(
            f"there is no output number {text[:20]}", remedy=f"count from 1 to {len(among)}"
        )
    return among[place - 1]


def _name(node: Any, made: Expression, keys: Sequence[Key]) -> str:
    """A name for an output that has none: the key's, or the function and its column."""
    if type(node).__name__ == "Column":
        return str(node.name) if not isinstance(made, Keyed) else keys[made.place].name
    if isinstance(made, Keyed):
        return keys[made.place].name
    if isinstance(made, Constant):
        return "constant"
    if not isinstance(made, Aggregated):
        return "expression"
    inner, column = node, ""
    while type(inner).__name__ in {"Filter", "Paren", "WithinGroup"}:
        inner = inner.this
    if type(inner.this).__name__ == "Column":
        column = f"_{inner.this.name}"
    median = type(inner).__name__ == "Median"
    word = "median" if median else "quantile" if type(inner).__name__ in _QUANTILES else inner.key
    return f"{word}{column}"


def _another(name: str, taken: set[str]) -> str:
    count = 2
    while f"{name}_{count}".lower() in taken:
        count += 1
    return f"{name}_{count}"
