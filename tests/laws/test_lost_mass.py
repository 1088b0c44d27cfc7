"""Samples of noise that is small beside the sensitivity: no mass may be lost, in any answer.

With noise this small the two worlds never look alike, so that a sample of rate q is told with
probability q: the truth is known without any computation.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from mpmath import mpf

from quaestor import (
    ApproxDP,
    DiscreteGaussian,
    Geometric,
    PoissonSampled,
    Release,
    SampledWithoutReplacement,
    calibrate,
    compose,
    largest_count,
)
from quaestor.accounting.filters import Meter, basic_filter, default_filter, remaining_count
from tests.oracles import pairs

TOLD: list[tuple[Release, float]] = [
    (PoissonSampled(release=DiscreteGaussian(sigma=0.5, sensitivity=40), rate=0.1), 0.1),
    (PoissonSampled(release=DiscreteGaussian(sigma=0.1, sensitivity=8), rate=0.01), 0.01),
    (PoissonSampled(release=Geometric(scale=1.0, sensitivity=800), rate=0.1), 0.1),
    (PoissonSampled(release=ApproxDP(epsilon=1000.0, delta=1e-9), rate=0.01), 0.01),
    (
        SampledWithoutReplacement(
            release=Geometric(scale=1.0, sensitivity=800), sample=1, population=10
        ),
        0.1,
    ),
    (
        SampledWithoutReplacement(
            release=DiscreteGaussian(sigma=0.5, sensitivity=40), sample=1, population=10
        ),
        0.1,
    ),
]


@pytest.mark.parametrize(("release", "rate"), TOLD, ids=lambda x: str(x)[:60])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 50.0])
def test_the_sampled_person_is_seen(release: Release, rate: float, epsilon: float) -> None:
    bounds = compose(release).delta_bounds(epsilon=epsilon)
    assert bounds.lower <= rate * (1 + 1e-12)
    assert bounds.upper >= rate * (1 - 1e-12)
    assert bounds.width <= 1e-9


@pytest.mark.parametrize(("release", "rate"), TOLD, ids=lambda x: str(x)[:60])
def test_nothing_of_it_fits_a_small_delta(release: Release, rate: float) -> None:
    assert largest_count(release, epsilon=1.0, delta=1e-6) == 0
    assert largest_count(release, epsilon=1.0, delta=1.5 * rate) == 1
    for filter_ in (
        basic_filter(epsilon=1.0, delta=1e-6),
        default_filter(epsilon=1.0, delta=1e-6),
    ):
        nothing: dict[Meter, Fraction | None] = dict.fromkeys(filter_.meters, Fraction(0))
        assert remaining_count(filter_, nothing, release) == 0


def test_calibration_finds_noise_as_large_as_the_sensitivity() -> None:
    sigma = calibrate(
        lambda sigma: PoissonSampled(
            release=DiscreteGaussian(sigma=sigma, sensitivity=40), rate=0.1
        ),
        epsilon=1.0,
        delta=1e-6,
    )
    assert 40.0 < sigma < 60.0
    at = pairs.worst_sampled(pairs.discrete_gaussian(sigma, 40), 0.1, 1.0)
    assert at <= mpf(1e-6)
    less = pairs.worst_sampled(pairs.discrete_gaussian(sigma * 0.999, 40), 0.1, 1.0)
    assert less > mpf(1e-6)


@pytest.mark.parametrize("order", [1e-3, 1.0, 20.0])
@pytest.mark.parametrize(("release", "rate"), TOLD[:3], ids=lambda x: str(x)[:60])
def test_moments_are_at_least_those_of_one_test(
    release: Release, rate: float, order: float
) -> None:
    cost = release.log_moment(order)
    if cost is not None:  # "the other half of the range was reached": once in at most e^-30 without
        assert float(cost) >= (1 + order) * math.log(rate) + 30 * order
