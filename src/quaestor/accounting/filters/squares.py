"""Filters that add squares up: of epsilons, and of ranges."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from quaestor.accounting.filters.base import Filter, Meter, check_target, slack_of, with_reserve
from quaestor.accounting.numerics.balls import ball_at_most, rational

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["RangeMeter", "SquaresMeter", "range_filter", "whitehouse_filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaresMeter(Meter):
    """Adds squares of epsilons up, exactly."""

    name: ClassVar[str] = "squares"
    limit: Fraction

    @property
    def words(self) -> str:
        """What it counts."""
        return "the sum of the squares of the epsilons"

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The square of the release's epsilon."""
        epsilon = release.pure_loss().epsilon
        return None if epsilon is None else epsilon**2


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeMeter(Meter):
    """Adds squares of ranges up, exactly."""

    name: ClassVar[str] = "ranges"
    limit: Fraction

    @property
    def words(self) -> str:
        """What it counts."""
        return "the sum of the squares of the ranges"

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The square of the range; an epsilon-DP release has a range of at most two epsilon."""
        spread = release.spread()
        return None if spread is None else spread**2


def _largest_sum(*, epsilon: float, slack: Fraction) -> Fraction:
    """The largest S with root(2 ln(1/slack) S) + S/2 at most epsilon, rounded down."""

    def square(_: int) -> arb:
        nats = -2 * rational(slack).log()
        root = 2 * arb(epsilon) / ((nats + 2 * arb(epsilon)).sqrt() + nats.sqrt())
        return root * root

    return max(ball_at_most(square), Fraction(0))


def whitehouse_filter(*, epsilon: float, delta: float, reserved: float = 0.0) -> Filter:
    r"""Advanced composition for analysts who choose everything, at no loss in its constants.

    Theorem:
        Whitehouse, Ramdas, Rogers, Wu, "Fully adaptive composition in differential privacy" (ICML
        2023), Theorem 3, for a slack d (delta without what is reserved): :math:`\sqrt{2\ln(1/d)
        \sum\varepsilon_i^2} + \tfrac12\sum\varepsilon_i^2 \le \varepsilon`. *Proof.* The moment of
        order :math:`\lambda` of an :math:`\varepsilon_i`-DP release is at most
        :math:`\lambda(\lambda+1)\varepsilon_i^2/2` (see
        :mod:`quaestor.accounting.releases.moments`). By
        :func:`~quaestor.accounting.filters.moment_filter`, without its factor,
        :math:`\lambda(\lambda+1)S/2 \le \lambda\varepsilon + \ln d` suffices for any one
        :math:`\lambda` fixed in advance, S being the largest sum; :math:`\lambda = \varepsilon/S -
        \tfrac12` gives :math:`(\varepsilon - S/2)^2 \ge 2S\ln(1/d)`.

    >>> half = whitehouse_filter(epsilon=1.0, delta=1e-6)
    >>> [meter.name for meter in half.meters]
    ['delta', 'epsilon', 'squares']
    """
    target = check_target(epsilon=epsilon, delta=delta)
    slack = slack_of(delta=target.delta, reserved=reserved)
    limit = _largest_sum(epsilon=target.epsilon, slack=slack)
    return with_reserve(
        "whitehouse",
        epsilon=target.epsilon,
        delta=target.delta,
        reserved=reserved,
        meters=(SquaresMeter(limit=limit),),
    )


def range_filter(*, epsilon: float, delta: float, reserved: float = 0.0) -> Filter:
    r"""The same for bounded range: four times as many exponential mechanisms.

    Theorem:
        :math:`\sqrt{\tfrac12\ln(1/d)\sum r_i^2} + \tfrac18\sum r_i^2 \le \varepsilon` for ranges
        :math:`r_i`, and 2 epsilon in their place for other releases. *Proof.* As for
        :func:`whitehouse_filter`: the moment of order :math:`\lambda` of a release of range r is
        at most :math:`\lambda(\lambda+1)r^2/8` (proved in
        ``log_moment`` of ``releases.range_moments``), whichever mechanism of that
        range is chosen next.
    """
    target = check_target(epsilon=epsilon, delta=delta)
    slack = slack_of(delta=target.delta, reserved=reserved)
    limit = 4 * _largest_sum(epsilon=target.epsilon, slack=slack)
    return with_reserve(
        "range",
        epsilon=target.epsilon,
        delta=target.delta,
        reserved=reserved,
        meters=(RangeMeter(limit=limit),),
    )
