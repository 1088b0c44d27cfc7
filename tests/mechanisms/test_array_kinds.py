"""Arrays of every kind are moved to the grid exactly, or refused; against exact fractions."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from quaestor import InvalidParameter
from quaestor.mechanisms import ExponentialMechanism, Gaussian, Geometric, Laplace, MatrixSketch
from quaestor.mechanisms.grid import on_grid, values_on_grid, wholes

KINDS = ["f2", "f4", "f8", "g", ">f2", ">f4", ">f8", "i1", "i4", "i8", ">i8", "u1", "u8", ">u8"]


class _Subclass(np.ndarray):
    """An array of somebody's own."""


def exactly(value: Any, granularity: float) -> int:
    """The nearest multiple, the upper one of two; by fractions."""
    number = Fraction(*map(int, value.as_integer_ratio()))
    return math.floor(number / Fraction(granularity) + Fraction(1, 2))


def values_of(kind: str, seed: int) -> np.ndarray:
    """Values of one kind, many of them at ties and next to ties."""
    rng = random.Random(seed)
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        largest = min(np.iinfo(dtype).max, 2**53)
        return np.array([rng.randint(0, largest) for _ in range(200)], dtype)
    whole = np.array([rng.randint(-1000, 1000) for _ in range(200)], dtype)
    halves = (whole + dtype.type(0.5)) * dtype.type(2.0**-3)
    near = [np.nextafter(halves, dtype.type(sign)) for sign in (-1e4, 1e4)]
    return np.concatenate([halves, *near]).astype(dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("granularity", [2.0**-20, 0.125, 1.0, 16.0])
def test_every_kind_of_number_is_moved_to_the_nearest_multiple(
    kind: str, granularity: float
) -> None:
    values = values_of(kind, seed=len(kind))
    if np.abs(values.astype(np.longdouble)).max() / granularity >= 2**61:
        granularity = 2.0
    moved = values_on_grid(values, granularity)
    assert moved.dtype == np.int64
    numbers = values if kind == "g" else values.tolist()
    assert moved.tolist() == [exactly(number, granularity) for number in numbers]
    assert [on_grid(value, granularity) for value in values[:40]] == moved[:40].tolist()


def test_wide_floats_one_sensitivity_apart_move_no_further_than_is_charged() -> None:
    mechanism = Laplace(scale=1.0, coordinates=1)
    steps = Fraction(mechanism.loss.sensitivity) / Fraction(mechanism.step)
    rng = random.Random(8)
    for _ in range(2000):
        half = np.longdouble(rng.randint(-(2**20), 2**20)) + np.longdouble(0.5)
        low = half * np.longdouble(mechanism.step)
        low = low - np.longdouble(2) ** -rng.randint(40, 75)
        high = low + np.longdouble(1)
        if Fraction(*high.as_integer_ratio()) - Fraction(*low.as_integer_ratio()) > 1:
            continue
        first, second = values_on_grid(np.array([low, high]), mechanism.step).tolist()
        assert second - first <= steps


@pytest.mark.parametrize(
    "value",
    [
        np.array([True, False]),
        np.array([Fraction(1, 3)], object),
        np.array([Decimal("0.1")], object),
        np.array([1 + 2j]),
        np.array(["1"]),
        np.array(["2026-01-01"], "M8[D]"),
        np.ma.masked_array([1.0, 2.0], mask=[False, True]),
        np.array([2**53 + 1], np.int64),
        np.array([2**63], np.uint64),
        [2**53 + 1, 0.5],
        [2**63, -1],
        [[0.5, 1.0], [2.0, 2**60 + 1]],
        np.array([math.nan]),
        np.array([math.inf], np.longdouble),
    ],
)
def test_what_would_be_rounded_or_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(InvalidParameter):
        Laplace(scale=1.0, coordinates=1).release(value)
    with pytest.raises(InvalidParameter):
        Gaussian(sigma=1.0, coordinates=1).release(value)


def test_views_that_are_not_contiguous_and_subclasses_are_read_in_their_order() -> None:
    values = np.arange(24.0).reshape(4, 6)
    assert np.array_equal(values_on_grid(values[::-2, 1::2], 0.5), 2 * values[::-2, 1::2])
    assert np.array_equal(values_on_grid(values.T, 0.5), 2 * values.T)
    assert np.array_equal(values_on_grid(values.view(_Subclass), 0.5), 2 * values)
    assert np.array_equal(wholes(np.arange(6, dtype=">u2")[::-1]), np.arange(6)[::-1])


def test_scalars_keep_all_their_digits() -> None:
    wide = np.longdouble(1) / 3
    assert on_grid(wide, 2.0**-40) == exactly(wide, 2.0**-40)
    assert on_grid(Fraction(1, 3), 2.0**-40) == exactly(Fraction(1, 3), 2.0**-40)
    assert on_grid(2**60 + 1, 1.0) == 2**60 + 1
    assert on_grid(np.float16(0.1), 2.0**-20) == exactly(float(np.float16(0.1)), 2.0**-20)


@pytest.mark.parametrize("scores", [np.array([1, np.longdouble(1) / 3]), [2**53 + 1, 0.5]])
def test_scores_that_floats_cannot_hold_are_refused(scores: Any) -> None:
    with pytest.raises(InvalidParameter):
        ExponentialMechanism(epsilon=1.0).release(scores)


@pytest.mark.parametrize(
    "matrix", [np.array([[np.longdouble(1) / 3]]), [[2**53 + 1, 0.5]], np.array([[2**53 + 1]])]
)
def test_matrices_that_floats_cannot_hold_are_refused(matrix: Any) -> None:
    with pytest.raises(InvalidParameter):
        MatrixSketch(rows=3, weight=10.0).release(matrix)


def test_masks_are_refused_by_whole_noise_too() -> None:
    with pytest.raises(InvalidParameter):
        Geometric(scale=1.0).release(np.ma.masked_array([1, 2], mask=[True, False]))
