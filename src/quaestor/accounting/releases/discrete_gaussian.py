"""Discrete Gaussian noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.numerics.gaussian_tails import lattice_tail
from quaestor.accounting.releases.base import (
    Release,
    Strength,
    check_count,
    check_real,
    remembered,
)
from quaestor.accounting.releases.loss_ends import NO_BOUND, LossEnd
from quaestor.accounting.releases.opinion import MARGIN, Detection, Opinion, delta_of

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["DiscreteGaussian"]

_LARGEST_SENSITIVITY = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian(Release):
    r"""Noise on the integers, :math:`P(x) \propto e^{-x^2/2\sigma^2}`, on a whole-number query.

    Guarantee:
        The pair of two copies shifted by the sensitivity [Canonne, Kamath, Steinke 2020]; the
        losses are the lattice :math:`(2\Delta x-\Delta^2)/2\sigma^2`. ``sigma`` is the parameter
        of the law, and from 1/2 on it is almost its standard deviation.

    >>> from quaestor import compose
    >>> compose(DiscreteGaussian(sigma=10.0) * 5).epsilon(delta=0.0)
    inf
    """

    sigma: float
    sensitivity: int = 1

    losses_are_listed: ClassVar[bool] = True
    moments_of_rho: ClassVar[bool] = True
    strength: ClassVar[Strength | None] = Strength("sigma", more_tells_more=False)

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        object.__setattr__(self, "sigma", check_real("sigma", self.sigma, low=0.05, high=1e9))
        sensitivity = check_count("sensitivity", self.sensitivity, largest=_LARGEST_SENSITIVITY)
        object.__setattr__(self, "sensitivity", sensitivity)

    def losses(self) -> tuple[Law, ...]:
        """One loss, the same in both directions; in closed form unless sigma is very small."""
        from quaestor.accounting.loss.laws.discrete_gaussian import (
            DiscreteGaussianLoss,
            finite_discrete_gaussian,
        )

        if self.sigma < 0.5:
            return (finite_discrete_gaussian(sigma=self.sigma, shift=self.sensitivity),)
        return (DiscreteGaussianLoss(sigma=self.sigma, shift=self.sensitivity),)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """No more than a Gaussian's: the theta function in the moments is largest at 0."""
        from quaestor.accounting.numerics.balls import at_least

        share = Fraction(self.sensitivity) / Fraction(self.sigma)
        return at_least(share**2 / 2)

    def with_group(self, size: int) -> Release:
        """So many times the shift."""
        return replace(self, sensitivity=size * self.sensitivity)

    def with_record_replaced(self) -> Release:
        """Twice the shift."""
        return replace(self, sensitivity=2 * self.sensitivity)

    # From the parameters alone.

    def loss_ends(self) -> tuple[LossEnd, ...]:
        """There is none."""
        return (NO_BOUND,)

    @remembered
    def opinion(self) -> Opinion:
        """Two tails of the noise, on the whole numbers."""
        sigma, shift = self.sigma, self.sensitivity

        def from_place(place: int) -> Detection:
            mine, other = lattice_tail(sigma, place - shift), lattice_tail(sigma, place)
            return Detection(math.exp(mine[0]), math.exp(mine[1]) + 5e-324, other[0], other[1])

        def place(at: float) -> int | None:
            where = shift / 2 + sigma * (sigma * at / shift)
            return math.ceil(where) if where < 1e15 else None

        def curve(at: float) -> Curve:
            best = place(at)
            if best is None:
                return 0.0, 1.0
            answers = [delta_of(from_place(each), at) for each in (best - 1, best, best + 1)]
            return max(low for low, _ in answers), max(high for _, high in answers)

        def test(at: float) -> Detection:
            best = place(at)
            return Detection(0.0, 1.0, -math.inf, 0.0) if best is None else from_place(best)

        square = (shift / sigma) ** 2
        overlap = -square / 8 * (1 - MARGIN)
        return Opinion(curve, test, square / 2 * (1 + MARGIN), log_overlap=overlap)
