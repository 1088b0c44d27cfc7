"""The papers' adversaries reach what the papers say, and no more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from quaestor import (
    BoundedRange,
    PointPrior,
    PureDP,
    compose,
    compose_nonadaptive,
    hypothesis_bounds,
)
from quaestor.audit import (
    Claim,
    Experiment,
    FourPoints,
    LikelihoodRatio,
    Memberships,
    RangeSeeker,
    always,
    audit_experiment,
)
from quaestor.audit.confidence import proportion_above, proportion_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

SURE = 1 - 1e-6


def reached(adversary: RangeSeeker, runs: int) -> float:
    """A sure lower bound of P1 - e^goal P0 for the test "loss at least the goal"."""
    played = Experiment(adversary=adversary).run(runs, seed=11)
    says = adversary.loss(played.rounds) >= adversary.goal - 1e-9
    ones, zeros = says[played.hidden], says[~played.hidden]
    often = proportion_above(int(ones.sum()), ones.size, confidence=SURE)
    seldom = proportion_below(int(zeros.sum()), zeros.size, confidence=SURE)
    return often - math.exp(adversary.goal) * seldom


def test_the_adaptive_adversary_of_two_rounds_is_the_exact_optimum() -> None:
    """Exact by hand for k = 2, epsilon = 1: 0.303365... at 0."""
    adversary = RangeSeeker(epsilon=1.0, rounds=2, goal=0.0, cells=64)
    assert 0.30335 < adversary.delta() <= 0.3033654964831823


@pytest.mark.parametrize(("rounds", "goal"), [(2, 0.0), (3, 0.5), (4, 1.0), (6, 2.0)])
def test_it_stays_below_the_accountants_adaptive_optimum(rounds: int, goal: float) -> None:
    adversary = RangeSeeker(epsilon=1.0, rounds=rounds, goal=goal)
    bounds = compose(BoundedRange(epsilon=1.0) * rounds).delta_bounds(epsilon=adversary.goal)
    assert adversary.delta() <= bounds.upper * (1 + 1e-9)
    assert adversary.delta() >= bounds.lower * 0.99


def test_who_does_not_adapt_stays_below_the_non_adaptive_optimum() -> None:
    optimum = compose_nonadaptive(BoundedRange(epsilon=1.0) * 4).delta_bounds(epsilon=1.0)
    fixed = [RangeSeeker(epsilon=1.0, rounds=4, goal=1.0, fixed=t).delta() for t in range(33)]
    assert 0.99 * optimum.lower < max(fixed) <= optimum.upper * (1 + 1e-9)
    assert RangeSeeker(epsilon=1.0, rounds=4, goal=1.0).delta() > optimum.upper


def test_played_the_adaptive_adversary_passes_what_non_adaptive_composition_allows() -> None:
    adversary = RangeSeeker(epsilon=1.0, rounds=2, goal=0.0, cells=64)
    found = reached(adversary, 500_000)
    assert found > compose_nonadaptive(BoundedRange(epsilon=1.0) * 2).delta(epsilon=0.0)
    assert found <= compose(BoundedRange(epsilon=1.0) * 2).delta(epsilon=0.0)


def told_loss(rounds: tuple[NDArray[np.int64], ...]) -> NDArray[np.float64]:
    """The likelihood ratio of four points with epsilon = 0.4 each."""
    loss: NDArray[np.float64] = 0.4 * (2.0 * np.stack(rounds).sum(axis=0) - 3 * len(rounds))
    return loss


def test_the_optimal_non_adaptive_adversary_comes_near_the_optimal_composition() -> None:
    game = Experiment(adversary=always(FourPoints(epsilon=0.4), (0, 1), rounds=5))
    claim = Claim.of(compose(PureDP(epsilon=0.4) * 5))
    report = audit_experiment(
        game,
        claim=claim,
        runs=400_000,
        confidence=SURE,
        distinguishers=[LikelihoodRatio(told_loss)],  # type: ignore[arg-type]
    )
    assert not report.violated
    assert report.best.epsilon > 0.85 * report.best.claimed_epsilon


def test_memberships_stay_below_what_the_accountant_says_of_them() -> None:
    """The mixture for which the paper's formula is unsound; k = 2, epsilon = 3."""
    worlds = Memberships(
        null=(((0, 1), 0.75), ((1, 0), 0.25)), alternative=(((0, 1), 0.75), ((0, 0), 0.25))
    )
    game = Experiment(adversary=always(FourPoints(epsilon=3.0), (0, 1), rounds=2), worlds=worlds)
    exact = 2.86820242966482529559
    report = audit_experiment(
        game, claim=PureDP(epsilon=exact + 1e-9), runs=200_000, confidence=SURE
    )
    assert not report.violated
    assert report.epsilon > 1.75291195309956594211 + 0.5  # the formula's


def test_agreeing_coordinates_tell_nothing() -> None:
    """Two point memberships that differ in one of three rounds: one round's epsilon."""
    worlds = Memberships(null=(((1, 0, 1), 1.0),), alternative=(((1, 1, 1), 1.0),))
    game = Experiment(adversary=always(FourPoints(epsilon=1.0), (0, 1), rounds=3), worlds=worlds)
    known = hypothesis_bounds(
        {name: [PureDP(epsilon=1.0)] for name in "abc"},
        null=PointPrior(["a", "c"]),
        alternative=PointPrior(["a", "b", "c"]),
    )
    claim = Claim.of(epsilon=known.epsilon(delta=0.0), delta=0.0)
    report = audit_experiment(game, claim=claim, runs=100_000, confidence=SURE)
    assert not report.violated
    assert report.epsilon > 0.9
