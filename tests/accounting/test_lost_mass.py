"""Answers that were wrong once: recorded numbers lie inside, and what rests on them holds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from flint import arb

from quaestor import (
    Bounds,
    DiscreteGaussian,
    Gaussian,
    PointPrior,
    PoissonSampled,
    PureDP,
    Release,
    calibrate,
    compose,
    hypothesis_bounds,
    largest_count,
    parse_release,
)
from quaestor.accounting import filters
from tests.laws.float_ends import Known, true_delta
from tests.oracles import outcomes as few
from tests.oracles import shifts
from tests.oracles.balls import ball, contradicted, precisely
from tests.oracles.composition import homogeneous_epsilon
from tests.vectors import load

CASES = load("lost_mass")
Case = dict[str, Any]


def asked(case: Case) -> Bounds:
    """The answer to the case's question, as an interval."""
    releases, at = [parse_release(text) for text in case["releases"]], case["at"]
    if case["question"] == "delta":
        return compose(*releases).delta_bounds(epsilon=at)
    if case["question"] == "epsilon":
        return compose(*releases).epsilon_bounds(delta=at)
    if case["question"] == "false_negative":
        return compose(*releases).tradeoff().false_negative_bounds(false_positive=at)
    (release,) = releases
    cost = release.log_moment(at)
    return Bounds(lower=0.0, upper=math.inf if cost is None else at_most(cost))


def at_most(number: Fraction) -> float:
    """The largest float that is not above."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def test_no_recorded_case_has_vanished() -> None:
    assert len({case["id"] for case in CASES}) == 22


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_bounds_contain_what_the_oracles_say(case: Case) -> None:
    bounds = asked(case)
    if case["expected"] == "inf":
        assert bounds.upper == math.inf
        return
    truth = arb(case["expected"])
    if "." in case["expected"]:
        truth = truth + arb(0, abs(truth) * arb(10) ** -43)
    assert not contradicted(bounds, truth)
    if "width" in case:
        assert ball(bounds.upper) <= truth * (1 + ball(case["width"]))


# ------------------------------------------------------------------------- what rests on them

SMALL_NOISE = PoissonSampled(release=DiscreteGaussian(sigma=0.5, sensitivity=40), rate=0.1)
SMALLER_NOISE = PoissonSampled(release=DiscreteGaussian(sigma=0.1, sensitivity=8), rate=0.01)


def fitting(filter_: filters.Filter, release: Release) -> int:
    return filters.remaining_count(filter_, dict.fromkeys(filter_.meters, Fraction(0)), release)


def test_calibration_is_not_deceived_by_mass_that_underflows() -> None:
    def build(sigma: float) -> Release:
        noise = DiscreteGaussian(sigma=sigma, sensitivity=40)
        return PoissonSampled(release=noise, rate=0.1)

    sigma = calibrate(build, epsilon=1.0, delta=1e-6)
    known = Known(
        release=build(sigma),
        outcomes=lambda: few.sampled(few.discrete_gaussian(sigma, 40), 0.1),
    )
    assert 40 < sigma < 60
    assert not true_delta([known], 1.0) > 1e-6


def test_not_even_one_release_fits_that_tells_all_of_one_in_ten() -> None:
    assert largest_count(SMALL_NOISE, epsilon=1.0, delta=1e-6) == 0
    for make in (filters.basic_filter, filters.default_filter, filters.gaussian_filter):
        assert fitting(make(epsilon=1.0, delta=1e-6), SMALL_NOISE) == 0
        assert fitting(make(epsilon=1.0, delta=1e-6), SMALLER_NOISE) == 0


def test_a_prior_that_repeats_a_name_means_one_database() -> None:
    names = tuple(str(number) for number in range(1, 101))
    found = hypothesis_bounds(
        [PureDP(epsilon=0.1)] * 100,
        null=PointPrior(names),
        alternative=PointPrior(("1",) * 100),
    ).epsilon(delta=1e-6)
    truth = homogeneous_epsilon(epsilon=0.1, delta=0, count=99, target=1e-6)
    assert truth <= found <= truth * 1.001


@pytest.mark.parametrize("length", [10, 100, 1000])
def test_a_long_history_of_additions_stays_around_the_closed_form(length: int) -> None:
    spent = compose(Gaussian(sigma=0.5))
    for _ in range(length):
        spent = spent.then(Gaussian(sigma=100.0))
    bounds = spent.delta_bounds(epsilon=8.0)
    mu_squared = 4 + length * Fraction(1, 10_000)
    truth = precisely(lambda: shifts.gaussian(ball(mu_squared).sqrt())(ball(8)))
    assert not contradicted(bounds, truth)
    assert bounds.relative_width <= 1e-3
