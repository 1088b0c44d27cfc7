"""Certified intervals contain what they promise, and rounding only ever widens them."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpz
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from quaestor import Bounds, InvalidParameter
from quaestor.accounting.numerics.balls import (
    ball_of,
    between,
    outward,
    rational,
    refined,
    working_precision,
)

LARGEST, SMALLEST = math.nextafter(math.inf, 0.0), 5e-324

finite = st.floats(allow_nan=False, allow_infinity=False)
anything = st.floats(allow_nan=False)
fractions = st.builds(Fraction, st.integers(-(10**40), 10**40), st.integers(1, 10**40))
precisions = st.integers(2, 300)


def ordered(low: float, high: float) -> Bounds:
    return Bounds(lower=min(low, high), upper=max(low, high))


intervals = st.builds(ordered, anything, anything)
finite_intervals = st.builds(ordered, finite, finite)


def is_one_ulp_at_most(bounds: Bounds) -> bool:
    return bounds.upper <= math.nextafter(bounds.lower, math.inf)


# The interval.


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (math.nan, 1.0),
        (0.0, math.nan),
        (math.nan, math.nan),
        (1.0, 0.0),
        (math.inf, -math.inf),
        (math.nextafter(1.0, 2.0), 1.0),
        (SMALLEST, 0.0),
    ],
)
def test_what_is_no_interval_is_refused(lower: float, upper: float) -> None:
    with pytest.raises(InvalidParameter, match="bounds must be ordered, and not NaN"):
        Bounds(lower=lower, upper=upper)


def test_an_interval_is_a_frozen_value() -> None:
    bounds = Bounds(lower=0.25, upper=0.5)
    with pytest.raises(AttributeError):
        bounds.upper = 0.0  # type: ignore[misc]
    assert bounds == Bounds(lower=0.25, upper=0.5)
    assert hash(bounds) == hash(Bounds(lower=0.25, upper=0.5))
    with pytest.raises(TypeError):
        Bounds(0.25, 0.5)  # type: ignore[call-arg]


@given(anything)
def test_the_interval_of_one_point_holds_that_point_only(value: float) -> None:
    bounds = Bounds.exactly(value)
    assert value in bounds
    assert bounds.width == bounds.relative_width == 0.0
    if math.isfinite(value):
        assert math.nextafter(value, math.inf) not in bounds
        assert math.nextafter(value, -math.inf) not in bounds


@given(intervals, anything)
def test_a_float_is_inside_exactly_if_it_lies_between_the_ends(
    bounds: Bounds, value: float
) -> None:
    assert (value in bounds) == (bounds.lower <= value <= bounds.upper)
    assert bounds.lower in bounds
    assert bounds.upper in bounds


@given(finite_intervals, fractions)
def test_a_fraction_is_compared_exactly(bounds: Bounds, value: Fraction) -> None:
    inside = Fraction(bounds.lower) <= value <= Fraction(bounds.upper)
    assert (value in bounds) == inside


@given(finite_intervals)
def test_a_fraction_just_beyond_an_end_is_outside(bounds: Bounds) -> None:
    hair = Fraction(1, 10**400)
    assert Fraction(bounds.lower) in bounds
    assert Fraction(bounds.upper) in bounds
    assert Fraction(bounds.lower) - hair not in bounds
    assert Fraction(bounds.upper) + hair not in bounds


def test_a_tenth_is_not_the_float_that_looks_like_it() -> None:
    assert Fraction(1, 10) not in Bounds(lower=0.1, upper=0.2)
    assert Fraction(1, 10) in Bounds(lower=math.nextafter(0.1, 0.0), upper=0.2)
    assert Decimal("0.1") not in Bounds(lower=0.1, upper=0.2)
    assert Decimal("0.15") in Bounds(lower=0.1, upper=0.2)


def test_an_mpf_is_compared_with_all_its_digits() -> None:
    with mp.workdps(60):
        third = mpf(1) / 3
        assert third in Bounds(lower=1 / 3, upper=math.nextafter(1 / 3, 1.0))
        assert third not in Bounds.exactly(1 / 3)
        assert mpf(1) / 10 not in Bounds(lower=0.1, upper=0.2)
        assert mpf("inf") in Bounds(lower=0.0, upper=math.inf)
        assert mpf("nan") not in Bounds(lower=0.0, upper=math.inf)


@pytest.mark.parametrize("value", [0, 1, True, np.float64(0.5), np.float32(0.5), np.int64(1)])
def test_other_numbers_are_compared_too(value: Any) -> None:
    assert value in Bounds(lower=0.0, upper=1.0)
    assert value not in Bounds(lower=2.0, upper=3.0)


def test_nan_is_in_no_interval() -> None:
    for nan in (math.nan, np.float64("nan"), mpf("nan")):
        assert nan not in Bounds(lower=-math.inf, upper=math.inf)


# Width.


@given(finite_intervals)
def test_the_width_is_rounded_up_and_by_no_more_than_it_must(bounds: Bounds) -> None:
    exact = Fraction(bounds.upper) - Fraction(bounds.lower)
    width = bounds.width
    if math.isinf(width):
        assert exact > Fraction(LARGEST)
    else:
        assert Fraction(width) >= exact
        assert width == 0.0 or Fraction(math.nextafter(width, 0.0)) < exact


def test_the_width_of_half_an_infinite_interval_is_infinite() -> None:
    assert Bounds(lower=0.0, upper=math.inf).width == math.inf
    assert Bounds(lower=-math.inf, upper=math.inf).width == math.inf
    assert Bounds.exactly(math.inf).width == 0.0


def test_a_hair_is_not_lost_beside_a_large_end() -> None:
    assert Bounds(lower=-1e-300, upper=1.0).width > 1.0


@given(finite_intervals)
def test_the_relative_width_is_the_width_over_the_upper_end(bounds: Bounds) -> None:
    assume(bounds.upper != 0.0)
    relative, width = bounds.relative_width, bounds.width
    if math.isinf(width) or Fraction(width) / abs(Fraction(bounds.upper)) > Fraction(LARGEST):
        assert relative == math.inf
    else:
        exact = Fraction(width) / abs(Fraction(bounds.upper))
        assert exact in Bounds.exactly(relative).widened(ulps=1)


def test_the_relative_width_below_zero_is_infinite() -> None:
    assert Bounds(lower=-1.0, upper=0.0).relative_width == math.inf


# Several intervals.


@given(intervals, intervals)
def test_intervals_overlap_exactly_if_they_have_an_intersection(one: Bounds, two: Bounds) -> None:
    assert one.overlaps(two) == two.overlaps(one)
    if one.overlaps(two):
        both = one.intersection(two)
        for end in (both.lower, both.upper):
            assert end in one
            assert end in two
    else:
        with pytest.raises(InvalidParameter):
            one.intersection(two)


@given(intervals, st.integers(0, 5))
def test_a_widened_interval_contains_the_old_one(bounds: Bounds, ulps: int) -> None:
    wide = bounds.widened(ulps=ulps)
    assert bounds.lower in wide
    assert bounds.upper in wide
    if ulps and math.isfinite(bounds.lower) and math.isfinite(bounds.upper):
        assert wide.lower < bounds.lower
        assert wide.upper > bounds.upper


@given(intervals, finite_intervals)
def test_clipping_keeps_every_truth_inside_the_clip(bounds: Bounds, clip: Bounds) -> None:
    clipped = bounds.clipped(clip.lower, clip.upper)
    assert clipped.lower in clip
    assert clipped.upper in clip
    if bounds.overlaps(clip):
        assert clipped == bounds.intersection(clip)


@given(intervals)
def test_both_ends_are_printed_in_full(bounds: Bounds) -> None:
    lower, upper = str(bounds)[1:-1].split(", ")
    assert (float(lower), float(upper)) == (bounds.lower, bounds.upper)
    assert eval(repr(bounds), {"Bounds": Bounds, "inf": math.inf}) == bounds  # noqa: S307


# Out of the balls.


@given(finite)
def test_a_ball_without_radius_is_its_own_float(value: float) -> None:
    assert outward(arb(value)) == Bounds.exactly(value)


@given(finite, st.floats(0, 1e308))
def test_both_ends_of_a_ball_lie_inside(middle: float, radius: float) -> None:
    bounds = outward(arb(middle, radius))
    assert Fraction(middle) - Fraction(radius) in bounds
    assert Fraction(middle) + Fraction(radius) in bounds


@given(fractions, precisions)
def test_a_fraction_lies_inside_at_any_precision(value: Fraction, bits: int) -> None:
    with working_precision(bits):
        assert value in outward(rational(value))


@given(fractions, precisions)
def test_a_precise_ball_becomes_the_two_floats_around_it(value: Fraction, bits: int) -> None:
    with working_precision(4096):  # so that no ball reaches across a float that is only close
        ball = rational(value)
    with working_precision(bits):  # whoever rounds may work with fewer bits
        bounds = outward(ball)
    assert value in bounds
    assert is_one_ulp_at_most(bounds)


@given(finite, finite, precisions)
def test_arithmetic_in_balls_contains_that_in_fractions(one: float, two: float, bits: int) -> None:
    a, b = Fraction(one), Fraction(two)
    with working_precision(bits):
        x, y = arb(one), arb(two)
        assert a + b in outward(x + y)
        assert a - b in outward(x - y)
        assert a * b in outward(x * y)
        if b:
            assert a / b in outward(x / y)


@given(fractions, st.integers(-1200, 1200))
def test_what_floats_cannot_reach_is_rounded_outward_too(value: Fraction, power: int) -> None:
    assume(value != 0)
    scaled = value * Fraction(2) ** power
    with working_precision(4096):  # so that no ball reaches across a float that is only close
        bounds = outward(rational(scaled))
    assert scaled in bounds
    assert is_one_ulp_at_most(bounds)


def test_a_ball_beyond_all_floats_ends_at_infinity() -> None:
    huge = arb(fmpz(10) ** 400)
    assert outward(huge) == Bounds(lower=LARGEST, upper=math.inf)
    assert outward(-huge) == Bounds(lower=-math.inf, upper=-LARGEST)


def test_a_ball_below_all_floats_ends_beside_zero() -> None:
    tiny = 1 / arb(fmpz(10) ** 400)
    assert outward(tiny) == Bounds(lower=0.0, upper=SMALLEST)
    assert outward(-tiny) == Bounds(lower=-SMALLEST, upper=0.0)


@pytest.mark.parametrize("ball", [arb("nan"), arb("inf"), arb(1) / 0, arb(0, math.inf)])
def test_a_ball_that_knows_nothing_is_everything(ball: arb) -> None:
    assert outward(ball) == Bounds(lower=-math.inf, upper=math.inf)


@given(finite_intervals)
def test_an_interval_goes_into_a_ball_and_out_without_loss_of_truth(bounds: Bounds) -> None:
    back = outward(ball_of(bounds))
    assert bounds.lower in back
    assert bounds.upper in back


@given(fractions, fractions, precisions)
def test_the_ball_between_two_contains_both(one: Fraction, two: Fraction, bits: int) -> None:
    with working_precision(bits):
        bounds = outward(between(rational(one), rational(two)))
    assert one in bounds
    assert two in bounds
    assert (one + two) / 2 in bounds


@given(fractions)
def test_refining_ends_with_a_ball_as_narrow_as_floats_show(value: Fraction) -> None:
    asked: list[int] = []

    def compute(bits: int) -> arb:
        asked.append(bits)
        return rational(value) + rational(Fraction(1, 3))

    bounds = outward(refined(compute))
    assert value + Fraction(1, 3) in bounds
    assert bounds.upper <= math.nextafter(math.nextafter(bounds.lower, math.inf), math.inf)
    assert asked == sorted(set(asked))


def test_rounding_leaves_the_working_precision_as_it_was() -> None:
    with working_precision(10):
        outward(arb(1) / 3)
        assert ctx.prec == 10
