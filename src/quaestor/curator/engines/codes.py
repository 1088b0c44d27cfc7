"""Codes: values as something that groups, counts and prints alike on every engine.

A real is coded as a text ``whole.fraction`` in units of 2**-40, since engines print floats each in
its own way and do not agree whether there is one zero or two.
"""

from __future__ import annotations

import datetime as dt
from functools import reduce
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.casts import whole
from quaestor.curator.engines.cells import Cell, bounded, floored, literal, number, sized

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.curator.language.expressions import Kind, Value

__all__ = ["coded", "decoded", "encoded", "pieces", "text_of"]

_MOST = 2.0**52
_FRACTION = 2.0**40


def coded(cell: Cell) -> Any:
    """The code of a cell: a text, a 64-bit integer or a date."""
    if cell.kind == "integer":
        return whole(cell).value.cast("int64")
    if cell.kind == "boolean":
        return cell.value.cast("int32").cast("int64")
    if cell.kind == "real":
        return _real(cell)
    return cell.value


def _real(cell: Cell) -> Any:
    import ibis

    inside = bounded(cell, -_MOST, _MOST)
    sized(6 * inside.size)
    value = number(inside)
    below = floored(value)
    rest = value - below.cast("float64")
    fraction = floored(rest * literal(_FRACTION))
    return below.cast("string") + ibis.literal(".") + fraction.cast("string")


def encoded(value: Value, kind: Kind) -> Value:
    """The code of a constant."""
    if value is None:
        return None
    if kind == "integer":
        return int(value)
    if kind == "boolean":
        return int(bool(value))
    if kind == "real":
        inside = min(max(float(value), -_MOST), _MOST)
        below = int(inside // 1)
        return f"{below}.{int((inside - below) * _FRACTION)}"
    return str(value)


def decoded(code: Any, kind: Kind) -> Value:
    """The value that has a code."""
    if code is None:
        return None
    if kind == "boolean":
        return bool(code)
    if kind == "real":
        below, fraction = code.split(".")
        return float(int(below) + int(fraction) / _FRACTION)
    if isinstance(code, dt.date):
        return code.isoformat()
    return int(code) if kind == "integer" else str(code)


def text_of(code: Any) -> Any:
    """A code as a text."""
    return code if code.type().is_string() else code.cast("string")


def pieces(cells: Iterable[Cell]) -> Any:
    """Several values as one text, from which each can be told: no two tuples have the same.

    A text is preceded by its length and a colon; what has no semicolon in it is followed by one;
    NULL is ``-;``.
    """
    import ibis

    parts = []
    for cell in cells:
        code = coded(cell)
        text = text_of(code)
        if cell.kind == "text" and code.type().is_string():
            text = text.length().cast("string") + ibis.literal(":") + text
        else:
            text += ibis.literal(";")
        parts.append(ibis.coalesce(text, ibis.literal("-;")))
    return reduce(lambda a, b: a + b, parts)
