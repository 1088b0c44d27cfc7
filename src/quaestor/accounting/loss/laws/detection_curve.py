r"""From points of a privacy profile to a pair of worlds, and what several changes make of it.

A release that is :math:`(\varepsilon_i, \delta_i)`-DP for several i lets no test of false-alarm
rate a detect more than

.. math:: R(a) = \min_i\;\min(\delta_i+e^{\varepsilon_i}a,\;
          1-e^{-\varepsilon_i}(1-\delta_i-a),\; 1),

which is concave and made of straight pieces. Two worlds with that curve exist: one uniform on
[0, 1], the other with density :math:`R'` and an atom :math:`R(0)`. They dominate the release.

If k people change at once, one after the other, the detections are at most
:math:`R(R(\cdots R(a)))` [Dong, Roth, Su 2022, Theorem 2.14], concave and made of straight pieces
too.

All in balls; what cannot be told apart is taken as the larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import arb

from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.numerics.balls import ONE, ZERO, outward, working_precision
from quaestor.accounting.numerics.bounds import Bounds

__all__ = ["Points", "detection_loss", "replaced_loss"]

Points = tuple[Sequence[float], Sequence[float]]
"""Epsilons, and deltas that are true at them."""

_BITS = 320
_LEAST_WIDTH = 1e-60  # stretches of false alarms that are left out, and counted as told


class _Tangent(NamedTuple):
    """Detections ``rise + slope * a``."""

    rise: arb
    slope: arb


class _Corner(NamedTuple):
    """False alarms, and detections there."""

    at: arb
    height: arb


def detection_loss(
    epsilons: Sequence[float],
    deltas: Sequence[float],
    *,
    changes: int = 1,
    backward: Points | None = None,
) -> FiniteLoss:
    """The law of the worst release with these points, after so many changes.

    The points are about both directions, or about one if those of the other (``backward``) are
    given: then the law is that of the first, and :meth:`FiniteLoss.turned` that of the other.
    """
    with working_precision(_BITS):
        once = _corners(_lines((epsilons, deltas), backward or (epsilons, deltas)))
        curve = once
        for _ in range(changes - 1):
            curve = _after(once, curve)
        return _law(curve)


def replaced_loss(removing: Points, adding: Points) -> FiniteLoss:
    """The law of a person who goes and another one who comes, from points of either change.

    See :mod:`quaestor.accounting.releases.derived.two_changes`.
    """
    with working_precision(_BITS):
        goes, comes = (_corners(_lines(*each)) for each in ((removing, adding), (adding, removing)))
        return _law(_after(goes, comes))


def _lines(forward: Points, backward: Points) -> list[_Tangent]:
    lines = [_Tangent(ONE, ZERO)]
    for epsilon, delta in zip(*forward, strict=True):
        lines.append(_Tangent(arb(delta), arb(epsilon).exp()))
    for epsilon, delta in zip(*backward, strict=True):
        odds = arb(epsilon).exp()
        lines.append(_Tangent(1 - (1 - arb(delta)) / odds, 1 / odds))
    return lines


def _corners(lines: list[_Tangent]) -> list[_Corner]:
    """The lower envelope of the lines from 0 to 1, from steep to flat."""
    kept: list[_Tangent] = []
    starts: list[arb] = []  # where each takes over from the one before
    for line in sorted(lines, key=lambda line: (-_middle(line.slope), _middle(line.rise))):
        if kept and not line.slope < kept[-1].slope:
            continue  # as steep, and no lower
        start = ZERO
        while kept:
            start = (line.rise - kept[-1].rise) / (kept[-1].slope - line.slope)
            if _middle(start) > _middle(starts[-1]):
                break
            kept.pop()
            starts.pop()
            start = ZERO
        if not start < 1:
            continue
        kept.append(line)
        starts.append(start)
    corners = [
        _Corner(start, line.rise + line.slope * start)
        for line, start in zip(kept, starts, strict=True)
    ]
    return [*corners, _Corner(ONE, ONE)]


def _middle(ball: arb) -> arb:
    return ball.mid()


def _after(outer: list[_Corner], inner: list[_Corner]) -> list[_Corner]:
    """The corners of the outer curve of the inner one's detections."""
    corners: list[_Corner] = []
    for first, second in pairwise(inner):
        corners.append(_Corner(first.at, _height(outer, first.height)))
        rise = second.height - first.height
        if not rise > 0:
            continue
        for corner in outer:
            if corner.at > first.height and corner.at < second.height:
                share = (corner.at - first.height) / rise
                at = first.at + share * (second.at - first.at)
                corners.append(_Corner(at, corner.height))
    corners.append(_Corner(ONE, ONE))
    return corners


def _height(curve: list[_Corner], at: arb) -> arb:
    """The curve at a place; from the piece whose ends are around it."""
    for first, second in pairwise(curve):
        if not at > second.at:
            width = second.at - first.at
            if not width > 0:
                continue
            share = ((at - first.at) / width).max(ZERO).min(ONE)
            return first.height + share * (second.height - first.height)
    return ONE


def _law(curve: list[_Corner]) -> FiniteLoss:
    """Each piece is an outcome: so much without the change, so much with it.

    Pieces that are too narrow for floats may as well be told, from above, and need not be there.
    """
    losses, firsts, seconds = [], [], []
    told, never = ZERO, ZERO
    for first, second in pairwise(curve):
        width, rise = second.at - first.at, second.height - first.height
        if width > _LEAST_WIDTH and rise > _LEAST_WIDTH:
            loss = outward((rise / width).log()).upper
            log_rise = float(rise.log().mid())
            losses.append(loss)
            firsts.append(log_rise)
            seconds.append(log_rise - loss)
        else:
            told, never = told + rise.max(ZERO), never + width.max(ZERO)
    return FiniteLoss(
        np.array(losses),
        np.array(firsts),
        np.array(seconds),
        infinite=_between(curve[0].height, told),
        opposite=_between(ZERO, never),
    )


def _between(certain: arb, left_out: arb) -> Bounds:
    """What is certain, and at most what was left out besides: an exact 0 stays one."""
    if certain.is_zero() and left_out.is_zero():
        return Bounds.exactly(0.0)
    bounds = Bounds(lower=outward(certain).lower, upper=outward(certain + left_out).upper)
    return bounds.clipped(0.0, 1.0)
