"""Audits: play, learn, choose, judge.

The runs are split into three parts that share nothing: scores are learned on the first, a test is
chosen on the second, in each direction, and judged on the third. Whatever the first two did, the
third is fresh, and its bound is valid; the two directions share what may go wrong equally
(Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.accounting.releases.base import check_count, check_real
from quaestor.audit.adversaries import always
from quaestor.audit.chosen_tests import ChosenTest, NamedScore, best_test
from quaestor.audit.claims import Claim, claim_about
from quaestor.audit.confidence import (
    Counts,
    epsilon_by_intervals,
    epsilon_by_the_hidden_bit,
)
from quaestor.audit.distinguishers import DISTINGUISHERS
from quaestor.audit.features import learned_features, refuse_only_errors
from quaestor.audit.game import Experiment
from quaestor.audit.neighbours.neighbour_search import Search, found_neighbours
from quaestor.audit.report import Finding, MeasuredPoint, Report
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.accounting.compose import Composition
    from quaestor.accounting.releases import Release
    from quaestor.audit.distinguishers import Distinguisher, Score
    from quaestor.audit.features import Sample
    from quaestor.audit.game import Transcripts

__all__ = ["assert_private", "audit", "audit_experiment", "judged"]

_FEWEST_RUNS, _MOST_RUNS = 400, 10**9
_LEARNED, _CHOSEN = 0.2, 0.3  # shares of the runs; the rest is judged
_POINTS = 201


def audit(  # noqa: PLR0913  # what an audit may be told
    target: Any,
    *,
    neighbours: tuple[Any, Any] | Search,
    claim: Release | Composition | Claim | None = None,
    rounds: int = 1,
    runs: int = 100_000,
    confidence: float = 0.999,
    distinguishers: Sequence[Distinguisher] = DISTINGUISHERS,
    seed: int | None = None,
    processes: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Play the composition experiment against a target, and hold the outcome against its claim.

    ``neighbours`` are two databases that differ by one person, or ``audit.search(...)``; ``claim``
    is about all ``rounds`` together. A mechanism of ours knows its claim.

    >>> from quaestor import mechanisms
    >>> told = mechanisms.RandomizedResponse(epsilon=1.0)
    >>> report = audit(told, neighbours=(0, 1), confidence=0.999999)
    >>> report.violated, 0.85 < report.epsilon < 1.0
    (False, True)
    """
    claimed = claim_about(target, claim, rounds)
    pair, notes = found_neighbours(neighbours, target, claimed, rounds)
    report = audit_experiment(
        Experiment(adversary=always(target, pair, rounds=rounds)),
        claim=claimed,
        runs=runs,
        confidence=confidence,
        distinguishers=distinguishers,
        seed=seed,
        processes=processes,
        progress=progress,
    )
    return replace(report, notes=(*notes, *report.notes))


def assert_private(  # noqa: PLR0913  # what an audit may be told
    mechanism: Any,
    *,
    neighbours: tuple[Any, Any] | Search,
    claim: Release | Composition | Claim | None = None,
    rounds: int = 1,
    runs: int = 50_000,
    confidence: float = 0.999999,
) -> None:
    """Fail if the mechanism certainly breaks its claim: for the tests of other projects.

    A sound mechanism fails with probability at most ``1 - confidence``: one test run in a million,
    by default.

    >>> from quaestor import PureDP, mechanisms
    >>> assert_private(
    ...     mechanisms.Geometric(scale=2.0), claim=PureDP(epsilon=0.5), neighbours=(0, 1)
    ... )
    """
    report = audit(
        mechanism,
        neighbours=neighbours,
        claim=claim,
        rounds=rounds,
        runs=runs,
        confidence=confidence,
    )
    if report.violated:
        best = report.best
        raise AssertionError(
            f"{report.verdict}; found by the {best.test} test, which looks at {best.looks_at}"
        )


def audit_experiment(  # noqa: PLR0913  # what an audit may be told
    experiment: Experiment,
    *,
    claim: Release | Composition | Claim | None,
    runs: int = 100_000,
    confidence: float = 0.999,
    distinguishers: Sequence[Distinguisher] = DISTINGUISHERS,
    seed: int | None = None,
    processes: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """The same for any adversary, classic or generalized.

    >>> from quaestor import PureDP
    >>> from quaestor.audit import Experiment, FourPoints, always
    >>> game = Experiment(adversary=always(FourPoints(epsilon=1.0), (0, 1), rounds=2))
    >>> claim = PureDP(epsilon=1.0) * 2
    >>> audit_experiment(game, claim=claim, runs=1000, confidence=0.999999).violated
    False
    """
    claimed = Claim.of(claim)
    check_count("runs", runs, smallest=_FEWEST_RUNS, largest=_MOST_RUNS)
    check_real("confidence", confidence, low=0.5, high=1 - 1e-9)
    played = experiment.run(runs, seed=seed, processes=processes, progress=progress)
    return judged(played, claim=claimed, confidence=confidence, distinguishers=distinguishers)


def judged(
    played: Transcripts,
    *,
    claim: Claim,
    confidence: float = 0.999,
    distinguishers: Sequence[Distinguisher] = DISTINGUISHERS,
) -> Report:
    """What these transcripts say about a claim."""
    missing = (1 - confidence) * (1 - 1e-9) / 2
    runs = len(played)
    refuse_only_errors(played)
    first, second = int(runs * _LEARNED), int(runs * (_LEARNED + _CHOSEN))
    sampled = learned_features(played.part(0, first))
    learning, choosing = sampled(played.part(0, first)), sampled(played.part(first, second))
    fresh = sampled(played.part(second, runs))
    scores = [
        NamedScore(each.name, looks_at, score)
        for each in distinguishers
        for looks_at, score in each.scores(learning)
    ]
    chosen = [
        best_test(
            scores,
            choosing,
            claim.points,
            towards_one=towards_one,
            missing=missing,
            in_turn=played.in_turn,
        )
        for towards_one in (True, False)
    ]
    choices = [choice for choice in chosen if choice is not None]
    if not choices:
        raise InvalidParameter("distinguishers", len(distinguishers), "some that fit the outputs")
    best = max(choices, key=lambda choice: choice.promise)
    return Report(
        claim=claim,
        runs=runs,
        judged=runs - second,
        confidence=confidence,
        findings=tuple(_finding(choice, fresh, missing) for choice in choices),
        curve=() if played.in_turn else _curve(best.named.score, fresh, missing),
        notes=sampled.notes,
    )


def _finding(choice: ChosenTest, fresh: Sample, missing: float) -> Finding:
    counts: Counts = choice.counts(fresh)
    bound = epsilon_by_the_hidden_bit if choice.by_hidden_bit else epsilon_by_intervals
    return Finding(
        test=choice.named.kind,
        looks_at=choice.named.looks_at,
        towards_one=choice.towards_one,
        threshold=choice.threshold,
        delta=choice.delta,
        claimed_epsilon=choice.epsilon,
        epsilon=bound(counts, delta=choice.delta, missing=missing),
        counts=counts,
    )


def _curve(score: Score, fresh: Sample, missing: float) -> tuple[MeasuredPoint, ...]:
    r"""The test at all thresholds, with a band for all at once.

    Dvoretzky, Kiefer, Wolfowitz and Massart: an empirical distribution of n draws is nowhere more
    than :math:`\sqrt{\ln(1/\alpha)/2n}` to one side of the true one, but with probability alpha
    (at most 1/2).
    """
    scores = score(fresh)
    ones, zeros = np.sort(scores[fresh.hidden]), np.sort(scores[~fresh.hidden])
    if not (ones.size and zeros.size):
        return ()
    every = np.unique(scores)
    thresholds = every[np.unique(np.linspace(0, every.size - 1, _POINTS).astype(np.intp))]
    alarms = 1 - np.searchsorted(zeros, thresholds) / zeros.size
    misses = np.searchsorted(ones, thresholds) / ones.size
    more_alarms, more_misses = (
        math.sqrt(-math.log(missing) / (2 * n)) for n in (zeros.size, ones.size)
    )
    return tuple(
        MeasuredPoint(
            false_positive=alarm,
            false_negative=miss,
            most_false_positive=min(alarm + more_alarms, 1.0),
            most_false_negative=min(miss + more_misses, 1.0),
        )
        for alarm, miss in zip(alarms.tolist(), misses.tolist(), strict=True)
    )
