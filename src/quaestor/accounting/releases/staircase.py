"""Staircase noise: the least noise, in variance or size, for one pure release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import (
    Release,
    Strength,
    check_real,
    positive,
    remembered,
)
from quaestor.accounting.releases.derived.two_changes import TwoChanges
from quaestor.accounting.releases.opinion import response_opinion

if TYPE_CHECKING:
    from flint import arb

    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Opinion

__all__ = ["Staircase", "staircase_variance"]


def staircase_variance(*, epsilon: float, gamma: float) -> float:
    r"""The variance of staircase noise of sensitivity 1.

    With :math:`b = e^{-\varepsilon}` the density is :math:`ab^k` on :math:`[k, k+\gamma)` and
    :math:`ab^{k+1}` on :math:`[k+\gamma, k+1)`, :math:`a = (1-b)/2(\gamma+b(1-\gamma))`; the
    integrals of :math:`x^2` are summed over k in closed form.
    """
    b = math.exp(-epsilon)
    rest = -math.expm1(-epsilon)
    ones, firsts, seconds = 1 / rest, b / rest**2, b * (1 + b) / rest**3
    high = seconds * gamma + firsts * gamma**2 + ones * gamma**3 / 3
    low = seconds * (1 - gamma) + firsts * (1 - gamma**2) + ones * (1 - gamma**3) / 3
    return rest / (gamma + b * (1 - gamma)) * (high + b * low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase(Release):
    r"""The staircase mechanism of Geng and Viswanath.

    Guarantee:
        :math:`\varepsilon`-DP with only three losses: epsilon, 0 and -epsilon. The density is a
        staircase of steps of length ``sensitivity``, each split in the ratio ``gamma``; without
        one, :math:`1/(1+e^{\varepsilon/2})`, which makes the expected size of the noise least.

    >>> from quaestor import compose
    >>> compose(Staircase(epsilon=0.5)).epsilon(delta=0.0)
    0.5
    """

    epsilon: float
    sensitivity: float = 1.0
    gamma: float | None = None

    losses_are_listed: ClassVar[bool] = True
    strength: ClassVar[Strength | None] = Strength("epsilon", more_tells_more=True)

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        object.__setattr__(
            self, "epsilon", check_real("epsilon", self.epsilon, low=1e-150, high=700.0)
        )
        positive(self, "sensitivity")
        if self.gamma is not None:
            gamma = check_real("gamma", self.gamma, low=0.0, high=1.0)
            object.__setattr__(self, "gamma", gamma)

    def _gamma(self) -> float:
        return 1 / (1 + math.exp(self.epsilon / 2)) if self.gamma is None else self.gamma

    def losses(self) -> tuple[Law, ...]:
        """Three atoms; how much the middle one weighs depends on gamma."""
        import numpy as np

        from quaestor.accounting.loss.laws.finite import FiniteLoss
        from quaestor.accounting.loss.laws.law import Lattice

        e, gamma = self.epsilon, self._gamma()
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

    def known_epsilon(self) -> Fraction:
        """By its name."""
        return Fraction(self.epsilon)

    @remembered
    def log_moment(self, order: float) -> Fraction | None:
        """In closed form."""
        from flint import arb

        from quaestor.accounting.releases.moments import log_moment_of_three

        def top(epsilon: arb, lie: arb) -> arb:
            """The noise is at least 0, or steps down in one world and not in the other."""
            gamma = 1 / (1 + (epsilon / 2).exp()) if self.gamma is None else arb(self.gamma)
            height = (1 - lie) / (2 * (gamma + lie * (1 - gamma)))
            return arb(1) / 2 + height * gamma.min(1 - gamma)

        return log_moment_of_three(self.epsilon, top, order)

    def with_record_replaced(self) -> Release:
        """Two changes of any release with this epsilon."""
        return TwoChanges(epsilon=self.epsilon, delta=0.0)

    def noise_variance(self) -> float:
        """In closed form."""
        return self.sensitivity**2 * staircase_variance(epsilon=self.epsilon, gamma=self._gamma())

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion:
        """The noise is at least 0, or steps down early, but not around the other value."""
        b, gamma = math.exp(-self.epsilon), self._gamma()
        height = -math.expm1(-self.epsilon) / (2 * (gamma + b * (1 - gamma)))
        top = min(0.5 + height * min(gamma, 1 - gamma), 1.0)
        return response_opinion(self.epsilon, top=top)
