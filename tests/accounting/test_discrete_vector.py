"""Discrete Gaussian noise on several numbers against every vector of changes, listed."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

import quaestor as q

FLOATS = 1e-9  # more than the sums below are wrong by


def changes(sensitivity: float, coordinates: int) -> list[tuple[int, ...]]:
    """Every vector of whole numbers that is no longer, up to signs and order."""
    reach = range(math.floor(sensitivity) + 1)
    limit = Fraction(sensitivity) ** 2
    listed = itertools.combinations_with_replacement(reach, coordinates)
    return [each for each in listed if 0 < sum(v * v for v in each) <= limit]


def losses(sigma: float, moved: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The whole loss, in halves of 1/sigma^2, and its probabilities: sums, one by one."""
    far = math.ceil(9 * sigma)
    x = np.arange(-far, far + 1)
    law = np.exp(-(x**2) / (2 * sigma * sigma))
    law /= math.fsum(law)
    total, base = np.ones(1), 0
    for v in moved:  # 2 v x + v^2, of x from the world with the person
        if v:
            spread = np.zeros(4 * v * far + 1)
            spread[:: 2 * v] = law
            total = np.convolve(total, spread)
            base += v * v - 2 * v * far
    return base + np.arange(total.size), total


def delta(sigma: float, moved: tuple[int, ...], epsilon: float, times: int = 1) -> float:
    units, chances = losses(sigma, moved)
    first, whole = units[0], chances
    for _ in range(times - 1):
        first, whole = first + units[0], np.convolve(whole, chances)
    lost = (first + np.arange(whole.size)) / (2 * sigma * sigma)
    gains = np.where(lost > epsilon, -np.expm1(np.minimum(epsilon - lost, 0.0)), 0.0)
    return math.fsum(whole * gains)


@pytest.mark.parametrize("seed", range(30))
def test_no_change_is_seen_more_often_than_stated_and_the_worst_is_above_the_lower_end(
    seed: int,
) -> None:
    rng = random.Random(seed)
    sigma = rng.choice((1.0, 1.3, 2.0, 3.7, 6.0))
    coordinates = rng.randint(1, 4)
    sensitivity = rng.choice((1.0, 1.5, 2.0, math.sqrt(5), 3.0, 3.3))
    times = rng.choice((1, 1, 2))
    release = q.DiscreteGaussianVector(
        sigma=sigma, sensitivity=sensitivity, coordinates=coordinates
    )
    together = q.compose(release * times)
    for epsilon in (0.0, 0.1, 0.5, 1.5, 4.0):
        bounds = together.delta_bounds(epsilon=epsilon)
        seen = [delta(sigma, moved, epsilon, times) for moved in changes(sensitivity, coordinates)]
        assert max(seen) * (1 - FLOATS) <= bounds.upper
        assert bounds.lower <= max(seen) * (1 + FLOATS) + 1e-13


@pytest.mark.parametrize("coordinates", [1, 2, 9, 10**6])
@pytest.mark.parametrize("ratio", [0.01, 0.5, 1.0, 4.0])
def test_wide_noise_is_as_good_as_continuous(ratio: float, coordinates: int) -> None:
    release = q.DiscreteGaussianVector(
        sigma=1000.0, sensitivity=1000 * ratio, coordinates=coordinates
    )
    exact = Fraction(release.sensitivity) / 1000
    assert exact < release.known_mu() < exact * Fraction(100001, 100000)
    assert release.least_mu() < exact
    if coordinates > 1:
        assert release.least_mu() > exact * Fraction(999, 1000)


def test_probabilities_that_are_close_both_ways_have_close_normal_quantiles() -> None:
    """The second step of the proof, at its ends and inside."""
    with mp.workdps(60):

        def quantile(p: mp.mpf) -> mp.mpf:
            return mp.sqrt(2) * mp.erfinv(2 * p - 1)

        for slack in (mp.mpf("0.07"), mp.mpf("0.01"), mp.mpf("1e-6")):
            for step in range(1, 40):
                p = mp.mpf(step) / 40
                largest = min(mp.exp(slack) * p, 1 - mp.exp(-slack) * (1 - p))
                assert quantile(largest) <= quantile(p) + slack / mp.mpf("0.7")


@pytest.mark.parametrize("width", [0.625, 0.7, 1.0, 1.5])
@pytest.mark.parametrize("sigma", [2.0, 3.0])
def test_a_whole_number_drawn_near_continuous_noise_is_all_but_discrete_noise(
    sigma: float, width: float
) -> None:
    """The first step of the proof, by integrating."""
    from quaestor.accounting.releases.derived.discrete_vector import _slack

    slack = _slack(Fraction(width), 1)
    assert slack is not None
    spread = math.sqrt(sigma**2 - width**2)
    z = np.arange(-40 * 64, 40 * 64 + 1) / 64  # sums of smooth functions that vanish at the ends
    noise = np.exp(-(z**2) / (2 * spread**2)) / (spread * math.sqrt(2 * math.pi)) / 64
    wholes = np.arange(-60, 61)
    weights = np.exp(-((wholes[:, None] - z) ** 2) / (2 * width**2))
    drawn = (weights / weights.sum(axis=0)) @ noise
    exact = np.exp(-(wholes**2) / (2 * sigma**2))
    exact /= math.fsum(exact)
    near = np.abs(wholes) <= 8
    assert np.max(np.abs(np.log(drawn[near] / exact[near]))) <= float(slack) + 1e-9


@pytest.mark.parametrize("moves", [(1.0, 1.0), (2.0, 0.3), (0.1, 0.05), (3.0, 2.5), (1.0, 1e-3)])
def test_laplace_noise_loses_most_where_one_number_moves_by_all(moves: tuple[float, float]) -> None:
    """By the two losses themselves, against the closed form of one number."""
    larger, smaller = max(moves), min(moves)
    for epsilon in np.linspace(0.0, larger + smaller, 9):

        def left(m: float, at: float = float(epsilon)) -> float:
            return max(1 - math.exp((at - m - larger) / 2), 0.0)

        places = np.linspace(-smaller, smaller, 20_001)
        values = np.array([left(m) for m in places]) * np.exp(-(smaller - places) / 2) / 4
        middle = float(np.sum((values[1:] + values[:-1]) / 2 * np.diff(places)))
        both = left(smaller) / 2 + left(-smaller) * math.exp(-smaller) / 2 + middle
        one = 1 - math.exp((float(epsilon) - larger - smaller) / 2)
        assert both <= one + 1e-8


@pytest.mark.parametrize(
    "wrong",
    [
        {"sigma": 0.5},
        {"sensitivity": 0.5},
        {"sensitivity": math.inf},
        {"coordinates": 0},
        {"coordinates": 1.5},
        {"sigma": 1.0, "coordinates": 10**9},
    ],
)
def test_parameters_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    given = {"sigma": 4.0, "sensitivity": 2.0, "coordinates": 3, **wrong}
    with pytest.raises(q.InvalidParameter):
        q.DiscreteGaussianVector(**given)  # type: ignore[arg-type]
