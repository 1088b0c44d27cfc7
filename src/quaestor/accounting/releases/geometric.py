"""Two-sided geometric noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import (
    Release,
    Strength,
    check_count,
    positive,
    remembered,
)
from quaestor.accounting.releases.opinion import (
    MARGIN,
    Detection,
    Opinion,
    delta_of,
    rho_of_loss,
)

if TYPE_CHECKING:
    from flint import arb

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["Geometric"]

_LARGEST_SENSITIVITY = 100_000
_STEEP = 50.0  # from where on 1 - e^-x is 1 in floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometric(Release):
    r"""Discrete Laplace noise, :math:`P(x) \propto e^{-|x|/b}`, on a whole-number query.

    Guarantee:
        For sensitivity 1 exactly that of randomized response with :math:`\varepsilon = 1/b`
        [Kairouz, Oh, Viswanath, Theorem 4.4]; for a larger one the losses :math:`(\Delta-2x)/b`
        with x from 0 to the sensitivity.

    >>> from quaestor import compose
    >>> round(compose(Geometric(scale=2.0)).epsilon(delta=0.0), 6)
    0.5
    """

    scale: float
    sensitivity: int = 1

    losses_are_listed: ClassVar[bool] = True
    strength: ClassVar[Strength | None] = Strength("scale", more_tells_more=False)

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        positive(self, "scale")
        sensitivity = check_count("sensitivity", self.sensitivity, largest=_LARGEST_SENSITIVITY)
        object.__setattr__(self, "sensitivity", sensitivity)

    def losses(self) -> tuple[Law, ...]:
        """Finitely many losses on a lattice."""
        import numpy as np

        from quaestor.accounting.loss.laws.finite import FiniteLoss
        from quaestor.accounting.loss.laws.law import Lattice

        # outcomes up to 0 have one loss, those from the sensitivity on another: each is one atom
        places = np.arange(self.sensitivity + 1, dtype=np.float64)
        unit = 1 / self.scale
        inside = math.log(-math.expm1(-unit)) if unit < _STEEP else 0.0
        first = -places * unit - math.log1p(math.exp(-unit))
        first[1:-1] += inside
        losses = (self.sensitivity - 2 * places) * unit
        lattice = Lattice(self.sensitivity * unit, 2 * unit)
        return (FiniteLoss(losses, first, first[::-1].copy(), lattice=lattice),)

    def known_epsilon(self) -> Fraction:
        """Shift by scale."""
        return Fraction(self.sensitivity) / Fraction(self.scale)

    @remembered
    def log_moment(self, order: float) -> Fraction | None:
        r"""Of geometric noise with :math:`a = e^{-1/b}`, moved by d steps.

        .. math:: E[e^{\lambda L}] = \frac{e^{\lambda d/b} + a^d e^{-\lambda d/b}}{1+a} +
                  \frac{1-a}{1+a}\,e^{\lambda d/b}\sum_{x=1}^{d-1} r^x, \quad
                  r = e^{-(1+2\lambda)/b},

        the ends being what is at most 0 and at least d, and the sum what is between.
        """
        from flint import arb

        from quaestor.accounting.numerics.balls import ball_at_least

        def exact(_: int) -> arb:
            power, step, moves = arb(order), 1 / arb(self.scale), self.sensitivity
            lie, ratio = (-step).exp(), (-(1 + 2 * power) * step).exp()
            ends = 1 + (-(1 + 2 * power) * moves * step).exp()
            between = arb(0)
            if moves > 1:
                many = (-(1 + 2 * power) * (moves - 1) * step).expm1()
                between = -(-step).expm1() * ratio * many / (-(1 + 2 * power) * step).expm1()
            return power * moves * step + ((ends + between) / (1 + lie)).log()

        return ball_at_least(exact)

    def outdoes(self, other: Release) -> bool:
        """Larger noise is smaller noise and then more: geometric noise is self-decomposable."""
        if isinstance(other, Geometric):
            return self.sensitivity == other.sensitivity and self.scale <= other.scale
        return other.known_epsilon() == 0

    def with_group(self, size: int) -> Release:
        """So many times the shift."""
        return replace(self, sensitivity=size * self.sensitivity)

    def with_record_replaced(self) -> Release:
        """Twice the shift."""
        return replace(self, sensitivity=2 * self.sensitivity)

    def noise_variance(self) -> float:
        """In closed form."""
        return 1 / (2 * math.sinh(min(1 / (2 * self.scale), 700.0)) ** 2)

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion:
        """Two tails of the noise, on the whole numbers."""
        scale, sensitivity = self.scale, self.sensitivity
        share = -math.log1p(math.exp(-1 / scale))  # of the numbers from 0 up

        def at_least(below: int) -> Detection:
            """The number is at most ``below`` under the larger centre: all above that."""
            chance = -math.expm1(share - (below + 1) / scale)
            log_other = share - (sensitivity - below) / scale
            doubt = MARGIN + 1e-14 * sensitivity / scale
            return Detection(
                chance * (1 - MARGIN),
                min(chance * (1 + MARGIN), 1.0),
                log_other - doubt,
                log_other + doubt,
            )

        def place(at: float) -> int:
            return int(min(max((sensitivity - at * scale) / 2, 0.0), sensitivity))

        def curve(at: float) -> Curve:
            if at > sensitivity / scale * (1 + 1e-15):
                return 0.0, 0.0
            best = place(at)
            near = {max(best - 1, 0), best, min(best + 1, sensitivity)}  # rounding may miss by one
            answers = [delta_of(at_least(each), at) for each in near]
            return max(low for low, _ in answers), max(high for _, high in answers)

        largest = sensitivity / scale * (1 + 1e-15)
        return Opinion(curve, lambda at: at_least(place(at)), rho_of_loss(largest), largest=largest)
