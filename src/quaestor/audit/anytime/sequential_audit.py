"""Audits that stop as soon as the claim is refuted: play a little, learn, bet, look, play on.

The runs come in blocks. Before each block, everything played so far teaches which outputs to bet
on and how much; the block then wins or loses the bets, and becomes part of what teaches. As no bet
depends on the runs that decide it, the proof of :mod:`quaestor.audit.anytime.bets` holds, and the
audit may stop at any time: a mechanism that is far from its claim falls within hundreds of runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.accounting.releases.base import check_count, check_real
from quaestor.audit.adversaries import always
from quaestor.audit.anytime.bets import Stakes, Tally, best_stakes
from quaestor.audit.anytime.sequential_report import SequentialReport
from quaestor.audit.chosen_tests import NamedScore, best_bet, best_test
from quaestor.audit.claims import Claim, claim_about
from quaestor.audit.distinguishers import DISTINGUISHERS
from quaestor.audit.features import learned_features, refuse_only_errors
from quaestor.audit.game import Experiment, Transcripts, joined
from quaestor.audit.neighbours.neighbour_search import Search, found_neighbours
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from quaestor.accounting.compose import Composition
    from quaestor.accounting.releases import Release
    from quaestor.audit.chosen_tests import ChosenTest
    from quaestor.audit.distinguishers import Distinguisher
    from quaestor.audit.features import Features, Sample

    Floats = NDArray[np.float64]

__all__ = ["audit_sequentially", "sequential_experiment"]

_FIRST = 40  # runs before the first bet
_ENOUGH = 400  # runs that are all errors: the target is called wrongly
_BLOCK = 0.125  # of the runs so far: the next look
_REFIT = 1.3  # times as many runs as when bets were last thought over
_LARGEST_BLOCK = 2**15
_MOST_TEACHING = 40_000
_TEACHING = 0.4  # of what was played; the rest says which bet is best
_LATTICE = 60
_SURE_GAIN = 2.0  # nats that a bet would have gained, or it is not laid
_FOR_THE_CLAIM = 0.75  # of what may go wrong; the rest is for the bounds
_ROUNDING = 1e-6
_FEW = 1e-3  # how sure a test must look to be bet on for the sake of the bounds


def audit_sequentially(  # noqa: PLR0913  # what an audit may be told
    target: Any,
    *,
    neighbours: tuple[Any, Any] | Search,
    claim: Release | Composition | Claim | None = None,
    rounds: int = 1,
    runs: int = 50_000,
    confidence: float = 0.999,
    distinguishers: Sequence[Distinguisher] = DISTINGUISHERS,
    seed: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> SequentialReport:
    r"""Play until the claim is refuted, or ``runs`` times.

    The chance that a target that keeps its claim is accused, at any time of the audit, is at most
    ``1 - confidence``; so is the chance that the lower bound is too large.

    Theorem:
        Ville's inequality for the product of the bets, which is a nonnegative supermartingale if
        the claim is true (the proof is in :mod:`quaestor.audit.anytime.bets`). Three quarters of
        :math:`\alpha = 1 - confidence` are for the claim as a whole, one quarter for the lower
        bounds, in equal shares for each delta of the claim.

    >>> from quaestor import PureDP
    >>> coins = np.random.default_rng()
    >>> report = audit_sequentially(
    ...     lambda value: value + round(coins.laplace(scale=0.25)),
    ...     neighbours=(0, 1),
    ...     claim=PureDP(epsilon=1.0),
    ... )
    >>> report.violated, report.runs < 10_000
    (True, True)
    """
    claimed = claim_about(target, claim, rounds)
    pair, notes = found_neighbours(neighbours, target, claimed, rounds)
    report = sequential_experiment(
        Experiment(adversary=always(target, pair, rounds=rounds)),
        claim=claimed,
        runs=runs,
        confidence=confidence,
        distinguishers=distinguishers,
        seed=seed,
        progress=progress,
    )
    return replace(report, notes=(*notes, *report.notes))


def sequential_experiment(  # noqa: PLR0913  # what an audit may be told
    experiment: Experiment,
    *,
    claim: Release | Composition | Claim | None,
    runs: int = 50_000,
    confidence: float = 0.999,
    distinguishers: Sequence[Distinguisher] = DISTINGUISHERS,
    seed: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> SequentialReport:
    """The same for any adversary, classic or generalized.

    >>> from quaestor import PureDP
    >>> from quaestor.audit import Experiment, FourPoints, always
    >>> game = Experiment(adversary=always(FourPoints(epsilon=3.0), (0, 1)))
    >>> sequential_experiment(game, claim=PureDP(epsilon=1.0)).violated
    True
    """
    check_count("runs", runs, smallest=_FIRST, largest=10**9)
    check_real("confidence", confidence, low=0.5, high=1 - 1e-9)
    if not distinguishers:
        raise InvalidParameter("distinguishers", 0, "at least one")
    hypotheses = _Hypotheses.of(Claim.of(claim), 1 - confidence)
    gambler = _Gambler(hypotheses, tuple(distinguishers))
    seeds = np.random.SeedSequence(seed)
    path: list[tuple[int, float]] = []
    while gambler.played < runs and not gambler.refuted:
        block = max(_FIRST, int(gambler.played * _BLOCK)) if gambler.played else _FIRST
        block = min(block, _LARGEST_BLOCK, runs - gambler.played)
        gambler.look(experiment.play(block, seeds.spawn(1)[0]))
        path.append((gambler.played, float(gambler.owned[0])))
        if progress is not None:
            progress(block)
    return gambler.report(confidence, tuple(path))


@dataclass(frozen=True, slots=True)
class _Hypotheses:
    """The claim itself, first, and lattices of epsilons, one for each delta.

    ``goals`` are the logarithms that what is owned must reach.
    """

    claim: Claim
    points: Floats
    goals: Floats

    @classmethod
    def of(cls, claim: Claim, missing: float) -> _Hypotheses:
        deltas = {delta: epsilon for epsilon, delta in reversed(claim.points)}
        lattices = [_lattice(epsilon, delta) for delta, epsilon in deltas.items()]
        points = np.concatenate([np.array([claim.points[0]]).T, *lattices], axis=1)
        share = (1 - _FOR_THE_CLAIM) * missing / len(deltas)
        goals = np.full(points.shape[1], -math.log(share) + _ROUNDING)
        goals[0] = -math.log(_FOR_THE_CLAIM * missing) + _ROUNDING
        return cls(claim, points, goals)

    def bounds(self, most: Floats) -> list[tuple[float, float]]:
        """For each delta the largest epsilon up to which all were refuted."""
        found: dict[float, float] = {}
        for delta in dict.fromkeys(self.points[1, 1:].tolist()):
            places = np.flatnonzero(self.points[1, 1:] == delta) + 1
            stands = most[places] < self.goals[places]
            first = int(np.argmax(stands)) if stands.any() else len(places)
            found[delta] = float(self.points[0, places[first - 1]]) if first else 0.0
        return [(epsilon, delta) for delta, epsilon in found.items()]


def _lattice(epsilon: float, delta: float) -> Floats:
    """Epsilons from 0 to the claimed one, and some beyond."""
    below = np.linspace(0.0, epsilon, _LATTICE + 1) if epsilon > 0 else np.zeros(1)
    above = epsilon + np.geomspace(0.01, 10.0, _LATTICE) * max(epsilon, 0.1)
    epsilons = np.concatenate([below, above])
    return np.stack([epsilons, np.full(epsilons.size, delta)])


@dataclass(slots=True)
class _Gambler:
    """Who remembers what was played, bets, and counts what is owned."""

    hypotheses: _Hypotheses
    distinguishers: tuple[Distinguisher, ...]
    parts: list[Transcripts] = field(default_factory=list)
    played: int = 0
    thought_at: int = 0
    bet: _Bet | None = None
    owned: Floats = field(init=False)
    most: Floats = field(init=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.owned = np.zeros(self.hypotheses.points.shape[1])
        self.most = self.owned.copy()

    @property
    def refuted(self) -> bool:
        """Whether the claim as a whole is."""
        return bool(self.most[0] >= self.hypotheses.goals[0])

    def look(self, block: Transcripts) -> None:
        """Settle the bets with a block, and think over the next ones if it is time."""
        if self.bet is not None:
            self.owned = self.owned + self.bet.gained(block)
            self.most = np.maximum(self.most, self.owned)
        self.parts.append(block)
        self.played += len(block)
        if self.played >= self.thought_at * _REFIT:
            self.thought_at = self.played
            self._think()

    def _think(self) -> None:
        past = joined(self.parts)
        self.parts = [past]
        teaching = min(int(len(past) * _TEACHING), _MOST_TEACHING)
        if self.played >= _ENOUGH:
            refuse_only_errors(past)
        sampled = learned_features(past.part(0, teaching))
        learning = sampled(past.part(0, teaching))
        choosing = sampled(past.part(teaching, min(len(past), 3 * _MOST_TEACHING)))
        scores = [
            NamedScore(each.name, looks_at, score)
            for each in self.distinguishers
            for looks_at, score in each.scores(learning)
        ]
        self.notes = sampled.notes
        self.bet = _Bet.thought_over(self.hypotheses, scores, sampled, choosing)

    def report(self, confidence: float, path: tuple[tuple[int, float], ...]) -> SequentialReport:
        """What was found when it stopped."""
        points = self.hypotheses.claim.points
        claimed = {delta: epsilon for epsilon, delta in reversed(points)}
        bounds = self.hypotheses.bounds(self.most)
        epsilon, delta = max(bounds, key=lambda point: point[0] / max(claimed[point[1]], 1e-9))
        if self.refuted and len(points) == 1:
            epsilon = max(epsilon, points[0][0])
        tests = () if self.bet is None else tuple(each for each in self.bet.tests if each)
        best = max(tests, key=lambda test: test.promise, default=None)
        return SequentialReport(
            claim=self.hypotheses.claim,
            runs=self.played,
            confidence=confidence,
            violated=self.refuted,
            epsilon=epsilon,
            delta=delta,
            claimed_epsilon=claimed[delta],
            evidence=math.exp(min(float(self.most[0]), 700.0)),
            test=best.named.kind if best else "",
            looks_at=best.named.looks_at if best else "",
            path=path,
            notes=self.notes,
        )


@dataclass(frozen=True, slots=True)
class _Bet:
    """Two sets of outputs, one for each world, and the stakes against every hypothesis."""

    sampled: Features
    tests: tuple[ChosenTest | None, ChosenTest | None]
    stakes: Stakes

    @classmethod
    def thought_over(
        cls,
        hypotheses: _Hypotheses,
        scores: list[NamedScore],
        sampled: Features,
        choosing: Sample,
    ) -> _Bet | None:
        points = hypotheses.claim.points
        tests = (
            _chosen(scores, choosing, points, towards_one=True),
            _chosen(scores, choosing, points, towards_one=False),
        )
        if tests[0] is None and tests[1] is None:
            return None
        tally = _tally(tests, choosing)
        places = [hypotheses.points.copy(), hypotheses.points.copy()]
        for test, place in zip(tests, places, strict=True):
            if test is not None:
                place[:, 0] = test.epsilon, test.delta
        stakes = best_stakes(tally, *places)
        logs = np.where(stakes.gained(tally) > _SURE_GAIN, stakes.logs, 0.0)
        return cls(sampled, tests, Stakes(logs))

    def gained(self, block: Transcripts) -> Floats:
        """What the bets bring in a block, against each hypothesis."""
        return self.stakes.gained(_tally(self.tests, self.sampled(block)))


def _chosen(
    scores: list[NamedScore],
    choosing: Sample,
    points: tuple[tuple[float, float], ...],
    *,
    towards_one: bool,
) -> ChosenTest | None:
    bet = best_bet(scores, choosing, points, towards_one=towards_one)
    if bet is not None and bet.promise > _SURE_GAIN:
        return bet
    return best_test(scores, choosing, points, towards_one=towards_one, missing=_FEW, in_turn=True)


def _tally(tests: tuple[ChosenTest | None, ChosenTest | None], sample: Sample) -> Tally:
    nobody = np.zeros(len(sample.hidden), np.bool_)
    sets = [nobody if test is None else test.says(sample) for test in tests]
    return Tally.of(sets[0], sets[1], sample.hidden)
