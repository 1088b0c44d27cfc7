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

A block is the game of equal releases, from a table; beyond some hundred of them, it is a table
of the last ones with the same law for each of the others
(:mod:`quaestor.accounting.ranges.steady_steps`).

From below: every release of range r that is chosen in advance with one and the same pair of losses
t and t - r, where t is the best one for the moment of some order [Dong, Durfee, Rogers 2020,
Theorem 5]. Any order is true; the best is near that of the moment bound.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.loss.engine.loss_profile import LossProfile
from quaestor.accounting.loss.laws.bounded_range import BoundedRangeLoss
from quaestor.accounting.loss.laws.finite import FiniteLoss, SmoothLoss
from quaestor.accounting.loss.laws.law import Lattice
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.ranges.convex_curve import ConvexCurve, GameCurve
from quaestor.accounting.ranges.steady_steps import last_releases, steady_steps
from quaestor.accounting.releases import counts_of
from quaestor.accounting.theorems.losses import laws_by_direction
from quaestor.errors import TheoremDoesNotApply

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases import Release
    from quaestor.accounting.theorems.losses import WorstDirection

__all__ = ["RangeGame"]

_DEPTHS = 25.0  # tables reach down to e to the minus a multiple of this
_DEEPEST = 600.0
_DEEPER = 20.0  # nats below delta at which the end of a table has no influence
_LEAKS = 10.0  # so many nats above its end a table may leak
_LARGEST_DEVIATION = 7.0  # of the losses of a base: beyond this 1 - delta is lost in floats
_LEAST_RANGE, _LARGEST_RANGE = 1e-6, 20.0
_MOST_KINDS = 32
_ATOMS_OF_MANY = 120
_BASE_OF_FEW = 100  # where there are not many of each kind, and several kinds
_ORDERS = 1.5  # orders are rounded to powers of this


class _Size(NamedTuple):
    """How finely the game is followed: cells in a range, releases in a base, and its lattice.

    The base of steady steps has ``parts`` nodes in each jump, other blocks about so many ``atoms``.
    """

    cells: int
    base: int
    parts: int = 8
    atoms: int = 600


_SIZES = ((4e-3, _Size(24, 100)), (4e-4, _Size(48, 300)), (0.0, _Size(64, 1200)))
"""From which width on each suffices, mostly."""


class _Block(NamedTuple):
    """The laws of one block with their counts, and what must be added to delta."""

    laws: tuple[tuple[Law, int], ...]
    leak: float


class RangeGame(Profile):
    """Everything together, between what one fixed choice reaches and what no analyst exceeds."""

    def __init__(
        self, releases: Iterable[Release], *, losses: WorstDirection, width: float = 1e-3
    ) -> None:
        """Take all releases; ``losses`` is their rough bracket in the privacy-loss engine."""
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
        self._size = next(size for least, size in _SIZES if width >= least)
        self._mixed = len(ranges) > 1 or bool(others)
        self._uppers: dict[tuple[float, float], tuple[list[LossProfile], float]] = {}
        self._lowers: dict[float, list[LossProfile]] = {}

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose delta."""
        rough = self._losses.delta_bounds(epsilon=epsilon)
        if rough.upper <= 1e-280 or math.isinf(epsilon):
            return rough
        order = self._order(epsilon=epsilon)
        uppers, leak = self._upper(rough.lower or rough.upper, order)
        upper = max(each.delta_bounds(epsilon=epsilon).upper for each in uppers) + leak
        lower = max(each.delta_bounds(epsilon=epsilon).lower for each in self._lower(order))
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
        lower = max(each.epsilon_bounds(delta=delta).lower for each in self._lower(order))
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

    def _upper(self, delta: float, order: float) -> tuple[list[LossProfile], float]:
        nats = -math.log(delta) + math.log(self._count) + _DEEPER
        depth = min(math.ceil(nats / _DEPTHS) * _DEPTHS, _DEEPEST)
        if (depth, order) not in self._uppers:
            blocks = [self._block(each, n, depth, order) for each, n in self._ranges]
            laws = [law for block in blocks for law in block.laws]
            profiles = [LossProfile([*others, *laws]) for others in self._above]
            leak = sum(block.leak for block in blocks) * (1 + 1e-12)
            self._uppers[depth, order] = [each.within(self._width) for each in profiles], leak
        return self._uppers[depth, order]

    def _block(self, range_: float, count: int, depth: float, order: float) -> _Block:
        """The laws that bound the game of one range; fewer atoms, where no lattice serves all."""
        size = self._size
        if not self._mixed:
            parts = 2 if count >= 10_000 else 4 if count >= 2500 else 8
            return _block(range_, count, size._replace(parts=parts), depth, order)
        base = size.base if count >= 5 * size.base else min(size.base, _BASE_OF_FEW)
        return _block(range_, count, _Size(size.cells, base, 2, _ATOMS_OF_MANY), depth, order)

    def _lower(self, order: float) -> list[LossProfile]:
        if order not in self._lowers:
            fixed = [(_fixed_choice(each, order), n) for each, n in self._ranges]
            profiles = [LossProfile([*others, *fixed]) for others in self._below]
            self._lowers[order] = [each.within(self._width) for each in profiles]
        return self._lowers[order]


@lru_cache(maxsize=128)
def _block(range_: float, count: int, size: _Size, depth: float, order: float) -> _Block:
    if count == 1:
        return _Block(((BoundedRangeLoss(range_), 1),), 0.0)
    base = max(min(size.base, math.floor((2 * _LARGEST_DEVIATION / range_) ** 2)), 1)
    if count > base + base // 4:
        steady = steady_steps(
            _last_releases(range_, base, size.cells, depth),
            size.cells,
            order=order,
            least=math.exp(_LEAKS - depth),
        )
        if steady is not None:
            further = count - base
            stride = steady.jump // size.parts
            nodes = steady.base.at_every_node(int(steady.base.nodes[-1]))
            start = _game_loss(GameCurve(cell=steady.base.cell, heights=nodes).every(stride))
            if start is not None:
                step = _three_values(float(steady.base.cell * stride), size.parts, steady.chance)
                return _Block(((start, 1), (step, further)), further * steady.leak)
    curve = _last_releases(range_, min(count, base), size.cells, depth)
    whole = _game_loss(curve.every(max(len(curve.heights) // size.atoms, 1)))
    if whole is None:
        return _Block(((BoundedRangeLoss(range_), count),), 0.0)
    times, rest = divmod(count, min(count, base))
    laws: list[tuple[Law, int]] = [(whole, times)]
    if rest:
        laws += _block(range_, rest, size, depth, order).laws
    return _Block(tuple(laws), 0.0)


@lru_cache(maxsize=64)
def _last_releases(range_: float, count: int, cells: int, depth: float) -> GameCurve:
    deviation = range_ * math.sqrt(count) / 2
    reach = min(deviation * deviation / 2 + deviation * math.sqrt(2 * depth), range_ * count)
    return last_releases(range_, count, cells=cells, reach=reach)


def _game_loss(curve: GameCurve) -> FiniteLoss | None:
    """The loss of a pair of worlds whose profile is at least the curve."""
    convex = ConvexCurve.at_least(curve)
    if convex is None:
        return None
    gap = float(convex.cell)
    right, logs = gap * convex.nodes, np.log(convex.masses)
    mirrored = slice(None, 0, -1) if convex.nodes[0] == 0 else slice(None, None, -1)
    losses = np.concatenate([-right[mirrored], right])
    firsts = np.concatenate([(logs - right)[mirrored], logs])
    outright = Bounds.exactly(convex.outright)
    return SmoothLoss(
        losses,
        firsts,
        firsts - losses,
        infinite=outright,
        opposite=outright,
        lattice=Lattice(0.0, gap),
        error=convex.error,
    )


def _three_values(gap: float, parts: int, chance: float) -> FiniteLoss:
    """The loss B of the steady steps: ``parts`` cells up, as many down, or nothing."""
    jump = gap * parts
    up, down = math.log(chance), math.log(chance) - jump
    none = math.log1p(-chance * (1 + math.exp(-jump)))
    return FiniteLoss(
        np.array([-jump, 0.0, jump]),
        np.array([down, none, up]),
        np.array([up, none, down]),
        lattice=Lattice(0.0, gap),
    )


def _fixed_choice(range_: float, order: float) -> FiniteLoss:
    r"""The loss of the release whose moment of this order is the largest for its range.

    The losses are t and t - r, with :math:`e^t = \lambda A / ((\lambda+1) B)` (see
    ``log_moment`` of ``releases.range_moments``); but any t would do.
    """
    share = order / (order + 1) * math.expm1(-(order + 1) * range_) / math.expm1(-order * range_)
    high = min(max(range_ + math.log(share), range_ * 1e-6), range_ * (1 - 1e-6))
    first = math.expm1(high - range_) / math.expm1(-range_)
    second = math.exp(high - range_) * math.expm1(-high) / math.expm1(-range_)
    losses = np.array([high - range_, high])
    logs = np.array([math.log(second), math.log(first)])
    return FiniteLoss(losses, logs, logs - losses, lattice=Lattice(high, range_))
