"""Few steps, or weak sampling: against quadrature that shares nothing with the engine."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from quaestor import Gaussian, PoissonSampled, ProbabilityVectors, Staircase, compose
from quaestor.accounting.loss.engine.inversion import Line
from quaestor.accounting.loss.engine.loss_profile import LossProfile
from quaestor.accounting.loss.engine.loss_sum import Product
from quaestor.accounting.loss.laws.sampling.sampled_gaussian import SampledGaussianLoss
from quaestor.accounting.loss.laws.sampling.truncated_gaussian import TruncatedSampledGaussian
from quaestor.errors import BeyondFloats
from tests.laws.lattice_brackets import SampledGaussianCells, brackets, brackets_of
from tests.oracles.two_steps import Sampled, two_steps

if TYPE_CHECKING:
    from quaestor.accounting.loss.engine.integral import LinePlan

REFERENCE = 1e-7  # relative error of the sums below, and what erfc leaves of small numbers
LEAST = 3e-15


def _worst(epsilon: float, mu: float, rate: float) -> float:
    step = Sampled(mu, rate)
    return max(two_steps(epsilon, step, step, removing=removing) for removing in (True, False))


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


@pytest.mark.parametrize("seed", [0, 1, 1170])  # the last: where coarser sums are off by 1e-6
def test_two_steps_contain_the_integral_of_the_closed_form(seed: int) -> None:
    _check_two_steps(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_two_steps_contain_the_integral_of_the_closed_form_everywhere(block: int) -> None:
    for seed in range(1000 + block * 100, 1100 + block * 100):
        _check_two_steps(seed)


def _check_several_steps(seed: int, *, fineness: float, most_cells: float) -> None:
    """Both directions at one epsilon, against losses rounded down and up and convolved."""
    sigma, rate, delta = _random_case(seed)
    rng = random.Random(-seed - 1)
    count = rng.randint(3, 20)
    bounds = compose(
        PoissonSampled(release=Gaussian(sigma=sigma), rate=rate) * count
    ).epsilon_bounds(delta=delta)
    at_most = rate / sigma if bounds.upper == 0.0 else bounds.upper
    epsilon = at_most * rng.choice([1.0, rng.uniform(0.3, 1.5)])
    worst = []
    for removing in (True, False):
        cells = SampledGaussianCells(1 / sigma, rate, removing)
        law = SampledGaussianLoss(mu=1 / sigma, rate=rate, removing=removing)
        found = LossProfile([(law, count)]).delta_bounds(epsilon=epsilon)
        most = cells.most(1e-5 * max(found.upper, 1e-12) / count)
        gap = max(epsilon * fineness / count, count * most / most_cells)
        lower, upper = brackets(cells.masses, count, epsilon, gap=gap, most=most)
        assert found.lower <= upper
        assert lower <= found.upper
        worst.append((lower, upper))
    if epsilon == bounds.upper:
        assert max(lower for lower, _ in worst) <= delta


@pytest.mark.parametrize("seed", range(6))
def test_several_steps_overlap_brackets_by_brute_force(seed: int) -> None:
    _check_several_steps(seed, fineness=2e-3, most_cells=2e6)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_several_steps_overlap_brackets_by_brute_force_everywhere(block: int) -> None:
    for seed in range(5000 + block * 30, 5030 + block * 30):
        _check_several_steps(seed, fineness=2e-4, most_cells=1.5e7)


def test_many_different_weak_samples_overlap_brackets_by_brute_force() -> None:
    rng = random.Random(7)
    kinds = [(rng.uniform(0.5, 1.2), 10 ** rng.uniform(-3.5, -2.0)) for _ in range(12)]
    epsilon = 0.08
    for removing in (True, False):
        laws = [(SampledGaussianLoss(mu=mu, rate=rate, removing=removing), 3) for mu, rate in kinds]
        found = LossProfile(laws).delta_bounds(epsilon=epsilon)
        cells = [SampledGaussianCells(mu, rate, removing) for mu, rate in kinds]
        most = max(each.most(1e-6 * max(found.upper, 1e-9)) for each in cells)
        parts = [(each.masses, 3) for each in cells]
        lower, upper = brackets_of(parts, epsilon, gap=2e-4, most=most)
        assert found.relative_width < 1e-3
        assert found.lower <= upper
        assert lower <= found.upper


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
    step = Sampled(mu, rate)
    truth = two_steps(epsilon, step, step, removing=removing)
    assert line.aside is not None
    assert 0.0 < line.aside.lost <= lost * (1 + 1e-6)
    assert line.delta(epsilon).lower <= truth <= line.delta(epsilon).upper
    if lost == 3e-2:  # where it matters, forgetting the charge shows
        assert replace(line, aside=None).delta(epsilon).upper < truth


@pytest.mark.parametrize("count", [2, 9])
def test_a_large_loss_counts_as_sure_only_where_others_cannot_make_up_for_it(count: int) -> None:
    mu, rate = 1.5, 0.3
    law = SampledGaussianLoss(mu=mu, rate=rate, removing=True)
    product = Product([(law, count)]).truncated(1e-12, above=0.5)
    line = Line.through(product, 0.5, width=1e-3)
    aside = line.aside
    assert aside is not None
    assert 0.5 < aside.limit < 0.7
    cells = SampledGaussianCells(mu, rate, removing=True)
    most = cells.most(1e-13)
    for epsilon in (0.01, 0.5, aside.limit, 1.5, 3.0):
        lower, upper = brackets(cells.masses, count, epsilon, gap=3e-3 / count, most=most)
        found = line.delta(epsilon)
        assert found.lower <= upper
        assert lower <= found.upper
    # taken for sure beyond the limit, it would be too little
    wrong = replace(line, aside=replace(aside, limit=math.inf, chance=0.0)).delta(3.0)
    assert wrong.upper < lower


@pytest.mark.parametrize(("mu", "rate", "count"), [(1.5, 0.3, 5), (0.3, 0.05, 20), (2.0, 1e-3, 12)])
def test_a_deficit_is_passed_no_more_often_than_stated(mu: float, rate: float, count: int) -> None:
    law = SampledGaussianLoss(mu=mu, rate=rate, removing=True)
    for chance in (1e-2, 1e-5, 1e-9):
        deficit = Product([(law, count)]).deficit(chance)
        gap = deficit.most / 1000
        cells = SampledGaussianCells(mu, rate, removing=False)
        first, masses, beyond = cells.masses(gap, 20 * deficit.most)
        masses[0] += beyond  # they lose even less
        size = 1 << math.ceil(math.log2(count * masses.size + 1))
        sums = np.fft.irfft(np.fft.rfft(masses, size) ** count, size)
        passed = gap * (first * count + np.arange(size)) > deficit.most
        assert float(np.sum(sums[passed])) <= deficit.chance + 1e-13


@pytest.mark.parametrize("removing", [True, False])
@pytest.mark.parametrize(
    ("mu", "rate", "theta", "high"),
    [
        (1.0, 1e-4, 60.0, 0.2),
        (3.3, 0.01, 0.02, 30.0),
        (0.25, 1e-6, 5e4, 1e-4),
        (2.0, 0.3, 2.0, 9.0),
    ],
)
def test_a_moment_falls_off_as_fast_as_stated(
    *, mu: float, rate: float, theta: float, high: float, removing: bool
) -> None:
    law = TruncatedSampledGaussian(mu=mu, rate=rate, removing=removing, lost=1e-16, above=high)
    at_theta, _ = law.nominal_log_moment(np.array([complex(theta)]))
    scale = math.sqrt(float(np.mean(law.noise.losses(np.linspace(-1, 2, 9)) ** 2)))
    low = np.asarray(10.0 ** np.linspace(-2, 3, 26) / scale)
    low = low[low * law.noise.loss(law.high) < 3e4]
    stated = law.decay(theta, low, low * 1.05)
    assert float(np.max(stated)) > 1e-3
    for start, fall in zip(low, stated, strict=True):
        t = start * np.array([1.0, 1.02, 1.049])
        values, errors = law.nominal_log_moment(theta + 1j * t)
        least = values.real + np.log1p(-np.minimum(np.expm1(np.minimum(errors, 1.0)), 0.999))
        assert np.all(least - at_theta.real[0] <= -fall + 1e-9)


def test_adding_alone_is_as_narrow_as_a_line_through_all_outcomes() -> None:
    law = SampledGaussianLoss(mu=1.0, rate=1e-3, removing=False)
    assert LossProfile([(law, 100)]).delta_bounds(epsilon=0.05).relative_width < 1e-4


@pytest.mark.parametrize(
    ("rate", "sigma", "count", "delta"),
    [
        (1e-6, 0.3, 20, 1e-5),
        (1e-6, 0.5, 100, 1e-5),
        (1e-6, 0.5, 10_000, 1e-10),
        (0.01, 0.3, 1_000_000, 1e-10),
        (0.1, 0.5, 2, 1e-280),
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


@pytest.mark.parametrize(
    ("sigma", "rate", "count", "delta"),
    [(100.0, 1 - 1e-12, 2, 1e-15), (1e4, 1 - 2.0**-53, 2, 1e-15), (2.0, 1e-12, 100, 1e-20)],
)
def test_rates_next_to_0_and_to_1_come_to_an_end(
    sigma: float, rate: float, count: int, delta: float
) -> None:
    """They had a line through all outcomes, which took minutes or never ended."""
    found, more, less = (
        compose(PoissonSampled(release=Gaussian(sigma=sigma), rate=each) * count)
        for each in (rate, min(rate * (1 + 1e-9), 1.0), rate * (1 - 1e-9))
    )
    bounds = found.epsilon_bounds(delta=delta)
    assert bounds.lower <= more.epsilon_bounds(delta=delta).upper
    assert bounds.upper >= less.epsilon_bounds(delta=delta).lower
    assert bounds.upper <= bounds.lower * 1.01


def test_how_a_line_falls_off_does_not_depend_on_lines_that_were_asked_about_before() -> None:
    def fresh() -> TruncatedSampledGaussian:
        return TruncatedSampledGaussian(mu=1.0, rate=0.01, removing=True, lost=1e-15)

    low, high = np.array([1.0, 30.0, 1e3]), np.array([1.1, 31.0, 2e3])
    asked = fresh()
    for theta in (2.0, 9.0, 2.0):
        assert np.array_equal(asked.decay(theta, low, high), fresh().decay(theta, low, high))
    assert not np.array_equal(asked.decay(2.0, low, high), asked.decay(9.0, low, high))


def test_no_line_is_drawn_that_takes_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule for each of 200,000 nodes, of thousands of terms: the moment bound has to do."""
    terms: list[float] = []

    def counted(_: type[Line], product: Product, plan: LinePlan) -> Line:
        theta, step = plan.integral.theta, plan.integral.step
        terms.append(product.effort(theta, plan.extent.size, step))
        raise BeyondFloats("it was counted")

    monkeypatch.setattr(Line, "along", classmethod(counted))
    steep = PoissonSampled(release=Gaussian(sigma=0.019), rate=5e-324)
    vectors = ProbabilityVectors(p=(0.0, 1e-6, 1 - 1e-6), q=(1 - 1e-12, 1e-12, 0.0))
    compose(steep, Staircase(epsilon=8.6) * 2, vectors * 3).delta_bounds(epsilon=4452.0)
    assert terms
    assert max(terms) <= 3e8
