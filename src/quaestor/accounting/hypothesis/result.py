"""The answer of ``hypothesis_bounds``: how well two beliefs about memberships can be told apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quaestor.accounting.curves.worst_of import Maximum
from quaestor.accounting.releases.base import check_real
from quaestor.accounting.tradeoff import Tradeoff

if TYPE_CHECKING:
    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.numerics.bounds import Bounds

__all__ = ["HypothesisGuarantee"]


class HypothesisGuarantee:
    """What the releases tell of one prior against another, in both directions; all certified."""

    def __init__(
        self, *, of_alternative: Profile, of_null: Profile, exact: bool, method: str
    ) -> None:
        """Keep one curve for each direction."""
        self.of_alternative, self.of_null = of_alternative, of_null
        self.exact, self.method = exact, method
        both = (of_alternative,) if of_null is of_alternative else (of_alternative, of_null)
        self._curve = Maximum(attained=both, upper=both, turned=len(both) == 2)

    def __repr__(self) -> str:
        """How it was computed."""
        return f"HypothesisGuarantee({self.method})"

    def epsilon(self, *, delta: float) -> float:
        """The smallest epsilon known to be true at ``delta``, both ways: a sound upper bound."""
        return self.epsilon_bounds(delta=delta).upper

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the smallest epsilon that is true at ``delta``, both ways."""
        return self._curve.epsilon_bounds(delta=check_real("delta", delta, low=0.0, high=1.0))

    def delta(self, *, epsilon: float) -> float:
        """The smallest delta known to be true at ``epsilon``, both ways: a sound upper bound."""
        return self.delta_bounds(epsilon=epsilon).upper

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the smallest delta that is true at ``epsilon``, both ways."""
        at = check_real("epsilon", epsilon, low=0.0, high=math.inf)
        return self._curve.delta_bounds(epsilon=at)

    def tradeoff(self) -> Tradeoff:
        """The privacy region: what any test of one prior against the other can reach."""
        return Tradeoff(self._curve)

    def advantage(self) -> Bounds:
        """Enclose the best attack advantage (the total variation distance)."""
        return self.tradeoff().advantage()
