"""Randomized response over any number of categories."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import Release, check_count, check_real

if TYPE_CHECKING:
    from quaestor.accounting.loss.law import Law

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse(Release):
    r"""Tell the truth with odds :math:`e^\varepsilon` against each other category.

    Guarantee:
        :math:`\varepsilon`-DP; an answer that is neither of the two compared categories has loss
        0, so more categories compose better than two.
    """

    epsilon: float
    categories: int = 2

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        object.__setattr__(
            self, "epsilon", check_real("epsilon", self.epsilon, low=1e-150, high=700.0)
        )
        categories = check_count("categories", self.categories, smallest=2)
        object.__setattr__(self, "categories", categories)

    def losses(self) -> tuple[Law, ...]:
        """Three atoms, or two."""
        import numpy as np

        from quaestor.accounting.loss.finite import FiniteLoss
        from quaestor.accounting.loss.law import Lattice

        others = math.exp(-self.epsilon)
        masses = np.array([1.0, (self.categories - 2) * others, others])
        losses = np.array([self.epsilon, 0.0, -self.epsilon])
        return (FiniteLoss(losses, masses, lattice=Lattice(0.0, self.epsilon)),)
