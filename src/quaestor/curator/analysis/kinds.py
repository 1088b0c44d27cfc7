"""Kinds in words, and refusals of what is of the wrong kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.language.functions import NUMBERS
from quaestor.curator.language.text import spell
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.analysis.facts import Facts
    from quaestor.curator.language.expressions import Expression, Kind

__all__ = ["article", "common_kind", "expect", "expect_alike"]

_WORDS: dict[str, str] = {
    "integer": "a whole number",
    "real": "a number",
    "text": "a text",
    "boolean": "true or false",
    "date": "a date",
}


def article(kind: Kind) -> str:
    """The kind in words."""
    return _WORDS[kind]


def expect(expression: Expression, facts: Facts, kinds: frozenset[Kind], what: str) -> None:
    """Refuse the expression if it is of no kind that is wanted here."""
    if facts.kind in kinds:
        return
    wanted = "a number" if kinds == NUMBERS else " or ".join(article(k) for k in sorted(kinds))
    remedy = f"write CAST({spell(expression)} AS INTEGER)" if kinds == NUMBERS else ""
    if facts.kind == "date" and "integer" in kinds:
        remedy = f"write YEAR({spell(expression)}), or compare it with DATE '2026-01-31'"
    if kinds == {"boolean"}:
        remedy = f"compare it with something, as in {spell(expression)} = 1"
    if kinds == {"text"}:
        remedy = "compare numbers and dates with =, < and >"
    raise RefusedQuery(
        f"{what} takes {wanted}, and {spell(expression)} is {article(facts.kind)}",
        remedy=remedy or "use a column of that kind",
    )


def expect_alike(expression: Expression, left: Kind, right: Kind) -> None:
    """Refuse the expression if its parts are not of one kind; numbers are."""
    if left != right and not (left in NUMBERS and right in NUMBERS):
        raise RefusedQuery(
            f"in {spell(expression)}, {article(left)} stands against {article(right)}",
            remedy="bring both to one kind: CAST(x AS INTEGER), or a constant of that kind",
        )


def common_kind(expression: Expression, kinds: Sequence[Kind]) -> Kind:
    """The kind of several values together: whole numbers and reals are reals."""
    for kind in kinds[1:]:
        expect_alike(expression, kinds[0], kind)
    return "real" if "real" in kinds else kinds[0]
