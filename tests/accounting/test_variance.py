"""How much noise k answers need, and the paper's statements about it."""

from __future__ import annotations

import math

import pytest
from mpmath import exp, inf, mpf, nsum, quad

import quaestor as q
from quaestor.accounting.papers.least_variance import (
    VarianceRow,
    least_variances,
    paper_variance,
    staircase_variance,
)

TARGETS = [(0.5, 1e-6, 100), (0.9, 1e-3, 10), (1.0, 1e-9, 1)]


def less_noise(release: q.Release) -> q.Release:
    """The same kind of noise with a thousandth less of it."""
    match release:
        case q.Gaussian(sigma=sigma):
            return q.Gaussian(sigma=sigma * 0.999)
        case q.Laplace(scale=scale):
            return q.Laplace(scale=scale * 0.999)
        case q.Geometric(scale=scale):
            return q.Geometric(scale=scale * 0.999)
        case q.Staircase(epsilon=epsilon, gamma=gamma):
            return q.Staircase(epsilon=epsilon / 0.999, gamma=gamma)
    raise AssertionError(release)


@pytest.mark.parametrize(("epsilon", "delta", "count"), TARGETS)
def test_every_release_fits_and_with_less_noise_it_does_not(
    epsilon: float, delta: float, count: int
) -> None:
    for row in least_variances(epsilon=epsilon, delta=delta, count=count):
        assert q.compose(row.release * count).delta(epsilon=epsilon) <= delta
        worse = q.compose(less_noise(row.release) * count)
        assert worse.delta_bounds(epsilon=epsilon).lower > delta


@pytest.mark.parametrize(("epsilon", "delta", "count"), TARGETS)
def test_the_least_variance_is_below_the_papers(epsilon: float, delta: float, count: int) -> None:
    rows = least_variances(epsilon=epsilon, delta=delta, count=count)
    for row in rows:
        if row.paper is not None and row.stated:
            assert row.variance < row.paper
            assert row.paper == pytest.approx(
                8 * count * math.log(math.e + epsilon / delta) / epsilon**2
            )
    by_kind: dict[str, VarianceRow] = {type(row.release).__name__: row for row in rows}
    assert set(by_kind) == {"Gaussian", "Laplace", "Geometric", "Staircase"}
    # The staircase, at gamma 0, is Laplace noise up to its cell; the best one is no worse.
    assert by_kind["Staircase"].variance < by_kind["Laplace"].variance * 1.001


def test_theorem_4_3_is_false_for_large_epsilon() -> None:
    sigma = math.sqrt(paper_variance(epsilon=100.0, delta=0.5, count=1))
    bounds = q.compose(q.Gaussian(sigma=sigma)).delta_bounds(epsilon=100.0)
    assert bounds.lower > 0.5
    assert bounds.lower == pytest.approx(0.86078752122816512819, rel=1e-9)
    gaussian, *_ = least_variances(epsilon=100.0, delta=0.5, count=1)
    assert not gaussian.stated
    assert gaussian.variance > sigma**2


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("gamma", [0.0, 0.2, 0.5, 1.0])
def test_the_variance_of_the_staircase_is_its_integral(epsilon: float, gamma: float) -> None:
    fall, split = exp(-mpf(epsilon)), mpf(gamma)
    height = (1 - fall) / (2 * (split + fall * (1 - split)))

    def stair(k: mpf) -> mpf:
        high = quad(lambda x: x * x, [k, k + split])
        low = quad(lambda x: x * x, [k + split, k + 1])
        return fall**k * (high + fall * low)

    expected = 2 * height * nsum(stair, [0, inf])
    assert staircase_variance(epsilon=epsilon, gamma=gamma) == pytest.approx(
        float(expected), rel=1e-9
    )


@pytest.mark.parametrize("each", [0.05, 0.5])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_theorem_4_4_no_pure_mechanism_has_a_larger_region_than_the_geometric(
    each: float, count: int
) -> None:
    geometric = q.compose(q.Geometric(scale=1 / each) * count)
    optimal = q.compose(q.PureDP(epsilon=each) * count)
    others = [
        q.Laplace(scale=1 / each),
        q.Staircase(epsilon=each),
        q.Staircase(epsilon=each, gamma=0.1),
        q.RandomizedResponse(epsilon=each, categories=5),
    ]
    for share in (0.0, 0.1, 0.35, 0.8):
        at = share * each * count
        largest = optimal.delta_bounds(epsilon=at)
        found = geometric.delta_bounds(epsilon=at)
        slack = 1e-9  # 1 / (1 / each) is not always each
        assert found.lower - slack <= largest.upper
        assert largest.lower <= found.upper + slack
        for other in others:
            smaller = q.compose(other * count).delta_bounds(epsilon=at)
            assert smaller.lower <= found.upper + slack
    # And strictly so: the region of Laplace noise is smaller.
    laplace = q.compose(others[0] * count).delta_bounds(epsilon=0.0)
    assert laplace.upper < geometric.delta_bounds(epsilon=0.0).lower
