"""What is refused, with words that tell nothing private, before any randomness is used."""

from __future__ import annotations

import math
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from quaestor import InvalidParameter, mechanisms
from quaestor.mechanisms import (
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    Geometric,
    Laplace,
    NoisyMax,
    OptimalSelection,
    PartitionSelection,
    Quantile,
    RandomizedResponse,
    Staircase,
    TopK,
    release_count,
    release_mean,
    release_sum,
)
from tests.mechanisms.sources import Counted, install

if TYPE_CHECKING:
    from collections.abc import Callable

NAN, INF = math.nan, math.inf

PARAMETERS: list[tuple[type, dict[str, Any]]] = [
    (Geometric, {"scale": -1.0}),
    (Geometric, {"scale": 0.0}),
    (Geometric, {"scale": NAN}),
    (Geometric, {"scale": INF}),
    (Geometric, {"scale": 2.0**41}),
    (Geometric, {"scale": 1.0, "sensitivity": 0}),
    (Geometric, {"scale": 1.0, "sensitivity": 1.5}),
    (DiscreteGaussian, {"sigma": -1.0}),
    (DiscreteGaussian, {"sigma": 1e10}),
    (DiscreteGaussian, {"sigma": 1.0, "coordinates": 0}),
    (Laplace, {"scale": -1.0}),
    (Laplace, {"scale": 1.0, "sensitivity": NAN}),
    (Laplace, {"scale": 1.0, "granularity": 0.3}),
    (Laplace, {"scale": 1.0, "granularity": -0.5}),
    (Laplace, {"scale": 1.0, "granularity": 2.0**-60}),
    (Laplace, {"scale": 1.0, "granularity": 2.0**12}),
    (Gaussian, {"sigma": 0.0}),
    (Gaussian, {"sigma": 1.0, "granularity": 2.0**-40}),
    (Gaussian, {"sigma": 1.0, "granularity": 32.0}),
    (Staircase, {"epsilon": -1.0}),
    (Staircase, {"epsilon": 1e-9}),
    (Staircase, {"epsilon": 1.0, "gamma": 1.5}),
    (Staircase, {"epsilon": 1.0, "coordinates": 2}),
    (Staircase, {"epsilon": 1.0, "granularity": 2.0**-40}),
    (RandomizedResponse, {"epsilon": -1.0}),
    (RandomizedResponse, {"epsilon": 1.0, "categories": 1}),
    (ExponentialMechanism, {"epsilon": -1.0}),
    (ExponentialMechanism, {"epsilon": 1.0, "sensitivity": 0.0}),
    (NoisyMax, {"epsilon": NAN}),
    (TopK, {"epsilon": 1.0, "count": 0}),
    (Quantile, {"probability": 1.5, "low": 0.0, "high": 1.0, "epsilon": 1.0}),
    (Quantile, {"probability": 0.5, "low": 1.0, "high": 0.0, "epsilon": 1.0}),
    (Quantile, {"probability": 0.5, "low": 0.5, "high": 2.0, "epsilon": 1.0}),
    (Quantile, {"probability": 0.5, "low": 0.0, "high": INF, "epsilon": 1.0}),
    (OptimalSelection, {"epsilon": 0.0, "delta": 1e-6}),
    (OptimalSelection, {"epsilon": 1.0, "delta": 0.0}),
    (OptimalSelection, {"epsilon": 1.0, "delta": 0.7}),
    (OptimalSelection, {"epsilon": 1.0, "delta": 1e-6, "contributions": 0}),
    (PartitionSelection, {"scale": -1.0, "threshold": 5}),
    (PartitionSelection, {"scale": 1.0, "threshold": 1}),
    (PartitionSelection, {"scale": 1.0, "threshold": 5, "contributions": 0}),
]

geometric = Geometric(scale=5.0)
laplace = Laplace(scale=5.0)
quartile = Quantile(probability=0.25, low=0.0, high=10.0, epsilon=1.0)
groups = PartitionSelection(scale=1.0, threshold=5)

VALUES: list[Callable[[], object]] = [
    lambda: geometric.release(NAN),  # type: ignore[call-overload]
    lambda: geometric.release(12345.5),  # type: ignore[call-overload]
    lambda: geometric.release(True),  # noqa: FBT003  # a truth value is what is refused
    lambda: geometric.release("12345"),  # type: ignore[arg-type]
    lambda: geometric.release(np.array([12345.5])),
    lambda: geometric.release(np.array([2**63], np.uint64)),
    lambda: geometric.release(np.array([True])),
    lambda: geometric.release([[12345], [1, 2]]),  # type: ignore[list-item]
    lambda: DiscreteGaussian(sigma=1.0).release(np.array([12345, 2])),
    lambda: laplace.release(NAN),
    lambda: laplace.release(INF),
    lambda: laplace.release(1e300),
    lambda: laplace.release(np.array([12345.0, NAN])),
    lambda: laplace.release(np.array([12345.0, -INF])),
    lambda: laplace.release(np.array([12345.0, 1.0])),
    lambda: laplace.release(np.array(["12345"])),
    lambda: laplace.release(np.array([2**60 + 1])),
    lambda: Staircase(epsilon=1.0).release(np.array([12345.0, 2.0])),
    lambda: Gaussian(sigma=1.0).release(1j),  # type: ignore[call-overload]
    lambda: RandomizedResponse(epsilon=1.0).release(12345),
    lambda: RandomizedResponse(epsilon=1.0).release(np.array([0, 12345])),
    lambda: RandomizedResponse(epsilon=1.0).shares([]),
    lambda: ExponentialMechanism(epsilon=1.0).release([]),
    lambda: ExponentialMechanism(epsilon=1.0).release([12345.0, NAN]),
    lambda: ExponentialMechanism(epsilon=1.0).release([12345.0, INF]),
    lambda: ExponentialMechanism(epsilon=1.0).release([[12345.0]]),
    lambda: ExponentialMechanism(epsilon=1.0).release([2**60 + 1]),
    lambda: NoisyMax(epsilon=1.0).release([]),
    lambda: NoisyMax(epsilon=1.0).release(["12345"]),
    lambda: TopK(epsilon=1.0, count=3).release([1.0, 2.0]),
    lambda: quartile.release([12345.0, NAN]),
    lambda: groups.release({"12345": 0}),
    lambda: groups.release({"a": 12345.5}),  # type: ignore[dict-item]
    lambda: groups.release({"a": NAN}),  # type: ignore[dict-item]
    lambda: groups.release([12345]),  # type: ignore[arg-type]
    lambda: release_sum(geometric, [12345], low=0, high=120),
    lambda: release_sum(geometric, [12345], low=1, high=1),
    lambda: release_sum(geometric, [12345], low=NAN, high=1),
    lambda: release_sum(geometric, [NAN], low=0, high=1),
    lambda: release_mean(geometric, [12345], low=0, high=120),
    lambda: release_mean(geometric, [1.0, INF], low=0, high=1),
    lambda: release_count(Laplace(scale=1.0, sensitivity=0.5), [12345]),
    lambda: mechanisms.mechanism_for(PARAMETERS),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("kind", "parameters"), PARAMETERS, ids=str)
def test_a_bad_parameter_is_refused_by_name(
    kind: type, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Counted())
    with pytest.raises(InvalidParameter) as refused:
        kind(**parameters)
    assert any(name in refused.value.field for name in parameters)


@pytest.mark.parametrize("call", VALUES, ids=range(len(VALUES)))
def test_a_bad_value_is_refused_before_any_randomness_is_used(
    call: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Counted()
    install(monkeypatch, source)
    with pytest.raises(InvalidParameter) as refused:
        call()
    assert source.bytes == 0
    assert "12345" not in str(refused.value)  # the private value
    assert "12345" not in str(refused.value.fields())
    back = pickle.loads(pickle.dumps(refused.value))  # noqa: S301  # our own bytes
    assert str(back) == str(refused.value)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, NAN, "0.9", True])
def test_a_bad_confidence_is_refused(confidence: Any) -> None:
    for mechanism in (geometric, laplace, Gaussian(sigma=1.0), Staircase(epsilon=1.0), quartile):
        with pytest.raises(InvalidParameter, match="confidence"):
            mechanism.interval(confidence=confidence)


def test_what_is_refused_by_a_count_is_refused_by_the_randomness_too() -> None:
    with pytest.raises(AssertionError, match="randomness was used"):
        Counted()(8)
