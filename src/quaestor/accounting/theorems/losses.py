"""What one knows of the mechanisms themselves: composition of their privacy losses."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from quaestor.accounting.bounds import Bounds
from quaestor.accounting.loss.profile import LossProfile
from quaestor.accounting.profile import Profile
from quaestor.accounting.releases import Repeated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.loss.law import Law
    from quaestor.accounting.releases import Release

__all__ = ["WorstDirection", "privacy_loss"]


def privacy_loss(releases: Iterable[Release]) -> WorstDirection:
    r"""The composition of the releases' own dominating pairs.

    Theorem:
        Zhu, Dong, Wang, "Optimal Accounting of Differential Privacy via Characteristic Function"
        (2022), Theorem 10: if each release is dominated by its pair for every history, the product
        of the pairs dominates the adaptive composition. Removing and adding a person compose
        apart; the worse one counts. The numbers come from :mod:`quaestor.accounting.loss.line`.

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
        self._directions = [LossProfile(laws) for laws in _laws(releases)]

    def then(self, releases: Iterable[Release]) -> WorstDirection:
        """The same with more releases, without composing the old ones again."""
        extended = WorstDirection(())
        added = _laws(releases)
        old = self._directions
        count = max(len(old), len(added))
        extended._directions = [
            old[min(i, len(old) - 1)].then(added[min(i, len(added) - 1)]) for i in range(count)
        ]
        return extended

    def delta_bounds(self, *, epsilon: float) -> Bounds:
        """Enclose the worse direction's delta."""
        first, *others = self._directions
        answers = [first.delta_bounds(epsilon=epsilon)]
        for other in others:  # adding is hardly ever worse: often a quick bound shows it
            if other.at_most(epsilon=epsilon) > answers[0].lower:
                answers.append(other.delta_bounds(epsilon=epsilon))
        return _worst(answers)

    def epsilon_bounds(self, *, delta: float) -> Bounds:
        """Enclose the worse direction's epsilon."""
        first, *others = self._directions
        answers = [first.epsilon_bounds(delta=delta)]
        for other in others:
            if other.at_most(epsilon=answers[0].lower) > delta:
                answers.append(other.epsilon_bounds(delta=delta))
        return _worst(answers)

    def supports(self, at_most: int) -> Sequence[float]:
        """Those of the direction that reaches further."""
        choices = [profile.supports(at_most) for profile in self._directions]
        return max(choices, key=lambda supports: supports[-1])


def _worst(answers: list[Bounds]) -> Bounds:
    return Bounds(
        lower=max(answer.lower for answer in answers), upper=max(answer.upper for answer in answers)
    )


def _laws(releases: Iterable[Release]) -> list[list[tuple[Law, int]]]:
    """The laws with their counts, by direction; equal releases count together."""
    counts: Counter[Release] = Counter()
    for release in releases:
        if isinstance(release, Repeated):
            counts[release.release] += release.count
        else:
            counts[release] += 1
    pairs = [(release.losses(), count) for release, count in counts.items()]
    directions = max((len(laws) for laws, _ in pairs), default=1)
    return [
        [(laws[min(i, len(laws) - 1)], count) for laws, count in pairs] for i in range(directions)
    ]
