"""Casts between kinds, total on every engine: NULL where a value has no other form.

A text is cast only if it matches a pattern that all engines read alike, and the cast is of what
remains after matching. Whatever is evaluated first, it never sees another text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from quaestor.curator.scalars.scalar import SQL, Scalar, nearest_grid, sized
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.language.expressions import Kind

__all__ = ["DATE_TEXT", "TIME_TEXT", "cast"]

_NUMBER_TEXT = r" *[+-]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})([eE][+-]?[0-6]?[0-9])? *"
_LARGEST_TEXT, _LEAST_TEXT = 1e99, 1e-99  # that such a text can be
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
DATE_TEXT = (
    f"({_YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29)"
)
TIME_TEXT = f"({DATE_TEXT}([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{{1,6}})?)?)?)"
"""A date, and a time of the day after it or none; all engines cast it alike."""


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
    day = f"CAST({sql.matching(x.sql, DATE_TEXT)} AS DATE)"
    return Scalar(sql=day, kind="date", size=sized(2 * x.size + 4))


def _text_to_time(sql: SQL, x: Scalar) -> Scalar:
    time = f"CAST({sql.matching(x.sql, TIME_TEXT)} AS {sql.dialect.time})"
    return Scalar(sql=time, kind="timestamp", size=sized(2 * x.size + 4))


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
    ("text", "timestamp"): _text_to_time,
    ("text", "boolean"): _text_to_boolean,
    ("boolean", "text"): _boolean_to_text,
    ("boolean", "integer"): _boolean_to_number("integer"),
    ("boolean", "real"): _boolean_to_number("real"),
    ("integer", "text"): _integer_to_text,
    ("date", "text"): _date_to_text,
}
