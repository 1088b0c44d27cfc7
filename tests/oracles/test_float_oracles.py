"""The oracles in balls agree with those in mpmath, which were written apart from them."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from tests.laws.float_ends import spread
from tests.oracles import losses, outcomes, shifts
from tests.oracles.balls import ball, precisely

if TYPE_CHECKING:
    from collections.abc import Callable

    from flint import arb

    from tests.oracles.outcomes import Outcomes

DIGITS = 25


def assert_agrees(found: arb, truth: mpf) -> None:
    with mp.workdps(60):
        middle = mpf(found.mid().str(50, radius=False))
        assert abs(middle - truth) <= abs(truth) * mpf(10) ** -DIGITS + mpf(10) ** -140


@pytest.mark.parametrize("seed", range(8))
def test_continuous_noise_agrees(seed: int) -> None:
    rng = random.Random(seed)
    size, rate = spread(rng, 0.05, 5.0), rng.random()
    at, shift = rng.uniform(0, 2) * size, Fraction(size)
    question = ball(at)
    gaussian = precisely(lambda: shifts.gaussian(ball(size))(question))
    assert_agrees(gaussian, losses.gaussian_delta(mu=shift, at=at))
    once = precisely(lambda: shifts.laplaces([ball(size)])(question))
    assert_agrees(once, losses.laplace_delta(shift=shift, at=at))
    twice = precisely(lambda: shifts.laplaces([ball(size)] * 2)(question))
    assert_agrees(twice, losses.twofold_laplace_delta(shift=shift, at=at))
    for removing in (True, False):
        noise = shifts.sampled_gaussian(ball(size), rate, removing=removing)
        truth = losses.sampled_gaussian_delta(mu=shift, rate=rate, at=at, removing=removing)
        assert_agrees(precisely(partial(noise, question)), truth)
        noise = shifts.sampled_laplace(ball(size), rate, removing=removing)
        truth = losses.sampled_laplace_delta(shift=shift, rate=rate, at=at, removing=removing)
        assert_agrees(precisely(partial(noise, question)), truth)


def pairs(rng: random.Random) -> list[tuple[Callable[[], Outcomes], losses.Pair]]:
    """Mechanisms with few outcomes, by both oracles."""
    epsilon, gamma = spread(rng, 0.3, 5.0), rng.random()
    categories, scale = rng.randint(2, 4), spread(rng, 0.2, 5.0)
    return [
        (
            lambda: outcomes.randomized_response(epsilon, categories),
            losses.randomized_response(epsilon=epsilon, categories=categories),
        ),
        (
            lambda: outcomes.failing_response(epsilon, 0.01),
            losses.failing_response(epsilon=epsilon, delta=0.01),
        ),
        (lambda: outcomes.geometric(scale, 3), losses.geometric(scale=scale, sensitivity=3)),
        (
            lambda: outcomes.staircase(epsilon, gamma),
            losses.staircase(epsilon=epsilon, gamma=gamma),
        ),
        (
            lambda: outcomes.discrete_gaussian(scale, 2),
            losses.discrete_gaussian(sigma=scale, sensitivity=2),
        ),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_few_outcomes_agree_once_sampled_and_repeated(seed: int) -> None:
    rng = random.Random(seed)
    for outcomes_of, pair in pairs(rng):
        at, rate = rng.uniform(0, 3), rng.random()
        count = 3 if len(pair[0]) <= 5 else 1
        assert_agrees(repeated(outcomes_of, count, at), losses.pair_delta(pair, count=count, at=at))
        truth = losses.pair_delta(losses.sampled(pair, rate), count=1, at=at)
        assert_agrees(sampled(outcomes_of, rate, at), truth)


def repeated(outcomes_of: Callable[[], Outcomes], count: int, at: float) -> arb:
    return precisely(lambda: outcomes.hockey_stick(outcomes.repeated(outcomes_of(), count), at))


def sampled(outcomes_of: Callable[[], Outcomes], rate: float, at: float) -> arb:
    return precisely(lambda: outcomes.hockey_stick(outcomes.sampled(outcomes_of(), rate), at))


@pytest.mark.parametrize("seed", range(6))
def test_the_worlds_of_every_mechanism_have_probability_one(seed: int) -> None:
    rng = random.Random(seed)
    for outcomes_of, _ in pairs(rng):
        for made in (
            outcomes_of(),
            outcomes.sampled(outcomes_of(), rng.random()),
            outcomes.sampled_without_replacement(outcomes_of(), Fraction(1, 7)),
        ):
            for world in zip(*made, strict=True):
                whole = outcomes.log_sum(world).exp()
                assert abs(whole - 1) < 1e-12
