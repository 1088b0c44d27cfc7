"""The closed list of functions, each total on every engine: an answer for every value, no error.

The semantics are the same everywhere. NULL gives NULL, except in ``coalesce``, ``least`` and
``greatest``, which pass over it. ``round`` takes halves up; ``ln``, ``log10`` are rounded to
multiples of 2**-20 and ``exp`` to 28 significant bits, so that the last bits of mathematical
libraries do not matter. ``upper`` and ``lower`` change the letters A to Z only; ``length`` and
``substring`` count characters.

Tested: every function times extreme values times engines.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from quaestor.curator.language.functions import LONGEST_JOINED
from quaestor.curator.scalars.scalar import (
    GREATEST_WHOLE,
    NUMBERS,
    SQL,
    Scalar,
    common,
    nearest_grid,
    of_kind,
    sized,
)
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS"]

_SMALL = "abcdefghijklmnopqrstuvwxyz"
_LOG_GRID = -20
_MOST_EXPONENT = 64.0
_SPLIT = 2.0**25 + 1.0
_LONGEST = 2.0**30
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, in days since 1970
_MOST_SHIFT = 2.0**40


def _wrong(function: str, valid: str) -> InvalidParameter:
    return InvalidParameter(function, "other arguments", valid)


# Functions of numbers


def _absolute(sql: SQL, x: Scalar) -> Scalar:
    value = f"abs({sql.number(of_kind(x, *NUMBERS))})"
    low = 0.0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high))
    return Scalar(sql=value, kind=x.kind, low=low, high=x.most, grid=x.grid, size=x.size + 1)


def _sign(sql: SQL, x: Scalar) -> Scalar:
    value = f"CAST(sign({sql.number(of_kind(x, *NUMBERS))}) AS {sql.dialect.real})"
    return Scalar(sql=value, kind="integer", low=-1.0, high=1.0, size=x.size + 2)


def _stepped(function: str) -> Callable[[SQL, Scalar], Scalar]:
    def way(sql: SQL, x: Scalar) -> Scalar:
        inside = sql.bounded(of_kind(x, *NUMBERS), -GREATEST_WHOLE, GREATEST_WHOLE)
        return Scalar(
            sql=f"CAST({function}({sql.number(inside)}) AS {sql.dialect.real})",
            kind="integer",
            low=math.floor(inside.low),
            high=math.ceil(inside.high),
            size=sized(inside.size + 2),
        )

    return way


def _round(sql: SQL, x: Scalar, digits: Scalar | None = None) -> Scalar:
    of_kind(x, *NUMBERS)
    if digits is None:
        return sql.rounded(replace(x, kind="real", sql=sql.number(x), whole=False, step=None))
    if digits.low != digits.high or not -15 <= digits.low <= 15 or digits.low % 1:
        raise _wrong("round", "a number, and a whole number of digits from -15 to 15")
    scale, up = 10.0 ** abs(digits.low), digits.low >= 0
    most = GREATEST_WHOLE / scale if up else GREATEST_WHOLE
    inside = sql.bounded(x, -most, most)
    there, back = ("*", "/") if up else ("/", "*")
    steps = sql.nearest(f"{sql.number(inside)} {there} {sql.real(scale)}")
    least = 1 / scale if up else scale
    return Scalar(
        sql=f"({steps} {back} {sql.real(scale)})",
        kind="real" if up else x.kind,
        low=inside.low - least,
        high=inside.high + least,
        grid=nearest_grid(least),
        size=sized(inside.size + 8),
    )


def _sqrt(sql: SQL, x: Scalar) -> Scalar:
    value = sql.number(of_kind(x, *NUMBERS))
    if x.low < 0:
        # All negative values, and NULL, become the negative number next to zero: then NULL.
        least = sql.real(-(2.0 ** max(x.grid, -1000)))
        value = f"NULLIF(GREATEST({value}, {least}), {least})"
    return Scalar(
        sql=f"sqrt({value})",
        kind="real",
        low=0.0,
        high=math.sqrt(max(0.0, x.high)) * (1 + 2.0**-50),
        grid=min(0, x.grid // 2) - 54,
        size=sized(2 * x.size + 8),  # DuckDB writes NULLIF out
    )


def _logarithm(base: float) -> Callable[[SQL, Scalar], Scalar]:
    def way(sql: SQL, x: Scalar) -> Scalar:
        zero = sql.real(0.0)
        positive = f"NULLIF(GREATEST({sql.number(of_kind(x, *NUMBERS))}, {zero}), {zero})"
        steps = f"ln({positive}) * {sql.real(2.0**-_LOG_GRID / math.log(base))}"
        most = max(abs(x.grid), math.log2(x.most + 2)) + 2
        return Scalar(
            sql=f"({sql.nearest(steps)} * {sql.real(2.0**_LOG_GRID)})",
            kind="real",
            low=-most,
            high=most,
            grid=_LOG_GRID,
            size=sized(2 * x.size + 12),
        )

    return way


def _exp(sql: SQL, x: Scalar) -> Scalar:
    inside = sql.bounded(of_kind(x, *NUMBERS), -_MOST_EXPONENT, _MOST_EXPONENT)
    value = f"exp({sql.number(inside)})"
    # Veltkamp's splitting: the upper 28 bits, rounded, by float arithmetic alone.
    large = f"({value} * {sql.real(_SPLIT)})"
    return Scalar(
        sql=f"({large} - ({large} - {value}))",
        kind="real",
        low=0.0,
        high=math.exp(inside.high) * (1 + 2.0**-20),
        grid=nearest_grid(math.exp(-_MOST_EXPONENT - 1)),
        size=sized(3 * inside.size + 8),
    )


def _clamp(sql: SQL, x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    x, low, high = (of_kind(each, *NUMBERS) for each in (x, low, high))
    if low.low == low.high and high.low == high.high:
        if low.nothing or high.nothing or low.low > high.high:
            raise _wrong("clamp", "a number, and two numbers of which the second is not smaller")
        return sql.bounded(x, low.low, high.high)
    value, a, b = (sql.number(each) for each in (x, low, high))
    inside = (
        f"CASE WHEN {a} IS NULL OR {b} IS NULL THEN {sql.nothing('real')} "
        f"WHEN {value} < {a} THEN {a} WHEN {value} > {b} THEN {b} ELSE {value} END"
    )
    return Scalar(
        sql=inside,
        kind=x.kind if x.kind == low.kind == high.kind else "real",
        low=min(x.low, low.low, high.low),
        high=max(x.high, low.high, high.high),
        grid=min(x.grid, low.grid, high.grid),
        size=sized(3 * x.size + 3 * (low.size + high.size)),
    )


# Functions of several kinds


def _merged(scalars: list[Scalar], value: str) -> Scalar:
    """One of several values: whatever any of them may be."""
    return Scalar(
        sql=value,
        kind=scalars[0].kind,
        low=min(x.low for x in scalars),
        high=max(x.high for x in scalars),
        grid=min(x.grid for x in scalars),
        size=sized(sum(x.size for x in scalars) + 1),
    )


def _one_of(name: str) -> Callable[..., Scalar]:
    def way(sql: SQL, *scalars: Scalar) -> Scalar:
        if not scalars:
            raise _wrong(name, "at least one value")
        merged = common(sql, scalars)
        if name != "coalesce" and merged[0].kind in {"text", "boolean"}:
            raise _wrong(name, "numbers or dates")
        return _merged(merged, f"{name}({', '.join(x.sql for x in merged)})")

    return way


def _nullif(sql: SQL, x: Scalar, other: Scalar) -> Scalar:
    left, right = common(sql, (x, other))
    return replace(
        left,
        kind=x.kind,
        sql=f"NULLIF({left.sql}, {right.sql})",
        size=sized(2 * x.size + other.size),
        unit=False,
    )


def _letters(old: str, new: str) -> Callable[[SQL, Scalar], Scalar]:
    def way(_sql: SQL, x: Scalar) -> Scalar:
        value = f"translate({of_kind(x, 'text').sql}, '{old}', '{new}')"
        return Scalar(sql=value, kind="text", size=x.size + 1)

    return way


def _length(sql: SQL, x: Scalar) -> Scalar:
    value = f"CAST(length({of_kind(x, 'text').sql}) AS {sql.dialect.real})"
    bounded = f"LEAST({value}, {sql.real(_LONGEST)})"
    kept = f"CASE WHEN {x.sql} IS NOT NULL THEN {bounded} END"
    return Scalar(sql=kept, kind="integer", low=0.0, high=_LONGEST, size=sized(2 * x.size + 2))


def _substring(_sql: SQL, x: Scalar, start: Scalar, length: Scalar | None = None) -> Scalar:
    places = [of_kind(each, *NUMBERS) for each in (start, length) if each is not None]
    if any(each.low != each.high or each.low % 1 or each.nothing for each in places):
        raise _wrong("substring", "a text, and whole numbers written out")
    first = int(start.low)
    last = first + int(length.low) if length is not None else int(_LONGEST)
    first = min(max(1, first), int(_LONGEST))
    count = min(max(0, last - first), int(_LONGEST))
    value = f"substring({of_kind(x, 'text').sql}, {first}, {count})"
    return Scalar(sql=value, kind="text", size=sized(x.size + 6))


def _trimmed(side: str) -> Callable[[SQL, Scalar], Scalar]:
    def way(_sql: SQL, x: Scalar) -> Scalar:
        value = f"trim({side} ' ' FROM {of_kind(x, 'text').sql})"
        return Scalar(sql=value, kind="text", size=x.size + 1)

    return way


def _joined(sql: SQL, x: Scalar, y: Scalar) -> Scalar:
    """Each is cut first: texts that are joined again and again would outgrow an engine."""
    left, right = (
        f"substring({of_kind(each, 'text').sql}, 1, {LONGEST_JOINED})" for each in (x, y)
    )
    value = sql.dialect.bytewise.format(f"({left} || {right})")
    return Scalar(sql=value, kind="text", size=sized(x.size + y.size + 2))


def _part(name: str, low: int, high: int) -> Callable[[SQL, Scalar], Scalar]:
    def way(sql: SQL, x: Scalar) -> Scalar:
        part = f"EXTRACT({name} FROM {of_kind(x, 'date').sql})"
        value = f"CAST({part} AS {sql.dialect.real})"
        return Scalar(sql=value, kind="integer", low=low, high=high, size=x.size + 2)

    return way


def _weekday(sql: SQL, x: Scalar) -> Scalar:
    value = f"CAST({sql.dialect.weekday.format(of_kind(x, 'date').sql)} AS {sql.dialect.real})"
    return Scalar(sql=value, kind="integer", low=0, high=6, size=x.size + 6)


def _first_of(unit: str) -> Callable[[SQL, Scalar], Scalar]:
    def way(sql: SQL, x: Scalar) -> Scalar:
        first = sql.dialect.first_of.format(of_kind(x, "date").sql, unit)
        return Scalar(sql=first, kind="date", size=x.size + 2)

    return way


def _day_number(sql: SQL, x: Scalar) -> str:
    """A date as a number of days since 1970."""
    return f"CAST({sql.dialect.days.format(of_kind(x, 'date').sql)} AS BIGINT)"


def _days_between(sql: SQL, first: Scalar, last: Scalar) -> Scalar:
    days = f"({_day_number(sql, last)} - {_day_number(sql, first)})"
    most = _LAST_DAY - _FIRST_DAY
    return Scalar(
        sql=f"CAST({days} AS {sql.dialect.real})",
        kind="integer",
        low=-most,
        high=most,
        size=sized(first.size + last.size + 6),
    )


def _count(sql: SQL, x: Scalar) -> tuple[str, int]:
    """A whole number that no sum with a date leaves 64 bits by, and how long it is written out."""
    inside = sql.rounded(sql.bounded(of_kind(x, *NUMBERS), -_MOST_SHIFT, _MOST_SHIFT))
    return f"CAST({inside.sql} AS BIGINT)", inside.size + 2


def _within(place: str, low: int, high: int, value: Callable[[str], str]) -> str:
    """The value at a place, where that is in a range; an engine may look at others, too."""
    inside = f"LEAST(GREATEST({place}, {low}), {high})"
    return f"CASE WHEN {place} BETWEEN {low} AND {high} THEN {value(inside)} END"


def _days_later(sql: SQL, x: Scalar, days: Scalar) -> Scalar:
    """Days are added to numbers, and only a number of the calendar becomes a date again."""
    count, size = _count(sql, days)
    later = f"({_day_number(sql, x)} + {count})"
    value = _within(later, _FIRST_DAY, _LAST_DAY, sql.dialect.from_days.format)
    return Scalar(sql=value, kind="date", size=sized(4 * (x.size + size + 4)))


def _months_later(sql: SQL, x: Scalar, months: Scalar) -> Scalar:
    """Months are counted from the year 0, and only as many are added as the calendar has."""
    count, size = _count(sql, months)
    day = of_kind(x, "date").sql
    now = f"CAST(EXTRACT(year FROM {day}) * 12 + EXTRACT(month FROM {day}) - 1 AS BIGINT)"

    def added(place: str) -> str:
        return sql.dialect.months_later.format(day, f"({place} - {now})")

    value = _within(f"({now} + {count})", 12, 9999 * 12 + 11, added)
    return Scalar(sql=value, kind="date", size=sized(9 * x.size + 4 * size + 20))


# Functions of times


def _date_of(_sql: SQL, x: Scalar) -> Scalar:
    value = f"CAST({of_kind(x, 'timestamp').sql} AS DATE)"
    return Scalar(sql=value, kind="date", size=x.size + 1)


def _time_of(sql: SQL, x: Scalar) -> Scalar:
    value = f"CAST({of_kind(x, 'date').sql} AS {sql.dialect.time})"
    return Scalar(sql=value, kind="timestamp", size=x.size + 1)


def _clock(name: str, high: int) -> Callable[[SQL, Scalar], Scalar]:
    def way(sql: SQL, x: Scalar) -> Scalar:
        part = f"EXTRACT({name} FROM {of_kind(x, 'timestamp').sql})"  # seconds may have decimals
        value = sql.floor(f"CAST({part} AS {sql.dialect.real})")
        return Scalar(sql=value, kind="integer", low=0, high=high, size=x.size + 3)

    return way


def _begun(unit: str) -> Callable[[SQL, Scalar], Scalar]:
    def way(sql: SQL, x: Scalar) -> Scalar:
        begin = f"date_trunc('{unit}', {of_kind(x, 'timestamp').sql})"
        value = f"CAST({begin} AS {sql.dialect.time})"
        return Scalar(sql=value, kind="timestamp", size=x.size + 2)

    return way


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "abs": _absolute,
    "sign": _sign,
    "floor": _stepped("floor"),
    "ceil": _stepped("ceil"),
    "round": _round,
    "sqrt": _sqrt,
    "ln": _logarithm(math.e),
    "log10": _logarithm(10.0),
    "exp": _exp,
    "clamp": _clamp,
    "least": _one_of("least"),
    "greatest": _one_of("greatest"),
    "coalesce": _one_of("coalesce"),
    "nullif": _nullif,
    "upper": _letters(_SMALL, _SMALL.upper()),
    "lower": _letters(_SMALL.upper(), _SMALL),
    "length": _length,
    "substring": _substring,
    "trim": _trimmed("BOTH"),
    "ltrim": _trimmed("LEADING"),
    "rtrim": _trimmed("TRAILING"),
    "concat": _joined,
    "year": _part("year", 1, 9999),
    "quarter": _part("quarter", 1, 4),
    "month": _part("month", 1, 12),
    "day": _part("day", 1, 31),
    "dow": _weekday,
    "date_of": _date_of,
    "time_of": _time_of,
    "hour": _clock("hour", 23),
    "minute": _clock("minute", 59),
    "second": _clock("second", 59),
    "first_of_hour": _begun("hour"),
    "first_of_minute": _begun("minute"),
    "week": _part("week", 1, 53),
    "doy": _part("doy", 1, 366),
    "days_between": _days_between,
    "add_days": _days_later,
    "add_months": _months_later,
    "first_of_week": _first_of("week"),
    "first_of_month": _first_of("month"),
    "first_of_quarter": _first_of("quarter"),
    "first_of_year": _first_of("year"),
}
"""What an expression may call: the kernel refuses every other name."""
