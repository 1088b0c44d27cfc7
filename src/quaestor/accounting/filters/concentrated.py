r"""The filter of concentrated privacy: rhos add up.

What rho the releases have:

* *Epsilon-DP*: :math:`\varepsilon\tanh(\varepsilon/2)`, a little below the usual
  :math:`\varepsilon^2/2`. The worst log-moment is :math:`\log\cosh((\lambda+\tfrac12)\varepsilon) -
  \log\cosh(\tfrac\varepsilon2)`, and :math:`\log\cosh\sqrt x` is concave, as its slope
  :math:`\tanh(\sqrt x)/2\sqrt x` falls; so the difference is at most the slope at
  :math:`\varepsilon^2/4` times :math:`\lambda(\lambda+1)\varepsilon^2`.
* *Laplace noise*, e being shift over scale: :math:`e - 1 + e^{-e}`. With :math:`a = \lambda +
  \tfrac12` its moment is :math:`e^{-e/2}(\cosh ae + \sinh(ae)/2a)`, an entire function of
  :math:`a^2` of order 1/2 whose zeros are all real and negative (:math:`\tan ew = -2w` for
  :math:`a = iw`, an eigenvalue problem of Sturm and Liouville). Hence it is a product of factors
  :math:`1 + a^2/w_k^2` [Hadamard], its logarithm is concave in :math:`a^2`, and the slope at
  :math:`\lambda = 0` is the divergence.
* *Gaussian noise*: :math:`\Delta^2/2\sigma^2`; *discrete* noise no more, for the theta function in
  its moments is largest at 0.
* *Range r*: :math:`r^2/8`.
* *A sample*: no more than the whole, as Rényi divergences are jointly quasi-convex; and what its
  own epsilon says.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from quaestor.accounting.filters.base import Filter, check_target, slack_of
from quaestor.accounting.filters.basic import with_reserve
from quaestor.accounting.filters.conversion import largest_point, room, rough_room
from quaestor.accounting.filters.meter import Meter
from quaestor.accounting.filters.pure import CACHED, pure_loss
from quaestor.accounting.numerics.balls import rational
from quaestor.accounting.numerics.safe_fractions import at_least, ball_at_least, ball_at_most
from quaestor.accounting.releases import (
    BoundedRange,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Laplace,
    PoissonSampled,
    SampledWithoutReplacement,
    ZeroConcentratedDP,
)

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["RhoMeter", "concentrated_filter", "rho_of"]


@lru_cache(maxsize=CACHED)
def rho_of(release: Release) -> Fraction | None:  # noqa: PLR0911  # a case for each kind
    """A rho with which the release is zero-concentrated, rounded up; None if none is known.

    >>> from quaestor.accounting.releases import Gaussian
    >>> rho_of(Gaussian(sigma=2.0))
    Fraction(1, 8)
    """
    match release:
        case Gaussian() | DiscreteGaussian():
            share = Fraction(release.sensitivity) / Fraction(release.sigma)
            return at_least(share**2 / 2)
        case GaussianDP():
            return at_least(Fraction(release.mu) ** 2 / 2)
        case ZeroConcentratedDP():
            return Fraction(release.rho)
        case BoundedRange() | ExponentialMechanism():
            return at_least(Fraction(release.range_epsilon) ** 2 / 8)
        case Laplace():
            share = Fraction(release.sensitivity) / Fraction(release.scale)
            return ball_at_least(lambda _: _laplace(rational(share)))
        case PoissonSampled() | SampledWithoutReplacement():
            return _least(_of_epsilon(release), _of_inner(release.release))
        case _:
            return _of_epsilon(release)


def _laplace(share: arb) -> arb:
    return (-share).expm1() + share


def _of_epsilon(release: Release) -> Fraction | None:
    epsilon = pure_loss(release).epsilon
    if epsilon is None:
        return None
    return ball_at_least(lambda _: rational(epsilon) * (rational(epsilon) / 2).tanh())


def _of_inner(release: Release) -> Fraction | None:
    """The whole's rho, where nothing is told outright."""
    return rho_of(release) if pure_loss(release).delta == 0 else None


def _least(*costs: Fraction | None) -> Fraction | None:
    return min((cost for cost in costs if cost is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RhoMeter(Meter):
    """Adds rhos up."""

    name: ClassVar[str] = "rho"
    limit: Fraction

    @property
    def words(self) -> str:
        """What it counts."""
        return "the sum of the rhos of concentrated privacy"

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The release's rho, rounded up."""
        return rho_of(release)


def concentrated_filter(*, epsilon: float, delta: float, reserved: float = 0.0) -> Filter:
    r"""Rhos add up.

    Theorem:
        :math:`\sum\rho_i \le \rho` [Feldman, Zrnic 2021, for Rényi
        divergences of one order], with the largest :math:`\rho` for which some order
        :math:`\lambda`, fixed in advance, has :math:`\lambda(\lambda+1)\rho \le \lambda\varepsilon
        + \ln d + g(\lambda)` (see :mod:`.conversion`). *Proof.* It is
        :func:`~quaestor.accounting.filters.moments.moment_filter` at that order, with the bound
        :math:`\lambda(\lambda+1)\rho_i` on each moment.
    """
    target = check_target(epsilon=epsilon, delta=delta)
    slack = slack_of(delta=target.delta, reserved=reserved)

    def rough(order: float) -> float:
        return rough_room(order, epsilon=target.epsilon, slack=slack) / (order * (order + 1))

    order = arb(largest_point(rough))
    limit = ball_at_most(
        lambda _: room(order, epsilon=target.epsilon, slack=slack) / (order * (order + 1))
    )
    return with_reserve(
        "zcdp",
        epsilon=target.epsilon,
        delta=target.delta,
        reserved=reserved,
        meters=(RhoMeter(limit=max(limit, Fraction(0))),),
    )
