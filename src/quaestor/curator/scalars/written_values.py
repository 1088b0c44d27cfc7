"""Numbers, dates and times as people write them, read totally: NULL where a text is none.

How they are written is declared for a whole table. A text is cast only after it has matched a
pattern that all engines read alike, and what is cast is built from the parts that matched.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from quaestor.curator.language.date_format import date_parts
from quaestor.curator.scalars.casts import DATE_TEXT, TIME_TEXT
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.curator.scalars.scalar import SQL

__all__ = ["written_date", "written_number", "written_time"]

_ISO: Final = "%Y-%m-%d"
_PATTERNS: Final = {
    "day": "(0?[1-9]|[12][0-9]|3[01])",
    "month": "(0?[1-9]|1[0-2])",
    "year": "([0-9]{4})",
    "short year": "([0-9]{2})",
}
_CLOCK: Final = (
    "(?:[ T]([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:[.,]([0-9]{1,9}))?)?"
    "(?: ?(?:Z|UTC|([+-](?:0[0-9]|1[0-4]))(?::?([0-5][0-9]))?))?)?"
)
_HOUR, _MINUTE, _SECOND, _FRACTION = range(4, 8)  # groups, after three of the date
_ZONE_HOUR, _ZONE_MINUTE = 8, 9  # DuckDB counts no further
_SPECIAL: Final = "\\^[]-&~"
_FIRST, _LAST = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"


def written_number(sql: SQL, text: str, *, decimal: str, thousands: str | None) -> str:
    """The text of a number with a decimal point and nothing else; NULL where it is no number."""
    if decimal == "." and thousands is None:
        return text
    point, sign = _escaped(decimal), "[+-]?"
    whole = "[0-9]{1,30}"
    if thousands is not None:
        whole = f"(?:{whole}|[0-9]{{1,3}}(?:{_escaped(thousands)}[0-9]{{3}}){{1,9}})"
    number = f"(?:{whole}(?:{point}[0-9]{{0,30}})?|{point}[0-9]{{1,30}})"
    pattern = _pattern(sql, f" *{sign}{number}(?:[eE][+-]?[0-6]?[0-9])? *")
    test = sql.dialect.matches.format(f"({text} || '#')", pattern)
    known = f"CASE WHEN {test} THEN {text} END"
    if thousands is not None:
        known = f"replace({known}, {sql.text(thousands)}, '')"
    return known if decimal == "." else f"replace({known}, {sql.text(decimal)}, '.')"


def written_date(sql: SQL, text: str, date_format: str) -> str:
    """A date, of a text with or without a time of the day after it; in UTC if it has a zone."""
    day = f"CAST({written_time(sql, text, date_format)} AS DATE)"
    if date_format != _ISO:
        return day
    plain = sql.matching(text, DATE_TEXT)  # most texts are just that, and quickly read
    return f"CASE WHEN {plain} IS NOT NULL THEN CAST({plain} AS DATE) ELSE {day} END"


def written_time(sql: SQL, text: str, date_format: str) -> str:
    """A time from the year 1 to 9999; midnight if the text is a date; in UTC if it has a zone."""
    parts = date_parts(date_format)
    if parts is None:
        raise InvalidParameter("date_format", date_format, "made of %d, %m and %Y")
    built = _Written(sql, text, parts).time()
    if date_format != _ISO:
        return built
    plain = sql.matching(text, TIME_TEXT)
    kind = sql.dialect.time
    return f"CASE WHEN {plain} IS NOT NULL THEN CAST({plain} AS {kind}) ELSE {built} END"


class _Written:
    """A text of a date and perhaps a time, taken apart by one pattern."""

    def __init__(self, sql: SQL, text: str, parts: list[str]) -> None:
        self._sql, self._text = sql, text
        self._order = [part for part in parts if part in _PATTERNS]
        date = "".join(_PATTERNS.get(part) or _escaped(part) for part in parts)
        self._pattern = _pattern(sql, f" *{date}{_CLOCK} *")

    def time(self) -> str:
        """The time that it says, in UTC; NULL where the text is none."""
        sql = self._sql
        day = sql.matching(self._day(), DATE_TEXT)
        clock = " || ':' || ".join(self._two(part) for part in (_HOUR, _MINUTE, _SECOND))
        fraction = f"rpad(substring({self._group(_FRACTION)}, 1, 6), 6, '0')"
        local = f"CAST({day} || ' ' || {clock} || '.' || {fraction} AS {sql.dialect.time})"
        zone = self._group(_ZONE_HOUR)
        hours = f"60 * CAST({_two_digits(f'substring({zone}, 2, 2)')} AS INT)"
        east = f"({hours} + CAST({self._two(_ZONE_MINUTE)} AS INT))"
        turn = f"CASE WHEN substring({zone}, 1, 1) = '-' THEN 1 ELSE -1 END"
        moment = sql.dialect.minutes_later.format(local, f"({turn} * {east})")
        return sql.clip(moment, sql.moment(_FIRST), sql.moment(_LAST), bare=False)

    def _day(self) -> str:
        named = {part: self._group(1 + place) for place, part in enumerate(self._order)}
        year = named.get("year")
        if year is None:  # as POSIX has it: 69 to 99 are of the last century
            short = named["short year"]
            year = f"(CASE WHEN {short} >= '69' THEN '19' ELSE '20' END || {short})"
        month, day = (_two_digits(named[part]) for part in ("month", "day"))
        return f"({year} || '-' || {month} || '-' || {day})"

    def _group(self, number: int) -> str:
        marked = f"({self._text} || '#')"
        return self._sql.dialect.group_of.format(marked, self._pattern, number)

    def _two(self, number: int) -> str:
        return _two_digits(self._group(number))


def _two_digits(text: str) -> str:
    return f"lpad({text}, 2, '0')"


def _pattern(sql: SQL, pattern: str) -> str:
    """A pattern of all of a text, to which a mark was added: see :meth:`SQL.matching`."""
    return sql.text(f"^(?:{pattern})#$")


def _escaped(text: str) -> str:
    """Characters that mean themselves in a pattern."""
    return "".join(c if c.isalpha() else f"[{re.escape(c) if c in _SPECIAL else c}]" for c in text)
