r"""Moment filters: log-moments of one order add up, or of several with a share of delta each.

The way from moments to (epsilon, delta) is one inequality. For every :math:`\lambda > 0` and real
x, :math:`(1-e^{-x})_+ \le e^{\lambda x}\lambda^\lambda/(1+\lambda)^{1+\lambda}` [Kairouz, Oh,
Viswanath, inequality (20)]. So a loss L with :math:`\log E[e^{\lambda L}] \le C` has a delta of at
most the slack d at epsilon once

.. math:: C \le \lambda\varepsilon + \ln d + g(\lambda), \qquad
    g(\lambda) = (1+\lambda)\ln(1+\lambda) - \lambda\ln\lambda .
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from quaestor.accounting.filters.base import Filter, Meter, check_target, slack_of, with_reserve
from quaestor.accounting.numerics.balls import ball_at_most, ratio_at_least, rational
from quaestor.accounting.releases.base import check_real
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from quaestor.accounting.releases import Release

__all__ = [
    "MomentMeter",
    "check_order",
    "largest_point",
    "moment_filter",
    "room",
    "rough_room",
    "weighted_filter",
]

_GOLDEN = (math.sqrt(5) - 1) / 2
_SMALLEST_ORDER, _LARGEST_ORDER = 1e-9, 1e15
_MOST_ORDERS = 64


def room(order: arb, *, epsilon: float, slack: Fraction) -> arb:
    """The ball of the largest log-moment of this order that is allowed."""
    return order * arb(epsilon) + rational(slack).log() + _gain(order)


def _gain(order: arb) -> arb:
    return (1 + order).log() + order * (1 / order).log1p()


def rough_room(order: float, *, epsilon: float, slack: Fraction) -> float:
    """The same as :func:`room`, about: to choose by."""
    log_slack = math.log(slack.numerator) - math.log(slack.denominator)  # however small it is
    gained = math.log1p(order) + order * math.log1p(1 / order)
    return order * epsilon + log_slack + gained


def largest_point(function: Callable[[float], float]) -> float:
    """The order, to a few digits, at which a function that rises and then falls is largest."""
    low, high = math.log(_SMALLEST_ORDER), math.log(_LARGEST_ORDER)
    steps = 96
    ladder = [low + (high - low) * i / steps for i in range(steps + 1)]
    best = max(range(steps + 1), key=lambda i: function(math.exp(ladder[i])))
    low, high = ladder[max(best - 1, 0)], ladder[min(best + 1, steps)]
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(math.exp(left)), function(math.exp(right))
    while high - low > 1e-7:
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(math.exp(right))
    return math.exp((low + high) / 2)


def check_order(order: float) -> float:
    """An order as a float in its range, or :class:`~quaestor.errors.InvalidParameter`."""
    return check_real("order", order, low=1e-9, high=1e15)


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentMeter(Meter):
    """Adds log-moments of one order up."""

    name: ClassVar[str] = "moment"
    order: float
    limit: Fraction

    @property
    def key(self) -> str:
        """The name, and the order."""
        return f"moment {self.order!r}"

    @property
    def words(self) -> str:
        """What it counts."""
        return f"the sum of the log-moments of order {self.order:g}"

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The release's log-moment, rounded up."""
        return release.log_moment(self.order)

    def costs_of(self, releases: Sequence[Release]) -> list[Fraction | None]:
        """The same of each; an odometer adds up thousands, of which most are known by a rho."""
        factor = Fraction(self.order) * (Fraction(self.order) + 1)
        return [
            _cost_of_rho(release.concentrated_rho(), factor)
            if release.moments_of_rho
            else release.log_moment(self.order)
            for release in releases
        ]


def _cost_of_rho(rho: Fraction | None, factor: Fraction) -> Fraction | None:
    if rho is None:
        return None
    above, below = factor.numerator * rho.numerator, factor.denominator * rho.denominator
    cost = ratio_at_least(above, below)
    return None if cost is None else Fraction(cost)


def _meter(order: float, *, epsilon: float, slack: Fraction) -> MomentMeter:
    limit = ball_at_most(lambda _: room(arb(order), epsilon=epsilon, slack=slack))
    return MomentMeter(order=order, limit=limit)


def moment_filter(*, epsilon: float, delta: float, order: float, reserved: float = 0.0) -> Filter:
    r"""Log-moments of one order, fixed in advance, add up.

    Theorem:
        Whatever is chosen and whenever one stops, :math:`\sum h_i(\lambda) \le \lambda\varepsilon +
        \ln d + (1+\lambda)\ln(1+\lambda) - \lambda\ln\lambda` keeps :math:`(\varepsilon, d +
        \delta'')`, where :math:`h_i(\lambda)` bounds the log-moment of the i-th release's loss in
        both directions, and the releases' own deltas stay within the reserved :math:`\delta''`.

        *Proof.* Let each release be a post-processing of one that tells everything with
        probability :math:`\delta_i` and otherwise has the loss :math:`L_i`, and let A be the event
        that nothing was told outright so far. :math:`Z = 1_A\exp(\sum(\lambda L_i - h_i))` is a
        non-negative supermartingale, as :math:`h_i` is known before the answer is; so
        :math:`E[Z] \le 1` at any stopping time, and :math:`E[1_A e^{\lambda L}] \le e^C`, C being
        the limit. By the inequality above, :math:`E[1_A(1-e^{\varepsilon-L})_+]
        \le d`; and A fails with probability at most :math:`\delta''`.
    """
    target = check_target(epsilon=epsilon, delta=delta)
    slack = slack_of(delta=target.delta, reserved=reserved)
    meter = _meter(check_order(order), epsilon=target.epsilon, slack=slack)
    if meter.limit < 0:
        raise InvalidParameter("order", order, "large enough for a little to fit")
    return with_reserve(
        "moment",
        epsilon=target.epsilon,
        delta=target.delta,
        reserved=reserved,
        meters=(meter,),
        parameters=(("order", meter.order),),
    )


def weighted_filter(
    *,
    epsilon: float,
    delta: float,
    orders: Iterable[Sequence[float]],
    reserved: float = 0.0,
) -> Filter:
    r"""Log-moments of several orders; it is enough that one of the sums is within its limit.

    Theorem:
        Order j has the share :math:`w_j` of the slack, :math:`\sum w_j \le 1`, and the limit of
        :func:`moment_filter` for :math:`w_jd`. Then which order is within its limit may depend on
        all answers. *Proof.* Filters with deltas that add up: see
        ``with_reserve``. (Without shares this is unsound:
        an analyst could spend by the order that chance made cheap.)

    Args:
        epsilon: the promise's epsilon.
        delta: the promise's delta.
        orders: pairs of an order and its share.
        reserved: what is kept of delta for the releases' own deltas.

    >>> two = weighted_filter(epsilon=1.0, delta=1e-6, orders=[(16.0, 0.5), (64.0, 0.5)])
    >>> [meter.key for meter in two.some]
    ['epsilon', 'moment 16.0', 'moment 64.0']
    """
    target = check_target(epsilon=epsilon, delta=delta)
    slack = slack_of(delta=target.delta, reserved=reserved)
    pairs = tuple(
        (check_order(order), check_real("share", share, low=0.0, high=1.0))
        for order, share in orders
    )
    shares = [share for _, share in pairs]
    if not 0 < len(pairs) <= _MOST_ORDERS or min(shares) <= 0.0:
        raise InvalidParameter("orders", pairs, f"1 to {_MOST_ORDERS} orders, each with a share")
    if sum(map(Fraction, shares)) > 1 or len({order for order, _ in pairs}) < len(pairs):
        raise InvalidParameter("orders", pairs, "different orders, whose shares sum to at most 1")
    return with_reserve(
        "weighted",
        epsilon=target.epsilon,
        delta=target.delta,
        reserved=reserved,
        meters=tuple(
            _meter(order, epsilon=target.epsilon, slack=slack * Fraction(share))
            for order, share in pairs
        ),
        parameters=(("orders", pairs),),
    )
