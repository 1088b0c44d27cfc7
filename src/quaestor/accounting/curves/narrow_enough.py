"""One curve by several ways: the first whose answer is as narrow as was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.curves.profile import Profile, WorldPair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.accounting.numerics.bounds import Bounds

__all__ = ["NarrowEnough"]


class NarrowEnough(Profile):
    """Ways to one truth, the cheapest first; the next one is taken where an interval is too wide.

    Every way's interval contains the truth, and so does what several of them have in common. The
    last way is the curve that is named, drawn, and asked about everything else.
    """

    def __init__(self, *ways: Profile, width: float) -> None:
        """Keep the ways, from the cheapest to the best, and the relative width to reach."""
        self.ways, self.width = ways, width
        self._best = ways[-1]
        self.theorem = self._best.theorem
        self.knows_small_deltas = all(way.knows_small_deltas for way in ways)
        self.knows_its_end = self._best.knows_its_end
        self.pairs_suffice = self._best.pairs_suffice

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the curve, within the width where some way knows it so well."""
        return self._first(lambda way: way.delta_bounds(epsilon=epsilon))

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon, within the width where some way knows it so well."""
        return self._first(lambda way: way.epsilon_bounds(delta=delta))

    def _first(self, ask: Callable[[Profile], Bounds]) -> Bounds:
        found = ask(self.ways[0])
        for way in self.ways[1:]:
            if found.relative_width <= self.width:
                break
            found = found.intersection(ask(way))
        return found

    def world_pairs(self) -> tuple[WorldPair, ...]:
        """Those of the best way."""
        return self._best.world_pairs()

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the best way."""
        return self._best.supports(at_most)
