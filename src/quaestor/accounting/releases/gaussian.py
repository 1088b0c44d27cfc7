"""Gaussian noise, and the guarantees that are stated in its terms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import (
    Release,
    Strength,
    check_real,
    positive,
    remembered,
    times,
)
from quaestor.accounting.releases.loss_ends import NO_BOUND, NO_LOSS, LossEnd
from quaestor.accounting.releases.opinion import gaussian_opinion, without_ceiling

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Opinion

__all__ = ["Gaussian", "GaussianDP", "ZeroConcentratedDP"]

_LARGEST = 1e150


class OfMu(Release):
    """What is known of everything that is N(0, 1) against N(mu, 1).

    Larger noise is smaller noise and then more.
    """

    __slots__ = ()

    moments_of_rho: ClassVar[bool] = True

    def _mu(self) -> float:
        """The nearest float."""
        raise NotImplementedError

    def known_mu(self) -> Fraction:
        """The ratio of shift and noise, as a fraction."""
        raise NotImplementedError

    def _group(self, size: int) -> Release:
        """So many times the shift, between two floats."""
        from quaestor.accounting.releases.derived.bounded_shift import ShiftBetween

        return ShiftBetween.around(size * self.known_mu())

    def losses(self) -> tuple[Law, ...]:
        """One Gaussian loss, the same in both directions."""
        from quaestor.accounting.loss.laws.gaussian import GaussianLoss

        return (GaussianLoss(self._mu()),)

    def poisson_sampled_losses(self, rate: float) -> tuple[Law, ...]:
        """A mixture of two Gaussians against one of them, and turned round."""
        from quaestor.accounting.loss.laws.sampling.sampled import no_loss
        from quaestor.accounting.loss.laws.sampling.sampled_gaussian import SampledGaussianLoss

        if not self._mu():
            return (no_loss(),)
        return tuple(
            SampledGaussianLoss(mu=self._mu(), rate=rate, removing=removing)
            for removing in (True, False)
        )

    def replaced_sample_losses(self, rate: float) -> tuple[Law, ...]:
        """Two mixtures, to either side of the one that both share."""
        from quaestor.accounting.loss.laws.gaussian_mixtures import Bells, GaussianMixtureLoss

        mixture = Bells.of([0.0, self._mu()], [1.0 - rate, rate])
        return (GaussianMixtureLoss(mixture, mixture.mirrored()),)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """Half the square of mu."""
        from quaestor.accounting.numerics.balls import at_least

        return at_least(self.known_mu() ** 2 / 2)

    @remembered
    def squared_mu(self) -> Fraction | None:
        """Its own."""
        from quaestor.accounting.numerics.balls import at_least

        return at_least(self.known_mu() ** 2)

    # From the parameters alone.

    def loss_ends(self) -> tuple[LossEnd, ...]:
        """There is none, unless nothing is released."""
        return (NO_BOUND if self._mu() else NO_LOSS,)

    @remembered
    def opinion(self) -> Opinion:
        """Two tails."""
        return gaussian_opinion(self._mu())


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(OfMu):
    r"""Gaussian noise of standard deviation ``sigma`` on a query of L2 sensitivity ``sensitivity``.

    Guarantee:
        The pair N(0, 1) against N(mu, 1) with :math:`\mu = \Delta/\sigma`; k of them are one with
        :math:`\mu\sqrt k`, and :math:`\delta(\varepsilon) = \Phi(\mu/2-\varepsilon/\mu) -
        e^\varepsilon\Phi(-\mu/2-\varepsilon/\mu)`.

    >>> from quaestor import compose
    >>> round(compose(Gaussian(sigma=2.0) * 4).delta(epsilon=0.0), 4)  # 2 Phi(1/2) - 1
    0.3829
    """

    sigma: float
    sensitivity: float = 1.0

    strength: ClassVar[Strength | None] = Strength("sigma", more_tells_more=False)

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        positive(self, "sigma", "sensitivity")

    def _mu(self) -> float:
        return self.sensitivity / self.sigma

    def known_mu(self) -> Fraction:
        """Sensitivity by sigma."""
        return Fraction(self.sensitivity) / Fraction(self.sigma)

    def with_group(self, size: int) -> Release:
        """So many times the shift."""
        exact = replace(self, sensitivity=times(size, self.sensitivity))
        return exact if exact.known_mu() == size * self.known_mu() else self._group(size)

    def with_record_replaced(self) -> Release:
        """Twice the shift."""
        return replace(self, sensitivity=2 * self.sensitivity)

    def noise_variance(self) -> float:
        """Sigma squared."""
        return self.sigma**2


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP(OfMu):
    r"""Any release that is :math:`\mu`-Gaussian-DP.

    Guarantee:
        It is no easier to tell the worlds apart than N(0, 1) from N(mu, 1) [Dong, Roth, Su 2022,
        Definition 2.6].

    >>> from quaestor import compose
    >>> round(compose(GaussianDP(mu=1.0)).delta(epsilon=0.0), 4)  # 2 Phi(1/2) - 1
    0.3829
    """

    mu: float

    strength: ClassVar[Strength | None] = Strength("mu", more_tells_more=True)

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        object.__setattr__(self, "mu", check_real("mu", self.mu, low=0.0, high=_LARGEST))

    def _mu(self) -> float:
        return self.mu

    def known_mu(self) -> Fraction:
        """By its name."""
        return Fraction(self.mu)

    def with_group(self, size: int) -> Release:
        """So many times the mu [Dong, Roth, Su 2022, Corollary 2.15]."""
        exact = GaussianDP(mu=times(size, self.mu))
        return exact if exact.known_mu() == size * self.known_mu() else self._group(size)

    def with_record_replaced(self) -> Release:
        """Twice the mu: the group privacy of Gaussians is that of one shift after the other."""
        return GaussianDP(mu=2 * self.mu)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroConcentratedDP(Release):
    r"""Any release that is :math:`\rho`-zero-concentrated DP.

    Guarantee:
        :math:`D_\alpha(P\|Q) \le \rho\alpha` for all orders above 1 [Bun, Steinke 2016]. Known
        through its moments only: the upper end of the bounds is the moment bound (sound). The lower
        end is what one such release attains: the Gaussian of the same rho, or a rare outcome that
        tells much (:mod:`~quaestor.accounting.loss.laws.concentrated_pair`), which mostly is worse.

    >>> from quaestor import compose
    >>> compose(ZeroConcentratedDP(rho=0.125) * 4).epsilon(delta=1e-6) < 5.8
    True
    """

    rho: float

    known_by_moments: ClassVar[bool] = True
    moments_of_rho: ClassVar[bool] = True
    worst_varies: ClassVar[bool] = True
    strength: ClassVar[Strength | None] = Strength("rho", more_tells_more=True)

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        object.__setattr__(self, "rho", check_real("rho", self.rho, low=0.0, high=_LARGEST))

    def losses(self) -> tuple[Law, ...]:
        """A Gaussian's moments, and no more than these."""
        from quaestor.accounting.loss.laws.gaussian import ConcentratedLoss

        return (ConcentratedLoss(math.nextafter(math.sqrt(2 * self.rho), math.inf)),)

    def worst_losses(self, order: float) -> tuple[Law, ...]:
        """A rare outcome that has about the moment of this order, or else the Gaussian."""
        from quaestor.accounting.loss.laws.concentrated_pair import concentrated_pair
        from quaestor.accounting.loss.laws.gaussian import GaussianLoss

        pair = concentrated_pair(self.rho, order)
        return (GaussianLoss(math.sqrt(2 * self.rho) * (1 - 1e-15)) if pair is None else pair,)

    def concentrated_rho(self) -> Fraction:
        """By its name."""
        return Fraction(self.rho)

    def outdoes(self, other: Release) -> bool:
        """The larger rho allows what the smaller one does."""
        if isinstance(other, ZeroConcentratedDP):
            return self.rho >= other.rho
        return other.known_epsilon() == 0

    def rough_size(self) -> float:
        """The rho."""
        return self.rho

    def with_group(self, size: int) -> Release:
        """The square of the size times the rho [Bun, Steinke 2016, Proposition 27]."""
        return ZeroConcentratedDP(rho=times(size * size, self.rho))

    def with_record_replaced(self) -> Release:
        """Four times the rho [Bun, Steinke 2016, Proposition 27]."""
        return ZeroConcentratedDP(rho=4 * self.rho)

    # From the parameters alone.

    def loss_ends(self) -> tuple[LossEnd, ...]:
        """There is none, unless nothing is released."""
        return (NO_BOUND if self.rho else NO_LOSS,)

    @remembered
    def opinion(self) -> Opinion:
        """From below: the Gaussian of the same rho is one such release."""
        gaussian = gaussian_opinion(math.sqrt(2 * self.rho))
        return gaussian._replace(curve=without_ceiling(gaussian.curve))
