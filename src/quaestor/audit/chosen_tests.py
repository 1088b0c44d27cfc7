"""The test that is chosen: which score, which threshold, which claim, which bound.

Done on runs of their own. Bounds are estimated here in floats, all thresholds at once; the test
that is chosen is judged on other runs, exactly (:mod:`quaestor.audit.verdict`).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from quaestor.audit.anytime.bets import log_growth
from quaestor.audit.confidence import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from quaestor.audit.distinguishers import Score
    from quaestor.audit.features import Sample

    Floats = NDArray[np.float64]

__all__ = ["ChosenTest", "NamedScore", "best_bet", "best_test"]

_THRESHOLDS = 400
_LAST = 1e-3  # a claim of epsilon = 0 says least to people, and is passed only if no other is


@dataclass(frozen=True, slots=True)
class NamedScore:
    """A score, the kind of test it belongs to, and what it looks at."""

    kind: str
    looks_at: str
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenTest:
    """A test: "one" where the score is at least the threshold, or at most, for the other world."""

    named: NamedScore
    towards_one: bool
    threshold: float
    epsilon: float
    delta: float
    by_hidden_bit: bool
    promise: float

    def says(self, sample: Sample) -> NDArray[np.bool_]:
        """Which runs the test takes for runs in the world it is for."""
        scores = self.named.score(sample)
        return scores >= self.threshold if self.towards_one else scores <= self.threshold

    def counts(self, sample: Sample) -> Counts:
        """How often the test speaks in the world it is for, and in the other."""
        says = self.says(sample)
        own = sample.hidden == self.towards_one
        return Counts(
            said_in_one=int(np.sum(says & own)),
            runs_in_one=int(np.sum(own)),
            said_in_zero=int(np.sum(says & ~own)),
            runs_in_zero=int(np.sum(~own)),
        )


def best_test(  # noqa: PLR0913  # what a choice depends on
    scores: Iterable[NamedScore],
    sample: Sample,
    points: tuple[tuple[float, float], ...],
    *,
    towards_one: bool,
    missing: float,
    in_turn: bool,
) -> ChosenTest | None:
    """The test that promises most: by how much it passes a claim, or else how near it comes.

    Runs that were played in turn need not be independent: then only the bound by the hidden bit
    is considered.
    """
    reach = NormalDist().inv_cdf(1 - missing)
    own = sample.hidden == towards_one
    if not 0 < np.sum(own) < own.size:
        return None
    best: ChosenTest | None = None
    for named in scores:
        values = named.score(sample) * (1 if towards_one else -1)
        ones, zeros = np.sort(values[own]), np.sort(values[~own])
        thresholds = _thresholds(np.sort(values))
        said_one = ones.size - np.searchsorted(ones, thresholds)
        said_zero = zeros.size - np.searchsorted(zeros, thresholds)
        for epsilon, delta in points:
            by_bit = _by_bit(said_one, said_zero, ones.size, delta, reach)
            ways = [(by_bit, True)]
            if not in_turn:
                low = _wilson(said_one / ones.size, ones.size, -reach) - delta
                high = _wilson(said_zero / zeros.size, zeros.size, reach)
                ways.append((_log(low) - _log(high), False))
            for bounds, is_by_bit in ways:
                promises = _promise(bounds, epsilon)
                place = int(np.argmax(promises))
                if best is None or promises[place] > best.promise:
                    best = ChosenTest(
                        named=named,
                        towards_one=towards_one,
                        threshold=float(thresholds[place]) * (1 if towards_one else -1),
                        epsilon=epsilon,
                        delta=delta,
                        by_hidden_bit=is_by_bit,
                        promise=float(promises[place]),
                    )
    return best


def best_bet(
    scores: Iterable[NamedScore],
    sample: Sample,
    points: tuple[tuple[float, float], ...],
    *,
    towards_one: bool,
) -> ChosenTest | None:
    """The test that would have gained the most in bets against a point of the claim."""
    own = sample.hidden == towards_one
    best: ChosenTest | None = None
    for named in scores:
        values = named.score(sample) * (1 if towards_one else -1)
        thresholds = _thresholds(np.sort(values))
        won = np.sum(own) - np.searchsorted(np.sort(values[own]), thresholds)
        lost = np.sum(~own) - np.searchsorted(np.sort(values[~own]), thresholds)
        for epsilon, delta in points:
            point = np.array([[epsilon], [delta]])
            gains = log_growth(won, lost, own.size - won - lost, point)
            place = int(np.argmax(gains))
            if best is None or gains[place] > best.promise:
                best = ChosenTest(
                    named=named,
                    towards_one=towards_one,
                    threshold=float(thresholds[place]) * (1 if towards_one else -1),
                    epsilon=epsilon,
                    delta=delta,
                    by_hidden_bit=True,
                    promise=float(gains[place]),
                )
    return best


def _thresholds(values: Floats) -> Floats:
    """Some of the values: few from the middle, all of the outermost."""
    from_top = np.unique(np.geomspace(1, values.size, _THRESHOLDS).astype(np.intp))
    evenly = np.linspace(0, values.size - 1, _THRESHOLDS // 4).astype(np.intp)
    return np.unique(values[np.concatenate([values.size - from_top, evenly])])


def _promise(bounds: Floats, epsilon: float) -> Floats:
    if epsilon == 0.0:
        return np.where(bounds > 0, 1 + _LAST * bounds, -1.0)
    return np.where(bounds > epsilon, 1 + bounds - epsilon, bounds / epsilon)


def _by_bit(
    said_one: NDArray[np.intp], said_zero: NDArray[np.intp], runs: int, delta: float, reach: float
) -> Floats:
    failures = runs * delta + (reach + 1) * np.sqrt(runs * delta) + 3 * min(runs * delta, 1.0)
    left = np.maximum(said_one - failures, 0.0)
    share = _wilson(left / np.maximum(left + said_zero, 1), left + said_zero, -reach)
    return _log(share) - _log(1 - share)


def _log(values: Floats) -> Floats:
    return np.log(np.maximum(values, 1e-300))


def _wilson(share: Floats, trials: Floats | int, reach: float) -> Floats:
    """Wilson's bound of a share: lower for a negative reach."""
    n = np.maximum(trials, 1)
    middle = share + reach**2 / (2 * n)
    width = reach * np.sqrt(share * (1 - share) / n + reach**2 / (4 * n**2))
    return np.clip((middle + width) / (1 + reach**2 / n), 0.0, 1.0)
