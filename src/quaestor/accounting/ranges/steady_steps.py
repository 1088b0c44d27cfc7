r"""Any number of adaptive releases of one range, bounded by one law that is the same at every step.

The game of :mod:`.adaptive_curves` is followed for its last m releases only. Let U be a convex
curve of straight pieces that is at least :math:`f_m`, and T the step of one release. Let B be a
loss with three values, b and -b with probabilities q and :math:`q e^{-b}`, and else 0; and
:math:`T_B f(a) = E f(a e^{-B})` what a release with this loss makes of a curve.

Theorem:
    If :math:`T U \le T_B U + r` at every a, then :math:`f_{m+j} \le T_B^j U + j r` for all j.

Proof. For any release G whose law is fixed, :math:`T\,T_G f \le T_G\,T f`: on the left the analyst
chooses before seeing the outcome of G, on the right after it. So :math:`T (T_B^j U + jr) \le T_B^j
\,T U + jr \le T_B^{j+1} U + (j+1) r`; a constant passes through a step. The curve
:math:`T_B^j U` is that of U's own pair of worlds with j releases B beside it.

The condition is checked, not assumed. U and :math:`T_B U` are straight between the nodes of the
lattice and T U is convex: it suffices to compare at the nodes, where
:class:`~quaestor.accounting.ranges.adaptive_step.StepAbove` bounds T U. The least q is the greatest
quotient of what a release adds and what B adds for each unit of q; r takes up the far tail.

Where curves are smooth, a release adds as much as the best of its two-point laws, and B with
:math:`b = 0.76\,\varepsilon` agrees with all of them up to the fourth order in epsilon: what is
added in vain is a share of about :math:`1/(9m)` of every step. So that the corners of the coarse
table do not count as roughness, it is read on a finer lattice without its corners
(:meth:`.GameCurve.finer`), which is one more tiny release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.ranges.adaptive_curves import Above
from quaestor.accounting.ranges.adaptive_step import StepAbove
from quaestor.accounting.ranges.convex_curve import ConvexCurve, GameCurve

if TYPE_CHECKING:
    from quaestor.accounting.ranges.adaptive_step import Curve

__all__ = ["JUMP_CELLS", "SteadySteps", "last_releases", "steady_steps"]

_BITS = 96
_UNIT = 2.0**-53
_JUMPS = 0.66, 0.92  # where b is looked for, in ranges
JUMP_CELLS = 8
"""Jumps are a multiple of so many cells, so that a base can be read on a coarser lattice."""
_FINER = 8  # cells in a cell of the table


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadySteps:
    """A base curve, and the law of three values that bounds each further step.

    ``jump`` is b in cells of the base, ``chance`` is q, and ``leak`` is r.
    """

    base: ConvexCurve
    jump: int
    chance: float
    leak: float


def last_releases(range_: float, count: int, *, cells: int, reach: float) -> GameCurve:
    """The curve of ``count`` releases, from a table with so many cells in the range."""
    cell = Fraction(range_) / cells
    return GameCurve(cell=cell, heights=Above((cells,), (count,), cell, reach).heights)


def steady_steps(curve: GameCurve, cells: int, *, order: float, least: float) -> SteadySteps | None:
    """The law that bounds further steps of the range that has ``cells`` cells of ``curve``.

    Of all jumps, the one with the least moment of an ``order``; heights below ``least`` may leak.
    None if no law of three values does.
    """
    base = ConvexCurve.at_least(curve.finer(_FINER))
    if base is None:
        return None
    size = cells * _FINER
    last = int(base.nodes[-1])
    heights = base.at_every_node(last + size)
    step = StepAbove(base.cell, size)
    after = StepAbove.finished(step.heights(heights, last + size, float(heights[-1])))
    gains = after - heights + 64 * _UNIT * after
    kept = max(int(np.searchsorted(-heights, -least)), 1)
    best: tuple[float, SteadySteps] | None = None
    fewest, most = (math.ceil(share * size / JUMP_CELLS) for share in _JUMPS)
    for jump in range(fewest * JUMP_CELLS, most * JUMP_CELLS, JUMP_CELLS):
        added = _added(heights, jump, base.cell)
        if bool(np.any(added[:kept] <= 0.0)):
            continue
        chance = float(np.max(gains[:kept] / added[:kept])) * (1 + 1e-12)
        width = float(base.cell) * jump
        if not 0.0 < chance * (1 + math.exp(-width)) < 1.0 - 1e-9:
            continue
        leak = max(float(np.max(gains - chance * added)), 0.0) * (1 + 1e-12)
        cost = chance * (math.expm1(order * width) + math.exp(-width) * math.expm1(-order * width))
        if best is None or cost < best[0]:
            best = cost, SteadySteps(base=base, jump=jump, chance=chance, leak=leak)
    return None if best is None else best[1]


def _added(heights: Curve, jump: int, cell: Fraction) -> Curve:
    """At least what B adds for each unit of q, at every node from 0 on."""
    with working_precision(_BITS):
        fall = outward((-rational(cell) * jump).exp()).upper
    places = float(cell) * np.arange(jump, 0, -1)
    mirrored = -np.expm1(-places) + np.exp(-places) * heights[jump:0:-1]
    nodes = np.concatenate([mirrored, heights, np.full(jump, heights[-1])])
    count = len(heights)
    left, right = nodes[:count], nodes[2 * jump : 2 * jump + count]
    added: Curve = (left - heights) - fall * (heights - right) - 64 * _UNIT * left
    return added
