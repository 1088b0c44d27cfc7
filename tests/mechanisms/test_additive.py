"""Mechanisms that add noise: what they release, what it costs, how accurate they say it is."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from mpmath import exp, log, mpf, sqrt

import quaestor as q
from quaestor import mechanisms
from quaestor.mechanisms import (
    DiscreteGaussian,
    Gaussian,
    Geometric,
    Laplace,
    RandomizedResponse,
    Staircase,
)
from quaestor.mechanisms.grid import on_grid, saturating_sum, values_on_grid
from tests.mechanisms.laws import (
    chi_square,
    discrete_gaussian,
    discrete_laplace,
    floored_laplace,
    staircase_cells,
)
from tests.mechanisms.sources import seed

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCEPT, REJECT = 1e-4, 1e-6


def hockey_stick(p: Mapping[Any, mpf], q_: Mapping[Any, mpf], epsilon: float) -> mpf:
    """delta(epsilon) of a pair, from the definition."""
    factor = exp(mpf(epsilon))
    return sum(max(weight - factor * q_.get(x, mpf(0)), 0) for x, weight in p.items())


def shifted(law: Mapping[int, mpf], by: int) -> dict[int, mpf]:
    return {x + by: weight for x, weight in law.items()}


# What is released.


def test_whole_noise_is_added_to_the_value_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Geometric(scale=3.0)
    seed(monkeypatch, 5)
    alone = mechanism.release(np.zeros(1000, np.int64))
    seed(monkeypatch, 5)
    values = np.arange(1000).reshape(10, 100)
    released = mechanism.release(values)
    assert released.shape == values.shape
    assert np.array_equal(released - values, alone.reshape(10, 100))


def test_a_single_number_stays_a_python_number() -> None:
    assert type(Geometric(scale=3.0).release(10**30)) is int
    assert type(DiscreteGaussian(sigma=3.0).release(cast("int", np.int64(7)))) is int
    assert type(Laplace(scale=3.0).release(7)) is float
    assert type(Laplace(scale=3.0).release(cast("float", np.float32(0.1)))) is float
    assert abs(Geometric(scale=3.0).release(10**30) - 10**30) < 3000


def test_sums_never_wrap() -> None:
    ends = np.iinfo(np.int64)
    values = np.array([ends.max, ends.min, ends.max, ends.min, 5, -5, 2**62])
    noise = np.array([1, -1, -1, 1, 7, -7, 2**62])
    exact = [int(a) + int(b) for a, b in zip(values, noise, strict=True)]
    held = [min(max(each, ends.min), ends.max) for each in exact]
    assert saturating_sum(values, noise).tolist() == held


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(scale=2.0, granularity=0.25, coordinates=1),
        Gaussian(sigma=2.0, granularity=0.25, coordinates=1),
        Staircase(epsilon=1.0, granularity=2.0**-8, coordinates=1),
    ],
    ids=str,
)
def test_real_releases_lie_on_the_grid_whatever_the_value(
    mechanism: Laplace | Gaussian | Staircase, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 6)
    values = np.array([0.0, 1 / 3, math.pi * 1e5, -1e-300, 2.0**-30])
    steps = mechanism.release(np.tile(values, 200)) / mechanism.step - mechanism._offset
    assert np.array_equal(steps, np.round(steps))
    steps = np.array([mechanism.release(float(x)) for x in values]) / mechanism.step
    assert np.array_equal(steps - mechanism._offset, np.round(steps - mechanism._offset))


@pytest.mark.parametrize("step", [1.0, 0.25, 8.0, 2.0**-30])
def test_rounding_is_to_the_nearest_multiple_and_half_way_up(step: float) -> None:
    values = [0.0, 0.5, -0.5, 1.5, 2.5, 0.49999999999999994, -0.50000000000000011, -1e-300, 1e-320]
    values += [4503599627370495.5, 1 / 3, -123.456, 2.0**52 + 1, 3.75, -3.75]
    values = [value * step for value in values]
    exact = [math.floor(Fraction(value) / Fraction(step) + Fraction(1, 2)) for value in values]
    assert values_on_grid(values, step).tolist() == exact
    assert [on_grid(value, step) for value in values] == exact


def test_values_a_whole_number_of_steps_apart_stay_so() -> None:
    values = np.random.default_rng(3).normal(size=1000)
    apart = values_on_grid(values + 0.0, 2.0**-7)
    moved = np.array([on_grid(Fraction(float(v)) + 3 * Fraction(2) ** -7, 2.0**-7) for v in values])
    assert np.array_equal(moved - apart, np.full(1000, 3))


# Their laws.

STEP = 2.0**-6


@pytest.mark.parametrize("wrong", [None, 1.05, 1 / 1.05])
def test_mechanisms_have_the_law_they_state(
    wrong: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 21)
    by = 1.0 if wrong is None else wrong
    size = 100_000
    whole, real = np.full(size, 5), np.full(size, 5.0)
    laplace = Laplace(scale=0.5, granularity=STEP, coordinates=1).release(real)
    gaussian = Gaussian(sigma=0.5, granularity=STEP, coordinates=1).release(real)
    stairs = Staircase(epsilon=0.8, granularity=2.0**-8, coordinates=1).release(real)
    gamma = Staircase(epsilon=0.8).loss.gamma
    assert gamma is not None
    geometric = Geometric(scale=4.0).release(whole) - 5
    plain = DiscreteGaussian(sigma=4.0, coordinates=1).release(whole) - 5
    drawn = [
        (geometric, discrete_laplace(4.0 * by, 200)),
        (plain, discrete_gaussian(4.0 * by, 60)),
        ((laplace - 5) / STEP - 0.5, floored_laplace(32 * by, 1400)),
        ((gaussian - 5) / STEP, discrete_gaussian(32 * by, 500)),
        ((stairs - 5) * 2**8 - 0.5, staircase_cells(0.8 / by, 256, gamma, 40)),
    ]
    for noise, law in drawn:
        chance = chi_square(noise.astype(np.int64), law)
        assert chance > ACCEPT if wrong is None else chance < REJECT


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_stairs_that_are_not_split_are_stairs(
    gamma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 24)
    mechanism = Staircase(epsilon=0.8, gamma=gamma, granularity=2.0**-8, coordinates=1)
    law = staircase_cells(0.8, 256, gamma, 40)
    drawn = mechanism.release(np.zeros(50_000)) * 256 - 0.5
    assert chi_square(drawn.astype(np.int64), law) > ACCEPT
    singles = [round(mechanism.release(0) * 256 - 0.5) for _ in range(10_000)]
    assert chi_square(singles, law) > ACCEPT


@pytest.mark.parametrize("wrong", [None, 1.05, 1 / 1.05])
@pytest.mark.parametrize("categories", [2, 5])
def test_randomized_response_has_its_odds(
    categories: int, wrong: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 22)
    mechanism = RandomizedResponse(epsilon=1.0, categories=categories)
    arrays = mechanism.release(np.full(300_000, 1))
    singles = [mechanism.release(1) for _ in range(100_000)]
    odds = exp(mpf(-1 * (wrong or 1)))
    total = 1 + (categories - 1) * odds
    law = {x: (1 if x == 1 else odds) / total for x in range(categories)}
    for drawn in (arrays, singles):
        chance = chi_square(drawn, law)
        assert chance > ACCEPT if wrong is None else chance < REJECT


def test_shares_are_estimated_without_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 23)
    mechanism = RandomizedResponse(epsilon=1.0, categories=3)
    truth = np.repeat([0, 1, 2], [60_000, 30_000, 10_000])
    shares = mechanism.shares(mechanism.release(truth))
    error = mechanism.standard_error / math.sqrt(truth.size)
    assert np.all(np.abs(shares - [0.6, 0.3, 0.1]) < 4.5 * error)
    within = mechanism.interval(confidence=0.95, answers=truth.size)
    assert within.upper > 1.5 * error
    assert sum(shares) == pytest.approx(1.0)


# What it costs.


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.9])
def test_laplace_cells_cost_no_more_than_is_stated_and_little_less(epsilon: float) -> None:
    for granularity, gap in ((0.25, 0.06), (2.0**-6, 0.004)):
        mechanism = Laplace(scale=1.0, granularity=granularity)
        law = floored_laplace(1 / granularity, int(60 / granularity))
        true = hockey_stick(law, shifted(law, int(1 / granularity)), epsilon)
        stated = q.compose(mechanism.loss).delta_bounds(epsilon=epsilon)
        assert true <= stated.upper
        assert stated.lower <= true + gap


@pytest.mark.parametrize("gamma", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.1])
def test_staircase_cells_cost_exactly_what_is_stated(gamma: float, epsilon: float) -> None:
    mechanism = Staircase(epsilon=1.2, gamma=gamma, granularity=2.0**-8)
    law = staircase_cells(1.2, 256, gamma, 30)
    stated = q.compose(mechanism.loss).delta_bounds(epsilon=epsilon)
    true = hockey_stick(law, shifted(law, 256), epsilon)
    assert stated.lower - 1e-12 <= true <= stated.upper + 1e-12
    for shorter in (1, 100, 255):
        assert hockey_stick(law, shifted(law, shorter), epsilon) <= stated.upper


@pytest.mark.parametrize("sensitivity", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.6])
def test_a_change_spread_over_entries_costs_no_more(sensitivity: int, epsilon: float) -> None:
    law = discrete_laplace(3.0, 60)
    stated = q.compose(Geometric(scale=3.0, sensitivity=sensitivity).loss)
    bounds = stated.delta_bounds(epsilon=epsilon)
    single = hockey_stick(law, shifted(law, sensitivity), epsilon)
    assert bounds.lower - 1e-8 <= single <= bounds.upper + 1e-8
    for first in range(1, sensitivity):
        second = sensitivity - first
        both = {(x, y): law[x] * law[y] for x in range(-40, 41) for y in range(-40, 41)}
        moved = {
            (x, y): law[x - first] * law[y - second] for x in range(-36, 41) for y in range(-36, 41)
        }
        inside = {key: weight for key, weight in both.items() if key in moved}
        assert hockey_stick(inside, moved, epsilon) <= bounds.upper


def test_a_gaussian_change_over_entries_is_within_what_is_stated() -> None:
    mechanism = DiscreteGaussian(sigma=2.0, sensitivity=2, coordinates=4)
    law = discrete_gaussian(2.0, 24)
    loss = [(x, x - 1) for x in range(-23, 25)]
    pairs: dict[int, mpf] = {0: mpf(1)}
    # Four entries move by 1 each, an L2 distance of 2: the loss is a sum of four.
    for _ in range(4):
        joined: dict[int, mpf] = {}
        for total, weight in pairs.items():
            for x, y in loss:
                joined[total + x * x - y * y] = (
                    joined.get(total + x * x - y * y, 0) + weight * law[y]
                )
        pairs = joined
    for epsilon in (0.5, 1.0, 2.0):
        # log P/Q = (x^2 - y^2) / 2 sigma^2 with y from P
        true = sum(
            weight * (1 - exp(mpf(epsilon) - mpf(total) / 8))
            for total, weight in pairs.items()
            if mpf(total) / 8 > epsilon
        )
        assert true <= q.compose(mechanism.loss).delta_bounds(epsilon=epsilon).upper


def test_rounding_is_part_of_the_sensitivity() -> None:
    assert str(Laplace(scale=1.0, sensitivity=0.3, granularity=0.25).loss) == (
        "Laplace(scale=1.0, sensitivity=0.5)"
    )
    assert Gaussian(sigma=1.0, sensitivity=0.3, granularity=0.25).loss == q.DiscreteGaussian(
        sigma=4.0, sensitivity=2
    )
    several = Gaussian(sigma=1.0, sensitivity=1.0, granularity=0.25, coordinates=4).loss
    assert isinstance(several, q.ZeroConcentratedDP)
    assert several.rho == pytest.approx((4 + 2) ** 2 / 16 / 2)
    assert several.rho >= (4 + 2) ** 2 / 16 / 2
    fine = Gaussian(sigma=1.0, sensitivity=1.0, granularity=2.0**-6, coordinates=4).loss
    assert fine == q.DiscreteGaussianVector(sigma=64.0, sensitivity=66.0, coordinates=4)


@pytest.mark.parametrize("sigma", [4.0, 6.0, 10.0, 300.0])
@pytest.mark.parametrize("coordinates", [2, 5, 1000])
def test_several_entries_cost_at_most_what_their_rho_says(sigma: float, coordinates: int) -> None:
    for moved in (2, 7, 30):
        mechanism = DiscreteGaussian(sigma=sigma, sensitivity=moved, coordinates=coordinates)
        several, by_rho = q.compose(mechanism.loss), q.compose(mechanism.concentrated_loss)
        for delta in (0.1, 1e-3, 1e-6, 1e-12):
            assert several.epsilon(delta=delta) <= by_rho.epsilon(delta=delta)
        assert several.rho().upper == by_rho.rho().upper
    one = DiscreteGaussian(sigma=sigma, coordinates=coordinates)
    assert one.loss == q.DiscreteGaussian(sigma=sigma)


@pytest.mark.parametrize("sensitivity", [0.1, 1.0, 120.0, 1e-9, 1e12, 0.3])
def test_the_default_grid_costs_next_to_nothing(sensitivity: float) -> None:
    for mechanism in (
        Laplace(scale=10 * sensitivity, sensitivity=sensitivity),
        Staircase(epsilon=0.1, sensitivity=sensitivity),
    ):
        assert sensitivity <= mechanism.loss.sensitivity <= sensitivity * (1 + 2**-12)
    gaussian = Gaussian(sigma=10 * sensitivity, sensitivity=sensitivity).loss
    assert isinstance(gaussian, q.DiscreteGaussian)
    assert 0.1 <= gaussian.sensitivity / gaussian.sigma <= 0.1 * (1 + 2**-9)


# How accurate it is.


@pytest.mark.parametrize("scale", [0.02, 0.7, 20.0, 1e5])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-12])
def test_the_interval_of_geometric_noise_is_the_least(scale: float, confidence: float) -> None:
    reach = int(Geometric(scale=scale).interval(confidence=confidence).upper)

    def missing(t: int) -> mpf:
        return 2 * exp(-(t + 1) / mpf(scale)) / (1 + exp(-1 / mpf(scale)))

    assert missing(reach) <= 1 - mpf(confidence)
    assert reach == 0 or missing(reach - 1) > 1 - mpf(confidence)


@pytest.mark.parametrize("sigma", [0.3, 2.0, 40.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
def test_the_interval_of_gaussian_noise_covers_and_is_near_the_least(
    sigma: float, confidence: float
) -> None:
    reach = int(DiscreteGaussian(sigma=sigma).interval(confidence=confidence).upper)
    law = discrete_gaussian(sigma, math.ceil(12 * sigma) + 3)
    assert sum(weight for x, weight in law.items() if abs(x) <= reach) >= confidence
    assert reach < 2 or sum(weight for x, weight in law.items() if abs(x) < reach - 1) < confidence


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_intervals_of_real_noise_cover_with_rounding(confidence: float) -> None:
    laplace = Laplace(scale=1.0, granularity=0.25).interval(confidence=confidence)
    inner = sum(
        weight
        for x, weight in floored_laplace(4.0, 200).items()
        if abs((x + 0.5) * 0.25) + 0.125 <= laplace.upper
    )
    assert inner >= confidence
    stairs = Staircase(epsilon=1.0, granularity=2.0**-8)
    reach = stairs.interval(confidence=confidence).upper
    law = staircase_cells(1.0, 256, float(stairs._gamma), 30)
    covered = sum(weight for x, weight in law.items() if abs(x + 0.5) / 256 + 1 / 512 <= reach)
    assert covered >= confidence
    assert reach <= log(1 / (1 - mpf(confidence))) + 1.01


@pytest.mark.parametrize(
    ("mechanism", "law", "step", "offset"),
    [
        (Geometric(scale=0.4), discrete_laplace(0.4, 60), 1.0, 0.0),
        (Geometric(scale=9.0), discrete_laplace(9.0, 900), 1.0, 0.0),
        (DiscreteGaussian(sigma=0.3), discrete_gaussian(0.3, 20), 1.0, 0.0),
        (DiscreteGaussian(sigma=1.3), discrete_gaussian(1.3, 40), 1.0, 0.0),
        (DiscreteGaussian(sigma=6.0), discrete_gaussian(6.0, 90), 1.0, 0.0),
        (Laplace(scale=1.0, granularity=0.5), floored_laplace(2.0, 300), 0.5, 0.5),
        (
            Staircase(epsilon=1.0, gamma=0.25, granularity=2.0**-8),
            staircase_cells(1.0, 256, 0.25, 60),
            2.0**-8,
            0.5,
        ),
    ],
    ids=str,
)
def test_standard_errors_are_those_of_the_law(
    mechanism: Any, law: dict[int, mpf], step: float, offset: float
) -> None:
    spread = sqrt(sum(weight * ((x + mpf(offset)) * step) ** 2 for x, weight in law.items()))
    assert mechanism.standard_error == pytest.approx(float(spread), rel=1e-5)


def test_every_mechanism_is_made_from_its_description() -> None:
    for text in (
        "Geometric(scale=20, sensitivity=2)",
        "DiscreteGaussian(sigma=3.5)",
        "Laplace(scale=0.5, sensitivity=3)",
        "Gaussian(sigma=7)",
        "Staircase(epsilon=0.5, gamma=0.25)",
        "RandomizedResponse(epsilon=0.5, categories=4)",
    ):
        described = q.parse_release(text)
        made = mechanisms.mechanism_for(described)
        assert type(made).__name__ == type(described).__name__
        drawn = q.compose(made.loss).epsilon(delta=1e-3)
        asked = q.compose(described).epsilon(delta=1e-3)
        assert asked * (1 - 1e-3) <= drawn <= asked * (1 + 1e-3)
