"""Broken mechanisms are caught; sound ones, ours among them, are cleared, by tests with teeth."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, NamedTuple

import numpy as np
import pytest

from quaestor import (
    ApproxDP,
    Gaussian,
    InvalidParameter,
    PureDP,
    compose,
    mechanisms,
)
from quaestor.audit import (
    Claim,
    Threshold,
    Vectorised,
    assert_private,
    audit,
)
from quaestor.mechanisms.base import Mechanism
from tests.audit.gallery import GALLERY, enough_noise, half_the_noise
from tests.mechanisms.sources import seed

SURE = 1 - 1e-6


@pytest.mark.parametrize("name", GALLERY)
def test_a_broken_mechanism_is_caught(name: str) -> None:
    piece = GALLERY[name]
    report = audit(
        piece.broken,
        neighbours=piece.neighbours,
        claim=piece.claim,
        runs=piece.runs,
        rounds=piece.rounds,
        confidence=0.999,
    )
    assert report.violated
    assert report.verdict.startswith("VIOLATES its claim: epsilon at least ")
    assert f"with 99.9 % confidence, claimed {piece.epsilon:g}" in report.verdict


@pytest.mark.parametrize("name", GALLERY)
def test_its_repaired_twin_is_not(name: str) -> None:
    piece = GALLERY[name]
    report = audit(
        piece.repaired,
        neighbours=piece.neighbours,
        claim=piece.claim,
        runs=piece.runs,
        rounds=piece.rounds,
        confidence=SURE,
    )
    assert not report.violated
    assert report.verdict.startswith("consistent: ")


class Ours(NamedTuple):
    """A mechanism, neighbours that are bad for it, and the share of the claim to be found."""

    mechanism: Any
    neighbours: tuple[Any, Any]
    share: float
    runs: int = 40_000


def column(function: Any, mechanism: Any) -> Any:
    """A figure about a column, of people of whom one may be away."""
    return lambda rows: function(mechanism, rows, low=0, high=10).released


OURS = [
    Ours(mechanisms.RandomizedResponse(epsilon=1.0), (0, 1), 0.9, 1_000_000),
    Ours(mechanisms.RandomizedResponse(epsilon=1.0, categories=5), (0, 3), 0.85, 200_000),
    Ours(mechanisms.Geometric(scale=2.0), (0, 1), 0.85, 200_000),
    Ours(mechanisms.Geometric(scale=10.0, sensitivity=10), (0, 10), 0.85, 200_000),
    Ours(mechanisms.Laplace(scale=1.0), (0.0, 1.0), 0.85, 200_000),
    Ours(mechanisms.Staircase(epsilon=1.0), (0.0, 1.0), 0.85, 200_000),
    Ours(mechanisms.DiscreteGaussian(sigma=1.0), (0, 1), 0.85, 200_000),
    Ours(mechanisms.Gaussian(sigma=1.0), (0.0, 1.0), 0.85, 200_000),
    Ours(mechanisms.ExponentialMechanism(epsilon=1.0), ([0.0, 3.0], [1.0, 2.0]), 0.5),
    Ours(mechanisms.NoisyMax(epsilon=1.0), ([0.0, 3.0], [1.0, 2.0]), 0.5),
    Ours(mechanisms.TopK(count=2, epsilon=2.0), ([0.0, 3.0, 3.0], [1.0, 2.0, 2.0]), 0.2, 15_000),
    Ours(
        mechanisms.Quantile(probability=0.5, low=0.0, high=8.0, epsilon=1.0),
        ([0.0, 0.0], [0.0, 8.0]),
        0.1,
        20_000,
    ),
    Ours(
        mechanisms.CountedQuantile(probability=0.5, low=0, high=8, epsilon=1.0),
        ({0: 1}, {0: 1, 8: 1}),
        0.1,
        20_000,
    ),
    Ours(
        mechanisms.PartitionSelection(scale=1.0, threshold=5),
        ({"a": 6, "b": 1}, {"a": 5, "b": 1}),
        0.6,
        20_000,
    ),
    Ours(
        mechanisms.OptimalSelection(epsilon=1.0, delta=0.01),
        ({"a": 4, "b": 1}, {"a": 3, "b": 1}),
        0.6,
        20_000,
    ),
]


@pytest.mark.parametrize("ours", OURS, ids=lambda ours: str(ours.mechanism))
def test_a_mechanism_of_ours_keeps_its_word_and_no_more(
    ours: Ours, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 1)
    report = audit(ours.mechanism, neighbours=ours.neighbours, runs=ours.runs, seed=1)
    assert not report.violated, report.verdict
    for finding in report.findings:
        spent = compose(ours.mechanism.loss)
        assert finding.epsilon <= spent.epsilon(delta=finding.delta)
    assert report.best.nearness >= ours.share, report.verdict


def test_every_kind_of_ours_is_among_them() -> None:
    kinds = {
        kind
        for name in mechanisms.__all__
        if isinstance(kind := getattr(mechanisms, name), type) and issubclass(kind, Mechanism)
    }
    others = {type(mechanism) for mechanism, _, _ in ASKED}
    assert {type(ours.mechanism) for ours in OURS} | others == kinds - {Mechanism}


def a_cut(mechanism: Any) -> Any:
    return lambda edges: mechanism.release(edges, nodes=2).cut([0]).value


def a_variance(mechanism: Any) -> Any:
    return lambda matrix: mechanism.release(np.array(matrix)).variance([1.0]).value


def about(centre: int) -> Any:
    return lambda mechanism: lambda counts: mechanism.release(counts, centre)


ASKED: list[tuple[Any, Any, tuple[Any, Any]]] = [
    (mechanisms.GraphSketch(rows=4, weight=2.0), a_cut, ([(0, 1, 1.0)], [(0, 1, 0.0)])),
    (mechanisms.MatrixSketch(rows=4, weight=0.5), a_variance, ([[1.0]], [[0.0]])),
    (
        mechanisms.QuantileReach(probability=0.5, low=0, high=8, epsilon=2.0),
        about(4),
        ({4: 10}, {4: 10, 0: 1}),
    ),
]


@pytest.mark.parametrize(
    ("mechanism", "asked", "neighbours"), ASKED, ids=["graph", "matrix", "reach"]
)
def test_what_is_asked_of_a_mechanism_keeps_its_word(
    mechanism: Any, asked: Any, neighbours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 1)
    claim = Claim.of(mechanism.loss)
    report = audit(asked(mechanism), neighbours=neighbours, claim=claim, runs=4_000, seed=3)
    assert not report.violated, report.verdict
    assert report.best.epsilon > 0.0


@pytest.mark.parametrize(
    ("function", "mechanism", "claim"),
    [
        (mechanisms.release_sum, mechanisms.Geometric(scale=10.0, sensitivity=10), 1.0),
        (mechanisms.release_mean, mechanisms.Laplace(scale=5.0, sensitivity=5.0), 2.0),
    ],
)
def test_figures_about_columns_keep_their_word(function: Any, mechanism: Any, claim: float) -> None:
    report = audit(
        column(function, mechanism),
        neighbours=([1, 2, 10, 3], [1, 2, 3]),
        claim=PureDP(epsilon=claim),
        runs=4000,
        confidence=SURE,
    )
    assert not report.violated


def test_rounds_are_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 2)
    noise = mechanisms.Gaussian(sigma=2.0)
    report = audit(noise, neighbours=(0.0, 1.0), rounds=4, runs=200_000, seed=1)
    assert not report.violated
    assert report.best.nearness > 0.8
    once = audit(noise, neighbours=(0.0, 1.0), rounds=4, claim=noise.loss, runs=20_000, seed=1)
    assert once.violated


def test_a_claim_about_the_whole_curve_is_held_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 3)
    noise = mechanisms.Gaussian(sigma=1.0)
    assert audit(noise, neighbours=(0.0, 1.0), claim=Gaussian(sigma=1.25)).violated


def test_the_curve_of_a_sound_mechanism_stays_above_the_claimed_region(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed(monkeypatch, 4)
    noise = mechanisms.Laplace(scale=1.0)
    report = audit(noise, neighbours=(0.0, 1.0), runs=50_000, seed=2)
    region = report.claim.composition.tradeoff()
    assert len(report.curve) > 30
    for point in report.curve:
        alarm = point.most_false_positive
        assert point.most_false_negative >= region.false_negative(false_positive=alarm)
        assert point.false_positive <= alarm <= point.false_positive + 0.03


def test_the_curve_of_a_broken_one_passes_below_it() -> None:
    report = audit(half_the_noise, neighbours=(0.0, 1.0), claim=PureDP(epsilon=1.0), runs=20_000)
    region = report.claim.composition.tradeoff()
    assert any(
        point.most_false_negative < region.false_negative(false_positive=point.most_false_positive)
        for point in report.curve
    )


def test_the_report_goes_through_json() -> None:
    report = audit(half_the_noise, neighbours=(0.0, 1.0), claim=PureDP(epsilon=1.0), runs=2000)
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["verdict"] == "violates"
    assert told["epsilon"] == report.epsilon > told["claimed_epsilon"] == 1.0
    assert told["runs"] == 2000
    assert len(told["findings"]) == 2
    assert told["findings"][0]["counts"].keys() == {
        field.name for field in dataclasses.fields(report.best.counts)
    }


def test_the_pytest_helper_passes_what_is_sound_and_fails_what_is_not() -> None:
    claim = PureDP(epsilon=1.0)
    assert_private(enough_noise, claim=claim, neighbours=(0.0, 1.0), runs=10_000)
    with pytest.raises(AssertionError, match=r"epsilon at least .* found by the .* test"):
        assert_private(half_the_noise, claim=claim, neighbours=(0.0, 1.0), runs=10_000)


class Randomised:
    """As diffprivlib's mechanisms are called."""

    def randomise(self, value: float) -> float:
        """Too little noise."""
        return half_the_noise(value)


class Measurement:
    """As opendp's measurements are called."""

    def __call__(self, data: list[float]) -> float:
        """Too little noise."""
        return half_the_noise(sum(data))


@pytest.mark.parametrize(
    ("target", "neighbours"), [(Randomised(), (0.0, 1.0)), (Measurement(), ([0.0], [0.0, 1.0]))]
)
def test_other_libraries_are_one_line(target: Any, neighbours: tuple[Any, Any]) -> None:
    claim = ApproxDP(epsilon=1.0, delta=1e-6)
    assert audit(target, neighbours=neighbours, claim=claim, runs=20_000).violated


@pytest.mark.parametrize(
    "arguments",
    [
        {"runs": 10},
        {"runs": 1.5},
        {"confidence": 1.0},
        {"confidence": 0.1},
        {"neighbours": [0, 1]},
        {"rounds": 0},
        {"processes": 0},
        {"claim": None},
        {"claim": 1.0},
        {"distinguishers": ()},
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    given: dict[str, Any] = {"neighbours": (0.0, 1.0), "claim": PureDP(epsilon=1.0), "runs": 1000}
    with pytest.raises(InvalidParameter):
        audit(enough_noise, **(given | arguments))


def test_a_target_that_only_fails_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="ZeroDivisionError"):
        audit(lambda value: value / 0, neighbours=(0, 1), claim=PureDP(epsilon=1.0), runs=1000)


def test_a_claim_knows_what_it_says() -> None:
    assert Claim.of(PureDP(epsilon=0.5)).points == ((0.5, 0.0),)
    assert Claim.of(ApproxDP(epsilon=0.5, delta=0.1)).points == ((0.5, 0.1),)
    deltas = [delta for _, delta in Claim.of(Gaussian(sigma=1.0)).points]
    assert 0.0 not in deltas  # where no epsilon is finite
    assert len(deltas) == 5
    only = Claim.of(Gaussian(sigma=1.0), delta=1e-5)
    assert only.points == ((compose(Gaussian(sigma=1.0)).epsilon(delta=1e-5), 1e-5),)
    for wrong in ({"epsilon": -1.0}, {"epsilon": 1.0, "delta": 2.0}, {}):
        with pytest.raises(InvalidParameter):
            Claim.of(**wrong)  # type: ignore[arg-type]


def response(truth: int, size: int) -> Any:
    """Randomized response of epsilon = 1, which every honest test finds on the edge."""
    lies = np.random.default_rng().random(size) >= 1 / (1 + np.exp(-1.0))
    return np.where(lies, 1 - truth, truth)


@pytest.mark.slow
@pytest.mark.parametrize(("confidence", "most"), [(0.999, 8), (0.9, 150)])
def test_false_alarms_are_as_rare_as_stated(confidence: float, most: int) -> None:
    """Over 1,000 audits; more than ``most`` has a probability below 1e-6 if the rate is true."""
    target, claim = Vectorised(response), PureDP(epsilon=1.0)
    alarms = sum(
        audit(target, neighbours=(0, 1), claim=claim, runs=4000, confidence=confidence).violated
        for _ in range(1000)
    )
    assert alarms <= most


def test_false_alarms_are_no_more_than_expected_and_do_happen() -> None:
    """At the edge of the claim, with a test that is fixed: 300 audits at 80 %."""
    target, claim = Vectorised(response), PureDP(epsilon=1.0)
    alarms = sum(
        audit(
            target,
            neighbours=(0, 1),
            claim=claim,
            runs=1000,
            confidence=0.8,
            distinguishers=[Threshold()],
        ).violated
        for _ in range(300)
    )
    assert 3 < alarms < 105  # at most 60 expected; 45 more are over six deviations
