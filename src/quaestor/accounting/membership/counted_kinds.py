"""Few kinds of databases: every number of each that the limits allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.membership.release_order import kind_outdoes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.membership.comparison import Databases
    from quaestor.accounting.membership.nested_limits import Forest

    Class = tuple[int | None, int]  # the smallest group, and the kind

__all__ = ["most_by_kind"]

_MOST_STEPS = 100_000
_MOST_CLASSES = 100


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
