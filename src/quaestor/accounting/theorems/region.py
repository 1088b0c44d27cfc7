"""What one (epsilon, delta) implies about another: inclusion of privacy regions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.numerics.balls import ONE, ZERO, outward, working_precision
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.theorems.black_boxes import BlackBoxes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.releases import Release

__all__ = ["implied_delta", "region_inclusion", "total_variation"]


def implied_delta(*, epsilon: float, delta: float, at: float) -> Bounds:
    r"""The least delta at ``at`` that every (epsilon, delta)-DP mechanism satisfies.

    Theorem:
        Kairouz, Oh, Viswanath, Remark A.1 (a): for :math:`\tilde\varepsilon \le \varepsilon` it is
        :math:`1-(1-\delta)(1+e^{\tilde\varepsilon})/(1+e^{\varepsilon})`, and ``delta`` beyond.

    >>> implied_delta(epsilon=0.5, delta=0.25, at=0.5)
    Bounds(lower=0.25, upper=0.25)
    """
    with working_precision(256):
        return outward(_implied(arb(epsilon), arb(delta), arb(at))).clipped(0.0, 1.0)


def total_variation(*, epsilon: float, delta: float) -> Bounds:
    r"""The largest total variation distance an (epsilon, delta)-DP mechanism can have.

    Theorem:
        Kairouz, Oh, Viswanath, Remark A.1 (b): :math:`1 - 2(1-\delta)/(1+e^\varepsilon) = \delta +
        (1-\delta)\tanh(\varepsilon/2)`, attained. It is also the best advantage an attacker
        has over guessing.

    >>> round(total_variation(epsilon=0.4, delta=0.1).upper, 12)
    0.277637788202
    """
    return implied_delta(epsilon=epsilon, delta=delta, at=0.0)


def region_inclusion(releases: Iterable[Release]) -> Profile:
    r"""Basic composition, and every smaller epsilon that follows from it by Remark A.1.

    Theorem:
        Kairouz, Oh, Viswanath, Theorem 3.1 in its sharp form, then Remark A.1 (a): the whole curve
        that follows from the single promise :math:`(\sum\varepsilon_i, 1-\prod(1-\delta_i))`.

    >>> from quaestor.accounting.releases import PureDP
    >>> round(region_inclusion([PureDP(epsilon=1.0)]).delta_bounds(epsilon=0.0).upper, 12)
    0.46211715726
    """
    return _Inclusion(BlackBoxes.of(releases))


def _implied(epsilon: arb, delta: arb, at: arb) -> arb:
    if at >= epsilon:
        return delta
    # (1 + e^at)/(1 + e^epsilon) subtracted from 1 without cancellation
    gap = -(at - epsilon).expm1() / (1 + (-epsilon).exp())
    return delta + (1 - delta) * gap


class _Inclusion(Profile):
    def __init__(self, boxes: BlackBoxes) -> None:
        self.boxes = boxes
        self.total_epsilon = outward(boxes.total_epsilon())

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        with working_precision(256):
            if epsilon >= self.total_epsilon.upper:
                return outward(self.boxes.failure())
            total, failure = self.boxes.total_epsilon(), self.boxes.failure()
            return outward(_implied(total, failure, arb(epsilon))).clipped(0.0, 1.0)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        if delta >= 1.0:
            return Bounds.exactly(0.0)
        with working_precision(256):
            slack = self.boxes.slack(delta)
            if not slack >= 0:
                return Bounds(lower=math.inf if slack < 0 else 0.0, upper=math.inf)
            # slack = (e^total - e^at)/(1 + e^total), solved for e^at over e^total
            total = self.boxes.total_epsilon()
            share = ONE - slack * (1 + (-total).exp())
            if not share > 0:
                return Bounds.exactly(0.0)
            return outward((total + share.log()).max(ZERO)).clipped(0.0, self.total_epsilon.upper)

    def supports(self, at_most: int) -> Sequence[float]:  # noqa: ARG002
        return [self.total_epsilon.upper]
