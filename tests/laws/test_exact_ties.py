"""Atoms exactly at the epsilon asked for: at the sum of the pure epsilons no delta is left.

All parameters are powers of two or small multiples of them, so that sums are exact in floats.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import product

import pytest

from quaestor import (
    Geometric,
    Laplace,
    PureDP,
    RandomizedResponse,
    Staircase,
    compose,
)
from tests.laws.float_compositions import times
from tests.laws.float_ends import Known, known_laplace, true_delta
from tests.laws.float_faults import delta_fault
from tests.oracles import outcomes as few
from tests.oracles.balls import contradicted

EXPONENTS = (-60, -20, -2, 0, 4)
KINDS = ("Laplace", "Geometric", "Geometric of 4", "responses", "black boxes", "Staircase")


def pure(kind: str, epsilon: float) -> Known:
    """A release whose largest loss is exactly epsilon, a power of two."""
    largest = Fraction(epsilon)
    if kind == "Laplace":
        return known_laplace(Laplace(scale=1 / epsilon))
    if kind == "Geometric":
        return Known(
            release=Geometric(scale=1 / epsilon),
            outcomes=partial(few.geometric, 1 / epsilon, 1),
            largest=largest,
        )
    if kind == "Geometric of 4":
        return Known(
            release=Geometric(scale=4 / epsilon, sensitivity=4),
            outcomes=partial(few.geometric, 4 / epsilon, 4),
            largest=largest,
        )
    if kind == "Staircase":
        return Known(
            release=Staircase(epsilon=epsilon),
            outcomes=partial(few.staircase, epsilon),
            largest=largest,
        )
    release = RandomizedResponse if kind == "responses" else PureDP
    return Known(
        release=release(epsilon=epsilon),
        outcomes=partial(few.randomized_response, epsilon),
        largest=largest,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_nothing_is_left_at_the_sum_of_the_epsilons_or_beyond(kind: str, count: int) -> None:
    for exponent in EXPONENTS:
        known = times(pure(kind, 2.0**exponent), count)
        spent, whole = compose(known.release), count * 2.0**exponent
        for at in (whole, math.nextafter(whole, math.inf), 2 * whole, 1e6):
            assert spent.delta_bounds(epsilon=at).upper == 0.0
        assert spent.epsilon_bounds(delta=0.0).upper == whole


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *product(KINDS[1:], (1, 2, 3)),
        ("Laplace", 1),
        ("Laplace", 2),
        pytest.param("Laplace", 3, marks=pytest.mark.slow),
    ],
)
def test_bounds_hold_at_every_tie_and_on_both_sides_of_it(kind: str, count: int) -> None:
    for exponent in EXPONENTS:
        known = times(pure(kind, 2.0**exponent), count)
        for quarter in range(4 * count + 1):
            tie = quarter * 2.0**exponent / 4
            for at in (math.nextafter(tie, 0.0), tie, math.nextafter(tie, math.inf)):
                assert not delta_fault([known], at)


@pytest.mark.parametrize(
    ("first", "second"),
    [pair for pair in product(KINDS, KINDS) if pair != ("Laplace", "Laplace")],  # see above
)
def test_different_kinds_tie_at_their_common_sums(first: str, second: str) -> None:
    pair = [pure(first, 0.5), pure(second, 0.25)]
    spent = compose(*(one.release for one in pair))
    assert spent.delta_bounds(epsilon=0.75).upper == 0.0
    for at in (0.0, 0.125, 0.25, 0.5, math.nextafter(0.75, 0.0)):
        assert not contradicted(spent.delta_bounds(epsilon=at), true_delta(pair, at))
