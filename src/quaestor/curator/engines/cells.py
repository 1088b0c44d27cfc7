"""Cells: engine expressions together with what is statically known of their values.

An engine must never raise an error because of what one row holds. PostgreSQL does when a float
overflows or underflows; whole numbers overflow everywhere. So every number carries a range and a
*grid*, a power of two of which it is a whole multiple: both follow from the catalog and the query
alone, and decide where a number has to be moved into a range or flushed to zero. Numbers in
cells are never NaN or infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.builtins import builtin
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Kind

__all__ = [
    "COARSEST",
    "GREATEST_WHOLE",
    "NUMBERS",
    "Cell",
    "bounded",
    "clipped",
    "divided",
    "expressly",
    "floored",
    "flushed",
    "grid_of",
    "is_nothing",
    "literal",
    "nearest_grid",
    "nothing",
    "number",
    "sized",
]

GREATEST_WHOLE = 2.0**53
"""Whole numbers up to here are floats; what is read without bounds is moved into this range."""

COARSEST = 60
"""No grid needs to be coarser than this; zero is on every one."""

NUMBERS = ("integer", "real")
_LARGEST_SIZE = 10_000
_DTYPES = {
    "integer": "float64",
    "real": "float64",
    "text": "string",
    "boolean": "boolean",
    "date": "date",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One value in every row: an ibis value, its kind, and for numbers what they can be."""

    value: Any
    kind: Kind
    low: float = -GREATEST_WHOLE
    high: float = GREATEST_WHOLE
    grid: int = 0
    """Every value is a whole multiple of two to this power."""
    size: int = 1
    """How long the expression is once written out; copies multiply."""

    @property
    def most(self) -> float:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))


def sized(size: int) -> int:
    """The size, if an engine can be expected to read so much."""
    if size > _LARGEST_SIZE:
        raise InvalidParameter(
            "expression",
            "one that grows too long when it is written out for the engine",
            "simpler: nest functions such as CLAMP, EXP and CAST less deeply",
        )
    return size


@lru_cache(maxsize=1024)
def literal(value: float) -> Any:
    """A float that no engine mistakes for a decimal: DuckDB adds 0.1 and 0.2 to 0.3, exactly."""
    import ibis

    return ibis.literal(repr(float(value))).cast("float64")


@cache
def nothing(kind: Kind) -> Any:
    """NULL of a kind."""
    import ibis

    return ibis.null(_DTYPES[kind])


def is_nothing(value: Any) -> bool:
    """Whether it is the constant NULL."""
    import ibis.expr.operations as ops

    return isinstance(value.op(), ops.Literal) and value.op().value is None


def number(cell: Cell) -> Any:
    """The value as a 64-bit float."""
    return cell.value.cast("float64") if cell.value.type().is_integer() else cell.value


def clipped(value: Any, low: Any, high: Any) -> Any:
    """The value moved into a range; NULL stays NULL, which LEAST and GREATEST would not keep.

    With three comparisons, of which the second nearly always ends it, a column is read three times
    as fast; but a long expression is better written twice than five times.
    """
    import ibis
    import ibis.expr.operations as ops

    if isinstance(value.op(), ops.Field):
        return ibis.cases((value < low, low), (value <= high, value), (value > high, high))
    return ibis.cases((value.notnull(), ibis.least(ibis.greatest(value, low), high)))


def bounded(cell: Cell, low: float, high: float) -> Cell:
    """The number moved into a range, if it can be outside at all."""
    if low <= cell.low and cell.high <= high:
        return cell
    return replace(
        cell,
        value=clipped(number(cell), literal(low), literal(high)),
        low=min(max(cell.low, low), high),
        high=max(min(cell.high, high), low),
        grid=min(cell.grid, grid_of(low), grid_of(high)),
        size=sized(2 * cell.size + 8),
    )


def flushed(cell: Cell, exponent: int) -> Cell:
    """The number, or zero if its magnitude is below two to the exponent."""
    import ibis

    if cell.grid >= exponent - 53:
        return cell
    value = number(cell)
    return replace(
        cell,
        value=ibis.cases((value.abs() < literal(2.0**exponent), literal(0.0)), else_=value),
        grid=exponent - 53,
        size=sized(2 * cell.size + 6),
    )


def floored(value: Any, dtype: str = "int64") -> Any:
    """The largest whole number below; magnitudes must be below 2**62."""
    return expressly(builtin("floor")(value), dtype)


def divided(whole: Any, by: Any) -> Any:
    """The quotient of two 64-bit integers, rounded towards zero; below 2**50 in magnitude.

    Engines divide integers each in their own way, but take remainders alike, with the sign of the
    dividend. What is left divides evenly, so that the float quotient is off by less than a half.
    """
    even = whole - whole % by
    return floored(even.cast("float64") / by.cast("float64") + literal(0.5))


def expressly(value: Any, dtype: str = "int64") -> Any:
    """A cast that is written even where ibis thinks it needless.

    Sums of integers are wider in DuckDB and decimal in PostgreSQL; truncated dates are timestamps.
    """
    import ibis.expr.operations as ops

    return ops.Cast(value, dtype).to_expr()


def grid_of(value: float) -> int:
    """The largest exponent such that the value is a whole multiple of its power of two."""
    if value == 0:
        return COARSEST
    numerator, denominator = value.as_integer_ratio()
    if denominator > 1:
        return 1 - denominator.bit_length()
    return (numerator & -numerator).bit_length() - 1


def nearest_grid(least: float) -> int:
    """A grid for all floats that are zero or at least so large."""
    return math.frexp(least)[1] - 1 - 53
