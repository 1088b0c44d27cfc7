"""Moments of releases of bounded range: the largest in the class."""

from __future__ import annotations

import math

from flint import arb, ctx

from quaestor.accounting.numerics.balls import ZERO, outward, working_precision

__all__ = ["log_moment", "log_moment_ball"]


def log_moment(*, order: float, epsilon: float) -> float:
    r"""An upper bound, at most few ulps too large, on :math:`\log E[e^{\lambda L}]` in the class.

    L is the privacy loss of any release of range ``epsilon``, under the first hypothesis, and
    :math:`\lambda` is ``order`` > 0. The largest moment is

    .. math:: h(\lambda;\varepsilon) = (\lambda+1)\,\sigma(\tfrac{(\lambda+1)\varepsilon}{2}) -
              \lambda\,\sigma(\tfrac{\lambda\varepsilon}{2}) - \sigma(\tfrac{\varepsilon}{2}),
              \qquad \sigma(z) = \log\frac{\sinh z}{z}.

    *Proof.* With losses t and :math:`t-\varepsilon` and :math:`u = e^{\varepsilon-t}` it is the
    largest :math:`\lambda\log u + \log(A-Bu)` over u from 1 to :math:`e^\varepsilon`, where
    :math:`A = (e^\varepsilon-e^{-\lambda\varepsilon})/(e^\varepsilon-1)` and :math:`B =
    (1-e^{-\lambda\varepsilon})/(e^\varepsilon-1)`: concave, and largest at :math:`u =
    \lambda A/((\lambda+1)B)`, which is at least 1 because :math:`\lambda(e^\varepsilon-1) \ge
    1-e^{-\lambda\varepsilon}`, and at most :math:`e^\varepsilon` by Bernoulli's inequality.

    It is at most :math:`\lambda(\lambda+1)\varepsilon^2/8`, so that the release is
    :math:`\varepsilon^2/8`-zCDP. *Proof.* For :math:`R(z) = z(z^2/6-\sigma(z))` this says
    :math:`R((\lambda+1)z) \ge R(\lambda z) + R(z)`, which holds as R(0) = 0 and R is convex:
    :math:`R'' = z - 2\sigma' - z\sigma''` with :math:`\sigma' = \coth z - 1/z \le z/3` and
    :math:`\sigma'' = 1/z^2 - 1/\sinh^2 z \le 1/3`.

    >>> round(log_moment(order=3.0, epsilon=1.0), 12)
    1.288600322436
    """
    with working_precision(128):
        return outward(log_moment_ball(arb(order), epsilon)).upper


def log_moment_ball(order: arb, epsilon: float) -> arb:
    """The same as a ball."""
    small = -min(math.frexp(epsilon)[1], 0) * 2 + abs(math.frexp(float(order))[1]) * 2
    cap = order * (order + 1) * arb(epsilon) ** 2 / 8
    with working_precision(ctx.prec + min(small, 1500)):
        half = arb(epsilon) / 2
        value = (order + 1) * _bend((order + 1) * half) - order * _bend(order * half) - _bend(half)
    return value.max(ZERO).min(cap)


def _bend(z: arb) -> arb:
    """Log of sinh(z)/z, without overflow."""
    return z + (-(-2 * z).expm1() / (2 * z)).log()
