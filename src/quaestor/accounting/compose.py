"""Composition: picks what is sound and tightest; the only place that knows all the theorems."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from quaestor.accounting import theorems
from quaestor.accounting.curve_answers import CurveAnswers, checked_delta, checked_epsilon
from quaestor.accounting.curves.narrow_enough import NarrowEnough
from quaestor.accounting.explain import CurveQuestion, Explanation, explain
from quaestor.accounting.releases import ApproxDP, PureDP, Release, ReleaseSum, each_release
from quaestor.accounting.releases.base import check_real
from quaestor.accounting.releases.release_sum import check_neighbours
from quaestor.accounting.second_opinion import (
    BlackBoxOpinion,
    Corroborated,
    SecondOpinion,
)
from quaestor.accounting.theorems import OPTIMAL, OPTIMAL_HETEROGENEOUS, PRIVACY_LOSS
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.accounting.theorems.bounded_range import has_range
from quaestor.accounting.theorems.gaussian import GaussianProfile, is_gaussian
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.theorems.losses import WorstDirection

__all__ = ["Composition", "compose", "compose_nonadaptive"]

_LEAST_WIDTH = 1e-10
_NARROW = 1e-5  # widths below it take as long by the engine's rough lines as in any other way
_FEW = 64  # different black boxes of which each is looked at
_LARGEST_ORDER = 1e6


def compose(*releases: Release | ReleaseSum) -> Composition:
    """All these releases together, about the same people.

    The releases' parameters are fixed in advance; which mechanism, which query and in which order
    may depend on the answers so far. (Where parameters themselves depend on answers, a privacy
    filter is needed, and this is not one.) All are about the same neighbours: a release that is
    about people who come or go is refused beside one that is about records that are replaced.

    A sum, ``a + b``, is taken for its releases.

    >>> from quaestor.accounting.releases import ApproxDP, Gaussian
    >>> spent = compose(ApproxDP(epsilon=0.1, delta=1e-8) * 30)
    >>> round(spent.epsilon(delta=1e-6), 9)
    2.36934999
    >>> round(compose(Gaussian(sigma=20.0) * 100).epsilon(delta=1e-6), 6)
    2.254085
    """
    return Composition(_together(releases))


def compose_nonadaptive(*releases: Release | ReleaseSum) -> Composition:
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
    return Composition(_together(releases), in_advance=True)


class Composition(CurveAnswers):
    """What is lost by a list of releases; every number is certified.

    >>> from quaestor import PureDP
    >>> spent = compose(PureDP(epsilon=0.25) * 4)
    >>> spent.epsilon(delta=0.0), spent.theorem
    (1.0, 'optimal')
    """

    def __init__(self, releases: tuple[Release, ...], *, in_advance: bool = False) -> None:
        """Keep the description; nothing is computed before the first question."""
        self.releases, self.in_advance = releases, in_advance

    def __repr__(self) -> str:
        """The call that makes this composition."""
        name = "compose_nonadaptive" if self.in_advance else "compose"
        return f"{name}({', '.join(map(str, self.releases))})"

    def then(self, *releases: Release | ReleaseSum) -> Composition:
        """The same with more releases; a long history is not composed again.

        What was computed for the history is carried on, so that pricing one more release costs as
        much as that release, and not as much as the history.

        >>> from quaestor.accounting.releases import Gaussian, Laplace
        >>> spent = compose(Gaussian(sigma=20.0) * 100)
        >>> spent.epsilon(delta=1e-6) < spent.then(Laplace(scale=10.0)).epsilon(delta=1e-6)
        True
        """
        more = each_release(releases)
        longer = Composition(_together((*self.releases, *more)), in_advance=self.in_advance)
        longer.__dict__["_losses"] = self._losses.then(more)
        of_black_boxes = self._is_of_black_boxes and all(map(_is_black_box, more))
        longer.__dict__["_is_of_black_boxes"] = of_black_boxes
        if of_black_boxes and not self._is_exact:  # too many different ones
            longer.__dict__["_profile"] = longer._bracket()
        gaussian = self.__dict__.get("_gaussian")
        if gaussian is not None and all(map(is_gaussian, more)):
            longer.__dict__["_gaussian"] = gaussian.then(more)
        if not self._is_exact:
            longer.__dict__["_opinion"] = self._opinion.then(more)
        return longer

    @cached_property
    def _opinion(self) -> SecondOpinion:
        if self._is_exact:
            return BlackBoxOpinion(self._boxes)
        if self._is_of_black_boxes and len(self._boxes.steps) > _FEW:
            return SecondOpinion.of_boxes(self._boxes)
        return SecondOpinion.of(self.releases)

    @property
    def _is_exact(self) -> bool:
        return self._is_of_black_boxes and self._profile.knows_its_end

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
        return PRIVACY_LOSS.names(theorems.privacy_loss(self.releases))

    @cached_property
    def _gaussian(self) -> GaussianProfile | None:
        if not all(map(is_gaussian, self.releases)):
            return None
        return PRIVACY_LOSS.names(GaussianProfile(self.releases))

    @cached_property
    def _profile(self) -> Profile:
        if self._has_ranges:
            return self._best_of_ranges(self._losses)
        if not self._is_of_black_boxes:
            return self._gaussian or self._losses
        if len(self._boxes.responses) <= 1:
            return OPTIMAL.of(self.releases)
        exact = theorems.exact_heterogeneous(self._boxes)
        return self._bracket() if exact is None else OPTIMAL_HETEROGENEOUS.names(exact)

    def _bracket(self) -> Profile:
        """Different black boxes of which the optimum is not within reach."""
        return self._losses.as_proof_of(OPTIMAL_HETEROGENEOUS)

    def _best_of_ranges(self, losses: WorstDirection, *, width: float | None = None) -> Profile:
        return theorems.best_of_ranges(
            self.releases, losses=losses, in_advance=self.in_advance, width=width
        )

    def epsilon_bounds(self, *, delta: float, width: float | None = None) -> Bounds:
        """Enclose the smallest epsilon that is true at ``delta``.

        ``width`` asks for a relative width, and for the cheapest way that reaches it: 1e-6 may
        take longer than usual, and 1e-3 less long. Without it an interval has its usual width:
        below 1e-3, mostly 1e-5, and one or two floats where there is a closed form. Where a width
        is out of reach the interval is wider, and as true; its ``missed_width`` says so, and so
        does its text.

        >>> from quaestor.accounting.releases import BoundedRange
        >>> spent = compose(BoundedRange(epsilon=1.0) * 2000)
        >>> spent.epsilon_bounds(delta=1e-6, width=1e-3).missed_width
        0.001
        """
        found = self._within(width).epsilon_bounds(delta=checked_delta(delta))
        return found if width is None else found.held_against(width=width)

    def delta_bounds(self, *, epsilon: float, width: float | None = None) -> Bounds:
        """Enclose the smallest delta that is true at ``epsilon``; ``width`` as for epsilon."""
        found = self._within(width).delta_bounds(epsilon=checked_epsilon(epsilon))
        return found if width is None else found.held_against(width=width)

    @property
    def _curve(self) -> Profile:
        return self._within(None)

    def _label(self) -> str:
        return " + ".join(map(str, self.releases)) or "nothing"

    def _facts(self) -> list[str]:
        return [*super()._facts(), f"theorem: {self.theorem}"]

    def _within(self, width: float | None) -> Profile:
        """The curve, held against a second opinion."""
        return Corroborated(self._narrowed(width), self._opinion)

    def _narrowed(self, width: float | None) -> Profile:
        if width is None:
            return self._profile
        narrow = check_real("width", width, low=_LEAST_WIDTH, high=1.0)
        if self._has_ranges:
            return self._best_of_ranges(self._losses.within(narrow), width=min(narrow, 0.5))
        best = self._profile.within(narrow)
        by_losses = best.takes_long if self._is_exact else self._gaussian is None
        if not by_losses or narrow < _NARROW:
            return best
        return NarrowEnough(self._losses.roughly(narrow), best, width=narrow)

    def rdp(self, *, order: float) -> Bounds:
        """Enclose the Renyi divergence of an order above 1, in the worse direction.

        Infinite where something may be told outright, and from above where it is not known.

        >>> from quaestor.accounting.releases import Gaussian
        >>> 0.25 in compose(Gaussian(sigma=20.0) * 100).rdp(order=2.0)
        True
        """
        from quaestor.accounting.divergences import renyi_bounds

        above_one = check_real("order", order, low=1 + 1e-6, high=_LARGEST_ORDER)
        return renyi_bounds(self.releases, order=above_one)

    def rho(self) -> Bounds:
        """Enclose the least rho with which all of it is rho-zCDP."""
        from quaestor.accounting.divergences import concentrated_bounds

        return concentrated_bounds(self.releases)

    def mu(self) -> Bounds:
        """Enclose the least mu with which all of it is mu-Gaussian-DP.

        >>> from quaestor.accounting.releases import Gaussian
        >>> compose(Gaussian(sigma=20.0) * 100).mu().upper
        0.5000000000000001
        """
        from quaestor.accounting.divergences import gaussian_bounds

        return gaussian_bounds(self.releases, self._within(None))

    def explain(self, *, delta: float | None = None, epsilon: float | None = None) -> Explanation:
        """Every theorem's answer to one question: epsilon at ``delta``, or delta at ``epsilon``.

        Theorems about black boxes are asked about what the releases are as black boxes: each with
        an equal share of half the delta in question.
        """
        if (delta is None) == (epsilon is None):
            given = "both" if delta is not None else "neither"
            raise InvalidParameter("explain", given, "given exactly one of delta and epsilon")
        if delta is not None:
            ask = CurveQuestion(quantity="epsilon", value=checked_delta(delta))
        else:
            ask = CurveQuestion(quantity="delta", value=checked_epsilon(epsilon))
        answer = ask(self._within(None))
        return explain(
            ask,
            self.releases,
            black_boxes=self._as_black_boxes(answer.upper if delta is None else ask.value),
            chosen=self._profile,
            answer=answer,
            in_advance=self.in_advance,
        )

    def _as_black_boxes(self, delta: float) -> tuple[Release, ...]:
        if self._is_of_black_boxes:
            return self.releases
        count = sum(release.counted()[1] for release in self.releases)
        share = max(delta / (2 * count), 1e-300)
        return tuple(_black_box(release, share) for release in self.releases)

    @property
    def theorem(self) -> str:
        """The theorem behind the numbers: the row that ``explain`` marks."""
        return self._profile.theorem.name


def _together(given: Sequence[Release | ReleaseSum]) -> tuple[Release, ...]:
    """The releases, sums among them taken apart, if all are about the same neighbours."""
    releases = each_release(given)
    check_neighbours(releases)
    return releases


def _is_black_box(release: Release) -> bool:
    return release.counted()[0].black_box is not None


def _black_box(release: Release, delta: float) -> Release:
    """What is left of a release when only its epsilon at one delta is kept."""
    single, count = release.counted()
    if single.black_box is not None:
        return release
    if single.range_epsilon is not None:
        return PureDP(epsilon=single.range_epsilon) * count
    epsilon = theorems.privacy_loss([single]).epsilon_bounds(delta=delta).upper
    if epsilon > 1e6:
        epsilon, delta = 0.0, 1.0
    return ApproxDP(epsilon=epsilon, delta=delta) * count
