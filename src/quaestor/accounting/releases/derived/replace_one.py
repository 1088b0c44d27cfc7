"""A release on a Poisson sample, where one person is replaced by another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import Release, check_real, remembered
from quaestor.accounting.releases.derived.mixture_opinion import (
    Mixture,
    mixtures_curve,
    mixtures_test,
)
from quaestor.accounting.releases.loss_ends import NO_BOUND, NO_LOSS, LossEnd
from quaestor.accounting.releases.opinion import MARGIN, Opinion
from quaestor.accounting.releases.sampled import OfSample, has_one_law
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from fractions import Fraction

    from quaestor.accounting.loss.laws.law import Law

__all__ = ["PoissonSampledReplaceOne"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampledReplaceOne(OfSample):
    r"""A release on a Poisson sample, for neighbours that differ by one person's *replacement*.

    ``release`` is described as for a person who comes or goes: the sensitivity of a sum is one
    person's largest value, and two values are twice as far apart.

    Guarantee:
        Let R be the release without the person, A and B with one or the other. Of all S with
        :math:`A(S) = a`, R and B have at least :math:`f(a)` and :math:`g(a)`, where f is what one
        change allows and g what a replacement does (``with_record_replaced``). For
        :math:`\alpha = e^\varepsilon \ge 1` therefore

        .. math:: \delta(\varepsilon) \le \max_a\; qa - (1-q)(\alpha-1)f(a) - \alpha qg(a),

        For Gaussian noise that is the curve of (1 - q) N(0, 1) + q N(mu, 1) against (1 - q) N(0, 1)
        + q N(-mu, 1), for half lines reach both bounds at once. For everything else f is counted
        as g, which it is never below: the curve is :math:`q\,\delta_g(\log(1+(\alpha-1)/q))`. Below
        1 it is the mirror image, for A and B may change places. (Zhu, Dong, Wang 2022 have the
        pair; the proof is this.)

    >>> from quaestor import Laplace
    >>> str(PoissonSampledReplaceOne(release=Laplace(scale=2.0, sensitivity=1.0), rate=0.25))
    'PoissonSampledReplaceOne(release=Laplace(scale=2.0, sensitivity=1.0), rate=0.25)'
    """

    release: Release
    rate: float

    neighbours: ClassVar[str | None] = "replace_record"

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        self._check_inner()
        if self.release.neighbours == "replace_record":
            valid = "described for people who come or go: a Poisson sample may have either of two"
            raise InvalidParameter("release", str(self.release), valid)
        if self.release.counts_people:
            valid = "about data of any size and order: a sample has no fixed population"
            raise InvalidParameter("release", str(self.release), valid)
        object.__setattr__(self, "rate", check_real("rate", self.rate, low=0.0, high=1.0))

    @property
    def bracketed(self) -> bool:  # type: ignore[override]  # a fact of the kind elsewhere
        """Unless it is a Gaussian, or on everybody."""
        return self.release.bracketed or not (self._is_gaussian() or self.rate in {0.0, 1.0})

    def _is_gaussian(self) -> bool:
        return self.release.known_mu() is not None

    def losses(self) -> tuple[Law, ...]:
        """One loss, the same in both directions."""
        return self._losses_of(self.release)

    def least_losses(self) -> tuple[Law, ...]:
        """Those of the least that the release tells; of others than Gaussians, where B is R.

        Where not even that is known of a sample, nothing.
        """
        if self._is_gaussian() or self.rate in {0.0, 1.0}:
            return self._losses_of(self.release.at_least())
        if not has_one_law(self.release):
            from quaestor.accounting.loss.laws.sampling.sampled import no_loss

            return (no_loss(),)
        return self.release.poisson_sampled_losses(self.rate)[:1]

    def _losses_of(self, whole: Release) -> tuple[Law, ...]:
        if self.rate == 1.0:
            return whole.with_record_replaced().losses()
        if self.rate == 0.0:
            from quaestor.accounting.loss.laws.sampling.sampled import no_loss

            return (no_loss(),)
        return whole.replaced_sample_losses(self.rate)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """The replacement's."""
        return self.release.with_record_replaced().concentrated_rho()

    @remembered
    def squared_mu(self) -> Fraction | None:
        """The replacement's."""
        return self.release.with_record_replaced().squared_mu()

    def outdoes(self, other: Release) -> bool:
        """A smaller sample is a sample of the sample."""
        if isinstance(other, PoissonSampledReplaceOne):
            return self.rate >= other.rate and self.release == other.release
        return other.known_epsilon() == 0

    def rough_size(self) -> float:
        """The whole's, in proportion."""
        return self.rate * self.release.rough_size()

    def with_record_replaced(self) -> Release:
        """It is about that already."""
        return self

    # From the parameters alone.

    def loss_ends(self) -> tuple[LossEnd, ...] | None:
        """Those of Gaussians, which have none."""
        mu = self.release.known_mu()
        if mu is None:
            return None
        return (NO_BOUND if mu and self.rate else NO_LOSS,)

    @remembered
    def opinion(self) -> Opinion | None:
        """Of Gaussians: tails of two mixtures."""
        known = self.release.known_mu()
        if known is None or self.release.bracketed:
            return None
        mu = float(known)
        if not mu or not self.rate:
            return Opinion(lambda _: (0.0, 0.0), None, 0.0, 0.0, 0.0)
        if not math.isfinite(mu * mu):
            return None
        mixture = Mixture((0.0, mu), (1.0 - self.rate, self.rate))
        return Opinion(
            lambda at: mixtures_curve(mixture, mixture.mirrored(), at),
            lambda at: mixtures_test(mixture, mixture.mirrored(), at),
            2 * mu * mu * (1 + MARGIN) + 5e-324,
        )
