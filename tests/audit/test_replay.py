"""With identical randomness, only the data can make a difference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quaestor.audit import replay


def clipped_sum(rows: list[float], coins: np.random.Generator) -> float:
    return float(np.clip(rows, 0, 10).sum() + coins.laplace(scale=10.0))


def sum_of_all(rows: list[float], coins: np.random.Generator) -> float:
    return float(np.sum(rows) + coins.laplace(scale=10.0))


def noise_for_each_row(rows: list[float], coins: np.random.Generator) -> float:
    return float(np.sum(np.clip(rows, 0, 10)) + coins.laplace(size=len(rows)).mean() * 0)


def groups(rows: list[float], coins: np.random.Generator) -> dict[float, float]:
    return {row: 1.0 + coins.laplace() for row in rows}


NEIGHBOURS = ([1.0, 2.0, 50.0], [1.0, 2.0])


def test_a_sound_sum_differs_by_its_sensitivity() -> None:
    seen = replay(clipped_sum, neighbours=NEIGHBOURS)
    assert seen.largest_difference == pytest.approx(10.0)
    assert seen.problems(sensitivity=10.0) == ()
    assert seen.times == 100


def test_a_sensitivity_that_is_too_small_is_found_at_once() -> None:
    (problem,) = replay(sum_of_all, neighbours=NEIGHBOURS, times=1).problems(sensitivity=10.0)
    assert problem == "outputs differ by 50 where the sensitivity is said to be 10"


def test_a_control_flow_that_depends_on_the_data_is_found() -> None:
    seen = replay(noise_for_each_row, neighbours=NEIGHBOURS)
    assert seen.other_path == 100
    assert "how much noise" in seen.problems(sensitivity=10.0)[0]


def test_outputs_of_another_form_are_found() -> None:
    seen = replay(groups, neighbours=NEIGHBOURS)
    assert seen.other_shape == 100
    assert "form of the output" in seen.problems(sensitivity=1.0)[-1]


@pytest.mark.parametrize(
    ("first", "second", "shapes"),
    [("a", "a", 0), ("a", "b", 1), ([1, 2], [1, 2, 3], 1), ({"x": 1}, {"x": 3}, 0)],
)
def test_whatever_comes_out_is_compared(first: Any, second: Any, shapes: int) -> None:
    seen = replay(lambda database, _: database, neighbours=(first, second), times=1)
    assert seen.other_shape == shapes
    assert seen.largest_difference == (2.0 if isinstance(first, dict) else 0.0)
