"""Two sampled Gaussian releases against an integral of the single one's closed form."""

from __future__ import annotations

import math
import random

import pytest

from quaestor import Gaussian, PoissonSampled
from quaestor.accounting.loss.engine.loss_profile import LossProfile

REFERENCE = 1e-6  # relative error of the trapezoidal sums below, with 8,000 places


def upper_normal(x: float) -> float:
    """The probability that a standard normal exceeds x."""
    return 0.5 * math.erfc(x / math.sqrt(2))


def single_delta(epsilon: float, *, mu: float, rate: float, removing: bool) -> float:
    """Delta of one release at an epsilon of either sign: the test "the loss exceeds epsilon"."""
    ratio = math.exp(epsilon if removing else -epsilon)
    if ratio <= 1 - rate:
        return 1 - math.exp(epsilon) if removing else 0.0
    place = (math.log((ratio - (1 - rate)) / rate) + mu * mu / 2) / mu
    side = 1 if removing else -1
    without = upper_normal(side * place)
    mixed = (1 - rate) * without + rate * upper_normal(side * (place - mu))
    return mixed - ratio * without if removing else without - math.exp(epsilon) * mixed


def double_delta(epsilon: float, *, mu: float, rate: float, removing: bool) -> float:
    """Delta of two releases: the first one's place integrated out."""
    step = (24 + mu) / 8000
    total = 0.0
    for i in range(8001):
        x = -12 + i * step
        w = 1 - rate + rate * math.exp(mu * x - mu * mu / 2)
        bell = math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (w if removing else 1.0)
        shifted = epsilon - (math.log(w) if removing else -math.log(w))
        total += bell * single_delta(shifted, mu=mu, rate=rate, removing=removing)
    return total * step


@pytest.mark.parametrize("removing", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_two_releases_contain_the_integral(seed: int, removing: bool) -> None:  # noqa: FBT001
    rng = random.Random(seed)
    mu, rate = rng.uniform(0.3, 2.5), math.exp(rng.uniform(-5, -0.2))
    largest = 2.0 if removing else -1.5 * math.log1p(-rate)
    epsilon = rng.choice([0.0, rng.uniform(0, largest)])
    laws = PoissonSampled(release=Gaussian(sigma=1 / mu), rate=rate).losses()
    bounds = LossProfile([(laws[0 if removing else 1], 2)]).delta_bounds(epsilon=epsilon)
    truth = double_delta(epsilon, mu=mu, rate=rate, removing=removing)
    assert bounds.lower <= truth * (1 + REFERENCE) + 1e-9
    assert truth * (1 - REFERENCE) - 1e-9 <= bounds.upper
