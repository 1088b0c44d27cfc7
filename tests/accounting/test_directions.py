"""Trade-offs of releases whose two directions differ: what a test really reaches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mpmath
import pytest
from mpmath import mpf

from quaestor import (
    BoundedRange,
    Gaussian,
    IndependentPrior,
    PointPrior,
    PoissonSampled,
    ProbabilityVectors,
    PureDP,
    compose,
    hypothesis_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ALARMS = (0.0, 1e-6, 0.05, 0.3, 0.7, 0.99)


def normal_tail(z: mpf) -> mpf:
    return mpmath.erfc(z / mpmath.sqrt(2)) / 2


def crossing(falling: Callable[[mpf], mpf]) -> mpf:
    """Where a falling function is 0, by halves."""
    low, high = mpf(-20), mpf(20)
    for _ in range(130):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return low


def sampled_gaussian_tests(sigma: float, rate: float, alarm: float) -> tuple[mpf, mpf]:
    """Missed detections of the best tests: without the person as the null hypothesis, and with.

    The likelihood ratio rises with x, so the best tests are thresholds.
    """
    mu, share = 1 / mpf(sigma), mpf(rate)

    def mixture(z: mpf) -> mpf:
        return (1 - share) * normal_tail(z) + share * normal_tail(z - mu)

    upper = crossing(lambda z: normal_tail(z) - mpf(alarm))
    lower = crossing(lambda z: mixture(z) - 1 + mpf(alarm))
    return 1 - mixture(upper), normal_tail(lower)


@pytest.mark.parametrize(("sigma", "rate"), [(0.3, 0.3), (1.0, 0.5), (0.5, 0.05)])
@pytest.mark.parametrize("alarm", [0.01, 0.3, 0.6])
def test_the_boundary_is_what_the_better_of_two_threshold_tests_reaches(
    sigma: float, rate: float, alarm: float
) -> None:
    with mpmath.workdps(40):
        truth = min(sampled_gaussian_tests(sigma, rate, alarm))
        region = compose(PoissonSampled(release=Gaussian(sigma=sigma), rate=rate)).tradeoff()
        bounds = region.false_negative_bounds(false_positive=alarm)
        assert mpf(bounds.lower) - mpf(10) ** -25 <= truth <= mpf(bounds.upper) + mpf(10) ** -25
        assert bounds.width <= 1e-6


def best_test(p: tuple[float, ...], q: tuple[float, ...], alarm: float) -> mpf:
    """The missed detections of the most powerful test of q against p, by Neyman and Pearson."""
    order = sorted(range(len(p)), key=lambda i: -(p[i] / q[i] if q[i] else math.inf))
    left, found = mpf(alarm), mpf(0)
    for i in order:
        share = mpf(1) if mpf(q[i]) <= left else left / mpf(q[i])
        found += share * mpf(p[i])
        left -= share * mpf(q[i])
    return 1 - found


@pytest.mark.parametrize("alarm", ALARMS)
@pytest.mark.parametrize(
    ("p", "q"),
    [
        ((0.5, 0.25, 0.25), (0.125, 0.125, 0.75)),
        ((0.0, 0.5, 0.5), (0.25, 0.25, 0.5)),
        ((0.9375, 0.0625), (0.5, 0.5)),
    ],
)
def test_the_boundary_of_two_vectors_is_that_of_neyman_and_pearson(
    p: tuple[float, ...], q: tuple[float, ...], alarm: float
) -> None:
    truth = min(best_test(p, q, alarm), best_test(q, p, alarm))
    region = compose(ProbabilityVectors(p=p, q=q)).tradeoff()
    bounds = region.false_negative_bounds(false_positive=alarm)
    assert mpf(bounds.lower) <= truth <= mpf(bounds.upper)
    assert bounds.width <= 1e-6


def test_corners_draw_the_convex_hull_which_contains_both_regions() -> None:
    p, q = (0.5, 0.25, 0.25), (0.125, 0.125, 0.75)
    corners = compose(ProbabilityVectors(p=p, q=q)).tradeoff().vertices(at_most=101)
    for alarm in (0.05, 0.2, 0.5):
        left = max(corner for corner in corners if corner.false_positive <= alarm)
        right = min(corner for corner in corners if corner.false_positive > alarm)
        share = (alarm - left.false_positive) / (right.false_positive - left.false_positive)
        drawn = left.false_negative + share * (right.false_negative - left.false_negative)
        assert drawn <= min(best_test(p, q, alarm), best_test(q, p, alarm))


def test_beliefs_are_compared_by_direction() -> None:
    known = hypothesis_bounds(
        [PureDP(epsilon=2.0)], null=PointPrior(), alternative=IndependentPrior(rate=0.25)
    )
    truth = 1 / (1 + math.exp(2.0))
    mixed = 0.25 * (1 - truth) + 0.75 * truth
    p, q = (mixed, 1 - mixed), (truth, 1 - truth)
    for alarm in (0.05, 0.3, 0.8):
        best = min(best_test(p, q, alarm), best_test(q, p, alarm))
        bounds = known.tradeoff().false_negative_bounds(false_positive=alarm)
        assert bounds.lower - 1e-14 <= best <= bounds.upper + 1e-14
        assert bounds.width <= 1e-6


def test_a_range_has_tests_that_reach_the_upper_end_and_none_below_the_lower() -> None:
    region = compose(BoundedRange(epsilon=1.0) * 2).tradeoff()
    half = compose(PureDP(epsilon=0.5) * 2).tradeoff()  # one of its class
    for alarm in (0.0, 0.1, 0.5):
        bounds = region.false_negative_bounds(false_positive=alarm)
        assert bounds.upper >= half.false_negative_bounds(false_positive=alarm).lower - 1e-9
        assert bounds.lower <= half.false_negative_bounds(false_positive=alarm).upper
