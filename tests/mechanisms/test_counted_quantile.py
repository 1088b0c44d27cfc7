"""Quantiles of counts: their law, from the definition, and what they cost on neighbours."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import exp, mpf

import quaestor as q
from quaestor.errors import InvalidParameter
from quaestor.mechanisms import CountedQuantile
from tests.mechanisms.laws import chi_square, normalised
from tests.mechanisms.sources import Counted, install, seed

if TYPE_CHECKING:
    from collections.abc import Sequence

LOW, HIGH = -2, 6
ACCEPT, REJECT = 1e-4, 1e-6


def law(data: Sequence[int], probability: float, rate: mpf) -> dict[int, mpf]:
    """Every candidate, with its distance from the rank wanted."""
    wanted = mpf(probability) * len(data)

    def behind(y: int) -> mpf:
        below, not_above = sum(x < y for x in data), sum(x <= y for x in data)
        return max(below - wanted, wanted - not_above, mpf(0))

    return normalised({y: exp(-rate * behind(y)) for y in range(LOW, HIGH + 1)})


@pytest.mark.parametrize("probability", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_people_of_several_rows_cost_no_more_than_is_stated(probability: float, rows: int) -> None:
    mechanism = CountedQuantile(probability=probability, low=LOW, high=HIGH, rows=rows, epsilon=1.0)
    [sensitivity] = [mechanism.loss.to_dict()["sensitivity"]]
    rate = mpf(1) / (2 * mpf(sensitivity))
    stated = exp(mpf(q.compose(mechanism.loss).epsilon(delta=0.0))) * (1 + mpf(10) ** -25)
    closest = mpf(1)
    for data in ([], [3], [0, 5, 5], [-2, 1, 4, 6]):
        base = law(data, probability, rate)
        for own in combinations_with_replacement(range(LOW, HIGH + 1, 2), rows):
            near = law([*data, *own], probability, rate)
            for y, weight in base.items():
                assert weight <= near[y] * stated
                assert near[y] <= weight * stated
                closest = max(closest, weight / near[y], near[y] / weight)
    assert closest > stated ** mpf("0.4")  # and the cost is not idle


def test_the_law_is_the_one_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 41)
    data = [-1] * 5 + [0] + [4] * 6
    mechanism = CountedQuantile(probability=0.25, low=LOW, high=HIGH, rows=2, epsilon=1.5)
    drawn = [mechanism.release(Counter(data)) for _ in range(8000)]
    for by in (1.0, 1.3, 1 / 1.3):
        chance = chi_square(drawn, law(data, 0.25, mpf(1.5) * by / (2 * 2 * 0.75)))
        assert chance > ACCEPT if by == 1.0 else chance < REJECT


def test_the_rank_is_rarely_far_off(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 42)
    mechanism = CountedQuantile(probability=0.9, low=0, high=10**6, rows=3, epsilon=1.0)
    reach = mechanism.interval(confidence=0.99).upper
    counts = {100 * i: 2 for i in range(5000)}
    drawn = np.array([mechanism.release(counts) for _ in range(100)])
    ranks = 2 * np.ceil(drawn / 100)
    assert np.mean(np.abs(ranks - 9000) <= reach + 2) >= 0.97
    assert mechanism.release({}) in range(10**6 + 1)
    assert mechanism.release({7: 0}) in range(10**6 + 1)


@pytest.mark.parametrize(
    "wrong",
    [{"probability": 1.5}, {"low": 5, "high": 4}, {"rows": 0}, {"epsilon": 0.0}, {"low": 0.5}],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    parameters = {"probability": 0.5, "low": 0, "high": 9, "epsilon": 1.0} | wrong
    with pytest.raises(InvalidParameter):
        CountedQuantile(**parameters)


@pytest.mark.parametrize("counts", [{12: 1}, {3: -1}, {"a": 4}, [1, 2], {3: 2**80}, {3: 2**50}])
def test_wrong_counts_are_refused_without_showing_them(
    monkeypatch: pytest.MonkeyPatch, counts: Any
) -> None:
    install(monkeypatch, Counted())
    mechanism = CountedQuantile(probability=0.5, low=0, high=9, epsilon=1.0)
    with pytest.raises(InvalidParameter, match="not shown"):
        mechanism.release(counts)
