"""Gaussian noise around a value that is itself random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.accounting.releases.base import Release, check_real, positive, remembered
from quaestor.accounting.releases.derived.mixture_opinion import (
    Mixture,
    mixtures_curve,
    mixtures_test,
)
from quaestor.accounting.releases.loss_ends import NO_BOUND, NO_LOSS, LossEnd, logarithm
from quaestor.accounting.releases.opinion import MARGIN, Opinion
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["MixtureOfGaussians", "numbers"]

_LARGEST = 1e150
_ROUNDED = Fraction(1, 10**9)
_UNBLURRED = (Fraction(1) - Fraction(1, 2**45), Fraction(1) + Fraction(1, 2**45))
_AROUND = Fraction(1, 2**45)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureOfGaussians(Release):
    r"""Gaussian noise of deviation ``sigma`` on a query whose change is random.

    The person's presence moves the query by a vector whose length is at most ``sensitivities[i]``
    with probability ``probabilities[i]``; the probabilities are divided by their sum, which must
    be 1 up to rounding.

    Guarantee:
        The mixture :math:`\sum p_iN(c_i, \sigma^2)` against :math:`N(0, \sigma^2)` for removing,
        and turned round for adding [Choquette-Choo, Ganesh, Steinke, Thakurta, arXiv 2310.15526].
        Proof: a set S of probability a without the person has at most
        :math:`\sum p_i\Phi(\Phi^{-1}(a)+c_i/\sigma)` and at least
        :math:`\sum p_i\Phi(\Phi^{-1}(a)-c_i/\sigma)` with, by Neyman and Pearson for each i; a half
        line reaches all of these at once in one dimension.

    >>> from quaestor import Gaussian, compose
    >>> half = MixtureOfGaussians(sigma=2.0, sensitivities=(0.0, 1.0), probabilities=(0.5, 0.5))
    >>> compose(half).delta(epsilon=0.0) < compose(Gaussian(sigma=2.0)).delta(epsilon=0.0)
    True
    """

    sigma: float
    sensitivities: tuple[float, ...]
    probabilities: tuple[float, ...]

    directed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        positive(self, "sigma")
        lengths = numbers("sensitivities", self.sensitivities, low=0.0, high=_LARGEST)
        chances = numbers("probabilities", self.probabilities, low=0.0, high=1.0)
        if len(lengths) != len(chances):
            valid = f"as long as sensitivities, which has {len(lengths)}"
            raise InvalidParameter("probabilities", len(chances), valid)
        if abs(math.fsum(chances) - 1.0) > _ROUNDED:
            raise InvalidParameter("probabilities", math.fsum(chances), "numbers that sum to 1")
        object.__setattr__(self, "sensitivities", lengths)
        object.__setattr__(self, "probabilities", chances)

    def losses(self) -> tuple[Law, ...]:
        """Removing, and adding."""
        from quaestor.accounting.loss.laws.gaussian_mixtures import Bells, GaussianMixtureLoss
        from quaestor.accounting.loss.laws.sampling.sampled import no_loss

        if self._furthest() == 0.0:
            return (no_loss(),)
        mixture, alone = Bells.of(*self._mixture()), Bells.of([0.0], [1.0])
        return (
            GaussianMixtureLoss(mixture, alone),
            GaussianMixtureLoss(alone, mixture.mirrored()),
        )

    def _mixture(self) -> Mixture:
        centres = tuple(length / self.sigma for length in self.sensitivities)
        return Mixture(centres, self.probabilities)

    def _furthest(self) -> float:
        pairs = zip(self.sensitivities, self.probabilities, strict=True)
        return max(length for length, chance in pairs if chance > 0.0)

    def _largest_mu(self) -> Fraction:
        return Fraction(self._furthest()) / Fraction(self.sigma)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """That of the largest change: divergences are quasi-convex."""
        from quaestor.accounting.numerics.balls import at_least

        return at_least(self._largest_mu() ** 2 / 2)

    @remembered
    def squared_mu(self) -> Fraction | None:
        """That of the largest change."""
        from quaestor.accounting.numerics.balls import at_least

        return at_least(self._largest_mu() ** 2)

    # From the parameters alone.

    @remembered
    def loss_ends(self) -> tuple[LossEnd, ...]:
        """Adding ends where the query does not move at all, if that has a chance."""
        if self._furthest() == 0.0:
            return (NO_LOSS,)
        pairs = list(zip(self.sensitivities, self.probabilities, strict=True))
        still = sum((Fraction(chance) for length, chance in pairs if length == 0.0), Fraction(0))
        if not still:
            return NO_BOUND, NO_BOUND
        whole = sum((Fraction(chance) for _, chance in pairs), Fraction(0))
        low, high = logarithm(whole / still)
        return NO_BOUND, LossEnd((low * _UNBLURRED[0], high * _UNBLURRED[1] + _AROUND))

    @remembered
    def opinion(self) -> Opinion:
        """Tails of the mixture and of the noise alone."""
        mixture, alone = self._mixture(), Mixture((0.0,), (1.0,))
        if self._furthest() == 0.0:
            return Opinion(lambda _: (0.0, 0.0), None, 0.0, 0.0, 0.0)

        def curve(at: float) -> Curve:
            ways = (
                mixtures_curve(mixture, alone, at),
                mixtures_curve(alone, mixture.mirrored(), at),
            )
            return max(low for low, _ in ways), max(high for _, high in ways)

        mu = self._furthest() / self.sigma
        return Opinion(
            curve,
            lambda at: mixtures_test(mixture, alone, at),
            mu * mu / 2 * (1 + MARGIN) + 5e-324,
        )


def numbers(name: str, value: Any, *, low: float, high: float) -> tuple[float, ...]:
    """A list of numbers in a range, as a tuple of floats."""
    try:
        entries = tuple(check_real(name, entry, low=low, high=high) for entry in value)
    except TypeError:
        raise InvalidParameter(name, value, "a list of numbers") from None
    if not entries:
        raise InvalidParameter(name, value, "a list of at least one number")
    return entries
