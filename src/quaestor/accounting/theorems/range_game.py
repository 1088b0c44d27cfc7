r"""Bounded range at any size, and beside any other release: certified from both sides.

Theorem:
    Let releases of bounded range be parted into blocks, and let U be at least the value of the
    adaptive game of each block played alone. Then the product of the pairs of worlds of all U, and
    of the dominating pairs of all other releases, dominates everything together, however the
    releases are interleaved and whatever is chosen after whichever answer.

Proof. Let T be the step of one release of bounded range, the greatest chord
(:mod:`quaestor.accounting.ranges.adaptive_step`), and :math:`T_G f(a) = E f(a e^{-L})` that of one
with the fixed loss L. By induction on the releases that are left: let the next one belong to the
block R of which R' is left after it, and let G be the product of what remains of all other blocks
and of the other releases. The value is at most :math:`T\,T_G f_{R'} \le T_G\,T f_{R'} \le T_G
f_R`, since on the left of the first sign the analyst chooses before the outcome of G is known. If
the next one has a fixed law, it is one more factor of G.

A block is as many releases as a table can follow to the end of their game, or equal ones
(:mod:`.range_blocks`).

From below: let all that has a fixed law come first. Then an analyst plays the game of one block at
whichever epsilon is left: :math:`T_G f_R` is attained, so that where there is one block only, and
the other releases are what their laws say, both ends are those of one number. If there are several
blocks, one is played last. Every release of the others is chosen in advance with one and the same
pair of losses t and t - r, where t is the best one for the moment of some order [Dong, Durfee,
Rogers 2020, Theorem 5]; any order is true, and the best is near that of the moment bound. If all
queries are fixed in advance, every release is chosen so.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.loss.engine.loss_profile import LossProfile
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases import counts_of
from quaestor.accounting.theorems.losses import laws_by_direction
from quaestor.accounting.theorems.range_blocks import Size, block_above, block_below, groups_of
from quaestor.accounting.theorems.range_laws import fixed_choice
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases import Release
    from quaestor.accounting.theorems.losses import WorstDirection
    from quaestor.accounting.theorems.range_blocks import Group

__all__ = ["RangeGame"]

_DEPTHS = 25.0  # tables reach down to e to the minus a multiple of this
_DEEPEST = 600.0
_DEEPER = 20.0  # nats below delta at which the end of a table has no influence
_LEAST_RANGE, _LARGEST_RANGE = 1e-6, 20.0
_MOST_KINDS = 32
_ATOMS_OF_MANY = 300
_BASE_OF_FEW = 100  # where there are not many of each kind, and several kinds
_ORDERS = 1.5  # orders are rounded to powers of this

_SIZES = ((4e-3, Size(24, 100)), (4e-4, Size(48, 300)), (0.0, Size(64, 1200)))
"""From which width on each suffices, mostly."""


class RangeGame(Profile):
    """Everything together, between what an analyst attains and what none exceeds."""

    def __init__(
        self,
        releases: Iterable[Release],
        *,
        losses: WorstDirection,
        width: float = 1e-3,
        in_advance: bool = False,
    ) -> None:
        """Take all releases; ``losses`` is their rough bracket in the privacy-loss engine.

        ``in_advance`` says that all queries are fixed before the first answer.
        """
        counts = counts_of(releases)
        others = Counter({r: n for r, n in counts.items() if r.range_epsilon is None})
        ranges = Counter[float]()
        for release, count in counts.items():
            if release.range_epsilon is not None:
                ranges[release.range_epsilon] += count
        self._ranges = sorted(ranges.items(), reverse=True)
        if not (ranges and min(ranges) >= _LEAST_RANGE and max(ranges) <= _LARGEST_RANGE):
            raise TheoremDoesNotApply(
                f"applies to ranges from {_LEAST_RANGE:g} to {_LARGEST_RANGE:g} only"
            )
        if len(ranges) > _MOST_KINDS:
            raise TheoremDoesNotApply(f"not computed for more than {_MOST_KINDS} different ranges")
        self._above = laws_by_direction(others)
        self._below = laws_by_direction(others, least=True)
        self._count = sum(ranges.values())
        self._losses = losses
        self._width = width
        size = next(size for least, size in _SIZES if width >= least)
        mixed = len(ranges) > 1 or bool(others)
        self._adapts = mixed and not in_advance  # equal ranges alone have other lower ends
        self._groups = _sized(self._ranges, size, mixed=mixed)
        self._uppers: dict[tuple[float, float], tuple[list[LossProfile], float]] = {}
        self._lowers: dict[tuple[float, float], list[LossProfile]] = {}

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose delta."""
        rough = self._losses.delta_bounds(epsilon=epsilon)
        if rough.upper <= 1e-280 or math.isinf(epsilon):
            return rough
        order = self._order(epsilon=epsilon)
        about = rough.lower or rough.upper
        uppers, leak = self._upper(about, order)
        upper = max(each.delta_bounds(epsilon=epsilon).upper for each in uppers) + leak
        lower = max(each.delta_bounds(epsilon=epsilon).lower for each in self._lower(about, order))
        upper = min(upper * (1 + 1e-15), rough.upper)
        return Bounds(lower=min(max(lower, rough.lower), upper), upper=upper)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the least epsilon."""
        if delta <= 1e-280 or delta >= 1.0:
            return self._losses.epsilon_bounds(delta=delta)
        order = self._order(delta=delta)
        uppers, leak = self._upper(delta, order)
        left = (delta - leak) * (1 - 1e-15)
        upper = math.inf
        if left > 0.0:
            upper = max(each.epsilon_bounds(delta=left).upper for each in uppers)
        lower = max(each.epsilon_bounds(delta=delta).lower for each in self._lower(delta, order))
        return Bounds(lower=min(lower, upper), upper=upper)

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the rough bracket."""
        return self._losses.supports(at_most)

    pairs_suffice = False

    def _order(self, *, delta: float | None = None, epsilon: float | None = None) -> float:
        """About the best order of a moment bound, as a power of a fixed number."""
        best = self._losses.best_order(delta=delta, epsilon=epsilon)
        steps = round(math.log(min(max(best, 1e-6), 1e6)) / math.log(_ORDERS))
        return float(_ORDERS**steps)

    def _depth(self, delta: float) -> float:
        nats = -math.log(delta) + math.log(self._count) + _DEEPER
        return min(math.ceil(nats / _DEPTHS) * _DEPTHS, _DEEPEST)

    def _upper(self, delta: float, order: float) -> tuple[list[LossProfile], float]:
        depth = self._depth(delta)
        if (depth, order) not in self._uppers:
            blocks = [block_above(each, size, depth, order) for each, size in self._groups]
            laws = [law for block in blocks for law in block.laws]
            profiles = [LossProfile([*others, *laws]) for others in self._above]
            leak = sum(block.leak for block in blocks) * (1 + 1e-12)
            self._uppers[depth, order] = [each.within(self._width) for each in profiles], leak
        return self._uppers[depth, order]

    def _lower(self, delta: float, order: float) -> list[LossProfile]:
        depth = self._depth(delta)
        if (depth, order) not in self._lowers:
            laws = self._attained(depth, order)
            profiles = [LossProfile([*others, *laws]) for others in self._below]
            self._lowers[depth, order] = [each.within(self._width) for each in profiles]
        return self._lowers[depth, order]

    def _attained(self, depth: float, order: float) -> list[tuple[Law, int]]:
        """Choices that are fixed, and then the game of the block in which there is most to lose."""
        fixed = Counter(dict(self._ranges))
        laws: list[tuple[Law, int]] = []
        if self._adapts:
            played, size = max(map(_played, self._groups), key=lambda each: _variance(each[0]))
            if (law := block_below(played, size, depth)) is not None:
                laws.append((law, 1))
                fixed.subtract(dict(played))
        return [*((fixed_choice(each, order), n) for each, n in fixed.items() if n), *laws]


def _variance(group: Group) -> float:
    return sum(each * each * count for each, count in group)


def _played(block: tuple[Group, Size]) -> tuple[Group, Size]:
    """As much of a block as can be followed to the end of its game."""
    group, size = block
    return tuple((each, min(count, size.base)) for each, count in group), size


def _sized(
    ranges: Sequence[tuple[float, int]], size: Size, *, mixed: bool
) -> list[tuple[Group, Size]]:
    """The blocks and how finely each is followed; fewer atoms, where no lattice serves all."""
    if not mixed:
        ((_, count),) = ranges
        parts = 2 if count >= 10_000 else 4 if count >= 2500 else 8
        return [(tuple(ranges), size._replace(parts=parts))]
    sized = []
    for group in groups_of(ranges, size._replace(base=min(size.base, _BASE_OF_FEW))):
        count = group[0][1]
        base = size.base if count >= 5 * size.base else min(size.base, _BASE_OF_FEW)
        sized.append((group, Size(size.cells, base, 2, _ATOMS_OF_MANY)))
    return sized
