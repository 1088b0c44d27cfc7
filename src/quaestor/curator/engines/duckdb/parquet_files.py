"""Parquet files as DuckDB reads them, and the columns that stand in the names of folders."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.duckdb.seen_files import SeenFiles
from quaestor.errors import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.curator.catalog.model import Table

__all__ = ["ParquetFiles", "in_folders", "quoted_text", "unpacked"]

_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # seconds of the years 1 to 9999
_UNITS: Final = {
    "s": (1, "make_timestamp_ms({0} * 1000)"),
    "ms": (1_000, "make_timestamp_ms({0})"),
    "us": (1_000_000, "make_timestamp({0})"),
    "ns": (  # rounded down to microseconds; 64 bits hold the years 1677 to 2262 only
        None,
        "make_timestamp(CASE WHEN {0} >= 0 THEN {0} // 1000 ELSE -(-({0} + 1) // 1000) - 1 END)",
    ),
}


class ParquetFiles:
    """The Parquet files of one table, read so that no value of a row makes the scan fail.

    DuckDB's own reader fails on one text that is not UTF-8, and on one time beyond its range. So
    files with declared columns of texts or times are handed to it through pyarrow, texts as bytes,
    times as whole numbers, and what cannot be read is NULL in that row. Which reader is used
    follows from the files' schemas and the catalog, never from what rows hold.
    """

    def __init__(self, table: Table, paths: list[str]) -> None:
        """Look at the schemas of all files: they have to be the same.

        Raises:
            SourceUnavailable: a file cannot be opened, or is of other columns than the first.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.view = f"files_{uuid4().hex}"  # a name that no text of a question holds
        self._paths, self._table = paths, table
        try:
            self._seen = SeenFiles(
                paths, lambda: [self._declared(_schema(pq, path)) for path in paths]
            )
        except (OSError, pa.ArrowException):
            found = []
        else:
            found = self._seen.columns
        if not found:
            raise SourceUnavailable(table.name, f"{table.source.files} cannot be read")
        self._columns = found[0]
        for path, one in zip(paths, found, strict=True):
            if one != self._columns:
                raise SourceUnavailable(
                    table.name,
                    f"the columns of {path.rpartition('/')[2]} differ in name or type from those "
                    "of the first file: write all files with the same schema",
                )

        self._read = {name: _column(name, kind) for name, kind in self._columns.items()}
        self._folders = in_folders(table, paths[0], self._columns)

    @property
    def handed_over(self) -> bool:
        """Whether rows come through pyarrow, so that DuckDB knows nothing of how many there are."""
        return bool(self._folders) or any(raw is not None for raw, _ in self._read.values())

    def _declared(self, schema: Any) -> dict[str, Any]:
        """The declared columns that a file has, with their types; of dictionaries, the values'.

        JSON is text here: pyarrow has a type of its own for it.
        """
        import pyarrow as pa

        wanted = {column.name.lower() for column in self._table.columns}
        found = {}
        for field in schema:
            if field.name.lower() in wanted:
                kind = field.type
                kind = kind.value_type if pa.types.is_dictionary(kind) else kind
                found[field.name] = kind.storage_type if _is_json(kind) else kind
        return found

    def refuse_changed(self) -> None:
        """Look at the schemas of files that have changed.

        Raises:
            SchemaChanged: they are others than those that statements were written for.
        """
        self._seen.refuse_changed()

    def register(self, cursor: Any) -> None:
        """Make the view for a cursor."""
        columns, folders = self._read, self._folders
        if not self.handed_over:
            files = ", ".join(map(_path, self._paths))
            source = f"read_parquet([{files}], hive_partitioning = false)"
            cursor.execute(f"CREATE TEMP VIEW {self.view} AS SELECT * FROM {source}")  # noqa: S608
            return
        import pyarrow as pa
        import pyarrow.dataset as ds

        named = [(name, pa.string()) for name in folders]
        fields = [(name, raw or self._columns[name]) for name, (raw, _) in columns.items()]
        options = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")
        rows = ds.dataset(
            self._paths,
            schema=pa.schema(fields + named),
            format=ds.ParquetFileFormat(read_options=options),
            partitioning=ds.HivePartitioning(pa.schema(named), segment_encoding="none")
            if folders
            else None,
        )
        cursor.register(f"raw_{self.view}", rows)
        listed = [f"{value} AS {DUCKDB.name_of(name)}" for name, (_, value) in columns.items()]
        quoted = [DUCKDB.name_of(name) for name in folders]
        listed += [f"{unpacked(name)} AS {name}" for name in quoted]
        cursor.execute(
            f"CREATE TEMP VIEW {self.view} AS SELECT {', '.join(listed)} FROM raw_{self.view}"  # noqa: S608
        )


def _schema(pq: Any, path: str) -> Any:
    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        return file.schema_arrow


def _is_json(kind: Any) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.json"


def _column(name: str, kind: Any) -> tuple[Any | None, str]:
    """The type as which a column is handed over, if not its own, and what is made of it."""
    import pyarrow as pa

    quoted = DUCKDB.name_of(name)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.binary(), f"TRY(decode({quoted}))"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary(), quoted  # DuckDB would take an enumeration for a text, and check it
    if pa.types.is_timestamp(kind):
        times, moment = _UNITS[kind.unit]
        inside = f"{quoted} IS NOT NULL"
        if times is not None:
            inside = f"{quoted} BETWEEN {_FIRST * times} AND {(_LAST + 1) * times - 1}"
        return pa.int64(), f"CASE WHEN {inside} THEN {moment.format(quoted)} END"
    return None, quoted


def _path(path: str) -> str:
    """A path as a text of DuckDB's that means this one file, though it holds ``*`` or ``?``."""
    return quoted_text(re.sub(r"[*?\[]", r"[\g<0>]", path))


def in_folders(table: Table, path: str, held: Iterable[str]) -> list[str]:
    """Declared columns that stand in the folders' names, as in ``year=2024``, and not in a file."""
    parts = {part.partition("=")[0] for part in path.split("/")[:-1] if "=" in part}
    files = {name.lower() for name in held}
    return [
        column.name
        for column in table.columns
        if column.name in parts and column.name.lower() not in files
    ]


def unpacked(value: str) -> str:
    """What DuckDB makes of a value in a folder's name: a text, or NULL.

    Guessing a type would make it depend on single folders, which may be one person's.
    """
    return f"NULLIF(TRY(url_decode({value})), '__HIVE_DEFAULT_PARTITION__')"


def quoted_text(text: str) -> str:
    """A text as DuckDB reads it."""
    return "'" + text.replace("'", "''") + "'"
