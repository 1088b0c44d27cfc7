"""Discrete Gaussian noise on the integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import Release, check_count, check_real

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["DiscreteGaussian"]

_LARGEST_SENSITIVITY = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian(Release):
    r"""Noise on the integers, :math:`P(x) \propto e^{-x^2/2\sigma^2}`, on a whole-number query.

    Guarantee:
        The pair of two copies shifted by the sensitivity [Canonne, Kamath, Steinke 2020]; the
        losses are the lattice :math:`(2\Delta x-\Delta^2)/2\sigma^2`. ``sigma`` is the parameter
        of the law, and from 1/2 on it is almost its standard deviation.
    """

    sigma: float
    sensitivity: int = 1

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
