"""Poisson samples of samples, of sums, of asymmetric releases and of those known by moments."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import fields
from fractions import Fraction

import pytest

from quaestor import (
    ApproxDP,
    DensityPair,
    Gaussian,
    GaussianDP,
    GroupPrivacy,
    InvalidParameter,
    Laplace,
    MixtureOfGaussians,
    PoissonSampled,
    PrivacyProfile,
    ProbabilityVectors,
    PureDP,
    RandomizedResponse,
    RenyiDP,
    RepeatAndSelect,
    SampledWithoutReplacement,
    ShuffledEpoch,
    TruncatedPoissonGaussian,
    ZeroConcentratedDP,
    compose,
    release_from_json,
)
from quaestor.accounting.expressions import parse_release
from quaestor.accounting.releases import RELEASES
from quaestor.accounting.theorems import privacy_loss

Masses = list[Fraction]


def hockey_stick(first: Masses, second: Masses, at: float) -> Fraction:
    """From the definition; the odds are rounded by less than is allowed for below."""
    odds = Fraction(math.exp(at))
    return sum(
        (max(p - odds * q, Fraction(0)) for p, q in zip(first, second, strict=True)), Fraction(0)
    )


def sampled(p: Masses, q: Masses, rate: float) -> Masses:
    return [Fraction(rate) * a + (1 - Fraction(rate)) * b for a, b in zip(p, q, strict=True)]


def floats(masses: Masses) -> tuple[float, ...]:
    return tuple(map(float, masses))


def dyadic(rng: random.Random) -> Masses:
    """Masses that floats hold exactly."""
    cuts = sorted(rng.sample(range(1, 256), rng.choice([1, 2, 3])))
    return [Fraction(b - a, 256) for a, b in itertools.pairwise([0, *cuts, 256])]


@pytest.mark.parametrize("seed", range(25))
def test_a_sample_of_an_asymmetric_pair_is_never_below_the_mixture(seed: int) -> None:
    rng = random.Random(seed)
    p = dyadic(rng)
    q = dyadic(rng)
    while len(q) != len(p):
        q = dyadic(rng)
    rate = rng.choice([2**-10, 0.125, 0.5, 0.875, 1.0])
    release = PoissonSampled(release=ProbabilityVectors(p=floats(p), q=floats(q)), rate=rate)
    both = sampled(p, q, rate)
    directions = privacy_loss([release])._directions
    truths = ((both, q), (q, both))
    for at in (0.0, 0.01, rng.uniform(0.0, 1.0), rng.uniform(0.0, 4.0)):
        for pair, profile in zip(truths, (directions[0], directions[-1]), strict=True):
            truth = hockey_stick(*pair, at)
            assert truth <= profile.delta_bounds(epsilon=at).upper * (1 + 1e-12) + 1e-15
        worst = max(hockey_stick(*pair, at) for pair in truths)
        if rate < 1.0:
            assert compose(release).delta(epsilon=at) <= float(worst) * 1.05 + 1e-2 * rate


@pytest.mark.parametrize("seed", range(10))
def test_one_coin_for_a_sum_is_the_mixture_of_products(seed: int) -> None:
    rng = random.Random(seed)
    first, second = rng.uniform(0.1, 2.0), rng.uniform(0.1, 2.0)
    rate = rng.choice([0.01, 0.3, 0.9])
    run = PureDP(epsilon=first) * 2 + RandomizedResponse(epsilon=second, categories=3)
    release = PoissonSampled(release=run, rate=rate)

    def response(epsilon: float, categories: int) -> tuple[Masses, Masses]:
        odds = Fraction(math.exp(epsilon))
        low = 1 / (odds + categories - 1)
        p = [low * odds, *[low] * (categories - 1)]
        return p, [p[1], p[0], *p[2:]]

    pairs = [response(first, 2), response(first, 2), response(second, 3)]
    p, q = (
        [
            math.prod(each, start=Fraction(1))
            for each in itertools.product(*(pair[i] for pair in pairs))
        ]
        for i in (0, 1)
    )
    both = sampled(p, q, rate)
    for at in (0.0, 0.1 * rate, rng.uniform(0.0, 3.0)):
        truth = max(hockey_stick(both, q, at), hockey_stick(q, both, at))
        found = compose(release).delta(epsilon=at)
        assert truth <= found * (1 + 1e-9) + 1e-15
        assert found <= float(truth) * 1.02 + 1e-3 * rate


def test_a_sample_of_a_sample_has_the_product_of_the_rates() -> None:
    for inner in (Gaussian(sigma=1.0), Laplace(scale=2.0), ZeroConcentratedDP(rho=0.1)):
        nested = PoissonSampled(release=PoissonSampled(release=inner, rate=0.25), rate=0.5)
        once = PoissonSampled(release=inner, rate=0.125)
        bounds, exact = (compose(each).epsilon_bounds(delta=1e-6) for each in (nested, once))
        assert exact.lower <= bounds.upper
        assert bounds.upper <= exact.upper * (1 + 1e-6)
        assert bounds.lower <= exact.upper


def test_gaussians_on_one_sample_are_one_gaussian() -> None:
    run = Gaussian(sigma=5.0) * 2 + Gaussian(sigma=3.0, sensitivity=1.5) + GaussianDP(mu=0.25)
    mu = math.sqrt(2 / 25 + 0.25 + 0.0625)
    together = compose(PoissonSampled(release=run, rate=0.01) * 100)
    alone = compose(PoissonSampled(release=GaussianDP(mu=mu), rate=0.01) * 100)
    assert together.epsilon(delta=1e-6) == pytest.approx(alone.epsilon(delta=1e-6), rel=1e-9)
    assert together.epsilon_bounds(delta=1e-6).relative_width < 1e-3


@pytest.mark.parametrize(
    "release",
    [
        ZeroConcentratedDP(rho=0.1),
        RenyiDP(orders=(1.5, 2.0, 4.0, 8.0, 32.0), epsilons=(0.15, 0.2, 0.4, 0.8, 3.2)),
        MixtureOfGaussians(sigma=3.0, sensitivities=(0.0, 1.0), probabilities=(0.5, 0.5)),
        Gaussian(sigma=3.0) + Laplace(scale=4.0),
        ApproxDP(epsilon=0.5, delta=1e-5) + Laplace(scale=4.0),
        DensityPair.of(lambda x: 1.5 - x, lambda x: 0.5 + x, edges=[0.0, 0.25, 0.5, 0.75, 1.0]),
    ],
    ids=lambda release: str(release)[:40],
)
def test_a_sample_costs_no_more_than_the_whole_and_is_written_and_read(release: object) -> None:
    step = PoissonSampled(release=release, rate=0.1)  # type: ignore[arg-type]
    spent, whole = compose(step), compose(release)  # type: ignore[arg-type]
    for epsilon in (0.0, 0.05, 0.3, 1.0):
        assert spent.delta(epsilon=epsilon) <= whole.delta(epsilon=epsilon) * 1.001
    # delta at 0 is the rate's share of the total variation
    variation = whole.delta(epsilon=0.0)  # of moments not the best bound that they allow
    assert 0.09 * variation <= spent.delta(epsilon=0.0) <= 0.1001 * variation
    assert release_from_json(step.to_json()) == step == parse_release(str(step))
    assert step.pure_loss().delta <= 1e-5
    assert step.log_moment(2.0) is not None


def test_zero_concentrated_steps_cost_at_least_what_gaussian_ones_do() -> None:
    rho = 0.125  # a Gaussian of sigma 2
    for rate in (0.01, 0.5):
        step = compose(PoissonSampled(release=ZeroConcentratedDP(rho=rho), rate=rate))
        gaussian = compose(PoissonSampled(release=Gaussian(sigma=2.0), rate=rate))
        whole = compose(ZeroConcentratedDP(rho=rho))
        for delta in (1e-3, 1e-6):
            assert gaussian.epsilon(delta=delta) <= step.epsilon(delta=delta)
            assert step.epsilon(delta=delta) < whole.epsilon(delta=delta)


def test_nobody_and_everybody_are_sampled() -> None:
    run = PureDP(epsilon=0.5) + RandomizedResponse(epsilon=0.5)
    assert compose(PoissonSampled(release=run, rate=0.0)).epsilon(delta=0.0) == 0.0
    everybody, nearly = (
        compose(PoissonSampled(release=run, rate=rate)) for rate in (1.0, 1 - 2**-45)
    )
    assert everybody.epsilon(delta=0.0) >= 1.0
    assert nearly.epsilon(delta=0.0) <= everybody.epsilon(delta=0.0) <= 1.0 + 1e-9


def test_promises_about_replacement_cannot_be_poisson_sampled() -> None:
    inner = SampledWithoutReplacement(release=PureDP(epsilon=1.0), sample=1, population=2)
    with pytest.raises(InvalidParameter, match="come or go"):
        PoissonSampled(release=inner, rate=0.5)


def test_promises_about_data_of_one_size_cannot_be_poisson_sampled() -> None:
    cut = TruncatedPoissonGaussian(sigma=2.0, rate=0.3, batch=5, population=12)
    for inner in (cut, cut * 2, cut + Laplace(scale=1.0), RepeatAndSelect(release=cut, mean=2.0)):
        with pytest.raises(InvalidParameter, match="any size"):
            PoissonSampled(release=inner, rate=0.5)


def test_an_order_in_which_people_keep_their_places_is_not_poisson_sampled() -> None:
    """Who is not in the sample has no place, and all later batches change."""
    shuffled = ShuffledEpoch(sigma=1.0, steps=10)
    for run in (shuffled, PureDP(epsilon=0.1) + shuffled):
        with pytest.raises(InvalidParameter, match="any size and order"):
            PoissonSampled(release=run, rate=0.5)


CUT = TruncatedPoissonGaussian(sigma=2.0, rate=0.3, batch=5, population=12)


@pytest.mark.parametrize("name", sorted(RELEASES))
def test_every_kind_says_whether_its_promise_counts_people(name: str) -> None:
    """A kind with a population does; a kind that is made of others says what these say."""
    kind = RELEASES[name]
    parameters = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    if "population" in parameters:
        assert kind.counts_people is True
    elif "release" in parameters:
        stated = next(vars(each)["counts_people"] for each in kind.__mro__ if _states(each))
        assert isinstance(stated, property)
    else:
        assert kind.counts_people is (kind is ShuffledEpoch)


def _states(kind: type) -> bool:
    return "counts_people" in vars(kind)


def test_what_is_made_of_releases_that_count_people_counts_people() -> None:
    once, sure = Laplace(scale=1.0), ShuffledEpoch(sigma=1.0, steps=10)
    for inner, counts in ((CUT, True), (sure, True), (once, False)):
        runs = [RepeatAndSelect(release=each, mean=2.0) for each in (inner, inner + once)]
        groups = [GroupPrivacy(release=each, size=2) for each in (inner, runs[1])]
        sums = [inner + once, once + inner]
        assert all(each.counts_people is counts for each in (inner * 2, *runs, *groups))
        assert all(each.counts_people is counts for each in sums)
    assert not PoissonSampled(release=once, rate=0.5).counts_people
    for each in (GroupPrivacy(release=CUT, size=2), GroupPrivacy(release=CUT, size=2) + once):
        with pytest.raises(InvalidParameter, match="any size"):
            PoissonSampled(release=each, rate=0.5)


# --------------------------------------------------------- a sample of a fixed size


def seen_in_samples(laws: list[Masses], ones: int, people: int, sample: int) -> Masses:
    """What is seen where so many of the people have a 1: every sample is as likely."""
    ways = [
        Fraction(
            math.comb(ones, k) * math.comb(people - ones, sample - k), math.comb(people, sample)
        )
        for k in range(sample + 1)
    ]
    return [
        sum((way * law[i] for way, law in zip(ways, laws, strict=True)), Fraction(0))
        for i in range(len(laws[0]))
    ]


def worst_replacement(laws: list[Masses], people: int, sample: int, at: float) -> Fraction:
    """Over all data and both directions, by listing them."""
    seen = [seen_in_samples(laws, ones, people, sample) for ones in range(people + 1)]
    pairs = itertools.pairwise(seen)
    return max(max(hockey_stick(a, b, at), hockey_stick(b, a, at)) for a, b in pairs)


def neighbouring_laws(rng: random.Random, count: int) -> list[Masses]:
    laws = [dyadic_of(rng, 3)]
    for _ in range(count - 1):
        mixed = [(3 * a + b) / 4 for a, b in zip(laws[-1], dyadic_of(rng, 3), strict=True)]
        laws.append(mixed)
    return laws


def dyadic_of(rng: random.Random, outcomes: int) -> Masses:
    cuts = sorted(rng.sample(range(1, 64), outcomes - 1))
    return [Fraction(b - a, 64) for a, b in itertools.pairwise([0, *cuts, 64])]


@pytest.mark.parametrize("seed", range(25))
def test_a_sample_of_a_fixed_size_promises_no_less_than_listing_every_sample(seed: int) -> None:
    """Profiles, directed pairs and sums of them, on samples of one to three people."""
    rng = random.Random(seed)
    sample = rng.choice((1, 1, 2, 3))
    people = sample + rng.randint(0, 5)
    laws = neighbouring_laws(rng, sample + 1)
    times = rng.choice((1, 2)) if sample == 1 else 1
    places = (0.0, 0.02, 0.1, 0.3, 0.7, 1.5)
    if sample == 1:
        inner = ProbabilityVectors(p=floats(laws[0]), q=floats(laws[1])) * times
    else:
        worst = [
            max(hockey_stick(laws[k], laws[k + way], at) for k, way in _steps(sample))
            for at in places
        ]
        deltas = tuple(float(each) * (1 + 1e-12) for each in worst)
        inner = PrivacyProfile(epsilons=places, deltas=deltas)
    listed = [[a * b for a in law for b in law] for law in laws] if times == 2 else laws
    bounds = compose(SampledWithoutReplacement(release=inner, sample=sample, population=people))
    for at in (0.0, 0.01, 0.05, 0.2, 0.6):
        found = bounds.delta_bounds(epsilon=at)
        truth = worst_replacement(listed, people, sample, at)
        assert truth <= Fraction(found.upper) * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12)
        if sample == 1:  # the pair itself, not the worst release with its profile
            assert found.lower <= truth + Fraction(1, 10**12)


def _steps(sample: int) -> list[tuple[int, int]]:
    return [(k, way) for k in range(sample + 1) for way in (-1, 1) if 0 <= k + way <= sample]


def test_the_bound_for_a_sum_on_a_sample_is_reached() -> None:
    """Of one person in two, a symmetric pair: only what points of the profile cost is more."""
    pair = ProbabilityVectors(p=(0.75, 0.25), q=(0.25, 0.75))
    step = compose(SampledWithoutReplacement(release=pair * 2, sample=1, population=2))
    first, second = (
        [Fraction(9, 16), Fraction(6, 16), Fraction(1, 16)],
        [Fraction(1, 16), Fraction(6, 16), Fraction(9, 16)],
    )
    # the others have the second value: mixtures of both against the second alone
    mixed = sampled(first, second, 0.5)
    for at in (0.1, 0.5, 1.0):
        truth = hockey_stick(mixed, second, at)
        assert truth <= Fraction(step.delta(epsilon=at)) <= truth * Fraction(101, 100)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_gaussians_on_one_sample_of_a_fixed_size_are_one(count: int) -> None:
    several = SampledWithoutReplacement(release=Gaussian(sigma=2.0) * count, sample=1, population=9)
    one = SampledWithoutReplacement(
        release=GaussianDP(mu=math.sqrt(count) / 2), sample=1, population=9
    )
    for at in (0.1, 0.5, 1.0):
        found = compose(several).delta_bounds(epsilon=at)
        assert found.overlaps(compose(one).delta_bounds(epsilon=at))
        assert found.lower > 0.0


def test_what_is_about_comings_and_goings_or_counts_people_has_no_fixed_sample() -> None:
    comes = PoissonSampled(release=Gaussian(sigma=1.0), rate=0.1)
    fixed = SampledWithoutReplacement(release=PureDP(epsilon=1.0), sample=2, population=5)
    for inner in (comes, comes + PureDP(epsilon=1.0), fixed, fixed + PureDP(epsilon=1.0)):
        with pytest.raises(InvalidParameter, match="release"):
            SampledWithoutReplacement(release=inner, sample=1, population=2)
    with pytest.raises(InvalidParameter, match="release"):
        SampledWithoutReplacement(release=3, sample=1, population=2)  # type: ignore[arg-type]


def test_a_sum_on_a_sample_of_a_fixed_size_goes_through_json_and_expressions() -> None:
    run = Gaussian(sigma=1.0) + Laplace(scale=2.0) * 3
    release = SampledWithoutReplacement(release=run, sample=2, population=9)
    assert release_from_json(release.to_json()) == release
    assert parse_release(str(release)) == release
