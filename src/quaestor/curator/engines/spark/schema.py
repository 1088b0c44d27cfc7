"""The schema of a table of Spark's, or of files that Spark reads; never a value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from quaestor.curator.catalog.model import file_kind
from quaestor.curator.engines.schemas import kinds_of, refuse
from quaestor.curator.engines.spark.text_rows import TEXT_SETTINGS, text_frame
from quaestor.curator.engines.text_check import text_columns
from quaestor.errors import MissingExtra

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Source
    from quaestor.curator.language.expressions import Kind

__all__ = ["TYPES", "read_columns"]

# Intervals, bytes, arrays, maps and structures are of no kind.
TYPES: Final[dict[str, Kind]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double"), "real"),
    **dict.fromkeys(("string", "varchar", "char"), "text"),
    "boolean": "boolean",
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp_ntz", "timestamp_ltz"), "timestamp"),
}


def read_columns(source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
    """Every column with its kind."""
    files = source.files or ""
    if file_kind(files) in {"csv", "tsv"} and "://" not in files:
        return [(name, "text") for name in text_columns(source, folder)]
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("pyspark", extra="spark", purpose="reading with Spark") from None
    master = source.connection or "local[2]"
    builder = SparkSession.builder.appName("quaestor")
    builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    try:
        session = builder.getOrCreate()
        if source.files is None:
            read = session.table(source.table or "")
        elif file_kind(source.files) == "parquet":
            read = session.read.parquet(_path(source.files, folder))
        else:
            for name, value in TEXT_SETTINGS.items():
                session.conf.set(name, value)
            names = list(source.format.names) or None
            read = text_frame(session, source, _path(source.files, folder), names)
        described = ((each.name, each.dataType.simpleString()) for each in read.schema.fields)
        return kinds_of(described, TYPES)
    except PySparkException:
        refuse(source, f"Spark at {master} cannot read it", "correct the name, or the master")


def _path(files: str, folder: str | Path) -> str:
    return files if "://" in files else str(Path(folder).resolve() / files)
