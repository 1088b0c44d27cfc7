"""``SUM(COUNT(*)) OVER ()``: a released figure added up over the groups of the answer.

It is computed from what was released, and costs nothing. No other window is read: rows of people
have no order here, and are never compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.language.expressions import Aggregated, GroupTotal, Keyed, nodes
from quaestor.curator.questions.plan import has_totals
from quaestor.curator.sql.translator import only, refused
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.sql.translator import Translator

__all__ = ["over_groups"]

_SHARE = "write COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (), or OVER (PARTITION BY key)"


def over_groups(t: Translator, node: Any) -> Expression:
    """The total of a released figure over all groups, or over those that share some keys."""
    if type(node.this).__name__ != "Sum":
        raise refused(node)
    if node.args.get("order") is not None or node.args.get("spec") is not None:
        raise RefusedQuery(
            "SUM(...) OVER (ORDER BY ...) is a running total, whose noise grows from row to row",
            remedy=f"leave ORDER BY out of OVER (...): {_SHARE}",
        )
    if node.args.get("alias") is not None:
        raise RefusedQuery("named windows are not supported", remedy=_SHARE)
    only(node, "this", "partition_by", "over")
    only(node.this, "this")
    operand = t.convert(node.this.this)
    if has_totals(operand):
        raise RefusedQuery("OVER cannot be nested", remedy=_SHARE)
    if not any(isinstance(part, Aggregated) for part in nodes(operand)):
        raise RefusedQuery(
            "SUM(...) OVER adds released figures up, and there is no aggregate in it",
            remedy="put an aggregate of rows inside: SUM(COUNT(*)) OVER () or SUM(SUM(x)) OVER ()",
        )
    by = [t.convert(part) for part in node.args.get("partition_by") or ()]
    if not all(isinstance(part, Keyed) for part in by):
        raise RefusedQuery(
            "PARTITION BY takes keys that the answer is grouped by",
            remedy="write a column of GROUP BY, or OVER () for all groups",
        )
    return GroupTotal(operand, tuple(sorted({part.place for part in by})))  # type: ignore[attr-defined]
