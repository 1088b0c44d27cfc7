"""Sums over patterns of participation, many at once, held against one pattern after another."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
import random

import numpy as np
import pytest

import quaestor as q
from quaestor.accounting.numerics.matrix_rows import MatrixRows
from quaestor.accounting.releases.derived.participation import (
    Participation,
    _far_apart_meet,
    _period,
    _period_sums,
    _row_sums,
    pattern_sensitivity,
)


def whole_square(rng: random.Random, count: int) -> np.ndarray:
    """Whole numbers, which add up exactly in any order; symmetric, some of them 0."""
    drawn = [rng.choice((0.0, 0.0, 1.0, 5.0, 9.0)) for _ in range(count * count)]
    square = np.array(drawn).reshape(count, count)
    square += square.T.copy()
    return square


def best_before(square: np.ndarray, row: int, at_most: int, apart: int) -> float:
    """The slow way: every choice of at most so many separated steps that end before a row."""
    steps = range(max(row - apart + 1, 0))
    return max(
        sum(float(square[row, step]) for step in chosen)
        for size in range(at_most + 1)
        for chosen in itertools.combinations(steps, size)
        if all(b - a >= apart for a, b in itertools.pairwise(chosen))
    )


@pytest.mark.parametrize("seed", range(40))
def test_row_sums_are_the_best_of_all_choices(seed: int) -> None:
    rng = random.Random(seed)
    count, apart = rng.randint(1, 8), rng.randint(1, 9)
    times = rng.randint(1, 4)
    square = whole_square(rng, count)
    before, after = _row_sums(square, times, apart)
    turned = square[::-1, ::-1]
    for number, row in itertools.product(range(times), range(count)):
        assert before[number][row] == best_before(square, row, number, apart)
        assert after[number][row] == best_before(turned, count - 1 - row, number, apart)
    far = [(i, j) for i in range(count) for j in range(count) if abs(i - j) >= apart]
    assert _far_apart_meet(square, apart) == any(square[place] for place in far)


@pytest.mark.parametrize("seed", range(40))
def test_period_sums_are_the_sums_of_each_period(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 12)
    square = np.array([[float(rng.randint(-9, 9)) for _ in range(count)] for _ in range(count)])
    fitting = Participation(rng.randint(1, 5), rng.randint(1, 6), periodic=True)
    sums = _period_sums(square, fitting)
    for first in range(count):
        pattern = _period(first, count, fitting)
        assert sums[first] == sum(square[a, b] for a in pattern for b in pattern)


@pytest.mark.parametrize("exponent", [-900, -200, -65, -64, 0, 64, 65, 200])
@pytest.mark.parametrize("low", [0.0, -1.0])
def test_the_ends_scale_with_the_matrix(exponent: int, low: float) -> None:
    """A power of two changes no bit of a product; where squares leave the floats it is divided."""
    given = np.random.default_rng(5).uniform(low, 1.0, (9, 7))
    for patterns in (Participation(), Participation(3, 2), Participation(3, 2, periodic=True)):
        usual = pattern_sensitivity(given, patterns)
        scaled = pattern_sensitivity(np.ldexp(given, exponent), patterns)
        for end, other in ((usual.lower, scaled.lower), (usual.upper, scaled.upper)):
            assert math.isclose(math.ldexp(end, exponent), other, rel_tol=1e-15)
        assert scaled.relative_width <= usual.relative_width + 1e-15


def test_rows_are_read_as_tuples_and_cannot_be_changed() -> None:
    given = np.array([[1.0, 0.0], [-0.5, 2.0]])
    release = q.MatrixMechanism(sigma=1.0, matrix=given)
    given[0, 0] = 7.0
    rows = release.matrix
    assert isinstance(rows, MatrixRows)
    assert tuple(rows) == ((1.0, 0.0), (-0.5, 2.0))
    assert (rows[-1], rows[:1], len(rows)) == ((-0.5, 2.0), ((1.0, 0.0),), 2)
    assert repr(rows) == "((1.0, 0.0), (-0.5, 2.0))"
    with pytest.raises(ValueError, match="read-only"):
        rows.array[0, 0] = 7.0
    listed = q.MatrixMechanism(sigma=1.0, matrix=[[1, 0], [-0.5, 2]])
    assert release == listed
    assert hash(release) == hash(listed)
    assert release != q.MatrixMechanism(sigma=1.0, matrix=[[1, 0], [0.5, 2]])
    assert json.loads(release.to_json())["matrix"] == [[1.0, 0.0], [-0.5, 2.0]]
    assert "matrix=[[1.0, 0.0], [-0.5, 2.0]]" in str(release)
    for other in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):  # noqa: S301
        assert other == release
        assert isinstance(other.matrix, MatrixRows)
        assert not other.matrix.array.flags.writeable
