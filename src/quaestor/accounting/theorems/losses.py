"""What one knows of the mechanisms themselves: composition of their privacy losses."""

from __future__ import annotations

from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING

from quaestor.accounting.curves.profile import Profile, WorldPair
from quaestor.accounting.loss.engine.loss_profile import LossProfile
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases import counts_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Sequence

    from quaestor.accounting.curves.profile import TheoremName
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases import Release

_CLOSE = 1e-4  # relative: what is not worth a look at the worst of a class
_FEW = 2  # releases of a class of which one is far worse than the Gaussian; of many it is not

__all__ = ["WorstDirection", "laws_by_direction", "privacy_loss"]


def privacy_loss(releases: Iterable[Release]) -> WorstDirection:
    r"""The composition of the releases' own dominating pairs.

    Theorem:
        Zhu, Dong, Wang, "Optimal Accounting of Differential Privacy via Characteristic Function"
        (2022), Theorem 10: if each release is dominated by its pair for every history, the product
        of the pairs dominates the adaptive composition. Removing and adding a person compose
        apart; the worse one counts. The numbers come from
        :mod:`quaestor.accounting.loss.engine.inversion`.

    Assumes:
        The descriptions are fixed in advance; queries may be chosen adaptively.

    >>> from quaestor.accounting.releases import Gaussian
    >>> curve = privacy_loss([Gaussian(sigma=50.0) * 10_000])
    >>> round(curve.epsilon_bounds(delta=1e-6).upper, 6)
    10.997151
    """
    return WorstDirection(releases)


class WorstDirection(Profile):
    """The larger of two profiles: removing a person, and adding one."""

    def __init__(self, releases: Iterable[Release]) -> None:
        """Take the losses of every release in each direction."""
        counts = counts_of(releases)
        self._history: tuple[Counter[Release], ...] = (counts,)
        self._directions = [LossProfile(laws) for laws in laws_by_direction(counts)]
        self._brackets: Callable[[], list[LossProfile]] | None = None
        if any(release.bracketed for release in counts):
            self._brackets = partial(_least_profiles, counts)

    @cached_property
    def _least(self) -> list[LossProfile]:
        """Where only brackets of a loss are known; of no use to upper ends, and made last."""
        return [] if self._brackets is None else self._brackets()

    def within(self, width: float) -> WorstDirection:
        """The same, to answer within a relative ``width``."""
        narrower = self._renewed()
        narrower._directions = [profile.within(width) for profile in self._directions]
        if self._brackets is not None:
            narrower._brackets = lambda: [profile.within(width) for profile in self._least]
        return narrower

    def roughly(self, width: float) -> WorstDirection:
        """The same, to answer within a relative ``width`` by as little work as mostly suffices."""
        rougher = self._renewed()
        rougher._directions = [profile.roughly(width) for profile in self._directions]
        rougher._least = [profile.roughly(width) for profile in self._least]
        return rougher

    def shared(self) -> WorstDirection:
        """The same for many points."""
        many = self._renewed()
        many._directions = [profile.shared() for profile in self._directions]
        if self._brackets is not None:
            many._brackets = lambda: [profile.shared() for profile in self._least]
        return many

    def then(self, releases: Iterable[Release]) -> WorstDirection:
        """The same with more releases, without composing the old ones again."""
        extended = self._renewed()
        added = counts_of(releases)
        extended._history = (*self._history, added)
        extended._directions = _extended(self._directions, laws_by_direction(added))
        if self._brackets is not None or any(release.bracketed for release in added):
            extended._brackets = lambda: _extended(
                self._least or self._directions, laws_by_direction(added, least=True)
            )
        return extended

    def upper_ends(self) -> Profile:
        """Without the least losses, where there are any."""
        return self if self._brackets is None else _UpperEnds(self)

    def largest_delta(self, epsilon: float) -> float:
        """The upper end alone."""
        return _worst_delta(self._directions, epsilon).upper

    def largest_epsilon(self, delta: float) -> float:
        """The upper end alone."""
        return _worst_epsilon(self._directions, delta).upper

    def as_proof_of(self, theorem: TheoremName) -> WorstDirection:
        """The same curve, as what another theorem comes to."""
        renamed = copy(self)
        renamed.theorem = theorem
        return renamed

    def _renewed(self) -> WorstDirection:
        """Nothing yet, under the same theorem."""
        fresh = copy(self)
        for known in ("_least", "_worst_varies"):
            fresh.__dict__.pop(known, None)
        fresh._directions, fresh._brackets = [], None
        return fresh

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the worse direction's delta."""
        answer = _worst_delta(self._directions, epsilon)
        if self._least:
            answer = _worst_delta(self._least, epsilon).up_to(answer)
        if not self._worst_varies or answer.relative_width <= _CLOSE or epsilon <= 0.0:
            return answer
        attained = _worst_delta(self._worst_at(epsilon=epsilon), epsilon).lower
        return Bounds(lower=min(max(attained, answer.lower), answer.upper), upper=answer.upper)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the worse direction's epsilon."""
        answer = _worst_epsilon(self._directions, delta)
        if self._least:
            answer = _worst_epsilon(self._least, delta).up_to(answer)
        if not self._worst_varies or answer.relative_width <= _CLOSE or delta <= 0.0:
            return answer
        attained = _worst_epsilon(self._worst_at(delta=delta), delta).lower
        return Bounds(lower=min(max(attained, answer.lower), answer.upper), upper=answer.upper)

    @cached_property
    def _worst_varies(self) -> bool:
        """Whether the worst is not known alike for all questions, of so few that it matters."""
        varying = [n for counts in self._history for each, n in counts.items() if each.worst_varies]
        return 0 < sum(varying) <= _FEW

    def _worst_at(
        self, *, delta: float | None = None, epsilon: float | None = None
    ) -> list[LossProfile]:
        """Of releases of which only a class is known, those that are the worst here, about."""
        order = self._directions[0].product.closest_order(delta=delta, epsilon=epsilon)
        counts = sum(self._history[1:], self._history[0])
        return [LossProfile(laws) for laws in laws_by_direction(counts, order=order)]

    def world_pairs(self) -> tuple[WorldPair, ...]:
        """Without the person and with, and the other way round, where that makes a difference."""
        ways = [_Direction(upper, self._at_least(i)) for i, upper in enumerate(self._directions)]
        if len(ways) == 1:
            return (WorldPair(ways[0], ways[0]),)
        removing, adding = ways
        return WorldPair(removing, adding), WorldPair(adding, removing)

    def _at_least(self, direction: int) -> LossProfile | None:
        return self._least[min(direction, len(self._least) - 1)] if self._least else None

    def best_order(self, *, delta: float | None = None, epsilon: float | None = None) -> float:
        """The order at which the moment bound is about the least, at a delta or an epsilon."""
        return self._directions[0].product.best_order(delta=delta, epsilon=epsilon)

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the direction that reaches further."""
        choices = [profile.supports(at_most) for profile in self._directions]
        return max(choices, key=lambda supports: supports[-1])


class _UpperEnds(Profile):
    """The larger of two profiles, of which nothing is said from below."""

    def __init__(self, whole: WorstDirection) -> None:
        self._whole, self.theorem = whole, whole.theorem

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        return Bounds(lower=0.0, upper=self._whole.largest_delta(epsilon))

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        return Bounds(lower=0.0, upper=self._whole.largest_epsilon(delta))

    def supports(self, at_most: int) -> Sequence[float]:
        return self._whole.supports(at_most)


def _least_profiles(counts: Counter[Release]) -> list[LossProfile]:
    return [LossProfile(laws) for laws in laws_by_direction(counts, least=True)]


class _Direction(Profile):
    """One direction alone, between its least and its largest losses."""

    def __init__(self, upper: LossProfile, least: LossProfile | None) -> None:
        self._upper, self._least = upper, least

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        worst = self._upper.delta_bounds(epsilon=epsilon)
        return (
            worst if self._least is None else self._least.delta_bounds(epsilon=epsilon).up_to(worst)
        )

    def delta_or_less(self, *, epsilon: float, least: float) -> Bounds:
        worst = self._upper.delta_or_less(epsilon=epsilon, least=least)
        if self._least is None or worst.upper <= least:
            return Bounds(lower=0.0, upper=worst.upper) if worst.upper <= least else worst
        return self._least.delta_bounds(epsilon=epsilon).up_to(worst)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        worst = self._upper.epsilon_bounds(delta=delta)
        return (
            worst if self._least is None else self._least.epsilon_bounds(delta=delta).up_to(worst)
        )

    def supports(self, at_most: int) -> Sequence[float]:
        return self._upper.supports(at_most)


def _worst_delta(directions: list[LossProfile], epsilon: float) -> Bounds:
    first, *others = directions
    answers = [first.delta_bounds(epsilon=epsilon)]
    for other in others:  # adding is hardly ever worse: often a quick bound shows it
        if other.may_exceed(epsilon=epsilon, delta=answers[0].lower):
            answers.append(other.delta_bounds(epsilon=epsilon))
    return _worst(answers)


def _worst_epsilon(directions: list[LossProfile], delta: float) -> Bounds:
    first, *others = directions
    answers = [first.epsilon_bounds(delta=delta)]
    for other in others:
        if other.may_exceed(epsilon=answers[0].lower, delta=delta):
            answers.append(other.epsilon_bounds(delta=delta))
    return _worst(answers)


def _worst(answers: list[Bounds]) -> Bounds:
    return Bounds(
        lower=max(answer.lower for answer in answers), upper=max(answer.upper for answer in answers)
    )


def _extended(old: list[LossProfile], added: list[list[tuple[Law, int]]]) -> list[LossProfile]:
    """Each direction with what is added in it; one direction stands for both."""
    count = max(len(old), len(added))
    return [old[min(i, len(old) - 1)].then(added[min(i, len(added) - 1)]) for i in range(count)]


def laws_by_direction(
    counts: Counter[Release], *, least: bool = False, order: float | None = None
) -> list[list[tuple[Law, int]]]:
    """The laws with their counts, by direction: the least ones, or the worst at an order."""

    def laws_of(release: Release) -> tuple[Law, ...]:
        if order is not None:
            return release.worst_losses(order)
        return release.least_losses() if least else release.losses()

    pairs = [(laws_of(release), count) for release, count in counts.items()]
    directions = max((len(laws) for laws, _ in pairs), default=1)
    return [
        [(laws[min(i, len(laws) - 1)], count) for laws, count in pairs] for i in range(directions)
    ]
