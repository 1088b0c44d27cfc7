"""Bounded range at the size that is deployed, and beside other releases: never below the truth."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from quaestor import BoundedRange, Gaussian, Laplace, PureDP, compose, compose_nonadaptive
from quaestor.accounting.loss.engine.loss_profile import LossProfile
from quaestor.accounting.ranges import AdaptiveRange
from quaestor.accounting.ranges.adaptive_curves import Below
from quaestor.accounting.ranges.convex_curve import ConvexCurve, GameCurve
from quaestor.accounting.ranges.non_adaptive import NonAdaptiveRange
from quaestor.accounting.ranges.steady_steps import SteadySteps, last_releases, steady_steps
from quaestor.accounting.releases.range_moments import log_moment
from quaestor.accounting.theorems import ranges_in_blocks
from quaestor.accounting.theorems.range_blocks import Size
from quaestor.accounting.theorems.range_laws import curve_loss, fixed_choice, three_values
from quaestor.errors import TheoremDoesNotApply
from tests.oracles.range_game import attained_delta


def steady(range_: float, base: int, cells: int) -> SteadySteps | None:
    reach = range_ * base
    curve = last_releases(range_, base, cells=cells, reach=reach)
    return steady_steps(curve, cells, order=1.0, least=1e-9)


def profile_of(steps: SteadySteps, further: int) -> LossProfile:
    heights = steps.base.at_every_node(int(steps.base.nodes[-1]))
    stride = steps.jump // 2
    start = curve_loss(GameCurve(cell=steps.base.cell, heights=heights).every(stride))
    assert start is not None
    law = three_values(float(steps.base.cell * stride), 2, steps.chance)
    return LossProfile([(start, 1), (law, further)])


# ------------------------------------------------------------------ steady steps


@pytest.mark.parametrize("seed", range(12))
def test_steady_steps_are_never_below_the_game(seed: int) -> None:
    """Bases that are far too short for the steps to be tight are as true as any."""
    rng = Random(seed)
    range_ = math.exp(rng.uniform(math.log(1e-3), math.log(2.5)))
    base, further, cells = rng.choice([2, 3, 5, 9, 20]), rng.randint(1, 12), rng.choice([4, 8, 16])
    steps = steady(range_, base, cells)
    if steps is None:
        return
    upper = profile_of(steps, further)
    game = Below((12,), (base + further,), Fraction(range_) / 12, range_ * (base + further))
    for _ in range(6):
        at = rng.uniform(0, 0.7) * range_ * (base + further)
        most = upper.delta_bounds(epsilon=at).upper + further * steps.leak
        assert game.at(at) <= most
        fixed = NonAdaptiveRange(count=base + further, epsilon=range_)
        assert fixed.delta_bounds(epsilon=at).lower <= most


def test_a_chance_that_is_a_little_smaller_is_refuted() -> None:
    """What the condition asks for is needed: with three hundredths less, the end is below."""
    steps = steady(0.1, 60, 16)
    assert steps is not None
    fixed = NonAdaptiveRange(count=1060, epsilon=0.1).delta_bounds(epsilon=8.0)
    for chance, is_true in ((steps.chance, True), (steps.chance * 0.97, False)):
        tried = SteadySteps(base=steps.base, jump=steps.jump, chance=chance, leak=steps.leak)
        upper = profile_of(tried, 1000).delta_bounds(epsilon=8.0).upper
        assert (fixed.lower <= upper) is is_true


def test_longer_bases_add_less_in_vain() -> None:
    costs = []
    for base in (10, 40, 160):
        steps = steady(0.1, base, 16)
        assert steps is not None
        jump = float(steps.base.cell) * steps.jump
        costs.append(steps.chance * jump * jump * (1 + math.exp(-jump)) / (0.1**2 / 4))
    assert costs[0] > costs[1] > costs[2] > 1.0
    assert costs[2] < 1.003


# ------------------------------------------------------------------ curves as pairs of worlds


@pytest.mark.parametrize("seed", range(20))
def test_the_pair_of_a_curve_has_at_least_its_profile(seed: int) -> None:
    rng = Random(seed)
    range_ = math.exp(rng.uniform(math.log(1e-3), math.log(3)))
    count, cells = rng.randint(2, 12), rng.choice([2, 5, 12])
    reach = range_ * count * rng.choice([0.4, 1.0])
    curve = last_releases(range_, count, cells=cells, reach=reach)
    if rng.random() < 0.5:
        curve = curve.finer(4)
    curve = curve.every(rng.choice([1, 2, 3]))
    law = curve_loss(curve)
    assert law is not None
    profile = LossProfile([(law, 1)])
    below = Below((cells,), (count,), Fraction(range_) / cells, range_ * count)
    for _ in range(8):
        at = rng.uniform(0, 1) * range_ * count
        assert below.at(at) <= profile.delta_bounds(epsilon=at).upper


@pytest.mark.parametrize("seed", range(20))
def test_heights_that_stick_out_are_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    curve = last_releases(0.2, 10, cells=8, reach=2.0)
    bumps = 1 + rng.random(len(curve.heights)) * rng.choice([1e-15, 1e-9, 1e-3])
    convex = ConvexCurve.at_least(GameCurve(cell=curve.cell, heights=curve.heights * bumps))
    assert convex is not None
    assert bool(np.all(convex.masses > 0.0))
    at_nodes = convex.at_every_node(len(curve.heights) - 1)
    truth = Below((64,), (10,), Fraction(0.2) / 64, 2.0)
    for node, height in enumerate(at_nodes.tolist()):
        assert truth.at(node * 0.025) <= height * (1 + 1e-12)
    slopes = np.diff(convex.heights) / np.diff(np.exp(0.025 * convex.nodes))
    assert all(left <= right * (1 - 1e-9) + 1e-12 for left, right in pairwise(slopes.tolist()))


# ------------------------------------------------------------------ the whole


@pytest.mark.parametrize("seed", range(40))
def test_a_fixed_choice_has_its_range_and_the_largest_moment(seed: int) -> None:
    rng = Random(seed)
    range_ = math.exp(rng.uniform(math.log(1e-6), math.log(20)))
    order = math.exp(rng.uniform(math.log(1e-3), math.log(1e3)))
    law = fixed_choice(range_, order)
    low, high = law.losses.tolist()
    assert low < 0.0 < high
    assert high - low <= range_ * (1 + 1e-15)
    for world in (law.log_first, law.log_second):
        assert math.isclose(np.exp(world).sum(), 1.0, rel_tol=1e-12)
    moment = float(law.rough_log_moments(np.array([order]))[0])
    largest = log_moment(order=order, epsilon=range_)
    assert moment <= largest * (1 + 1e-9) + 1e-14
    if range_ * 1e-5 < high < range_ * (1 - 1e-5):
        assert moment >= largest * (1 - 1e-5) - 1e-14


@pytest.mark.parametrize("seed", range(10))
def test_no_order_and_no_choice_beats_the_upper_end(seed: int) -> None:
    rng = Random(seed)
    ranges = tuple(rng.choice([0.1, 0.3, 0.7]) for _ in range(rng.choice([2, 3])))
    responses = tuple(rng.choice([0.2, 0.5]) for _ in range(rng.choice([1, 2])))
    releases = [BoundedRange(epsilon=each) for each in ranges]
    spent = compose(*releases, *(PureDP(epsilon=each) for each in responses))
    for share in (0.0, 0.2, 0.4, 0.6):
        at = share * (sum(ranges) + sum(responses))
        attained = attained_delta(ranges=ranges, responses=responses, at=at, choices=6)
        assert attained * (1 - 1e-12) <= spent.delta_bounds(epsilon=at).upper


@pytest.mark.parametrize("seed", range(8))
def test_blocks_agree_with_the_whole_game(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of some hundred releases, where the game is followed to its end as well."""
    rng = Random(seed)
    monkeypatch.setattr("quaestor.accounting.theorems.range_game._SIZES", ((0.0, Size(24, 20)),))
    range_ = math.exp(rng.uniform(math.log(0.01), math.log(1.5)))
    count = rng.randint(30, 80)
    delta = 10 ** rng.uniform(-10, -2)
    blocks = ranges_in_blocks([BoundedRange(epsilon=range_) * count]).epsilon_bounds(delta=delta)
    whole = AdaptiveRange([(range_, count)], width=5e-3).epsilon_bounds(delta=delta)
    assert blocks.overlaps(whole)
    assert blocks.relative_width < 0.08


@pytest.mark.parametrize(("count", "range_", "delta"), [(3_000, 0.15, 1e-9), (100_000, 0.01, 1e-6)])
def test_what_is_deployed_is_within_a_thousandth(count: int, range_: float, delta: float) -> None:
    found = compose(BoundedRange(epsilon=range_) * count).epsilon_bounds(delta=delta, width=1e-3)
    assert found.relative_width <= 1e-3
    fixed = compose_nonadaptive(BoundedRange(epsilon=range_) * count).epsilon_bounds(delta=delta)
    assert fixed.lower <= found.upper
    assert found.lower <= fixed.upper * (1 + 1e-3)


@pytest.mark.parametrize(
    "other",
    [Gaussian(sigma=20.0) * 50, Laplace(scale=20.0) * 50, PureDP(epsilon=0.05) * 50],
    ids=["Gaussian", "Laplace", "black boxes"],
)
def test_mixtures_are_within_a_hundredth(other: Gaussian | Laplace | PureDP) -> None:
    spent = compose(BoundedRange(epsilon=0.1) * 200, other)
    found = spent.epsilon_bounds(delta=1e-6)
    assert found.relative_width <= 1e-2
    assert compose(BoundedRange(epsilon=0.1) * 200).epsilon_bounds(delta=1e-6).lower < found.upper
    back = spent.delta_bounds(epsilon=found.upper)
    assert back.lower <= 1e-6 * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_blocks_agree_with_the_whole_game_far_and_wide(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(1000 + seed)
    size = Size(rng.choice([12, 24, 48]), rng.choice([5, 20, 60]))
    monkeypatch.setattr("quaestor.accounting.theorems.range_game._SIZES", ((0.0, size),))
    range_ = math.exp(rng.uniform(math.log(1e-5), math.log(6)))
    count = rng.randint(2, 150)
    game = ranges_in_blocks([BoundedRange(epsilon=range_) * count])
    whole = AdaptiveRange([(range_, count)], width=5e-3)
    for _ in range(4):
        delta = 10 ** rng.uniform(-60, -0.5)
        assert game.epsilon_bounds(delta=delta).overlaps(whole.epsilon_bounds(delta=delta))
        at = rng.uniform(0, 0.6) * range_ * count
        assert game.delta_bounds(epsilon=at).overlaps(whole.delta_bounds(epsilon=at))


@pytest.mark.parametrize("range_", [1e-9, 50.0])
def test_ranges_that_no_table_suits_are_left_to_other_theorems(range_: float) -> None:
    with pytest.raises(TheoremDoesNotApply):
        ranges_in_blocks([BoundedRange(epsilon=range_) * 2000])
    assert compose(BoundedRange(epsilon=range_) * 2000).epsilon(delta=1e-12) > 0.0
