"""Spark's SQL, where it differs from that of other engines."""

from __future__ import annotations

from typing import Final

from quaestor.curator.scalars.dialect import Dialect, regex_literal

__all__ = ["SPARK"]


def _committed(pattern: str) -> str:
    """A pattern as an expression of Java's that never goes back, either.

    Between two ``%`` the first place that fits is as good as any later one, so that an atomic group
    may commit to it. What follows the last ``%`` is looked for at the end, if there is room for it.
    """
    first, *rest = pattern.split("%")
    if not rest:
        return f"(?s)\\A{regex_literal(first)}\\z"
    *between, last = rest
    found = "".join(f"(?>.*?{regex_literal(part)})" for part in between if part)
    end = f"(?=.{{{len(last)}}}).*+(?<={regex_literal(last)})" if last else ".*+"
    return f"(?s)\\A{regex_literal(first)}{found}{end}\\z"


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
    days="datediff({0}, DATE '1970-01-01')",
    added="SUM(CAST({0} AS DECIMAL(20, 0)))",
    like="({0} RLIKE {1})",
    pattern=_committed,
)
