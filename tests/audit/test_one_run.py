"""Audits of one run: never wrong more often than stated, by enumeration, and near to the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from quaestor import ApproxDP, GaussianDP, InvalidParameter, PureDP, compose
from quaestor.audit import audit_one_run
from quaestor.audit.one_run import one_run_guesses, refuted

Floats = Any


def first_refuting(points: Floats, canaries: int, guesses: int, missing: float) -> int:
    """The least number of right guesses that refutes the claim."""
    for correct in range(guesses + 1):
        if refuted(points, canaries, guesses, correct, missing)[0]:
            assert refuted(points, canaries, guesses, guesses, missing)[0]
            return correct
    return guesses + 1


def revealed_and_answered(canaries: int, guesses: int, epsilon: float, delta: float) -> Floats:
    """The law of right guesses: each canary is told with probability delta, else by a coin.

    The attacker guesses those that are told first: the worst of independent canaries.
    """
    law = np.zeros(guesses + 1)
    chance = 1 / (1 + math.exp(-epsilon))
    told = stats.binom.pmf(np.arange(canaries + 1), canaries, delta)
    for number, weight in enumerate(told):
        sure = min(number, guesses)
        rest = stats.binom.pmf(np.arange(guesses - sure + 1), guesses - sure, chance)
        law[sure:] += weight * rest
    return law


@pytest.mark.parametrize("missing", [0.2, 0.05, 1e-3])
@pytest.mark.parametrize(
    ("canaries", "guesses", "epsilon", "delta"),
    [
        (1, 1, 1.0, 0.0),
        (10, 10, 0.0, 0.0),
        (40, 40, 1.0, 0.0),
        (40, 7, 1.0, 0.0),
        (100, 100, 0.5, 1e-3),
        (100, 10, 0.5, 1e-3),
        (60, 20, 0.0, 0.05),
        (200, 5, 2.0, 0.01),
    ],
)
def test_a_true_claim_is_refuted_no_more_often_than_stated(
    canaries: int, guesses: int, epsilon: float, delta: float, missing: float
) -> None:
    """Exactly, for the worst of independent canaries."""
    points = np.array([[[epsilon], [delta]]])
    least = first_refuting(points, canaries, guesses, missing)
    law = revealed_and_answered(canaries, guesses, epsilon, delta)
    assert law[least:].sum() <= missing
    if guesses >= 40 and delta == 0.0:
        assert law[max(least - 4, 0) :].sum() > missing  # and hardly less often


@pytest.mark.parametrize("missing", [0.2, 0.01])
def test_canaries_that_fall_together_are_no_way_out(missing: float) -> None:
    """With probability delta all are told at once; (0, delta)-DP for each canary."""
    for delta in (missing / 2, missing * 0.999):
        points = np.array([[[0.0], [delta]]])
        least = first_refuting(points, 50, 50, missing)
        law = (1 - delta) * stats.binom.pmf(np.arange(51), 50, 0.5)
        law[50] += delta
        assert law[least:].sum() <= missing


def published_p_value(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """The p-value of Steinke, Nasr and Jagielski 2023: P[Bin >= v] + 2 m delta max_i(...)/i."""
    law = stats.binom(r, 1 / (1 + math.exp(-epsilon)))
    below = np.cumsum(law.pmf(np.arange(v - 1, -1, -1)))
    worst = float(np.max(below / np.arange(1, v + 1)))
    return float(law.sf(v - 1)) + 2 * m * delta * worst


@pytest.mark.parametrize(
    ("m", "r", "v", "delta"),
    [
        (1000, 1000, 760, 0.0),
        (1000, 1000, 760, 1e-5),
        (1000, 100, 95, 1e-5),
        (5000, 300, 290, 1e-5),
        (100, 100, 90, 1e-3),
    ],
)
def test_bounds_agree_with_the_published_ones(m: int, r: int, v: int, delta: float) -> None:
    """Two theorems about the same counts: neither is better everywhere, both are close."""
    lattice = np.arange(0.0, 6.0, 0.01)
    points = np.stack([lattice, np.full(lattice.size, delta)])[None]
    ours = lattice[np.argmin(refuted(points, m, r, v, 0.05))]
    theirs = next(e for e in lattice if published_p_value(m, r, v, float(e), delta) > 0.05)
    assert ours == pytest.approx(theirs, abs=0.06)


def noisy_canaries(mu: float, canaries: int, coins: Any) -> tuple[Floats, Floats]:
    included = coins.random(canaries) < 0.5
    return included, mu * included + coins.normal(size=canaries)


def test_bounds_hold_and_claims_that_are_true_stand() -> None:
    """At most 20 % of 20 audits may be wrong; 11 more are six deviations."""
    coins = np.random.default_rng(3)
    most = compose(GaussianDP(mu=1.0)).epsilon(delta=1e-3)
    wrong = 0
    for _ in range(20):
        included, scores = noisy_canaries(1.0, 300, coins)
        report = audit_one_run(
            included=included,
            scores=scores,
            delta=1e-3,
            claim=GaussianDP(mu=1.0),
            guesses=100,
            confidence=0.8,
        )
        wrong += report.violated or report.mu > 1.0 or report.epsilon > most
    assert wrong <= 15


def test_training_without_noise_is_caught_and_a_curve_is_tested_as_a_whole() -> None:
    coins = np.random.default_rng(4)
    included, scores = noisy_canaries(3.0, 2000, coins)
    report = audit_one_run(
        included=included, scores=scores, delta=1e-5, claim=GaussianDP(mu=1.0), confidence=0.999
    )
    assert report.violated
    assert report.verdict.startswith("VIOLATES its claim: ")
    assert 1.0 < report.mu < 3.0
    assert report.to_dict()["verdict"] == "violates"
    random = audit_one_run(included=included, scores=coins.normal(size=2000), confidence=0.999999)
    assert random.epsilon < 0.3
    assert "claimed" not in random.verdict


def test_guesses_are_the_most_certain_and_ties_do_not_peek() -> None:
    included = np.array([True, True, False, False, True])
    assert one_run_guesses(included, np.array([5.0, 4.0, 1.0, 2.0, 3.0]), 4) == (4, 4)
    assert one_run_guesses(included, np.zeros(5), 2) == (2, 1)  # the last "in", the first "out"
    sure = 1 - 1e-6
    tied = audit_one_run(included=np.arange(400) % 2 == 0, scores=np.zeros(400), confidence=sure)
    assert tied.epsilon == 0.0


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("scores", {"scores": [1.0]}),
        ("scores", {"scores": [1.0, math.nan]}),
        ("included", {"included": [0.5, 1.0]}),
        ("guesses", {"guesses": 3}),
        ("guesses", {"guesses": 0}),
        ("confidence", {"confidence": 1.0}),
        ("delta", {"delta": -1.0}),
        ("claim", {"claim": "none"}),
    ],
)
def test_what_makes_no_sense_is_refused(field: str, arguments: dict[str, Any]) -> None:
    given: dict[str, Any] = {"included": [True, False], "scores": [1.0, 0.0]}
    with pytest.raises(InvalidParameter) as refusal:
        audit_one_run(**(given | arguments))
    assert refusal.value.field == field


def test_points_and_curves_are_claims_alike() -> None:
    included = np.arange(300) % 3 == 0
    for claim in (PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-3), GaussianDP(mu=0.5)):
        report = audit_one_run(included=included, scores=included * 1.0, claim=claim, delta=1e-3)
        assert report.violated


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.5, 1.0, 2.5])
def test_bounds_are_wrong_no_more_often_than_stated(mu: float) -> None:
    """At most 20 % of 500 audits of independent canaries at their claim; 54 more are six sigma."""
    coins = np.random.default_rng()
    wrong = 0
    for _ in range(500):
        included, scores = noisy_canaries(mu, 400, coins)
        report = audit_one_run(
            included=included, scores=scores, claim=GaussianDP(mu=mu), delta=1e-3, confidence=0.8
        )
        wrong += report.violated or report.mu > mu
    assert wrong <= 154
