"""Staircase noise: the least noise, in variance or size, for one pure release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import Release, check_real, positive

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["Staircase"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase(Release):
    r"""The staircase mechanism of Geng and Viswanath.

    Guarantee:
        :math:`\varepsilon`-DP with only three losses: epsilon, 0 and -epsilon. The density is a
        staircase of steps of length ``sensitivity``, each split in the ratio ``gamma``; without
        one, :math:`1/(1+e^{\varepsilon/2})`, which makes the expected size of the noise least.
    """

    epsilon: float
    sensitivity: float = 1.0
    gamma: float | None = None

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        object.__setattr__(
            self, "epsilon", check_real("epsilon", self.epsilon, low=1e-150, high=700.0)
        )
        positive(self, "sensitivity")
        if self.gamma is not None:
            gamma = check_real("gamma", self.gamma, low=0.0, high=1.0)
            object.__setattr__(self, "gamma", gamma)

    def losses(self) -> tuple[Law, ...]:
        """Three atoms; how much the middle one weighs depends on gamma."""
        import numpy as np

        from quaestor.accounting.loss.laws.finite import FiniteLoss
        from quaestor.accounting.loss.laws.law import Lattice

        e = self.epsilon
        gamma = 1 / (1 + math.exp(e / 2)) if self.gamma is None else self.gamma
        height = -math.expm1(-e) / (2 * (gamma + math.exp(-e) * (1 - gamma)))
        middle = (
            (1 - 2 * gamma) * height * math.exp(-e) if gamma <= 0.5 else (2 * gamma - 1) * height
        )
        top = math.log1p(-middle) - math.log1p(math.exp(-e))
        masses = [(e, top), (-e, top - e)]
        if middle > 0.0:
            masses.insert(1, (0.0, math.log(middle)))
        losses, first = np.array(masses).T
        return (FiniteLoss(losses, first, first[::-1].copy(), lattice=Lattice(0.0, e)),)
