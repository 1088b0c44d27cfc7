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
    from collections.abc import Iterable, Iterator

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

    def candidates() -> Iterator[ChosenTest]:
        for cuts in _cuts_of(scores, sample, towards_one=towards_one):
            for epsilon, delta in points:
                for bounds, by_hidden_bit in cuts.bounds(delta, reach, in_turn=in_turn):
                    promises = _promise(bounds, epsilon)
                    yield cuts.best(promises, epsilon, delta, by_hidden_bit=by_hidden_bit)

    return max(candidates(), key=lambda test: test.promise, default=None)


def best_bet(
    scores: Iterable[NamedScore],
    sample: Sample,
    points: tuple[tuple[float, float], ...],
    *,
    towards_one: bool,
) -> ChosenTest | None:
    """The test that would have gained the most in bets against a point of the claim."""

    def candidates() -> Iterator[ChosenTest]:
        for cuts in _cuts_of(scores, sample, towards_one=towards_one):
            won, lost = cuts.hits.astype(np.float64), cuts.misses.astype(np.float64)
            for epsilon, delta in points:
                point = np.array([[epsilon], [delta]])
                gains = log_growth(won, lost, sample.hidden.size - won - lost, point)
                yield cuts.best(gains, epsilon, delta, by_hidden_bit=True)

    return max(candidates(), key=lambda test: test.promise, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cuts:
    """A score cut at many thresholds: how often it speaks in its world, and in the other."""

    named: NamedScore
    towards_one: bool
    thresholds: Floats
    hits: NDArray[np.intp]
    misses: NDArray[np.intp]
    ones: int
    zeros: int

    def bounds(self, delta: float, reach: float, *, in_turn: bool) -> Iterator[tuple[Floats, bool]]:
        """Lower bounds on epsilon, and whether they are by the hidden bit."""
        yield _by_bit(self.hits, self.misses, self.ones, delta, reach), True
        if not in_turn:
            low = _wilson(self.hits / self.ones, self.ones, -reach) - delta
            high = _wilson(self.misses / self.zeros, self.zeros, reach)
            yield _log(low) - _log(high), False

    def best(
        self, promises: Floats, epsilon: float, delta: float, *, by_hidden_bit: bool
    ) -> ChosenTest:
        """The test at the threshold that promises most."""
        place = int(np.argmax(promises))
        return ChosenTest(
            named=self.named,
            towards_one=self.towards_one,
            threshold=float(self.thresholds[place]) * (1 if self.towards_one else -1),
            epsilon=epsilon,
            delta=delta,
            by_hidden_bit=by_hidden_bit,
            promise=float(promises[place]),
        )


def _cuts_of(scores: Iterable[NamedScore], sample: Sample, *, towards_one: bool) -> Iterator[_Cuts]:
    own = sample.hidden == towards_one
    for named in scores:
        values = named.score(sample) * (1 if towards_one else -1)
        ones, zeros = np.sort(values[own]), np.sort(values[~own])
        thresholds = _thresholds(np.sort(values))
        yield _Cuts(
            named=named,
            towards_one=towards_one,
            thresholds=thresholds,
            hits=ones.size - np.searchsorted(ones, thresholds),
            misses=zeros.size - np.searchsorted(zeros, thresholds),
            ones=ones.size,
            zeros=zeros.size,
        )


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
