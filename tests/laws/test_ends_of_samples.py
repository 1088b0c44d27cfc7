"""Ends of intervals of samples, against every choice of small worlds."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import pytest

from quaestor import (
    DiscreteGaussian,
    GaussianDP,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    SampledWithoutReplacement,
    compose,
)
from quaestor.accounting.releases.derived.replace_one import PoissonSampledReplaceOne

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release, ReleaseSum

Masses: TypeAlias = list[float]
Pair: TypeAlias = tuple[Masses, Masses]


def _noise(sigma: float, middle: int) -> Masses:
    weights = [math.exp(-(((x - middle) / sigma) ** 2) / 2) for x in range(-14, 15)]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _answers(epsilon: float, value: int) -> Masses:
    truth = 1 / (1 + math.exp(-epsilon))
    return [truth, 1 - truth] if value else [1 - truth, truth]


def _mixed(rate: float, without: Masses, with_person: Masses) -> Masses:
    return [(1 - rate) * r + rate * a for r, a in zip(without, with_person, strict=True)]


def _pairs(worlds: list[Masses], furthest: int, rate: float) -> list[Pair]:
    """Of all choices of R, A and B that are no further apart."""
    triples = [t for t in product(range(len(worlds)), repeat=3) if max(t) - min(t) <= furthest]
    return [
        (_mixed(rate, worlds[r], worlds[a]), _mixed(rate, worlds[r], worlds[b]))
        for r, a, b in triples
    ]


def _adaptive_delta(pairs: list[Pair], epsilon: float) -> float:
    """The most that two steps tell, where the second is chosen after the first was seen."""

    def second(p: float, q: float) -> float:
        grown = math.exp(epsilon) * q
        return max(
            math.fsum(max(p * a - grown * b, 0.0) for a, b in zip(*pair, strict=True))
            for pair in pairs
        )

    return max(math.fsum(second(p, q) for p, q in zip(*pair, strict=True)) for pair in pairs)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
@pytest.mark.parametrize(
    ("release", "worlds", "furthest"),
    [
        (RandomizedResponse(epsilon=1.5), [_answers(1.5, value) for value in (0, 1)], 1),
        (
            DiscreteGaussian(sigma=1.6, sensitivity=2),
            [_noise(1.6, middle) for middle in (-1, 0, 1)],
            2,
        ),
    ],
    ids=["answers", "noise"],
)
def test_lower_ends_of_two_samples_are_no_higher_than_what_any_choice_attains(
    release: Release, worlds: list[Masses], furthest: int, epsilon: float
) -> None:
    step = SampledWithoutReplacement(release=release, sample=3, population=4)
    attained = _adaptive_delta(_pairs(worlds, furthest, 0.75), epsilon)
    bounds = compose(step * 2).delta_bounds(epsilon=epsilon)
    assert bounds.lower <= attained * (1 + 1e-9)
    assert bounds.upper >= attained * (1 - 1e-9)


def test_the_lower_end_of_a_replacement_is_no_higher_than_one_change_from_the_middle_allows() -> (
    None
):
    """Ratios to the middle of at most e either way: the loss is 1, and 1.43 is the upper end."""
    for release in (RandomizedResponse(epsilon=1.0), Laplace(scale=1.0)):
        step = PoissonSampledReplaceOne(release=release, rate=0.5)
        assert compose(step).epsilon_bounds(delta=0.0).lower <= 1.0
        assert compose(step).epsilon_bounds(delta=1e-9).lower <= 1.0


def test_the_lower_end_of_a_replacement_is_no_higher_than_the_best_trade_off_allows() -> None:
    """The least after one change, and after two, against a fine list of values of a."""

    def least(a: float) -> float:
        return max(a / math.e, 1 - math.e * (1 - a))

    alpha, rate = math.exp(0.5), 0.5
    ways = [
        rate * a - (1 - rate) * (alpha - 1) * least(a) - alpha * rate * least(least(a))
        for a in (i / 10**4 for i in range(10**4 + 1))
    ]
    step = PoissonSampledReplaceOne(release=RandomizedResponse(epsilon=1.0), rate=rate)
    assert compose(step).delta_bounds(epsilon=0.5).lower <= max(ways) + 1e-4


@pytest.mark.parametrize("mu", [0.0, 5e-324, 1e-160, 1e-100, 1e-78, 1e-70, 1e-62, 1e-9])
def test_a_sample_of_several_tiny_gaussians_contains_the_truth(mu: float) -> None:
    """Delta at epsilon 0 is rate * (2 Phi(mu/2) - 1), and mu / sqrt(2 pi) is as much for these."""
    several: ReleaseSum = GaussianDP(mu=mu) + GaussianDP(mu=2 * mu)
    truth = math.sqrt(5 / (2 * math.pi)) * mu / 2
    for step in (
        PoissonSampled(release=several, rate=0.5),
        SampledWithoutReplacement(release=several, sample=1, population=2),
    ):
        bounds = compose(step).delta_bounds(epsilon=0.0)
        assert bounds.lower <= truth * (1 + 1e-14) + 5e-324
        assert bounds.upper >= truth * (1 - 1e-14)
