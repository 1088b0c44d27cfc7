"""The second opinion: closed forms against definitions at sixty digits, and planted faults."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, NoReturn

import mpmath
import pytest
from mpmath import mpf

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
    InconsistentAnswers,
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
    RenyiDP,
    RepeatAndSelect,
    SampledWithoutReplacement,
    SampledWithReplacement,
    ShuffledEpoch,
    Staircase,
    ToeplitzMechanism,
    TruncatedPoissonGaussian,
    ZeroConcentratedDP,
    compose,
)
from quaestor.accounting.compose import Composition
from quaestor.accounting.curves.profile import Profile
from quaestor.accounting.numerics.gaussian_tails import gaussian_tail, lattice_tail
from quaestor.accounting.releases import RELEASES
from quaestor.accounting.second_opinion import Corroborated, SecondOpinion
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from tests.oracles import pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor import Release

EPSILONS = (0.0, 1e-12, 1e-3, 0.1, 0.7, 1.0, 3.0, 12.0, 60.0, 500.0)


def logarithmic(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def assert_inside(release: Release, epsilon: float, truth: mpf, *, width: float = 1e-7) -> None:
    known = release.opinion()
    assert known is not None
    low, high = known.curve(epsilon)
    assert mpf(low) <= truth <= mpf(high), (release, epsilon, low, high, truth)
    assert high - low <= width, (release, epsilon, low, high)


def test_no_release_asks_its_laws_for_a_second_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    """What answers are held against must not come from what they are computed with."""

    def refused(_: Release) -> NoReturn:
        raise AssertionError("a law was asked")

    scale = 1.2345  # of releases that no other test has asked
    inner: list[Release] = [
        PureDP(epsilon=scale),
        ApproxDP(epsilon=scale, delta=0.1),
        Gaussian(sigma=scale),
        Laplace(scale=scale),
        Geometric(scale=scale),
        DiscreteGaussian(sigma=scale),
    ]
    plain: list[Release] = [
        RandomizedResponse(epsilon=scale),
        Staircase(epsilon=scale),
        GaussianDP(mu=scale),
        ZeroConcentratedDP(rho=scale),
        BoundedRange(epsilon=scale),
        ExponentialMechanism(epsilon=scale),
        GraphSketch(rows=3, weight=scale),
        MatrixSketch(rows=3, weight=scale),
        ProbabilityVectors(p=(0.3, 0.7), q=(0.6, 0.4)),
        DensityPair(p=(0.3, 0.7), q=(0.7, 0.3), low=(-1.2, 0.8), high=(-0.8, 1.2)),
        TruncatedPoissonGaussian(sigma=scale, rate=0.3, batch=5, population=12),
        MixtureOfGaussians(sigma=scale, sensitivities=(0.0, 1.0), probabilities=(0.75, 0.25)),
        RenyiDP(orders=(2.0, 4.0), epsilons=(scale, 2 * scale)),
        PrivacyProfile(epsilons=(0.0, scale), deltas=(0.1, 0.01)),
        DiscreteGaussianVector(sigma=2 + scale, sensitivity=2.0, coordinates=3),
        ToeplitzMechanism(sigma=scale, coefficients=(1.0, 0.5), participations=2),
        RandomAllocation(sigma=scale, steps=7),
        ShuffledEpoch(sigma=scale, steps=7),
        MatrixMechanism(sigma=scale, matrix=((1.0, 0.0), (0.5, 1.0)), participations=2),
        ContinualCounting(sigma=scale, steps=4, strategy="binary_tree"),
        SampledWithReplacement(release=Gaussian(sigma=scale), sample=3, population=7),
        RepeatAndSelect(release=Gaussian(sigma=scale), mean=5.0, shape=0.0),
    ]
    sampled = (PoissonSampled(release=each, rate=0.123) for each in inner)
    fixed = (SampledWithoutReplacement(release=each, sample=3, population=7) for each in inner)
    replaced = (PoissonSampledReplaceOne(release=each, rate=0.123) for each in inner)
    grouped = (GroupPrivacy(release=each, size=2) for each in inner)
    releases = (*inner, *plain, *sampled, *fixed, *replaced, *grouped)
    assert {type(release).__name__ for release in releases} | {"Repeated"} == set(RELEASES)
    for name in ("losses", "least_losses", "poisson_sampled_losses"):
        for kind in {type(release) for release in releases}:
            monkeypatch.setattr(kind, name, refused)
    for release in releases:
        release.loss_ends()
        opinion = release.opinion()
        if opinion is not None:
            opinion.curve(0.5)
            assert opinion.test is None or opinion.test(0.5).least <= 1.0


@pytest.mark.parametrize("seed", range(16))
def test_closed_forms_of_responses_contain_their_definition(seed: int) -> None:
    rng = random.Random(seed)
    epsilon, delta = logarithmic(rng, 1e-9, 700), rng.choice([0.0, 1e-300, 1e-9, 0.3, 1.0])
    rate, categories = logarithmic(rng, 1e-9, 1), rng.choice([2, 3, 1000])
    box = ApproxDP(epsilon=epsilon, delta=delta)
    coin = RandomizedResponse(epsilon=epsilon, categories=categories)
    for at in EPSILONS:
        masses = pairs.response(epsilon, delta)
        assert_inside(box, at, pairs.curve_of(masses, at))
        truth = pairs.worst_sampled(masses, rate, at)
        assert_inside(PoissonSampled(release=box, rate=rate), at, truth)
        masses = pairs.response(epsilon, categories=categories)
        assert_inside(coin, at, pairs.curve_of(masses, at))
        truth = pairs.worst_sampled(masses, rate, at)
        assert_inside(PoissonSampled(release=coin, rate=rate), at, truth)


@pytest.mark.parametrize("seed", range(12))
def test_closed_forms_of_geometric_noise_contain_their_definition(seed: int) -> None:
    rng = random.Random(seed)
    scale, sensitivity = logarithmic(rng, 1e-3, 1e4), rng.choice([1, 2, 7, 60, 800])
    rate = logarithmic(rng, 1e-6, 1)
    release = Geometric(scale=scale, sensitivity=sensitivity)
    masses = pairs.geometric(scale, sensitivity)
    assert abs(mpmath.fsum(p for p, _ in masses) - 1) < mpf(10) ** -50
    for at in EPSILONS:
        assert_inside(release, at, pairs.curve_of(masses, at))
        truth = pairs.worst_sampled(masses, rate, at)
        assert_inside(PoissonSampled(release=release, rate=rate), at, truth)


@pytest.mark.parametrize("seed", range(12))
def test_closed_forms_of_discrete_gaussians_contain_their_definition(seed: int) -> None:
    rng = random.Random(seed)
    sigma, sensitivity = logarithmic(rng, 0.05, 20), rng.choice([1, 2, 8, 40, 300])
    rate = logarithmic(rng, 1e-6, 1)
    release = DiscreteGaussian(sigma=sigma, sensitivity=sensitivity)
    masses = pairs.discrete_gaussian(sigma, sensitivity)
    width = 1e-7 if sigma < 3 else 2 / sigma  # beyond, only between integrals
    for at in EPSILONS:
        assert_inside(release, at, pairs.curve_of(masses, at), width=width)
        truth = pairs.worst_sampled(masses, rate, at)
        assert_inside(PoissonSampled(release=release, rate=rate), at, truth, width=width)


@pytest.mark.parametrize("gamma", [None, 0.0, 0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("epsilon", [0.4, 1.0, 6.0, 40.0])
def test_closed_forms_of_staircase_noise_contain_its_integral(
    epsilon: float, gamma: float | None
) -> None:
    masses = pairs.staircase(epsilon, gamma)
    for at in EPSILONS:
        truth = pairs.curve_of(masses, at)
        low, high = Staircase(epsilon=epsilon, gamma=gamma).opinion().curve(at)
        assert mpf(low) - mpf(10) ** -45 <= truth <= mpf(high) + mpf(10) ** -45  # the last steps


@pytest.mark.parametrize("seed", range(12))
def test_closed_forms_of_continuous_noise_contain_their_integral(seed: int) -> None:
    rng = random.Random(seed)
    scale, sensitivity = logarithmic(rng, 1e-6, 1e6), logarithmic(rng, 1e-6, 1e6)
    mu = logarithmic(rng, 1e-8, 300)
    rate = logarithmic(rng, 1e-6, 1)
    for at in EPSILONS:
        truth = pairs.laplace_delta(scale, sensitivity, at)
        assert_inside(Laplace(scale=scale, sensitivity=sensitivity), at, truth)
        assert_inside(GaussianDP(mu=mu), at, pairs.gaussian_delta(mu, at))
        moved = mpmath.log(1 + mpmath.expm1(mpf(at)) / mpf(rate))
        removing = mpf(rate) * pairs.gaussian_delta(mu, moved)
        left = 1 - mpmath.exp(mpf(at)) * (1 - mpf(rate))
        adding = mpf(0)
        if left > 0:
            odds = mpmath.log(mpmath.exp(mpf(at)) * mpf(rate) / left)
            adding = left * pairs.gaussian_delta(mu, odds)
        sampled = PoissonSampled(release=GaussianDP(mu=mu), rate=rate)
        assert_inside(sampled, at, max(removing, adding))


@pytest.mark.parametrize("mu", [5e-324, 1e-320, 1e-200, 1e-162, 1e-30, 1e-5])
def test_gaussians_of_the_smallest_mu_are_seen(mu: float) -> None:
    low, high = GaussianDP(mu=mu).opinion().curve(0.0)
    truth = mpmath.erf(mpf(mu) / (2 * mpmath.sqrt(2)))
    assert mpf(low) <= truth <= mpf(high)
    assert low > 0.0 or mu < 1e-321


@pytest.mark.parametrize("delta", [1e-300, 1e-250])
def test_the_square_of_a_small_mu_is_not_taken_for_that_of_another(delta: float) -> None:
    """Its root is 11 % too large, and delta at the same epsilon 1e23 times."""
    spent = compose(GaussianDP(mu=2.8635577953810894e-162))
    assert spent.epsilon_bounds(delta=delta).relative_width < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_vectors_are_summed_both_ways(seed: int) -> None:
    rng = random.Random(seed)
    raw = [[rng.random() ** 8 for _ in range(5)] for _ in range(2)]
    p, q = ([each / sum(row) for each in row] for row in raw)
    for at in EPSILONS:
        forward = pairs.curve_of([(mpf(a), mpf(b)) for a, b in zip(p, q, strict=True)], at)
        back = pairs.curve_of([(mpf(b), mpf(a)) for a, b in zip(p, q, strict=True)], at)
        assert_inside(ProbabilityVectors(p=tuple(p), q=tuple(q)), at, max(forward, back))


@pytest.mark.parametrize("z", [-30.0, -1.0, 0.0, 1e-9, 1.0, 10.0, 28.2, 28.3, 40.0, 1e3, 1e8])
def test_gaussian_tails_are_enclosed(z: float) -> None:
    low, high = gaussian_tail(z, z)
    with mpmath.workdps(50):
        square = mpf(z) ** 2 / 2
        truth = (
            mpmath.log(mpmath.erfc(mpf(z) / mpmath.sqrt(2)) / 2)
            if z < 1e6
            else -square - mpmath.log(mpf(z) * mpmath.sqrt(2 * mpmath.pi))
        )
        assert mpf(low) <= truth <= mpf(high)
        assert high - low <= 1e-2 * (1 + float(square) * 1e-12)


@pytest.mark.parametrize("sigma", [0.05, 0.3, 1.0, 2.9, 3.1, 8.0, 30.0])
def test_lattice_tails_are_enclosed(sigma: float) -> None:
    reach = int(40 * sigma) + 3
    weights = [mpmath.exp(-(mpf(x) ** 2) / (2 * mpf(sigma) ** 2)) for x in range(reach)]
    total = 2 * mpmath.fsum(weights) - 1
    for place in (*range(-3, 4), int(sigma) + 2, int(4 * sigma) + 1, int(20 * sigma)):
        inside = [weights[abs(x)] for x in range(place, reach)]
        low, high = lattice_tail(sigma, place)
        assert mpf(low) <= mpmath.log(mpmath.fsum(inside) / total) <= mpf(high)


@pytest.mark.parametrize("seed", range(12))
def test_tests_on_several_copies_never_say_more_than_every_outcome_does(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice([2, 3, 5])
    epsilon, delta = logarithmic(rng, 1e-3, 30), rng.choice([0.0, 1e-3, 0.2])
    rate = logarithmic(rng, 1e-3, 1)
    box = ApproxDP(epsilon=epsilon, delta=delta)
    cases: list[tuple[Release, pairs.Masses]] = [
        (box, [*pairs.response(epsilon, delta)[:3], pairs.response(epsilon, delta)[4]]),
        (Geometric(scale=0.7, sensitivity=3), pairs.geometric(0.7, 3)),
    ]
    for release, masses in cases:
        sampled = PoissonSampled(release=release, rate=rate)
        both = [pairs.poisson_sampled(masses, rate)]
        for at in (0.0, 0.3, 2.0, 9.0):
            opinion = SecondOpinion.of((release * count,))
            truth = pairs.product_curve(masses, count, at)
            assert mpf(opinion.at_least(at)) <= truth <= mpf(opinion.at_most(at))
            opinion = SecondOpinion.of((sampled * count,))
            assert mpf(opinion.at_least(at)) <= pairs.product_curve(both[0], count, at)


@pytest.mark.parametrize("seed", range(10))
def test_answers_of_the_engine_lie_within_the_opinion(seed: int) -> None:
    rng = random.Random(seed)
    releases = (
        Gaussian(sigma=logarithmic(rng, 0.3, 30)) * rng.randint(1, 9),
        Laplace(scale=logarithmic(rng, 0.3, 30)) * rng.randint(1, 9),
        Staircase(epsilon=logarithmic(rng, 0.01, 3)),
        ZeroConcentratedDP(rho=logarithmic(rng, 1e-4, 1)),
        SampledWithoutReplacement(release=PureDP(epsilon=1.0), sample=1, population=30) * 4,
    )
    chosen = tuple(rng.sample(releases, rng.randint(1, 3)))
    composition = compose(*chosen)
    for at in (0.0, 0.5, 3.0):
        bounds = composition.delta_bounds(epsilon=at)
        opinion = SecondOpinion.of(chosen)
        assert opinion.at_least(at) <= bounds.upper
        assert bounds.lower <= opinion.at_most(at)
    for delta in (1e-9, 1e-3):
        bounds = composition.epsilon_bounds(delta=delta)
        assert SecondOpinion.of(chosen).of_epsilon(bounds, delta).overlaps(bounds)


class _Wrong(Profile):
    """A profile that says what it is told to say."""

    def __init__(self, answer: Bounds) -> None:
        self.answer = answer

    def delta_bounds(self, *, epsilon: float) -> Bounds:  # noqa: ARG002
        return self.answer

    def epsilon_bounds(self, *, delta: float) -> Bounds:  # noqa: ARG002
        return self.answer

    def supports(self, at_most: int) -> Sequence[float]:  # noqa: ARG002
        return [1.0]


LOST = PoissonSampled(release=DiscreteGaussian(sigma=0.5, sensitivity=40), rate=0.1)


@pytest.mark.parametrize("seed", range(6))
def test_many_black_boxes_are_known_by_their_numbers(seed: int) -> None:
    rng = random.Random(seed)
    boxes = [
        ApproxDP(
            epsilon=0.0 if rng.random() < 0.1 else logarithmic(rng, 1e-6, 3.0),
            delta=0.0 if seed == 0 else logarithmic(rng, 1e-15, 1e-3),
        )
        * rng.randint(1, 5)
        for _ in range(90)
    ]
    history = BlackBoxes.of(boxes)
    counts = [(mpf(epsilon), mpf(delta), n) for epsilon, delta, n in history.steps]
    with mpmath.workdps(60):
        kept = mpmath.fprod((1 - delta) ** n for _, delta, n in counts)
        largest = mpmath.fsum(epsilon * n for epsilon, _, n in counts)
        overlap = mpmath.fprod(
            ((1 - delta) * mpmath.sech(epsilon / 2)) ** n for epsilon, delta, n in counts
        )
        alone = max(
            delta + (1 - delta) * (1 - mpmath.exp(-epsilon)) / (1 + mpmath.exp(-epsilon))
            for epsilon, delta, _ in counts
        )
    opinion = SecondOpinion.of_boxes(history)
    outright, end = opinion.end.worst_outright(), opinion.end.largest(0)
    assert outright.lower <= 1 - kept <= outright.upper
    assert outright.width <= 1e-15
    assert end.lower <= largest <= end.upper
    assert end.relative_width <= 1e-11
    assert opinion.end.delta(float(largest) * 1.001) == outright
    # total variation: at least that of one, at most what the overlap of roots leaves
    assert opinion.at_least(0.0) <= mpmath.sqrt(1 - overlap**2)
    assert opinion.at_least(0.0) >= (1 - overlap) * (1 - mpf(10) ** -8)
    assert opinion.at_most(0.0) >= alone
    one_by_one = SecondOpinion.of(tuple(boxes))
    for epsilon in (0.0, 0.1, 1.0, float(largest) / 2):
        assert abs(opinion.at_least(epsilon) - one_by_one.at_least(epsilon)) <= 1e-9
        assert abs(opinion.at_most(epsilon) - one_by_one.at_most(epsilon)) <= 1e-9


def test_a_delta_that_lost_its_mass_is_no_answer() -> None:
    wrong = Corroborated(_Wrong(Bounds(lower=0.0, upper=1e-291)), SecondOpinion.of((LOST,)))
    with pytest.raises(InconsistentAnswers, match="disagree") as found:
        wrong.delta_bounds(epsilon=1.0)
    assert found.value.code == "inconsistent_answers"
    many = Corroborated(_Wrong(Bounds(lower=0.0, upper=0.05)), SecondOpinion.of((LOST * 9,)))
    with pytest.raises(InconsistentAnswers):
        many.delta_bounds(epsilon=1.0)


def test_an_epsilon_that_is_too_small_or_too_large_is_no_answer() -> None:
    opinion = SecondOpinion.of((Gaussian(sigma=1.0) * 4, Laplace(scale=1.0)))
    with pytest.raises(InconsistentAnswers):
        Corroborated(_Wrong(Bounds(lower=0.0, upper=2.0)), opinion).epsilon_bounds(delta=1e-6)
    with pytest.raises(InconsistentAnswers):
        Corroborated(_Wrong(Bounds(lower=900.0, upper=1e3)), opinion).epsilon_bounds(delta=1e-6)
    with pytest.raises(InconsistentAnswers):
        Corroborated(_Wrong(Bounds(lower=0.9, upper=1.0)), opinion).delta_bounds(epsilon=40.0)


def test_a_vague_answer_is_made_narrower() -> None:
    opinion = SecondOpinion.of((Laplace(scale=2.0),))
    vague = Corroborated(_Wrong(Bounds(lower=0.0, upper=1.0)), opinion)
    bounds = vague.delta_bounds(epsilon=0.25)
    assert pairs.laplace_delta(2.0, 1.0, 0.25) in bounds
    assert bounds.width < 1e-8


def test_an_answer_by_way_of_then_is_held_against_the_whole_history() -> None:
    first = compose(Gaussian(sigma=1.0))
    _ = first.delta(epsilon=1.0)
    longer = first.then(Gaussian(sigma=0.1))
    longer.__dict__["_profile"] = _Wrong(Bounds(lower=0.0, upper=0.9))
    with pytest.raises(InconsistentAnswers):
        longer.delta_bounds(epsilon=1.0)


def test_everything_that_a_composition_says_is_held_against_the_opinion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        Composition, "_narrowed", lambda *_: _Wrong(Bounds(lower=0.0, upper=1e-291))
    )
    lost = compose(LOST)
    for ask in (
        lambda: lost.delta(epsilon=1.0),
        lambda: lost.epsilon(delta=1e-6),
        lost.advantage,
        lambda: lost.tradeoff().false_negative(false_positive=0.1),
        lambda: lost.tradeoff().bayes_error(prior=0.4),
        lambda: lost.tradeoff().posterior(prior=0.4, false_positive=0.1),
    ):
        with pytest.raises(InconsistentAnswers):
            ask()
