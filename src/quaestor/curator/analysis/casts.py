"""Casts: which there are, what is known of them, and what to do about numbers without bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quaestor.curator.analysis.facts import LARGEST, SMALLEST_GRAIN, Facts, number_facts
from quaestor.curator.analysis.intervals import INTERVALS
from quaestor.curator.analysis.kinds import article
from quaestor.curator.language.expressions import Column
from quaestor.curator.language.functions import NUMBERS
from quaestor.curator.language.text import spell
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Cast, Expression, Kind

__all__ = ["bounds_remedy", "cast_facts"]

_CASTS: frozenset[tuple[Kind, Kind]] = frozenset(
    {
        ("integer", "real"),
        ("real", "integer"),
        ("boolean", "integer"),
        ("boolean", "real"),
        ("integer", "boolean"),
        ("real", "boolean"),
        ("text", "integer"),
        ("text", "real"),
        ("text", "date"),
        ("text", "boolean"),
        ("boolean", "text"),
        ("integer", "text"),
        ("date", "text"),
    }
)


def bounds_remedy(expression: Expression) -> str:
    """What to do about an expression without bounds."""
    text = spell(expression)
    if isinstance(expression, Column):
        return f"declare low and high of column {text}, or write CLAMP({text}, 0, 100)"
    return f"write CLAMP({text}, 0, 100), with your own bounds"


def cast_facts(of: Cast, inner: Facts) -> Facts:
    """What is known of a cast, given what is known of its operand."""
    if inner.kind == of.kind:
        return replace(inner, unit=False)
    if (inner.kind, of.kind) not in _CASTS:
        remedies = {
            "text": "round it to a whole number first, as in ROUND(x)",
            "date": "declare the column as a date in the catalog, or write DATE '2026-01-31'",
            "boolean": f"compare it: {spell(of.operand)} >= DATE '2026-01-31'",
        }
        raise RefusedQuery(
            f"{article(inner.kind)} cannot be cast to {article(of.kind)} alike on every engine",
            remedy=remedies.get(of.kind, f"write YEAR({spell(of.operand)})"),
        )
    if of.kind not in NUMBERS:
        return Facts(kind=of.kind, nullable=inner.nullable or inner.kind == "text")
    if inner.kind == "boolean":
        return number_facts(of.kind, 0.0, 1.0, grain=0, nullable=inner.nullable)
    if inner.kind == "text":
        grain = 0 if of.kind == "integer" else SMALLEST_GRAIN
        return Facts(kind=of.kind, grain=grain)
    if of.kind == "real":
        return replace(inner, kind="real", keys=None, step=None, unit=False)
    if not inner.most <= LARGEST:
        raise RefusedQuery(
            f"{spell(of.operand)} has no known bounds, and might be too large a whole number",
            remedy=bounds_remedy(of.operand),
        )
    (low, high, most) = INTERVALS["round"]([inner])
    return Facts(kind="integer", low=low, high=high, most=most, nullable=inner.nullable)
