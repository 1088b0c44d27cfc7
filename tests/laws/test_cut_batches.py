"""Poisson batches that are cut, often or once in 1e15 steps: against sums over what is told."""

from __future__ import annotations

import itertools
import math
import random

import mpmath as mp
import numpy as np
import pytest

from quaestor import Gaussian, PoissonSampled, TruncatedPoissonGaussian, compose
from quaestor.accounting.loss.laws.labelled import LabelledLoss
from quaestor.accounting.loss.laws.sampling.sampled_gaussian import SampledGaussianLosses
from tests.oracles.two_steps import Sampled, two_steps

REFERENCE, LEAST = 1e-7, 3e-15  # what the quadrature leaves open


def chance_of(least: int, people: int, rate: float) -> mp.mpf:
    """P[Bin(people, rate) >= least], term by term."""
    with mp.workdps(40):
        q = mp.mpf(rate)
        term = mp.binomial(people, least) * q**least * (1 - q) ** (people - least)
        total = mp.mpf(0)
        for k in range(least, people + 1):
            total += term
            term *= (people - k) * q / ((k + 1) * (1 - q))
            if k > people * rate and term < total * mp.mpf("1e-30"):
                break
        return total


def cases_of(release: TruncatedPoissonGaussian) -> list[tuple[float, Sampled]]:
    """What the docstring says: nothing is cut, or something is."""
    mu = release.sensitivity / release.sigma
    cut = chance_of(release.batch, release.population - 1, release.rate)
    more = chance_of(release.batch + 1, release.population, release.rate)
    rate = float(more / cut * release.batch / release.population)
    return [
        (float(1 - cut), Sampled(mu, release.rate)),
        (float(cut), Sampled(2 * mu, rate)),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_two_steps_contain_the_sum_over_what_is_cut(seed: int) -> None:
    rng = random.Random(seed)
    people = rng.choice([50, 600, 60_000])
    rate = 10 ** rng.uniform(-1.5, -0.5)
    mean = people * rate
    batch = int(mean + rng.choice([-1, 0, 1, 3, 6]) * math.sqrt(mean))
    step = TruncatedPoissonGaussian(
        sigma=rng.uniform(0.7, 4.0),
        rate=rate,
        batch=min(max(batch, 1), people - 1),
        population=people,
    )
    spent, cases = compose(step * 2), cases_of(step)
    for at in (0.05, 0.4, 1.5):
        truth = max(
            sum(
                weight * other * two_steps(at, first, second, removing=removing)
                for (weight, first), (other, second) in itertools.product(cases, repeat=2)
            )
            for removing in (True, False)
        )
        bounds = spent.delta_bounds(epsilon=at)
        assert bounds.lower <= truth * (1 + REFERENCE) + LEAST
        assert truth * (1 - REFERENCE) - LEAST <= bounds.upper
        assert bounds.relative_width < 1e-3 or bounds.upper < 1e-10


@pytest.mark.parametrize("steps", [1, 30, 5_000])
@pytest.mark.parametrize("batch", [750, 790, 800, 810, 850])
def test_cuts_that_hardly_ever_come_add_no_more_than_their_probability(
    batch: int, steps: int
) -> None:
    """Told whether any batch was cut: if none was, these are Poisson samples."""
    cut = TruncatedPoissonGaussian(sigma=1.0, rate=0.01, batch=batch, population=60_000)
    plain = PoissonSampled(release=Gaussian(sigma=1.0), rate=0.01)
    chance = float(steps * chance_of(batch, 59_999, 0.01))
    at = compose(plain * steps).epsilon(delta=1e-6)
    ours = compose(cut * steps).delta_bounds(epsilon=at)
    usual = compose(plain * steps).delta_bounds(epsilon=at)
    assert ours.lower <= usual.upper + chance
    assert ours.upper >= usual.lower * (1 - chance)
    assert ours.relative_width < 1e-3
    found = compose(cut * steps).epsilon_bounds(delta=1e-6)
    assert found.relative_width < 1e-3


def test_a_batch_that_is_cut_now_and_then_costs_more_the_smaller_it_is() -> None:
    costs = [
        compose(
            TruncatedPoissonGaussian(sigma=1.0, rate=0.01, batch=batch, population=60_000) * 1_000
        ).epsilon_bounds(delta=1e-6)
        for batch in (800, 700, 680, 660)
    ]
    for fewer, more in itertools.pairwise(costs):
        assert fewer.lower <= more.upper
    assert costs[0].upper < costs[-1].lower


@pytest.mark.parametrize("above", [math.inf, 3.0])
@pytest.mark.parametrize("lost", [1e-12, 1e-3, 0.5])
def test_what_is_left_out_of_a_choice_is_counted(lost: float, above: float) -> None:
    """All probability is in the moment at 0, lost, or set aside as large; under both hypotheses."""
    parts = [
        (weight, SampledGaussianLosses(*map(np.array, ([mu], [0.1], [1.0])), removing=True))
        for weight, mu in ((0.9, 1.0), (0.1, 2.0))
    ]
    ((shorter, _),) = LabelledLoss(parts).truncated(lost, above)
    at = np.array([0j, -1 + 0j])
    first, second = (np.exp(shorter.log_moment(at[i : i + 1])[0].real[0]) for i in range(2))
    large = [0.0, 0.0]
    if shorter.large is not None:
        logs = shorter.large.log_none, shorter.large.log_none_second
        large = [float(-each.expm1().mid()) for each in logs]
    assert first + large[0] + shorter.lost == pytest.approx(1.0, abs=1e-8)
    assert first + large[0] + shorter.lost >= 1 - 1e-12
    assert second + large[1] <= 1 - (0.1 if lost == 0.5 else 0.0) + 1e-12
    assert shorter.lost <= lost
    if lost < 0.1:
        assert (shorter.large is not None) == (above == 3.0)
