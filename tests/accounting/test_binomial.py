"""Binomial tails: both ways of computing them enclose the exact rational number."""

from __future__ import annotations

import math
import random

import pytest
from flint import arb, ctx
from mpmath import mp, mpf

from quaestor.accounting.numerics.binomial import (
    _BetaIntegral,
    _sum_of_terms,
    lower_tail,
    upper_tail,
)


def exact_tail(count: int, threshold: int, logit: float) -> mpf:
    """The tail, term by term, at 60 digits."""
    with mp.workdps(80):
        lie = 1 / (1 + mp.exp(mpf(logit)))
        odds, term = lie / (1 - lie), (1 - lie) ** count
        total = mpf(0)
        for hits in range(threshold + 1):
            total += term
            term = term * odds * (count - hits) / (hits + 1)
        return total


def contains(ball: arb, truth: mpf) -> bool:
    """Whether the ball contains the number, which is good to 60 digits."""
    with ctx.workprec(300):
        return bool(ball.overlaps(arb(mp.nstr(truth, 70)) * (1 + arb(0, 1e-60))))


@pytest.mark.parametrize("seed", range(30))
def test_tails_enclose_the_sum_of_terms(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        count = round(math.exp(rng.uniform(0, math.log(3000))))
        logit = rng.choice([-1, 1]) * math.exp(rng.uniform(math.log(1e-4), math.log(8)))
        threshold = rng.randint(0, count - 1)
        ball = lower_tail(count=count, threshold=threshold, logit=logit, bits=64)
        truth = exact_tail(count, threshold, logit)
        assert contains(ball, truth)
        assert ball.rel_accuracy_bits() >= 56
        rest = upper_tail(count=count, threshold=threshold, logit=logit, bits=64)
        with mp.workdps(80):
            if truth < 1 - mpf(10) ** -15:  # beyond that the difference has too few digits
                assert contains(rest, 1 - truth)


@pytest.mark.parametrize("bits", [64, 128, 400])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 2), (40, 5), (500, 501), (2000, 90)])
@pytest.mark.parametrize("end", [-9.0, -1.0, -1e-3])
def test_quadrature_encloses_the_sum_even_where_it_would_not_be_chosen(
    a: int, b: int, end: float, bits: int
) -> None:
    integral = _BetaIntegral(a=a, b=b, end=end, bits=bits).enclose()
    assert integral.overlaps(_sum_of_terms(a + b - 1, b - 1, end))


def test_impossible_and_certain_thresholds() -> None:
    assert lower_tail(count=5, threshold=-1, logit=0.3, bits=64) == 0
    assert lower_tail(count=5, threshold=5, logit=0.3, bits=64) == 1
