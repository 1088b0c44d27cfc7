"""Sampling schemes beside Poisson's: held against oracles, and against every small dataset."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from quaestor import (
    ApproxDP,
    Gaussian,
    InvalidParameter,
    Laplace,
    MixtureOfGaussians,
    PoissonSampled,
    PoissonSampledReplaceOne,
    PureDP,
    RandomizedResponse,
    SampledWithoutReplacement,
    SampledWithReplacement,
    TruncatedPoissonGaussian,
    compose,
    compose_across,
)
from quaestor.accounting.theorems import privacy_loss
from tests.oracles import mixtures as oracle

if TYPE_CHECKING:
    from quaestor import Release

ALONE: oracle.Centres = {Fraction(0): Fraction(1)}


def negated(mixture: oracle.Centres) -> oracle.Centres:
    return {-centre: weight for centre, weight in mixture.items()}


def a_mixture(rng: random.Random) -> tuple[MixtureOfGaussians, oracle.Centres]:
    """Some lengths with probabilities that are exact floats."""
    count = rng.randint(1, 4)
    sigma = 2.0 ** rng.randint(-2, 3)
    lengths = [rng.choice([0.0, rng.uniform(0.0, 2.0), 1.0]) for _ in range(count)]
    shares = [rng.randint(1, 64) for _ in range(count - 1)]
    shares.append(256 - sum(shares))
    chances = [share / 256 for share in shares]
    centres: dict[Fraction, Fraction] = {}
    for length, chance in zip(lengths, chances, strict=True):
        place = Fraction(length) / Fraction(sigma)
        centres[place] = centres.get(place, Fraction(0)) + Fraction(chance)
    release = MixtureOfGaussians(
        sigma=sigma, sensitivities=tuple(lengths), probabilities=tuple(chances)
    )
    return release, centres


@pytest.mark.parametrize("seed", range(30))
def test_one_mixture_contains_the_oracle_in_both_directions(seed: int) -> None:
    rng = random.Random(seed)
    release, centres = a_mixture(rng)
    at = rng.choice([0.0, 0.01, rng.uniform(0.0, 1.0), rng.uniform(0.0, 8.0)])
    directions = privacy_loss([release])._directions
    if len(directions) == 1:  # nothing moves
        assert directions[0].delta_bounds(epsilon=at).upper == 0.0
        return
    pairs = ((centres, ALONE), (ALONE, negated(centres)))
    for pair, profile in zip(pairs, directions, strict=True):
        truth = oracle.monotone_delta(*pair, at=at)
        bounds = profile.delta_bounds(epsilon=at)
        assert truth in bounds or truth < 1e-280
        assert bounds.relative_width < 1e-9 or bounds.upper < 1e-50


@pytest.mark.parametrize(
    ("mu", "rate"), [(1.0, 0.1), (0.05, 0.3), (3.0, 0.01), (0.5, 1e-4), (2.0, 0.9)]
)
@pytest.mark.parametrize("at", [0.0, 0.02, 1.5])
def test_one_replacement_in_a_sample_contains_the_oracle(mu: float, rate: float, at: float) -> None:
    share = Fraction(rate)
    mixture = {Fraction(0): 1 - share, Fraction(mu): share}
    truth = oracle.monotone_delta(mixture, negated(mixture), at=at)
    release = PoissonSampledReplaceOne(release=Gaussian(sigma=1.0, sensitivity=mu), rate=rate)
    bounds = compose(release).delta_bounds(epsilon=at)
    assert truth in bounds
    assert bounds.relative_width < 1e-9 or bounds.upper < 1e-280


@pytest.mark.parametrize("rate", [0.05, 0.4])
@pytest.mark.parametrize("at", [0.3, 2.0])
def test_two_of_them_contain_what_numerical_integration_says(rate: float, at: float) -> None:
    """The first outcome is integrated, and what the second then costs is known in closed form."""
    mixture = {Fraction(0): 1 - Fraction(rate), Fraction(1): Fraction(rate)}
    other = negated(mixture)
    steps, total = 600, 0.0
    for i in range(steps):
        x = -10.0 + 20.0 * (i + 0.5) / steps
        mine, theirs = (float(oracle.density(each, x)) for each in (mixture, other))
        level = at - math.log(mine / theirs)
        if level >= 0:
            total += mine * oracle.hockey_stick(mixture, other, at=level, steps=500)
        else:  # delta(-e) = 1 - e^-e + e^-e delta(e), for a pair that is its own mirror image
            back = oracle.hockey_stick(mixture, other, at=-level, steps=500)
            total += mine * (1 - math.exp(level) * (1 - back))
    total *= 20.0 / steps
    release = PoissonSampledReplaceOne(release=Gaussian(sigma=1.0), rate=rate)
    bounds = compose(release * 2).delta_bounds(epsilon=at)
    assert bounds.lower * (1 - 2e-4) <= total <= bounds.upper * (1 + 2e-4)


def test_no_two_values_of_a_person_are_easier_to_tell_apart_than_opposite_ones() -> None:
    """Every pair of values within the bound, on a grid: the bound is theirs at -1 and 1."""
    for rate, sigma in ((0.1, 0.5), (0.5, 1.0), (0.02, 2.0)):
        release = PoissonSampledReplaceOne(release=Gaussian(sigma=sigma), rate=rate)
        share = Fraction(rate)
        for at in (0.0, 0.05, 0.5, 2.0):
            bound = compose(release).delta(epsilon=at)
            for first, second in itertools.product(range(-4, 5), repeat=2):
                worlds = [
                    {Fraction(0): 1 - share, Fraction(value, 4) / Fraction(sigma): share}
                    if value
                    else ALONE
                    for value in (first, second)
                ]
                found = oracle.hockey_stick(*worlds, at=at, steps=20_000)
                assert found <= bound * (1 + 1e-5) + 1e-9


def test_in_the_plane_no_two_values_are_easier_to_tell_apart_either() -> None:
    import numpy as np

    rate, sigma, rng = 0.2, 0.8, random.Random(1)
    grid = np.linspace(-7.0, 7.0, 281)
    x, y = np.meshgrid(grid, grid)
    cell = (grid[1] - grid[0]) ** 2
    release = PoissonSampledReplaceOne(release=Gaussian(sigma=sigma), rate=rate)

    def bell(angle: float, length: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        u, v = length / sigma * math.cos(angle), length / sigma * math.sin(angle)
        height: np.ndarray[tuple[int, int], np.dtype[np.float64]] = np.exp(
            -((x - u) ** 2 + (y - v) ** 2) / 2
        )
        return height / (2 * math.pi)

    for _ in range(40):
        first, second = (
            bell(rng.uniform(0, 2 * math.pi), rng.choice([1.0, rng.random()])) for _ in range(2)
        )
        alone = bell(0.0, 0.0)
        worlds = [(1 - rate) * alone + rate * each for each in (first, second)]
        for at in (0.0, 0.3, 1.5):
            found = float(np.sum(np.maximum(worlds[0] - math.exp(at) * worlds[1], 0.0)) * cell)
            assert found <= compose(release).delta(epsilon=at) * (1 + 1e-4)


@pytest.mark.parametrize(
    ("rate", "batch", "others", "sigma"),
    [("1/2", 1, 2, 1.0), ("1/2", 2, 3, 0.5), ("3/4", 2, 4, 2.0), ("1/4", 1, 4, 1.0)],
)
def test_no_dataset_tells_more_through_a_cut_sample_than_is_promised(
    rate: str, batch: int, others: int, sigma: float
) -> None:
    """Every dataset with values of -1, 0 and 1, with the person and without, both ways."""
    release = TruncatedPoissonGaussian(
        sigma=sigma, rate=float(Fraction(rate)), batch=batch, population=others + 1
    )
    most = dict.fromkeys((0.0, 0.2, 1.0, 2.5), 0.0)
    for rest in itertools.combinations_with_replacement((-1, 0, 1), others):
        worlds = [
            {
                centre / Fraction(sigma): weight
                for centre, weight in oracle.truncated_sums(
                    [Fraction(value) for value in (*rest, *person)],
                    rate=Fraction(rate),
                    batch=batch,
                ).items()
            }
            for person in ((1,), ())
        ]
        for at in most:
            both = (oracle.hockey_stick(*worlds, at=at), oracle.hockey_stick(*worlds[::-1], at=at))
            most[at] = max(most[at], *both)
    for at, found in most.items():
        bound = compose(release).delta(epsilon=at)
        assert found <= bound * (1 + 1e-4) + 1e-9
        if at == 0.0:
            assert found >= bound / 3  # and not far from it


def test_a_batch_that_is_never_full_cuts_nothing() -> None:
    cut = TruncatedPoissonGaussian(sigma=1.0, rate=0.1, batch=50, population=50)
    plain = PoissonSampled(release=Gaussian(sigma=1.0), rate=0.1)
    for at in (0.0, 0.5, 2.0):
        one, other = (compose(r * 10).delta_bounds(epsilon=at) for r in (cut, plain))
        assert one.overlaps(other)


@pytest.mark.parametrize(
    ("people", "sample", "kind", "sigma"),
    [
        (3, 1, SampledWithoutReplacement, 1.0),
        (4, 2, SampledWithoutReplacement, 0.5),
        (5, 3, SampledWithoutReplacement, 2.0),
        (3, 1, SampledWithReplacement, 1.0),
        (3, 2, SampledWithReplacement, 1.0),
        (4, 3, SampledWithReplacement, 2.0),
    ],
)
def test_no_dataset_tells_more_through_a_sample_of_fixed_size_than_is_promised(
    people: int, sample: int, kind: Any, sigma: float
) -> None:
    """Every dataset with values of -1, 0 and 1, and every other value of one person."""
    repeated = kind is SampledWithReplacement
    release = kind(release=Gaussian(sigma=sigma, sensitivity=2.0), sample=sample, population=people)
    most = dict.fromkeys((0.0, 0.3, 1.0, 2.5), 0.0)
    for rest in itertools.combinations_with_replacement((-1, 0, 1), people - 1):
        worlds = [
            {
                centre / Fraction(sigma): weight
                for centre, weight in oracle.fixed_size_sums(
                    [Fraction(value) for value in (*rest, person)],
                    sample=sample,
                    repeated=repeated,
                ).items()
            }
            for person in (-1, 0, 1)
        ]
        for at in most:
            found = (
                oracle.hockey_stick(*pair, at=at) for pair in itertools.permutations(worlds, 2)
            )
            most[at] = max(most[at], *found)
    for at, worst in most.items():
        bound = compose(release).delta_bounds(epsilon=at)
        assert worst <= bound.upper * (1 + 1e-4) + 1e-9
        if at == 0.0:
            assert worst >= bound.upper / 3  # and not far from it


@pytest.mark.parametrize("inner", [Gaussian(sigma=1.0), Laplace(scale=1.0)])
def test_a_single_draw_is_the_same_with_and_without_replacement(inner: Release) -> None:
    once = compose(SampledWithoutReplacement(release=inner, sample=1, population=20))
    again = compose(SampledWithReplacement(release=inner, sample=1, population=20))
    for at in (0.0, 0.2, 1.0):
        one, other = once.delta_bounds(epsilon=at), again.delta_bounds(epsilon=at)
        assert one.lower <= other.upper <= one.upper * 1.02 + 1e-12


def test_a_sample_of_fixed_size_costs_no_less_than_removing_from_a_poisson_sample() -> None:
    inner = Gaussian(sigma=1.0)
    fixed = compose(SampledWithoutReplacement(release=inner, sample=1, population=10) * 20)
    poisson = compose(PoissonSampled(release=inner, rate=0.1) * 20)
    for at in (0.2, 1.0, 3.0):
        assert fixed.delta(epsilon=at) >= poisson.delta_bounds(epsilon=at).lower


# ------------------------------------------------------------------------- neighbours

COMES = PoissonSampled(release=Gaussian(sigma=1.0), rate=0.1)
REPLACED = PoissonSampledReplaceOne(release=Gaussian(sigma=1.0), rate=0.1)
FIXED = SampledWithoutReplacement(release=RandomizedResponse(epsilon=1.0), sample=1, population=10)


@pytest.mark.parametrize("other", [REPLACED, FIXED, REPLACED * 3])
def test_promises_about_different_neighbours_are_not_added_up(other: Release) -> None:
    with pytest.raises(InvalidParameter, match="same neighbours"):
        compose(COMES, other)
    with pytest.raises(InvalidParameter, match="same neighbours"):
        compose(COMES * 5, PureDP(epsilon=0.1)).then(other)


def test_promises_about_the_same_neighbours_and_open_ones_are() -> None:
    assert compose(REPLACED, FIXED, PureDP(epsilon=0.1)).epsilon(delta=1e-5) < 10.0
    assert compose(COMES * 100, Laplace(scale=3.0)).epsilon(delta=1e-5) < 20.0


def test_several_databases_take_promises_about_people_who_come_and_go() -> None:
    with pytest.raises(InvalidParameter, match="adding or removing one record"):
        compose_across({"north": [FIXED], "south": []})
    across = compose_across(
        {"north": [COMES], "south": [Gaussian(sigma=2.0)]}, neighbours="replace_record"
    )
    assert across.epsilon(delta=1e-5) >= compose(REPLACED).epsilon_bounds(delta=1e-5).lower


@pytest.mark.parametrize("rate", [0.0, 1e-3, 0.3, 1.0])
@pytest.mark.parametrize(
    "inner", [Gaussian(sigma=1.5), PureDP(epsilon=0.7), ApproxDP(epsilon=0.2, delta=1e-3)]
)
def test_a_replacement_costs_no_less_than_coming_and_no_more_than_the_whole_replacement(
    inner: Release, rate: float
) -> None:
    sampled = compose(PoissonSampledReplaceOne(release=inner, rate=rate))
    comes = compose(PoissonSampled(release=inner, rate=rate))
    whole = compose(inner.with_record_replaced())
    for at in (0.0, 0.1, 1.0):
        found = sampled.delta_bounds(epsilon=at)
        assert found.upper >= comes.delta_bounds(epsilon=at).lower
        assert found.lower <= whole.delta_bounds(epsilon=at).upper
