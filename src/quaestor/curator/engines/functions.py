"""The functions of the language for engines: one entry each.

Semantics, the same on every engine: NULL gives NULL, except in ``coalesce``, ``least`` and
``greatest``, which pass over it. ``round`` takes halves up; ``ln``, ``log10`` are rounded to
multiples of 2**-20 and ``exp`` to 28 significant bits, so that the last bits of mathematical
libraries do not matter. ``upper`` and ``lower`` change the letters A to Z only; ``length`` and
``substring`` count characters.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.arithmetic import numeric
from quaestor.curator.engines.casts import whole
from quaestor.curator.engines.cells import (
    GREATEST_WHOLE,
    Cell,
    bounded,
    expressly,
    floored,
    is_nothing,
    literal,
    nearest_grid,
    nothing,
    number,
    sized,
)
from quaestor.curator.engines.unions import common
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS"]

_SMALL = "abcdefghijklmnopqrstuvwxyz"
_LOG_GRID = -20
_MOST_EXPONENT = 64.0
_SPLIT = 2.0**25 + 1.0
_LONGEST = 2.0**30


def _wrong(function: str, valid: str) -> InvalidParameter:
    return InvalidParameter(function, "other arguments", valid)


def _absolute(x: Cell) -> Cell:
    numeric(x)
    low = 0.0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high))
    return replace(x, value=number(x).abs(), low=low, high=x.most, size=x.size + 1)


def _sign(x: Cell) -> Cell:
    value = number(numeric(x)).sign().cast("float64")
    return Cell(value=value, kind="integer", low=-1.0, high=1.0, size=x.size + 2)


def _floor(x: Cell) -> Cell:
    return _stepped(x, floored)


def _ceil(x: Cell) -> Cell:
    return _stepped(x, lambda value: value.ceil())


def _stepped(x: Cell, way: Callable[[Any], Any]) -> Cell:
    inside = bounded(numeric(x), -GREATEST_WHOLE, GREATEST_WHOLE)
    return Cell(
        value=way(number(inside)).cast("float64"),
        kind="integer",
        low=math.floor(inside.low),
        high=math.ceil(inside.high),
        size=sized(inside.size + 2),
    )


def _round(x: Cell, digits: Cell | None = None) -> Cell:
    numeric(x)
    if digits is None:
        return whole(replace(x, kind="real", value=number(x)))
    if digits.low != digits.high or not -15 <= digits.low <= 15 or digits.low % 1:
        raise _wrong("round", "a number, and a whole number of digits from -15 to 15")
    scale = 10.0 ** abs(digits.low)
    up = digits.low >= 0
    most = GREATEST_WHOLE / scale if up else GREATEST_WHOLE
    inside = bounded(x, -most, most)
    value = number(inside)
    scaled = value * literal(scale) if up else value / literal(scale)
    steps = floored(scaled + literal(0.5), "float64")
    least = 1 / scale if up else scale
    return Cell(
        value=steps / literal(scale) if up else steps * literal(scale),
        kind="real" if up else x.kind,
        low=inside.low - least,
        high=inside.high + least,
        grid=nearest_grid(least),
        size=sized(inside.size + 8),
    )


def _sqrt(x: Cell) -> Cell:
    import ibis

    value = number(numeric(x))
    if x.low < 0:
        # All negative values, and NULL, become the negative number next to zero: then NULL.
        least = literal(-(2.0 ** max(x.grid, -1000)))
        value = ibis.greatest(value, least).nullif(least)
    return Cell(
        value=value.sqrt(),
        kind="real",
        low=0.0,
        high=math.sqrt(max(0.0, x.high)) * (1 + 2.0**-50),
        grid=min(0, x.grid // 2) - 54,
        size=sized(2 * x.size + 8),  # DuckDB writes NULLIF out
    )


def _logarithm(base: float) -> Callable[[Cell], Cell]:
    def way(x: Cell) -> Cell:
        import ibis

        value = ibis.greatest(number(numeric(x)), literal(0.0)).nullif(literal(0.0)).ln()
        steps = value * literal(2.0**-_LOG_GRID / math.log(base))
        most = max(abs(x.grid), math.log2(x.most + 2)) + 2
        return Cell(
            value=floored(steps + literal(0.5), "float64") * literal(2.0**_LOG_GRID),
            kind="real",
            low=-most,
            high=most,
            grid=_LOG_GRID,
            size=sized(2 * x.size + 12),
        )

    return way


def _exp(x: Cell) -> Cell:
    inside = bounded(numeric(x), -_MOST_EXPONENT, _MOST_EXPONENT)
    value = number(inside).exp()
    # Veltkamp's splitting: the upper 28 bits, rounded, by float arithmetic alone.
    large = value * literal(_SPLIT)
    return Cell(
        value=large - (large - value),
        kind="real",
        low=0.0,
        high=math.exp(inside.high) * (1 + 2.0**-20),
        grid=nearest_grid(math.exp(-_MOST_EXPONENT - 1)),
        size=sized(3 * inside.size + 8),
    )


def _clamp(x: Cell, low: Cell, high: Cell) -> Cell:
    import ibis

    numeric(x)
    if low.low == low.high and high.low == high.high:
        if is_nothing(low.value) or is_nothing(high.value) or low.low > high.high:
            raise _wrong("clamp", "a number, and two numbers of which the second is not smaller")
        return bounded(x, low.low, high.high)
    value, a, b = number(x), number(numeric(low)), number(numeric(high))
    missing = a.isnull() | b.isnull()
    inside = ibis.cases((missing, nothing("real")), (value < a, a), (value > b, b), else_=value)
    return Cell(
        value=inside,
        kind=x.kind if x.kind == low.kind == high.kind else "real",
        low=min(x.low, low.low, high.low),
        high=max(x.high, low.high, high.high),
        grid=min(x.grid, low.grid, high.grid),
        size=sized(3 * x.size + 3 * (low.size + high.size)),
    )


def _extreme(name: str) -> Callable[..., Cell]:
    def way(*cells: Cell) -> Cell:
        import ibis

        merged = common(cells)
        kind = merged[0].kind
        if kind in ("text", "boolean"):
            raise _wrong(name, "numbers or dates")
        # NULL is passed over, so that any one argument alone may be the result.
        low, high = min(c.low for c in merged), max(c.high for c in merged)
        function = ibis.greatest if name == "greatest" else ibis.least
        return _merged(merged, function(*(c.value for c in merged)), low, high)

    return way


def _merged(cells: list[Cell], value: Any, low: float, high: float) -> Cell:
    return Cell(
        value=value,
        kind=cells[0].kind,
        low=low,
        high=high,
        grid=min(c.grid for c in cells),
        size=sized(sum(c.size for c in cells) + 1),
    )


def _coalesce(*cells: Cell) -> Cell:
    import ibis

    merged = common(cells)
    low, high = min(c.low for c in merged), max(c.high for c in merged)
    return _merged(merged, ibis.coalesce(*(c.value for c in merged)), low, high)


def _nullif(x: Cell, other: Cell) -> Cell:
    left, right = common((x, other))
    return replace(
        left, kind=x.kind, value=left.value.nullif(right.value), size=sized(2 * x.size + other.size)
    )


def _text(x: Cell) -> Cell:
    if x.kind != "text":
        raise InvalidParameter("expression", f"a {x.kind}", "a text here")
    return x


def _letters(old: str, new: str) -> Callable[[Cell], Cell]:
    def way(x: Cell) -> Cell:
        return replace(_text(x), value=x.value.translate(old, new), size=x.size + 1)

    return way


def _length(x: Cell) -> Cell:
    value = _text(x).value.length().cast("float64")
    return Cell(value=value, kind="integer", low=0.0, high=_LONGEST, size=x.size + 1)


def _substring(x: Cell, start: Cell, length: Cell | None = None) -> Cell:
    ends = [numeric(c).low for c in (start, length) if c is not None]
    if any(c.low != c.high or c.low % 1 for c in (start, length) if c is not None):
        raise _wrong("substring", "a text, and whole numbers written out")
    first = int(ends[0])
    last = first + int(ends[1]) if length is not None else int(_LONGEST)
    first = max(1, first)
    value = _text(x).value.substr(first - 1, max(0, last - first))
    return replace(x, value=value, size=sized(x.size + 6))


def _part(name: str, low: int, high: int) -> Callable[[Cell], Cell]:
    def way(x: Cell) -> Cell:
        if x.kind != "date":
            raise InvalidParameter(name, f"a {x.kind}", "given a date")
        value = getattr(x.value, name)().cast("float64")
        return Cell(value=value, kind="integer", low=low, high=high, size=x.size + 2)

    return way


def _weekday(x: Cell) -> Cell:
    if x.kind != "date":
        raise InvalidParameter("dow", f"a {x.kind}", "given a date")
    monday_first = x.value.day_of_week.index().cast("int64")
    value = ((monday_first + 1) % 7).cast("float64")
    return Cell(value=value, kind="integer", low=0, high=6, size=x.size + 6)


def _first_of(unit: str) -> Callable[[Cell], Cell]:
    def way(x: Cell) -> Cell:
        if x.kind != "date":
            raise InvalidParameter("date_trunc", f"a {x.kind}", "given a date")
        return replace(x, value=expressly(x.value.truncate(unit), "date"), size=x.size + 2)

    return way


FUNCTIONS: dict[str, Callable[..., Cell]] = {
    "abs": _absolute,
    "sign": _sign,
    "floor": _floor,
    "ceil": _ceil,
    "round": _round,
    "sqrt": _sqrt,
    "ln": _logarithm(math.e),
    "log10": _logarithm(10.0),
    "exp": _exp,
    "clamp": _clamp,
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
    "coalesce": _coalesce,
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
    "first_of_month": _first_of("M"),
    "first_of_year": _first_of("Y"),
}
