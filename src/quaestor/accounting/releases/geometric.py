"""Two-sided geometric noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import Release, check_count, positive

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

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
    """

    scale: float
    sensitivity: int = 1

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
