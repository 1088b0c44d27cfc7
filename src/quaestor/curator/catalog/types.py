"""Which kind the columns of an engine are of, by the engine's names for their types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Kind

__all__ = ["kind_of"]

# DuckDB, PostgreSQL (information_schema) and Spark (simpleString); times of a day, intervals,
# bytes, lists and structures are of no kind.
_TYPES: dict[str, Kind] = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "int", "bigint", "hugeint"), "integer"),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"), "integer"),
    **dict.fromkeys(("float", "double", "real", "double precision"), "real"),
    **dict.fromkeys(("varchar", "char", "string", "text", "character varying"), "text"),
    **dict.fromkeys(("character", "enum", "uuid", "name", "bpchar"), "text"),
    "boolean": "boolean",
    **dict.fromkeys(("date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "date"),
    **dict.fromkeys(("timestamp with time zone", "timestamp without time zone"), "date"),
    **dict.fromkeys(("timestamp_ntz", "timestamp_ltz"), "date"),
}
_DECIMAL = re.compile(r"(?:decimal|numeric)(?:\(\d+(?:,\s*(-?\d+))?\))?")


def kind_of(described: str) -> Kind | None:
    """The kind of a column, or None for what the curator does not read.

    Times are read as their date; decimals without places are integers.

    >>> kind_of("DECIMAL(18,2)"), kind_of("timestamp without time zone"), kind_of("INTEGER[]")
    ('real', 'date', None)
    """
    name = described.strip().lower()
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return "integer" if "(" in name and int(decimal[1] or 0) <= 0 else "real"
    if name.endswith("]"):  # DuckDB's lists and arrays, of whatever
        return None
    return _TYPES.get(re.sub(r"\(.*\)", "", name, flags=re.DOTALL).strip())
