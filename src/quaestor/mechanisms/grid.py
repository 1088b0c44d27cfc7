"""Grids: how values of a query become whole numbers, and whole numbers become values again.

A real query is answered on the multiples of a *granularity*, a power of two. Dividing a float by
it changes no digit, so that rounding to the grid is exact: the multiple nearest to the value, the
upper one of two that are equally near. Two values that are a whole number of steps apart are
rounded to multiples as many steps apart, and two that are d steps apart to multiples at most
``ceil(d)`` steps apart: this is the sensitivity that is accounted.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.accounting.releases.base import check_real
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.undisclosed import Undisclosed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "as_floats",
    "check_granularity",
    "finest_grid",
    "held_by_floats",
    "is_scalar",
    "is_wide",
    "on_grid",
    "saturating_sum",
    "steps_across",
    "values_on_grid",
    "were_rounded",
    "whole",
    "wholes",
]

_LARGEST = 2**62  # steps from 0
_WHOLE = "a whole number, or an array of them, of less than 63 bits"
_FINITE = "a finite number, or an array of them, below 2^62 steps of the granularity"


def finest_grid(sensitivity: float, *, bits: int) -> float:
    """The power of two of which the sensitivity has ``2^bits`` steps, or up to twice as many."""
    return math.ldexp(1.0, math.frexp(sensitivity)[1] - 1 - bits)


def check_granularity(value: object) -> float:
    """The granularity, a power of two, or :class:`InvalidParameter`."""
    granularity = check_real("granularity", value, low=2.0**-900, high=2.0**900)
    if math.frexp(granularity)[0] != 0.5:
        raise InvalidParameter("granularity", value, "a power of two, such as 0.25")
    return granularity


def steps_across(distance: float, granularity: float) -> int:
    """At most how many steps apart two values at this distance are after rounding."""
    return math.ceil(Fraction(distance) / Fraction(granularity))


def is_scalar(value: object) -> bool:
    """Whether this is one number (a truth value is not), rather than an array of them."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def whole(value: Any) -> int:
    """A whole number as it is."""
    if not isinstance(value, Integral):
        raise InvalidParameter("value", Undisclosed(value), _WHOLE)
    return int(value)


def wholes(value: Any) -> NDArray[np.int64]:
    """An array of whole numbers as it is."""
    array = _array(value, _WHOLE)
    if array.dtype.kind not in "iu":
        raise InvalidParameter("value", Undisclosed(value), _WHOLE)
    if array.size and not -_LARGEST < int(array.min()) <= int(array.max()) < _LARGEST:
        raise InvalidParameter("value", Undisclosed(value), _WHOLE)
    return array.astype(np.int64)


def on_grid(value: Any, granularity: float) -> int:
    """The nearest multiple of the granularity, counted in steps."""
    exact = _fraction(value) / Fraction(granularity)
    if not abs(exact) < _LARGEST:
        raise InvalidParameter("value", Undisclosed(value), _FINITE)
    return math.floor(exact + Fraction(1, 2))


def values_on_grid(value: Any, granularity: float) -> NDArray[np.int64]:
    """The nearest multiples, counted in steps.

    Floats of any width keep all of their digits: rounding a wider one to 64 bits first would move
    two values one sensitivity apart to multiples one step further apart than is accounted.

    ``y`` below is exact, and so are its floor and, where it counts, the difference of the two: a
    float of 2^52 or more is whole, and a smaller one differs from its floor by less than 1, in
    digits that a float can hold unless the difference rounds to 1 from just below.
    """
    array = _array(value, _FINITE)
    if array.dtype.kind not in "iuf":
        raise InvalidParameter("value", Undisclosed(value), _FINITE)
    floats: NDArray[Any] = array.astype(np.longdouble if is_wide(array) else np.float64)
    with np.errstate(over="ignore", under="ignore"):
        y = floats / floats.dtype.type(granularity)
    if array.size and not np.all(np.abs(y) < _LARGEST):  # false for NaN, too
        raise InvalidParameter("value", Undisclosed(value), _FINITE)
    if array.dtype.kind in "iu" and array.size and not held_by_floats(array):
        raise InvalidParameter("value", Undisclosed(value), f"{_FINITE}, that a float can hold")
    floor = np.floor(y)
    nearest: NDArray[np.int64] = (floor + (y - floor >= 0.5)).astype(np.int64)
    return nearest


def saturating_sum(values: NDArray[np.int64], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sums, held at the ends of 64 bits where they would pass them; they never wrap.

    >>> print(saturating_sum(np.array([2**62, -5]), np.array([2**62, 3])))
    [9223372036854775807                  -2]
    """
    with np.errstate(over="ignore"):
        sums = values + noise
    wrapped = (values < 0) == (noise < 0)
    wrapped &= (sums < 0) != (values < 0)
    ends = np.where(values < 0, np.iinfo(np.int64).min, np.iinfo(np.int64).max)
    return np.where(wrapped, ends, sums)


def is_wide(array: NDArray[Any]) -> bool:
    """Whether these are floats of more digits than Python's."""
    return array.dtype.kind == "f" and array.dtype.itemsize > 8


def as_floats(array: NDArray[Any]) -> NDArray[np.float64] | None:
    """The same numbers as floats of 64 bits; None if one of them would be rounded."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        floats = array.astype(np.float64)
    if array.dtype.kind in "iu" and array.size and not held_by_floats(array):
        return None
    if is_wide(array) and not np.array_equal(floats.astype(array.dtype), array, equal_nan=True):
        return None
    return floats


def held_by_floats(numbers: NDArray[Any]) -> bool:
    """Whether all of some whole numbers are within 2^53."""
    return -(2**53) <= int(numbers.min()) <= int(numbers.max()) <= 2**53


def _fraction(value: Any) -> Fraction:
    """A number as it is, of whatever kind."""
    try:
        if isinstance(value, Integral):
            return Fraction(int(value))
        if hasattr(value, "as_integer_ratio"):
            numerator, denominator = value.as_integer_ratio()
            return Fraction(int(numerator), int(denominator))
        exact = Fraction(float(value))
    except (TypeError, ValueError, OverflowError):  # NaN and infinities are among these
        raise InvalidParameter("value", Undisclosed(value), _FINITE) from None
    if exact != value:
        raise InvalidParameter("value", Undisclosed(value), f"{_FINITE}, that a float can hold")
    return exact


def _array(value: Any, valid: str) -> NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidParameter("value", Undisclosed(value), f"{valid}, without a mask")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter("value", Undisclosed(value), valid) from None
    if array.ndim == 0 or were_rounded(value, array):
        raise InvalidParameter("value", Undisclosed(value), valid)
    return array


def were_rounded(value: Any, array: NDArray[Any]) -> bool:
    """Whether whole numbers beyond 2^53 in a list became floats because of others beside them."""
    if isinstance(value, np.ndarray) or array.dtype.kind != "f" or not array.size:
        return False
    with np.errstate(invalid="ignore"):
        if not bool(np.any(np.abs(array) >= 2.0**53)):
            return False
    listed = np.array(value, dtype=object).ravel()
    return any(isinstance(each, Integral) and abs(int(each)) > 2**53 for each in listed)
