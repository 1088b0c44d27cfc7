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
    time="TIMESTAMP_NTZ",
    quote="`",
    bytewise="collate({0}, 'UTF8_BINARY')",
    readable="try_validate_utf8({0})",
    bytes_of="octet_length({0})",
    decoded="CAST(X'{0}' AS STRING)",
    encoded="hex(CAST({0} AS BINARY))",
    nan="isnan({0})",
    quotient="({0} div {1})",
    matches="({0} RLIKE {1})",
    group_of="regexp_extract({0}, {1}, {2})",
    divisor="{0}",
    weekday="(dayofweek({0}) - 1)",
    first_of="trunc({0}, '{1}')",
    moment="CAST({0} AS DATE)",
    zoned="CAST({0} AS DATE)",
    instant=(
        "CASE WHEN {0} BETWEEN TIMESTAMP '0001-01-01 00:00:00' "
        "AND TIMESTAMP '9999-12-31 23:59:59.999999' THEN CAST({0} AS TIMESTAMP_NTZ) END"
    ),
    zoned_instant=(
        "CASE WHEN {0} BETWEEN TIMESTAMP '0001-01-01 00:00:00' "
        "AND TIMESTAMP '9999-12-31 23:59:59.999999' THEN CAST({0} AS TIMESTAMP_NTZ) END"
    ),
    microseconds="unix_micros(CAST({0} AS TIMESTAMP))",
    minutes_later="({0} + make_dt_interval(0, 0, {1}, 0))",
    days="datediff({0}, DATE '1970-01-01')",
    from_days="date_add(DATE '1970-01-01', CAST({0} AS INT))",
    months_later="add_months({0}, CAST({1} AS INT))",
    added="SUM(CAST({0} AS DECIMAL(20, 0)))",
    like="({0} RLIKE {1})",
    pattern=_committed,
    # Otherwise rows are sent by unit and cell, and then again by unit.
    gathered="{0} DISTRIBUTE BY u",
)
