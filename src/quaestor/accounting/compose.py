"""Composition: picks what is sound and tightest; the only place that knows all the theorems."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from quaestor.accounting.black_boxes import BlackBoxes
from quaestor.accounting.explain import Explanation, explain
from quaestor.accounting.releases import Release
from quaestor.accounting.releases.base import check_real
from quaestor.accounting.theorems import optimal_heterogeneous, optimal_homogeneous
from quaestor.accounting.tradeoff import Tradeoff
from quaestor.errors import InvalidParameter, NotYetTight

if TYPE_CHECKING:
    from quaestor.accounting.bounds import Bounds
    from quaestor.accounting.profile import Profile

__all__ = ["Composition", "compose"]

_INFINITE = float("inf")


def compose(*releases: Release) -> Composition:
    """All these releases together, about the same people.

    The releases' parameters are fixed in advance; which mechanism, which query and in which order
    may depend on the answers so far. (Where parameters themselves depend on answers, a privacy
    filter is needed, and this is not one.)

    >>> from quaestor.accounting.releases import ApproxDP
    >>> spent = compose(ApproxDP(epsilon=0.1, delta=1e-8) * 30)
    >>> round(spent.epsilon(delta=1e-6), 9)
    2.36934999
    """
    for release in releases:
        if not isinstance(release, Release):
            raise InvalidParameter("release", release, "a release, such as PureDP(epsilon=0.1)")
    return Composition(releases)


class Composition:
    """What is lost by a list of releases; every number is certified."""

    def __init__(self, releases: tuple[Release, ...]) -> None:
        """Keep the description; nothing is computed before the first question."""
        self.releases = releases

    def __repr__(self) -> str:
        """The call that makes this composition."""
        return f"compose({', '.join(map(str, self.releases))})"

    @cached_property
    def _profile(self) -> Profile:
        boxes = BlackBoxes.of(self.releases)
        if len(boxes.responses) <= 1:
            return optimal_homogeneous(self.releases)
        try:
            return optimal_heterogeneous(self.releases)
        except NotYetTight as beyond:
            best: Profile = beyond.best
            return best

    def epsilon(self, *, delta: float) -> float:
        """The smallest epsilon known to be true at ``delta``: a sound upper bound.

        Infinite only where no finite epsilon is true.
        """
        return self.epsilon_bounds(delta=delta).upper

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the smallest epsilon that is true at ``delta``."""
        return self._profile.epsilon_bounds(delta=_checked_delta(delta))

    def delta(self, *, epsilon: float) -> float:
        """The smallest delta known to be true at ``epsilon``: a sound upper bound."""
        return self.delta_bounds(epsilon=epsilon).upper

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the smallest delta that is true at ``epsilon``."""
        return self._profile.delta_bounds(epsilon=_checked_epsilon(epsilon))

    def tradeoff(self) -> Tradeoff:
        """The privacy region: what any attacker's test can reach."""
        return Tradeoff(self._profile)

    def advantage(self) -> Bounds:
        """Enclose the best attack advantage (the total variation distance)."""
        return self.tradeoff().advantage()

    def explain(self, *, delta: float | None = None, epsilon: float | None = None) -> Explanation:
        """Every theorem's answer to one question: epsilon at ``delta``, or delta at ``epsilon``."""
        if (delta is None) == (epsilon is None):
            raise InvalidParameter(
                "explain", (delta, epsilon), "given delta or epsilon, one of them"
            )
        if delta is not None:
            target = _checked_delta(delta)
            return explain(
                self.releases,
                quantity="epsilon",
                given="delta",
                value=target,
                ask=lambda profile: profile.epsilon_bounds(delta=target),
            )
        at = _checked_epsilon(epsilon)
        return explain(
            self.releases,
            quantity="delta",
            given="epsilon",
            value=at,
            ask=lambda profile: profile.delta_bounds(epsilon=at),
        )

    @property
    def theorem(self) -> str:
        """The theorem behind the numbers, as ``explain`` names it."""
        homogeneous = len(BlackBoxes.of(self.releases).responses) <= 1
        return "optimal" if homogeneous else "optimal, heterogeneous"


def _checked_delta(delta: object) -> float:
    return check_real("delta", delta, low=0.0, high=1.0)


def _checked_epsilon(epsilon: object) -> float:
    return check_real("epsilon", epsilon, low=0.0, high=_INFINITE)
