"""From a column to a figure: exact sums, and the sensitivity that they really have."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import quaestor as q
from quaestor.mechanisms import (
    DiscreteGaussian,
    Gaussian,
    Geometric,
    Laplace,
    Staircase,
    release_count,
    release_mean,
    release_sum,
)
from quaestor.mechanisms.columns import _steps
from tests.mechanisms.sources import seed

AGES = [34, 51.4, 29.5, 178.0, -3]  # within 0 to 120, to whole numbers: 34, 51, 30, 120, 0

EXACT: list[Any] = [
    Geometric(scale=1e-3, sensitivity=120),
    DiscreteGaussian(sigma=0.05, sensitivity=120),
]


@pytest.mark.parametrize("mechanism", EXACT, ids=str)
def test_figures_without_noise_are_the_figures(
    mechanism: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 51)
    assert release_sum(mechanism, AGES, low=0, high=120).released == 235
    assert release_count(mechanism, AGES).released == 5


def test_a_mean_is_a_sum_over_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 52)
    mean = release_mean(Geometric(scale=0.5, sensitivity=60), AGES * 1000, low=0, high=120)
    assert mean.released == pytest.approx(47.0, abs=0.05)
    assert len(mean.losses) == 2
    assert mean.error is None
    few = [
        release_mean(Laplace(scale=600, sensitivity=60), [5], low=0, high=120) for _ in range(20)
    ]
    assert all(0 <= each.released <= 120 for each in few)


@pytest.mark.parametrize(
    "mechanism",
    [
        Geometric(scale=600.0, sensitivity=60),
        DiscreteGaussian(sigma=600.0, sensitivity=60),
        Laplace(scale=600.0, sensitivity=60.0),
        Gaussian(sigma=600.0, sensitivity=60.0),
        Staircase(epsilon=0.1, sensitivity=60.0),
    ],
    ids=str,
)
def test_the_count_of_a_mean_costs_as_much_as_its_sum(mechanism: Any) -> None:
    total, counted = release_mean(mechanism, AGES, low=0, high=120).losses
    costs = [q.compose(each).epsilon(delta=1e-4) for each in (total, counted)]
    assert costs[0] == pytest.approx(costs[1], rel=2e-2)


def test_standard_errors_of_means_are_about_right(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 53)
    noise = Geometric(scale=600.0, sensitivity=60)
    means = [release_mean(noise, [80] * 1000, low=0, high=120) for _ in range(2000)]
    spread = float(np.std([each.released for each in means]))
    stated = float(np.median([each.standard_error for each in means]))
    assert stated == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize(("low", "high"), [(0.0, 120.0), (-3.7, 1.1), (10.0, 10.3), (-0.1, 0.1)])
@pytest.mark.parametrize("step", [1.0, 0.25, 2.0**-10])
def test_one_row_moves_a_sum_by_no_more_than_is_accounted(
    low: float, high: float, step: float
) -> None:
    if high - low < step:
        high = low + 2 * step
    needed = max(abs(low), abs(high))
    mechanism = Laplace(scale=10.0, sensitivity=needed, granularity=step)
    values = np.random.default_rng(5).normal(scale=20, size=500).tolist()
    most = max(abs(each) for each in _steps(values, low, high, step))
    assert most * step <= mechanism.loss.sensitivity
    exact = sum(
        int((Fraction(min(max(value, low), high)) / Fraction(step) + Fraction(1, 2)) // 1)
        for value in values
    )
    assert sum(_steps(values, low, high, step)) == exact


def test_a_sum_finer_than_floats_is_refused() -> None:
    mechanism = Laplace(scale=2.0**20, sensitivity=2.0**20, granularity=2.0**-19)
    values = np.full(2**14 + 1, 2.0**20)
    with pytest.raises(q.InvalidParameter, match="coarser"):
        release_sum(mechanism, values, low=0, high=2.0**20)
