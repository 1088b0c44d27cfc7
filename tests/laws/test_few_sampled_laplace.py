"""Few sampled Laplace releases: against integrals and sums that share nothing with the engine."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest

from quaestor import Laplace, PoissonSampled, compose
from quaestor.accounting.loss.engine.loss_profile import LossProfile
from quaestor.accounting.loss.laws.lattices.bracket import Bracket, lowered, raised
from quaestor.accounting.loss.laws.sampling.laplace_cells import laplace_bracket
from quaestor.accounting.loss.laws.sampling.sampled_laplace import SampledLaplaceLoss
from quaestor.accounting.numerics.atoms import Atoms
from tests.laws.lattice_brackets import SampledLaplaceCells, brackets_of

REFERENCE = 1e-10  # relative error of the integrals below
LEAST = 1e-15


def _plain(epsilons: np.ndarray, largest: float) -> np.ndarray:
    """Delta of Laplace noise at epsilons of either sign."""
    positive = np.where(
        np.abs(epsilons) < largest, -np.expm1((np.abs(epsilons) - largest) / 2), 0.0
    )
    turned = -np.expm1(np.minimum(epsilons, 0.0)) + np.exp(np.minimum(epsilons, 0.0)) * positive
    return np.where(epsilons >= 0.0, positive, turned)


def _single(epsilons: np.ndarray, largest: float, rate: float, *, removing: bool) -> np.ndarray:
    """Delta of one sampled release at epsilons of either sign: how well the best test does."""
    if not removing:  # the pair turned round: delta at -epsilon, times e^epsilon, and the rest
        removed = _single(-epsilons, largest, rate, removing=True)
        return np.asarray(-np.expm1(epsilons) + np.exp(epsilons) * removed)
    inner = np.expm1(epsilons) / rate
    inside = inner > math.expm1(-largest)
    curve = rate * _plain(np.log1p(np.where(inside, inner, 0.0)), largest)
    return np.where(inside, curve, -np.expm1(epsilons))


def _place(loss: float, largest: float, rate: float) -> float:
    inner = math.expm1(loss) / rate
    return math.log1p(inner) if inner > math.expm1(-largest) else -largest


def _double(
    epsilon: float, kinds: tuple[tuple[float, float], tuple[float, float]], *, removing: bool
) -> float:
    """Delta of two releases: the first one's noise integrated out, between kinks of the second."""
    (largest, rate), (other, other_rate) = kinds
    ends = [math.log1p(other_rate * math.expm1(side * other)) for side in (-1, 1)]
    side = 1 if removing else -1
    kinks = [_place(side * (epsilon - side * end), largest, rate) for end in ends]
    kinks.append(_place(side * epsilon, largest, rate))
    cuts = sorted({-largest, largest, *(min(max(kink, -largest), largest) for kink in kinks)})
    nodes, weights = np.polynomial.legendre.leggauss(24)
    total = 0.0
    for low, high in pairwise(cuts):
        edges = np.linspace(low, high, 41)
        half = np.diff(edges)[:, None] / 2
        x = (edges[:-1, None] + half * (1 + nodes)).ravel()
        masses = (half * weights).ravel() * np.exp(-(x + largest) / 2) / 4
        total += _weighed(x, masses, epsilon, kinds, removing=removing)
    x, masses = np.array([-largest, largest]), np.array([0.5, math.exp(-largest) / 2])
    return total + _weighed(x, masses, epsilon, kinds, removing=removing)


def _weighed(
    x: np.ndarray,
    masses: np.ndarray,
    epsilon: float,
    kinds: tuple[tuple[float, float], tuple[float, float]],
    *,
    removing: bool,
) -> float:
    (_, rate), (other, other_rate) = kinds
    losses = np.log1p(rate * np.expm1(x))
    if removing:
        curve = _single(epsilon - losses, other, other_rate, removing=True)
        return float(np.sum(masses * np.exp(losses) * curve))
    return float(np.sum(masses * _single(epsilon + losses, other, other_rate, removing=False)))


def _random_kind(rng: random.Random) -> tuple[float, float]:
    scale = math.exp(rng.uniform(math.log(0.3), math.log(100.0)))
    return 1 / scale, math.exp(rng.uniform(math.log(1e-6), math.log(0.3)))


def _check_two(seed: int) -> None:
    rng = random.Random(seed)
    first = _random_kind(rng)
    second = _random_kind(rng) if rng.random() < 0.3 else first
    delta = 10 ** rng.uniform(-10.0, -3.0)
    kinds = (first, second)
    spent = compose(*(PoissonSampled(release=Laplace(scale=1 / e), rate=rate) for e, rate in kinds))
    bounds = spent.epsilon_bounds(delta=delta)

    def worst(epsilon: float) -> float:
        return max(_double(epsilon, kinds, removing=removing) for removing in (True, False))

    slack = REFERENCE * delta + LEAST
    assert worst(bounds.upper) <= delta + slack
    if bounds.lower > 0.0:
        assert worst(bounds.lower) >= delta - slack
    if first == second:
        assert bounds.relative_width <= 1e-3
    epsilon = bounds.upper * rng.uniform(0.3, 1.0)
    if epsilon > 0.0:
        found, truth = spent.delta_bounds(epsilon=epsilon), worst(epsilon)
        assert found.lower <= truth * (1 + REFERENCE) + LEAST
        assert truth * (1 - REFERENCE) - LEAST <= found.upper


@pytest.mark.parametrize("block", range(4))
def test_two_releases_contain_the_integral_of_the_closed_form(block: int) -> None:
    for seed in range(block * 5, block * 5 + 5):
        _check_two(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_two_releases_contain_the_integral_of_the_closed_form_everywhere(block: int) -> None:
    for seed in range(1000 + block * 200, 1200 + block * 200):
        _check_two(seed)


@pytest.mark.parametrize(("scale", "rate"), [(0.3, 0.3), (0.3, 1e-6), (100.0, 0.01)])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9])
def test_two_releases_contain_the_integral_next_to_nothing(
    scale: float, rate: float, epsilon: float
) -> None:
    """Where a fine gap would take more nodes than a line may have."""
    found = compose(PoissonSampled(release=Laplace(scale=scale), rate=rate) * 2).delta_bounds(
        epsilon=epsilon
    )
    kinds = ((1 / scale, rate), (1 / scale, rate))
    truth = max(_double(epsilon, kinds, removing=removing) for removing in (True, False))
    assert found.lower <= truth * (1 + REFERENCE) + LEAST
    assert truth * (1 - REFERENCE) - LEAST <= found.upper
    assert found.relative_width <= 1e-3


def _check_several(seed: int, *, cells: float) -> None:
    rng = random.Random(seed)
    parts = [_random_kind(rng)]
    if rng.random() < 0.3:
        parts.append((parts[0][0] * rng.uniform(0.5, 2.0), parts[0][1] * rng.uniform(0.5, 1.0)))
    counts = [rng.randint(1, 20 // len(parts)) + 1 for _ in parts]
    delta = 10 ** rng.uniform(-9.0, -3.0)
    bounds = compose(
        *(
            PoissonSampled(release=Laplace(scale=1 / e), rate=rate) * count
            for (e, rate), count in zip(parts, counts, strict=True)
        )
    ).epsilon_bounds(delta=delta)
    at_most = bounds.upper or parts[0][0] * parts[0][1]
    epsilon = at_most * rng.choice([1.0, rng.uniform(0.3, 1.0)])
    worst = []
    for removing in (True, False):
        laws = [
            (SampledLaplaceLoss(epsilon=e, rate=rate, removing=removing), count)
            for (e, rate), count in zip(parts, counts, strict=True)
        ]
        found = LossProfile(laws).delta_bounds(epsilon=epsilon)
        brutes = [SampledLaplaceCells(1 / e, rate, removing) for e, rate in parts]
        most = max(each.most for each in brutes)
        gap = sum(counts) * most / cells
        lower, upper = brackets_of(
            [(each.masses, count) for each, count in zip(brutes, counts, strict=True)],
            epsilon,
            gap=gap,
            most=most,
        )
        assert found.lower <= upper
        assert lower <= found.upper
        worst.append((lower, upper))
    if epsilon == bounds.upper:
        assert max(lower for lower, _ in worst) <= delta


@pytest.mark.parametrize("seed", range(8))
def test_several_releases_overlap_brackets_by_brute_force(seed: int) -> None:
    _check_several(seed, cells=2e5)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_several_releases_overlap_brackets_by_brute_force_everywhere(block: int) -> None:
    for seed in range(5000 + block * 100, 5100 + block * 100):
        _check_several(seed, cells=4e6)


def _delta_of(losses: np.ndarray, masses: np.ndarray, epsilon: float) -> float:
    above = losses > epsilon
    return math.fsum(masses[above] * -np.expm1(epsilon - losses[above]))


@pytest.mark.parametrize("seed", range(20))
def test_atoms_on_a_lattice_tell_less_or_more_than_they_are(seed: int) -> None:
    """On coarse lattices, where a fault of first order cannot hide."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 40))
    losses = np.sort(rng.normal(size=size)) * 10 ** rng.uniform(-4.0, 0.5)
    masses = rng.dirichlet(np.full(size, 0.3))
    atoms = Atoms(losses=losses, masses=masses, blur=0.0, error=0.0)
    bracket = Bracket(less=atoms, more=atoms, lost=0.0)
    gap = float(np.ptp(losses)) / rng.integers(1, 60)
    anchor = float(losses[int(rng.integers(0, size))])
    less, more = lowered(bracket, anchor, gap), raised(bracket, anchor, gap)
    for epsilon in np.linspace(losses[0] - gap, losses[-1] + gap, 200):
        truth = _delta_of(losses, masses, epsilon)
        slack = 1e-13 * truth + 1e-15
        assert _delta_of(less.losses, less.masses, epsilon + less.blur) <= truth + slack
        assert truth <= _delta_of(more.losses, more.masses, epsilon - more.blur) + slack


@pytest.mark.parametrize("removing", [True, False])
@pytest.mark.parametrize(
    ("largest", "rate", "gap"), [(3.0, 0.2, 0.3), (0.01, 0.3, 1e-3), (8.0, 1e-4, 0.02)]
)
def test_cells_tell_less_or_more_than_the_noise(
    largest: float, rate: float, gap: float, *, removing: bool
) -> None:
    bracket = laplace_bracket(largest, rate, gap, removing=removing)
    ends = bracket.more.losses
    assert math.fsum(bracket.less.masses) == pytest.approx(1.0, abs=1e-12)
    assert math.fsum(bracket.more.masses) == pytest.approx(1.0, abs=1e-12)
    for epsilon in np.linspace(min(ends) - gap, max(ends) + gap, 300):
        truth = float(_single(np.array([epsilon]), largest, rate, removing=removing)[0])
        less = _delta_of(bracket.less.losses, bracket.less.masses, epsilon)
        more = _delta_of(bracket.more.losses, bracket.more.masses, epsilon)
        assert less <= truth * (1 + 1e-11) + 1e-13
        assert truth <= more * (1 + 1e-11) + 1e-13
