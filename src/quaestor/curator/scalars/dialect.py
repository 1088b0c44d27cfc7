"""Where engines differ: one small table of SQL for each of them.

Everything else in the kernel is written once, in SQL that all engines read alike. The tables are in
the engines' folders, and are handed in. All templates are total: no value of a row makes them fail,
given the settings that connections make (division by zero is NULL in DuckDB and Spark; times are
UTC; standard strings).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Dialect", "regex_literal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One engine's way to say things; ``{0}`` stands for the first argument."""

    name: str
    text: str
    real: str
    time: str
    """A point in time without a zone, in microseconds."""
    quote: str
    """The character around names."""
    bytewise: str
    """A text that is compared, sorted and grouped by its bytes, whatever the column's collation."""
    readable: str
    """A stored text, or NULL if it is not UTF-8."""
    bytes_of: str
    """How many bytes a text has."""
    decoded: str
    """A text from the hexadecimal digits of its UTF-8."""
    encoded: str
    """The hexadecimal digits of a text."""
    nan: str
    quotient: str
    """Of two whole numbers, towards zero."""
    matches: str
    """Whether a text matches a regular expression."""
    group_of: str
    """What matched a group of a regular expression; an empty text where nothing did."""
    divisor: str
    """A divisor that gives NULL if it is zero."""
    weekday: str
    """Of a date: 0 for Sunday to 6."""
    first_of: str
    """The first day of a date's month or year."""
    moment: str
    """A point in time as a date; NULL, or a date outside the calendar, where there is none."""
    zoned: str
    """The same of a point in time with a zone: its date in UTC."""
    instant: str
    """A point in time as ``time``; NULL outside the years 1 to 9999."""
    zoned_instant: str
    """The same of a point in time with a zone, in UTC."""
    microseconds: str
    """A ``time`` as a whole number of microseconds since 1970."""
    minutes_later: str
    """A point in time and a number of minutes after it."""
    days: str
    """A date as a number of days since 1970."""
    from_days: str
    """A date from a 64-bit number of days since 1970, which is one of the years 1 to 9999."""
    months_later: str
    """A date so many months later, ``{1}`` being a 64-bit number: the last day, if it is shorter.

    What comes out is of the years 1 to 9999.
    """
    added: str
    """A sum of whole numbers of at most 50 bits that cannot overflow."""
    like: str
    """Whether a text matches a pattern, in a time that grows with its length only."""
    pattern: Callable[[str], str]
    """A pattern of LIKE, in which a backslash is itself, as ``like`` takes it."""
    common_table: str | None = None
    """A table of a WITH clause, ``{0}``, whose query, ``{1}``, runs once however often it is read.

    None where every use would run it again.
    """
    gathered: str = "{0}"
    """Rows of a query, those of one unit ``u`` on one machine, where an engine has several."""
    strict: bool = False
    """Whether floats raise errors where they overflow or underflow, and decimals exceed floats."""

    def name_of(self, name: str) -> str:
        """A name of the data owner, quoted."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote


def regex_literal(part: str) -> str:
    """A part of a pattern without ``%`` as a regular expression."""
    return "".join(
        "." if c == "_" else c if c.isalnum() or not c.isascii() else f"\\x{ord(c):02x}"
        for c in part
    )
