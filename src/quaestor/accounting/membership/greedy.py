"""Databases that can be compared, or few kinds of them: the limits decide how many to take."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from quaestor.accounting.membership.comparison import Pair
from quaestor.accounting.membership.release_order import kind_outdoes, ranked
from quaestor.accounting.membership.rules import bits
from quaestor.accounting.membership.worst_case import (
    MOST_CURVES,
    MembershipQuestion,
    WorstComparisons,
    checked,
    maximal,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from quaestor.accounting.membership.comparison import Databases
    from quaestor.accounting.membership.nested_limits import Forest
    from quaestor.accounting.membership.rules import Rules

    Class = tuple[int | None, int]  # the smallest group, and the kind

__all__ = ["by_numbers", "most_by_kind", "most_revealing_first"]

_MOST_BRANCHES = 64
_MOST_STEPS = 100_000
_MOST_CLASSES = 100


def most_revealing_first(question: MembershipQuestion, forest: Forest) -> WorstComparisons | None:
    """All databases can be compared: the greedy choice outdoes all others.

    See :mod:`~quaestor.accounting.membership.nested_limits`. Where records are replaced, the choice
    G with every record replaced outdoes all pairs (I, J): match those that only I has with those
    that only J has, both sorted, into bundles; a bundle is at most two changes of its larger
    member, and at least any t there are as many bundles as the larger of the two counts, which G
    has too.
    """
    order = ranked(question.databases.kinds)
    if order is None:
        return None
    rank = {kind: place for place, kind in enumerate(order)}
    kind_at = question.databases.kind_at
    elements = sorted(range(len(kind_at)), key=lambda i: rank[kind_at[i]])
    method = "comparable releases: the most revealing first"
    if question.neighbours == "replace":
        return _split(question, forest, [forest.doubled().greedy(elements)], method)
    grounds = None if question.replaced else _grounds(question.rules)
    pairs = []
    for ground in grounds or [question.rules.everything]:
        chosen = forest.greedy(i for i in elements if ground >> i & 1)
        pairs.append(Pair(chosen if question.replaced else 0, chosen))
    return checked(question, pairs, method, forest)


def _grounds(rules: Rules) -> list[int] | None:
    """Each way to leave out one side of every exclusion between groups."""
    if 2 ** len(rules.exclusions) > _MOST_BRANCHES:
        return None
    grounds = [rules.everything]
    for a, b in rules.exclusions:
        grounds = [ground & ~side for ground in grounds for side in (a, b)]
    return maximal(grounds)


def by_numbers(question: MembershipQuestion, forest: Forest) -> WorstComparisons | None:
    """Few kinds of databases: every number of each kind that the limits allow."""
    if question.replaced:
        return None  # the argument above needs databases that can be compared
    apart = question.neighbours == "replace"
    limits = forest.doubled() if apart else forest
    chosen = most_by_kind(question.databases, limits, most=MOST_CURVES // 2)
    if chosen is None:
        return None
    method = "few kinds of databases: every number of each"
    if apart:
        return _split(question, forest, chosen, method)
    return checked(question, [Pair(0, each) for each in chosen], method, forest)


# From what differs to two memberships that differ in it.


def _split(
    question: MembershipQuestion, forest: Forest, differing: Iterable[int], method: str
) -> WorstComparisons | None:
    """Split what differs into two memberships; where direction matters, in every way."""
    pairs: list[Pair] = []
    kind_at, directed = question.databases.kind_at, question.databases.directed
    second = 0
    for _, b in question.rules.exclusions:
        second |= b
    for apart in differing:
        turning = [i for i in bits(apart) if directed[kind_at[i]]]
        if not turning:
            pairs.append(_mended(question, forest, forest.halves(apart, second)))
            continue
        by_kind: dict[int, list[int]] = {}
        for i in turning:
            by_kind.setdefault(kind_at[i], []).append(i)
        ways = math.prod(len(members) + 1 for members in by_kind.values())
        if len(pairs) + ways > MOST_CURVES:
            return None
        sides = _shared_out(list(by_kind.values()), apart, _side_limit(forest, apart))
        pairs += [_mended(question, forest, side) for side in sides]
    return checked(question, pairs, method, forest)


def _side_limit(forest: Forest, apart: int) -> int:
    """The most that one side can have, where one limit for everything is all there is."""
    if len(forest.caps) == 1 and forest.caps[0].mask & apart == apart:
        return forest.caps[0].high
    return apart.bit_count()


def _shared_out(
    kinds: Sequence[Sequence[int]], apart: int, limit: int
) -> Iterator[tuple[int, int]]:
    """All shares of each kind between losing and gaining a person, within the limit of a side.

    What has no direction goes where there is more room.
    """
    loose = list(bits(apart & ~sum(1 << i for kind in kinds for i in kind)))
    for shares in product(*(range(len(kind) + 1) for kind in kinds)):
        first = sum(1 << i for share, kind in zip(shares, kinds, strict=True) for i in kind[:share])
        second = sum(
            1 << i for share, kind in zip(shares, kinds, strict=True) for i in kind[share:]
        )
        if max(first.bit_count(), second.bit_count()) > limit:
            continue
        for i in loose:
            if first.bit_count() <= second.bit_count():
                first |= 1 << i
            else:
                second |= 1 << i
        yield first, second


def _mended(question: MembershipQuestion, forest: Forest, halves: tuple[int, int]) -> Pair:
    """The two sides with common databases added, until both are allowed (if that works)."""
    both = halves[0] | halves[1]
    spare = question.rules.everything & ~both
    first, second = forest.filled(halves, spare)
    closed = Pair(question.rules.closed(first), question.rules.closed(second))
    return closed if closed.first ^ closed.second == both else Pair(first, second)


# Every number of each kind that the limits allow.


class _TooMany(Exception):
    """There are more ways than anybody wants to look at."""


def most_by_kind(databases: Databases, forest: Forest, *, most: int) -> list[int] | None:
    """One set of databases for every maximal way to share the limits among the kinds.

    Databases of one kind in one group are interchangeable, so only numbers matter; and one that
    something in its group outdoes is taken only when all of that is. Lower limits are ignored,
    which is sound. None where there are more ways than ``most``.
    """
    classes: dict[Class, list[int]] = {}
    for i, kind in enumerate(databases.kind_at):
        classes.setdefault((forest.home.get(i), kind), []).append(i)
    if len(classes) > _MOST_CLASSES:
        return None
    sharing = _Sharing(databases, forest, classes)
    chosen: list[int] = []
    try:
        for member in sharing.ways(0):
            chosen.append(member)
            if len(chosen) > most:
                return None
    except _TooMany:
        return None
    return chosen


class _Sharing:
    def __init__(
        self, databases: Databases, forest: Forest, classes: dict[Class, list[int]]
    ) -> None:
        """Put classes that outdo others first."""
        self.forest, self.everything = forest, len(databases.names)
        self.classes, self.kinds = classes, databases.kinds
        kinds = {kind for _, kind in self.classes}
        outdone = {kind: sum(self._outdoes(kind, other) for other in kinds) for kind in kinds}
        self.keys = sorted(self.classes, key=lambda key: -outdone[key[1]])
        self.used = [0] * len(forest.caps)
        self.counts: dict[Class, int] = {}
        self.steps = 0

    def _outdoes(self, kind: int, other: int) -> bool:
        return kind_outdoes(self.kinds[kind], self.kinds[other])

    def _room(self, node: int | None) -> int:
        left = (self.forest.caps[i].high - self.used[i] for i in self.forest.above(node))
        return min(left, default=self.everything)

    def _add(self, node: int | None, count: int) -> None:
        for i in self.forest.above(node):
            self.used[i] += count

    def _is_full(self, key: Class) -> bool:
        return self.counts[key] == len(self.classes[key])

    def _most(self, place: int) -> int:
        """How many may be taken here, given what was taken before."""
        node, kind = self.keys[place]
        better = (
            key for key in self.keys[:place] if key[0] == node and self._outdoes(key[1], kind)
        )
        if not all(map(self._is_full, better)):
            return 0
        return min(len(self.classes[node, kind]), self._room(node))

    def ways(self, place: int) -> Iterator[int]:
        """The sets that are maximal: of no class could one more be taken."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise _TooMany
        if place == len(self.keys):
            if all(self._is_full(key) or self._room(key[0]) == 0 for key in self.keys):
                yield sum(1 << i for key, n in self.counts.items() for i in self.classes[key][:n])
            return
        key = self.keys[place]
        for count in range(self._most(place), -1, -1):
            self.counts[key] = count
            self._add(key[0], count)
            yield from self.ways(place + 1)
            self._add(key[0], -count)
        del self.counts[key]
