"""Bounds from counts: right by enumeration, and no wider than they must be."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import pytest
from mpmath import binomial, exp, mp, mpf

from quaestor.audit.confidence import (
    Counts,
    epsilon_by_intervals,
    epsilon_by_the_hidden_bit,
    largest_failures,
    proportion_above,
    proportion_below,
)

if TYPE_CHECKING:
    from collections.abc import Callable

mp.dps = 40


def at_least(successes: int, trials: int, chance: mpf) -> mpf:
    """P[Bin(trials, chance) >= successes], term by term."""
    chance = mpf(chance)
    term = binomial(trials, successes) * chance**successes * (1 - chance) ** (trials - successes)
    total = term
    for hits in range(successes, trials):
        term *= (trials - hits) * chance / ((hits + 1) * (1 - chance))
        total += term
    return total


@pytest.mark.parametrize(
    ("successes", "trials"), [(1, 1), (1, 10), (7, 10), (10, 10), (31, 1000), (995, 2000)]
)
@pytest.mark.parametrize("confidence", [0.9, 0.999, 0.999999])
def test_proportions_are_clopper_and_pearsons(
    successes: int, trials: int, confidence: float
) -> None:
    missing = 1 - confidence
    low = proportion_above(successes, trials, confidence=confidence)
    assert at_least(successes, trials, mpf(low)) <= missing
    assert at_least(successes, trials, mpf(low) * (1 + mpf("1e-5"))) > missing
    high = proportion_below(trials - successes, trials, confidence=confidence)
    assert at_least(successes, trials, 1 - mpf(high)) <= missing
    assert at_least(successes, trials, (1 - mpf(high)) * (1 + mpf("1e-5"))) > missing


def test_nothing_seen_bounds_nothing() -> None:
    assert proportion_above(0, 10, confidence=0.99) == 0.0
    assert proportion_below(10, 10, confidence=0.99) == 1.0


@pytest.mark.parametrize(("runs", "delta"), [(1, 0.5), (50, 0.01), (50, 0.5), (20, 1e-9)])
@pytest.mark.parametrize("missing", [0.1, 1e-3, 1e-6])
def test_failures_are_counted_to_the_last(runs: int, delta: float, missing: float) -> None:
    found = largest_failures(runs, delta, missing=missing)
    assert at_least(found + 1, runs, mpf(delta)) <= missing if found < runs else True
    if found > 0:
        assert at_least(found, runs, mpf(delta)) > missing


def test_without_delta_nothing_fails_and_with_delta_1_all_do() -> None:
    assert largest_failures(10, 0.0, missing=1e-9) == 0
    assert largest_failures(10, 1.0, missing=1e-9) == 10


def worst_pairs(epsilon: float, delta: float) -> list[tuple[mpf, mpf]]:
    """Pairs (P1, P0) on the edge of what (epsilon, delta) allows."""
    rise = exp(mpf(epsilon))
    largest = (1 - mpf(delta)) / (1 + rise)  # where the other constraint begins
    return [(rise * zero + delta, zero) for zero in (largest, largest / 3, largest / 20)]


@pytest.mark.parametrize("bound", [epsilon_by_the_hidden_bit, epsilon_by_intervals])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.05), (0.0, 0.3)])
@pytest.mark.parametrize("missing", [0.2, 0.02])
def test_a_bound_is_wrong_no_more_often_than_it_may_be(
    bound: Callable[..., float], epsilon: float, delta: float, missing: float
) -> None:
    """Exactly, over all outcomes of a game of 14 runs whose bits are fair coins."""
    runs, pairs = 14, worst_pairs(epsilon, delta)
    wrong = [mpf(0)] * len(pairs)
    for ones in range(runs + 1):
        for said_one, said_zero in product(range(ones + 1), range(runs - ones + 1)):
            counts = Counts(
                said_in_one=said_one,
                runs_in_one=ones,
                said_in_zero=said_zero,
                runs_in_zero=runs - ones,
            )
            if bound(counts, delta=delta, missing=missing) > epsilon:
                for i, (one, zero) in enumerate(pairs):
                    chance = binomial(runs, ones) / mpf(2) ** runs
                    chance *= (
                        binomial(ones, said_one) * one**said_one * (1 - one) ** (ones - said_one)
                    )
                    chance *= binomial(runs - ones, said_zero) * zero**said_zero
                    wrong[i] += chance * (1 - zero) ** (runs - ones - said_zero)
    assert max(wrong) <= missing
    if delta == 0.0 and missing == 0.2:
        assert max(wrong) > 0  # it is not that nothing is ever claimed


@pytest.mark.parametrize("bound", [epsilon_by_the_hidden_bit, epsilon_by_intervals])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01])
def test_many_runs_come_near_the_truth(bound: Callable[..., float], delta: float) -> None:
    runs = 10**6
    zero = 0.2
    one = math.e * zero + delta
    counts = Counts(
        said_in_one=round(one * runs),
        runs_in_one=runs,
        said_in_zero=round(zero * runs),
        runs_in_zero=runs,
    )
    found = bound(counts, delta=delta, missing=1e-3)
    assert 0.985 < found < 1.0
    assert bound(counts, delta=delta, missing=1e-6) < found


def test_the_hidden_bit_is_sharper_than_two_intervals_where_nothing_fails() -> None:
    counts = Counts(said_in_one=900, runs_in_one=2000, said_in_zero=300, runs_in_zero=2000)
    one = epsilon_by_the_hidden_bit(counts, delta=0.0, missing=1e-3)
    assert one > epsilon_by_intervals(counts, delta=0.0, missing=1e-3)
