"""Each test finds what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quaestor.audit import (
    Distinguisher,
    Histogram,
    Joint,
    Learned,
    LikelihoodRatio,
    LowestBits,
    Raised,
    Threshold,
    Transcripts,
)
from quaestor.audit.classifiers import grown_tree, logistic
from quaestor.audit.features import learned_features

SIZE = 8000


def transcripts(zeros: Any, ones: Any) -> Transcripts:
    """Half of the runs in each world, one round."""
    hidden = np.arange(len(zeros) + len(ones)) >= len(zeros)
    if isinstance(zeros, np.ndarray):
        return Transcripts(hidden, (np.concatenate([zeros, ones]),))
    return Transcripts(hidden, ([*zeros, *ones],))


def accuracy(distinguisher: Distinguisher, runs: Transcripts) -> float:
    """How often the best threshold on the best score guesses right."""
    sample = learned_features(runs)(runs)
    best = 0.0
    for _, score in distinguisher.scores(sample):
        values = score(sample)
        for threshold in np.unique(np.quantile(values, np.linspace(0, 1, 99))):
            right = float(np.mean((values >= threshold) == sample.hidden))
            best = max(best, right, 1 - right)
    return best


def test_a_threshold_tells_shifted_values_apart() -> None:
    coins = np.random.default_rng(1)
    runs = transcripts(coins.normal(size=SIZE), coins.normal(2.0, size=SIZE))
    assert 0.82 < accuracy(Threshold(), runs) < 0.86  # Phi(1) = 0.841


def test_a_histogram_finds_what_no_threshold_does() -> None:
    coins = np.random.default_rng(2)
    spread = transcripts(coins.normal(size=SIZE), coins.normal(scale=5.0, size=SIZE))
    assert accuracy(Threshold(), spread) < 0.7
    assert accuracy(Histogram(), spread) > 0.78


def test_a_histogram_learns_the_likelihood_ratio() -> None:
    coins = np.random.default_rng(3)
    zeros, ones = (coins.choice(3, size=10**6, p=p) for p in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
    sample = learned_features(transcripts(zeros, ones))(transcripts(zeros, ones))
    ((_, score),) = Histogram().scores(sample)
    for value, exact in ((0, np.log(0.4)), (1, 0.0), (2, np.log(2.5))):
        found = score(sample)[sample.columns[:, 0] == value]
        assert np.allclose(found, exact, atol=0.01)


def test_only_the_joint_histogram_finds_what_is_in_neither_part() -> None:
    first, second, third = np.random.default_rng(4).integers(0, 2, size=(3, SIZE))
    runs = transcripts(np.stack([first, second], 1), np.stack([third, third], 1))
    assert accuracy(Histogram(), runs) < 0.7
    assert accuracy(Joint(), runs) == pytest.approx(0.75, abs=0.02)
    assert accuracy(Learned(), runs) == pytest.approx(0.75, abs=0.02)  # a tree asks twice


def test_the_lowest_bits_betray_what_floats_were_added() -> None:
    noise = np.random.default_rng(5).laplace(size=(2, SIZE))
    assert accuracy(LowestBits(), transcripts(noise[0], 1.0 + noise[1])) > 0.6
    assert accuracy(Threshold(), transcripts(noise[0], noise[1])) < 0.53


def test_whole_numbers_have_no_lowest_bits() -> None:
    runs = transcripts(np.arange(5), np.arange(5))
    assert list(LowestBits().scores(learned_features(runs)(runs))) == []


def test_a_likelihood_ratio_that_is_known_is_taken() -> None:
    runs = transcripts(np.zeros(10), np.ones(10))
    test = LikelihoodRatio(lambda rounds: np.asarray(rounds[0]) * 2.0)
    assert accuracy(test, runs) == 1.0


def test_logistic_regression_finds_the_line() -> None:
    points = np.random.default_rng(6).normal(size=(SIZE, 3)) * [1.0, 100.0, 1e-3]
    above = points[:, 0] + points[:, 1] / 100 > 0.3
    assert np.mean((logistic(points, above)(points) > 0) == above) > 0.99


def test_a_tree_finds_the_square() -> None:
    points = np.random.default_rng(7).uniform(size=(SIZE, 2))
    inside = (points[:, 0] > 0.5) & (points[:, 1] > 0.25)
    assert np.mean((grown_tree(points, inside)(points) > 0) == inside) > 0.97


@pytest.mark.parametrize(
    ("zero", "one"),
    [
        (lambda coins: coins.normal(), lambda _: None),
        (lambda coins: coins.normal(), lambda _: Raised("KeyError")),
        (lambda coins: {"a": coins.normal()}, lambda coins: {"b": coins.normal()}),
        (lambda coins: {"a": coins.normal()}, lambda _: None),
        (lambda coins: [coins.normal()] * 2, lambda coins: [coins.normal()] * 3),
        (lambda coins: coins.normal(size=(2, 2)), lambda coins: coins.normal(5.0, size=(2, 2))),
        (lambda _: "no", lambda _: "yes"),
        (lambda _: ("x", 1), lambda _: ("x", 2)),
        (lambda coins: coins.normal(), lambda _: float("nan")),
        (lambda coins: coins.normal(), lambda _: float("inf")),
        (lambda _: True, lambda _: False),
        (lambda coins: coins.normal(), lambda _: 10**400),
    ],
)
def test_outputs_of_every_kind_become_columns(zero: Any, one: Any) -> None:
    coins = np.random.default_rng(8)
    runs = transcripts([zero(coins) for _ in range(500)], [one(coins) for _ in range(500)])
    sample = learned_features(runs)(runs)
    assert np.isfinite(sample.columns).all()
    assert max(accuracy(Threshold(), runs), accuracy(Histogram(), runs)) > 0.99


def test_outputs_never_seen_while_learning_are_scored_all_the_same() -> None:
    seen = transcripts(["a"] * 50, ["b"] * 50)
    later = transcripts(["c"] * 5, ["a"] * 5)
    sampled = learned_features(seen)
    for distinguisher in (Threshold(), Histogram()):
        for _, score in distinguisher.scores(sampled(seen)):
            assert np.isfinite(score(sampled(later))).all()
