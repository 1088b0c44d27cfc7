"""PostgreSQL's SQL, where it differs from that of other engines."""

from __future__ import annotations

from typing import Final

from quaestor.curator.scalars.dialect import Dialect

__all__ = ["POSTGRES"]

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
    days="({0} - DATE '1970-01-01')",
    added="SUM({0})",
    like="({0} LIKE {1})",
    pattern=lambda pattern: pattern.replace("\\", "\\\\"),
    strict=True,
)
