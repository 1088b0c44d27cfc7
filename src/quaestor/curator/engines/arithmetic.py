"""Arithmetic of cells: 64-bit floats that neither overflow nor underflow, NULL for what is not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.cells import (
    COARSEST,
    GREATEST_WHOLE,
    NUMBERS,
    Cell,
    bounded,
    floored,
    flushed,
    literal,
    nothing,
    number,
    sized,
)
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.engines.dialects import Dialect
    from quaestor.curator.language.expressions import Kind

__all__ = ["SMALLEST_DIVISOR", "computed", "numeric"]

SMALLEST_DIVISOR = 2.0**-40
"""What is nearer to zero does not divide anything."""

_HUGE, _TINY = 2.0**400, -400
_FRACTIONS = 20  # remainders of reals are taken of multiples of two to the minus this


def numeric(cell: Cell) -> Cell:
    """The cell, which has to be a number."""
    if cell.kind not in NUMBERS:
        raise InvalidParameter("expression", f"a {cell.kind}", "a number here")
    return cell


def computed(operator: str, left: Cell, right: Cell, dialect: Dialect) -> Cell:
    """One of ``+ - * / %``."""
    a, b = _safe(numeric(left)), _safe(numeric(right))
    if operator == "/":
        return _over(a, b, dialect)
    if operator == "%":
        return _modulo(a, b, dialect)
    return _OPERATORS[operator](a, b)


def _safe(cell: Cell) -> Cell:
    return flushed(bounded(cell, -_HUGE, _HUGE) if cell.most > _HUGE else cell, _TINY)


def _kind(a: Cell, b: Cell) -> Kind:
    return "integer" if a.kind == b.kind == "integer" else "real"


def _cell(a: Cell, b: Cell, value: Any, ends: list[float], grid: int) -> Cell:
    return Cell(
        value=value,
        kind=_kind(a, b),
        low=min(ends),
        high=max(ends),
        grid=grid,
        size=sized(a.size + b.size + 1),
    )


def _plus(a: Cell, b: Cell) -> Cell:
    ends = [a.low + b.low, a.high + b.high]
    return _cell(a, b, number(a) + number(b), ends, min(a.grid, b.grid))


def _minus(a: Cell, b: Cell) -> Cell:
    ends = [a.low - b.high, a.high - b.low]
    return _cell(a, b, number(a) - number(b), ends, min(a.grid, b.grid))


def _times(a: Cell, b: Cell) -> Cell:
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _cell(a, b, number(a) * number(b), ends, min(COARSEST, a.grid + b.grid))


def _over(a: Cell, b: Cell, dialect: Dialect) -> Cell:
    import ibis

    divisor = number(b)
    size = a.size + b.size + 2
    least = max(SMALLEST_DIVISOR, 2.0**b.grid)
    if b.low > 0 or b.high < 0:
        least = max(least, min(abs(b.low), abs(b.high)))
    if b.grid >= math.log2(SMALLEST_DIVISOR):
        divisor = dialect.divisor(divisor)
    else:
        small = divisor.abs() < literal(SMALLEST_DIVISOR)
        divisor = ibis.cases((small, nothing("real")), else_=divisor)
        size += b.size + 4
    if b.low > 0 or b.high < 0:
        ends = [x / y for x in (a.low, a.high) for y in (_away(b.low, least), _away(b.high, least))]
    else:
        ends = [-a.most / least, a.most / least]
    grid = a.grid - max(0, math.frexp(b.most)[1]) - 54
    value = number(a) / divisor
    return Cell(
        value=value, kind="real", low=min(ends), high=max(ends), grid=grid, size=sized(size)
    )


def _away(end: float, least: float) -> float:
    return math.copysign(max(abs(end), least), end)


def _modulo(a: Cell, b: Cell, dialect: Dialect) -> Cell:
    """The remainder, with the sign of the dividend.

    If one of them is a real, both are moved into plus or minus 2**33 and rounded to 2**-20.
    """
    exact = _kind(a, b) == "integer"
    scale = 1.0 if exact else 2.0**_FRACTIONS
    most = GREATEST_WHOLE / scale
    left, right = bounded(a, -most, most), bounded(b, -most, most)

    def steps(cell: Cell) -> Any:
        scaled = number(cell) if exact else number(cell) * literal(scale)
        return floored(scaled + literal(0.5))

    rest = (steps(left) % dialect.divisor(steps(right))).cast("float64")
    reach = math.ceil(min(left.most, right.most) * scale) / scale
    return Cell(
        value=rest if exact else rest / literal(scale),
        kind=_kind(a, b),
        low=-reach if a.low < 0 else 0.0,
        high=reach,
        grid=0 if exact else -_FRACTIONS,
        size=sized(left.size + right.size + 8),
    )


_OPERATORS: dict[str, Callable[[Cell, Cell], Cell]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
}
