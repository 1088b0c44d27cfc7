"""Where curves end: ties at the sum of the largest losses, and what is told outright, exactly."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import pytest
from mpmath import mpf

from quaestor import (
    ApproxDP,
    BoundedRange,
    Bounds,
    Gaussian,
    GaussianDP,
    Geometric,
    Laplace,
    PoissonSampled,
    ProbabilityVectors,
    PureDP,
    RandomizedResponse,
    Release,
    SampledWithoutReplacement,
    Staircase,
    ZeroConcentratedDP,
    compose,
    largest_count,
)
from tests.oracles.pairs import gaussian_delta

PURE: list[tuple[Release, Fraction]] = [
    (PureDP(epsilon=0.1), Fraction(0.1)),
    (Laplace(scale=1.0), Fraction(1)),
    (Laplace(scale=3.0, sensitivity=0.1), Fraction(0.1) / 3),
    (Geometric(scale=3.0, sensitivity=5), Fraction(5, 3)),
    (Geometric(scale=2.0), Fraction(1, 2)),
    (RandomizedResponse(epsilon=0.3, categories=4), Fraction(0.3)),
    (Staircase(epsilon=0.7), Fraction(0.7)),
    (BoundedRange(epsilon=0.5), Fraction(0.5)),
    (PoissonSampled(release=Laplace(scale=1.0), rate=1.0), Fraction(1)),
]


def least_float_at_least(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


@pytest.mark.parametrize(("release", "epsilon"), PURE, ids=lambda x: str(x)[:40])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 1000, 10**9, 10**15])
def test_no_delta_is_left_at_the_exact_sum_of_pure_epsilons(
    release: Release, epsilon: Fraction, count: int
) -> None:
    spent = compose(release * count)
    total = least_float_at_least(epsilon * count)
    for at in (total, math.nextafter(total, math.inf), 2 * total, math.inf):
        assert spent.delta_bounds(epsilon=at) == Bounds.exactly(0.0)
    known = spent.epsilon_bounds(delta=0.0)
    assert known.upper == total
    assert known.lower <= epsilon * count


def test_three_laplace_releases_are_3_dp_and_no_less() -> None:
    spent = compose(Laplace(scale=1.0) * 3)
    assert spent.delta(epsilon=3.0) == 0.0
    assert spent.epsilon_bounds(delta=0.0) == Bounds.exactly(3.0)
    assert largest_count(Laplace(scale=1.0), epsilon=3.0, delta=0.0) == 3
    assert largest_count(Laplace(scale=1.0), epsilon=math.nextafter(3.0, 0.0), delta=0.0) == 2


def test_what_one_release_tells_outright_leaves_the_others_their_sum() -> None:
    spent = compose(ApproxDP(epsilon=0.1, delta=1e-6), Laplace(scale=1.0))
    bounds = spent.epsilon_bounds(delta=1e-6)
    assert Fraction(bounds.lower) <= Fraction(0.1) + 1 <= Fraction(bounds.upper)
    assert bounds.width <= 3e-16
    assert spent.delta_bounds(epsilon=1.2) == Bounds.exactly(1e-6)
    assert spent.epsilon(delta=math.nextafter(1e-6, 0.0)) == math.inf
    assert spent.epsilon(delta=2e-6) <= 1.1


@pytest.mark.parametrize("seed", range(20))
def test_failures_multiply_as_fractions_say(seed: int) -> None:
    rng = random.Random(seed)
    deltas = [rng.choice([2.0**-40, 1e-9, 0.25, 1e-300, 5e-324]) for _ in range(rng.randint(1, 6))]
    boxes = [ApproxDP(epsilon=rng.random(), delta=delta) for delta in deltas]
    kept = math.prod((1 - Fraction(delta) for delta in deltas), start=Fraction(1))
    spent = compose(Laplace(scale=2.0), *boxes)
    bounds = spent.delta_bounds(epsilon=50.0)
    assert Fraction(bounds.lower) <= 1 - kept <= Fraction(bounds.upper)
    assert bounds.upper <= bounds.lower * (1 + 1e-15) + 1e-323
    assert spent.epsilon(delta=math.nextafter(bounds.lower, 0.0)) == math.inf
    assert math.isfinite(spent.epsilon(delta=math.nextafter(bounds.upper, 1.0)))


@pytest.mark.parametrize("rate", [1e-12, 1e-3, 0.3, 1 - 2.0**-53])
@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 30.0, 690.0])
def test_the_largest_loss_of_a_sample_is_enclosed(rate: float, epsilon: float) -> None:
    release = PoissonSampled(release=RandomizedResponse(epsilon=epsilon), rate=rate)
    with mpmath.workdps(400):
        truth = mpmath.log1p(mpf(rate) * mpmath.expm1(mpf(epsilon)))
    bounds = compose(release * 3).epsilon_bounds(delta=0.0)
    assert mpf(bounds.lower) <= 3 * truth <= mpf(bounds.upper)
    assert bounds.relative_width <= 1e-14


def test_a_sample_of_black_boxes_tells_no_more_than_its_share() -> None:
    release = PoissonSampled(release=ApproxDP(epsilon=1.0, delta=1e-3), rate=0.25)
    bounds = compose(release).delta_bounds(epsilon=40.0)
    assert Fraction(1e-3) / 4 in bounds
    replaced = SampledWithoutReplacement(
        release=ApproxDP(epsilon=1.0, delta=1e-3), sample=1, population=4
    )
    bounds = compose(replaced).delta_bounds(epsilon=40.0)
    assert Fraction(1e-3) / 4 in bounds
    assert bounds.relative_width <= 1e-13


def test_vectors_end_at_their_largest_ratio() -> None:
    release = ProbabilityVectors(p=(0.5, 0.25, 0.25), q=(0.25, 0.75, 0.0))
    assert Fraction(1, 4) in compose(release).delta_bounds(epsilon=2.0)
    assert compose(release).epsilon(delta=0.2) == math.inf


@pytest.mark.parametrize(
    "release",
    [
        GaussianDP(mu=1e-162),
        GaussianDP(mu=5e-324),
        ZeroConcentratedDP(rho=5e-324),
        Gaussian(sigma=1e150, sensitivity=1e-150),
        Gaussian(sigma=1e-150, sensitivity=1e150),
    ],
    ids=str,
)
def test_no_finite_epsilon_is_true_without_delta_however_small_the_gaussian(
    release: Release,
) -> None:
    for spent in (compose(release), compose(release * 10**15), compose(release, PureDP(epsilon=1))):
        assert spent.epsilon_bounds(delta=0.0) == Bounds.exactly(math.inf)


@pytest.mark.parametrize("mu", [1e-300, 1e-162, 1e-30, 1e-3])
@pytest.mark.parametrize("count", [1, 10**15])
def test_small_gaussians_keep_their_relative_accuracy(mu: float, count: int) -> None:
    whole = mpf(mu) * mpmath.sqrt(mpf(count))
    spent = compose(GaussianDP(mu=mu) * count)
    bounds = spent.delta_bounds(epsilon=0.0)
    truth = mpmath.erf(whole / (2 * mpmath.sqrt(2)))
    assert mpf(bounds.lower) <= truth <= mpf(bounds.upper)
    assert bounds.relative_width <= 1e-14
    epsilon = float(whole)
    bounds = spent.delta_bounds(epsilon=epsilon)
    with mpmath.workdps(700):
        e = mpf(epsilon)
        near, far = (e / whole - whole / 2), (e / whole + whole / 2)
        root = mpmath.sqrt(2)
        truth = (mpmath.erfc(near / root) - mpmath.exp(e) * mpmath.erfc(far / root)) / 2
        assert mpf(bounds.lower) * (1 - mpf(10) ** -14) <= truth
        assert truth <= mpf(bounds.upper) * (1 + mpf(10) ** -14)
    if bounds.upper < 0.5:
        solved = spent.epsilon_bounds(delta=bounds.upper)
        assert solved.relative_width <= 1e-9
        assert abs(solved.upper / epsilon - 1) <= 1e-9


@pytest.mark.parametrize("sigma", [0.2, 1.0, 40.0])
def test_gaussians_together_are_one(sigma: float) -> None:
    spent = compose(Gaussian(sigma=sigma) * 9, GaussianDP(mu=4 / sigma) * 1)
    for epsilon in (0.0, 0.5 / sigma, 10 / sigma):
        with mpmath.workdps(60):
            truth = gaussian_delta(
                mpmath.sqrt(mpf(9) / mpf(sigma) ** 2 + mpf(4 / sigma) ** 2), epsilon
            )
        bounds = spent.delta_bounds(epsilon=epsilon)
        assert mpf(bounds.lower) <= truth <= mpf(bounds.upper)
        assert bounds.relative_width <= 1e-13
        longer = compose(Gaussian(sigma=sigma) * 9).then(GaussianDP(mu=4 / sigma))
        assert longer.delta_bounds(epsilon=epsilon).overlaps(bounds)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_what_is_nearly_always_told_is_not_taken_for_certain(count: int) -> None:
    """One of the vectors sums to 1 only within rounding: all may be told, or all but 2e-15."""
    nearly = ProbabilityVectors(p=(0.999999999999998, 1.9984014443252818e-15), q=(0.0, 1.0))
    bounds = compose(nearly * count).delta_bounds(epsilon=1e-5)
    assert bounds.lower < 1.0 == bounds.upper
    assert bounds.lower > 1 - 1e-14
