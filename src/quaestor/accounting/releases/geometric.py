"""Two-sided geometric noise on the integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import Release, check_count, positive

if TYPE_CHECKING:
    from quaestor.accounting.loss.law import Law

__all__ = ["Geometric"]

_LARGEST_SENSITIVITY = 100_000


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

        from quaestor.accounting.loss.finite import FiniteLoss
        from quaestor.accounting.loss.law import Lattice

        places = np.arange(self.sensitivity + 1, dtype=np.float64)
        falls = np.exp(-places / self.scale)
        masses = -np.expm1(-1 / self.scale) * falls
        masses[0], masses[-1] = 1.0, falls[-1]
        losses = (self.sensitivity - 2 * places) / self.scale
        lattice = Lattice(self.sensitivity / self.scale, 2 / self.scale)
        return (FiniteLoss(losses, masses, lattice=lattice),)
