"""Random allocation and shuffled epochs, against integrals, draws and closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

import quaestor as q
from quaestor.accounting.loss.engine.loss_profile import LossProfile

GRID = np.linspace(-13.0, 15.0, 5601)  # a smooth integrand, 0 at both ends: sums are exact
STEP = float(GRID[1] - GRID[0])
DENSITY = np.exp(-(GRID**2) / 2) / math.sqrt(2 * math.pi) * STEP


def one_more(known: np.ndarray, mu: float, steps: int, epsilon: float) -> tuple[float, float]:
    """Deltas for removing and adding, with all but the last step integrated over a grid.

    ``known`` has the sums of the other ratios, with the weight of each.
    """
    sums, weights = known
    high, low = steps * math.exp(epsilon) - sums, steps * math.exp(-epsilon) - sums
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(high > 0, (np.log(high) + mu * mu / 2) / mu, -np.inf)
        below = np.where(low > 0, (np.log(low) + mu * mu / 2) / mu, -np.inf)
    removing = (ndtr(mu - above) - high * ndtr(-above)) / steps
    adding = math.exp(epsilon) / steps * (low * ndtr(below) - ndtr(below - mu))
    return float(weights @ removing), float(weights @ adding)


def exact_deltas(mu: float, steps: int, epsilon: float) -> tuple[float, float]:
    """By quadrature, for two and three steps."""
    ratio = np.exp(mu * GRID - mu * mu / 2)
    if steps == 2:
        return one_more(np.array([ratio, DENSITY]), mu, steps, epsilon)
    coarse = slice(None, None, 7)
    sums = np.add.outer(ratio[coarse], ratio[coarse]).ravel()
    weights = np.outer(7 * DENSITY[coarse], 7 * DENSITY[coarse]).ravel()
    return one_more(np.array([sums, weights]), mu, steps, epsilon)


def brackets(release: q.Release, epsilon: float) -> list[tuple[float, float]]:
    """The deltas of each direction, from below and from above."""
    return [
        (
            LossProfile([(least, 1)]).delta_bounds(epsilon=epsilon).lower,
            LossProfile([(most, 1)]).delta_bounds(epsilon=epsilon).upper,
        )
        for least, most in zip(release.least_losses(), release.losses(), strict=True)
    ]


@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_few_steps_are_what_integrals_say(steps: int, sigma: float) -> None:
    release = q.RandomAllocation(sigma=sigma, steps=steps)
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0) if steps == 2 else (0.1, 1.0):
        exact = exact_deltas(1 / sigma, steps, epsilon)
        for truth, (low, high) in zip(exact, brackets(release, epsilon), strict=True):
            assert low <= truth * (1 + 1e-9) + 1e-15
            assert truth * (1 - 1e-9) - 1e-15 <= high
            assert high - low <= 2e-2 * high or truth < 1e-6
        whole = q.compose(release).delta_bounds(epsilon=epsilon)
        assert whole.lower <= max(exact) * (1 + 1e-9)
        assert max(exact) * (1 - 1e-9) <= whole.upper


@pytest.mark.parametrize("sigma", [0.2, 1.0, 7.0, 1000.0])
@pytest.mark.parametrize("kind", [q.RandomAllocation, q.ShuffledEpoch])
def test_one_step_is_the_noise_alone(sigma: float, kind: type[q.Release]) -> None:
    alone = q.compose(q.Gaussian(sigma=sigma))
    one = q.compose(kind(sigma=sigma, steps=1))  # type: ignore[call-arg]
    for delta in (1e-3, 1e-6, 1e-12):
        exact, found = (each.epsilon_bounds(delta=delta) for each in (alone, one))
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper
        assert found.relative_width < 5e-3


@pytest.mark.parametrize(("sigma", "steps"), [(0.7, 10), (1.0, 60), (2.0, 25)])
def test_many_steps_are_what_draws_say(sigma: float, steps: int) -> None:
    """Within five standard errors of the mean: a false alarm in a million."""
    rng, draws, mu = np.random.default_rng(steps), 100_000, 1 / sigma
    noise = rng.normal(0.0, 1.0, (draws, steps))
    without = np.mean(np.exp(mu * noise - mu * mu / 2), axis=1)
    noise[:, 0] += mu
    within = np.mean(np.exp(mu * noise - mu * mu / 2), axis=1)
    release = q.RandomAllocation(sigma=sigma, steps=steps)
    for epsilon in (0.0, 0.2, 0.5):
        ways = (
            np.maximum(1 - math.exp(epsilon) / within, 0.0),
            np.maximum(1 - math.exp(epsilon) * without, 0.0),
        )
        for gains, (low, high) in zip(ways, brackets(release, epsilon), strict=True):
            doubt = 5 * float(gains.std()) / math.sqrt(draws) + 1e-6
            assert low <= float(gains.mean()) + doubt
            assert float(gains.mean()) - doubt <= high


@pytest.mark.parametrize(("sigma", "steps"), [(0.5, 3), (1.0, 1000), (20.0, 77), (1.0, 10**4)])
def test_second_moments_are_exact(sigma: float, steps: int) -> None:
    """Without the person the mean of the squared ratio is 1 + (e^(mu^2) - 1) / t."""
    exact = math.log1p(math.expm1(1 / sigma**2) / steps)
    laws = q.RandomAllocation(sigma=sigma, steps=steps)
    at = np.array([1.0 + 0j])
    above = laws.losses()[0].log_moment(at)
    below = laws.least_losses()[0].log_moment(at)
    assert exact <= float(above[0].real[0] + above[1][0]) <= exact * 1.02
    assert exact * 0.98 <= float(below[0].real[0] - below[1][0]) <= exact


@pytest.mark.parametrize("theta", [-3.0, 0.0, 0.7, 20.0])
@pytest.mark.parametrize("steps", [3, 100])
def test_what_is_certified_of_the_decay_holds_within_every_block(theta: float, steps: int) -> None:
    rng = np.random.default_rng(steps)
    law = q.RandomAllocation(sigma=1.0, steps=steps).losses()[0]
    low = np.concatenate((np.geomspace(0.1, 5000.0, 200), np.arange(1.0, 60.0, 0.2)))
    high = np.concatenate((low[:200] * 1.02, low[200:] + 0.2))
    order = np.argsort(low)
    low, high = low[order], high[order]
    certified = law.decay(theta, low, high)
    assert float(np.max(certified)) > 0.5
    within = low + (high - low) * rng.random((6, low.size))
    at = np.concatenate(([theta], theta + 1j * within.ravel()))
    moments = law.log_moment(at)[0].real
    assert bool(np.all((moments[0] - moments[1:]).reshape(within.shape) >= certified - 1e-9))


def test_epochs_compose_and_cost_less_than_poisson_samples() -> None:
    epochs = q.compose(q.RandomAllocation(sigma=1.0, steps=100) * 10)
    sampled = q.compose(q.PoissonSampled(release=q.Gaussian(sigma=1.0), rate=0.01) * 1000)
    found = epochs.epsilon_bounds(delta=1e-6)
    assert found.upper < sampled.epsilon_bounds(delta=1e-6).lower
    assert found.relative_width < 1e-3


def test_a_random_set_of_steps_costs_at_most_so_many_epochs() -> None:
    rng, draws, steps, sigma = np.random.default_rng(8), 100_000, 5, 0.8
    priced = q.RandomAllocation.several(sigma=sigma, steps=steps, participations=2)
    assert priced.counted() == (q.RandomAllocation(sigma=sigma, steps=2), 2)
    pairs = np.array(list(itertools.combinations(range(steps), 2)))
    mu = 1 / sigma
    noise = rng.normal(0.0, 1.0, (draws, steps))
    noise[:, :2] += mu
    ratios = np.exp(mu * noise - mu * mu / 2)
    within = np.mean(ratios[:, pairs[:, 0]] * ratios[:, pairs[:, 1]], axis=1)
    composed = q.compose(priced)
    for epsilon in (1.5,):
        gains = np.maximum(1 - math.exp(epsilon) / within, 0.0)
        doubt = 5 * float(gains.std()) / math.sqrt(draws)
        assert float(gains.mean()) - doubt <= composed.delta_bounds(epsilon=epsilon).upper


@pytest.mark.parametrize(("sigma", "steps"), [(0.5, 10), (1.0, 4)])
def test_a_shuffled_epoch_lies_between_an_attack_and_the_noise_alone(
    sigma: float, steps: int
) -> None:
    """The attack: batches of three, where all others pull the other way."""
    rng, draws, size = np.random.default_rng(3), 40_000, 3
    people = size * steps
    values = np.full(people, -1.0)
    sums = {}
    for name, mine in (("with", 1.0), ("without", 0.0)):
        values[0] = mine
        order = np.argsort(rng.random((draws, people)), axis=1)
        batches = values[order].reshape(draws, steps, size).sum(axis=2)
        sums[name] = batches + rng.normal(0.0, sigma, (draws, steps))
    release = q.ShuffledEpoch(sigma=sigma, steps=steps)

    def ratio(outputs: np.ndarray) -> np.ndarray:
        """Which world a sum speaks for, from the densities given the step."""
        shifted = (outputs + size) / sigma
        with_, without = (
            np.mean(np.exp(a / sigma * shifted - (a / sigma) ** 2 / 2), axis=1) for a in (2.0, 1.0)
        )
        return np.asarray(with_ / without)

    for epsilon in (0.5, 1.5):
        low, high = brackets(release, epsilon)[0]
        gains = np.maximum(1 - math.exp(epsilon) / ratio(sums["with"]), 0.0)
        doubt = 5 * float(gains.std()) / math.sqrt(draws)
        assert low <= float(gains.mean()) + doubt
        assert float(gains.mean()) - doubt <= high
        assert low >= 0.8 * (float(gains.mean()) - doubt)


def test_shuffling_can_cost_more_than_allocation() -> None:
    shuffled = q.compose(q.ShuffledEpoch(sigma=0.5, steps=100)).epsilon_bounds(delta=1e-6)
    allocated = q.compose(q.RandomAllocation(sigma=0.5, steps=100)).epsilon_bounds(delta=1e-6)
    assert allocated.upper < shuffled.lower


@pytest.mark.parametrize("kind", [q.RandomAllocation, q.ShuffledEpoch])
@pytest.mark.parametrize(
    "wrong", [{"sigma": 0.1}, {"sigma": 1e7}, {"steps": 0}, {"steps": 10**7}, {"sensitivity": 0.0}]
)
def test_parameters_out_of_range_are_refused(
    kind: type[q.Release], wrong: dict[str, float]
) -> None:
    with pytest.raises(q.InvalidParameter):
        kind(**{"sigma": 1.0, "steps": 10, **wrong})


@pytest.mark.parametrize(
    ("sigma", "steps"),
    [
        (0.125, 1),
        (0.125, 4),
        (1e6, 1),
        (1e6, 100),
        pytest.param(0.125, 300, marks=pytest.mark.slow),
        pytest.param(1.0, 10**6, marks=pytest.mark.slow),
    ],
)
def test_the_ends_of_the_parameters_are_priced(sigma: float, steps: int) -> None:
    release = q.RandomAllocation(sigma=sigma, steps=steps)
    alone = q.compose(q.Gaussian(sigma=sigma))
    for delta in (1e-4, 1e-10):
        found = q.compose(release).epsilon_bounds(delta=delta)
        assert 0.0 <= found.lower <= found.upper
        assert found.lower <= alone.epsilon(delta=delta)
    for epsilon in (0.0, 1e-7, 30.0):
        spent = q.compose(release).delta_bounds(epsilon=epsilon)
        assert spent.lower <= alone.delta(epsilon=epsilon)


@pytest.mark.slow
def test_random_settings_are_what_integrals_say() -> None:
    rng = np.random.default_rng(1)
    for _ in range(400):
        sigma, epsilon = float(rng.uniform(0.2, 5.0)), float(rng.uniform(0.0, 4.0))
        release = q.RandomAllocation(sigma=sigma, steps=2)
        exact = exact_deltas(1 / sigma, 2, epsilon)
        for truth, (low, high) in zip(exact, brackets(release, epsilon), strict=True):
            assert low <= truth * (1 + 1e-8) + 1e-15
            assert truth * (1 - 1e-8) - 1e-15 <= high


def test_upper_ends_alone_are_the_same_and_ask_for_no_least_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    epoch = q.RandomAllocation(sigma=1.5, steps=3)
    runs = (
        (epoch * 2,),
        (q.GroupPrivacy(release=q.Laplace(scale=2.0), size=2),),
        (q.MatrixMechanism(sigma=2.0, matrix=[[1.0, -0.5], [0.5, 1.0]], participations=2),),
    )
    for run in runs:
        together = q.compose(*run)
        assert together.delta(epsilon=0.7) == together.delta_bounds(epsilon=0.7).upper
        assert together.epsilon(delta=1e-4) == together.epsilon_bounds(delta=1e-4).upper

    longer = q.compose(runs[-1][0], q.Laplace(scale=2.0)).then(runs[-1][0])
    assert longer.delta(epsilon=0.7) == longer.delta_bounds(epsilon=0.7).upper

    def refused(_: q.RandomAllocation) -> None:
        raise AssertionError("lower ends were not asked for")

    monkeypatch.setattr(q.RandomAllocation, "least_losses", refused)
    again = q.compose(epoch * 2)
    assert again.epsilon(delta=1e-4) > 0.0
    assert 0.0 < again.then(q.Laplace(scale=2.0)).delta(epsilon=0.7) < 1.0
    with pytest.raises(AssertionError, match="lower ends"):
        again.delta_bounds(epsilon=0.7)
