r"""Moments of a loss, as far as the release's epsilon, its rho or its laws tell them; rounded up.

*Epsilon-DP* releases have a rho of at most :math:`\varepsilon\tanh(\varepsilon/2)`, a little below
the usual :math:`\varepsilon^2/2`. The worst log-moment is
:math:`\log\cosh((\lambda+\tfrac12)\varepsilon) - \log\cosh(\tfrac\varepsilon2)`, and
:math:`\log\cosh\sqrt x` is concave, as its slope :math:`\tanh(\sqrt x)/2\sqrt x` falls; so the
difference is at most the slope at :math:`\varepsilon^2/4` times
:math:`\lambda(\lambda+1)\varepsilon^2`.

Their mu is at most :math:`2\Phi^{-1}(e^\varepsilon/(1+e^\varepsilon)) =
2\sqrt2\operatorname{erf}^{-1}(\tanh(\varepsilon/2))`, for their trade-off is at worst two straight
lines that meet at :math:`a = 1/(1+e^\varepsilon)`, and a convex curve through (or below) their ends
and that corner lies below them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting.numerics.balls import at_least, ball_at_least, rational
from quaestor.errors import InconsistentAnswers

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.numerics.complexes import Floats
    from quaestor.accounting.releases.base import Release

__all__ = [
    "least",
    "log_moment_of_epsilon",
    "log_moment_of_laws",
    "log_moment_of_rho",
    "log_moment_of_three",
    "rho_of_epsilon",
    "rough_log_moments_of_laws",
    "squared_mu_of_epsilon",
]

_DOUBT = Fraction(1) + Fraction(1, 2**50)
_LEFT_OUT = Fraction(1, 2**70)  # more than e^-50
_LARGEST_EPSILON = 1400  # of which the corner is a number that balls can tell from 0


def least(*costs: Fraction | None) -> Fraction | None:
    """The least of the bounds that are known; None if none is."""
    return min((cost for cost in costs if cost is not None), default=None)


def rho_of_epsilon(epsilon: Fraction | None) -> Fraction | None:
    """The rho of every release with this largest loss."""
    if epsilon is None:
        return None
    return ball_at_least(lambda _: rational(epsilon) * (rational(epsilon) / 2).tanh())


def squared_mu_of_epsilon(epsilon: Fraction | None) -> Fraction | None:
    """The square of the mu of every release with this largest loss."""
    if epsilon is None or epsilon > _LARGEST_EPSILON:
        return None
    if epsilon == 0:
        return Fraction(0)
    return ball_at_least(lambda _: 8 * (rational(epsilon) / 2).tanh().erfinv() ** 2)


def log_moment_of_rho(rho: Fraction | None, order: float) -> Fraction | None:
    """What a rho says of the log-moment of an order."""
    return None if rho is None else at_least(Fraction(order) * (Fraction(order) + 1) * rho)


def log_moment_of_epsilon(epsilon: Fraction | None, order: float) -> Fraction | None:
    """The most that a largest loss allows: the log-moment of a randomized response."""
    if epsilon is None:
        return None

    def response(_: int) -> arb:
        loss, power = rational(epsilon), arb(order)
        lie = (-loss - 2 * power * loss).exp().log1p()
        return loss * power - (-loss).exp().log1p() + lie

    return ball_at_least(response) if epsilon else Fraction(0)


def log_moment_of_three(
    epsilon: float, top: Callable[[arb, arb], arb], order: float
) -> Fraction | None:
    """That of the losses epsilon, 0 and -epsilon, in closed form.

    ``top`` is the probability of the first, from epsilon and the odds of a lie; all outcomes have
    probability 1 together.
    """

    def exact(_: int) -> arb:
        power, loss = arb(order), arb(epsilon)
        lie = (-loss).exp()
        most = top(loss, lie)
        # the expected e^(order L) less 1, without cancelling
        rise = most * (power * loss).expm1() + most * lie * (-power * loss).expm1()
        return rise.log1p()

    return ball_at_least(exact)


def log_moment_of_laws(release: Release, order: float) -> Fraction | None:
    """The worst of the release's laws, held against its opinion; None where floats end."""
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
    rho = release.concentrated_rho()
    if rho is None:
        return False
    nats = Fraction(order) * (2 * Fraction(order) + 1) * rho
    return nats < -Fraction(math.log(left_out.upper)) / 2 - 50


def _corroborate(release: Release, order: float, cost: Fraction) -> None:
    r"""Hold a law's log-moment against one test's.

    Merging outcomes lowers moments: :math:`E[e^{\lambda L}] \ge P(A)^{1+\lambda}Q(A)^{-\lambda}`
    for every A. Here A is "the loss is at least 0".
    """
    opinion = release.opinion()
    if opinion is None or opinion.test is None or release.pure_loss().delta > 0:
        return  # what is told outright is no part of the moment
    test = opinion.test(0.0)
    if test.least <= 0.0 or math.isinf(test.log_most):
        return
    lowest = (1 + order) * math.log(test.least) - order * test.log_most
    lowest -= 1e-8 * (1 + order) * (1 + abs(test.log_most))
    if Fraction(lowest) > cost:
        question = f"the log-moment of order {order!r} of {release}"
        raise InconsistentAnswers(question, first=(0.0, float(cost)), second=(lowest, math.inf))


def rough_log_moments_of_laws(release: Release, orders: Floats) -> Floats:
    """About the worst of the release's laws at each order; infinite where floats end."""
    import numpy as np

    from quaestor.accounting.loss.engine.loss_sum import Product

    with np.errstate(all="ignore"):
        costs = [Product([(law, 1)]).rough_log_moments(orders) for law in release.losses()]
    worst: Floats = np.maximum.reduce([np.where(np.isnan(cost), np.inf, cost) for cost in costs])
    return worst
