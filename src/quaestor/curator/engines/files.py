"""Files as tables: the catalog's key, which format, which paths, and the names of the columns."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.curator.catalog.model import ENDINGS, file_kind
from quaestor.curator.catalog.sections import shown
from quaestor.curator.catalog.sources import SourceKey
from quaestor.curator.engines.text_files import column_names, separator_of
from quaestor.errors import SourceUnavailable

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.catalog.sections import Section

__all__ = [
    "FILE",
    "file_kind",
    "files_key",
    "found",
    "kind_of",
    "named_columns",
    "pattern_of",
    "refuse_remote",
]

FILE = SourceKey(
    name="file",
    example="visits.parquet",
    help="The file of the table, or a pattern: Parquet, CSV or JSON lines.",
    path=True,
)


def files_key(table: Section, *, remote: bool) -> str | None:
    """The files that a section of the catalog names."""
    remedy = 'write  file = "visits.parquet",  "visits/*.parquet",  "visits.csv"'
    value = table.text("file", remedy=remedy)
    if value is None:
        return None
    if not remote:
        refuse_remote(table, "file", value)
    if file_kind(value) is None:
        problem = f"files of the type of {shown(value)} are not supported"
        raise table.wrong("file", problem, f"supported files end with {', '.join(ENDINGS)}")
    return value


def refuse_remote(table: Section, key: str, value: str) -> None:
    """Refuse an address where a path is needed."""
    if "://" in value:
        problem = f"{key} must be on this machine for DuckDB"
        raise table.wrong(key, problem, "copy or mount it here, or read it with Spark (master)")


def pattern_of(catalog: Catalog, table: Table) -> str:
    """The glob of the table's files; a relative one starts at the catalog's folder."""
    files = table.source.files
    if not files:
        raise SourceUnavailable(table.name, "its source names neither a table nor files")
    if "://" in files:
        return files
    return str(Path(catalog.folder).absolute() / Path(files).expanduser())


def kind_of(table: Table) -> str:
    """The format, by the end of the name."""
    kind = file_kind(table.source.files or "")
    if kind is None:
        raise SourceUnavailable(table.name, f"its files must end with {', '.join(ENDINGS)}")
    return kind


def found(table: Table, pattern: str) -> list[str]:
    """The files that the glob finds, at least one."""
    paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (an absolute pattern)
    if not paths:
        raise SourceUnavailable(table.name, f"no file matches {table.source.files}")
    return paths


def named_columns(table: Table, paths: list[str]) -> list[str]:
    """The columns of CSV files in their order, by the first lines of all or by the catalog."""
    source = table.source
    first: list[str] = []
    for path in paths:
        names = column_names(path, source.format, separator_of(source))
        if not names:
            name = path.rpartition("/")[2]
            raise SourceUnavailable(table.name, f"the first line of {name} names no columns")
        first = first or names
        if names != first:
            raise SourceUnavailable(
                table.name,
                f"the columns of {path.rpartition('/')[2]} are not those of the first file, in "
                "its order: write all files with the same first line",
            )
    return first
