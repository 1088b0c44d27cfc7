"""The closed list of functions, each total on every engine: an answer for every value, no error.

The semantics are the same everywhere. NULL gives NULL, except in ``coalesce``, ``least`` and
``greatest``, which pass over it. ``round`` takes halves up; ``ln``, ``log10`` are rounded to
multiples of 2**-20 and ``exp`` to 28 significant bits, so that the last bits of mathematical
libraries do not matter. ``upper`` and ``lower`` change the letters A to Z only; ``length`` and
``substring`` count characters. What is divided by less than 2**-40 is NULL.

Tested: every function times extreme values times engines.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from quaestor.curator.scalars.scalar import (
    COARSEST,
    GREATEST_WHOLE,
    NUMBERS,
    SQL,
    Scalar,
    common,
    nearest_grid,
    sized,
)
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.language.expressions import Kind

__all__ = ["FUNCTIONS", "cast", "computed"]

_SMALL = "abcdefghijklmnopqrstuvwxyz"
_LOG_GRID = -20
_MOST_EXPONENT = 64.0
_SPLIT = 2.0**25 + 1.0
_LONGEST = 2.0**30
_SMALLEST_DIVISOR = 2.0**-40
_HUGE, _TINY = 2.0**400, -400
_FRACTIONS = 20  # remainders of reals are taken of multiples of two to the minus this
_NUMBER_TEXT = r" *[+-]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})([eE][+-]?[0-6]?[0-9])? *"
_LARGEST_TEXT, _LEAST_TEXT = 1e99, 1e-99  # that such a text can be
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_DATE_TEXT = (
    f"({_YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29)"
)


def _of_kind(x: Scalar, *kinds: str) -> Scalar:
    if x.kind not in kinds:
        wanted = "a number" if kinds == NUMBERS else f"a {kinds[0]}"
        raise InvalidParameter("expression", x.kind, f"{wanted} here")
    return x


def _wrong(function: str, valid: str) -> InvalidParameter:
    return InvalidParameter(function, "other arguments", valid)


# Arithmetic: floats that neither overflow nor underflow


def computed(sql: SQL, operator: str, left: Scalar, right: Scalar) -> Scalar:
    """One of ``+ - * / %``."""
    way = _OPERATORS.get(operator)
    if way is None:
        raise InvalidParameter("operator", operator, "one of + - * / %")
    return way(sql, _safe(sql, _of_kind(left, *NUMBERS)), _safe(sql, _of_kind(right, *NUMBERS)))


def _safe(sql: SQL, x: Scalar) -> Scalar:
    return sql.flushed(sql.bounded(x, -_HUGE, _HUGE) if x.most > _HUGE else x, _TINY)


def _both(a: Scalar, b: Scalar) -> Kind:
    return "integer" if a.kind == b.kind == "integer" else "real"


def _result(  # noqa: PLR0913  # two numbers, and what is certain of the third
    sql: SQL, operator: str, a: Scalar, b: Scalar, ends: list[float], grid: int
) -> Scalar:
    return Scalar(
        sql=f"({sql.number(a)} {operator} {sql.number(b)})",
        kind=_both(a, b),
        low=min(ends),
        high=max(ends),
        grid=grid,
        size=sized(a.size + b.size + 1),
    )


def _plus(sql: SQL, a: Scalar, b: Scalar) -> Scalar:
    return _result(sql, "+", a, b, [a.low + b.low, a.high + b.high], min(a.grid, b.grid))


def _minus(sql: SQL, a: Scalar, b: Scalar) -> Scalar:
    return _result(sql, "-", a, b, [a.low - b.high, a.high - b.low], min(a.grid, b.grid))


def _times(sql: SQL, a: Scalar, b: Scalar) -> Scalar:
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _result(sql, "*", a, b, ends, min(COARSEST, a.grid + b.grid))


def _over(sql: SQL, a: Scalar, b: Scalar) -> Scalar:
    divisor, size = sql.number(b), a.size + b.size + 2
    least = max(_SMALLEST_DIVISOR, 2.0**b.grid)
    if b.low > 0 or b.high < 0:
        least = max(least, min(abs(b.low), abs(b.high)))
    if b.grid >= math.log2(_SMALLEST_DIVISOR):
        divisor = sql.dialect.divisor.format(divisor)
    else:
        small = f"abs({divisor}) < {sql.real(_SMALLEST_DIVISOR)}"
        divisor = f"CASE WHEN {small} THEN {sql.nothing('real')} ELSE {divisor} END"
        size += b.size + 4
    ends = [-a.most / least, a.most / least]
    if b.low > 0 or b.high < 0:
        by = [math.copysign(max(abs(end), least), end) for end in (b.low, b.high)]
        ends = [x / y for x in (a.low, a.high) for y in by]
    grid = a.grid - max(0, math.frexp(b.most)[1]) - 54
    return Scalar(
        sql=f"({sql.number(a)} / {divisor})",
        kind="real",
        low=min(ends),
        high=max(ends),
        grid=grid,
        size=sized(size),
    )


def _modulo(sql: SQL, a: Scalar, b: Scalar) -> Scalar:
    """The remainder, with the sign of the dividend.

    If one of them is a real, both are moved into plus or minus 2**33 and rounded to 2**-20.
    """
    exact = _both(a, b) == "integer"
    scale = 1.0 if exact else 2.0**_FRACTIONS
    most = GREATEST_WHOLE / scale
    left, right = sql.bounded(a, -most, most), sql.bounded(b, -most, most)

    def steps(x: Scalar) -> str:
        value = sql.number(x)
        return sql.integer(value if exact else f"{value} * {sql.real(scale)}")

    rest = (
        f"CAST(({steps(left)} % {sql.dialect.divisor.format(steps(right))}) AS {sql.dialect.real})"
    )
    reach = math.ceil(min(left.most, right.most) * scale) / scale
    return Scalar(
        sql=rest if exact else f"({rest} / {sql.real(scale)})",
        kind=_both(a, b),
        low=-reach if a.low < 0 else 0.0,
        high=reach,
        grid=0 if exact else -_FRACTIONS,
        size=sized(left.size + right.size + 8),
    )


_OPERATORS: Final[dict[str, Callable[[SQL, Scalar, Scalar], Scalar]]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _over,
    "%": _modulo,
}

# Casts: a text is cast only if it matches a pattern that all engines read alike, and the cast is of
# what remains after matching. Whatever is evaluated first, it never sees another text.


def cast(sql: SQL, x: Scalar, kind: Kind) -> Scalar:
    """The value as another kind; NULL where it has none there."""
    if x.kind == kind:
        return x
    way = _CASTS.get((x.kind, kind))
    if way is None:
        raise InvalidParameter(
            "cast",
            f"{x.kind} to {kind}",
            "between kinds that all engines write alike; "
            "a real can be rounded to an integer first, and parts of dates are numbers",
        )
    return way(sql, x)


def _text_to_real(sql: SQL, x: Scalar) -> Scalar:
    """At most 30 digits before and after the point, and an exponent below 70; else NULL."""
    return Scalar(
        sql=f"CAST({sql.matching(x.sql, _NUMBER_TEXT)} AS {sql.dialect.real})",
        kind="real",
        low=-_LARGEST_TEXT,
        high=_LARGEST_TEXT,
        grid=nearest_grid(_LEAST_TEXT),
        size=sized(2 * x.size + 10),
    )


def _text_to_date(sql: SQL, x: Scalar) -> Scalar:
    day = f"CAST({sql.matching(x.sql, _DATE_TEXT)} AS DATE)"
    return Scalar(sql=day, kind="date", size=sized(2 * x.size + 4))


def _text_to_boolean(sql: SQL, x: Scalar) -> Scalar:
    yes, no = (
        ", ".join(map(sql.text, words))
        for words in (("true", "TRUE", "True"), ("false", "FALSE", "False"))
    )
    test = f"CASE WHEN {x.sql} IN ({yes}) THEN TRUE WHEN {x.sql} IN ({no}) THEN FALSE END"
    return Scalar(sql=test, kind="boolean", size=sized(2 * x.size + 4))


def _boolean_to_text(sql: SQL, x: Scalar) -> Scalar:
    words = f"WHEN {x.sql} THEN {sql.text('true')} WHEN NOT {x.sql} THEN {sql.text('false')}"
    return Scalar(sql=f"CASE {words} END", kind="text", size=sized(2 * x.size + 4))


def _boolean_to_number(kind: Kind) -> Callable[[SQL, Scalar], Scalar]:
    def way(sql: SQL, x: Scalar) -> Scalar:
        value = f"CAST(CAST({x.sql} AS INT) AS {sql.dialect.real})"
        return Scalar(sql=value, kind=kind, low=0.0, high=1.0, size=x.size + 2)

    return way


def _integer_to_text(sql: SQL, x: Scalar) -> Scalar:
    whole = sql.rounded(x)
    text = f"CAST(CAST({whole.sql} AS BIGINT) AS {sql.dialect.text})"
    return Scalar(sql=sql.dialect.bytewise.format(text), kind="text", size=sized(whole.size + 4))


def _date_to_text(sql: SQL, x: Scalar) -> Scalar:
    text = f"CAST({x.sql} AS {sql.dialect.text})"
    return Scalar(sql=sql.dialect.bytewise.format(text), kind="text", size=sized(x.size + 4))


def _number_to_boolean(sql: SQL, x: Scalar) -> Scalar:
    truth = f"({sql.number(x)} <> {sql.real(0.0)})"
    return Scalar(sql=truth, kind="boolean", size=sized(x.size + 4))


_CASTS: Final[dict[tuple[Kind, Kind], Callable[[SQL, Scalar], Scalar]]] = {
    ("integer", "real"): lambda _sql, x: replace(x, kind="real"),
    ("real", "integer"): lambda sql, x: sql.rounded(x),
    ("integer", "boolean"): _number_to_boolean,
    ("real", "boolean"): _number_to_boolean,
    ("text", "real"): _text_to_real,
    ("text", "integer"): lambda sql, x: sql.rounded(_text_to_real(sql, x)),
    ("text", "date"): _text_to_date,
    ("text", "boolean"): _text_to_boolean,
    ("boolean", "text"): _boolean_to_text,
    ("boolean", "integer"): _boolean_to_number("integer"),
    ("boolean", "real"): _boolean_to_number("real"),
    ("integer", "text"): _integer_to_text,
    ("date", "text"): _date_to_text,
}

# Functions of numbers


def _absolute(sql: SQL, x: Scalar) -> Scalar:
    value = f"abs({sql.number(_of_kind(x, *NUMBERS))})"
    low = 0.0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high))
    return Scalar(sql=value, kind=x.kind, low=low, high=x.most, grid=x.grid, size=x.size + 1)


def _sign(sql: SQL, x: Scalar) -> Scalar:
    value = f"CAST(sign({sql.number(_of_kind(x, *NUMBERS))}) AS {sql.dialect.real})"
    return Scalar(sql=value, kind="integer", low=-1.0, high=1.0, size=x.size + 2)


def _stepped(function: str) -> Callable[[SQL, Scalar], Scalar]:
    def way(sql: SQL, x: Scalar) -> Scalar:
        inside = sql.bounded(_of_kind(x, *NUMBERS), -GREATEST_WHOLE, GREATEST_WHOLE)
        return Scalar(
            sql=f"CAST({function}({sql.number(inside)}) AS {sql.dialect.real})",
            kind="integer",
            low=math.floor(inside.low),
            high=math.ceil(inside.high),
            size=sized(inside.size + 2),
        )

    return way


def _round(sql: SQL, x: Scalar, digits: Scalar | None = None) -> Scalar:
    _of_kind(x, *NUMBERS)
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
    value = sql.number(_of_kind(x, *NUMBERS))
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
        positive = f"NULLIF(GREATEST({sql.number(_of_kind(x, *NUMBERS))}, {zero}), {zero})"
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
    inside = sql.bounded(_of_kind(x, *NUMBERS), -_MOST_EXPONENT, _MOST_EXPONENT)
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
    x, low, high = (_of_kind(each, *NUMBERS) for each in (x, low, high))
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
        value = f"translate({_of_kind(x, 'text').sql}, '{old}', '{new}')"
        return Scalar(sql=value, kind="text", size=x.size + 1)

    return way


def _length(sql: SQL, x: Scalar) -> Scalar:
    value = f"CAST(length({_of_kind(x, 'text').sql}) AS {sql.dialect.real})"
    bounded = f"LEAST({value}, {sql.real(_LONGEST)})"
    kept = f"CASE WHEN {x.sql} IS NOT NULL THEN {bounded} END"
    return Scalar(sql=kept, kind="integer", low=0.0, high=_LONGEST, size=sized(2 * x.size + 2))


def _substring(_sql: SQL, x: Scalar, start: Scalar, length: Scalar | None = None) -> Scalar:
    places = [_of_kind(each, *NUMBERS) for each in (start, length) if each is not None]
    if any(each.low != each.high or each.low % 1 or each.nothing for each in places):
        raise _wrong("substring", "a text, and whole numbers written out")
    first = int(start.low)
    last = first + int(length.low) if length is not None else int(_LONGEST)
    first = min(max(1, first), int(_LONGEST))
    count = min(max(0, last - first), int(_LONGEST))
    value = f"substring({_of_kind(x, 'text').sql}, {first}, {count})"
    return Scalar(sql=value, kind="text", size=sized(x.size + 6))


def _part(name: str, low: int, high: int) -> Callable[[SQL, Scalar], Scalar]:
    def way(sql: SQL, x: Scalar) -> Scalar:
        part = f"EXTRACT({name} FROM {_of_kind(x, 'date').sql})"
        value = f"CAST({part} AS {sql.dialect.real})"
        return Scalar(sql=value, kind="integer", low=low, high=high, size=x.size + 2)

    return way


def _weekday(sql: SQL, x: Scalar) -> Scalar:
    value = f"CAST({sql.dialect.weekday.format(_of_kind(x, 'date').sql)} AS {sql.dialect.real})"
    return Scalar(sql=value, kind="integer", low=0, high=6, size=x.size + 6)


def _first_of(unit: str) -> Callable[[SQL, Scalar], Scalar]:
    def way(sql: SQL, x: Scalar) -> Scalar:
        first = sql.dialect.first_of.format(_of_kind(x, "date").sql, unit)
        return Scalar(sql=first, kind="date", size=x.size + 2)

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
    "year": _part("year", 1, 9999),
    "quarter": _part("quarter", 1, 4),
    "month": _part("month", 1, 12),
    "day": _part("day", 1, 31),
    "dow": _weekday,
    "first_of_month": _first_of("month"),
    "first_of_year": _first_of("year"),
}
"""What an expression may call: the kernel refuses every other name."""
