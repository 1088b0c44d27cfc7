"""Two densities as a release: a bracket around what is known in closed form."""

from __future__ import annotations

import math

import pytest

import quaestor as q


def bell(x: float, at: float) -> float:
    return math.exp(-((x - at) ** 2) / 2) / math.sqrt(2 * math.pi)


def gaussian(cells_per_unit: int, mu: float = 0.5) -> q.DensityPair:
    reach = range(-9 * cells_per_unit, 10 * cells_per_unit + 1)
    edges = [i / cells_per_unit for i in reach]
    return q.DensityPair.of(lambda x: bell(x, mu), lambda x: bell(x, 0.0), edges=edges)


def laplace(epsilon: float) -> q.DensityPair:
    tails = [2.0 * i for i in range(-20, 0)] + [epsilon + 2.0 * i for i in range(1, 21)]
    inner = [epsilon * i / 24 for i in range(25)]
    return q.DensityPair.of(
        lambda x: math.exp(-abs(x)) / 2,
        lambda x: math.exp(-abs(x - epsilon)) / 2,
        edges=sorted({*tails, *inner}),
    )


@pytest.mark.parametrize("count", [1, 2, 40])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_bracket_around_the_gaussian(count: int, epsilon: float) -> None:
    truth = q.compose(q.Gaussian(sigma=2.0) * count).delta_bounds(epsilon=epsilon)
    found = q.compose(gaussian(24) * count).delta_bounds(epsilon=epsilon)
    assert found.lower <= truth.lower
    assert truth.upper <= found.upper
    assert found.relative_width < 0.05 or found.upper < 1e-12


@pytest.mark.parametrize("count", [1, 30, 200])
def test_a_bracket_around_laplace(count: int) -> None:
    truth = q.compose(q.Laplace(scale=2.5) * count).epsilon_bounds(delta=1e-5)
    found = q.compose(laplace(0.4) * count).epsilon_bounds(delta=1e-5)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.relative_width < 0.01


def test_a_bracket_around_the_gaussian_with_cells_of_hardly_any_mass() -> None:
    edges = [i / 16 for i in range(-35 * 16, 36 * 16)]
    pair = q.DensityPair.of(lambda x: bell(x, 0.5), lambda x: bell(x, 0.0), edges=edges)
    assert min(pair.p) < 1e-270
    for count, epsilon in ((1, 1.0), (1, 12.0), (3, 20.0)):
        truth = q.compose(q.Gaussian(sigma=2.0) * count).delta_bounds(epsilon=epsilon)
        found = q.compose(pair * count).delta_bounds(epsilon=epsilon)
        assert found.lower <= truth.lower
        assert truth.upper <= found.upper


def test_the_bracket_narrows_with_the_square_of_the_cells() -> None:
    coarse, fine = (
        q.compose(gaussian(size) * 10).epsilon_bounds(delta=1e-4).width for size in (6, 12)
    )
    assert 3 < coarse / fine < 5


def test_it_composes_with_others_and_grows() -> None:
    history = q.compose(q.Gaussian(sigma=3.0) * 5)
    history.epsilon_bounds(delta=1e-6)
    truth = q.compose(q.Gaussian(sigma=3.0) * 5, q.Gaussian(sigma=2.0) * 4)
    expected = truth.epsilon_bounds(delta=1e-6)
    for found in (
        history.then(gaussian(24) * 4).epsilon_bounds(delta=1e-6),
        q.compose(gaussian(24) * 4, q.Gaussian(sigma=3.0) * 5).epsilon_bounds(delta=1e-6),
    ):
        assert found.lower <= expected.lower
        assert expected.upper <= found.upper


def test_what_lies_outside_the_cells_counts_as_told() -> None:
    narrow = q.DensityPair.of(
        lambda x: bell(x, 0.5), lambda x: bell(x, 0.0), edges=[i / 8 for i in range(-32, 37)]
    )
    told = 1 - math.fsum(narrow.p)
    assert told > 1e-6
    assert q.compose(narrow).delta_bounds(epsilon=50.0).upper >= told
    truth = q.compose(q.Gaussian(sigma=2.0)).delta_bounds(epsilon=0.5)
    found = q.compose(narrow).delta_bounds(epsilon=0.5)
    assert found.lower <= truth.lower
    assert truth.upper <= found.upper


@pytest.mark.parametrize(
    ("edges", "says"),
    [
        ([0.0], "two or more numbers that rise"),
        ([1.0, 0.0], "two or more numbers that rise"),
        ([0.0, math.inf], "finite numbers"),
        ([0.0, 1.0], "around nearly all of it"),
        ("ab", "a list of numbers"),
    ],
)
def test_bad_edges_are_refused(edges: list[float], says: str) -> None:
    with pytest.raises(q.InvalidParameter, match=says):
        q.DensityPair.of(lambda x: bell(x, 0.5), lambda x: bell(x, 0.0), edges=edges)


def test_a_density_that_vanishes_is_refused() -> None:
    with pytest.raises(q.InvalidParameter, match="positive"):
        q.DensityPair.of(lambda x: max(x, 0.0), lambda x: bell(x, 0.0), edges=[0.0, 1.0])
