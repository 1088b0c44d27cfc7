"""DuckDB, embedded: its own files, opened for reading only, and Parquet and CSV files."""

from __future__ import annotations

import re
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.duckdb.parquet_files import (
    ParquetFiles,
    in_folders,
    quoted_text,
    unpacked,
)
from quaestor.curator.engines.duckdb.private_folder import private_folder
from quaestor.curator.engines.duckdb.read_lock import ReadLock
from quaestor.curator.engines.duckdb.seen_files import SeenFiles
from quaestor.curator.engines.duckdb.snapshots import Snapshots
from quaestor.curator.engines.duckdb.text_rows import PATH, json_field, read_fields, read_lines
from quaestor.curator.engines.files import found, kind_of, named_columns, pattern_of
from quaestor.curator.engines.stop import stoppable
from quaestor.curator.engines.text_files import separator_of
from quaestor.curator.kernel.engine_columns import EngineColumns
from quaestor.curator.kernel.relations import Base
from quaestor.errors import MissingExtra, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.engines.duckdb.kept_rows import DuckKeptRows
    from quaestor.curator.engines.duckdb.text_system import TextSystem

__all__ = ["DuckConnection"]

_IN_ARRAYS: Final = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "VARCHAR"}


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
        self._attached: dict[str, _AttachedFile] = {}
        self._parquet: list[ParquetFiles] = []
        self._text_files: dict[str, SeenFiles[list[str]]] = {}
        self._snapshots = Snapshots(catalog)
        self._prepared: list[_PreparedTable] = []
        self._copies: dict[tuple[str, int, int], str | None] = {}
        spilled = private_folder(self)
        for setting in (  # for cursors too, which do not inherit what is set for one connection
            "SET GLOBAL TimeZone = 'UTC'",
            "SET GLOBAL ieee_floating_point_ops = false",  # what is divided by zero is NULL
            "SET GLOBAL autoinstall_known_extensions = false",
            f"SET GLOBAL temp_directory = {quoted_text(spilled and f'{spilled}/spilled')}",
        ):
            self._connection.execute(setting)
        with suppress(duckdb.Error):  # a setting since version 2, which raises without it
            self._connection.execute("SET GLOBAL error_on_division_by_zero = false")

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
        attached = self._attach(table)
        *schemas, name = table.source.table.split(".")
        schema = schemas[-1] if schemas else "main"
        try:
            base = self._described(".".join(map(DUCKDB.name_of, (attached.name, schema, name))))
            if attached.locked:
                return replace(base, unique=self._unique(attached.name, schema, name))
        except Exception:  # noqa: BLE001 (what kind of error it is depends on the version)
            missing = SourceUnavailable(
                table.name, f"{table.source.connection} has no table {table.source.table}"
            )
        else:
            return base
        raise missing

    def _unique(self, database: str, schema: str, name: str) -> frozenset[str]:
        """Columns that are a primary key, or unique, each alone, in a file that we have locked.

        So nobody changes the table or its schema while statements rely on it.
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
            return _fetched(cursor)

    def kept_rows(self) -> DuckKeptRows:
        """Where the rows of one question are kept, on a cursor of its own."""
        from quaestor.curator.engines.duckdb.kept_rows import DuckKeptRows

        cursor = self._connection.cursor()
        cursor.execute("SET enable_progress_bar = false")
        return DuckKeptRows(
            cursor,
            make_views=partial(self._make_views, made=set()),
            fetched=_fetched,
            locked=[*self._attached.values()],
        )

    @contextmanager
    def _asked(self, sql: str) -> Iterator[Any]:
        """A cursor of its own that has run a statement, and what it returns is to be fetched."""
        locked = nullcontext([*self._attached.values()])  # until it has ended, whoever closes us
        with locked, self._connection.cursor() as cursor:
            cursor.execute("SET enable_progress_bar = false")
            self._make_views(cursor, sql)
            with stoppable(cursor.interrupt):
                yield cursor.execute(sql)

    def _make_views(self, cursor: Any, sql: str, made: set[str] | None = None) -> None:
        """Make the views that a statement reads: of snapshots that are current, and of files.

        But for those that were made for an earlier statement on the same cursor.

        Raises:
            SchemaChanged: files have other columns than those that the statement was written for.
        """
        made = set() if made is None else made
        wanted = [each for each in self._prepared if each.view in sql and each.view not in made]
        views = {each.view: self._copy_of(each) for each in wanted}
        sources = [sql, *views.values()]
        for view, seen in self._text_files.items():
            if any(view in source for source in sources):
                seen.refuse_changed()
        for files in self._parquet:
            if any(files.view in source for source in sources):
                files.refuse_changed()
                if files.view not in made:
                    files.register(cursor)
                    made.add(files.view)
        for view, source in views.items():
            cursor.execute(f"CREATE TEMP VIEW {view} AS SELECT * FROM {source}")  # noqa: S608
            made.add(view)

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
                cursor.execute(f"ATTACH {quoted_text(str(path))} AS {name} (READ_ONLY)")
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
        rows = f"SELECT {', '.join(names)} FROM {base.sql}"  # noqa: S608
        self.write_copy(rows, DUCKDB.name_of(table.unit or ""), path)

    def write_copy(self, rows: str, unit: str, path: Path) -> None:
        """Write the rows of a statement to a new database file, sorted by unit."""
        self._connection.execute(f"ATTACH {quoted_text(str(path))} AS made")
        with self._connection.cursor() as cursor:
            cursor.execute("SET enable_progress_bar = false")
            self._make_views(cursor, rows)
            cursor.execute(f"CREATE TABLE made.main.copied AS {rows} ORDER BY {unit}")
        self._connection.execute("DETACH made")

    def close(self) -> None:
        """Let go of the files, and then of the locks on them."""
        self._connection.close()
        self._attached.clear()

    def _attach(self, table: Table) -> _AttachedFile:
        path = str(Path(self._catalog.folder).absolute() / str(table.source.connection))
        if path not in self._attached:
            if not Path(path).is_file():
                raise SourceUnavailable(table.name, f"there is no file {table.source.connection}")
            attached = self._attached_file(path, f"attached{len(self._attached)}")
            if attached is None:
                raise SourceUnavailable(
                    table.name,
                    f"{table.source.connection} cannot be opened as a DuckDB file for reading",
                )
            self._attached[path] = attached
        return self._attached[path]

    def _attached_file(self, path: str, name: str) -> _AttachedFile | None:
        with suppress(Exception):
            lock = ReadLock(path)
            self._connection.execute(f"ATTACH {quoted_text(path)} AS {name} (READ_ONLY)")
            return _AttachedFile(name, lock, lock.held and lock.is_on(path))
        return None

    def _files(self, table: Table) -> Base:
        pattern, kind = pattern_of(self._catalog, table), kind_of(table)
        paths = found(table, pattern)
        if kind == "parquet":
            return self._parquet_files(table, paths)
        self._join_as_written()
        view = f"files_{uuid4().hex}"
        try:
            if kind != "jsonl":
                self._text_files[view] = SeenFiles(paths, lambda: named_columns(table, paths))
            self._connection.execute(f"CREATE VIEW {view} AS {self._text_rows(table, paths)}")
            return self._described(view)
        except SourceUnavailable:
            raise
        except Exception:  # noqa: BLE001 (as above)
            unreadable = SourceUnavailable(table.name, f"{table.source.files} cannot be read")
        raise unreadable

    def _join_as_written(self) -> None:
        """Joins hold their right sides in memory, from now on.

        DuckDB does not know how many rows come from pyarrow or a text file, takes them for one or
        a few dozen, and would hold all of them to join them with a few keys.
        """
        self._connection.execute("SET GLOBAL disabled_optimizers = 'build_side_probe_side'")

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
        files = f"[{', '.join(map(quoted_text, addresses))}]"
        if lines:
            names = [column.name for column in table.columns]
            folders = in_folders(table, paths[0], ())
            names = [name for name in names if name not in folders]
            values, rows = [json_field(name) for name in names], read_lines(files)
        else:
            names = named_columns(table, paths)
            folders = in_folders(table, paths[0], names)
            values = [DUCKDB.name_of(name) for name in names]
            rows = read_fields(files, names, separator_of(table.source))
        for name in folders:
            pattern = quoted_text(f"/{re.escape(name)}=([^/]*)/")
            values.append(unpacked(f'regexp_extract("{PATH}", {pattern}, 1)'))
        listed = (
            f"{value} AS {DUCKDB.name_of(name)}"
            for name, value in zip([*names, *folders], values, strict=True)
        )
        return f"SELECT {', '.join(listed)} FROM {rows}"  # noqa: S608 (quoted)

    def _parquet_files(self, table: Table, paths: list[str]) -> Base:
        files = ParquetFiles(table, paths)
        try:
            with self._connection.cursor() as cursor:
                files.register(cursor)
                columns = cursor.execute(f"DESCRIBE {files.view}").fetchall()
        except Exception:  # noqa: BLE001 (as above)
            columns = []
        if not columns:
            raise SourceUnavailable(table.name, f"{table.source.files} cannot be read")
        self._parquet.append(files)
        if files.handed_over:
            self._join_as_written()
        return Base(sql=files.view, types={column[0]: column[1] for column in columns})


def _fetched(cursor: Any) -> EngineColumns | list[tuple[Any, ...]]:
    """What a statement that has run returns: in arrays, if these hold its types."""
    if {str(column[1]) for column in cursor.description} <= _IN_ARRAYS:
        return EngineColumns(tuple(cursor.fetchnumpy().values()))
    return list(cursor.fetchall())


@dataclass(frozen=True, slots=True)
class _AttachedFile:
    """A database file: its name in statements, and whether it is certain that nobody writes."""

    name: str
    lock: ReadLock
    locked: bool


@dataclass(frozen=True, slots=True)
class _PreparedTable:
    """A table with a snapshot: every statement reads a view of one of the two."""

    table: Table
    base: Base
    view: str


def _as_found(name: str) -> str:
    """A name as DuckDB looks it up: of letters, only those of ASCII are the same in both cases."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)
