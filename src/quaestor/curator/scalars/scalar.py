"""Scalars: SQL for one value in every row, together with what is certain of that value.

An engine must never fail because of what one row holds. PostgreSQL does when a float overflows or
underflows; whole numbers overflow everywhere. So every number carries a range and a *grid*, a power
of two of which it is a whole multiple. Both are derived here, bottom-up, from what reading a column
enforces: nothing outside the kernel is believed. They decide where a number is moved into a range
or flushed to zero. They do not decide how much a person contributes: that is clamped, always, in
the outermost statement.

Numbers are never NaN or infinite. Every ``sql`` is an atom: a column, a call, CASE or brackets.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.language.expressions import Kind, Value
    from quaestor.curator.scalars.dialect import Dialect

__all__ = [
    "COARSEST",
    "GREATEST_WHOLE",
    "NUMBERS",
    "SQL",
    "Scalar",
    "common",
    "grid_of",
    "nearest_grid",
    "of_kind",
    "sized",
]

GREATEST_WHOLE: Final = 2.0**53
"""Whole numbers up to here are floats; what is read without bounds is moved into this range."""
COARSEST: Final = 60
"""No grid needs to be coarser than this; zero is on every one."""
NUMBERS: Final = ("integer", "real")
_LARGEST_SIZE = 16_000
_LARGEST_CONSTANT, _LEAST_CONSTANT = 1e100, 1e-100
_PLAIN = re.compile(r"[A-Za-z0-9 _.:+-]*")
_BARE = re.compile(r"[a-z]+[0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """One value in every row. Numbers are 64-bit floats, or with ``whole`` 64-bit integers.

    With ``step`` the SQL is a whole number of steps, and the value that number times the step.
    """

    sql: str
    kind: Kind
    low: float = -GREATEST_WHOLE
    high: float = GREATEST_WHOLE
    grid: int = 0
    """Every value is a whole multiple of two to this power."""
    size: int = 1
    """How long the expression is once written out; copies multiply."""
    whole: bool = False
    step: float | None = None
    unit: bool = False
    """Whether it is a copy of the unit, as it was read."""

    @property
    def most(self) -> float:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))

    @property
    def bare(self) -> bool:
        """Whether it is a column, which costs nothing to write twice."""
        return _BARE.fullmatch(self.sql) is not None

    @property
    def nothing(self) -> bool:
        """Whether it is the constant NULL."""
        return self.sql.startswith("CAST(NULL AS ")


def sized(size: int) -> int:
    """The size, if an engine can be expected to read so much."""
    if size > _LARGEST_SIZE:
        raise InvalidParameter(
            "expression",
            "one that grows too long when it is written out for the engine",
            "simpler: nest functions such as CLAMP, EXP and CAST less deeply",
        )
    return size


def of_kind(x: Scalar, *kinds: str) -> Scalar:
    """The scalar, if it is of one of these kinds."""
    if x.kind not in kinds:
        wanted = "a number" if kinds == NUMBERS else f"a {kinds[0]}"
        raise InvalidParameter("expression", x.kind, f"{wanted} here")
    return x


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


@dataclass(frozen=True, slots=True)
class SQL:
    """Small pieces of SQL in one engine's dialect."""

    dialect: Dialect

    # Constants

    def real(self, value: float) -> str:
        """A float that no engine mistakes for a decimal: to DuckDB 0.1 + 0.2 is exactly 0.3."""
        return f"CAST('{float(value)!r}' AS {self.dialect.real})"

    def text(self, value: str) -> str:
        """A text, compared by its bytes; whatever could be read in two ways is written as bytes."""
        digits = value.encode(errors="surrogatepass").hex()
        if "\0" in value or (not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value)):
            raise InvalidParameter("constant", value, "a text of Unicode characters but U+0000")
        simple = _PLAIN.fullmatch(value) is not None
        written = f"'{value}'" if simple else self.dialect.decoded.format(digits)
        return self.dialect.bytewise.format(f"CAST({written} AS {self.dialect.text})")

    def day(self, value: str) -> str:
        """A date."""
        try:
            return f"DATE '{dt.date.fromisoformat(value).isoformat()}'"
        except ValueError:
            raise InvalidParameter("date", value, "a day such as 2026-11-16") from None

    def moment(self, value: str) -> str:
        """A point in time, without a zone."""
        try:
            written = dt.datetime.fromisoformat(value).isoformat(sep=" ")
        except ValueError:
            raise InvalidParameter("time", value, "such as 2026-11-16 08:30:00") from None
        return f"CAST('{written}' AS {self.dialect.time})"

    def nothing(self, kind: Kind) -> str:
        """NULL of a kind."""
        return f"CAST(NULL AS {self.type_of(kind)})"

    def type_of(self, kind: Kind) -> str:
        """The engine's type for values of a kind; whole numbers are floats once computed with."""
        names = {"text": self.dialect.text, "boolean": "BOOLEAN", "date": "DATE"}
        names["timestamp"] = self.dialect.time
        return names.get(kind, self.dialect.real)

    def constant(self, value: Value, kind: Kind) -> Scalar:
        """A value that somebody wrote."""
        if value is None:
            return Scalar(sql=self.nothing(kind), kind=kind, low=0.0, high=0.0, grid=COARSEST)
        if kind in NUMBERS:
            x = float(value)
            if not abs(x) <= _LARGEST_CONSTANT or 0 < abs(x) < _LEAST_CONSTANT:
                raise InvalidParameter("constant", value, "zero, or a number from 1e-100 to 1e100")
            return Scalar(sql=self.real(x), kind=kind, low=x, high=x, grid=grid_of(x))
        if kind == "date":
            return Scalar(sql=self.day(str(value)), kind=kind)
        if kind == "timestamp":
            return Scalar(sql=self.moment(str(value)), kind=kind)
        if kind == "boolean":
            return Scalar(sql="TRUE" if value else "FALSE", kind=kind)
        return Scalar(sql=self.text(str(value)), kind="text")

    # Numbers

    def number(self, x: Scalar) -> str:
        """The value as a 64-bit float."""
        if x.step is not None:
            return f"(CAST({x.sql} AS {self.dialect.real}) * {self.real(x.step)})"
        return f"CAST({x.sql} AS {self.dialect.real})" if x.whole else x.sql

    def floor(self, value: str) -> str:
        """The largest whole number below a float, as a float."""
        return f"CAST(floor({value}) AS {self.dialect.real})"

    def nearest(self, value: str) -> str:
        """The nearest whole number, as a float; halves go up."""
        return self.floor(f"{value} + {self.real(0.5)}")

    def integer(self, value: str, bits: int = 64) -> str:
        """The nearest 64-bit integer to a float below 2**62."""
        kind = "BIGINT" if bits == 64 else "INT"
        return f"CAST(floor({value} + {self.real(0.5)}) AS {kind})"

    @staticmethod
    def clip(value: str, low: str, high: str, *, bare: bool) -> str:
        """A value moved into a range; NULL stays NULL, which LEAST and GREATEST would not keep.

        With three comparisons, of which the second nearly always ends it, a column is read three
        times as fast; but a long expression is better written twice than five times.
        """
        if bare:
            return (
                f"CASE WHEN {value} < {low} THEN {low} WHEN {value} <= {high} THEN {value} "
                f"WHEN {value} > {high} THEN {high} END"
            )
        return f"CASE WHEN {value} IS NOT NULL THEN LEAST(GREATEST({value}, {low}), {high}) END"

    def bounded(self, x: Scalar, low: float, high: float) -> Scalar:
        """The number moved into a range, if it can be outside at all."""
        if low <= x.low and x.high <= high:
            return x
        value = self.number(x)
        bare = value == x.sql and x.bare
        return replace(
            x,
            sql=self.clip(value, self.real(low), self.real(high), bare=bare),
            low=min(max(x.low, low), high),
            high=max(min(x.high, high), low),
            grid=min(x.grid, grid_of(low), grid_of(high)),
            size=sized((4 if bare else 2) * x.size + 8),
            whole=False,
            step=None,
        )

    def flushed(self, x: Scalar, exponent: int) -> Scalar:
        """The number, or zero if its magnitude is below two to the exponent."""
        if x.grid >= exponent - 53:
            return x
        value = self.number(x)
        small = f"abs({value}) < {self.real(2.0**exponent)}"
        return replace(
            x,
            sql=f"CASE WHEN {small} THEN {self.real(0.0)} ELSE {value} END",
            grid=exponent - 53,
            size=sized(2 * x.size + 6),
            whole=False,
            step=None,
        )

    def rounded(self, x: Scalar) -> Scalar:
        """The nearest whole number; halves go up."""
        if x.kind == "integer" and x.whole:
            return x
        inside = self.bounded(x, -GREATEST_WHOLE, GREATEST_WHOLE)
        value = self.number(inside)
        return Scalar(
            sql=value if inside.grid >= 0 else self.nearest(value),
            kind="integer",
            low=max(-GREATEST_WHOLE, inside.low - 1),
            high=min(GREATEST_WHOLE, inside.high + 1),
            grid=max(0, inside.grid),
            size=sized(inside.size + 4),
        )

    # Texts

    def matching(self, text: str, pattern: str) -> str:
        """The text if all of it matches, else NULL.

        The mark at the end is there because ``$`` also matches before a last line break in Java.
        """
        marked = self.dialect.matches.format(f"({text} || '#')", f"'^({pattern})#$'")
        return f"CASE WHEN {marked} THEN {text} END"


def common(sql: SQL, scalars: Sequence[Scalar]) -> list[Scalar]:
    """The scalars as one kind; whole numbers and reals meet as reals."""
    kinds = {x.kind for x in scalars}
    if kinds <= set(NUMBERS):
        kind = scalars[0].kind if len(kinds) == 1 else "real"
        return [replace(x, kind=kind, sql=sql.number(x), whole=False, step=None) for x in scalars]
    if len(kinds) != 1:
        raise InvalidParameter(
            "expression", " and ".join(sorted(kinds)), "of one kind: write CAST around one of them"
        )
    return list(scalars)
