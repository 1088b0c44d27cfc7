"""Black boxes: releases of which nothing is known but their (epsilon, delta)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import (
    LARGEST_EPSILON,
    Release,
    Strength,
    check_real,
    remembered,
)
from quaestor.accounting.releases.derived.two_changes import TwoChanges
from quaestor.accounting.releases.loss_ends import LossEnd, exactly
from quaestor.accounting.releases.opinion import response_opinion, truth

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Opinion

__all__ = ["ApproxDP", "BlackBox", "PureDP"]


@lru_cache(maxsize=256)  # thousands of boxes often share their delta
def _exactly(delta: float) -> Bounds:
    return Bounds.exactly(delta)


class BlackBox(Release):
    """What is known of all black boxes: the worst of them is a randomized response.

    It tells everything with probability delta, and tells the truth or lies otherwise.
    """

    __slots__ = ()

    epsilon: float
    delta: float

    losses_are_listed: ClassVar[bool] = True
    strength: ClassVar[Strength | None] = Strength("epsilon", more_tells_more=True)

    def losses(self) -> tuple[Law, ...]:
        """Randomized response, the worst case."""
        from quaestor.accounting.loss.laws.responses import Response

        return (Response(self.epsilon, infinite=_exactly(self.delta)),)

    def known_epsilon(self) -> Fraction | None:
        """Its epsilon, if that is all."""
        return None if self.delta else Fraction(self.epsilon)

    @remembered
    def log_moment(self, order: float) -> Fraction | None:
        """That of the randomized response."""
        from quaestor.accounting.releases.moments import log_moment_of_epsilon

        return log_moment_of_epsilon(self.pure_loss().epsilon, order)

    def outdoes(self, other: Release) -> bool:
        """By the parameters; a box also outdoes what is epsilon-DP with no more than its own.

        >>> ApproxDP(epsilon=1.0, delta=1e-6).outdoes(PureDP(epsilon=0.5))
        True
        >>> ApproxDP(epsilon=1.0, delta=0.0).outdoes(ApproxDP(epsilon=0.5, delta=1e-6))
        False
        """
        if isinstance(other, BlackBox):
            return self.epsilon >= other.epsilon and self.delta >= other.delta
        epsilon = other.known_epsilon()
        return epsilon is not None and self.epsilon >= epsilon

    def rough_size(self) -> float:
        """What is promised, added up."""
        return self.epsilon + self.delta

    def with_record_replaced(self) -> Release:
        """Two changes of the worst case."""
        return TwoChanges(epsilon=self.epsilon, delta=self.delta)

    def with_delta(self, *, delta: float) -> ApproxDP:
        """The same epsilon, and another delta."""
        return ApproxDP(epsilon=self.epsilon, delta=delta)

    @property
    def black_box(self) -> tuple[float, float]:
        """All that there is."""
        return self.epsilon, self.delta

    # From the parameters alone.

    def loss_ends(self) -> tuple[LossEnd, ...]:
        """Both are told by name."""
        return (LossEnd(exactly(self.epsilon), exactly(self.delta)),)

    @remembered
    def opinion(self) -> Opinion:
        """That of the randomized response."""
        return response_opinion(self.epsilon, top=truth(self.epsilon), outright=self.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class PureDP(BlackBox):
    r"""Any release that is :math:`\varepsilon`-differentially private.

    Guarantee:
        :math:`P(M(D) \in S) \le e^{\varepsilon} P(M(D') \in S)` for all neighbours and all S.

    >>> print(PureDP(epsilon=0.1) * 30)
    PureDP(epsilon=0.1) * 30
    """

    epsilon: float

    delta: ClassVar[float] = 0.0  # type: ignore[misc]  # a parameter of the other box

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        epsilon = check_real("epsilon", self.epsilon, low=0.0, high=LARGEST_EPSILON)
        object.__setattr__(self, "epsilon", epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxDP(BlackBox):
    r"""Any release that is :math:`(\varepsilon, \delta)`-differentially private.

    Guarantee:
        :math:`P(M(D) \in S) \le e^{\varepsilon} P(M(D') \in S) + \delta` for all neighbours and
        all S [Kairouz, Oh, Viswanath, Definition 1.1].

    >>> ApproxDP(epsilon=0.1, delta=1e-8).to_json()
    '{"type": "ApproxDP", "epsilon": 0.1, "delta": 1e-08}'
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        epsilon = check_real("epsilon", self.epsilon, low=0.0, high=LARGEST_EPSILON)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", check_real("delta", self.delta, low=0.0, high=1.0))
