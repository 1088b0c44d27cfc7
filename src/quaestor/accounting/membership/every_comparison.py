"""Few memberships: every comparison there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.membership.comparison import Pair
from quaestor.accounting.membership.worst_case import Found, Question, gathered, maximal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.membership.nested_limits import Forest

__all__ = ["every_membership"]

_MOST_DIRECTED = 400_000  # pairs, where their order or their common part matters
_MOST_PAIRS = 4_000_000


def every_membership(question: Question, forest: Forest) -> Found | None:
    """The worst of all memberships that the facts allow; None where they cannot be listed."""
    members = question.rules.memberships()
    pairs = None if members is None else _pairs(question, members)
    if pairs is None:
        return None
    return gathered(question, pairs, "every membership listed", forest)


def _pairs(question: Question, members: Sequence[int]) -> Iterable[Pair] | None:
    """The comparisons to look at; those that differ in less than others are left out."""
    if question.neighbours == "add_remove":
        return [Pair(0, member) for member in maximal(members)]
    if any(question.databases.directed) or question.replaced:
        if len(members) ** 2 > _MOST_DIRECTED:
            return None
        return [Pair(a, b) for a in members for b in members]
    if question.rules.listed is None:
        return _apart(members, len(question.rules.names))
    if len(members) ** 2 > _MOST_PAIRS:
        return None
    apart = {a ^ b: Pair(a, b) for a in members for b in members if a <= b}
    return [apart[difference] for difference in maximal(apart)]


def _apart(members: Sequence[int], count: int) -> list[Pair]:
    """For every maximal set in which two memberships can differ, two that do."""
    known, pairs = set(members), list[Pair]()
    for apart in sorted(range(1 << count), key=int.bit_count, reverse=True):
        if not any(apart & (a ^ b) == apart for a, b in pairs):
            first = next((member for member in members if member ^ apart in known), None)
            if first is not None:
                pairs.append(Pair(first, first ^ apart))
    return pairs
