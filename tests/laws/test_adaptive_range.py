"""Laws of the adaptive composition of bounded-range releases."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from quaestor.accounting.ranges import AdaptiveRange
from quaestor.accounting.ranges.adaptive_curves import Above, Below
from quaestor.accounting.ranges.adaptive_step import Curve, StepAbove, StepBelow
from quaestor.errors import InvalidParameter, TheoremDoesNotApply
from tests.oracles import adaptive_range as oracle

ROUNDING = 1e-13  # of the oracles that compute in floats


def random_range(rng: Random) -> float:
    return math.exp(rng.uniform(math.log(1e-4), math.log(8)))


# --------------------------------------------------------------------- against the oracles


@pytest.mark.parametrize("seed", range(30))
def test_two_releases_contain_the_optimum(seed: int) -> None:
    rng = Random(seed)
    first, second = random_range(rng), random_range(rng)
    if seed % 3:
        second = first
    at = rng.uniform(0, first + second)
    truth = oracle.any_order_delta(ranges=(mpf(first), mpf(second)), at=mpf(at))
    assert truth in AdaptiveRange([(first, 1), (second, 1)]).delta_bounds(epsilon=at)


@pytest.mark.parametrize("seed", range(6))
def test_three_releases_contain_the_optimum(seed: int) -> None:
    rng = Random(seed)
    range_ = random_range(rng)
    at = rng.uniform(0, 2.9 * range_)
    truth = oracle.adaptive_delta(ranges=(range_,) * 3, at=at)
    bounds = AdaptiveRange([(range_, 3)]).delta_bounds(epsilon=at)
    assert bounds.lower <= truth * (1 + ROUNDING)
    assert truth * (1 - ROUNDING) <= bounds.upper


@pytest.mark.parametrize("seed", range(60))
def test_no_random_strategy_beats_the_upper_end(seed: int) -> None:
    rng = Random(seed)
    kinds = [random_range(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    if seed % 5 == 0:
        kinds.append(kinds[0] * 1.00001)  # alike
        kinds.append(min(kinds) * 1e-6)  # a crumb
    ranges = [each for each in kinds for _ in range(rng.randint(1, 3))][:8]
    profile = AdaptiveRange([(each, 1) for each in ranges], width=0.02)
    for _ in range(10):
        at = rng.uniform(0, 0.7) * sum(ranges)
        delta = oracle.random_strategy_delta(ranges=ranges, at=at, rng=rng)
        assert delta * (1 - ROUNDING) <= profile.delta_bounds(epsilon=at).upper


@pytest.mark.parametrize("seed", range(60))
def test_no_single_strategy_beats_the_upper_end(seed: int) -> None:
    rng = Random(seed)
    range_, count = random_range(rng), rng.randint(2, 12)
    profile = AdaptiveRange([(range_, count)], width=0.02)
    for _ in range(4):
        at = rng.uniform(0, 0.9) * range_ * count
        upper = profile.delta_bounds(epsilon=at).upper
        for lows in range(count):
            shift = min((at + (lows + 1) * range_) / (count + 1), range_)  # best for so many lows
            delta = oracle.same_strategy_delta(range_=range_, count=count, at=at, shift=shift)
            assert delta * (1 - ROUNDING) <= upper


@pytest.mark.parametrize("seed", range(20))
def test_where_one_outcome_counts_the_closed_form_is_the_optimum(seed: int) -> None:
    rng = Random(seed)
    first, second = random_range(rng), random_range(rng)
    at = first + second - rng.random() * min(first, second)
    bounds = AdaptiveRange([(first, 1), (second, 1)]).delta_bounds(epsilon=at)
    truth = oracle.any_order_delta(ranges=(mpf(first), mpf(second)), at=mpf(at))
    assert bounds.relative_width <= 1e-15
    assert bounds.lower <= truth * (1 + mpf(10) ** -12)
    assert truth * (1 - mpf(10) ** -12) <= bounds.upper


@pytest.mark.parametrize("at", [0.0, 0.002, 0.1, 0.6])
def test_a_range_that_is_left_out_still_counts(at: float) -> None:
    profile = AdaptiveRange([(1.0, 1), (0.005, 1)], width=0.1)
    truth = oracle.any_order_delta(ranges=(mpf(1), mpf(0.005)), at=mpf(at))
    bounds = profile.delta_bounds(epsilon=at)
    assert profile._lattice(10, 0.0).crumbs == Fraction(0.005)
    assert truth in bounds
    assert bounds.relative_width <= 0.05


@pytest.mark.parametrize("reach", [0.1, 0.7, 1.5])
def test_a_table_that_ends_early_is_still_an_upper_bound(reach: float) -> None:
    short = Above((8,), (6,), Fraction(1, 16), reach)
    full = Below((8,), (6,), Fraction(1, 16), 3.0)
    for epsilon in np.linspace(0, 3, 61):
        assert full.at(float(epsilon)) <= short.at(float(epsilon))


# --------------------------------------------------------------------- one step by itself


@pytest.mark.parametrize("seed", range(40))
def test_one_step_is_bounded_at_every_shift(seed: int) -> None:
    """Random convex curves, linear between nodes; chords anywhere, not only between nodes."""
    rng = Random(seed)
    size, cell = rng.randint(1, 9), math.exp(rng.uniform(math.log(1e-3), math.log(0.7)))
    top = rng.randint(size, 5 * size)
    nodes = np.exp(cell * np.arange(-size, top + 2 * size + 1))
    weights = np.array([rng.random() ** 6 for _ in range(top)])
    weights /= 4 * weights.sum()

    def right(at: Curve) -> Curve:  # a mixture of hockey sticks
        knots = nodes[size + 1 : size + 1 + top]
        sticks: Curve = np.maximum(1 - at[:, None] / knots, 0) @ weights
        return sticks

    values = np.where(nodes >= 1, right(nodes), 1 - nodes + nodes * right(1 / nodes))
    curve = values[size : size + top + 1]
    exact_cell = Fraction(cell)
    above = StepAbove.finished(StepAbove(exact_cell, size).heights(curve, top, 0.0))
    below = StepBelow.finished(StepBelow(exact_cell, size).heights(curve, top))
    ratio = math.exp(size * cell)
    for node in range(top + 1):
        at = nodes[size + node]
        left = np.geomspace(at / ratio, at, 40 * size + 1)
        share = (left * ratio - at) / (left * (ratio - 1))
        heights = share * np.interp(left, nodes, values)
        heights += (1 - share) * np.interp(left * ratio, nodes, values)
        tolerance = 1e-12 * values[node]
        assert heights.max() <= above[node] + tolerance
        assert below[node] <= heights.max() + tolerance


@pytest.mark.parametrize("seed", range(15))
def test_rounding_never_crosses_the_exact_step(seed: int) -> None:
    """The formulas of the module's text, for the same floats, with 40 digits."""
    rng = Random(seed)
    size, cell = rng.randint(1, 6), math.exp(rng.uniform(math.log(1e-5), math.log(3)))
    top = 4 * size
    steepest = min(math.expm1(cell), 1 / top) / 2  # so that the reflected curve decreases as well
    drops = [steepest * rng.random() * math.exp(-rng.uniform(0, 40)) for _ in range(top)]
    curve = np.cumsum([0.0, *sorted(drops)])[::-1].copy()
    above = StepAbove.finished(StepAbove(Fraction(cell), size).heights(curve, top, 0.0))
    below = StepBelow.finished(StepBelow(Fraction(cell), size).heights(curve, top))
    with mp.workdps(40):
        range_ = mpf(cell) * size

        def value(node: int) -> mpf:
            right = mpf(float(curve[abs(node)])) if abs(node) <= top else mpf(0)
            log = mpf(cell) * node
            return right if node >= 0 else mp.exp(log) * right - mp.expm1(log)

        def bulge(node: int) -> mpf:
            later = value(node + size) - value(node + size + 1)
            excess = value(node) - value(node + 1) - mp.exp(-range_) * later
            return mp.tanh(mpf(cell) / 4) / -mp.expm1(-range_) * max(excess, mpf(0))

        def height(at: int, node: int) -> mpf:
            far = mp.expm1(mpf(cell) * (at - node)) / mp.expm1(range_)
            return (1 - far) * value(node) + far * value(node + size)

        for at in range(top + 1):
            nodes = range(at - size, at + 1)
            lower = max(height(at, node) for node in nodes)
            upper = max(
                max(height(at, left), height(at, left + 1)) + bulge(left) for left in nodes[:-1]
            )
            assert lower * (1 - mpf(10) ** -14) - mpf(10) ** -290 <= below[at] <= lower
            assert upper <= above[at] <= upper * (1 + mpf(10) ** -14) + mpf(10) ** -299


# --------------------------------------------------------------------- laws


@pytest.mark.parametrize("seed", range(15))
def test_more_releases_and_larger_ranges_never_cost_less(seed: int) -> None:
    rng = Random(seed)
    range_, count = random_range(rng), rng.randint(1, 12)
    at = rng.uniform(0, 0.9) * range_ * count
    base = AdaptiveRange([(range_, count)], width=0.01).delta_bounds(epsilon=at)
    more = AdaptiveRange([(range_, count + 1)], width=0.01).delta_bounds(epsilon=at)
    larger = AdaptiveRange([(range_ * 1.01, count)], width=0.01).delta_bounds(epsilon=at)
    mixed = AdaptiveRange([(range_, count), (range_ / 3, 1)], width=0.01).delta_bounds(epsilon=at)
    assert base.lower <= min(more.upper, larger.upper, mixed.upper)
    assert mixed.lower <= more.upper


@pytest.mark.parametrize(("range_", "count"), [(0.01, 40), (0.3, 7), (2.0, 5), (20.0, 3)])
def test_the_curve_decreases_and_is_convex_in_exp_epsilon(range_: float, count: int) -> None:
    profile = AdaptiveRange([(range_, count)])
    epsilons = np.linspace(0, range_ * count, 60)
    bounds = [profile.delta_bounds(epsilon=float(epsilon)) for epsilon in epsilons]
    for earlier, later in pairwise(bounds):
        assert later.lower <= earlier.upper
    for i in range(1, len(epsilons) - 1):
        before, after = (math.expm1(epsilons[j] - epsilons[i]) for j in (i - 1, i + 1))
        chord = (bounds[i - 1].upper * after - bounds[i + 1].upper * before) / (after - before)
        assert bounds[i].lower <= chord * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_epsilon_and_delta_are_inverse(seed: int) -> None:
    rng = Random(seed)
    profile = AdaptiveRange([(random_range(rng), rng.randint(1, 30))])
    delta = 10 ** rng.uniform(-14, 0) * profile.delta_bounds(epsilon=0.0).upper
    epsilon = profile.epsilon_bounds(delta=delta)
    assert profile.delta_bounds(epsilon=epsilon.upper).lower <= delta
    assert profile.delta_bounds(epsilon=epsilon.lower).upper >= delta


@pytest.mark.parametrize("range_", [1e-6, 0.01, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("count", [2, 10, 100])
def test_brackets_are_as_narrow_as_promised(range_: float, count: int) -> None:
    profile = AdaptiveRange([(range_, count)])
    top = profile.delta_bounds(epsilon=0.0)
    assert top.relative_width <= 1e-3
    for smaller in (1e-2, 1e-6, 1e-12, 1e-40):
        assert profile.epsilon_bounds(delta=smaller * top.lower).relative_width <= 1e-3


def test_a_finer_bracket_overlaps_and_is_narrower() -> None:
    coarse = AdaptiveRange([(0.5, 30)], width=0.1).epsilon_bounds(delta=1e-6)
    fine = AdaptiveRange([(0.5, 30)], width=1e-5).epsilon_bounds(delta=1e-6)
    assert coarse.overlaps(fine)
    assert fine.relative_width <= 1e-5 < coarse.relative_width


def test_the_order_of_description_is_irrelevant() -> None:
    one = AdaptiveRange([(0.5, 2), (0.3, 1), (0.0, 9)]).delta_bounds(epsilon=0.4)
    other = AdaptiveRange([(0.3, 1), (0.5, 1), (0.5, 1), (1.0, 0)]).delta_bounds(epsilon=0.4)
    assert one == other


def test_the_order_of_use_matters_and_the_worst_is_covered() -> None:
    """Hence no fixed order is computed: the small range first does more harm, by 6 per cent."""
    small_first = oracle.adaptive_delta(ranges=(0.5, 1.0), at=0.05)
    large_first = oracle.adaptive_delta(ranges=(1.0, 0.5), at=0.05)
    bounds = AdaptiveRange([(1.0, 1), (0.5, 1)]).delta_bounds(epsilon=0.05)
    assert large_first < bounds.lower < small_first * (1 + ROUNDING)
    assert small_first * (1 - ROUNDING) <= bounds.upper


def test_many_different_ranges_are_taken_together() -> None:
    ranges = [0.1 * 1.12**i for i in range(14)]
    bounds = AdaptiveRange([(each, 1) for each in ranges], width=0.1).epsilon_bounds(delta=1e-6)
    smallest = AdaptiveRange([(ranges[0], 14)]).epsilon_bounds(delta=1e-6)
    largest = AdaptiveRange([(ranges[-1], 14)]).epsilon_bounds(delta=1e-6)
    assert smallest.lower <= bounds.upper
    assert bounds.lower <= largest.upper
    assert bounds.upper < 0.9 * largest.lower


# --------------------------------------------------------------------- ends


def test_nothing_released_costs_nothing() -> None:
    for profile in (AdaptiveRange([]), AdaptiveRange([(0.0, 5)])):
        assert profile.delta_bounds(epsilon=0.0).upper == 0.0
        assert profile.epsilon_bounds(delta=0.0).upper == 0.0
        assert list(profile.supports(10)) == [0.0]


def test_no_delta_from_the_sum_of_all_ranges_on() -> None:
    profile = AdaptiveRange([(0.1, 3), (0.7, 1)])
    assert 1 in profile.epsilon_bounds(delta=0.0).widened(ulps=1)
    assert profile.epsilon_bounds(delta=1.0).upper == 0.0
    for epsilon in (profile.total_epsilon.upper, math.inf):
        assert profile.delta_bounds(epsilon=epsilon).upper == 0.0


def test_supports_begin_at_zero_and_end_at_the_sum() -> None:
    supports = list(AdaptiveRange([(0.25, 4)]).supports(9))
    assert len(supports) <= 9
    assert supports == sorted(supports)
    assert (supports[0], supports[-1]) == (0.0, 1.0)


def test_hardly_anything_released_is_bounded_by_its_sum() -> None:
    profile = AdaptiveRange([(5e-324, 3)])
    assert profile.delta_bounds(epsilon=0.0).upper == 3 * 5e-324
    assert profile.epsilon_bounds(delta=5e-324).upper == 3 * 5e-324


@pytest.mark.parametrize("ranges", [[(-1.0, 1)], [(math.nan, 1)], [(math.inf, 1)], [(1.0, -1)]])
def test_bad_ranges_are_refused(ranges: list[tuple[float, int]]) -> None:
    with pytest.raises(InvalidParameter):
        AdaptiveRange(ranges)


@pytest.mark.parametrize("width", [0.0, 1.0, math.nan])
def test_bad_widths_are_refused(width: float) -> None:
    with pytest.raises(InvalidParameter):
        AdaptiveRange([(1.0, 1)], width=width)


@pytest.mark.parametrize("range_", [1e-3, 1.0, 1e300])
def test_too_many_releases_are_refused(range_: float) -> None:
    with pytest.raises(TheoremDoesNotApply, match="too much work"):
        AdaptiveRange([(range_, 10**9)])
