"""Basic composition: epsilons add up, deltas add up, or a little less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.accounting.theorems.points import PointProfile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.releases import Release

__all__ = ["basic", "basic_sharp"]


def basic(releases: Iterable[Release]) -> PointProfile:
    r"""Epsilons add up and deltas add up.

    Theorem:
        Kairouz, Oh, Viswanath, Theorem 3.1 [after Dwork et al. 2006]: the composition is
        :math:`(\sum\varepsilon_i, \sum\delta_i)`-DP.

    >>> from quaestor.accounting.releases import PureDP
    >>> basic([PureDP(epsilon=0.5) * 4]).epsilon_bounds(delta=0.0)
    Bounds(lower=2.0, upper=2.0)
    """
    boxes = BlackBoxes.of(releases)
    return PointProfile(epsilon=boxes.total_epsilon(), delta=boxes.total_delta())


def basic_sharp(releases: Iterable[Release]) -> PointProfile:
    r"""Epsilons add up; deltas combine as independent failures.

    Theorem:
        The exact delta at :math:`\sum\varepsilon_i` is :math:`1-\prod(1-\delta_i)`
        [Kairouz, Oh, Viswanath, Theorem 3.3 with i = 0]. The paper calls basic composition
        untightenable; that holds only while at most one delta is positive.

    >>> from quaestor.accounting.releases import ApproxDP
    >>> twice = basic_sharp([ApproxDP(epsilon=0.5, delta=0.5) * 2])
    >>> 0.75 in twice.delta_bounds(epsilon=1.0)
    True
    """
    boxes = BlackBoxes.of(releases)
    return PointProfile(epsilon=boxes.total_epsilon(), delta=boxes.failure())
