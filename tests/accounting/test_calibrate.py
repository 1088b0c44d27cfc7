"""Budget planning: what is returned fits, and a little more would not."""

from __future__ import annotations

import math
import random

import pytest

from quaestor import (
    ApproxDP,
    InvalidParameter,
    PureDP,
    TargetOutOfReach,
    calibrate,
    calibrate_bounds,
    compose,
    largest_count,
)
from tests.oracles.composition import homogeneous_delta


@pytest.mark.parametrize("seed", range(20))
def test_the_epsilon_per_release_fits_by_the_oracle_and_is_the_largest(seed: int) -> None:
    rng = random.Random(seed)
    count, epsilon = rng.randint(1, 400), rng.uniform(0.1, 8)
    delta = 10 ** rng.uniform(-12, -2)
    each = delta / (2 * count) * rng.choice([0, 1])
    found = calibrate(
        lambda e: ApproxDP(epsilon=e, delta=each) * count, epsilon=epsilon, delta=delta
    )
    assert homogeneous_delta(epsilon=found, delta=each, count=count, at=epsilon) <= delta
    more = found * 1.0001
    assert homogeneous_delta(epsilon=more, delta=each, count=count, at=epsilon) > delta


def test_the_best_value_is_enclosed() -> None:
    bounds = calibrate_bounds(lambda e: PureDP(epsilon=e) * 100, epsilon=1.0, delta=1e-6)
    assert bounds.relative_width < 1e-11
    assert compose(PureDP(epsilon=bounds.lower) * 100).delta(epsilon=1.0) <= 1e-6
    assert compose(PureDP(epsilon=bounds.upper) * 100).delta_bounds(epsilon=1.0).lower > 1e-6


def test_a_parameter_whose_cost_falls_is_calibrated_too() -> None:
    scale = calibrate(lambda b: PureDP(epsilon=1 / b) * 10, epsilon=1.0, delta=0.0)
    assert scale == pytest.approx(10, rel=1e-10)
    assert compose(PureDP(epsilon=1 / scale) * 10).epsilon(delta=0.0) <= 1.0


def test_a_composition_may_be_calibrated() -> None:
    fixed = PureDP(epsilon=0.5)
    found = calibrate(lambda e: compose(fixed, PureDP(epsilon=e) * 7), epsilon=2.0, delta=1e-9)
    assert compose(fixed, PureDP(epsilon=found) * 7).epsilon(delta=1e-9) <= 2.0


def test_a_target_that_nothing_meets_is_refused() -> None:
    with pytest.raises(TargetOutOfReach, match="no value"):
        calibrate(lambda e: ApproxDP(epsilon=e, delta=1e-3) * 10, epsilon=1.0, delta=1e-6)


def test_a_target_that_everything_meets_is_refused() -> None:
    with pytest.raises(TargetOutOfReach, match="every value"):
        calibrate(lambda e: PureDP(epsilon=e), epsilon=1.0, delta=1.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_count_fits_by_the_oracle_and_one_more_does_not(seed: int) -> None:
    rng = random.Random(seed)
    each, total = rng.uniform(0.01, 0.5), rng.uniform(0.5, 4)
    delta = 10 ** rng.uniform(-9, -2)
    count = largest_count(PureDP(epsilon=each), epsilon=total, delta=delta)
    assert homogeneous_delta(epsilon=each, delta=0.0, count=count + 1, at=total) > delta
    if count:
        assert homogeneous_delta(epsilon=each, delta=0.0, count=count, at=total) <= delta


def test_counts_of_pure_releases_at_delta_zero_are_quotients() -> None:
    assert largest_count(PureDP(epsilon=0.125), epsilon=1.0, delta=0.0) == 8
    assert largest_count(PureDP(epsilon=2.0), epsilon=1.0, delta=0.0) == 0


def test_a_release_that_costs_nothing_has_no_largest_count() -> None:
    with pytest.raises(TargetOutOfReach, match="does not limit"):
        largest_count(PureDP(epsilon=0.0), epsilon=1.0, delta=0.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(-1.0, 0.0), (math.nan, 0.0), (1.0, 2.0)])
def test_a_target_outside_its_range_is_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidParameter):
        largest_count(PureDP(epsilon=0.1), epsilon=epsilon, delta=delta)
    with pytest.raises(InvalidParameter):
        calibrate(lambda e: PureDP(epsilon=e), epsilon=epsilon, delta=delta)
