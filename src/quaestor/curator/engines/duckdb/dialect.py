"""DuckDB's SQL, where it differs from that of other engines."""

from __future__ import annotations

from typing import Final

from quaestor.curator.scalars.dialect import Dialect, regex_literal

__all__ = ["DUCKDB"]


def _linear(pattern: str) -> str:
    """A pattern as an expression of RE2, which never goes back."""
    return "(?s)" + ".*".join(map(regex_literal, pattern.split("%")))


DUCKDB: Final = Dialect(
    name="duckdb",
    text="VARCHAR",
    real="DOUBLE",
    time="TIMESTAMP",
    quote='"',
    bytewise='({0} COLLATE "binary")',
    readable="{0}",
    bytes_of="strlen({0})",
    decoded="decode(from_hex('{0}'))",
    encoded="hex(encode({0}))",
    nan="isnan({0})",
    quotient="({0} // {1})",
    matches="regexp_matches({0}, {1})",
    group_of="regexp_extract({0}, {1}, {2})",
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
    instant=(
        "CASE WHEN TRY_CAST({0} AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01' "
        "AND TIMESTAMP '9999-12-31 23:59:59.999999' THEN TRY_CAST({0} AS TIMESTAMP) END"
    ),
    zoned_instant=(
        "CASE WHEN epoch_us({0}) BETWEEN -62135596800000000 AND 253402300799999999 "
        "THEN make_timestamp(epoch_us({0})) END"
    ),
    microseconds="epoch_us({0})",
    minutes_later="({0} + to_minutes({1}))",
    days="({0} - DATE '1970-01-01')",
    from_days="(DATE '1970-01-01' + CAST({0} AS INT))",
    months_later="CAST(({0} + to_months(CAST({1} AS INT))) AS DATE)",
    added="SUM({0})",
    common_table="{0} AS MATERIALIZED ({1})",
    like="regexp_full_match({0}, {1})",
    pattern=_linear,
)
