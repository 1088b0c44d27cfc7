"""Two memberships held against each other: which releases tell them apart, and how much."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from quaestor.accounting.compose import Composition
from quaestor.accounting.membership.release_order import Kind, kind_of, kind_outdoes
from quaestor.accounting.membership.rules import bits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases import Release

__all__ = ["Databases", "Difference", "Item", "Pair"]

Change = Literal["one", "remove", "add", "both"]
"""How a database's input differs: in a record that is there or not (in one direction, where the
direction matters), or in a record that is another one."""


class Item(NamedTuple):
    """A kind of database, and how its input differs between the two worlds."""

    kind: int
    change: Change


Difference = tuple[tuple[Item, int], ...]
"""All that tells two worlds apart: items with their counts, in order."""


class Pair(NamedTuple):
    """Two memberships, as bits."""

    first: int
    second: int


@dataclass(frozen=True)
class Databases:
    """The databases in order, and for each the kind of what was released of it."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    kind_at: tuple[int, ...]

    @classmethod
    def of(cls, releases: Mapping[str, Sequence[Release]]) -> Databases:
        """Sort the databases by what was released of them."""
        places: dict[Kind, int] = {}
        at = [places.setdefault(kind_of(listed), len(places)) for listed in releases.values()]
        return cls(names=tuple(releases), kinds=tuple(places), kind_at=tuple(at))

    @cached_property
    def directed(self) -> tuple[bool, ...]:
        """For each kind, whether adding and removing a person differ."""
        return tuple(any(release.directed for release, _ in kind) for kind in self.kinds)

    def counted(self, member: int) -> Counter[int]:
        """How many databases of each kind there are among these."""
        return Counter(self.kind_at[i] for i in bits(member))

    def difference(self, pair: Pair, *, replaced: bool) -> Difference:
        """What tells the two memberships apart; with ``replaced``, common records differ too."""
        items: Counter[Item] = Counter()
        parts: list[tuple[Change, int]] = [
            ("remove", pair.first & ~pair.second),
            ("add", pair.second & ~pair.first),
        ]
        if replaced:
            parts.append(("both", pair.first & pair.second))
        for change, member in parts:
            for kind, count in self.counted(member).items():
                plain = change != "both" and not self.directed[kind]
                items[Item(kind, "one" if plain else change)] += count
        return _canonical(items)

    def outdoes(self, a: Item, b: Item) -> bool:
        """Whether an item certainly tells at least as much as another."""
        if a.change != b.change and (a.change != "both" or b.change in ("remove", "add")):
            return False
        pair = a.kind, b.kind
        if pair not in self._compared:
            self._compared[pair] = kind_outdoes(self.kinds[a.kind], self.kinds[b.kind])
        return self._compared[pair]

    @cached_property
    def _compared(self) -> dict[tuple[int, int], bool]:
        return {}

    def profile(self, difference: Difference) -> Profile:
        """The curve of two worlds that differ so, whichever is the first."""
        releases: list[Release] = []
        turned: list[tuple[Release, int, bool]] = []
        for item, count in difference:
            for release, times in self.kinds[item.kind]:
                if item.change == "both":
                    releases.append(release.with_record_replaced() * (times * count))
                elif item.change == "one" or not release.directed:
                    releases.append(release * (times * count))
                else:
                    turned.append((release, times * count, item.change == "remove"))
        if len({removing for _, _, removing in turned}) <= 1:
            together = (*releases, *(release * count for release, count, _ in turned))
            return Composition(together).tradeoff().profile  # of either kind of change
        return _turned_profile(releases, turned)


def _canonical(items: Counter[Item]) -> Difference:
    """Sorted, and the same for either order of the two worlds."""
    turned = {"remove": "add", "add": "remove"}
    forward = tuple(sorted(items.items()))
    back = {Item(i.kind, turned.get(i.change, i.change)): n for i, n in items.items()}  # type: ignore[arg-type]
    return min(forward, tuple(sorted(back.items())))


@lru_cache(maxsize=256)
def _laws(release: Release) -> tuple[Law, ...]:
    return release.losses()


def _turned_profile(
    releases: Sequence[Release], turned: Sequence[tuple[Release, int, bool]]
) -> Profile:
    """Some databases lose a person where others gain one: both orders, the worse one counts."""
    from quaestor.accounting.curves.worst_of import Maximum
    from quaestor.accounting.loss.engine.loss_profile import LossProfile

    plain = [(_laws(release)[0], count) for release, count in (each.counted() for each in releases)]
    orders = []
    for swapped in (False, True):
        laws = [
            (_laws(release)[0 if removing != swapped else -1], count)
            for release, count, removing in turned
        ]
        orders.append(LossProfile([*plain, *laws]))
    single = [*(release.counted()[0] for release in releases), *(r for r, _, _ in turned)]
    bracketed = any(release.bracketed for release in single)
    return Maximum(attained=() if bracketed else orders, upper=orders, turned=True)
