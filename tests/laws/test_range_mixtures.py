"""Bounded range beside other releases, and ranges that differ: both ends, held against oracles."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from quaestor import (
    ApproxDP,
    BoundedRange,
    Gaussian,
    Geometric,
    Laplace,
    PoissonSampled,
    PureDP,
    compose,
    compose_nonadaptive,
)
from quaestor.accounting.loss.engine.loss_profile import LossProfile
from quaestor.accounting.ranges.adaptive_curves import Above
from quaestor.accounting.ranges.adaptive_step import StepAbove
from quaestor.accounting.ranges.attained_tests import AttainedTests, sides_of
from quaestor.accounting.ranges.convex_curve import GameCurve
from quaestor.accounting.ranges.uneven_step import UnevenAbove
from quaestor.accounting.theorems.range_laws import attained_loss
from tests.oracles import range_game as oracle
from tests.oracles.adaptive_range import random_strategy_delta

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

ROUNDING = 1e-11  # of the oracles, which compute in floats


def random_range(rng: Random) -> float:
    return math.exp(rng.uniform(math.log(0.02), math.log(5)))


def uneven_sizes(ranges: list[float], cells: int) -> tuple[tuple[Fraction, ...], Fraction]:
    cell = Fraction(max(ranges)) / cells
    return tuple(Fraction(each) / cell for each in ranges), cell


# ------------------------------------------------------------------ tables with uneven ranges


@pytest.mark.parametrize("seed", range(12))
def test_uneven_tables_are_around_the_optimum_of_two(seed: int) -> None:
    rng = Random(seed)
    ranges = [random_range(rng), random_range(rng)]
    sizes, cell = uneven_sizes(ranges, rng.choice([3, 8, 24]))
    above = Above(sizes, (1, 1), cell, sum(ranges))
    tests = AttainedTests(sizes, (1, 1), cell, sum(ranges)).tests
    for _ in range(3):
        node = rng.randrange(len(above.heights))
        at = float(cell * node)
        truth = oracle.two_ranges_delta(ranges=ranges, at=at)
        assert truth * (1 - ROUNDING) <= above.heights[node]
        p, s = tests[:, node]
        assert p - s <= truth * (1 + ROUNDING) + 1e-14
        elsewhere = rng.uniform(-1, 1) * sum(ranges)  # a test of one node is one of all places
        truth = oracle.two_ranges_delta(ranges=ranges, at=elsewhere)
        assert p - s * math.exp(elsewhere - at) <= truth * (1 + ROUNDING) + 1e-14


@pytest.mark.parametrize("seed", range(12))
def test_no_random_strategy_beats_an_uneven_table(seed: int) -> None:
    rng = Random(seed)
    ranges = [random_range(rng) for _ in range(rng.choice([2, 3, 4]))]
    sizes, cell = uneven_sizes(ranges, rng.choice([3, 8, 24]))
    above = Above(sizes, (1,) * len(ranges), cell, sum(ranges))
    for _ in range(20):
        at = rng.uniform(0, 0.9) * sum(ranges)
        attained = random_strategy_delta(ranges=ranges, at=at, rng=rng)
        assert attained * (1 - ROUNDING) <= above.at(at)


@pytest.mark.parametrize("seed", range(12))
def test_a_whole_number_of_cells_is_no_special_case(seed: int) -> None:
    """A step that is a hair more than a whole number bounds as much, and hardly more."""
    rng = Random(seed)
    cell, size = Fraction(random_range(rng)) / 16, rng.choice([1, 5, 16])
    top = size + rng.randrange(1, 10)
    curve = StepAbove(cell, size).first
    even = StepAbove.finished(StepAbove(cell, size).heights(curve, top, 0.0))
    uneven = StepAbove.finished(
        UnevenAbove(cell, size + Fraction(1, 10**9)).heights(curve, top, 0.0)
    )
    assert bool(np.all(even <= uneven * (1 + 1e-6) + 1e-15))
    below = UnevenAbove(cell, size - Fraction(1, 10**9)).heights(curve, top, 0.0)
    assert bool(np.all(below >= even * (1 - 1e-6) - 1e-9))


# ------------------------------------------------------------------ hulls of tests


@pytest.mark.parametrize("seed", range(12))
def test_the_pair_of_attained_tests_is_never_above_the_optimum(seed: int) -> None:
    rng = Random(seed)
    ranges = [random_range(rng), random_range(rng)]
    sizes, cell = uneven_sizes(ranges, rng.choice([4, 16, 48]))
    sides = AttainedTests(sizes, (1, 1), cell, sum(ranges) * rng.choice([0.6, 1.0])).sides()
    assert sides is not None
    losses = sides.first - sides.second
    assert all(left > right > 0.0 for left, right in pairwise(losses.tolist()))
    total = np.exp(sides.first).sum() + np.exp(sides.second).sum() + sides.rest
    assert math.isclose(total, 1.0, rel_tol=1e-9)
    profile = LossProfile([(attained_loss(sides), 1)])
    for _ in range(4):
        at = rng.uniform(0, 1) * sum(ranges)
        truth = oracle.two_ranges_delta(ranges=ranges, at=at)
        assert profile.delta_bounds(epsilon=at).lower <= truth * (1 + ROUNDING)


@pytest.mark.parametrize("seed", range(12))
def test_tests_inside_of_the_hull_add_nothing(seed: int) -> None:
    """A hull that kept them in another order than along its sides would be above all tests."""
    rng = np.random.default_rng(seed)
    tests = AttainedTests((8,), (4,), Fraction(1, 10), 3.2).tests
    worse = tests.copy()
    worse[0] *= 1 - rng.random(worse.shape[1]) * 0.3
    worse[:, worse[0] <= worse[1]] = 0.0
    sides = sides_of(worse, 0.1)
    assert sides is not None
    first, second = np.exp(sides.first), np.exp(sides.second)
    for at in rng.uniform(0, 3.2, 20):
        lines = worse[0] - worse[1] * np.exp(at - 0.1 * np.arange(worse.shape[1]))
        best = max(float(lines.max()), 0.0)
        assert np.clip(first - math.exp(at) * second, 0, None).sum() <= best * (1 + 1e-9) + 1e-15


def test_fewer_nodes_do_not_end_before_the_curve() -> None:
    curve = GameCurve(cell=Fraction(1), heights=np.array([0.5, 0.3, 0.1, 0.0]))
    assert curve.every(2).heights.tolist() == [0.5, 0.1, 0.0]
    assert curve.every(3).heights.tolist() == [0.5, 0.0]
    assert curve.every(5).heights.tolist() == [0.5, 0.0]


# ------------------------------------------------------------------ whole answers


@pytest.mark.parametrize("seed", range(8))
def test_ranges_beside_responses_contain_the_optimum(seed: int) -> None:
    rng = Random(seed)
    ranges = [random_range(rng) for _ in range(rng.choice([1, 2, 2]))]
    responses = [rng.uniform(0.05, 1.5) for _ in range(rng.choice([1, 2, 3]))]
    spent = compose(
        *(BoundedRange(epsilon=each) for each in ranges), *(PureDP(epsilon=e) for e in responses)
    )
    at = rng.uniform(0, 0.9) * (sum(ranges) + sum(responses))
    truth = oracle.delta_after_responses(ranges=ranges, responses=responses, at=at)
    found = spent.delta_bounds(epsilon=at)
    assert found.lower <= truth * (1 + ROUNDING)
    assert truth * (1 - ROUNDING) <= found.upper
    epsilons = spent.epsilon_bounds(delta=truth)
    assert epsilons.lower <= at * (1 + 1e-9)
    assert at * (1 - 1e-9) <= epsilons.upper
    assert epsilons.relative_width < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_what_interleaved_analysts_come_near_to(seed: int) -> None:
    """The oracle itself: nobody exceeds it, in any order; few choices come close."""
    rng = Random(seed)
    ranges, responses = (rng.uniform(0.2, 1), rng.uniform(0.2, 1)), (rng.uniform(0.2, 1),)
    at = rng.uniform(0, 0.6) * (sum(ranges) + sum(responses))
    truth = oracle.delta_after_responses(ranges=ranges, responses=responses, at=at)
    attained = oracle.attained_delta(ranges=ranges, responses=responses, at=at, choices=24)
    assert 0.98 * truth < attained <= truth * (1 + ROUNDING)


@pytest.mark.parametrize(("ranges", "nodes"), [((0.5,), 4001), ((3.0,), 4001), ((0.4, 0.7), 161)])
@pytest.mark.parametrize("sigma", [0.8])
def test_ranges_beside_a_gaussian_contain_the_optimum(
    ranges: tuple[float, ...], nodes: int, sigma: float
) -> None:
    spent = compose(*(BoundedRange(epsilon=each) for each in ranges), Gaussian(sigma=sigma))
    for at in (0.3, 1.5):
        truth = oracle.delta_after_gaussian(ranges=ranges, sigma=sigma, at=at, nodes=nodes)
        found = spent.delta_bounds(epsilon=at)
        error = 1e-5 if nodes < 1000 else 1e-6  # of the rule: four times the nodes differ by less
        assert found.lower <= truth * (1 + error)
        assert truth * (1 - error) <= found.upper


@pytest.mark.parametrize(("range_", "sigma"), [(0.5, 2.0), (2.0, 1.0)])
def test_an_analyst_who_does_not_adapt_is_not_charged_as_one_who_does(
    range_: float, sigma: float
) -> None:
    """The attack: a lower end from adaptive play would be false where queries are fixed."""
    releases = BoundedRange(epsilon=range_), Gaussian(sigma=sigma)
    for at in (1.0, 2.0):
        fixed = oracle.best_fixed_delta(range_=range_, sigma=sigma, at=at, choices=2000)
        found = compose_nonadaptive(*releases).delta_bounds(epsilon=at)
        assert found.lower <= fixed * (1 + 1e-5)
        assert fixed <= found.upper
        assert compose(*releases).delta_bounds(epsilon=at).lower > fixed * (1 + 1e-3)


OTHERS: dict[str, Release] = {
    "Gaussian": Gaussian(sigma=2.0),
    "Laplace": Laplace(scale=2.0),
    "geometric": Geometric(scale=2.0),
    "black box": ApproxDP(epsilon=0.5, delta=1e-8),
    "sampled": PoissonSampled(release=Gaussian(sigma=1.0), rate=0.01) * 1000,
}


@pytest.mark.parametrize("other", [name for name in OTHERS if name != "Laplace"])
@pytest.mark.parametrize(("count", "range_"), [(1, 0.5), (3, 0.5), (20, 5.0)])
def test_equal_ranges_beside_one_other_release_are_within_a_thousandth(
    other: str, count: int, range_: float
) -> None:
    found = compose(BoundedRange(epsilon=range_) * count, OTHERS[other]).epsilon_bounds(delta=1e-6)
    assert found.relative_width <= 1e-3


@pytest.mark.parametrize(
    ("ranges", "count"),
    [
        ([0.0523, 0.0817, 0.213, 0.346, 0.611], 1),
        ([0.1 * i for i in range(1, 13)], 1),
        ([0.05 + 0.01 * i for i in range(12)], 6),
        ([0.1, 0.4, 0.7], 20),
    ],
    ids=["five irregular", "a dozen", "six of each of a dozen", "twenty of each of three"],
)
def test_different_ranges_beside_a_gaussian_are_within_a_hundredth(
    ranges: list[float], count: int
) -> None:
    releases = [BoundedRange(epsilon=each) * count for each in ranges]
    found = compose(*releases, Gaussian(sigma=3.0)).epsilon_bounds(delta=1e-6)
    assert found.relative_width <= 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(400))
def test_ranges_beside_responses_contain_the_optimum_far_and_wide(seed: int) -> None:
    rng = Random(5000 + seed)
    ranges = [
        math.exp(rng.uniform(math.log(1e-4), math.log(15))) for _ in range(rng.choice([1, 2]))
    ]
    responses = [math.exp(rng.uniform(math.log(1e-3), math.log(4))) for _ in range(2)]
    spent = compose(
        *(BoundedRange(epsilon=each) for each in ranges), *(PureDP(epsilon=e) for e in responses)
    )
    at = rng.uniform(0, 0.95) * (sum(ranges) + sum(responses))
    truth = oracle.delta_after_responses(ranges=ranges, responses=responses, at=at)
    found = spent.delta_bounds(epsilon=at)
    assert found.lower <= truth * (1 + ROUNDING) + 1e-15
    assert truth * (1 - ROUNDING) - 1e-15 <= found.upper


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_a_dozen_irregular_ranges_beside_others_are_within_two_hundredths(seed: int) -> None:
    rng = Random(seed)
    kinds = rng.randint(2, 12)
    releases = [BoundedRange(epsilon=random_range(rng)) * rng.randint(1, 2) for _ in range(kinds)]
    other = OTHERS[rng.choice(list(OTHERS))]
    found = compose(*releases, other).epsilon_bounds(delta=10 ** rng.uniform(-10, -2))
    assert found.relative_width <= 2e-2  # 1 % but for blocks of which only one is played last
