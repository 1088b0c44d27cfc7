"""Parquet files with values that DuckDB's own reader cannot read: those values become NULL."""

from __future__ import annotations

from typing import Any, Final
from uuid import uuid4

from quaestor.curator.scalars.dialects import DUCKDB

__all__ = ["tolerant_view"]

_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # seconds of the years 1 to 9999
_UNITS: Final = {
    "s": (1, "make_timestamp_ms({0} * 1000)"),
    "ms": (1_000, "make_timestamp_ms({0})"),
    "us": (1_000_000, "make_timestamp({0})"),
    "ns": (1_000_000_000, "make_timestamp_ns({0})"),
}


def tolerant_view(cursor: Any, paths: list[str]) -> str:
    """The name of a view of the files, for this cursor: texts come as bytes, times as numbers."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    stored = pq.read_schema(paths[0])
    raw, columns = [], []
    for field in stored:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        name = DUCKDB.name_of(field.name)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            kind, value = pa.binary(), f"TRY(decode({name}))"
        elif pa.types.is_timestamp(kind):
            times, moment = _UNITS[kind.unit]
            inside = f"{name} BETWEEN {_FIRST * times} AND {_LAST * times}"
            if kind.unit == "ns":  # 64 bits hold the years 1677 to 2262 only
                inside = f"{name} IS NOT NULL"
            kind, value = pa.int64(), f"CASE WHEN {inside} THEN {moment.format(name)} END"
        else:
            value = name
        raw.append((field.name, kind))
        columns.append(f"{value} AS {name}")
    table, view = f"raw_{uuid4().hex}", f"tolerant_{uuid4().hex}"
    cursor.register(table, ds.dataset(paths, schema=pa.schema(raw), format="parquet"))
    cursor.execute(f"CREATE TEMP VIEW {view} AS SELECT {', '.join(columns)} FROM {table}")  # noqa: S608
    return view
