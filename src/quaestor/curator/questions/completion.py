"""The last step to a query, the same from SQL and from the builder.

Is it worth asking, and is it about the largest groups only?
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quaestor.curator.language.expressions import Aggregated, Expression
from quaestor.curator.language.query import Query, TopGroups
from quaestor.curator.language.trees import children, nodes, with_children
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from quaestor.curator.language.query import Aggregate, Contribution, Key, Output
    from quaestor.curator.questions.scope import Frame

__all__ = ["Parts", "finish"]

_COUNTED = frozenset({"count", "units"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a question says beside its rows."""

    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None


def finish(frame: Frame, parts: Parts, contribution: Contribution) -> Query:
    """The query. The largest groups are chosen by the exponential mechanism where that fits."""
    parts = _needed(parts)
    declared = all(key.values is not None for key in parts.keys)
    if not parts.aggregates and declared:
        raise RefusedQuery(
            "the question asks nothing of the data: its answer is known from the catalog",
            remedy="ask for an aggregate, such as COUNT(*)",
        )
    top = _top(parts) if declared else None
    return Query(
        dataset=frame.dataset or "",
        rows=frame.rows,
        unit=frame.unit or "",
        contribution=contribution,
        keys=parts.keys,
        aggregates=parts.aggregates,
        outputs=parts.outputs,
        having=parts.having,
        top=top,
        order=parts.order,
        limit=parts.limit,
    )


def _needed(parts: Parts) -> Parts:
    """Without aggregates that nothing is made of: they would cost, and not be seen."""
    order = [expression for expression, _ in parts.order]
    having = [parts.having] if parts.having is not None else []
    roots = [*(output.expression for output in parts.outputs), *having, *order]
    used = {node.place for root in roots for node in nodes(root) if isinstance(node, Aggregated)}
    if len(used) == len(parts.aggregates):
        return parts
    places = {old: new for new, old in enumerate(sorted(used))}
    return replace(
        parts,
        aggregates=tuple(parts.aggregates[place] for place in sorted(used)),
        outputs=tuple(
            replace(output, expression=_moved(output.expression, places))
            for output in parts.outputs
        ),
        having=None if parts.having is None else _moved(parts.having, places),
        order=tuple((_moved(expression, places), down) for expression, down in parts.order),
    )


def _moved(expression: Expression, places: dict[int, int]) -> Expression:
    if isinstance(expression, Aggregated):
        return Aggregated(places[expression.place])
    return with_children(expression, [_moved(child, places) for child in children(expression)])


def _top(parts: Parts) -> TopGroups | None:
    """``ORDER BY COUNT(*) DESC LIMIT k`` over declared keys, where k leaves some out."""
    if parts.limit is None or parts.having is not None or len(parts.order) != 1:
        return None
    ((expression, descending),) = parts.order
    groups = math.prod(len(key.values or ()) for key in parts.keys)
    if not descending or not isinstance(expression, Aggregated) or parts.limit >= groups:
        return None
    if parts.aggregates[expression.place].function not in _COUNTED:
        return None
    return TopGroups(count=parts.limit, place=expression.place)
