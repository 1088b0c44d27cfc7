"""The schema of Parquet and CSV files, and of tables in DuckDB's own files; never a value."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quaestor.curator.engines.files import between, file_kind, first_line
from quaestor.curator.engines.schemas import divided, kinds_of, refuse, table_kinds
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
    **dict.fromkeys(("date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "date"),
    "timestamp with time zone": "date",
}
_OFFLINE = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}


def read_columns(source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
    """Every column with its kind; of several files those of the first."""
    if source.files is None:
        return _of_database(source, folder)
    first = _files(source, folder)[0]
    reads = _of_parquet if file_kind(source.files) == "parquet" else _of_csv
    return reads(source, first)


def _files(source: Source, folder: str | Path) -> list[str]:
    """The files that the catalog means, in the order of their names; there is at least one."""
    pattern = os.path.join(folder, source.files or "")  # noqa: PTH118  # Path would eat "//"
    exact = [pattern] if Path(pattern).is_file() else []
    found = exact or sorted(name for name in glob.glob(pattern, recursive=True))  # noqa: PTH207
    found = [name for name in found if Path(name).is_file()]
    if not found:
        refuse(source, "there is no such file", "correct the name; it is relative to the catalog")
    return found


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


def _of_csv(source: Source, path: str) -> list[tuple[str, Kind | None]]:
    names = first_line(path, between(path))
    if names is None:
        refuse(source, "its first line cannot be read", "it holds the names of the columns")
    if not names or len(set(names)) < len(names) or not all(name.strip() for name in names):
        problem = "its first line must hold the names of the columns, each once"
        refuse(source, problem, "write it there")
    return [(name, "text") for name in names]


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
