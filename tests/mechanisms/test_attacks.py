"""Attacks that work on floating-point noise, and do not work here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from quaestor.mechanisms import Gaussian, Laplace, Staircase, release_sum
from tests.mechanisms.sources import seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZE = 200_000


def on_the_lattice(released: NDArray[np.float64]) -> float:
    """The share of small outputs that are multiples of 2^-53 [Mironov 2012].

    What was added to 1 and came out near 0 is one; what was added to 0 need not be.
    """
    small = released[(np.abs(released) < 2.0**-4) & (released != 0)]
    scaled = small * 2.0**53
    assert small.size > 500
    return float(np.mean(scaled == np.round(scaled)))


def test_the_attack_tells_floating_point_noise_apart() -> None:
    noise = np.random.default_rng(1).laplace(size=(2, SIZE))
    assert on_the_lattice(1.0 + noise[1]) - on_the_lattice(0.0 + noise[0]) > 0.5


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(scale=1.0, coordinates=1),
        Gaussian(sigma=1.0, coordinates=1),
        Staircase(epsilon=1.0, coordinates=1),
        Laplace(scale=1.0, sensitivity=0.1, coordinates=1),
    ],
    ids=str,
)
def test_the_attack_tells_nothing_here(
    mechanism: Laplace | Gaussian | Staircase, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 41)
    zeros, ones = (mechanism.release(np.full(SIZE, value)) for value in (0.0, 1.0))
    assert on_the_lattice(zeros) == on_the_lattice(ones) == 1.0
    # Nor do any lower bits: the outputs of both lie on one grid, and its last bits are even.
    for released in (zeros, ones):
        steps = released / mechanism.step - mechanism._offset
        assert np.array_equal(steps, np.round(steps))
        odd = np.sum(steps % 2 == 1)
        assert abs(odd - SIZE / 2) < 4.5 * np.sqrt(SIZE) / 2


def test_the_order_of_the_rows_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).normal(scale=1e6, size=999) ** 3
    assert np.sum(values) != np.sum(np.sort(values))  # in floating point it does
    mechanism = Laplace(scale=1e15, sensitivity=1e15)
    released = []
    for order in (values, np.sort(values), values[::-1]):
        seed(monkeypatch, 42)
        released.append(release_sum(mechanism, order, low=-1e15, high=1e15).released)
    assert len(set(released)) == 1
