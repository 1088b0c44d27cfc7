"""Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import Release, Strength, positive, remembered, times
from quaestor.accounting.releases.opinion import MARGIN, Detection, Opinion

if TYPE_CHECKING:
    from flint import arb

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["Laplace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(Release):
    r"""Laplace noise on a query of L1 sensitivity ``sensitivity``.

    Guarantee:
        :math:`\delta(\varepsilon) = 1 - e^{(\varepsilon - \Delta/b)/2}` up to
        :math:`\varepsilon = \Delta/b`, and 0 from there on.

    >>> from quaestor import compose
    >>> compose(Laplace(scale=2.0)).epsilon(delta=0.0)
    0.5
    """

    scale: float
    sensitivity: float = 1.0

    strength: ClassVar[Strength | None] = Strength("scale", more_tells_more=False)

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        positive(self, "scale", "sensitivity")

    def losses(self) -> tuple[Law, ...]:
        """One loss, the same in both directions."""
        from quaestor.accounting.loss.laws.laplace import LaplaceLoss

        return (LaplaceLoss(self.sensitivity / self.scale),)

    def poisson_sampled_losses(self, rate: float) -> tuple[Law, ...]:
        """A mixture of two Laplace laws against one of them, and turned round."""
        from quaestor.accounting.loss.laws.sampling.sampled_laplace import SampledLaplaceLoss

        shift = self.sensitivity / self.scale
        return tuple(
            SampledLaplaceLoss(epsilon=shift, rate=rate, removing=removing)
            for removing in (True, False)
        )

    def known_epsilon(self) -> Fraction:
        """Shift by scale."""
        return Fraction(self.sensitivity) / Fraction(self.scale)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        r""":math:`e - 1 + e^{-e}`, e being shift over scale.

        With :math:`a = \lambda + \tfrac12` the moment is :math:`e^{-e/2}(\cosh ae +
        \sinh(ae)/2a)`, an entire function of :math:`a^2` of order 1/2 whose zeros are all real and
        negative (:math:`\tan ew = -2w` for :math:`a = iw`, an eigenvalue problem of Sturm and
        Liouville). Hence it is a product of factors :math:`1 + a^2/w_k^2` [Hadamard], its
        logarithm is concave in :math:`a^2`, and the slope at :math:`\lambda = 0` is the
        divergence.
        """
        from quaestor.accounting.numerics.balls import ball_at_least, rational

        def divergence(_: int) -> arb:
            shift = rational(self.known_epsilon())
            return (-shift).expm1() + shift

        return ball_at_least(divergence)

    @remembered
    def log_moment(self, order: float) -> Fraction | None:
        """In closed form."""
        from flint import arb

        from quaestor.accounting.numerics.balls import ball_at_least

        def exact(_: int) -> arb:
            power, shift = arb(order), arb(self.sensitivity) / arb(self.scale)
            above, below = (power + 1) / (2 * power + 1), power / (2 * power + 1)
            return power * shift + (above + below * (-(2 * power + 1) * shift).exp()).log()

        return ball_at_least(exact)

    def outdoes(self, other: Release) -> bool:
        """Larger noise is smaller noise and then more: Laplace noise is self-decomposable."""
        if isinstance(other, Laplace):
            return self.known_epsilon() >= other.known_epsilon()
        return other.known_epsilon() == 0

    def with_group(self, size: int) -> Release:
        """So many times the shift."""
        return replace(self, sensitivity=times(size, self.sensitivity))

    def with_record_replaced(self) -> Release:
        """Twice the shift."""
        return replace(self, sensitivity=2 * self.sensitivity)

    def noise_variance(self) -> float:
        """Twice the square of the scale."""
        return 2 * self.scale**2

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion:
        """Two tails of the noise."""
        shift = self.sensitivity / self.scale
        near, far = shift * (1 - 1e-15), shift * (1 + 1e-15)

        def curve(at: float) -> Curve:
            low = -math.expm1((at - near) / 2) * (1 - MARGIN) if at < near else 0.0
            high = -math.expm1((at - far) / 2) * (1 + MARGIN) if at < far else 0.0
            return low, min(high, 1.0)

        def test(at: float) -> Detection:
            """Noise of at least half of (shift - c) below the centre, in units of the scale."""
            below = max((near - min(at, near)) / 2, 0.0)
            chance = 1 - math.exp(-below) / 2
            log_other = -(near - below) - math.log(2.0)
            return Detection(
                chance * (1 - MARGIN),
                min(chance * (1 + MARGIN), 1.0),
                log_other - MARGIN - 1e-14 * shift,
                log_other + MARGIN + 1e-14 * shift,
            )

        rho = shift * shift / 2 if shift < 0.1 else math.expm1(-shift) + shift
        overlap = math.log1p(near / 2) - near / 2 * (1 - 1e-14) + 1e-14 if near > 1e-6 else 0.0
        overlap = min(overlap, 0.0)
        rho = rho * (1 + MARGIN) + 5e-324  # squares underflow
        return Opinion(curve, test, rho, largest=far, log_overlap=overlap)
