"""Groups of databases that no fact connects: the worst in each, all at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from quaestor.accounting.membership.comparison import Databases, Pair
from quaestor.accounting.membership.every_comparison import every_membership
from quaestor.accounting.membership.nested_limits import Forest
from quaestor.accounting.membership.rules import FEW, Cap, Rules, Sides, bits
from quaestor.accounting.membership.worst_case import MOST_CURVES, Found, Question, gathered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["by_parts", "connected_parts", "restricted_rules"]


def by_parts(question: Question, forest: Forest) -> Found | None:
    """Small groups, each listed for itself; their worst comparisons in all combinations."""
    parts = connected_parts(question.rules)
    if len(parts) == 1 or max(part.bit_count() for part in parts) > FEW:
        return None
    choices: list[list[Pair]] = []
    ways = 1
    for part in parts:
        inside = _choices(question, part)
        ways *= max(len(inside or []), 1)
        if inside is None or ways > MOST_CURVES:
            return None
        choices.append(inside or [Pair(0, 0)])
    pairs = (
        Pair(sum(pair.first for pair in chosen), sum(pair.second for pair in chosen))
        for chosen in product(*choices)
    )
    return gathered(question, pairs, "independent groups, each listed", forest)


def _choices(question: Question, part: int) -> list[Pair] | None:
    """The comparisons inside one part that can be the worst there, in the whole's bits."""
    places = list(bits(part))
    inside = replace(
        question,
        databases=_restricted(question.databases, places),
        rules=restricted_rules(question.rules, places),
    )
    found = every_membership(inside, Forest())
    if found is None:
        return None

    def outside(member: int) -> int:
        return sum(1 << places[i] for i in bits(member))

    pairs = [Pair(outside(a), outside(b)) for a, b in found.attained.values()]
    if question.neighbours != "add_remove" and any(question.databases.directed):
        pairs += [Pair(b, a) for a, b in pairs]
    return pairs


def _restricted(databases: Databases, places: Sequence[int]) -> Databases:
    return Databases(
        names=tuple(databases.names[i] for i in places),
        kinds=databases.kinds,
        kind_at=tuple(databases.kind_at[i] for i in places),
    )


def restricted_rules(rules: Rules, places: Sequence[int]) -> Rules:
    """The rules about some databases alone, with these in their order as the bits."""
    part = sum(1 << i for i in places)

    def inside(member: int) -> int:
        return sum(1 << place for place, i in enumerate(places) if member >> i & 1)

    def sides(some: Iterable[Sides]) -> tuple[Sides, ...]:
        return tuple(Sides(inside(a), inside(b)) for a, b in some if a & part)

    return Rules(
        names=tuple(rules.names[i] for i in places),
        caps=tuple(Cap(inside(m), low, high) for m, low, high in rules.caps if m & part),
        implications=sides(rules.implications),
        exclusions=sides(rules.exclusions),
    )


def connected_parts(rules: Rules) -> list[int]:
    """Groups of databases that no fact connects with others."""
    parts: list[int] = []
    facts = [cap.mask for cap in rules.caps]
    facts += [a | b for a, b in (*rules.implications, *rules.exclusions)]
    for fact in facts:
        joined = fact
        for part in parts:
            joined |= part if part & fact else 0
        parts = [part for part in parts if not part & fact] + [joined]
    loose = rules.everything
    for part in parts:
        loose &= ~part
    return parts + [1 << i for i in bits(loose)]
