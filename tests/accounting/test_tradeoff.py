"""The privacy region: corners, boundary, advantage and belief against brute force."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from mpmath import mpf

from quaestor import (
    ApproxDP,
    Bounds,
    DiscreteGaussian,
    Gaussian,
    InvalidParameter,
    Laplace,
    PoissonSampled,
    ProbabilityVectors,
    PureDP,
    compose,
)
from quaestor.accounting.curves import boundary_search
from quaestor.accounting.theorems import THEOREMS, total_variation
from quaestor.accounting.tradeoff import Tradeoff, _Boundary
from quaestor.errors import TheoremDoesNotApply
from tests.oracles.composition import brute_force_tradeoff

if TYPE_CHECKING:
    from quaestor import Release
    from quaestor.accounting.curves.profile import WorldPair


def random_steps(seed: int, *, equal: bool) -> list[tuple[float, float]]:
    """A few black boxes, equal or different."""
    rng = random.Random(seed)
    count = rng.randint(1, 6)
    one = (rng.uniform(0.05, 2), rng.choice([0.0, 0.01, 0.1]))
    if equal:
        return [one] * count
    return [(rng.uniform(0.05, 2), rng.choice([0.0, 0.01, 0.1])) for _ in range(count)]


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_the_boundary_contains_brute_force(seed: int, equal: bool) -> None:  # noqa: FBT001
    steps = random_steps(seed, equal=equal)
    curve = compose(*(ApproxDP(epsilon=e, delta=d) for e, d in steps)).tradeoff()
    for alarm in (0.0, 1e-6, 0.01, 0.05, 0.3, 0.5, 0.9, 0.999, 1.0):
        truth = brute_force_tradeoff(steps=steps, false_positive=alarm)
        bounds = curve.false_negative_bounds(false_positive=alarm)
        assert mpf(bounds.lower) - truth <= mpf(10) ** -50  # what the oracle leaves open
        assert truth - mpf(bounds.upper) <= mpf(10) ** -50
        assert bounds.width <= 1e-9
        assert curve.false_negative(false_positive=alarm) == bounds.lower


@pytest.mark.parametrize("seed", range(12))
def test_searching_and_knowing_the_boundary_agree(seed: int) -> None:
    rng = random.Random(seed)
    count, epsilon = rng.randint(1, 300), rng.uniform(0.01, 1)
    curve = compose(ApproxDP(epsilon=epsilon, delta=1e-6) * count).tradeoff()
    for alarm in (1e-9, 0.02, 0.5, 0.97):
        known = curve.false_negative_bounds(false_positive=alarm)
        searched = _Boundary(curve.profile)._searched(alarm)
        assert known.overlaps(searched)
        assert searched.width <= 1e-6


@pytest.mark.parametrize("alarm", [1e-9, 0.01, 0.3, 0.99])
@pytest.mark.parametrize(
    "release",
    [
        Gaussian(sigma=50.0) * 10_000,
        Laplace(scale=20.0) * 100,
        PoissonSampled(release=Gaussian(sigma=1.0), rate=0.01) * 1000,
    ],
    ids=str,
)
def test_a_point_of_the_boundary_asks_the_curve_a_hundred_times_at_most(
    release: Release, alarm: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, line = Counter[object](), boundary_search._line

    def counted(pair: WorldPair, epsilon: float, alarm: float) -> Bounds:
        asked[pair] += 1
        return line(pair, epsilon, alarm)

    monkeypatch.setattr(boundary_search, "_line", counted)
    bounds = compose(release).tradeoff().false_negative_bounds(false_positive=alarm)
    assert bounds.width <= 1e-4
    assert max(asked.values()) <= 100


@pytest.mark.parametrize("seed", range(10))
def test_corners_lie_on_the_boundary_and_mirror_each_other(seed: int) -> None:
    steps = random_steps(seed, equal=False)
    curve = compose(*(ApproxDP(epsilon=e, delta=d) for e, d in steps)).tradeoff()
    corners = curve.vertex_bounds()
    assert corners is not None
    assert [missed for _, missed in corners] == [alarm for alarm, _ in reversed(corners)]
    for alarm, missed in corners:
        truth = brute_force_tradeoff(steps=steps, false_positive=alarm.lower)
        assert missed.lower <= truth + 1e-12
        assert truth <= missed.upper + 1e-12


def test_one_release_has_the_corners_of_figure_1() -> None:
    epsilon, delta = math.log(3), 0.25
    corners = compose(ApproxDP(epsilon=epsilon, delta=delta)).tradeoff().vertices()
    assert len(corners) == 3
    assert corners[0] == (0.0, 0.75)
    assert corners[2] == (0.75, 0.0)
    exact = (1 - Fraction(delta)) / 4  # (1 - delta)/(1 + 3), but for the rounding of log 3
    assert abs(Fraction(corners[1].false_positive) - exact) < Fraction(1, 10**15)
    assert corners[1].false_positive == corners[1].false_negative


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_figure_2_has_one_corner_for_each_number_of_lies(count: int, delta: float) -> None:
    release = ApproxDP(epsilon=0.4, delta=delta)
    corners = compose(release * count).tradeoff().vertex_bounds()
    assert corners is not None
    assert len(corners) == count + 2
    truth, kept = 1 / (1 + math.exp(-0.4)), (1 - delta) ** count
    for lies, (alarm, _) in enumerate(corners[1:], start=0):
        by_hand = kept * sum(
            math.comb(count, i) * truth**i * (1 - truth) ** (count - i) for i in range(lies + 1)
        )
        assert abs(alarm.upper - min(by_hand, kept)) < 1e-14


def test_a_polygon_of_few_lines_contains_the_region_of_many_corners() -> None:
    curve = compose(PureDP(epsilon=0.001) * 10**6).tradeoff()
    corners = curve.vertices(at_most=101)
    assert 50 <= len(corners) <= 101
    for alarm, missed in corners:
        bounds = curve.false_negative_bounds(false_positive=alarm)
        assert missed <= bounds.upper
        assert bounds.upper - missed < 0.002
    assert list(corners) == sorted(corners)


@pytest.mark.parametrize(
    "theorem",
    [theorem for theorem in THEOREMS if not theorem.of_ranges],
    ids=lambda theorem: theorem.name,
)
def test_every_theorems_region_contains_the_optimal_one(theorem) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    releases = [ApproxDP(epsilon=0.1, delta=0.001) * 30]
    best = compose(*releases).tradeoff()
    try:
        corners = Tradeoff(theorem.profile(releases)).vertices()
    except TheoremDoesNotApply:
        pytest.fail("all theorems apply to equal releases")
    for alarm, missed in corners:
        assert missed <= best.false_negative_bounds(false_positive=alarm).upper


def test_advantage_of_one_release_is_its_total_variation() -> None:
    advantage = compose(ApproxDP(epsilon=0.4, delta=0.1)).advantage()
    assert advantage.overlaps(total_variation(epsilon=0.4, delta=0.1))
    assert advantage.width < 1e-15


def test_belief_after_a_pure_release_is_bayes_rule() -> None:
    curve = compose(PureDP(epsilon=1.0)).tradeoff()
    by_hand = 0.2 / (0.2 + 0.8 * math.exp(-1))
    assert abs(curve.posterior(prior=0.2) - by_hand) < 1e-15
    assert by_hand - 1e-15 <= curve.posterior(prior=0.2)


def test_belief_may_become_certain_only_if_some_delta_is_positive() -> None:
    assert compose(ApproxDP(epsilon=0.1, delta=1e-9)).tradeoff().posterior(prior=0.5) == 1.0
    assert compose(PureDP(epsilon=0.1)).tradeoff().posterior(prior=0.5) < 0.53


def test_belief_falls_as_false_alarms_rise() -> None:
    curve = compose(ApproxDP(epsilon=0.1, delta=1e-6) * 100).tradeoff()
    beliefs = [curve.posterior(prior=0.5, false_positive=a) for a in (1e-6, 1e-3, 0.1, 0.5, 1.0)]
    assert beliefs == sorted(beliefs, reverse=True)
    assert beliefs[-1] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("prior", [0.5, 0.1, 0.9, 0.001])
def test_the_bayes_error_of_randomized_response_is_known_by_hand(prior: float) -> None:
    epsilon = 1.0
    lie = 1 / (1 + math.exp(epsilon))
    # believe the answer, or the prior if that is the surer of the two
    by_hand = min(lie, prior, 1 - prior)
    bounds = compose(PureDP(epsilon=epsilon)).tradeoff().bayes_error_bounds(prior=prior)
    assert bounds.lower - 1e-15 <= by_hand <= bounds.upper + 1e-15
    assert bounds.width < 1e-14


def test_a_release_that_tells_everything_leaves_no_errors() -> None:
    curve = compose(ApproxDP(epsilon=0.0, delta=1.0)).tradeoff()
    assert curve.false_negative(false_positive=0.0) == 0.0
    assert curve.advantage().upper == 1.0


def test_no_release_leaves_only_guessing() -> None:
    curve = compose().tradeoff()
    assert curve.false_negative(false_positive=0.25) == 0.75
    assert curve.advantage().upper == 0.0


@pytest.mark.parametrize("alarm", [0.003708748748031556, 1e-9, 0.3, 0.99])
def test_a_release_that_tells_next_to_nothing_leaves_guessing(alarm: float) -> None:
    """Deltas of 1e-73 are known within 1e-14 only: between trials lines are steep, and are met."""
    noise = DiscreteGaussian(sigma=0.0681324245286857, sensitivity=100_000)
    curve = compose(PoissonSampled(release=noise, rate=1.8506208389685745e-73)).tradeoff()
    truth, bounds = 1 - Fraction(alarm), curve.false_negative_bounds(false_positive=alarm)
    assert bounds.lower <= truth <= bounds.upper + Fraction(1, 10**72)


def test_lines_that_are_far_below_the_peak_say_nothing_of_it() -> None:
    """Between trials at 0 and 175 lines fall from 1 to -1e21: what is left cancels."""
    curve = compose(
        ProbabilityVectors(
            p=(9.303668946358812e-13, 0.9999999999990696),
            q=(0.9999999999999807, 1.9317880628477724e-14),
        )
    ).tradeoff()
    assert curve.false_negative_bounds(false_positive=9.21524021539704e-56).upper == 1.0


def test_a_peak_between_steep_lines_is_below_the_ceiling() -> None:
    """A kink near the best trial, and a point beside it of which next to nothing is known."""
    for kink in (0.0, 1e-10, -4e-10):
        trials = [kink + 2e-9 * at for at in (-1.8, -0.8, 0.2, 1.2, 2.2)]
        heights = [1.0 - max(kink - trial, 0.0) - 4e-3 * max(trial - kink, 0.0) for trial in trials]
        lines = [Bounds(lower=height, upper=height) for height in heights]
        lines[1] = Bounds(lower=heights[1] - 2e-3, upper=heights[1])
        lines[0] = Bounds(lower=heights[0] - 2e-3, upper=heights[0])
        assert 1.0 <= boundary_search._ceiling(trials, lines, 2) <= 1.0 + 1e-10


@pytest.mark.parametrize("alarm", [-0.1, 1.1, math.nan, "half"])
def test_a_rate_outside_its_range_is_refused(alarm: float) -> None:
    with pytest.raises(InvalidParameter, match="false_positive must be a number in"):
        compose(PureDP(epsilon=1.0)).tradeoff().false_negative(false_positive=alarm)
