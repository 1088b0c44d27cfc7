"""Releases with thousands of atoms: against losses rounded to a lattice by brute force."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from quaestor import DiscreteGaussian, Geometric, PoissonSampled, compose
from quaestor.accounting.loss.engine.loss_profile import LossProfile
from quaestor.accounting.loss.laws.finite import FiniteLoss
from tests.laws.lattice_brackets import brackets

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release


class Atoms:
    """Atoms from plain formulas, in cells between multiples of a gap."""

    def __init__(self, first: np.ndarray, second: np.ndarray) -> None:
        there = (first > 1e-280) & (second > 1e-280)
        self.losses = np.log(first[there]) - np.log(second[there])
        self.first, self.alone = first[there], math.fsum(first[~there])

    def masses(self, gap: float, most: float) -> tuple[int, np.ndarray, float]:
        """The index of the first cell, the masses of the cells, and the mass beyond ``most``."""
        kept = np.abs(self.losses) <= most
        index = np.floor(self.losses[kept] / gap + 1e-9).astype(int)
        cells = np.bincount(index - index.min(), weights=self.first[kept])
        return int(index.min()), cells, self.alone + math.fsum(self.first[~kept])


def geometric(scale: float, sensitivity: int) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes 1 to sensitivity - 1, and all that lie on either side as one."""
    places = np.arange(sensitivity + 1)
    masses = np.tanh(0.5 / scale) * np.exp(-places / scale)
    masses[[0, -1]] = np.exp(-places[[0, -1]] / scale) / (1 + math.exp(-1 / scale))
    return masses, masses[::-1].copy()


def discrete_gaussian(sigma: float, sensitivity: int) -> tuple[np.ndarray, np.ndarray]:
    places = np.arange(-round(38 * sigma), round(38 * sigma) + sensitivity)
    first, second = (np.exp(-((places - at) ** 2) / (2 * sigma**2)) for at in (sensitivity, 0))
    return first / math.fsum(first), second / math.fsum(second)


def _check(
    release: Release,
    pair: tuple[np.ndarray, np.ndarray],
    *,
    rate: float,
    count: int,
    delta: float,
    cells: float,
) -> None:
    whole = PoissonSampled(release=release, rate=rate) if rate < 1.0 else release
    bounds = compose(whole * count).epsilon_bounds(delta=delta)
    assert bounds.relative_width <= 1e-3
    first, second = pair
    mixed = (1 - rate) * second + rate * first
    directions = [(mixed, second), (second, mixed)]
    worst = []
    for law, (one, other) in zip(whole.losses(), directions, strict=False):
        assert isinstance(law, FiniteLoss)
        atoms = Atoms(one, other)
        most = min(float(np.max(np.abs(atoms.losses))), 4 * bounds.upper + 1.0)
        gap = count * most / cells
        lower, upper = brackets(atoms.masses, count, bounds.upper, gap=gap, most=most)
        found = LossProfile([(law, count)]).delta_bounds(epsilon=bounds.upper)
        assert found.lower <= upper
        assert lower <= found.upper
        worst.append(
            (
                lower,
                brackets(atoms.masses, count, bounds.lower, gap=gap, most=most)[1],
            )
        )
    assert max(lower for lower, _ in worst) <= delta
    assert max(upper for _, upper in worst) >= delta


@pytest.mark.parametrize(("scale", "count"), [(1e4, 20), (1e5, 5)])
def test_geometric_noise_of_a_large_sensitivity(scale: float, count: int) -> None:
    release = Geometric(scale=scale, sensitivity=10_000)
    _check(release, geometric(scale, 10_000), rate=1.0, count=count, delta=1e-6, cells=1e6)


@pytest.mark.parametrize(("sigma", "rate", "count"), [(1000.0, 0.01, 10), (1000.0, 0.1, 2)])
def test_discrete_gaussians_of_a_large_sensitivity_on_a_sample(
    sigma: float, rate: float, count: int
) -> None:
    release = DiscreteGaussian(sigma=sigma, sensitivity=1000)
    pair = discrete_gaussian(sigma, 1000)
    _check(release, pair, rate=rate, count=count, delta=1e-6, cells=1e6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_large_sensitivities_everywhere(seed: int) -> None:
    rng = random.Random(seed)
    sensitivity = rng.randint(4500, 10_000)
    share, count = math.exp(rng.uniform(math.log(0.3), math.log(30.0))), rng.randint(2, 20)
    rate = rng.choice([1.0, 10 ** rng.uniform(-4.0, -0.5)])
    scale = share * sensitivity
    release: Release = Geometric(scale=scale, sensitivity=sensitivity)
    pair = geometric(scale, sensitivity)
    if rate < 1.0 and scale < 4000.0:
        release = DiscreteGaussian(sigma=scale, sensitivity=sensitivity)
        pair = discrete_gaussian(scale, sensitivity)
    delta = 10 ** rng.uniform(-9.0, -4.0)
    _check(release, pair, rate=rate, count=count, delta=delta, cells=4e6)
