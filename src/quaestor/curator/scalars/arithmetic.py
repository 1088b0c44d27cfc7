"""Arithmetic on floats that neither overflows nor underflows, on any engine.

What is divided by less than 2**-40 is NULL. Remainders have the sign of the dividend.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from quaestor.curator.scalars.scalar import (
    COARSEST,
    GREATEST_WHOLE,
    NUMBERS,
    SQL,
    Scalar,
    of_kind,
    sized,
)
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.language.expressions import Kind

__all__ = ["computed"]

_SMALLEST_DIVISOR = 2.0**-40
_HUGE, _TINY = 2.0**400, -400
_FRACTIONS = 20  # remainders of reals are taken of multiples of two to the minus this


def computed(sql: SQL, operator: str, left: Scalar, right: Scalar) -> Scalar:
    """One of ``+ - * / %``."""
    way = _OPERATORS.get(operator)
    if way is None:
        raise InvalidParameter("operator", operator, "one of + - * / %")
    return way(sql, _safe(sql, of_kind(left, *NUMBERS)), _safe(sql, of_kind(right, *NUMBERS)))


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
