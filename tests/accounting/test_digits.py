"""Numbers for people never promise more than is certified, and repeat what was typed."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.accounting.numerics.digits import (
    DIGITS,
    READING,
    TO_TYPE,
    rounded,
    rounded_down,
    rounded_up,
    typed,
)

NORMAL = st.floats(min_value=1e-300, max_value=1e300)
TYPED = st.builds(
    lambda digits, place: f"{digits}e{place}",
    st.integers(min_value=1, max_value=10**TO_TYPE - 1),
    st.integers(min_value=-40, max_value=20),
)


def _plain(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


@given(NORMAL)
def test_a_text_is_never_below_an_upper_bound_but_for_the_reading_of_decimals(value: float) -> None:
    shown, exact = _plain(rounded_up(value)), Fraction(value)
    assert shown >= exact * (1 - READING)
    assert shown <= exact * (1 + Fraction(1, 10 ** (DIGITS - 1)))
    if shown < exact:  # then it is a short decimal, which somebody may have typed
        assert Fraction(f"{value:.{TO_TYPE}g}") == shown


@given(NORMAL)
def test_a_text_is_never_above_what_is_left_likewise(value: float) -> None:
    shown, exact = _plain(rounded_down(value)), Fraction(value)
    assert shown <= exact * (1 + READING)
    assert shown >= exact * (1 - Fraction(1, 10 ** (DIGITS - 1)))


@given(TYPED)
def test_what_was_typed_is_printed_as_typed(text: str) -> None:
    value = float(text)
    for shown in (rounded_up(value), rounded_down(value)):
        assert Fraction(shown) == Fraction(text)
        assert float(shown) == value


@given(NORMAL)
def test_what_was_given_reads_back(value: float) -> None:
    assert float(typed(value)) == value


@given(TYPED, st.integers(min_value=-2, max_value=2))
def test_so_is_a_float_beside_it(text: str, steps: int) -> None:
    value = float(text)
    for _ in range(abs(steps)):
        value = math.nextafter(value, math.copysign(math.inf, steps))
    assert Fraction(rounded_up(value)) == Fraction(rounded_down(value)) == Fraction(text)


@given(st.lists(st.sampled_from(["0.05", "0.1", "0.2", "0.3", "0.7", "1.1"]), min_size=1))
def test_a_sum_of_typed_numbers_is_printed_as_their_sum(texts: list[str]) -> None:
    of_floats = sum((Fraction(float(text)) for text in texts), Fraction(0))
    of_decimals = sum((Fraction(text) for text in texts), Fraction(0))
    assert Fraction(rounded_up(of_floats)) == of_decimals
    assert Fraction(rounded_up(math.nextafter(float(of_floats), math.inf))) == of_decimals


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12))
def test_exact_fractions_are_rounded_alike(value: Fraction) -> None:
    assert _plain(rounded_up(value)) >= value * (1 - READING)
    assert _plain(rounded_down(value)) <= value * (1 + READING)


def test_a_value_that_is_only_near_a_typed_one_is_not_taken_for_it() -> None:
    assert rounded_up(1.6 * (1 + 2.0**-48)) == "1.601"
    assert rounded_down(1.6 * (1 - 2.0**-48)) == "1.599"
    assert rounded_up(0.1999983123) == "0.2"  # rounded up, as any bound


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.6, "1.6"),
        (1e-6, "1e-6"),
        (0.0001, "0.0001"),
        (123456.0, "123456"),
        (1e15, "1e15"),
        (2.3693499904, "2.37"),
        (0.0, "0"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (-0.25, "-0.25"),
    ],
)
def test_it_looks_like_what_people_write(value: float, text: str) -> None:
    assert rounded_up(value) == text


def test_thousands_are_grouped_where_that_is_asked_for() -> None:
    assert rounded_up(1234567.0, grouped=True) == "1,234,567"
    assert rounded(1234567.0, grouped=True) == "1,235,000"
    assert rounded_up(1234567.0) == "1234567"
