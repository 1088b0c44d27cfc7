"""Gaussian noise, and the guarantees that are stated in its terms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import Release, check_real, positive

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["Gaussian", "GaussianDP", "ZeroConcentratedDP"]

_LARGEST = 1e150


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(Release):
    r"""Gaussian noise of standard deviation ``sigma`` on a query of L2 sensitivity ``sensitivity``.

    Guarantee:
        The pair N(0, 1) against N(mu, 1) with :math:`\mu = \Delta/\sigma`; k of them are one with
        :math:`\mu\sqrt k`, and :math:`\delta(\varepsilon) = \Phi(\mu/2-\varepsilon/\mu) -
        e^\varepsilon\Phi(-\mu/2-\varepsilon/\mu)`.
    """

    sigma: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        positive(self, "sigma", "sensitivity")

    def losses(self) -> tuple[Law, ...]:
        """One Gaussian loss, the same in both directions."""
        from quaestor.accounting.loss.laws.gaussian import GaussianLoss

        return (GaussianLoss(self.sensitivity / self.sigma),)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP(Release):
    r"""Any release that is :math:`\mu`-Gaussian-DP.

    Guarantee:
        It is no easier to tell the worlds apart than N(0, 1) from N(mu, 1) [Dong, Roth, Su 2022,
        Definition 2.6].
    """

    mu: float

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        object.__setattr__(self, "mu", check_real("mu", self.mu, low=0.0, high=_LARGEST))

    def losses(self) -> tuple[Law, ...]:
        """The loss of the Gaussian that the definition names."""
        from quaestor.accounting.loss.laws.gaussian import GaussianLoss

        return (GaussianLoss(self.mu),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroConcentratedDP(Release):
    r"""Any release that is :math:`\rho`-zero-concentrated DP.

    Guarantee:
        :math:`D_\alpha(P\|Q) \le \rho\alpha` for all orders above 1 [Bun, Steinke 2016]. Known
        through its moments only: the upper end of the bounds is the moment bound (sound), the
        lower end is the Gaussian of the same rho, which is one such release.
    """

    rho: float

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        object.__setattr__(self, "rho", check_real("rho", self.rho, low=0.0, high=_LARGEST))

    def losses(self) -> tuple[Law, ...]:
        """A Gaussian's moments, and no more than these."""
        from quaestor.accounting.loss.laws.gaussian import ConcentratedLoss

        return (ConcentratedLoss(math.nextafter(math.sqrt(2 * self.rho), math.inf)),)
