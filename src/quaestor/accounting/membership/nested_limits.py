r"""Nested limits: the best memberships by taking the most revealing databases first.

Limits whose groups are nested or disjoint make a *laminar matroid* (with lower limits: the subsets
of a generalized matroid's members, again a matroid). In a matroid the greedy choice G dominates
every other choice I place by place: sorted, the j-th of I is never above the j-th of G. So with
databases that can all be compared, nothing allowed tells more than G.

Two memberships that differ on D: both sides of D obey the limits, so D obeys the doubled ones; and
a lower limit of l among n leaves each side at most n - l of its own. Conversely a D within doubled
limits splits into two halves within the limits: pair its members up inside the smallest groups
first, carry the odd one out to the group around, and send the two of each pair to different sides;
every group is then halved up to one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quaestor.accounting.membership.rules import Cap, bits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Forest"]


@dataclass
class Forest:
    """Groups with limits, each inside the next larger one; groups that overlap are left out."""

    caps: list[Cap] = field(default_factory=list)
    parent: list[int | None] = field(default_factory=list)
    home: dict[int, int] = field(default_factory=dict)  # a database's smallest group
    complete: bool = True

    @classmethod
    def of(cls, caps: Iterable[Cap]) -> Forest:
        """Nest the groups, smallest first; one that cuts another is left out, which is sound."""
        forest, top = cls(), dict[int, int]()
        for cap in sorted(caps, key=lambda cap: cap.mask.bit_count()):
            members = list(bits(cap.mask))
            inside = {top[i] for i in members if i in top}
            if any(forest.caps[node].mask & ~cap.mask for node in inside):
                forest.complete = False
                continue
            node = len(forest.caps)
            forest.caps.append(cap)
            forest.parent.append(None)
            for child in inside:
                forest.parent[child] = node
            for i in members:
                if i not in top:
                    forest.home[i] = node
                top[i] = node
        return forest

    def doubled(self) -> Forest:
        """The limits on what two memberships within these limits can differ in."""
        caps = [
            Cap(mask, 0, 2 * min(high, mask.bit_count() - low)) for mask, low, high in self.caps
        ]
        return Forest(caps=caps, parent=self.parent, home=self.home, complete=self.complete)

    def above(self, node: int | None) -> Iterable[int]:
        """The group and all around it, smallest first."""
        while node is not None:
            yield node
            node = self.parent[node]

    def greedy(self, order: Iterable[int]) -> int:
        """Take databases in this order as long as the limits can still be met.

        A group of which fewer than its lower limit are taken will need the rest of it: it weighs
        its lower limit on the groups around it from the beginning.
        """
        needed = self._needed()
        taken = [0] * len(self.caps)  # by members and by what smaller groups need
        for node, parent in enumerate(self.parent):
            if parent is not None:
                taken[parent] += needed[node]
        chosen = 0
        for i in order:
            path: list[int] = []
            fits = True
            for node in self.above(self.home.get(i)):
                if taken[node] + 1 > self.caps[node].high:
                    fits = False
                    break
                path.append(node)
                if taken[node] < self.caps[node].low:
                    break  # it was expected anyway
            if fits:
                chosen |= 1 << i
                for node in path:
                    taken[node] += 1
        return chosen

    def _needed(self) -> list[int]:
        """What each group must have at least, its smaller groups' needs included."""
        inside = [0] * len(self.caps)
        needed = [0] * len(self.caps)
        for node, cap in enumerate(self.caps):  # smaller groups come first
            needed[node] = max(cap.low, inside[node])
            parent = self.parent[node]
            if parent is not None:
                inside[parent] += needed[node]
        return needed

    def halves(self, member: int, prefer_second: int = 0) -> tuple[int, int]:
        """Split into two sides that halve every group; where free, as preferred."""
        waiting: dict[int | None, list[int]] = {}
        sides = [0, 0]

        def send(i: int, side: int) -> None:
            sides[side] |= 1 << i

        for i in bits(member):
            waiting.setdefault(self.home.get(i), []).append(i)
        for node in range(len(self.caps)):
            pool = sorted(waiting.pop(node, []), key=lambda i: prefer_second >> i & 1)
            while len(pool) > 1:
                send(pool.pop(0), 0)
                send(pool.pop(), 1)
            waiting.setdefault(self.parent[node], []).extend(pool)
        for i in waiting.pop(None, []):
            send(i, prefer_second >> i & 1)
        return sides[0], sides[1]

    def filled(self, sides: Sequence[int], spare: int) -> tuple[int, int]:
        """Add databases to both sides alike until lower limits are met, if that can be."""
        first, second = sides
        for mask, low, _ in self.caps:
            for i in bits(mask & spare & ~(first | second)):
                if min((first & mask).bit_count(), (second & mask).bit_count()) >= low:
                    break
                first, second = first | 1 << i, second | 1 << i
        return first, second
