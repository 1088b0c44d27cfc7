"""From one kind to another, with NULL where there is no such value, and the same everywhere.

Engines disagree about which texts are numbers or dates, and PostgreSQL has no cast that does not
raise. So a text is cast only if it matches a pattern that all engines read alike, and the cast is
of what remains after matching: whatever is evaluated first, it never sees another text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.cells import (
    GREATEST_WHOLE,
    NUMBERS,
    Cell,
    bounded,
    floored,
    literal,
    nearest_grid,
    nothing,
    number,
    sized,
)
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.language.expressions import Kind

__all__ = ["FIRST_DAY", "LAST_DAY", "cast", "matching", "whole"]

FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
"""Dates outside are moved to these: other calendars begin there, and so does infinity."""

_NUMBER = r" *[+-]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})([eE][+-]?[0-6]?[0-9])? *"
_LARGEST, _LEAST = 1e99, 1e-99  # that such a text can be
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_DATE = (
    f"({_YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29)"
)


def cast(cell: Cell, kind: Kind) -> Cell:
    """The cell as another kind."""
    if cell.kind == kind:
        return cell
    if (cell.kind, kind) == ("integer", "real"):
        return _as(cell, kind, number(cell))
    if (cell.kind, kind) == ("real", "integer"):
        return whole(cell)
    if cell.kind in NUMBERS and kind == "boolean":
        return _as(cell, kind, number(cell) != literal(0.0))
    way = _WAYS.get((cell.kind, kind))
    if way is None:
        raise InvalidParameter(
            "cast",
            f"{cell.kind} to {kind}",
            "between kinds that all engines write alike; "
            "a real can be rounded to an integer first, and parts of dates are numbers",
        )
    return way(cell)


def whole(cell: Cell) -> Cell:
    """The nearest whole number; halves go up."""
    if cell.kind == "integer" and cell.value.type().is_integer():
        return cell
    inside = bounded(cell, -GREATEST_WHOLE, GREATEST_WHOLE)
    value = number(inside)
    rounded = value if inside.grid >= 0 else floored(value + literal(0.5), "float64")
    return Cell(
        value=rounded,
        kind="integer",
        low=max(-GREATEST_WHOLE, inside.low - 1),
        high=min(GREATEST_WHOLE, inside.high + 1),
        grid=max(0, inside.grid),
        size=sized(inside.size + 4),
    )


def matching(text: Any, pattern: str) -> Any:
    """The text if all of it matches, else NULL.

    The mark at the end is there because ``$`` also matches before a last line break in Java.
    """
    import ibis

    whole_text = (text + ibis.literal("#")).re_search(f"^({pattern})#$")
    return ibis.cases((whole_text, text), else_=ibis.null("string"))


def _as(cell: Cell, kind: Kind, value: Any, copies: int = 1) -> Cell:
    size = sized(copies * cell.size + 4)
    if kind in NUMBERS:
        return Cell(value=value, kind=kind, low=cell.low, high=cell.high, grid=cell.grid, size=size)
    return Cell(value=value, kind=kind, size=size)


def _text_to_real(cell: Cell) -> Cell:
    """At most 30 digits before and after the point, and an exponent below 70; else NULL."""
    return Cell(
        value=matching(cell.value, _NUMBER).cast("float64"),
        kind="real",
        low=-_LARGEST,
        high=_LARGEST,
        grid=nearest_grid(_LEAST),
        size=sized(2 * cell.size + 10),
    )


def _text_to_integer(cell: Cell) -> Cell:
    return whole(_text_to_real(cell))


def _text_to_date(cell: Cell) -> Cell:
    return _as(cell, "date", matching(cell.value, _DATE).cast("date"), 2)


def _text_to_boolean(cell: Cell) -> Cell:
    import ibis

    value = ibis.cases(
        (cell.value.isin(["true", "TRUE", "True"]), ibis.literal(value=True)),
        (cell.value.isin(["false", "FALSE", "False"]), ibis.literal(value=False)),
        else_=nothing("boolean"),
    )
    return _as(cell, "boolean", value, 2)


def _boolean_to_text(cell: Cell) -> Cell:
    import ibis

    value = ibis.cases((cell.value, "true"), (~cell.value, "false"), else_=ibis.null("string"))
    return _as(cell, "text", value, 2)


def _boolean_to_number(kind: Kind) -> Callable[[Cell], Cell]:
    def way(cell: Cell) -> Cell:
        value = cell.value.cast("int32").cast("float64")
        return Cell(value=value, kind=kind, low=0.0, high=1.0, size=cell.size + 2)

    return way


def _integer_to_text(cell: Cell) -> Cell:
    return _as(cell, "text", whole(cell).value.cast("int64").cast("string"))


def _date_to_text(cell: Cell) -> Cell:
    return _as(cell, "text", cell.value.cast("string"))


_WAYS: dict[tuple[Kind, Kind], Callable[[Cell], Cell]] = {
    ("text", "real"): _text_to_real,
    ("text", "integer"): _text_to_integer,
    ("text", "date"): _text_to_date,
    ("text", "boolean"): _text_to_boolean,
    ("boolean", "text"): _boolean_to_text,
    ("boolean", "integer"): _boolean_to_number("integer"),
    ("boolean", "real"): _boolean_to_number("real"),
    ("integer", "text"): _integer_to_text,
    ("date", "text"): _date_to_text,
}
