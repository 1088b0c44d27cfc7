"""The losses that the game of bounded range is bounded by: from above, and as analysts attain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.laws.finite import FiniteLoss, SmoothLoss
from quaestor.accounting.loss.laws.law import Lattice
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.ranges.convex_curve import ConvexCurve

if TYPE_CHECKING:
    from quaestor.accounting.ranges.attained_tests import TestSides
    from quaestor.accounting.ranges.convex_curve import GameCurve

__all__ = ["attained_loss", "curve_loss", "fixed_choice", "three_values"]


def curve_loss(curve: GameCurve) -> FiniteLoss | None:
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


def three_values(gap: float, parts: int, chance: float) -> FiniteLoss:
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


def fixed_choice(range_: float, order: float) -> FiniteLoss:
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


def attained_loss(sides: TestSides) -> FiniteLoss:
    """The loss of the pair of worlds whose tests an analyst attains."""
    losses = sides.first - sides.second
    rest = [math.log(sides.rest)]
    first = np.concatenate([sides.second, rest, sides.first[::-1]])
    second = np.concatenate([sides.first, rest, sides.second[::-1]])
    return SmoothLoss(
        np.concatenate([-losses, [0.0], losses[::-1]]), first, second, error=sides.error
    )
