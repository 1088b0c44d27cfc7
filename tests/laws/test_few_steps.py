"""Few steps, or weak sampling: against quadrature that shares nothing with the engine."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from quaestor import Gaussian, PoissonSampled, compose
from quaestor.accounting.loss.engine.inversion import Line
from quaestor.accounting.loss.engine.loss_sum import Product
from quaestor.accounting.loss.laws.sampled_gaussian import SampledGaussianLoss
from quaestor.accounting.loss.laws.truncated_gaussian import TruncatedSampledGaussian

REFERENCE = 1e-7  # relative error of the sums below, and what erfc leaves of small numbers
LEAST = 3e-15
_erfc = np.frompyfunc(math.erfc, 1, 1)


def _tail(x: np.ndarray) -> np.ndarray:
    values: np.ndarray = np.asarray(_erfc(x / math.sqrt(2)), np.float64) / 2
    return values


def _single(epsilons: np.ndarray, mu: float, rate: float, *, removing: bool) -> np.ndarray:
    """Delta of one release at epsilons of either sign: the test "the loss exceeds epsilon"."""
    odds = np.exp(epsilons if removing else -epsilons)
    inner = (odds - 1 + rate) / rate
    inside = inner > 0
    place = np.where(inside, np.log(np.where(inside, inner, 1.0)) / mu + mu / 2, -40.0)
    side = 1.0 if removing else -1.0
    without = _tail(side * place)
    mixed = (1 - rate) * without + rate * _tail(side * (place - mu))
    if removing:
        return np.asarray(mixed - odds * without)
    return np.where(inside, without - mixed / odds, 0.0)


def _double(epsilon: float, mu: float, rate: float, *, removing: bool) -> float:
    """Delta of two releases: the first one's noise integrated out, on 12,000 places."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    panels, low, high = 1500, -11.0, 11.0 + mu
    half = (high - low) / panels / 2
    middles = low + half * (2 * np.arange(panels) + 1)
    x = (middles[:, None] + half * nodes).ravel()
    losses = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
    masses = np.tile(weights * half, panels) * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    if removing:
        return float(
            np.sum(masses * np.exp(losses) * _single(epsilon - losses, mu, rate, removing=True))
        )
    return float(np.sum(masses * _single(epsilon + losses, mu, rate, removing=False)))


def _worst(epsilon: float, mu: float, rate: float) -> float:
    return max(
        _double(epsilon, mu, rate, removing=True), _double(epsilon, mu, rate, removing=False)
    )


def _random_case(seed: int) -> tuple[float, float, float]:
    rng = random.Random(seed)
    sigma = math.exp(rng.uniform(math.log(0.3), math.log(100.0)))
    rate = math.exp(rng.uniform(math.log(1e-6), math.log(0.3)))
    return sigma, rate, 10 ** rng.uniform(-10.0, -3.0)


def _check_two_steps(seed: int) -> None:
    sigma, rate, delta = _random_case(seed)
    spent = compose(PoissonSampled(release=Gaussian(sigma=sigma), rate=rate) * 2)
    mu = 1 / sigma
    bounds = spent.epsilon_bounds(delta=delta)
    slack = REFERENCE * delta + LEAST
    assert _worst(bounds.upper, mu, rate) <= delta + slack
    if bounds.lower > 0.0:
        assert _worst(bounds.lower, mu, rate) >= delta - slack
    epsilon = bounds.upper * random.Random(-seed - 1).uniform(0.3, 1.5)
    answer = spent.delta_bounds(epsilon=epsilon)
    truth = _worst(epsilon, mu, rate)
    assert answer.lower <= truth * (1 + REFERENCE) + LEAST
    assert truth * (1 - REFERENCE) - LEAST <= answer.upper


@pytest.mark.parametrize("seed", range(12))
def test_two_steps_contain_the_integral_of_the_closed_form(seed: int) -> None:
    _check_two_steps(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_two_steps_contain_the_integral_of_the_closed_form_everywhere(block: int) -> None:
    for seed in range(1000 + block * 100, 1100 + block * 100):
        _check_two_steps(seed)


@pytest.mark.parametrize("removing", [True, False])
@pytest.mark.parametrize(
    ("mu", "rate", "theta", "step", "count"),
    [
        (1.0, 1e-4, 3.0, 0.5, 2000),
        (1.0, 1e-4, 200.0, 8.0, 3000),
        (2.0, 0.1, 1.5, 0.13, 1500),
        (0.1, 0.3, 30.0, 5.0, 1500),
        (3.3, 1e-6, 0.8, 0.1, 3000),
        (0.01, 0.2, 120.0, 16.0, 1500),
    ],
)
def test_moments_lie_within_their_stated_errors(
    *, mu: float, rate: float, theta: float, step: float, count: int, removing: bool
) -> None:
    law = TruncatedSampledGaussian(mu=mu, rate=rate, removing=removing, lost=1e-14)
    s = np.asarray(theta + 1j * step * np.arange(count), np.complex128)
    values, errors = law.log_moment(s)
    nodes, weights = np.polynomial.legendre.leggauss(10)
    panels = 20_000
    half = (law.high - law.low) / panels / 2
    x = (law.low + half * (2 * np.arange(panels) + 1)[:, None] + half * nodes).ravel()
    losses = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
    logs = np.log(np.tile(weights * half, panels) / math.sqrt(2 * math.pi)) - x * x / 2
    size = float(np.exp(values.real[0]))
    for k in (0, 1, 37, count // 3, count - 1):
        power = s[k] + 1 if removing else -s[k]
        truth = complex(np.sum(np.exp(logs + power * losses)))
        found = complex(np.exp(values[k]))
        reference = 4e-14 * size * (1 + 1e-3 * abs(s[k]))
        assert abs(truth - found) <= math.expm1(min(errors[k], 50.0)) * abs(found) + reference


@pytest.mark.parametrize("removing", [True, False])
@pytest.mark.parametrize("lost", [3e-2, 1e-4, 1e-8])
def test_what_is_left_out_is_charged(lost: float, *, removing: bool) -> None:
    mu, rate, epsilon = 1.5, 0.3, 0.5
    law = SampledGaussianLoss(mu=mu, rate=rate, removing=removing)
    product = Product([(law, 2)]).truncated(lost)
    line = Line.through(product, epsilon, width=1e-3)
    truth = _double(epsilon, mu, rate, removing=removing)
    assert 0.0 < line.lost <= lost * (1 + 1e-6)
    assert line.delta(epsilon).lower <= truth <= line.delta(epsilon).upper
    if lost == 3e-2:  # where it matters, forgetting the charge shows
        assert replace(line, lost=0.0).delta(epsilon).upper < truth


@pytest.mark.parametrize(
    ("rate", "sigma", "count", "delta"),
    [
        (0.1, 0.5, 2, 1e-5),
        (1e-4, 1.0, 100, 1e-5),
        (1e-4, 1.0, 20, 1e-10),
        (1e-6, 1.0, 1_000_000, 1e-10),
        (1e-6, 0.5, 2, 1e-10),
        (0.3, 100.0, 100, 1e-5),
        (0.01, 100.0, 20, 1e-10),
        (0.3, 0.5, 1_000_000, 1e-5),
    ],
)
def test_an_answer_is_within_a_thousandth(
    rate: float, sigma: float, count: int, delta: float
) -> None:
    spent = compose(PoissonSampled(release=Gaussian(sigma=sigma), rate=rate) * count)
    bounds = spent.epsilon_bounds(delta=delta)
    assert bounds.relative_width < 1e-3
    assert spent.delta_bounds(epsilon=bounds.upper).lower <= delta
    assert spent.delta_bounds(epsilon=bounds.lower).upper >= delta


def test_no_epsilon_is_needed_where_even_the_whole_distance_is_small() -> None:
    spent = compose(PoissonSampled(release=Gaussian(sigma=0.3), rate=1e-6) * 5)
    assert spent.epsilon_bounds(delta=1e-5).upper == 0.0
