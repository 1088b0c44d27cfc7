"""The answer of ``hypothesis_bounds``: how well two beliefs about memberships can be told apart."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from quaestor.accounting.curve_answers import CurveAnswers
from quaestor.accounting.curves.worst_of import Maximum

if TYPE_CHECKING:
    from quaestor.accounting.curves.profile import Profile

__all__ = ["HypothesisGuarantee"]


class HypothesisGuarantee(CurveAnswers):
    """What the releases tell of one prior against another, in both directions; all certified.

    >>> from quaestor import PointPrior, PureDP, UniformPrior, hypothesis_bounds
    >>> known = hypothesis_bounds(
    ...     [PureDP(epsilon=0.5)] * 4, null=PointPrior(), alternative=UniformPrior(at_least=1)
    ... )
    >>> known.exact, known.epsilon(delta=0.0) <= 2.0
    (True, True)
    """

    def __init__(
        self, *, of_alternative: Profile, of_null: Profile, exact: bool, method: str
    ) -> None:
        """Keep one curve for each direction."""
        self.of_alternative, self.of_null = of_alternative, of_null
        self.exact, self.method = exact, method

    @cached_property
    def _curve(self) -> Maximum:
        same = self.of_null is self.of_alternative
        both = (self.of_alternative,) if same else (self.of_alternative, self.of_null)
        return Maximum(attained=both, upper=both, turned=not same)

    def __repr__(self) -> str:
        """How it was computed."""
        return f"HypothesisGuarantee({self.method})"
