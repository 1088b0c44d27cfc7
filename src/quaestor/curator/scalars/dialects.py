"""Where engines differ: one small table of SQL for each of them.

Everything else in the kernel is written once, in SQL that DuckDB, PostgreSQL and Spark read alike.
All templates are total: no value of a row makes them fail, given the settings that connections
make (division by zero is NULL in DuckDB and Spark; times are UTC; standard strings).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DIALECTS", "DUCKDB", "POSTGRES", "SPARK", "Dialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One engine's way to say things; ``{0}`` stands for the first argument."""

    name: str
    text: str
    real: str
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
    days: str
    """A date as a number of days since 1970."""
    added: str
    """A sum of whole numbers of at most 50 bits that cannot overflow."""
    like: str
    """Whether a text matches a pattern, in a time that grows with its length only."""
    pattern: Callable[[str], str]
    """A pattern of LIKE, in which a backslash is itself, as ``like`` takes it."""

    def name_of(self, name: str) -> str:
        """A name of the data owner, quoted."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote


def _literal(part: str) -> str:
    """A part of a pattern without ``%`` as a regular expression."""
    return "".join(
        "." if c == "_" else c if c.isalnum() or not c.isascii() else f"\\x{ord(c):02x}"
        for c in part
    )


def _linear(pattern: str) -> str:
    """A pattern as an expression of RE2, which never goes back."""
    return "(?s)" + ".*".join(map(_literal, pattern.split("%")))


def _committed(pattern: str) -> str:
    """A pattern as an expression of Java's that never goes back, either.

    Between two ``%`` the first place that fits is as good as any later one, so that an atomic group
    may commit to it. What follows the last ``%`` is looked for at the end, if there is room for it.
    """
    first, *rest = pattern.split("%")
    if not rest:
        return f"(?s)\\A{_literal(first)}\\z"
    *between, last = rest
    found = "".join(f"(?>.*?{_literal(part)})" for part in between if part)
    end = f"(?=.{{{len(last)}}}).*+(?<={_literal(last)})" if last else ".*+"
    return f"(?s)\\A{_literal(first)}{found}{end}\\z"


_DAY_ZERO: Final = "DATE '1970-01-01'"

DUCKDB: Final = Dialect(
    name="duckdb",
    text="VARCHAR",
    real="DOUBLE",
    quote='"',
    bytewise='({0} COLLATE "binary")',
    readable="{0}",
    bytes_of="strlen({0})",
    decoded="decode(from_hex('{0}'))",
    encoded="hex(encode({0}))",
    nan="isnan({0})",
    quotient="({0} // {1})",
    matches="regexp_matches({0}, {1})",
    divisor="{0}",
    weekday="EXTRACT(dow FROM {0})",
    first_of="CAST(date_trunc('{1}', {0}) AS DATE)",
    moment=(
        "CASE WHEN TRY_CAST({0} AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01' "
        "AND TIMESTAMP '9999-12-31 23:59:59.999999' "
        "THEN CAST(TRY_CAST({0} AS TIMESTAMP) AS DATE) END"
    ),
    zoned=(  # a cast to TIMESTAMP fails at the end of time, and TRY_CAST with it
        "CASE WHEN epoch_us({0}) BETWEEN -62135596800000000 AND 253402300799999999 "
        "THEN CAST(make_timestamp(epoch_us({0})) AS DATE) END"
    ),
    days=f"({{0}} - {_DAY_ZERO})",
    added="SUM({0})",
    like="regexp_full_match({0}, {1})",
    pattern=_linear,
)
POSTGRES: Final = Dialect(
    name="postgres",
    text="text",
    real="double precision",
    quote='"',
    bytewise='({0} COLLATE "C")',
    readable="{0}",
    bytes_of="octet_length({0})",
    decoded="convert_from(decode('{0}', 'hex'), 'UTF8')",
    encoded="encode(convert_to({0}, 'UTF8'), 'hex')",
    nan="({0} = 'NaN')",
    quotient="({0} / {1})",
    matches="({0} ~ {1})",
    divisor="NULLIF({0}, 0)",
    weekday="EXTRACT(dow FROM {0})",
    first_of="CAST(date_trunc('{1}', CAST({0} AS timestamp)) AS DATE)",
    moment="CAST({0} AS DATE)",
    zoned="CAST({0} AS DATE)",
    days=f"({{0}} - {_DAY_ZERO})",
    added="SUM({0})",
    like="({0} LIKE {1})",
    pattern=lambda pattern: pattern.replace("\\", "\\\\"),
)
SPARK: Final = Dialect(
    name="spark",
    text="STRING",
    real="DOUBLE",
    quote="`",
    bytewise="collate({0}, 'UTF8_BINARY')",
    readable="try_validate_utf8({0})",
    bytes_of="octet_length({0})",
    decoded="CAST(X'{0}' AS STRING)",
    encoded="hex(CAST({0} AS BINARY))",
    nan="isnan({0})",
    quotient="({0} div {1})",
    matches="({0} RLIKE {1})",
    divisor="{0}",
    weekday="(dayofweek({0}) - 1)",
    first_of="trunc({0}, '{1}')",
    moment="CAST({0} AS DATE)",
    zoned="CAST({0} AS DATE)",
    days=f"datediff({{0}}, {_DAY_ZERO})",
    added="SUM(CAST({0} AS DECIMAL(20, 0)))",
    like="({0} RLIKE {1})",
    pattern=_committed,
)
DIALECTS: Final = {dialect.name: dialect for dialect in (DUCKDB, POSTGRES, SPARK)}
