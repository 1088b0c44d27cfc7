"""Black boxes: releases of which nothing is known but their (epsilon, delta)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import LARGEST_EPSILON, Release, check_real

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law

__all__ = ["ApproxDP", "PureDP"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PureDP(Release):
    r"""Any release that is :math:`\varepsilon`-differentially private.

    Guarantee:
        :math:`P(M(D) \in S) \le e^{\varepsilon} P(M(D') \in S)` for all neighbours and all S.

    >>> print(PureDP(epsilon=0.1) * 30)
    PureDP(epsilon=0.1) * 30
    """

    epsilon: float

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        epsilon = check_real("epsilon", self.epsilon, low=0.0, high=LARGEST_EPSILON)
        object.__setattr__(self, "epsilon", epsilon)

    def losses(self) -> tuple[Law, ...]:
        """Randomized response, the worst case."""
        return _response(self.epsilon, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxDP(Release):
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

    def losses(self) -> tuple[Law, ...]:
        """Randomized response that tells everything with probability delta, the worst case."""
        return _response(self.epsilon, self.delta)


def _response(epsilon: float, delta: float) -> tuple[Law, ...]:
    from quaestor.accounting.loss.laws.responses import Response
    from quaestor.accounting.numerics.bounds import Bounds

    return (Response(epsilon, infinite=Bounds.exactly(delta)),)
