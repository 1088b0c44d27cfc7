"""Moment filters: log-moments of one order add up, or of several with a share of delta each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from quaestor.accounting.filters.base import Filter, check_target, slack_of
from quaestor.accounting.filters.basic import with_reserve
from quaestor.accounting.filters.concentrated import rho_of
from quaestor.accounting.filters.conversion import room
from quaestor.accounting.filters.meter import Meter
from quaestor.accounting.filters.pure import CACHED, pure_loss
from quaestor.accounting.numerics.balls import rational
from quaestor.accounting.numerics.safe_fractions import at_least, ball_at_least, ball_at_most
from quaestor.accounting.one_release import one_release
from quaestor.accounting.releases import (
    ApproxDP,
    BoundedRange,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    Laplace,
    PureDP,
    RandomizedResponse,
    Staircase,
    ZeroConcentratedDP,
)
from quaestor.accounting.releases.base import check_real
from quaestor.accounting.theorems.bounded_range import log_moment
from quaestor.errors import InconsistentAnswers, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.releases import Release

__all__ = [
    "MomentMeter",
    "check_order",
    "log_moment_of",
    "moment_filter",
    "weighted_filter",
]

_DOUBT = Fraction(1) + Fraction(1, 2**50)
_LEFT_OUT = Fraction(1, 2**70)  # more than e^-50
_MOST_ORDERS = 64


def check_order(order: float) -> float:
    """An order as a float in its range, or :class:`~quaestor.errors.InvalidParameter`."""
    return check_real("order", order, low=1e-9, high=1e15)


@lru_cache(maxsize=CACHED)
def log_moment_of(release: Release, order: float) -> Fraction | None:
    r"""An upper bound on :math:`\log E[e^{\lambda L}]` in both directions; None if it is infinite.

    L is the loss given that not everything was told; for that, see
    :class:`~quaestor.accounting.filters.basic.DeltaMeter`. Of several bounds the least is taken:
    the loss's own law, what an epsilon-DP release has at most, and what its rho says.
    """
    match release:
        case Gaussian() | GaussianDP() | ZeroConcentratedDP() | DiscreteGaussian():
            return _of_rho(release, order)
        case BoundedRange() | ExponentialMechanism():
            cost = log_moment(order=order, epsilon=release.range_epsilon)
            return Fraction(cost) if math.isfinite(cost) else None
        case PureDP() | ApproxDP():
            return _of_epsilon(release, order)
        case Geometric() | Laplace() | RandomizedResponse() | Staircase():
            return ball_at_least(lambda _: _closed_form(release, arb(order)))
        case _:
            return _least(
                _of_law(release, order), _of_epsilon(release, order), _of_rho(release, order)
            )


def _least(*costs: Fraction | None) -> Fraction | None:
    return min((cost for cost in costs if cost is not None), default=None)


def _of_rho(release: Release, order: float) -> Fraction | None:
    rho = rho_of(release)
    return None if rho is None else at_least(Fraction(order) * (Fraction(order) + 1) * rho)


def _of_epsilon(release: Release, order: float) -> Fraction | None:
    """The most that the release's epsilon allows: the log-moment of a randomized response."""
    epsilon = pure_loss(release).epsilon
    if epsilon is None:
        return None

    def response(_: int) -> arb:
        loss, power = rational(epsilon), arb(order)
        lie = (-loss - 2 * power * loss).exp().log1p()
        return loss * power - (-loss).exp().log1p() + lie

    return ball_at_least(response) if epsilon else Fraction(0)


def _closed_form(release: Geometric | Laplace | RandomizedResponse | Staircase, order: arb) -> arb:
    """The log-moment of a loss with few values, or of Laplace or geometric noise, in balls."""
    if isinstance(release, Geometric):
        return _geometric(release, order)
    if isinstance(release, Laplace):
        shift = arb(release.sensitivity) / arb(release.scale)
        weights = (order + 1) / (2 * order + 1), order / (2 * order + 1)
        return order * shift + (weights[0] + weights[1] * (-(2 * order + 1) * shift).exp()).log()
    epsilon = arb(release.epsilon)
    lie = (-epsilon).exp()
    if isinstance(release, RandomizedResponse):
        top = 1 / (1 + (release.categories - 1) * lie)
    else:  # the noise is at least 0, or steps down in one world where it does not in the other
        gamma = 1 / (1 + (epsilon / 2).exp()) if release.gamma is None else arb(release.gamma)
        height = (1 - lie) / (2 * (gamma + lie * (1 - gamma)))
        top = arb(1) / 2 + height * gamma.min(1 - gamma)
    # all outcomes have probability 1 together; the expected e^(order L) less 1, without cancelling
    rise = top * (order * epsilon).expm1() + top * lie * (-order * epsilon).expm1()
    return rise.log1p()


def _geometric(release: Geometric, order: arb) -> arb:
    r"""Of geometric noise with :math:`a = e^{-1/b}`, moved by d steps.

    .. math:: E[e^{\lambda L}] = \frac{e^{\lambda d/b} + a^d e^{-\lambda d/b}}{1+a} +
              \frac{1-a}{1+a}\,e^{\lambda d/b}\sum_{x=1}^{d-1} r^x, \quad r = e^{-(1+2\lambda)/b},

    the ends being what is at most 0 and at least d, and the sum what is between.
    """
    step, moves = 1 / arb(release.scale), release.sensitivity
    lie, ratio = (-step).exp(), (-(1 + 2 * order) * step).exp()
    ends = 1 + (-(1 + 2 * order) * moves * step).exp()
    between = arb(0)
    if moves > 1:
        many = (-(1 + 2 * order) * (moves - 1) * step).expm1()
        between = -(-step).expm1() * ratio * many / (-(1 + 2 * order) * step).expm1()
    return order * moves * step + ((ends + between) / (1 + lie)).log()


def _of_law(release: Release, order: float) -> Fraction | None:
    import numpy as np

    worst = Fraction(0)
    for law in release.losses():
        try:
            with np.errstate(all="ignore"):
                value, error = law.log_moment(np.array([complex(order)]))
        except (OverflowError, FloatingPointError):
            return None  # beyond floats
        nats, doubt = float(value.real[0]), float(error[0])
        if not (math.isfinite(nats) and math.isfinite(doubt)):
            return None
        if not _covers(law.infinite, release, order):
            return None
        worst = max(worst, (Fraction(nats) + Fraction(doubt)) * _DOUBT + _LEFT_OUT)
    _corroborate(release, order, worst)
    return at_least(worst)


def _covers(left_out: Bounds, release: Release, order: float) -> bool:
    r"""Whether what a law's atoms leave out adds next to nothing to its moment.

    An infinite loss that need not be there stands for atoms that were left out, of mass m. By
    Cauchy and Schwarz they have :math:`E[e^{\lambda L}; A] \le \sqrt{m\,E[e^{2\lambda L}]}`, and
    the second moment is at most :math:`e^{2\lambda(2\lambda+1)\rho}`. The moment is at least 1.
    """
    if left_out.upper == 0.0 or left_out.lower > 0.0:
        return True
    rho = rho_of(release)
    if rho is None:
        return False
    nats = Fraction(order) * (2 * Fraction(order) + 1) * rho
    return nats < -Fraction(math.log(left_out.upper)) / 2 - 50


def _corroborate(release: Release, order: float, cost: Fraction) -> None:
    r"""Hold a law's log-moment against one test's.

    Merging outcomes lowers moments: :math:`E[e^{\lambda L}] \ge P(A)^{1+\lambda}Q(A)^{-\lambda}`
    for every A. Here A is "the loss is at least 0".
    """
    known = one_release(release)
    if known is None or known.test is None or pure_loss(release).delta > 0:
        return  # what is told outright is no part of the moment
    test = known.test(0.0)
    if test.least <= 0.0 or math.isinf(test.log_most):
        return
    least = (1 + order) * math.log(test.least) - order * test.log_most
    least -= 1e-8 * (1 + order) * (1 + abs(test.log_most))
    if Fraction(least) > cost:
        question = f"the log-moment of order {order!r} of {release}"
        raise InconsistentAnswers(question, first=(0.0, float(cost)), second=(least, math.inf))


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
        return log_moment_of(release, self.order)

    def costs_of(self, releases: Sequence[Release]) -> list[Fraction | None]:
        """The same of each; what can be computed together is."""
        from quaestor.accounting.filters.many_moments import log_moments_of

        return log_moments_of(releases, self.order)


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
        the limit. By the inequality of :mod:`.conversion`, :math:`E[1_A(1-e^{\varepsilon-L})_+]
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
        :func:`~quaestor.accounting.filters.basic.with_reserve`. (Without shares this is unsound:
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
