"""Files as tables: the catalog's key, which format, which paths, and the header of a CSV file."""

from __future__ import annotations

import csv
import glob
import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from quaestor.curator.catalog.sections import shown
from quaestor.curator.catalog.sources import SourceKey
from quaestor.errors import SourceUnavailable

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.catalog.sections import Section

__all__ = [
    "FILE",
    "between",
    "file_kind",
    "files_key",
    "first_line",
    "found",
    "header",
    "kind_of",
    "pattern_of",
    "refuse_remote",
]

FILE = SourceKey(name="file", example="visits.parquet", help="Parquet or CSV files.", path=True)
_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
}
_LONGEST_LINE = 1_000_000


def file_kind(files: str) -> str | None:
    """What the ending of a file's name says: parquet, csv, tsv; None for others."""
    name = files.lower()
    return next((kind for ending, kind in _FORMATS.items() if name.endswith(ending)), None)


def files_key(table: Section, *, remote: bool) -> str | None:
    """The files that a section of the catalog names."""
    remedy = 'write  file = "visits.parquet",  "visits/*.parquet",  "visits.csv"'
    value = table.text("file", remedy=remedy)
    if value is None:
        return None
    if not remote:
        refuse_remote(table, "file", value)
    if file_kind(value) is None:
        problem = f"{shown(value)} is no kind of file that can be read"
        raise table.wrong("file", problem, f"files end with {', '.join(_FORMATS)}")
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


def kind_of(table: Table) -> Literal["parquet", "csv"]:
    """The format, by the end of the name."""
    kind = file_kind(table.source.files or "")
    if kind is None:
        raise SourceUnavailable(table.name, "its files must end in .parquet, .csv, .csv.gz or .tsv")
    return "parquet" if kind == "parquet" else "csv"


def found(table: Table, pattern: str) -> list[str]:
    """The files that the glob finds, at least one."""
    paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (an absolute pattern)
    if not paths:
        raise SourceUnavailable(table.name, f"no file matches {table.source.files}")
    return paths


def header(table: Table, path: str) -> tuple[list[str], str]:
    """The names of a CSV file's columns, and what stands between them."""
    mark = between(table.source.files or "")
    names = first_line(path, mark)
    if not names:
        raise SourceUnavailable(table.name, "the first line of its first file names no columns")
    return names, mark


def first_line(path: str, mark: str) -> list[str] | None:
    """What stands in the first line of a CSV file; None where it cannot be read."""
    try:
        opened = gzip.open if path.lower().endswith(".gz") else open
        with opened(path, "rb") as file:
            # Only this line is decoded: what rows hold must not decide whether it can be read.
            first = file.readline(_LONGEST_LINE).decode("utf-8-sig")
        return next(csv.reader([first.rstrip("\r\n")], delimiter=mark), [])
    except (OSError, EOFError, UnicodeError, csv.Error):
        return None


def between(files: str) -> str:
    """Commas, or tabulators in .tsv files."""
    return "\t" if file_kind(files) == "tsv" else ","
