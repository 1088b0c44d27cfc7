"""The search for the worst comparison: the cheapest way that is exact, or the best sound one.

Few memberships are listed, and every comparison there is; groups of databases that no fact connects
are listed each for itself. For the rest see :mod:`.greedy`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from quaestor.accounting.membership.comparison import Databases, Pair
from quaestor.accounting.membership.greedy import by_numbers, most_revealing_first
from quaestor.accounting.membership.nested_limits import Forest
from quaestor.accounting.membership.rules import FEW, Cap, bits
from quaestor.accounting.membership.worst_case import (
    MOST_CURVES,
    MembershipQuestion,
    WorstComparisons,
    gathered,
    maximal,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.membership.comparison import Difference
    from quaestor.accounting.membership.rules import Rules

__all__ = ["by_parts", "every_membership", "search"]

_MOST_DIRECTED = 400_000  # pairs, where their order or their common part matters
_MOST_PAIRS = 4_000_000


def search(question: MembershipQuestion) -> WorstComparisons:
    """Try the ways in turn until one is exact; otherwise keep a sound one, or leave a bound."""
    rules, forest = question.rules, Forest.of(question.rules.caps)
    if rules.listed is not None:
        return every_membership(question, forest) or _without_list(question)
    sound: WorstComparisons | None = None
    for way in (most_revealing_first, every_membership, by_parts, by_numbers):
        worst = way(question, forest)
        if worst is not None and worst.exact:
            return worst
        sound = sound or worst
    if sound is None:
        return WorstComparisons(
            attained=_some(question), upper=None, method="the worst kinds", forest=forest
        )
    return replace(sound, attained={**sound.attained, **_some(question)})


def _without_list(question: MembershipQuestion) -> WorstComparisons:
    """Too many vectors to compare: forget which they are, but not how many databases they have."""
    listed = question.rules.listed or frozenset()
    largest = max(member.bit_count() for member in listed)
    cap = Cap(question.rules.everything, 0, largest)
    relaxed = replace(question.rules, listed=None, caps=(*question.rules.caps, cap))
    worst = search(replace(question, rules=relaxed))
    occurring = {d: pair for d, pair in worst.attained.items() if question.occurs(pair)}
    method = f"{worst.method}; the vectors only by their size"
    return replace(worst, attained=occurring, method=method)


def _some(question: MembershipQuestion) -> dict[Difference, Pair]:
    """One comparison that occurs, if it is easy to find: the largest first, as long as allowed."""
    rules, databases = question.rules, question.databases
    sizes = [
        sum(count * release.rough_size() for release, count in kind) for kind in databases.kinds
    ]
    order = sorted(range(len(rules.names)), key=lambda i: -sizes[databases.kind_at[i]])
    first = _taken(rules, order[::2]) if question.neighbours == "replace" else 0
    second = _taken(rules, [i for i in order if not first >> i & 1])
    pair = Pair(second, second) if question.replaced else Pair(first, second)
    difference = question.difference(pair)
    return {difference: pair} if difference and question.occurs(pair) else {}


def _taken(rules: Rules, order: Iterable[int]) -> int:
    chosen = 0
    for i in order:
        more = rules.closed(chosen | 1 << i)
        if more != chosen and rules.not_too_many(more):
            chosen = more
    return chosen


# Few memberships: every comparison there is.


def every_membership(question: MembershipQuestion, forest: Forest) -> WorstComparisons | None:
    """The worst of all memberships that the facts allow; None where they cannot be listed."""
    members = question.rules.memberships()
    pairs = None if members is None else _pairs(question, members)
    if pairs is None:
        return None
    return gathered(question, pairs, "every membership listed", forest)


def _pairs(question: MembershipQuestion, members: Sequence[int]) -> Iterable[Pair] | None:
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


# Groups of databases that no fact connects: the worst in each, all at once.


def by_parts(question: MembershipQuestion, forest: Forest) -> WorstComparisons | None:
    """Small groups, each listed for itself; their worst comparisons in all combinations."""
    parts = question.rules.connected_parts()
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


def _choices(question: MembershipQuestion, part: int) -> list[Pair] | None:
    """The comparisons inside one part that can be the worst there, in the whole's bits."""
    places = list(bits(part))
    inside = replace(
        question,
        databases=_restricted(question.databases, places),
        rules=question.rules.restricted(places),
    )
    worst = every_membership(inside, Forest())
    if worst is None:
        return None

    def outside(member: int) -> int:
        return sum(1 << places[i] for i in bits(member))

    pairs = [Pair(outside(a), outside(b)) for a, b in worst.attained.values()]
    if question.neighbours != "add_remove" and any(question.databases.directed):
        pairs += [Pair(b, a) for a, b in pairs]
    return pairs


def _restricted(databases: Databases, places: Sequence[int]) -> Databases:
    return Databases(
        names=tuple(databases.names[i] for i in places),
        kinds=databases.kinds,
        kind_at=tuple(databases.kind_at[i] for i in places),
    )
