"""Bets: no fair game is ever beaten on average, exactly, whatever is staked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import exp, mp, mpf

from quaestor.audit.anytime.bets import Stakes, Tally, best_stakes, log_growth

mp.dps = 40


def random_tally(coins: np.random.Generator) -> Tally:
    sizes = coins.integers(0, 10 ** coins.integers(1, 5), size=5) * (coins.random(5) > 0.2)
    return Tally(
        one_won=int(sizes[0]),
        one_lost=int(sizes[1]),
        zero_won=int(sizes[2]),
        zero_lost=int(sizes[3]),
        neither=int(sizes[4]),
    )


def mean_factor(stakes: Stakes, place: int, worlds: tuple[tuple[mpf, mpf], ...]) -> mpf:
    """The mean of what one run multiplies by: the bit is fair, and S and T have these chances."""
    factors = [exp(mpf(float(log))) for log in stakes.logs[:, place]]
    (one_s, one_t), (zero_s, zero_t) = worlds
    chances = [one_s, zero_s, zero_t, one_t, 2 - one_s - one_t - zero_s - zero_t]
    return sum((f * c for f, c in zip(factors, chances, strict=True)), mpf(0)) / 2


def worst_worlds(first: tuple[float, float], second: tuple[float, float]) -> list[Any]:
    """Pairs of the chances of S in world one and T in world zero on the edge of both points."""
    edges = []
    for share in ("0", "0.01", "0.3", "0.9"):
        pairs = []
        for epsilon, delta in (first, second):
            rise = exp(mpf(epsilon))
            other = mpf(share) * (1 - mpf(delta)) / (1 + rise)
            pairs.append((rise * other + mpf(delta), other))
        edges.append(pairs)
    return edges


@pytest.mark.parametrize("seed", range(4))
def test_a_run_gains_nothing_on_average_if_the_claim_is_true(seed: int) -> None:
    """Nor loses, but for rounding: on the edge of the claim, for stakes after any history."""
    coins = np.random.default_rng(seed)
    for _ in range(60):
        epsilons = coins.choice([0.0, 0.01, 0.5, 1.0, 3.0, 12.0], 2)
        deltas = coins.choice([0.0, 0.0, 1e-9, 1e-3, 0.2, 0.7], 2)
        points = [np.array([[epsilons[i]], [deltas[i]]]) for i in range(2)]
        stakes = best_stakes(random_tally(coins), *points)
        assert np.isfinite(stakes.logs).all()  # nobody is ever ruined
        first, second = zip(epsilons.tolist(), deltas.tolist(), strict=True)
        for (own, other), (back, forth) in worst_worlds(first, second):
            if own + forth <= 1 and other + back <= 1:
                worlds = ((own, forth), (other, back))
                mean = mean_factor(stakes, 0, worlds)
                assert 1 - mpf("1e-10") < mean < 1 + mpf("1e-35"), (epsilons, deltas)


def test_stakes_are_half_of_kellys_where_nothing_fails() -> None:
    """Without delta, Kelly's stake on a bit multiplies by the ratio of its chances."""
    points = np.array([[1.0], [0.0]])
    stakes = best_stakes(Tally(one_won=90_000, one_lost=10_000), points, points)
    claimed = math.e / (1 + math.e)
    assert stakes.logs[0, 0] == pytest.approx(math.log((1 + 0.9 / claimed) / 2), abs=1e-4)
    assert stakes.logs[1, 0] == pytest.approx(math.log((1 + 0.1 / (1 - claimed)) / 2), abs=1e-3)
    assert stakes.logs[4, 0] == 0.0


def test_nothing_is_staked_on_what_the_claim_allows() -> None:
    points = np.array([[1.0, 3.0], [0.0, 0.1]])
    tally = Tally(one_won=700, one_lost=300, zero_won=5, zero_lost=5, neither=100)
    assert np.abs(best_stakes(tally, points, points).logs).max() < 1e-9
    won, lost = np.array([700.0]), np.array([300.0])
    assert abs(log_growth(won, lost, np.zeros(1), points[:, :1])[0]) < 1e-6


def test_an_epsilon_without_measure_is_never_refuted() -> None:
    points = np.array([[1e6], [0.0]])
    stakes = best_stakes(Tally(one_won=10**6), points, points)
    assert 0.0 <= stakes.gained(Tally(one_won=10**9))[0] < 1e-100


def test_what_lies_in_both_sets_lies_in_neither() -> None:
    both = np.array([True, True, False, True])
    tally = Tally.of(
        both, np.array([True, False, True, False]), np.array([True, True, True, False])
    )
    assert tally == Tally(one_won=1, one_lost=1, zero_won=0, zero_lost=1, neither=1)
