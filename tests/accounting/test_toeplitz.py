"""Correlated noise: the sensitivity against every pattern of participation, by listing them."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import quaestor as q


def brute_sensitivity(
    coefficients: tuple[float, ...], *, steps: int, participations: int, separation: int
) -> float:
    """The longest change over all patterns, and all signs of the changes."""
    matrix = np.zeros((steps, steps))
    for row, column in itertools.product(range(steps), repeat=2):
        if 0 <= row - column < len(coefficients):
            matrix[row, column] = coefficients[row - column]
    worst = 0.0
    for size in range(1, participations + 1):
        for pattern in itertools.combinations(range(steps), size):
            if all(b - a >= separation for a, b in itertools.pairwise(pattern)):
                for signs in itertools.product((-1.0, 1.0), repeat=size):
                    change = matrix[:, pattern] @ np.array(signs)
                    worst = max(worst, float(np.linalg.norm(change)))
    return worst


@pytest.mark.parametrize("seed", range(30))
def test_no_pattern_moves_the_answers_further_than_is_counted(seed: int) -> None:
    rng = random.Random(seed)
    coefficients = tuple(rng.uniform(-1.0, 1.0) for _ in range(rng.randint(1, 5)))
    participations, separation = rng.randint(1, 3), rng.randint(1, 4)
    release = q.ToeplitzMechanism(
        sigma=2.0,
        coefficients=coefficients,
        participations=participations,
        separation=separation,
        sensitivity=3.0,
    )
    worst = brute_sensitivity(
        coefficients, steps=9, participations=participations, separation=separation
    )
    assert float(release.known_mu()) >= worst * 1.5 * (1 - 1e-12)


@pytest.mark.parametrize("participations", [1, 2, 3])
@pytest.mark.parametrize("separation", [1, 2, 4])
def test_falling_coefficients_reach_it(participations: int, separation: int) -> None:
    coefficients = tuple(math.comb(2 * m, m) / 4**m for m in range(3))  # the root of counting
    release = q.ToeplitzMechanism(
        sigma=1.0,
        coefficients=coefficients,
        participations=participations,
        separation=separation,
    )
    worst = brute_sensitivity(
        coefficients, steps=11, participations=participations, separation=separation
    )
    assert worst * (1 - 1e-12) <= float(release.known_mu()) <= worst * (1 + 1e-12)


def test_one_coefficient_is_independent_noise() -> None:
    plain = q.compose(q.Gaussian(sigma=5.0) * 9).epsilon_bounds(delta=1e-6)
    alone = q.ToeplitzMechanism(sigma=5.0, coefficients=(1.0,), participations=9)
    found = q.compose(alone).epsilon_bounds(delta=1e-6)
    assert plain.lower <= found.upper <= plain.upper * (1 + 1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"coefficients": ()},
        {"coefficients": (0.0, 0.0)},
        {"coefficients": (math.nan,)},
        {"participations": 0},
        {"separation": 0},
        {"sigma": 0.0},
    ],
)
def test_parameters_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    given: dict[str, object] = {"sigma": 1.0, "coefficients": (1.0,), **wrong}
    with pytest.raises(q.InvalidParameter):
        q.ToeplitzMechanism(**given)  # type: ignore[arg-type]
