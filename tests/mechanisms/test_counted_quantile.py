"""Quantiles of counts: their law, from the definition, and what they cost on neighbours."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import exp, mpf

import quaestor as q
from quaestor.errors import InvalidParameter
from quaestor.mechanisms import CountedQuantile
from quaestor.mechanisms.kinds.quantile import CandidateRuns
from tests.mechanisms.laws import chi_square, normalised
from tests.mechanisms.sources import Counted, install, seed

if TYPE_CHECKING:
    from collections.abc import Sequence

LOW, HIGH = -2, 6
ACCEPT, REJECT = 1e-4, 1e-6


def distance(data: Sequence[int], y: int, probability: Fraction, *, signed: bool) -> Fraction:
    """How far the rank that is wanted is from those of a candidate, by counting."""
    wanted = probability * len(data)
    below, not_above = sum(x < y for x in data), sum(x <= y for x in data)
    beyond = max(below - wanted, wanted - not_above)
    return beyond if signed else max(beyond, Fraction(0))


def law(
    data: Sequence[int], probability: float, rate: mpf, *, signed: bool = True
) -> dict[int, mpf]:
    """Every candidate, with its distance from the rank wanted."""
    share = Fraction(probability)

    def behind(y: int) -> mpf:
        found = distance(data, y, share, signed=signed)
        return mpf(found.numerator) / found.denominator

    return normalised({y: exp(-rate * behind(y)) for y in range(LOW, HIGH + 1)})


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("probability", [0.0, 0.25, 0.5, 0.9375, 1.0])
@pytest.mark.parametrize("rows", [1, 2])
def test_scores_of_all_small_neighbours_differ_by_the_sensitivity_at_most(
    probability: float,
    rows: int,
    signed: bool,  # noqa: FBT001
) -> None:
    """All histograms of up to four rows on four values, and all that one person may add."""
    mechanism = CountedQuantile(
        probability=probability, low=0, high=3, rows=rows, epsilon=1.0, signed=signed
    )
    stated, share = mechanism.loss.to_dict()["sensitivity"], Fraction(probability)
    farthest = Fraction(0)

    def scores(data: Sequence[int]) -> list[Fraction]:
        found = [distance(data, y, share, signed=signed) for y in range(4)]
        points, counts = np.unique(np.array(data, np.int64), return_counts=True)
        runs = CandidateRuns.between(points, counts, first=0, last=3)
        drawn = (runs.beyond if signed else runs.behind)(int(share * 2**16) * len(data), unit=2**16)
        for start, size, each in zip(runs.starts, runs.sizes, drawn, strict=True):
            for y in range(int(start), int(start + size)):
                assert Fraction(int(each), 2**16) == found[y]  # what is drawn is the definition
        assert min(found) <= 0  # so that ranks are off by no more than scores are behind
        return found

    for size in range(5):
        for data in combinations_with_replacement(range(4), size):
            base = scores(data)
            for number in range(1, rows + 1):
                for own in combinations_with_replacement(range(4), number):
                    near = scores([*data, *own])
                    farthest = max(farthest, *(abs(a - b) for a, b in zip(base, near, strict=True)))
    assert farthest == stated


def test_a_tie_is_told_from_its_neighbours_by_twice_as_much() -> None:
    data = [4] * 20 + [5] * 18 + [6] * 20  # the median is 9 ranks inside the tie

    def lead(*, signed: bool) -> Fraction:
        half = Fraction(1, 2)
        return distance(data, 6, half, signed=signed) - distance(data, 5, half, signed=signed)

    assert lead(signed=True) == 2 * lead(signed=False) == 18


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("probability", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_people_of_several_rows_cost_no_more_than_is_stated(
    probability: float,
    rows: int,
    signed: bool,  # noqa: FBT001
) -> None:
    mechanism = CountedQuantile(
        probability=probability, low=LOW, high=HIGH, rows=rows, epsilon=1.0, signed=signed
    )
    [sensitivity] = [mechanism.loss.to_dict()["sensitivity"]]
    rate = mpf(1) / (2 * mpf(sensitivity))
    stated = exp(mpf(q.compose(mechanism.loss).epsilon(delta=0.0))) * (1 + mpf(10) ** -25)
    closest = mpf(1)
    for data in ([], [3], [0, 5, 5], [-2, 1, 4, 6]):
        base = law(data, probability, rate, signed=signed)
        for own in combinations_with_replacement(range(LOW, HIGH + 1, 2), rows):
            near = law([*data, *own], probability, rate, signed=signed)
            for y, weight in base.items():
                assert weight <= near[y] * stated
                assert near[y] <= weight * stated
                closest = max(closest, weight / near[y], near[y] / weight)
    assert closest > stated ** mpf("0.4")  # and the cost is not idle


@pytest.mark.parametrize("signed", [True, False])
def test_the_law_is_the_one_of_the_definition(
    monkeypatch: pytest.MonkeyPatch,
    signed: bool,  # noqa: FBT001
) -> None:
    seed(monkeypatch, 41)
    data = [-1] * 5 + [0] + [4] * 6
    mechanism = CountedQuantile(
        probability=0.25, low=LOW, high=HIGH, rows=2, epsilon=1.5, signed=signed
    )
    drawn = [mechanism.release(Counter(data)) for _ in range(8000)]
    for by in (1.0, 1.3, 1 / 1.3):
        rate = mpf(1.5) * by / (2 * 2 * 0.75)
        chance = chi_square(drawn, law(data, 0.25, rate, signed=signed))
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
