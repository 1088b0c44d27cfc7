"""What compose and compose_nonadaptive say of bounded range, alone and beside other releases."""

from __future__ import annotations

import math
import random
from functools import partial

import pytest

from quaestor import (
    BoundedRange,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    PureDP,
    RandomizedResponse,
    Release,
    compose,
    compose_nonadaptive,
    largest_count,
)
from quaestor.accounting.theorems import durfee_rogers, range_moments, sharp_range_moments
from tests.oracles import adaptive_range as adaptive_oracle
from tests.oracles import bounded_range as oracle


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return low * math.exp(math.log(high / low) * rng.random())


def ranges(rng: random.Random, *, kinds: int) -> list[Release]:
    return [
        BoundedRange(epsilon=log_uniform(rng, 0.02, 1.5)) * rng.randint(1, 30) for _ in range(kinds)
    ]


@pytest.mark.parametrize(
    "seed", [*range(16), *(pytest.param(n, marks=pytest.mark.slow) for n in range(16, 40))]
)
def test_fixed_in_advance_at_most_adaptive_at_most_the_closed_forms(seed: int) -> None:
    rng = random.Random(seed)
    releases = ranges(rng, kinds=rng.choice([1, 1, 2]))
    delta = log_uniform(rng, 1e-14, 0.1)
    fixed = compose_nonadaptive(*releases).epsilon_bounds(delta=delta)
    adaptive = compose(*releases).epsilon_bounds(delta=delta)
    assert fixed.lower <= adaptive.upper
    assert fixed.upper <= adaptive.upper * (1 + 1e-12)  # each rounds outward by itself
    for theorem in (durfee_rogers, range_moments, sharp_range_moments):
        assert adaptive.upper <= theorem(releases).epsilon_bounds(delta=delta).upper
    assert adaptive.lower <= adaptive.upper


@pytest.mark.parametrize("seed", range(12))
def test_the_adaptive_bracket_contains_two_or_three_steps_by_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    count, epsilon = rng.choice([2, 3]), log_uniform(rng, 0.1, 2.0)
    at = rng.uniform(0.0, 0.7) * count * epsilon
    bounds = compose(BoundedRange(epsilon=epsilon) * count).delta_bounds(epsilon=at)
    truth = adaptive_oracle.adaptive_delta(ranges=[epsilon] * count, at=at)
    assert bounds.lower <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-9) <= bounds.upper


@pytest.mark.parametrize("seed", range(12))
def test_fixed_queries_contain_the_brute_force_over_unequal_choices(seed: int) -> None:
    rng = random.Random(100 + seed)
    epsilons = [log_uniform(rng, 0.1, 1.5) for _ in range(rng.randint(2, 4))]
    at = rng.uniform(0.0, 0.6) * sum(epsilons)
    found = compose_nonadaptive(*(BoundedRange(epsilon=e) for e in epsilons))
    attained = oracle.climbed_delta(epsilons=epsilons, at=at, rounds=2)
    assert found.delta_bounds(epsilon=at).upper >= attained


@pytest.mark.parametrize(
    ("other", "count"),
    [
        (Gaussian(sigma=3.0), 1),
        (Gaussian(sigma=3.0), 200),
        (Laplace(scale=4.0), 200),
        (PureDP(epsilon=0.3), 1),
        (PureDP(epsilon=0.3), 200),
        pytest.param(Laplace(scale=4.0), 1, marks=pytest.mark.slow),
    ],
)
def test_mixtures_lie_between_half_the_range_and_the_whole_of_it(
    other: Release, count: int
) -> None:
    spent = compose(BoundedRange(epsilon=0.2) * count, other * 5)
    half = compose(RandomizedResponse(epsilon=0.1) * count, other * 5)
    whole = compose(PureDP(epsilon=0.2) * count, other * 5)
    for delta in (1e-2, 1e-6, 1e-12):
        found, least = spent.epsilon_bounds(delta=delta), half.epsilon_bounds(delta=delta)
        assert least.lower <= found.upper
        assert least.lower <= found.lower * (1 + 1e-9)  # half the range is one way to have it
        assert found.upper <= whole.epsilon_bounds(delta=delta).upper * (1 + 1e-9)
        assert least.relative_width < 1e-3  # also next to the largest loss that there is
    assert (
        spent.epsilon_bounds(delta=1e-6).upper
        >= compose(BoundedRange(epsilon=0.2) * count).epsilon_bounds(delta=1e-6).lower
    )


def test_nothing_else_gains_by_fixing_queries() -> None:
    releases = (Gaussian(sigma=4.0) * 10, PureDP(epsilon=0.1) * 3)
    assert compose_nonadaptive(*releases).epsilon_bounds(delta=1e-6) == compose(
        *releases
    ).epsilon_bounds(delta=1e-6)


def test_a_history_of_selections_grows() -> None:
    for make in (compose, compose_nonadaptive):
        spent = make(BoundedRange(epsilon=0.1) * 20)
        grown = spent.then(BoundedRange(epsilon=0.1) * 10)
        whole = make(BoundedRange(epsilon=0.1) * 30)
        assert grown.epsilon_bounds(delta=1e-6).overlaps(whole.epsilon_bounds(delta=1e-6))
        assert repr(grown).startswith(make.__name__)


def test_a_narrower_bracket_on_request() -> None:
    spent = compose(BoundedRange(epsilon=0.1) * 50)
    usual = spent.epsilon_bounds(delta=1e-6)
    narrow = spent.epsilon_bounds(delta=1e-6, width=1e-4)
    assert narrow.overlaps(usual)
    assert narrow.relative_width <= 1e-4


def test_monotonic_scores_cost_half_the_range() -> None:
    classic = ExponentialMechanism(epsilon=0.2) * 30
    counts = ExponentialMechanism(epsilon=0.2, monotonic=True) * 30
    direct = BoundedRange(epsilon=0.1) * 30
    assert compose(counts).epsilon(delta=1e-6) == compose(direct).epsilon(delta=1e-6)
    assert compose(counts).epsilon(delta=1e-6) < compose(classic).epsilon(delta=1e-6)


def test_more_selections_fit_than_black_boxes() -> None:
    selection = ExponentialMechanism(epsilon=0.1)
    fitting = partial(largest_count, epsilon=3.0, delta=1e-6)
    adaptive, fixed = fitting(selection), fitting(selection, in_advance=True)
    boxes = fitting(PureDP(epsilon=0.1))
    assert 3 * boxes < adaptive <= fixed
    assert compose(selection * adaptive).epsilon(delta=1e-6) <= 3.0
    assert compose(selection * (fixed + 1)).epsilon_bounds(delta=1e-6).lower > 3.0
