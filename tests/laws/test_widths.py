"""A width that is asked for: whichever way is the cheapest, its interval contains the truth."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

import quaestor as q
from tests.oracles.composition import subset_delta

if TYPE_CHECKING:
    from collections.abc import Callable

FAMILIES: dict[str, Callable[[random.Random], q.Release]] = {
    "Laplace": lambda rng: q.Laplace(scale=10 ** rng.uniform(-0.3, 2)),
    "Gaussian": lambda rng: q.Gaussian(sigma=10 ** rng.uniform(0, 2)),
    "black box": lambda rng: q.ApproxDP(epsilon=10 ** rng.uniform(-2, 0), delta=1e-9),
    "pure": lambda rng: q.PureDP(epsilon=10 ** rng.uniform(-2, 0)),
    "geometric": lambda rng: q.Geometric(scale=10 ** rng.uniform(0.3, 1.5)),
    "sampled Gaussian": lambda rng: q.PoissonSampled(
        release=q.Gaussian(sigma=10 ** rng.uniform(0, 0.7)), rate=10 ** rng.uniform(-3, -1)
    ),
    "sampled Laplace": lambda rng: q.PoissonSampled(
        release=q.Laplace(scale=10 ** rng.uniform(0, 1)), rate=10 ** rng.uniform(-2, -0.5)
    ),
}


QUICK = [seed for seed in range(20) if seed not in {7, 16, 19}]  # those take seconds


def random_history(rng: random.Random) -> list[q.Release]:
    """One to three kinds, each between once and a thousand times."""
    kinds = rng.sample(sorted(FAMILIES), rng.choice([1, 1, 2, 3]))
    return [FAMILIES[kind](rng) * rng.choice([1, 2, 7, 60, 1000]) for kind in kinds]


def check(seed: int) -> None:
    """Two certified intervals for one truth overlap, and a width is reached, or missed and said."""
    rng = random.Random(seed)
    spent = q.compose(*random_history(rng))
    width, delta = 10 ** rng.uniform(-5, -0.3), 10 ** rng.uniform(-12, -2)
    usual = spent.epsilon_bounds(delta=delta)
    asked = spent.epsilon_bounds(delta=delta, width=width)
    assert asked.overlaps(usual), spent
    assert asked.relative_width <= max(width, usual.relative_width), spent
    assert (asked.missed_width is None) == (asked.relative_width <= width)
    if usual.upper < math.inf:
        at = usual.upper * rng.choice([0.0, 0.5, 0.9, 1.0])
        usual, asked = spent.delta_bounds(epsilon=at), spent.delta_bounds(epsilon=at, width=width)
        assert asked.overlaps(usual), spent
        assert asked.relative_width <= max(width, usual.relative_width), spent


@pytest.mark.parametrize("seed", QUICK)
def test_a_width_leaves_the_truth_inside(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_a_width_leaves_the_truth_inside_of_many(part: int) -> None:
    for seed in (7, 16, 19, *range(20 * part + 1000, 20 * part + 1020)):
        check(seed)


@pytest.mark.parametrize("seed", range(12))
def test_a_bracket_of_black_boxes_contains_the_enumeration(seed: int) -> None:
    rng = random.Random(seed)
    steps = [(10 ** rng.uniform(-1.5, -0.5), 0.0) for _ in range(12)]
    at = sum(epsilon for epsilon, _ in steps) * rng.uniform(0.05, 0.7)
    exact = subset_delta(steps=steps, at=at)
    history = [q.PureDP(epsilon=epsilon) for epsilon, _ in steps]
    for width in (0.3, 1e-2, 1e-3, 1e-4):
        bracket = q.compose(*history)._losses.roughly(width).delta_bounds(epsilon=at)
        assert bracket.lower * (1 - 1e-12) <= exact <= bracket.upper * (1 + 1e-12)


DIFFERENT = q.compose(*(q.PureDP(epsilon=0.05 + 0.1 * (i * 0.618034 % 1)) for i in range(31)))


@pytest.mark.parametrize("width", [0.5, 1e-2, 1e-3, 1e-4, 1e-5, 1e-7])
def test_the_optimum_of_many_black_boxes_lies_inside_what_a_width_asks_for(width: float) -> None:
    epsilon, delta = DIFFERENT.epsilon_bounds(delta=1e-6), DIFFERENT.delta_bounds(epsilon=2.0)
    asked = DIFFERENT.epsilon_bounds(delta=1e-6, width=width)
    assert asked.lower <= epsilon.upper
    assert epsilon.lower <= asked.upper
    assert asked.relative_width <= width
    asked = DIFFERENT.delta_bounds(epsilon=2.0, width=width)
    assert asked.overlaps(delta)
    assert asked.relative_width <= width


def test_a_wide_width_of_many_black_boxes_enumerates_nothing() -> None:
    spent = q.compose(*DIFFERENT.releases)
    spent.epsilon_bounds(delta=1e-6, width=1e-3)
    spent.delta_bounds(epsilon=2.0, width=1e-3)
    assert "_left" not in vars(spent._profile)
    spent.delta_bounds(epsilon=2.0, width=1e-6)
    assert "_left" in vars(spent._profile)


@pytest.mark.parametrize("width", [0.9, 1e-3])
def test_the_ends_of_the_curve_are_exact_at_any_width(width: float) -> None:
    total = DIFFERENT.epsilon(delta=0.0)
    assert DIFFERENT.epsilon_bounds(delta=0.0, width=width) == DIFFERENT.epsilon_bounds(delta=0.0)
    assert DIFFERENT.epsilon_bounds(delta=1.0, width=width).upper == 0.0
    assert DIFFERENT.delta_bounds(epsilon=total, width=width).upper == 0.0
    assert DIFFERENT.delta_bounds(epsilon=math.inf, width=width).upper == 0.0
    first = DIFFERENT.delta_bounds(epsilon=0.0)
    assert DIFFERENT.delta_bounds(epsilon=0.0, width=width).overlaps(first)
    tiny = DIFFERENT.epsilon_bounds(delta=5e-324, width=width)
    assert tiny.overlaps(DIFFERENT.epsilon_bounds(delta=5e-324))
