"""The schema of Parquet and text files, and of tables in DuckDB's own files; never a value."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quaestor.curator.catalog.model import file_kind
from quaestor.curator.engines.schemas import divided, kinds_of, refuse, table_kinds
from quaestor.curator.engines.text_check import file_paths, text_columns
from quaestor.errors import MissingExtra

if TYPE_CHECKING:
    from types import ModuleType

    from duckdb import DuckDBPyConnection

    from quaestor.curator.catalog.model import Source
    from quaestor.curator.language.expressions import Kind

__all__ = ["TYPES", "read_columns"]

# Times of a day, intervals, bytes, lists and structures are of no kind.
TYPES: Final[dict[str, Kind]] = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "hugeint"), "integer"),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"), "integer"),
    **dict.fromkeys(("float", "double"), "real"),
    **dict.fromkeys(("varchar", "enum", "uuid"), "text"),
    "boolean": "boolean",
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "timestamp"),
    "timestamp with time zone": "timestamp",
}
_OFFLINE = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}


def read_columns(source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
    """Every column with its kind; of several files those of the first."""
    if source.files is None:
        return _of_database(source, folder)
    if file_kind(source.files) == "parquet":
        return _of_parquet(source, file_paths(source, folder)[0])
    return [(name, "text") for name in text_columns(source, folder)]


def _duckdb() -> ModuleType:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("duckdb", extra="curator", purpose="reading tables") from None
    return duckdb


def _of_parquet(source: Source, path: str) -> list[tuple[str, Kind | None]]:
    duckdb = _duckdb()
    with duckdb.connect(config=_OFFLINE) as connection:
        try:
            relation = connection.read_parquet(glob.escape(path))
            return kinds_of(zip(relation.columns, map(str, relation.types), strict=True), TYPES)
        except duckdb.Error:
            refuse(source, "this is not a Parquet file", "write it again, or give another one")


def _of_database(source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
    path = Path(folder) / (source.connection or "")
    if not path.is_file():
        refuse(source, "there is no such file", "correct the name; it is relative to the catalog")
    schema, table = divided(source, "main")
    with _opened(source, path) as connection:
        columns = connection.execute(
            "SELECT column_name, data_type FROM information_schema.columns"
            " WHERE lower(table_schema) = lower(?) AND lower(table_name) = lower(?)"
            " ORDER BY ordinal_position",
            [schema, table],
        ).fetchall()
    return table_kinds(source, columns, TYPES)


def _opened(source: Source, path: Path) -> DuckDBPyConnection:
    duckdb = _duckdb()
    try:
        connection: DuckDBPyConnection = duckdb.connect(str(path), read_only=True, config=_OFFLINE)
    except duckdb.Error:
        remedy = "it must be a DuckDB file that no other program writes to"
        refuse(source, "the database cannot be opened for reading", remedy)
    return connection
