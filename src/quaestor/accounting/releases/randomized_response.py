"""Randomized response over any number of categories."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import (
    Release,
    Strength,
    check_count,
    check_real,
    remembered,
)
from quaestor.accounting.releases.derived.two_changes import TwoChanges
from quaestor.accounting.releases.opinion import response_opinion

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Opinion

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse(Release):
    r"""Tell the truth with odds :math:`e^\varepsilon` against each other category.

    Guarantee:
        :math:`\varepsilon`-DP; an answer that is neither of the two compared categories has loss
        0, so more categories compose better than two.

    >>> from quaestor import compose
    >>> compose(RandomizedResponse(epsilon=1.0)).epsilon(delta=0.0)
    1.0
    """

    epsilon: float
    categories: int = 2

    losses_are_listed: ClassVar[bool] = True
    strength: ClassVar[Strength | None] = Strength("epsilon", more_tells_more=True)

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

    @property
    def black_box(self) -> tuple[float, float] | None:
        """With two categories it is the worst of all that are epsilon-DP, and composes as they do.

        >>> from quaestor import compose
        >>> different = (RandomizedResponse(epsilon=tenths / 10) for tenths in range(1, 30))
        >>> compose(*different).theorem
        'optimal, heterogeneous'
        """
        return (self.epsilon, 0.0) if self.categories == 2 else None

    def known_epsilon(self) -> Fraction:
        """By its name."""
        return Fraction(self.epsilon)

    @remembered
    def log_moment(self, order: float) -> Fraction | None:
        """In closed form."""
        from quaestor.accounting.releases.moments import log_moment_of_three

        others = self.categories - 1
        return log_moment_of_three(self.epsilon, lambda _, lie: 1 / (1 + others * lie), order)

    def outdoes(self, other: Release) -> bool:
        """It loses by lying more often."""
        if isinstance(other, RandomizedResponse):
            return self.categories == other.categories and self.epsilon >= other.epsilon
        return other.known_epsilon() == 0

    def with_record_replaced(self) -> Release:
        """Two changes of any release with this epsilon."""
        return TwoChanges(epsilon=self.epsilon, delta=0.0)

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion:
        """The truth, or not."""
        top = 1 / (1 + (self.categories - 1) * math.exp(-self.epsilon))
        return response_opinion(self.epsilon, top=top)
