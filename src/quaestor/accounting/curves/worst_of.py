"""The worst of several curves, known from both sides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quaestor.accounting.curves.profile import Profile, WorldPair
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LeastUpper", "Maximum"]


class LeastUpper(Profile):
    """Several sound curves for one truth, which may lie anywhere below: the least of them."""

    def __init__(self, *curves: Profile) -> None:
        """Keep the curves."""
        self.curves = curves

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Between nothing and the least upper end."""
        upper = min(curve.delta_bounds(epsilon=epsilon).upper for curve in self.curves)
        return Bounds(lower=0.0, upper=upper)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Between nothing and the least upper end."""
        upper = min(curve.epsilon_bounds(delta=delta).upper for curve in self.curves)
        return Bounds(lower=0.0, upper=upper)

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the first curve."""
        return self.curves[0].supports(at_most)

    pairs_suffice = False

    def world_pairs(self) -> tuple[WorldPair, ...]:
        """None: nothing is known to occur."""
        return ()


class Maximum(Profile):
    """The largest of some curves at every point.

    ``attained`` are curves of comparisons that really occur: the maximum is at least these. Each
    comparison that occurs lies below one of ``upper``: the maximum is at most these. Where both
    are the same, the answer is exact. ``turned`` says that there are two, which are one pair of
    worlds seen from either side.
    """

    def __init__(
        self, *, attained: Sequence[Profile], upper: Sequence[Profile], turned: bool = False
    ) -> None:
        """Keep the curves; there may be none, if nothing can be told apart."""
        self.attained, self.upper, self.turned = tuple(attained), tuple(upper), turned
        self._same = self.attained == self.upper
        self.pairs_suffice = self._same and all(each.pairs_suffice for each in self.attained)

    def shared(self) -> Maximum:
        """The same of curves for many points; a curve that is on both sides stays one."""
        each = {id(curve): curve.shared() for curve in (*self.attained, *self.upper)}
        return Maximum(
            attained=[each[id(curve)] for curve in self.attained],
            upper=[each[id(curve)] for curve in self.upper],
            turned=self.turned,
        )

    def world_pairs(self) -> tuple[WorldPair, ...]:
        """Those of the comparisons that occur."""
        if self.turned and len(self.attained) == 2:
            one, other = self.attained
            return WorldPair(one, other), WorldPair(other, one)
        if self._same and not self.upper:  # nothing differs
            return (WorldPair(self, self),)
        return tuple(pair for each in self.attained for pair in each.world_pairs())

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the largest delta."""
        upper = [profile.delta_bounds(epsilon=epsilon) for profile in self.upper]
        lower = (
            upper
            if self._same
            else [profile.delta_bounds(epsilon=epsilon) for profile in self.attained]
        )
        least = max((bounds.lower for bounds in lower), default=0.0)
        return Bounds(lower=least, upper=max((b.upper for b in upper), default=least))

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the largest epsilon: solved on one curve, the others are only asked there."""
        upper = self._largest_epsilon(self.upper, delta)
        if self._same:
            return upper
        lower = self._largest_epsilon(self.attained, delta).lower
        return Bounds(lower=min(lower, upper.upper), upper=upper.upper)

    @staticmethod
    def _largest_epsilon(profiles: Sequence[Profile], delta: float) -> Bounds:
        found = Bounds.exactly(0.0)
        for profile in profiles:
            if math.isinf(found.upper) and found.lower == found.upper:
                break
            if found.lower and profile.delta_bounds(epsilon=found.lower).upper <= delta:
                continue
            more = profile.epsilon_bounds(delta=delta)
            found = Bounds(lower=max(found.lower, more.lower), upper=max(found.upper, more.upper))
        return found

    def worst(self, *, delta: float | None = None, epsilon: float | None = None) -> int | None:
        """The place of the attained curve that is largest at ``delta`` or at ``epsilon``."""
        if not self.attained:
            return None
        if epsilon is None:
            epsilon = self._largest_epsilon(self.attained, delta or 0.0).lower
            if math.isinf(epsilon):
                epsilon = 1e300
            epsilon = math.nextafter(epsilon, 0.0)
        values = [profile.delta_bounds(epsilon=epsilon).upper for profile in self.attained]
        return max(range(len(values)), key=values.__getitem__)

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the curve that reaches furthest."""
        choices = [profile.supports(at_most) for profile in self.upper]
        return max(choices, key=lambda supports: supports[-1], default=[0.0])

    def exact_vertices(self, at_most: int) -> tuple[tuple[Bounds, Bounds], ...] | None:
        """Known where there is one curve only."""
        alone = self._same and len(self.upper) == 1
        return self.upper[0].exact_vertices(at_most) if alone else None

    def exact_false_negative(self, false_positive: float) -> Bounds | None:
        """Known where there is one curve only."""
        alone = self._same and len(self.upper) == 1
        return self.upper[0].exact_false_negative(false_positive) if alone else None
