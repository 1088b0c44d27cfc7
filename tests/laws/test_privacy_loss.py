"""Known mechanisms: the engine agrees with slow oracles, and every registered release with itself.

The containment tests compare with :mod:`tests.oracles.losses`, which starts from the mechanisms'
definitions. The law tests run over the registry: a release without an example fails them.
"""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import pytest

from quaestor import (
    ApproxDP,
    BoundedRange,
    Bounds,
    ContinualCounting,
    DensityPair,
    DiscreteGaussian,
    DiscreteGaussianVector,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    GraphSketch,
    GroupPrivacy,
    InvalidParameter,
    Laplace,
    MatrixMechanism,
    MatrixSketch,
    MixtureOfGaussians,
    PoissonSampled,
    PoissonSampledReplaceOne,
    PrivacyProfile,
    ProbabilityVectors,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    Release,
    RenyiDP,
    RepeatAndSelect,
    Repeated,
    SampledWithoutReplacement,
    SampledWithReplacement,
    ShuffledEpoch,
    Staircase,
    ToeplitzMechanism,
    TruncatedPoissonGaussian,
    ZeroConcentratedDP,
    calibrate,
    compose,
    release_from_json,
)
from quaestor.accounting.releases import RELEASES
from quaestor.accounting.theorems import privacy_loss
from tests.oracles import losses as oracle

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpmath import mpf  # type: ignore[import-untyped, unused-ignore]

WIDTH = 1e-3
SMALLEST = 1e-280  # below this, floats themselves lose relative accuracy


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def somewhere(rng: random.Random, largest: float) -> float:
    """A global epsilon: at 0, anywhere up to the largest loss, or just short of it."""
    return rng.choice([0.0, rng.uniform(0, largest), rng.uniform(0, largest), 0.999 * largest])


def assert_encloses(bounds: Bounds, truth: mpf) -> None:
    """The bounds contain the oracle's number, and little besides."""
    assert truth in bounds
    assert bounds.relative_width <= WIDTH or bounds.upper <= SMALLEST


# ------------------------------------------------------------------------- continuous noise


@pytest.mark.parametrize("seed", range(40))
def test_gaussian_delta_contains_the_oracle_from_a_hundredth_to_1e_minus_100(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(4):
        mu, root = log_uniform(rng, 1e-3, 10.0), rng.choice([1, 2, 10, 100])
        total = Fraction(mu) * root
        deep = rng.uniform(1.5, 21.0)  # standard deviations: delta from 1e-2 or so to 1e-100
        at = float(total) * (float(total) / 2 + deep)
        bounds = compose(GaussianDP(mu=mu) * root**2).delta_bounds(epsilon=at)
        assert_encloses(bounds, oracle.gaussian_delta(mu=total, at=at))


@pytest.mark.parametrize("exponent", [2, 5, 10, 15, 20, 40, 70, 100])
@pytest.mark.parametrize("sigma", [0.5, 3.0, 100.0])
def test_gaussian_epsilon_undoes_the_oracle_down_to_1e_minus_100(
    exponent: int, sigma: float
) -> None:
    target = float(f"1e-{exponent}")
    bounds = compose(Gaussian(sigma=sigma) * 100).epsilon_bounds(delta=target)
    mu = 10 / Fraction(sigma)
    if bounds.lower > 0.0:
        assert oracle.gaussian_delta(mu=mu, at=bounds.lower) >= target
    assert oracle.gaussian_delta(mu=mu, at=bounds.upper) <= target
    assert bounds.relative_width <= WIDTH


@pytest.mark.parametrize("seed", range(20))
def test_laplace_delta_contains_the_oracle_for_one_and_two_releases(seed: int) -> None:
    rng = random.Random(seed)
    scale = log_uniform(rng, 0.1, 100.0)
    shift = 1 / Fraction(scale)
    at = rng.uniform(0.05, 1.02) / scale
    once = compose(Laplace(scale=scale)).delta_bounds(epsilon=at)
    assert_encloses(once, oracle.laplace_delta(shift=shift, at=at))
    twice = compose(Laplace(scale=scale) * 2).delta_bounds(epsilon=2 * at)
    assert_encloses(twice, oracle.twofold_laplace_delta(shift=shift, at=2 * at))


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 6.0, 40.0])
def test_laplace_delta_at_zero_contains_the_oracle(scale: float) -> None:
    bounds = compose(Laplace(scale=scale) * 2).delta_bounds(epsilon=0.0)
    assert_encloses(bounds, oracle.twofold_laplace_delta(shift=1 / Fraction(scale), at=0))


@pytest.mark.parametrize(
    ("sigma", "rate", "at"),
    [
        (1.0, 0.01, 0.0),
        (1.0, 0.01, 0.005),
        (1.0, 0.01, 1.0),
        (2.0, 0.1, 0.05),
        (10.0, 0.1, 0.01),
        (0.8, 0.3, 2.0),
        (4.0, 0.9, 0.3),
    ],
)
def test_one_sampled_gaussian_contains_the_oracle_in_both_directions(
    sigma: float, rate: float, at: float
) -> None:
    release = PoissonSampled(release=Gaussian(sigma=sigma), rate=rate)
    directions = privacy_loss([release])._directions
    for removing, profile in zip((True, False), directions, strict=True):
        truth = oracle.sampled_gaussian_delta(
            mu=1 / Fraction(sigma), rate=rate, at=at, removing=removing
        )
        assert_encloses(profile.delta_bounds(epsilon=at), truth)


@pytest.mark.parametrize(
    ("scale", "rate", "at"), [(2.0, 0.1, 0.0), (2.0, 0.1, 0.01), (0.5, 0.5, 1.0), (8.0, 0.2, 0.02)]
)
def test_one_sampled_laplace_contains_the_oracle_in_both_directions(
    scale: float, rate: float, at: float
) -> None:
    release = PoissonSampled(release=Laplace(scale=scale), rate=rate)
    directions = privacy_loss([release])._directions
    for removing, profile in zip((True, False), directions, strict=True):
        truth = oracle.sampled_laplace_delta(
            shift=1 / Fraction(scale), rate=rate, at=at, removing=removing
        )
        assert_encloses(profile.delta_bounds(epsilon=at), truth)


@pytest.mark.parametrize("seed", range(20))
def test_concentrated_releases_cost_their_moment_bound_and_no_less_than_the_gaussian(
    seed: int,
) -> None:
    rng = random.Random(seed)
    rho, root = log_uniform(rng, 1e-3, 2.0), rng.randint(1, 6)
    total = Fraction(rho) * root**2
    at = float(total) + 2 * math.sqrt(float(total)) * rng.uniform(1.0, 15.0)
    bounds = compose(ZeroConcentratedDP(rho=rho) * root**2).delta_bounds(epsilon=at)
    best = min(oracle.concentrated_delta(rho=total, at=at), 1)
    assert best <= bounds.upper <= best * (1 + WIDTH)
    assert bounds.lower <= best
    assert bounds.upper >= oracle.gaussian_delta(mu=math.sqrt(2 * rho) * root, at=at)


# ------------------------------------------------------------------------- finitely many outcomes


class Finite(NamedTuple):
    """A release, the two probability vectors of its mechanism, and its largest loss."""

    release: Release
    pair: oracle.Pair
    largest: float


def a_response(rng: random.Random) -> Finite:
    epsilon, categories = log_uniform(rng, 0.01, 6.0), rng.randint(2, 4)
    return Finite(
        RandomizedResponse(epsilon=epsilon, categories=categories),
        oracle.randomized_response(epsilon=epsilon, categories=categories),
        epsilon,
    )


def a_geometric(rng: random.Random) -> Finite:
    scale, sensitivity = log_uniform(rng, 0.2, 20.0), rng.randint(1, 4)
    return Finite(
        Geometric(scale=scale, sensitivity=sensitivity),
        oracle.geometric(scale=scale, sensitivity=sensitivity),
        sensitivity / scale,
    )


def a_staircase(rng: random.Random) -> Finite:
    epsilon, gamma = log_uniform(rng, 0.3, 6.0), rng.random()
    return Finite(
        Staircase(epsilon=epsilon, gamma=gamma),
        oracle.staircase(epsilon=epsilon, gamma=gamma),
        epsilon,
    )


def a_sampled_response(rng: random.Random) -> Finite:
    epsilon, rate = log_uniform(rng, 0.01, 4.0), log_uniform(rng, 1e-3, 1.0)
    delta = rng.choice([0.0, log_uniform(rng, 1e-9, 0.3)])
    return Finite(
        PoissonSampled(release=ApproxDP(epsilon=epsilon, delta=delta), rate=rate),
        oracle.sampled(oracle.failing_response(epsilon=epsilon, delta=delta), rate),
        math.log1p(rate * math.expm1(epsilon)),
    )


def some_vectors(rng: random.Random) -> Finite:
    """Entries that are multiples of 1/256, so that they sum to exactly one; often some are zero."""
    size = rng.randint(2, 4)
    first, second = ([0.0] * size for _ in range(2))
    for vector in (first, second):
        usable = [i for i in range(size) if i == 0 or rng.random() < 0.8]
        for _ in range(256):
            vector[rng.choice(usable)] += 1 / 256
    both = [abs(math.log(a / b)) for a, b in zip(first, second, strict=True) if a > 0 < b]
    return Finite(
        ProbabilityVectors(p=tuple(first), q=tuple(second)),
        oracle.vectors(first, second),
        max(both),
    )


@pytest.mark.parametrize(
    "draw", [a_response, a_geometric, a_staircase, a_sampled_response, some_vectors]
)
@pytest.mark.parametrize("seed", range(15))
def test_finite_mechanisms_contain_the_enumeration_of_all_outcomes(
    draw: Callable[[random.Random], Finite], seed: int
) -> None:
    rng = random.Random(seed)
    for _ in range(4):
        finite, count = draw(rng), rng.randint(1, 6)
        at = somewhere(rng, finite.largest * count)
        bounds = compose(finite.release * count).delta_bounds(epsilon=at)
        assert_encloses(bounds, oracle.worst_delta(finite.pair, count=count, at=at))


@pytest.mark.parametrize("draw", [a_response, a_geometric])
@pytest.mark.parametrize("seed", range(15))
def test_the_lattice_line_contains_the_enumeration_too(
    draw: Callable[[random.Random], Finite], seed: int
) -> None:
    rng = random.Random(seed)
    finite, count = draw(rng), rng.randint(1, 6)
    at = somewhere(rng, finite.largest * count)
    profile = privacy_loss([finite.release * count])
    for direction in profile._directions:
        direction._exact = None
    truth = oracle.worst_delta(finite.pair, count=count, at=at)
    assert_encloses(profile.delta_bounds(epsilon=at), truth)


@pytest.mark.parametrize("seed", range(25))
def test_discrete_gaussians_contain_the_sum_over_the_integers(seed: int) -> None:
    rng = random.Random(seed)
    sigma, sensitivity = log_uniform(rng, 0.15, 8.0), rng.randint(1, 3)
    count = rng.randint(1, 2) if sigma < 1 else 1
    at = rng.uniform(0, 4) * count * sensitivity**2 / sigma**2
    release = DiscreteGaussian(sigma=sigma, sensitivity=sensitivity)
    pair = oracle.discrete_gaussian(sigma=sigma, sensitivity=sensitivity)
    bounds = compose(release * count).delta_bounds(epsilon=at)
    assert_encloses(bounds, oracle.worst_delta(pair, count=count, at=at))


@pytest.mark.parametrize("bits", [4, 12, 24, 40])
def test_vectors_that_are_almost_equal_contain_their_distance(bits: int) -> None:
    release = ProbabilityVectors(p=(0.25, 0.75), q=(0.25 + 2.0**-bits, 0.75 - 2.0**-bits))
    assert 2.0**-bits in compose(release).delta_bounds(epsilon=0.0)


@pytest.mark.parametrize("at", [0.0, 0.1, 0.3])
def test_one_sampled_without_replacement_costs_as_much_as_removing(at: float) -> None:
    release = SampledWithoutReplacement(
        release=RandomizedResponse(epsilon=2.0), sample=16, population=64
    )
    pair = oracle.sampled(oracle.randomized_response(epsilon=2.0, categories=2), 0.25)
    truth = oracle.pair_delta(pair, count=1, at=at)
    assert_encloses(compose(release).delta_bounds(epsilon=at), truth)


# ------------------------------------------------------------------------- black boxes, exactly


@pytest.mark.parametrize("seed", range(60))
def test_responses_overlap_the_exact_theorem_about_black_boxes(seed: int) -> None:
    rng = random.Random(seed)
    count = round(log_uniform(rng, 1, 10**6))
    epsilon = 1 / (scale := 1 / log_uniform(rng, 1e-4, 4.0))
    mean, spread = count * epsilon * math.tanh(epsilon / 2), epsilon * math.sqrt(count)
    at = min(max(mean + rng.uniform(-3, 9) * spread, 0.0), count * epsilon * 0.99)
    exact = compose(PureDP(epsilon=epsilon) * count).delta_bounds(epsilon=at)
    ways: list[Release] = [RandomizedResponse(epsilon=epsilon), PureDP(epsilon=epsilon)]
    if Fraction(epsilon) * Fraction(scale) == 1:
        ways.append(Geometric(scale=scale))
    for way in ways:
        found = privacy_loss([way * count]).delta_bounds(epsilon=at)
        assert found.overlaps(exact)
        assert found.relative_width <= WIDTH or found.upper <= SMALLEST


@pytest.mark.parametrize("power", [-6, -2, 0])
@pytest.mark.parametrize("count", [1, 30, 5000])
def test_geometric_noise_of_sensitivity_one_is_randomized_response(power: int, count: int) -> None:
    epsilon = 2.0**power
    at = count * epsilon * math.tanh(epsilon / 2) + 0.3 * epsilon * math.sqrt(count)
    exact = compose(PureDP(epsilon=epsilon) * count).delta_bounds(epsilon=at)
    found = compose(Geometric(scale=1 / epsilon) * count).delta_bounds(epsilon=at)
    assert found.overlaps(exact)
    assert found.relative_width <= WIDTH


# ------------------------------------------------------------------------- every registered release

EXAMPLES: dict[str, tuple[Release, ...]] = {
    "PureDP": (PureDP(epsilon=0.3),),
    "ApproxDP": (ApproxDP(epsilon=0.3, delta=1e-5),),
    "Gaussian": (Gaussian(sigma=4.0), Gaussian(sigma=0.7, sensitivity=0.5)),
    "GaussianDP": (GaussianDP(mu=0.4),),
    "ZeroConcentratedDP": (ZeroConcentratedDP(rho=0.05),),
    "Laplace": (Laplace(scale=3.0), Laplace(scale=0.5)),
    "Geometric": (Geometric(scale=3.0), Geometric(scale=5.0, sensitivity=3)),
    "DiscreteGaussian": (DiscreteGaussian(sigma=3.0), DiscreteGaussian(sigma=0.4)),
    "Staircase": (Staircase(epsilon=0.5), Staircase(epsilon=1.5, gamma=0.7)),
    "RandomizedResponse": (
        RandomizedResponse(epsilon=0.5),
        RandomizedResponse(epsilon=1.0, categories=5),
    ),
    "BoundedRange": (BoundedRange(epsilon=0.2), BoundedRange(epsilon=1.5)),
    "ExponentialMechanism": (
        ExponentialMechanism(epsilon=0.7),
        ExponentialMechanism(epsilon=0.7, sensitivity=2.0, monotonic=True),
        ExponentialMechanism(epsilon=0.3, sensitivity=3.0, range=4.0),
    ),
    "PoissonSampled": (
        PoissonSampled(release=Gaussian(sigma=2.0), rate=0.2),
        PoissonSampled(release=Laplace(scale=2.0), rate=0.3),
        PoissonSampled(release=ApproxDP(epsilon=0.5, delta=1e-4), rate=0.25),
        PoissonSampled(release=RandomizedResponse(epsilon=1.0, categories=3), rate=0.5),
    ),
    "PoissonSampledReplaceOne": (
        PoissonSampledReplaceOne(release=Gaussian(sigma=2.0), rate=0.2),
        PoissonSampledReplaceOne(release=PureDP(epsilon=0.5), rate=0.25),
    ),
    "TruncatedPoissonGaussian": (
        TruncatedPoissonGaussian(sigma=2.0, rate=0.3, batch=5, population=12),
    ),
    "MixtureOfGaussians": (
        MixtureOfGaussians(
            sigma=3.0, sensitivities=(0.0, 1.0, 2.0), probabilities=(0.25, 0.5, 0.25)
        ),
    ),
    "SampledWithoutReplacement": (
        SampledWithoutReplacement(
            release=RandomizedResponse(epsilon=1.0), sample=10, population=40
        ),
    ),
    "RenyiDP": (
        RenyiDP(orders=(1.5, 2.0, 4.0, 8.0, 32.0), epsilons=(0.01, 0.02, 0.03, 0.06, 0.3)),
    ),
    "RepeatAndSelect": (RepeatAndSelect(release=PureDP(epsilon=0.5), mean=4.0, shape=1.0),),
    "PrivacyProfile": (
        PrivacyProfile(epsilons=(0.0, 0.1, 0.5, 1.0), deltas=(0.1, 0.05, 1e-3, 0.0)),
        PrivacyProfile(epsilons=(0.2,), deltas=(1e-4,)),
    ),
    "GroupPrivacy": (
        GroupPrivacy(release=ApproxDP(epsilon=0.1, delta=1e-5), size=3),
        GroupPrivacy(release=Gaussian(sigma=9.0), size=2),
    ),
    "SampledWithReplacement": (
        SampledWithReplacement(release=Geometric(scale=4.0), sample=2, population=20),
        SampledWithReplacement(release=Laplace(scale=4.0), sample=3, population=20),
    ),
    "RandomAllocation": (RandomAllocation(sigma=4.0, steps=5),),
    "ShuffledEpoch": (ShuffledEpoch(sigma=4.0, steps=5),),
    "MatrixMechanism": (
        MatrixMechanism(sigma=9.0, matrix=((1.0, 0.0), (-0.5, 1.0)), participations=2),
    ),
    "ContinualCounting": (
        ContinualCounting(sigma=9.0, steps=8, strategy="binary_tree"),
        ContinualCounting(sigma=9.0, steps=8, bands=2, participations=3, separation=2),
    ),
    "ToeplitzMechanism": (
        ToeplitzMechanism(sigma=9.0, coefficients=(1.0, 0.5, 0.25), participations=3),
    ),
    "DiscreteGaussianVector": (DiscreteGaussianVector(sigma=9.0, sensitivity=1.5, coordinates=2),),
    "GraphSketch": (
        GraphSketch(rows=40, weight=60.0),
        GraphSketch(rows=1, weight=3.0, sensitivity=2.0),
    ),
    "MatrixSketch": (
        MatrixSketch(rows=40, weight=30.0),
        MatrixSketch(rows=1, weight=3.0, sensitivity=2.0),
    ),
    "ProbabilityVectors": (
        ProbabilityVectors(p=(0.5, 0.375, 0.125), q=(0.375, 0.375, 0.25)),
        ProbabilityVectors(p=(0.5, 0.25, 0.25, 0.0), q=(0.25, 0.5, 0.125, 0.125)),
    ),
    "DensityPair": (
        DensityPair.of(
            lambda x: math.exp(-(x**2)) * (1 + x**2) / math.sqrt(math.pi) / 1.5,
            lambda x: math.exp(-(x**2)) / math.sqrt(math.pi),
            edges=[i / 4 for i in range(-24, 25)],
        ),
    ),
    "Repeated": (Repeated(release=Laplace(scale=6.0), count=3),),
}
MANY = 24  # sampled losses of one or two releases are hard; the laws do not depend on the count
EPSILONS = (0.1, 1.0, 3.0)


def test_every_registered_release_has_an_example() -> None:
    assert set(EXAMPLES) == set(RELEASES)
    for name, examples in EXAMPLES.items():
        assert all(type(example) is RELEASES[name] for example in examples)


every_example = pytest.mark.parametrize(
    "release",
    [pytest.param(r, id=str(r)[:100]) for examples in EXAMPLES.values() for r in examples],
)
# Laws that compose several times: of each kind the first example, the others are slow.
every_release = pytest.mark.parametrize(
    "release",
    [
        pytest.param(release, id=str(release)[:100], marks=pytest.mark.slow if at else ())
        for examples in EXAMPLES.values()
        for at, release in enumerate(examples)
    ],
)


@every_example
def test_only_directed_releases_have_two_directions(release: Release) -> None:
    if not isinstance(release, Repeated):
        assert release.directed or len(release.losses()) == 1


@every_release
def test_a_count_is_so_many_separate_releases(release: Release) -> None:
    together, apart = compose(release * MANY), compose(*[release * (MANY // 3)] * 3)
    for at in EPSILONS:
        assert together.delta_bounds(epsilon=at).overlaps(apart.delta_bounds(epsilon=at))
    assert together.epsilon_bounds(delta=0.01).overlaps(apart.epsilon_bounds(delta=0.01))


@every_release
def test_a_count_beside_others_is_so_many_separate_releases(release: Release) -> None:
    other = Gaussian(sigma=2.0)
    together, apart = compose(other, release * 6), compose(*[release] * 3, other, *[release] * 3)
    for at in EPSILONS:
        assert together.delta_bounds(epsilon=at).overlaps(apart.delta_bounds(epsilon=at))


@every_release
def test_order_is_irrelevant(release: Release) -> None:
    parts = [release * MANY, Gaussian(sigma=3.0), PureDP(epsilon=0.25) * 2]
    one, other = compose(*parts), compose(*parts[::-1])
    for at in EPSILONS:
        assert one.delta_bounds(epsilon=at).overlaps(other.delta_bounds(epsilon=at))


@every_release
def test_more_releases_never_cost_less(release: Release) -> None:
    fewer, more = compose(release * MANY), compose(release * (MANY + 8))
    for at in EPSILONS:
        assert fewer.delta_bounds(epsilon=at).lower <= more.delta_bounds(epsilon=at).upper
    other = compose(release * MANY, Laplace(scale=4.0))
    assert fewer.epsilon_bounds(delta=0.01).lower <= other.epsilon_bounds(delta=0.01).upper


@every_release
def test_the_profile_falls_and_stays_a_probability(release: Release) -> None:
    curve = compose(release * MANY)
    profile = [curve.delta_bounds(epsilon=at) for at in (0.0, 0.2, 1.0, 2.5, 6.0, 20.0, 500.0)]
    for bounds in profile:
        assert 0.0 <= bounds.lower <= bounds.upper <= 1.0
    for left, right in itertools.pairwise(profile):
        assert left.upper >= right.lower


@every_example
def test_bounds_on_delta_are_narrow(release: Release) -> None:
    if isinstance(release, ZeroConcentratedDP | RenyiDP) or release.bracketed:
        return  # the two ends answer different questions
    for at in EPSILONS:
        bounds = compose(release * MANY).delta_bounds(epsilon=at)
        assert bounds.relative_width <= WIDTH or bounds.upper <= SMALLEST


@every_release
def test_epsilon_and_delta_tell_the_same(release: Release) -> None:
    curve = compose(release * MANY)
    for delta in (1e-1, 5e-3, 3e-3):
        bounds = curve.epsilon_bounds(delta=delta)
        assert 0.0 <= bounds.lower <= bounds.upper
        if bounds.upper < math.inf:
            assert curve.delta_bounds(epsilon=bounds.upper).lower <= delta
        if 0.0 < bounds.lower < math.inf:
            assert curve.delta_bounds(epsilon=bounds.lower).upper >= delta


@every_release
def test_smaller_deltas_cost_more_epsilon(release: Release) -> None:
    curve = compose(release * MANY)
    found = [curve.epsilon_bounds(delta=delta) for delta in (0.3, 1e-2, 1e-3, 1e-6, 1e-12)]
    for left, right in itertools.pairwise(found):
        assert left.lower <= right.upper


@every_example
def test_releases_go_through_json(release: Release) -> None:
    again = release_from_json(release.to_json())
    assert again == release
    one, other = (compose(r * MANY).delta_bounds(epsilon=1.0) for r in (release, again))
    assert one == other


@every_release
def test_adding_to_a_history_overlaps_composing_at_once(release: Release) -> None:
    history = compose(Gaussian(sigma=4.0) * 10, Laplace(scale=5.0) * 4)
    history.epsilon_bounds(delta=1e-6)
    history.delta_bounds(epsilon=1.0)
    added = history.then(release).then(release * MANY)
    whole = compose(*history.releases, release, release * MANY)
    for at in EPSILONS:
        one, other = added.delta_bounds(epsilon=at), whole.delta_bounds(epsilon=at)
        assert one.overlaps(other)
    assert added.epsilon_bounds(delta=0.01).overlaps(whole.epsilon_bounds(delta=0.01))


@every_release
def test_a_history_may_also_start_with_the_release(release: Release) -> None:
    history = compose(release * MANY)
    history.epsilon_bounds(delta=0.01)
    added, whole = history.then(release), compose(release * MANY, release)
    for at in EPSILONS:
        assert added.delta_bounds(epsilon=at).overlaps(whole.delta_bounds(epsilon=at))
    assert added.epsilon_bounds(delta=0.01).overlaps(whole.epsilon_bounds(delta=0.01))


# ------------------------------------------------------------------------- sampling

SAMPLED: tuple[Release, ...] = (
    Gaussian(sigma=2.0),
    GaussianDP(mu=0.5),
    Laplace(scale=2.0),
    Geometric(scale=2.0, sensitivity=2),
    DiscreteGaussian(sigma=0.4),
    Staircase(epsilon=1.0),
    RandomizedResponse(epsilon=1.0, categories=3),
    PureDP(epsilon=1.0),
    ApproxDP(epsilon=1.0, delta=1e-3),
)
every_inner = pytest.mark.parametrize("inner", [pytest.param(r, id=str(r)) for r in SAMPLED])


def test_a_count_of_releases_has_no_loss_of_its_own() -> None:
    with pytest.raises(InvalidParameter, match="without a count"):
        (Laplace(scale=2.0) * 3).losses()


@every_inner
def test_sampling_everybody_is_the_release_itself(inner: Release) -> None:
    sampled, plain = compose(PoissonSampled(release=inner, rate=1.0) * 20), compose(inner * 20)
    for at in EPSILONS:
        assert sampled.delta_bounds(epsilon=at).overlaps(plain.delta_bounds(epsilon=at))
    assert sampled.epsilon_bounds(delta=0.05).overlaps(plain.epsilon_bounds(delta=0.05))


@every_inner
def test_sampling_nobody_costs_nothing(inner: Release) -> None:
    sampled = compose(PoissonSampled(release=inner, rate=0.0) * 20)
    assert sampled.delta_bounds(epsilon=0.0).upper <= SMALLEST
    assert sampled.epsilon_bounds(delta=1e-9).upper <= 1e-9


@every_inner
def test_a_larger_rate_never_costs_less(inner: Release) -> None:
    curves = [
        compose(PoissonSampled(release=inner, rate=rate) * 20) for rate in (0.1, 0.4, 0.9, 1.0)
    ]
    for at in (0.1, 1.0):
        found = [curve.delta_bounds(epsilon=at) for curve in curves]
        for left, right in itertools.pairwise(found):
            assert left.lower <= right.upper


# ------------------------------------------------------------------------- where others failed


@pytest.mark.parametrize(
    ("release", "delta", "truth", "places"),
    [
        (PureDP(epsilon=1.0) * 500, 1e-6, "320.8", 1),
        (PureDP(epsilon=3.0) * 30, 1e-6, "90.0", 1),
        (PureDP(epsilon=3e-5) * 10**6, 1e-6, "0.1096", 4),
        (RandomizedResponse(epsilon=1.0987) * 10, 1e-9, "10.987", 3),
        (GaussianDP(mu=2.0), 1e-13, "16.279", 3),
    ],
)
def test_epsilons_that_other_accountants_got_wrong(
    release: Release, delta: float, truth: str, places: int
) -> None:
    unit = Fraction(1, 10**places)
    for profile in (compose(release), privacy_loss([release])):
        bounds = profile.epsilon_bounds(delta=delta)
        assert bounds.upper >= Fraction(truth) - unit
        assert bounds.lower <= Fraction(truth) + unit
        assert bounds.relative_width <= WIDTH


def test_private_training_costs_more_as_delta_falls_without_a_floor() -> None:
    """An FFT floor makes epsilon too small by 1.1e-4, 0.019, 0.58 and 2.6 at the small deltas.

    Log delta is concave in epsilon here, so each further factor 100 costs less epsilon than the
    last, but little less; an epsilon 0.019 too small would bend the sequence by more.
    """
    curve = compose(PoissonSampled(release=Gaussian(sigma=1.0), rate=0.01) * 10**5)
    found = [curve.epsilon_bounds(delta=10.0**-n) for n in (6, 8, 10, 12, 14, 16)]
    for bounds in found:
        assert bounds.relative_width <= 1e-5
    steps = [
        Bounds(lower=right.lower - left.upper, upper=right.upper - left.lower)
        for left, right in itertools.pairwise(found)
    ]
    for left, right in itertools.pairwise(steps):
        assert 0.85 * left.lower <= right.upper <= left.upper


def test_a_hundred_different_black_boxes_beside_a_gaussian_are_composed_at_once() -> None:
    boxes = [ApproxDP(epsilon=0.01 + 0.001 * i, delta=1e-9) for i in range(100)]
    bounds = compose(Gaussian(sigma=10.0) * 10, *boxes).epsilon_bounds(delta=1e-6)
    assert bounds.relative_width <= WIDTH
    assert bounds.lower > compose(*boxes).epsilon(delta=1e-6)


# ------------------------------------------------------------------------- calibration


class Target(NamedTuple):
    """The release of a value, the epsilon and delta to meet, and a factor that costs more."""

    build: Callable[[float], Release]
    epsilon: float
    delta: float
    worse: float


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(Target(lambda s: Gaussian(sigma=s) * 50, 2.0, 1e-6, 1 - 1e-4), id="sigma"),
        pytest.param(Target(lambda s: Gaussian(sigma=s), 1.0, 1e-40, 1 - 1e-4), id="one sigma"),
        pytest.param(Target(lambda b: Laplace(scale=b) * 50, 2.0, 1e-6, 1 - 1e-4), id="scale"),
        pytest.param(
            Target(
                lambda q: PoissonSampled(release=Gaussian(sigma=1.0), rate=q) * 1000,
                2.0,
                1e-6,
                1 + 1e-4,
            ),
            id="rate",
        ),
    ],
)
def test_the_calibrated_value_fits_and_a_worse_one_does_not(target: Target) -> None:
    value = calibrate(target.build, epsilon=target.epsilon, delta=target.delta)
    fits = compose(target.build(value)).delta_bounds(epsilon=target.epsilon)
    fails = compose(target.build(value * target.worse)).delta_bounds(epsilon=target.epsilon)
    assert fits.upper <= target.delta < fails.lower
