"""PostgreSQL's SQL, where it differs from that of other engines."""

from __future__ import annotations

from typing import Final

from quaestor.curator.scalars.dialect import Dialect

__all__ = ["POSTGRES"]

POSTGRES: Final = Dialect(
    name="postgres",
    text="text",
    real="double precision",
    time="timestamp",
    quote='"',
    bytewise='({0} COLLATE "C")',
    readable="{0}",
    bytes_of="octet_length({0})",
    decoded="convert_from(decode('{0}', 'hex'), 'UTF8')",
    encoded="encode(convert_to({0}, 'UTF8'), 'hex')",
    nan="({0} = 'NaN')",
    quotient="({0} / {1})",
    matches="({0} ~ {1})",
    group_of="coalesce((regexp_match({0}, {1}))[{2}], '')",
    divisor="NULLIF({0}, 0)",
    weekday="EXTRACT(dow FROM {0})",
    first_of="CAST(date_trunc('{1}', CAST({0} AS timestamp)) AS DATE)",
    moment="CAST({0} AS DATE)",
    zoned="CAST({0} AS DATE)",
    instant=(
        "CASE WHEN {0} BETWEEN timestamp '0001-01-01' AND timestamp '9999-12-31 23:59:59.999999' "
        "THEN CAST({0} AS timestamp) END"
    ),
    zoned_instant=(
        "CASE WHEN {0} BETWEEN timestamptz '0001-01-01 00:00:00+00' "
        "AND timestamptz '9999-12-31 23:59:59.999999+00' THEN {0} AT TIME ZONE 'UTC' END"
    ),
    microseconds="(EXTRACT(epoch FROM {0}) * 1000000)",
    minutes_later="({0} + {1} * interval '1 minute')",
    days="({0} - DATE '1970-01-01')",
    from_days="(DATE '1970-01-01' + CAST({0} AS INT))",
    months_later="CAST(({0} + make_interval(months => CAST({1} AS INT))) AS DATE)",
    added="SUM({0})",
    common_table="{0} AS MATERIALIZED ({1})",
    like="({0} LIKE {1})",
    pattern=lambda pattern: pattern.replace("\\", "\\\\"),
    strict=True,
)
