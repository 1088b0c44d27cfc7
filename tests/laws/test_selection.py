"""The best of a random number of runs: held against the definition, for outputs in any order."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import mpmath as mp  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import pytest
from scipy.special import ndtr  # type: ignore[import-untyped, unused-ignore]

from quaestor import (
    ApproxDP,
    Gaussian,
    GaussianDP,
    InvalidParameter,
    Laplace,
    PoissonSampled,
    PoissonSampledReplaceOne,
    ProbabilityVectors,
    PureDP,
    RepeatAndSelect,
    compose,
    release_from_json,
)
from quaestor.accounting.expressions import parse_release
from tests.oracles import selection as oracle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quaestor import Release

NUMBERS_OF_RUNS = [
    (1.0, 1.0),
    (3.0, 1.0),
    (200.0, 1.0),
    (1.5, 0.0),
    (40.0, 0.0),
    (7.0, 0.5),
    (7.0, 3.0),
    (4.0, -0.5),
    (0.5, None),
    (6.0, None),
    (60.0, None),
]


@pytest.mark.parametrize(("mean", "shape"), NUMBERS_OF_RUNS)
def test_the_oracle_sums_to_one_and_has_its_mean(mean: float, shape: float | None) -> None:
    chances = [oracle.chance_of_runs(k, mean, shape) for k in range(400)]
    if (mean > 10 or shape == -0.5) and shape is not None:
        return  # its tail is too long to be summed
    assert abs(mp.fsum(chances) - 1) < 1e-9
    assert abs(mp.fsum(k * c for k, c in enumerate(chances)) - mean) < 1e-6
    by_hand = mp.fsum(c * mp.mpf("0.7") ** k for k, c in enumerate(chances))
    assert abs(by_hand - oracle.none_better(mp.mpf("0.7"), mean, shape)) < 1e-9


def some_pair(rng: random.Random) -> tuple[list[float], list[float]]:
    """Two laws of a few outcomes, from alike to very different."""
    count, spread = rng.choice([2, 3, 6]), rng.choice([0.1, 1.0, 4.0])
    weights = [rng.uniform(0.05, 1.0) for _ in range(count)]
    other = [weight * math.exp(rng.uniform(-spread, spread)) for weight in weights]
    p, q = ([weight / math.fsum(each) for weight in each] for each in (weights, other))
    return p, q


def worst_delta(
    p: list[float], q: list[float], *, runs: tuple[float, float | None], at: float
) -> mp.mpf:
    """The best run of two laws, in both directions."""
    first, second = (oracle.best_of([mp.mpf(x) for x in each], *runs) for each in (p, q))
    return max(oracle.delta(first, second, at), oracle.delta(second, first, at))


@pytest.mark.parametrize("seed", range(8))
def test_no_order_of_the_outputs_tells_more_than_is_promised(seed: int) -> None:
    rng = random.Random(seed)
    p, q = some_pair(rng)
    runs = rng.choice(NUMBERS_OF_RUNS)
    tuned = compose(
        RepeatAndSelect(
            release=ProbabilityVectors(p=tuple(p), q=tuple(q)), mean=runs[0], shape=runs[1]
        )
    )
    ends = [0.0, *(tuned.epsilon(delta=d) for d in (0.1, 1e-3, 1e-9))]
    for at in (end for end in ends if math.isfinite(end)):
        promised = tuned.delta(epsilon=at)
        for _ in range(6):
            order = rng.sample(range(len(p)), len(p))
            split = [i for i in order for _ in range(3)]  # outputs of the same likelihood
            rng.shuffle(split)
            for listed in (order, split):
                times = 1 if listed is order else 3
                found = worst_delta(
                    [p[i] / times for i in listed], [q[i] / times for i in listed], runs=runs, at=at
                )
                assert found <= promised


@pytest.mark.parametrize("epsilon", [0.01, 2.0])
@pytest.mark.parametrize(("mean", "shape"), [(2.0, 1.0), (50.0, 0.0), (9.0, 2.5), (5.0, None)])
def test_of_a_pure_release_the_largest_loss_is_known_exactly(
    epsilon: float, mean: float, shape: float | None
) -> None:
    tuned = RepeatAndSelect(release=PureDP(epsilon=epsilon), mean=mean, shape=shape)
    if shape is None:
        expected = epsilon + mean * mp.tanh(mp.mpf(epsilon) / 2)
    else:
        gamma, odds = oracle.stopping_chance(mean, shape), mp.exp(epsilon)
        expected = epsilon + (shape + 1) * mp.log((odds + gamma) / (1 + gamma * odds))
    found = compose(tuned).epsilon(delta=0.0)
    assert expected <= found <= expected * (1 + 1e-8)
    # somebody reaches it: the likelier output of a randomized response is the worse one
    truth, pieces = 1 / (1 + mp.exp(-epsilon)), 500
    first = [truth / pieces] * pieces + [1 - truth]
    second = [(1 - truth) / pieces] * pieces + [truth]
    best = (oracle.best_of(each, mean, shape) for each in (first, second))
    losses = [mp.log(p / q) for p, q in zip(*best, strict=True) if p and q]
    assert expected * (1 - 1e-2) <= max(losses) <= found


def test_one_run_is_the_release_itself() -> None:
    once = compose(RepeatAndSelect(release=Gaussian(sigma=2.0), mean=1.0, shape=1.0))
    alone = compose(Gaussian(sigma=2.0))
    for delta in (1e-2, 1e-6, 1e-12):
        assert alone.epsilon(delta=delta) <= once.epsilon(delta=delta) * (1 + 1e-9)
        assert once.epsilon(delta=delta) <= alone.epsilon(delta=delta) * 1.001


@pytest.mark.parametrize(("mean", "shape"), [(1.5, 0.0), (30.0, 0.0), (30.0, 1.0), (4.0, None)])
def test_an_order_of_the_outputs_nearly_reaches_what_is_promised_of_gaussian_runs(
    mean: float, shape: float | None
) -> None:
    """The best outputs are those that the second world has; then come those that tell most."""
    mu, delta = 0.5, 1e-6
    promised = compose(RepeatAndSelect(release=GaussianDP(mu=mu), mean=mean, shape=shape)).epsilon(
        delta=delta
    )
    gamma = 0.0 if shape is None else float(oracle.stopping_chance(mean, shape))

    def reached(better: NDArray[np.float64]) -> Any:
        if shape is None:
            return -np.expm1(-mean * better)
        kept = gamma + (1 - gamma) * better
        if shape == 0.0:
            return 1 - np.log(kept) / np.log(gamma)
        return 1 - (kept**-shape - 1) / (gamma**-shape - 1)

    above, told = np.linspace(-8, 4, 500)[:, None], np.linspace(-4, 8, 500)[None, :]
    first = ndtr(above - mu), np.minimum(ndtr(above - mu) + ndtr(mu - told), 1.0)
    second = ndtr(above), np.minimum(ndtr(above) + ndtr(-told), 1.0)

    def attained(epsilon: float) -> float:
        gain = reached(first[1]) - reached(first[0])
        loss = reached(second[1]) - reached(second[0])
        return float(np.max(np.where(above <= told, gain - math.exp(epsilon) * loss, 0.0)))

    assert attained(promised) <= delta
    assert attained(promised * 0.98) > delta


def test_more_runs_never_cost_less() -> None:
    for shape in (0.5, None):
        costs = [
            compose(RepeatAndSelect(release=Laplace(scale=3.0), mean=mean, shape=shape)).epsilon(
                delta=1e-6
            )
            for mean in (1.0, 3.0, 100.0)
        ]
        assert all(a <= b * (1 + 1e-4) for a, b in pairwise(costs))


@pytest.mark.parametrize(("mean", "shape"), [(10.0, 0.0), (10.0, None)])
def test_moments_are_those_of_a_run_and_about_at_most_what_the_paper_says(
    mean: float, shape: float | None
) -> None:
    """Papernot, Steinke 2022, Theorems 2 and 6, as dp-accounting 0.6.0 computes them."""
    from dp_accounting.rdp import rdp_privacy_accountant as theirs

    orders = [1.5, 2.0, 4.0, 8.0, 16.0, 64.0]
    curve = [0.02 * order for order in orders]
    shaped = math.inf if shape is None else shape
    published = theirs._compute_rdp_repeat_and_select(orders, curve, mean, shaped)
    tuned = RepeatAndSelect(release=Gaussian(sigma=5.0), mean=mean, shape=shape)
    for order, bound in zip(orders, published, strict=True):
        moment = tuned.log_moment(order - 1)
        assert moment is not None
        assert (order - 1) * 0.02 * order <= moment
        assert moment <= (order - 1) * bound * 1.01


def test_runs_may_be_sums_and_go_through_text_and_json() -> None:
    run = PoissonSampled(release=Gaussian(sigma=1.0), rate=0.01) * 1000 + Laplace(scale=5.0)
    tuned = RepeatAndSelect(release=run, mean=8, shape=0.5)
    assert parse_release(str(tuned)) == tuned == release_from_json(tuned.to_json())
    assert tuned.neighbours == "add_remove"
    assert compose(run).epsilon(delta=1e-6) < compose(tuned).epsilon(delta=1e-6) < 5


def test_an_infinite_shape_is_poisson() -> None:
    assert RepeatAndSelect(release=PureDP(epsilon=1.0), mean=3.0, shape=math.inf).shape is None


@pytest.mark.parametrize(
    ("mean", "shape"), [(0.5, 1.0), (0.0, None), (2.0, -1.0), (math.nan, 1.0), (2.0, math.nan)]
)
def test_numbers_of_runs_that_do_not_exist_are_refused(mean: float, shape: float | None) -> None:
    with pytest.raises(InvalidParameter):
        RepeatAndSelect(release=PureDP(epsilon=1.0), mean=mean, shape=shape)


def test_runs_about_different_neighbours_are_refused() -> None:
    one = PoissonSampled(release=Gaussian(sigma=1.0), rate=0.1)
    other = PoissonSampledReplaceOne(release=Gaussian(sigma=1.0), rate=0.1)
    with pytest.raises(InvalidParameter, match="same neighbours"):
        RepeatAndSelect(release=one + other, mean=2.0)
    with pytest.raises(InvalidParameter, match="same neighbours"):
        compose(RepeatAndSelect(release=one, mean=2.0), other)


@pytest.mark.parametrize(
    "release",
    [
        PureDP(epsilon=0.0),
        PureDP(epsilon=300.0),
        ApproxDP(epsilon=0.0, delta=1.0),
        ApproxDP(epsilon=1.0, delta=1e-300),
        Gaussian(sigma=1e9),
        Gaussian(sigma=1e-2),
    ],
    ids=str,
)
@pytest.mark.parametrize(("mean", "shape"), [(1e9, -0.9), (1e9, None), (2.0, 1e4)])
@pytest.mark.slow
def test_the_ends_of_the_parameters_are_answered(
    release: Release, mean: float, shape: float | None
) -> None:
    tuned = compose(RepeatAndSelect(release=release, mean=mean, shape=shape))
    for epsilon in (0.0, 1.0, 1000.0):
        bounds = tuned.delta_bounds(epsilon=epsilon)
        share = 1.0 if shape is not None else -math.expm1(-mean)
        assert bounds.upper >= compose(release).delta_bounds(epsilon=epsilon).lower * share * 0.999


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_no_order_tells_more_in_many_cases(seed: int) -> None:
    test_no_order_of_the_outputs_tells_more_than_is_promised(seed + 1000)


@pytest.mark.parametrize("mean", [0.1, 1.0, 5.0])
def test_no_run_at_all_is_part_of_the_moments(mean: float) -> None:
    release = ProbabilityVectors(p=(0.75, 0.25), q=(0.5, 0.5))
    tuned = RepeatAndSelect(release=release, mean=mean)
    for first, second in ((release.p, release.q), (release.q, release.p)):
        laws = [oracle.best_of([mp.mpf(x) for x in each], mean, None) for each in (first, second)]
        for order in (0.5, 2.0, 20.0):
            terms = (a * (a / b) ** order for a, b in zip(*laws, strict=True))
            moment = tuned.log_moment(order)
            assert moment is not None
            assert mp.log(mp.fsum(terms)) <= mp.mpf(moment.numerator) / moment.denominator
