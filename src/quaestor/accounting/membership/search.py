"""The search for the worst comparison: the cheapest way that is exact, or the best sound one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quaestor.accounting.membership.comparison import Pair
from quaestor.accounting.membership.components import by_parts
from quaestor.accounting.membership.every_comparison import every_membership
from quaestor.accounting.membership.greedy import by_numbers, most_revealing_first
from quaestor.accounting.membership.nested_limits import Forest
from quaestor.accounting.membership.rules import Cap
from quaestor.accounting.membership.worst_case import Found, Question

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.membership.comparison import Difference
    from quaestor.accounting.membership.rules import Rules

__all__ = ["search"]

_WAYS = (most_revealing_first, every_membership, by_parts, by_numbers)


def search(question: Question) -> Found:
    """Try the ways in turn until one is exact; otherwise keep a sound one, or leave a bound."""
    rules, forest = question.rules, Forest.of(question.rules.caps)
    if rules.listed is not None:
        return every_membership(question, forest) or _without_list(question)
    sound: Found | None = None
    for way in _WAYS:
        found = way(question, forest)
        if found is not None and found.exact:
            return found
        sound = sound or found
    if sound is None:
        return Found(attained=_some(question), upper=None, method="the worst kinds", forest=forest)
    return replace(sound, attained={**sound.attained, **_some(question)})


def _without_list(question: Question) -> Found:
    """Too many vectors to compare: forget which they are, but not how many databases they have."""
    listed = question.rules.listed or frozenset()
    largest = max(member.bit_count() for member in listed)
    cap = Cap(question.rules.everything, 0, largest)
    relaxed = replace(question.rules, listed=None, caps=(*question.rules.caps, cap))
    found = search(replace(question, rules=relaxed))
    occurring = {d: pair for d, pair in found.attained.items() if question.occurs(pair)}
    method = f"{found.method}; the vectors only by their size"
    return replace(found, attained=occurring, method=method)


def _some(question: Question) -> dict[Difference, Pair]:
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
