"""Composition: picks what is sound and tightest; the only place that knows all the theorems."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from quaestor.accounting.explain import Explanation, explain
from quaestor.accounting.releases import ApproxDP, PureDP, Release, Repeated
from quaestor.accounting.releases.base import check_real
from quaestor.accounting.second_opinion import (
    BlackBoxOpinion,
    Corroborated,
    SecondOpinion,
)
from quaestor.accounting.theorems import (
    best_of_ranges,
    exact_heterogeneous,
    optimal_homogeneous,
    privacy_loss,
)
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.accounting.theorems.bounded_range import has_range
from quaestor.accounting.theorems.gaussian import GaussianProfile, is_gaussian
from quaestor.accounting.tradeoff import Tradeoff
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.theorems.losses import WorstDirection

__all__ = ["Composition", "compose", "compose_nonadaptive"]

_INFINITE = float("inf")
_LEAST_WIDTH = 1e-10


def compose(*releases: Release) -> Composition:
    """All these releases together, about the same people.

    The releases' parameters are fixed in advance; which mechanism, which query and in which order
    may depend on the answers so far. (Where parameters themselves depend on answers, a privacy
    filter is needed, and this is not one.)

    >>> from quaestor.accounting.releases import ApproxDP, Gaussian
    >>> spent = compose(ApproxDP(epsilon=0.1, delta=1e-8) * 30)
    >>> round(spent.epsilon(delta=1e-6), 9)
    2.36934999
    >>> round(compose(Gaussian(sigma=20.0) * 100).epsilon(delta=1e-6), 6)
    2.254085
    """
    _check(releases)
    return Composition(releases)


def compose_nonadaptive(*releases: Release) -> Composition:
    """All these releases together, every query of them fixed before the first answer.

    Such as those of a dashboard. Only bounded range (the exponential mechanism) gains by it: for
    everything else an analyst who adapts learns no more. *Unsound if a query depends on answers.*

    >>> from quaestor.accounting.releases import BoundedRange
    >>> chosen = BoundedRange(epsilon=0.1) * 10
    >>> round(compose_nonadaptive(chosen).epsilon(delta=1e-6), 6)
    0.628637
    >>> 0.634 < compose(chosen).epsilon(delta=1e-6) < 0.635
    True
    """
    _check(releases)
    return Composition(releases, in_advance=True)


class Composition:
    """What is lost by a list of releases; every number is certified."""

    def __init__(self, releases: tuple[Release, ...], *, in_advance: bool = False) -> None:
        """Keep the description; nothing is computed before the first question."""
        self.releases, self.in_advance = releases, in_advance

    def __repr__(self) -> str:
        """The call that makes this composition."""
        name = "compose_nonadaptive" if self.in_advance else "compose"
        return f"{name}({', '.join(map(str, self.releases))})"

    def then(self, *releases: Release) -> Composition:
        """The same with more releases; a long history is not composed again.

        What was computed for the history is carried on, so that pricing one more release costs as
        much as that release, and not as much as the history.

        >>> from quaestor.accounting.releases import Gaussian, Laplace
        >>> spent = compose(Gaussian(sigma=20.0) * 100)
        >>> spent.epsilon(delta=1e-6) < spent.then(Laplace(scale=10.0)).epsilon(delta=1e-6)
        True
        """
        _check(releases)
        longer = Composition(self.releases + releases, in_advance=self.in_advance)
        longer.__dict__["_losses"] = self._losses.then(releases)
        of_black_boxes = self._is_of_black_boxes and all(map(_is_black_box, releases))
        longer.__dict__["_is_of_black_boxes"] = of_black_boxes
        if of_black_boxes and self._profile is self._losses:
            longer.__dict__["_profile"] = longer._losses  # too many different ones for theorems
        known = self.__dict__.get("_profile")
        if isinstance(known, GaussianProfile) and all(map(is_gaussian, releases)):
            longer.__dict__["_profile"] = known.then(releases)
        if not isinstance(self._opinion, BlackBoxOpinion):
            longer.__dict__["_opinion"] = self._opinion.then(releases)
        return longer

    @cached_property
    def _opinion(self) -> SecondOpinion:
        if self._is_of_black_boxes and self._profile is not self.__dict__.get("_losses"):
            return BlackBoxOpinion(self._boxes)
        return SecondOpinion.of(self.releases)

    @cached_property
    def _is_of_black_boxes(self) -> bool:
        return all(map(_is_black_box, self.releases))

    @cached_property
    def _has_ranges(self) -> bool:
        return any(map(has_range, self.releases))

    @cached_property
    def _boxes(self) -> BlackBoxes:
        return BlackBoxes.of(self.releases)

    @cached_property
    def _losses(self) -> WorstDirection:
        return privacy_loss(self.releases)

    @cached_property
    def _profile(self) -> Profile:
        if self._has_ranges:
            return best_of_ranges(self.releases, losses=self._losses, in_advance=self.in_advance)
        if not self._is_of_black_boxes:
            gaussian = all(map(is_gaussian, self.releases))
            return GaussianProfile(self.releases) if gaussian else self._losses
        if len(self._boxes.responses) <= 1:
            return optimal_homogeneous(self.releases)
        return exact_heterogeneous(self._boxes) or self._losses

    def epsilon(self, *, delta: float) -> float:
        """The smallest epsilon known to be true at ``delta``: a sound upper bound.

        Infinite only where no finite epsilon is true.
        """
        return self.epsilon_bounds(delta=delta).upper

    def epsilon_bounds(self, *, delta: float, width: float | None = None) -> Bounds:
        """Enclose the smallest epsilon that is true at ``delta``.

        ``width`` asks for a relative width, such as 1e-6, at the price of time. Without it an
        interval has its usual width: below 1e-3, mostly 1e-5, and one or two floats where there
        is a closed form. Where a width is out of reach the interval is wider, and as true.
        """
        return self._within(width).epsilon_bounds(delta=_checked_delta(delta))

    def delta(self, *, epsilon: float) -> float:
        """The smallest delta known to be true at ``epsilon``: a sound upper bound."""
        return self.delta_bounds(epsilon=epsilon).upper

    def delta_bounds(self, *, epsilon: float, width: float | None = None) -> Bounds:
        """Enclose the smallest delta that is true at ``epsilon``; ``width`` as for epsilon."""
        return self._within(width).delta_bounds(epsilon=_checked_epsilon(epsilon))

    def _within(self, width: float | None) -> Profile:
        """The curve, held against a second opinion."""
        return Corroborated(self._narrowed(width), self._opinion)

    def _narrowed(self, width: float | None) -> Profile:
        if width is None:
            return self._profile
        narrow = check_real("width", width, low=_LEAST_WIDTH, high=1.0)
        if self._has_ranges:
            losses = self._losses.within(narrow)
            return best_of_ranges(
                self.releases, losses=losses, in_advance=self.in_advance, width=min(narrow, 0.5)
            )
        return self._losses.within(narrow) if self._profile is self._losses else self._profile

    def tradeoff(self) -> Tradeoff:
        """The privacy region: what any attacker's test can reach."""
        return Tradeoff(self._within(None))

    def advantage(self) -> Bounds:
        """Enclose the best attack advantage (the total variation distance)."""
        return self.tradeoff().advantage()

    def explain(self, *, delta: float | None = None, epsilon: float | None = None) -> Explanation:
        """Every theorem's answer to one question: epsilon at ``delta``, or delta at ``epsilon``.

        Theorems about black boxes are asked about what the releases are as black boxes: each with
        an equal share of half the delta in question.
        """
        if (delta is None) == (epsilon is None):
            given = "both" if delta is not None else "neither"
            raise InvalidParameter("explain", given, "given either delta or epsilon")
        if delta is not None:
            target = _checked_delta(delta)
            return explain(
                self.releases,
                black_boxes=self._as_black_boxes(target),
                quantity="epsilon",
                given="delta",
                value=target,
                best=None if self._has_ranges else self.theorem,
                in_advance=self.in_advance,
                ask=lambda profile: profile.epsilon_bounds(delta=target),
            )
        at = _checked_epsilon(epsilon)
        return explain(
            self.releases,
            black_boxes=self._as_black_boxes(self.delta(epsilon=at)),
            quantity="delta",
            given="epsilon",
            value=at,
            best=None if self._has_ranges else self.theorem,
            in_advance=self.in_advance,
            ask=lambda profile: profile.delta_bounds(epsilon=at),
        )

    def _as_black_boxes(self, delta: float) -> tuple[Release, ...]:
        if self._is_of_black_boxes:
            return self.releases
        count = sum(r.count if isinstance(r, Repeated) else 1 for r in self.releases)
        share = max(delta / (2 * count), 1e-300)
        return tuple(_black_box(release, share) for release in self.releases)

    @property
    def theorem(self) -> str:
        """The theorem behind the numbers, as ``explain`` names it."""
        if self._has_ranges:
            return "bounded range, fixed in advance" if self.in_advance else "bounded range"
        if not self._is_of_black_boxes:
            return "privacy loss"
        homogeneous = len(self._boxes.responses) <= 1
        return "optimal" if homogeneous else "optimal, heterogeneous"


def _check(releases: Iterable[object]) -> None:
    for release in releases:
        if not isinstance(release, Release):
            raise InvalidParameter("release", release, "a release, such as PureDP(epsilon=0.1)")


def _single(release: Release) -> Release:
    return release.release if isinstance(release, Repeated) else release


def _is_black_box(release: Release) -> bool:
    return isinstance(_single(release), PureDP | ApproxDP)


def _black_box(release: Release, delta: float) -> Release:
    """What is left of a release when only its epsilon at one delta is kept."""
    single = _single(release)
    if _is_black_box(release):
        return release
    if has_range(release):
        box: Release = PureDP(epsilon=single.range_epsilon)  # type: ignore[arg-type]
        return box * release.count if isinstance(release, Repeated) else box
    epsilon = privacy_loss([single]).epsilon_bounds(delta=delta).upper
    if epsilon > 1e6:
        epsilon, delta = 0.0, 1.0
    box = ApproxDP(epsilon=epsilon, delta=delta)
    return box * release.count if isinstance(release, Repeated) else box


def _checked_delta(delta: object) -> float:
    return check_real("delta", delta, low=0.0, high=1.0)


def _checked_epsilon(epsilon: object) -> float:
    return check_real("epsilon", epsilon, low=0.0, high=_INFINITE)
