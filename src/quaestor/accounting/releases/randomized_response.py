"""Randomized response over any number of categories."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import Release, check_count, check_real

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

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

        from quaestor.accounting.loss.laws.finite import FiniteLoss
        from quaestor.accounting.loss.laws.law import Lattice

        e, others = self.epsilon, self.categories - 2
        truth = -math.log1p((others + 1) * math.exp(-e))
        masses = [(e, truth), (-e, truth - e)]
        if others:
            masses.insert(1, (0.0, truth - e + math.log(others)))
        losses, first = np.array(masses).T
        return (FiniteLoss(losses, first, first[::-1].copy(), lattice=Lattice(0.0, e)),)
