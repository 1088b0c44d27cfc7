"""Where a table lives, as the catalog says it: every engine has keys of its own.

An engine is a folder. What the catalog knows of it is one line of :data:`ENGINES`; whatever depends
on the engine is asked of its :class:`EngineKind`, which imports no driver before it has to.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.curator.catalog.model import ENGINES, TEXT_KINDS, engine_kind, file_kind
from quaestor.curator.catalog.sections import shown
from quaestor.curator.catalog.text_format import FORMAT_KEYS, read_format

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from quaestor.curator.catalog.model import Catalog, Source, Table
    from quaestor.curator.catalog.sections import Section
    from quaestor.curator.language.expressions import Kind
    from quaestor.errors import InvalidCatalog

__all__ = [
    "EngineKind",
    "SourceKey",
    "check_environment",
    "columns_of",
    "fitted_source",
    "place_in_words",
    "read_source",
    "refuse_together",
    "resolved",
    "source_keys",
    "table_name",
]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TABLE = re.compile(r"[^.\"\s]+(?:\.[^.\"\s]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKey:
    """A key of ``[tables.NAME]``, and the option of ``dataset add`` that is called the same."""

    name: str
    example: str
    help: str
    path: bool = False
    """Whether it is a path, which is relative to the catalog."""


class EngineKind(ABC):
    """An engine: its keys in the catalog, its dialect, and how its tables are reached."""

    name: ClassVar[str]
    keys: ClassVar[tuple[SourceKey, ...]]
    """Each of them says that a table is here."""
    shared: ClassVar[tuple[SourceKey, ...]] = ()
    """Keys of other engines that have a meaning here too."""
    address: ClassVar[SourceKey]
    """The key that becomes the source's ``connection``."""
    schema: ClassVar[str] = "main"
    """Where a table is that is named without a schema."""
    caseless: ClassVar[bool] = True
    """Whether names of tables that differ only in case are the same."""
    served: ClassVar[bool] = False
    """Whether the rows of its tables change unseen, so that a copy is of the time it was made."""
    dialect: ClassVar[Any]
    """Its SQL: a :class:`quaestor.curator.scalars.dialect.Dialect`."""

    @abstractmethod
    def source(self, table: Section, name: str) -> Source:
        """Where the section ``[tables.NAME]`` says that the table is; keys of others are absent."""

    @abstractmethod
    def columns(self, source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
        """The schema of a table; see :func:`columns_of`."""

    def fitted(self, source: Source, folder: str | Path) -> tuple[Source, list[str]]:
        """The source with what its files say of themselves; see :func:`fitted_source`."""
        del folder
        return source, []

    @abstractmethod
    def connection(self, catalog: Catalog, table: Table) -> Any:
        """An open :class:`quaestor.curator.engines.engine.Connection` that reaches the table."""

    def snapshots(self, catalog: Catalog) -> Any | None:
        """The prepared copies of a catalog's tables; None if the engine has no such."""
        del catalog
        return None

    def state_of(self, catalog: Catalog, table: Table) -> list[Any]:
        """What has to be as it was for a prepared copy of a table to be read in its place."""
        raise NotImplementedError

    def write_rows(self, catalog: Catalog, table: Table, file: BinaryIO) -> list[Any]:
        """Write the rows of a table of a server to a file that DuckDB reads; its columns.

        Fields are as :meth:`quaestor.curator.engines.postgres.connection.PostgresConnection.
        write_rows` has them.
        """
        raise NotImplementedError

    def reach(self, source: Source) -> str | None:
        """What two tables have in common if one connection reaches both."""
        return source.connection

    def place(self, source: Source) -> str:
        """Where the table is, in words that are no secret."""
        return source.files or f"{source.connection}, table {source.table}"

    def identity(self, source: Source) -> tuple[str | None, ...]:
        """Equal for two ways to write where the same rows are."""
        if source.files is not None:
            return None, source.table, os.path.normpath(source.files)
        return source.connection, source.table, None

    def whereabouts(self, source: Source, folder: str | Path) -> tuple[str | None, ...]:
        """Where the rows are, equal for all catalogs that say the same place in other words."""
        if source.files is not None:
            return None, None, resolved(source.files, folder)
        connection, table = source.connection, source.table
        if connection is not None and self.address.path:
            connection = resolved(connection, folder)
        if table is not None:
            table = table.lower() if self.caseless else table
            table = table if "." in table else f"{self.schema}.{table}"
        return connection, table, None

    def written(self, source: Source) -> dict[str, str | None]:
        """The keys that say in a catalog where the table is."""
        return {
            self.address.name: source.connection,
            "file": source.files,
            "table": source.table,
        }

    def misplaced(self, table: Section, implied: EngineKind) -> InvalidCatalog:
        """The error about a table that says ``engine``, and keys by which it is elsewhere."""
        del implied
        return table.wrong("engine", f"the engine {self.name} needs {self.needed}", _one_of())

    @property
    def needed(self) -> str:
        """What a table here needs, in words."""
        return " or ".join(key.name for key in self.keys)


def source_keys() -> dict[str, SourceKey]:
    """The keys of all engines by name, each once."""
    return {key.name: key for name in ENGINES for key in engine_kind(name).keys}


def columns_of(source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
    """Every column of a table, with its kind, or None where the curator cannot read it.

    A schema is public. What is in a column is not, so that nothing is guessed from it: of a CSV
    file only the first line is read, and its columns are text until the catalog says otherwise.

    Raises:
        UnreadableTable: there is no such table, or its schema cannot be read.
        MissingAddress: the environment does not say where the server is.
        MissingExtra: the engine is not installed.
    """
    return engine_kind(source.engine).columns(source, folder)


def fitted_source(source: Source, folder: str | Path) -> tuple[Source, list[str]]:
    """For ``dataset add``: the format of text files, completed by their first lines, with notes.

    Raises:
        UnreadableTable: they are not what is declared; the error says what to type.
    """
    return engine_kind(source.engine).fitted(source, folder)


def place_in_words(source: Source) -> str:
    """Where the table is, in words; of a server only the variable that holds its address."""
    return engine_kind(source.engine).place(source)


def read_source(table: Section, *, name: str) -> Source:
    """Where the table is; the engine may be left out, for the place says it."""
    implied = _implied(table)
    engine = table.choice("engine", tuple(ENGINES), remedy=f"engines are {', '.join(ENGINES)}")
    if engine is not None and engine != implied.name:
        raise engine_kind(engine).misplaced(table, implied)
    own = {key.name for key in (*implied.keys, *implied.shared)}
    refuse_together(table, implied.name, *(key for key in source_keys() if key not in own))
    source = implied.source(table, name)
    if source.files is not None and file_kind(source.files) in TEXT_KINDS:
        return replace(source, format=read_format(table, source.files))
    for key in FORMAT_KEYS:
        if key in table.values:
            problem = f"{key} applies to text files only"
            raise table.wrong(key, problem, "remove it")
    return source


def _implied(table: Section) -> EngineKind:
    for name in reversed(ENGINES):
        kind = engine_kind(name)
        if any(key.name in table.values for key in kind.keys):
            return kind
    raise table.wrong(None, "the place of the table is missing", _one_of())


def _one_of() -> str:
    ways = (f'{key.name} = "{key.example}"' for key in source_keys().values())
    return f"write  {'  or  '.join(ways)}"


def resolved(path: str, folder: str | Path) -> str:
    """A path or pattern from the root on, without links; an address as it is."""
    if "://" in path and not path.startswith("file://"):
        return path
    return os.path.realpath(
        os.path.join(folder, os.path.expanduser(path.removeprefix("file://")))  # noqa: PTH111, PTH118
    )


# For the engines' own reading of a section


def refuse_together(table: Section, what: str, *keys: str) -> None:
    """Refuse a section with a key that means nothing beside another."""
    for key in keys:
        if key in table.values:
            raise table.wrong(key, f"{key} cannot be combined with {what}", "remove one of them")


def table_name(table: Section) -> str | None:
    """The table's name where it lives, with its schema if it has one."""
    remedy = 'write  table = "visits"  or, in another schema,  table = "clinic.visits"'
    value = table.text("table", remedy=remedy)
    if value is not None and not _TABLE.fullmatch(value):
        raise table.wrong("table", f"{shown(value)} is not the name of a table", remedy)
    return value


def check_environment(section: Section) -> str:
    """The name of an environment variable."""
    remedy = 'write the name of the environment variable with the address:  environment = "CLINIC"'
    value = section.text("environment", remedy=remedy)
    if value is None or not _VARIABLE.fullmatch(value):
        problem = "environment must be the name of an environment variable"
        raise section.wrong("environment", problem, remedy)
    return value
