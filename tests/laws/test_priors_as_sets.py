"""Priors name sets: a database named twice is one database, and weights may be of any size."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from quaestor import (
    InvalidParameter,
    MixturePrior,
    PointPrior,
    PureDP,
    SizePrior,
    compose,
    hypothesis_bounds,
)

HUNDRED = [PureDP(epsilon=0.1)] * 100
EVERYWHERE = PointPrior([str(i) for i in range(1, 101)])


def test_a_database_named_a_hundred_times_is_one_database() -> None:
    assert PointPrior(["1"] * 100) == PointPrior(["1"])
    known = hypothesis_bounds(HUNDRED, null=PointPrior(["1"] * 100), alternative=EVERYWHERE)
    truth = compose(PureDP(epsilon=0.1) * 99).epsilon_bounds(delta=1e-6)
    assert known.epsilon(delta=1e-6) >= truth.lower > 4.7


def test_a_mixture_reads_each_list_of_names_as_a_set() -> None:
    twice = MixturePrior([(["1", "1"], 1), (["2"], 1)])
    once = MixturePrior([(["1"], 0.5), (["2"], 0.5)])
    few = [PureDP(epsilon=1.0)] * 3
    answers = [
        hypothesis_bounds(few, null=PointPrior(), alternative=prior).delta_bounds(epsilon=0.1)
        for prior in (twice, once)
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "entries", [[("12", 1.0)], [(["1"], float("nan"))], [(["1"], -1)], [(["1"], 0)], [1], None]
)
def test_entries_that_are_no_lists_of_names_with_a_weight_are_refused(entries: Any) -> None:
    with pytest.raises(InvalidParameter):
        MixturePrior(entries)


@pytest.mark.parametrize("weights", [[1], None, {1: "2"}, {1: 0.0}, {-1: 1.0}, {1: float("inf")}])
def test_sizes_that_are_no_numbers_with_a_weight_are_refused(weights: Any) -> None:
    with pytest.raises(InvalidParameter):
        SizePrior(weights)


def test_weights_beyond_floats_are_taken_in_proportion() -> None:
    huge = SizePrior({0: 10**400, 1: Fraction(10**400)})
    plain = SizePrior({0: 1, 1: 1, 2: 0})
    assert huge.sizes(5) == plain.sizes(5) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
