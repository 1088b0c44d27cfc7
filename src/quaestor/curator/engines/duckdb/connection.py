"""DuckDB, embedded: its own files, opened for reading only, and Parquet and CSV files."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.duckdb.private_folder import private_folder
from quaestor.curator.engines.duckdb.snapshots import Snapshots
from quaestor.curator.engines.duckdb.text_rows import PATH, json_field, read_fields, read_lines
from quaestor.curator.engines.files import found, kind_of, named_columns, pattern_of
from quaestor.curator.engines.stop import stoppable
from quaestor.curator.engines.text_files import separator_of
from quaestor.curator.kernel.engine_columns import EngineColumns
from quaestor.curator.kernel.relations import Base
from quaestor.errors import MissingExtra, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.engines.duckdb.text_system import TextSystem

__all__ = ["DuckConnection"]

_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # seconds of the years 1 to 9999
_IN_ARRAYS: Final = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "VARCHAR"}
_UNITS: Final = {
    "s": (1, "make_timestamp_ms({0} * 1000)"),
    "ms": (1_000, "make_timestamp_ms({0})"),
    "us": (1_000_000, "make_timestamp({0})"),
    "ns": (  # rounded down to microseconds; 64 bits hold the years 1677 to 2262 only
        None,
        "make_timestamp(CASE WHEN {0} >= 0 THEN {0} // 1000 ELSE -(-({0} + 1) // 1000) - 1 END)",
    ),
}


class DuckConnection:
    """A DuckDB in memory, to which the files of the catalog are attached."""

    dialect = DUCKDB

    def __init__(self, catalog: Catalog) -> None:
        try:
            import duckdb
        except ImportError:
            raise MissingExtra("duckdb", extra="curator", purpose="asking DuckDB") from None
        self._catalog = catalog
        self._connection = duckdb.connect()
        self._texts: TextSystem | None = None
        self._attached: dict[str, str] = {}
        self._parquet: list[_ParquetFiles] = []
        self._snapshots = Snapshots(catalog)
        self._prepared: list[_PreparedTable] = []
        self._copies: dict[tuple[str, int, int], str | None] = {}
        spilled = private_folder(self)
        for setting in (  # for cursors too, which do not inherit what is set for one connection
            "SET GLOBAL TimeZone = 'UTC'",
            "SET GLOBAL ieee_floating_point_ops = false",  # what is divided by zero is NULL
            "SET GLOBAL autoinstall_known_extensions = false",
            f"SET GLOBAL temp_directory = {_text(spilled and f'{spilled}/spilled')}",
        ):
            self._connection.execute(setting)

    def base(self, table: Table) -> Base:
        """A table of an attached file, or a view of Parquet or CSV files; or of its snapshot.

        A snapshot enforces nothing, and may be of a file that has taken the attached one's place.
        """
        base = self._source(table)
        if not table.private or not self._snapshots.exists(table.name):
            return base
        self._prepared.append(_PreparedTable(table, base, f"prepared_{uuid4().hex}"))
        return replace(base, sql=self._prepared[-1].view, unique=frozenset())

    def _source(self, table: Table) -> Base:
        if table.source.table is None:
            return self._files(table)
        if table.source.connection is None:
            raise SourceUnavailable(table.name, "its source names a table, but no DuckDB file")
        database = self._attach(table)
        *schemas, name = table.source.table.split(".")
        schema = schemas[-1] if schemas else "main"
        try:
            base = self._described(".".join(map(DUCKDB.name_of, (database, schema, name))))
            return replace(base, unique=self._unique(database, schema, name))
        except Exception:  # noqa: BLE001 (what kind of error it is depends on the version)
            missing = SourceUnavailable(
                table.name, f"{table.source.connection} has no table {table.source.table}"
            )
        raise missing

    def _unique(self, database: str, schema: str, name: str) -> frozenset[str]:
        """Columns that are a primary key, or unique, each alone. A file that is attached is locked.

        So nobody changes the table's schema while statements rely on it.
        """
        found = self._connection.execute(  # without parameters, for which DuckDB imports pandas
            "SELECT database_name, schema_name, table_name, constraint_column_names "
            "FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE')"
        ).fetchall()
        place = [*map(_as_found, (database, schema, name))]
        held = [names for *at, names in found if [*map(_as_found, at)] == place]
        return frozenset(names[0] for names in held if len(names) == 1)

    def _described(self, name: str, cursor: Any = None) -> Base:
        columns = (cursor or self._connection).execute(f"DESCRIBE {name}").fetchall()
        return Base(sql=name, types={column[0]: column[1] for column in columns})

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, on a cursor of its own."""
        with self._asked(sql) as cursor:
            return list(cursor.fetchall())

    def columns(self, sql: str) -> EngineColumns | list[tuple[Any, ...]]:
        """What a statement returns, in arrays of numpy's.

        Rows where a type has no array that holds its values exactly: 128-bit numbers would be
        handed over as floats.
        """
        with self._asked(sql) as cursor:
            if {str(column[1]) for column in cursor.description} <= _IN_ARRAYS:
                return EngineColumns(tuple(cursor.fetchnumpy().values()))
            return list(cursor.fetchall())

    @contextmanager
    def _asked(self, sql: str) -> Iterator[Any]:
        """A cursor of its own that has run a statement, and what it returns is to be fetched."""
        with self._connection.cursor() as cursor:
            cursor.execute("SET enable_progress_bar = false")
            self._make_views(cursor, sql)
            with stoppable(cursor.interrupt):
                yield cursor.execute(sql)

    def _make_views(self, cursor: Any, sql: str) -> None:
        """Make the views that a statement reads: of snapshots that are current, and of files."""
        views = {each.view: self._copy_of(each) for each in self._prepared if each.view in sql}
        sources = [sql, *views.values()]
        for files in self._parquet:
            if any(files.view in source for source in sources):
                files.register(cursor)
        for view, source in views.items():
            cursor.execute(f"CREATE TEMP VIEW {view} AS SELECT * FROM {source}")  # noqa: S608

    def _copy_of(self, prepared: _PreparedTable) -> str:
        """A table's snapshot, if it is current; else the table itself."""
        path = self._snapshots.current(prepared.table)
        if path is None:
            return prepared.base.sql
        seen = path.lstat()
        known = (str(path), seen.st_ino, seen.st_mtime_ns)
        if known not in self._copies:
            self._copies[known] = None
            name = f"snapshot{uuid4().hex}"
            with suppress(Exception), self._connection.cursor() as cursor:
                cursor.execute(f"ATTACH {_text(str(path))} AS {name} (READ_ONLY)")
                copy = self._described(f"{name}.main.copied", cursor)
                there = path.lstat()
                same = all(prepared.base.types.get(n) == kind for n, kind in copy.types.items())
                if same and known == (str(path), there.st_ino, there.st_mtime_ns):
                    self._copies[known] = copy.sql
        return self._copies[known] or prepared.base.sql

    def copy(self, table: Table, path: Path) -> None:
        """Write the declared columns of a table to a database file, sorted by unit."""
        base = self._source(table)
        declared = {column.name.lower() for column in table.columns}
        names = [DUCKDB.name_of(name) for name in base.types if name.lower() in declared]
        unit = DUCKDB.name_of(table.unit or "")
        self._connection.execute(f"ATTACH {_text(str(path))} AS made")
        with self._connection.cursor() as cursor:
            self._make_views(cursor, base.sql)
            rows = f"SELECT {', '.join(names)} FROM {base.sql} ORDER BY {unit}"  # noqa: S608
            cursor.execute(f"CREATE TABLE made.main.copied AS {rows}")
        self._connection.execute("DETACH made")

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()

    def _attach(self, table: Table) -> str:
        path = str(Path(self._catalog.folder).absolute() / str(table.source.connection))
        if path not in self._attached:
            name = f"attached{len(self._attached)}"
            if not Path(path).is_file():
                raise SourceUnavailable(table.name, f"there is no file {table.source.connection}")
            try:
                self._connection.execute(f"ATTACH {_text(path)} AS {name} (READ_ONLY)")
            except Exception:  # noqa: BLE001 (as above)
                name = ""
            if not name:
                raise SourceUnavailable(
                    table.name,
                    f"{table.source.connection} cannot be opened as a DuckDB file for reading",
                )
            self._attached[path] = name
        return self._attached[path]

    def _files(self, table: Table) -> Base:
        pattern, kind = pattern_of(self._catalog, table), kind_of(table)
        paths = found(table, pattern)
        if kind == "parquet":
            return self._parquet_files(table, paths)
        view = f"files_{uuid4().hex}"
        try:
            self._connection.execute(f"CREATE VIEW {view} AS {self._text_rows(table, paths)}")
            return self._described(view)
        except SourceUnavailable:
            raise
        except Exception:  # noqa: BLE001 (as above)
            unreadable = SourceUnavailable(table.name, f"{table.source.files} cannot be read")
        raise unreadable

    def _text_system(self) -> TextSystem:
        if self._texts is None:
            from quaestor.curator.engines.duckdb.text_system import TextSystem

            self._texts = TextSystem()
            self._connection.register_filesystem(self._texts)
        return self._texts

    def _text_rows(self, table: Table, paths: list[str]) -> str:
        """A statement about text files: their columns as texts."""
        lines = kind_of(table) == "jsonl"
        addresses = self._text_system().addresses(paths, table.source.format, lines=lines)
        files = f"[{', '.join(map(_text, addresses))}]"
        if lines:
            names = [column.name for column in table.columns]
            folders = _in_folders(table, paths[0], ())
            names = [name for name in names if name not in folders]
            values, rows = [json_field(name) for name in names], read_lines(files)
        else:
            names = named_columns(table, paths)
            folders = _in_folders(table, paths[0], names)
            values = [DUCKDB.name_of(name) for name in names]
            rows = read_fields(files, names, separator_of(table.source))
        for name in folders:
            pattern = _text(f"/{re.escape(name)}=([^/]*)/")
            values.append(_unpacked(f'regexp_extract("{PATH}", {pattern}, 1)'))
        listed = (
            f"{value} AS {DUCKDB.name_of(name)}"
            for name, value in zip([*names, *folders], values, strict=True)
        )
        return f"SELECT {', '.join(listed)} FROM {rows}"  # noqa: S608 (quoted)

    def _parquet_files(self, table: Table, paths: list[str]) -> Base:
        files = _ParquetFiles(table, paths)
        try:
            with self._connection.cursor() as cursor:
                files.register(cursor)
                columns = cursor.execute(f"DESCRIBE {files.view}").fetchall()
        except Exception:  # noqa: BLE001 (as above)
            columns = []
        if not columns:
            raise SourceUnavailable(table.name, f"{table.source.files} cannot be read")
        self._parquet.append(files)
        return Base(sql=files.view, types={column[0]: column[1] for column in columns})


@dataclass(frozen=True, slots=True)
class _PreparedTable:
    """A table with a snapshot: every statement reads a view of one of the two."""

    table: Table
    base: Base
    view: str


class _ParquetFiles:
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
            schemas = [_schema(pq, path) for path in paths]
        except (OSError, pa.ArrowException):
            schemas = []
        if not schemas:
            raise SourceUnavailable(table.name, f"{table.source.files} cannot be read")
        self._columns = self._declared(schemas[0])
        for path, schema in zip(paths, schemas, strict=True):
            if self._declared(schema) != self._columns:
                raise SourceUnavailable(
                    table.name,
                    f"the columns of {path.rpartition('/')[2]} differ in name or type from those "
                    "of the first file: write all files with the same schema",
                )

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

    def register(self, cursor: Any) -> None:
        """Make the view for a cursor."""
        columns = {name: _column(name, kind) for name, kind in self._columns.items()}
        folders = _in_folders(self._table, self._paths[0], self._columns)
        if not folders and all(raw is None for raw, _ in columns.values()):
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
        listed += [f"{_unpacked(name)} AS {name}" for name in quoted]
        cursor.execute(
            f"CREATE TEMP VIEW {self.view} AS SELECT {', '.join(listed)} FROM raw_{self.view}"  # noqa: S608
        )


def _schema(pq: Any, path: str) -> Any:
    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        return file.schema_arrow


def _as_found(name: str) -> str:
    """A name as DuckDB looks it up: of letters, only those of ASCII are the same in both cases."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


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


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _path(path: str) -> str:
    """A path as a text of DuckDB's that means this one file, though it holds ``*`` or ``?``."""
    return _text(re.sub(r"[*?\[]", r"[\g<0>]", path))


def _in_folders(table: Table, path: str, held: Iterable[str]) -> list[str]:
    """Declared columns that stand in the folders' names, as in ``year=2024``, and not in a file."""
    parts = {part.partition("=")[0] for part in path.split("/")[:-1] if "=" in part}
    files = {name.lower() for name in held}
    return [
        column.name
        for column in table.columns
        if column.name in parts and column.name.lower() not in files
    ]


def _unpacked(value: str) -> str:
    """What DuckDB makes of a value in a folder's name: a text, or NULL.

    Guessing a type would make it depend on single folders, which may be one person's.
    """
    return f"NULLIF(TRY(url_decode({value})), '__HIVE_DEFAULT_PARTITION__')"
