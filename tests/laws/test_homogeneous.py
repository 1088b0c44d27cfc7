"""Equal black boxes: the fast way agrees with the 60-digit oracle, everywhere."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor import ApproxDP, PureDP, compose
from tests.oracles.composition import homogeneous_delta, homogeneous_epsilon

WIDTH = 1e-9
SMALLEST = 1e-290  # below this, floats themselves lose relative accuracy


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def random_case(seed: int, *, largest: int) -> tuple[float, float, int, float]:
    """Epsilon, delta, count and a global epsilon: anywhere, often where delta is not extreme."""
    rng = random.Random(seed)
    epsilon = log_uniform(rng, 1e-4, 5.0)
    delta = rng.choice([0.0, log_uniform(rng, 1e-12, 1e-2)])
    count = round(log_uniform(rng, 1, largest))
    total = count * epsilon
    mean = total * math.tanh(epsilon / 2)
    spread = epsilon * math.sqrt(count)
    at = rng.choice(
        [
            0.0,
            rng.uniform(0, total),
            max(0.0, min(total, mean + rng.uniform(-2, 8) * spread)),
            max(0, count - 2 * rng.randint(0, count)) * epsilon,
            total * rng.choice([1 - 1e-15, 1.0, 1 + 1e-15, 2.0]),
        ]
    )
    return epsilon, delta, count, at


def assert_delta(epsilon: float, delta: float, count: int, at: float) -> None:
    """The bounds contain the oracle's number, and nothing much besides."""
    bounds = compose(ApproxDP(epsilon=epsilon, delta=delta) * count).delta_bounds(epsilon=at)
    truth = homogeneous_delta(epsilon=epsilon, delta=delta, count=count, at=at)
    assert truth in bounds
    assert bounds.relative_width <= WIDTH or bounds.upper <= SMALLEST


@pytest.mark.parametrize("seed", range(40))
def test_delta_contains_the_oracle_for_up_to_ten_thousand_releases(seed: int) -> None:
    for part in range(5):
        assert_delta(*random_case(1000 * seed + part, largest=10_000))


@pytest.mark.parametrize("seed", range(20))
def test_delta_contains_the_oracle_on_thousands_of_small_cases(seed: int) -> None:
    for part in range(150):
        assert_delta(*random_case(10**6 + 1000 * seed + part, largest=80))


@pytest.mark.parametrize(
    ("epsilon", "count", "at"),
    [
        (1e-6, 10**12, 5.0),
        pytest.param(1e-6, 10**12, 0.0, marks=pytest.mark.slow),
        pytest.param(1e-5, 10**12, 60.0, marks=pytest.mark.slow),
        (3e-8, 10**15, 5.0),
        (1e-13, 10**12, 1e-7),
        (0.5, 10**9, 122459331.4),
        (5.0, 10**6, 4.93e6),
    ],
)
def test_delta_contains_the_oracle_for_huge_counts(epsilon: float, count: int, at: float) -> None:
    assert_delta(epsilon, 1e-20, count, at)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-100, 1e-30, 40.0, 700.0, 1e6])
@pytest.mark.parametrize("count", [1, 2, 30, 1000])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_delta_contains_the_oracle_for_absurd_epsilons(
    epsilon: float, count: int, share: float
) -> None:
    assert_delta(epsilon, 0.0, count, share * count * epsilon)


@pytest.mark.parametrize("seed", range(25))
def test_epsilon_contains_the_oracle(seed: int) -> None:
    rng = random.Random(seed)
    epsilon = log_uniform(rng, 1e-4, 5.0)
    delta = rng.choice([0.0, log_uniform(rng, 1e-12, 1e-4)])
    count = round(log_uniform(rng, 1, 300))
    target = log_uniform(rng, 1e-30, 0.9)
    bounds = compose(ApproxDP(epsilon=epsilon, delta=delta) * count).epsilon_bounds(delta=target)
    truth = homogeneous_epsilon(epsilon=epsilon, delta=delta, count=count, target=target)
    if math.isinf(truth):
        assert bounds.lower == bounds.upper == math.inf
    else:
        assert truth in bounds
        assert bounds.relative_width <= WIDTH


def test_the_boundary_of_a_single_release_is_exact() -> None:
    release = ApproxDP(epsilon=0.1, delta=1e-8)
    assert compose(release).epsilon(delta=1e-8) == 0.1
    assert compose(release).epsilon(delta=math.nextafter(1e-8, 0)) == math.inf
    assert compose(release).delta(epsilon=0.1) == 1e-8


def test_the_boundary_of_failures_is_decided_exactly() -> None:
    twice = compose(ApproxDP(epsilon=1.0, delta=0.5) * 2)  # 1 - 1/4, a float
    assert twice.epsilon(delta=0.75) == 2.0
    assert twice.epsilon(delta=math.nextafter(0.75, 0)) == math.inf


def test_pure_releases_cost_their_sum_at_delta_zero() -> None:
    assert compose(PureDP(epsilon=0.125) * 8).epsilon(delta=0.0) == 1.0
    tenth = compose(PureDP(epsilon=0.1) * 10).epsilon_bounds(delta=0.0)
    assert tenth.lower <= 10 * Fraction(0.1) <= tenth.upper


def test_nothing_is_known_of_a_release_with_delta_one() -> None:
    told = compose(ApproxDP(epsilon=0.1, delta=1.0), PureDP(epsilon=1.0))
    assert told.epsilon(delta=0.999) == math.inf
    assert told.epsilon(delta=1.0) == 0.0
    assert told.delta(epsilon=5.0) == 1.0


def test_no_release_costs_nothing() -> None:
    assert compose().epsilon(delta=0.0) == 0.0
    assert compose(PureDP(epsilon=0.0) * 10).delta(epsilon=0.0) == 0.0


parameters = st.tuples(
    st.floats(1e-3, 3.0),
    st.one_of(st.just(0.0), st.floats(1e-9, 1e-2)),
    st.integers(1, 400),
    st.floats(0.0, 1.0),
)


@given(parameters)
@settings(deadline=None, max_examples=150)
def test_more_releases_never_cost_less(case: tuple[float, float, int, float]) -> None:
    epsilon, delta, count, share = case
    at, release = share * count * epsilon, ApproxDP(epsilon=epsilon, delta=delta)
    fewer, more = compose(release * count), compose(release * (count + 1))
    assert more.delta_bounds(epsilon=at).upper >= fewer.delta_bounds(epsilon=at).lower


@given(parameters)
@settings(deadline=None, max_examples=150)
def test_the_profile_is_convex_and_decreasing(case: tuple[float, float, int, float]) -> None:
    epsilon, delta, count, share = case
    curve = compose(ApproxDP(epsilon=epsilon, delta=delta) * count)
    left, right = share * count * epsilon, (share + 0.1) * count * epsilon
    middle = math.log((math.exp(left) + math.exp(right)) / 2) if right < 700 else right
    low, mid, high = (curve.delta_bounds(epsilon=e) for e in (left, middle, right))
    assert low.upper >= mid.lower
    assert mid.upper >= high.lower
    if right < 700:
        chord = (Fraction(low.upper) + Fraction(high.upper)) / 2
        assert mid.lower <= chord * (1 + Fraction(1, 10**12))


@given(parameters)
@settings(deadline=None, max_examples=100)
def test_epsilon_undoes_delta(case: tuple[float, float, int, float]) -> None:
    epsilon, delta, count, share = case
    curve = compose(ApproxDP(epsilon=epsilon, delta=delta) * count)
    at = share * count * epsilon
    total = curve.delta_bounds(epsilon=at)
    assert curve.epsilon_bounds(delta=total.upper).lower <= at
    back = curve.epsilon_bounds(delta=min(total.upper * 1.01, 1.0)).upper
    assert curve.delta_bounds(epsilon=back).lower <= total.upper * 1.01
