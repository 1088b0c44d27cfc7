"""Sequential audits: the broken fall soon, the sound stand, and false accusations are rare."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import numpy as np
import pytest

from quaestor import ApproxDP, Gaussian, InvalidParameter, PureDP, mechanisms
from quaestor.audit import Threshold, Vectorised, audit_sequentially
from tests.audit.gallery import GALLERY, enough_noise, half_the_noise
from tests.audit.test_audits import response

SURE = 1 - 1e-6
CLAIM = PureDP(epsilon=1.0)
COINS = np.random.default_rng(43)


@pytest.mark.parametrize("name", GALLERY)
def test_a_broken_mechanism_falls_within_thousands_of_runs(name: str) -> None:
    piece = GALLERY[name]
    report = audit_sequentially(
        piece.broken, neighbours=piece.neighbours, claim=piece.claim, rounds=piece.rounds
    )
    assert report.violated
    assert report.runs < 8000
    assert report.epsilon >= piece.epsilon
    assert report.verdict.startswith("VIOLATES its claim, after ")


@pytest.mark.parametrize("name", ["half the noise", "sparse vector", "missing keys"])
def test_its_repaired_twin_stands(name: str) -> None:
    piece = GALLERY[name]
    report = audit_sequentially(
        piece.repaired,
        neighbours=piece.neighbours,
        claim=piece.claim,
        rounds=piece.rounds,
        runs=800,
        confidence=SURE,
    )
    assert not report.violated
    assert report.runs == 800
    assert report.verdict.startswith("consistent after 800 runs: epsilon at least ")


REVEALING: dict[str, Any] = {
    "other types": lambda bit: "word" if bit else 1.0,
    "an error in one world": lambda bit: 1 / bit,
    "nothing in one world": lambda bit: None if bit else {"a": 1},
    "no noise": lambda bit: bit,
    "the identity of words": lambda bit: [str(bit)] * 3,
}


@pytest.mark.parametrize("name", REVEALING)
def test_an_infinite_loss_is_caught_quickly(name: str) -> None:
    report = audit_sequentially(REVEALING[name], neighbours=(0, 1), claim=CLAIM)
    assert report.violated
    assert report.runs <= 200


INNOCENT: dict[str, Any] = {
    "always the same": lambda _: 7,
    "always the same word": lambda _: "word",
    "an error, sometimes": lambda _: 1 / int(COINS.integers(2)),
    "an error, mostly": lambda _: 1 / int(COINS.random() < 0.01),
    "ties": lambda _: int(COINS.integers(2)),
    "another type, sometimes": lambda _: [None, 1.0, "w", ()][COINS.integers(4)],
}


@pytest.mark.parametrize("name", INNOCENT)
def test_what_does_not_depend_on_the_data_is_not_accused(name: str) -> None:
    claim = ApproxDP(epsilon=0.1, delta=0.01)
    report = audit_sequentially(
        INNOCENT[name], neighbours=(0, 1), claim=claim, runs=1500, confidence=SURE
    )
    assert not report.violated
    assert report.epsilon <= 0.1


def test_a_target_that_remembers_is_not_accused() -> None:
    calls = count()
    report = audit_sequentially(
        lambda _: next(calls), neighbours=(0, 1), claim=PureDP(epsilon=0.1), runs=3000
    )
    assert not report.violated


def test_a_target_that_only_fails_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="ZeroDivisionError"):
        audit_sequentially(lambda value: value / 0, neighbours=(0, 1), claim=CLAIM)


def test_the_whole_curve_is_tested_at_once() -> None:
    noise = mechanisms.Gaussian(sigma=1.0)
    report = audit_sequentially(noise, neighbours=(0.0, 1.0), claim=Gaussian(sigma=2.0))
    assert report.violated
    assert report.runs < 20_000


@pytest.mark.parametrize(
    ("mechanism", "neighbours", "share"),
    [
        (mechanisms.RandomizedResponse(epsilon=1.0), (0, 1), 0.7),
        (mechanisms.Laplace(scale=1.0), (0.0, 1.0), 0.4),
        (mechanisms.Gaussian(sigma=1.0), (0.0, 1.0), 0.3),
    ],
)
def test_a_sound_mechanism_gets_a_bound_near_its_claim(
    mechanism: Any, neighbours: tuple[Any, Any], share: float
) -> None:
    report = audit_sequentially(mechanism, neighbours=neighbours, runs=10_000, confidence=SURE)
    assert not report.violated
    assert share * report.claimed_epsilon < report.epsilon < report.claimed_epsilon


def test_the_report_goes_through_json_and_tables() -> None:
    report = audit_sequentially(half_the_noise, neighbours=(0.0, 1.0), claim=CLAIM)
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["verdict"] == "violates"
    assert told["evidence"] >= 4 / 3 * 1000
    assert told["path"][-1]["runs"] == told["runs"] == report.runs
    assert "VIOLATES" in report.to_markdown()


@pytest.mark.parametrize(
    "arguments",
    [
        {"runs": 10},
        {"confidence": 1.0},
        {"neighbours": [0, 1]},
        {"rounds": 0},
        {"claim": None},
        {"distinguishers": ()},
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    given: dict[str, Any] = {"neighbours": (0.0, 1.0), "claim": CLAIM, "runs": 1000}
    with pytest.raises(InvalidParameter):
        audit_sequentially(enough_noise, **(given | arguments))


def alarms(target: Any, neighbours: tuple[Any, Any], audits: int, **options: Any) -> int:
    """How many audits accuse a target, or bound its epsilon too high, at a confidence of 80 %."""
    wrong = 0
    for _ in range(audits):
        report = audit_sequentially(target, neighbours=neighbours, confidence=0.8, **options)
        wrong += report.violated or report.epsilon >= report.claimed_epsilon
    return wrong


def test_false_accusations_are_rare_at_the_edge_of_the_claim() -> None:
    """At most 10 of 50 are expected; 17 more are six deviations."""
    told, tests = Vectorised(response), [Threshold()]
    assert alarms(told, (0, 1), 50, claim=CLAIM, runs=300, distinguishers=tests) < 27


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "neighbours", "claim"),
    [
        (Vectorised(response), (0, 1), PureDP(epsilon=1.0)),
        (mechanisms.Laplace(scale=1.0), (0.0, 1.0), None),
        (mechanisms.Gaussian(sigma=1.0), (0.0, 1.0), None),
        (mechanisms.Gaussian(sigma=4.0), (0.0, 1.0), None),
        (mechanisms.Geometric(scale=2.0), (0, 1), None),
    ],
)
def test_false_accusations_are_as_rare_as_stated(
    target: Any, neighbours: tuple[Any, Any], claim: Any
) -> None:
    """At most 80 of 400 audits expected; 48 more are six deviations."""
    assert alarms(target, neighbours, 400, claim=claim, runs=1000) < 128
