"""Files as tables: which format, which paths, and the header of a CSV file."""

from __future__ import annotations

import csv
import glob
import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from quaestor.errors import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.curator.catalog.model import Catalog, Table

__all__ = ["found", "header", "in_folders", "kind_of", "literal", "pattern_of", "unpacked"]


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
    name = (table.source.files or "").lower()
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    if name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        return "csv"
    raise SourceUnavailable(table.name, "its files must end in .parquet, .csv, .csv.gz or .tsv")


def found(table: Table, pattern: str) -> list[str]:
    """The files that the glob finds, at least one."""
    paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (an absolute pattern)
    if not paths:
        raise SourceUnavailable(table.name, f"no file matches {table.source.files}")
    return paths


def header(table: Table, path: str) -> tuple[list[str], str]:
    """The names of a CSV file's columns, and what stands between them."""
    try:
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "rb") as file:
            # Only this line is decoded: what rows hold must not decide whether it can be read.
            first = file.readline(1_000_000).decode("utf-8-sig")
        line = next(csv.reader([first], delimiter=between(table)), [])
    except (OSError, UnicodeError, csv.Error):
        line = []
    if not line:
        raise SourceUnavailable(table.name, "the first line of its first file names no columns")
    return line, between(table)


def between(table: Table) -> str:
    """Commas, or tabulators in .tsv files."""
    return "\t" if ".tsv" in (table.source.files or "").lower() else ","


def literal(path: str) -> str:
    """A path as a text of DuckDB's that means this one file, though it holds ``*`` or ``?``."""
    return "'" + re.sub(r"[*?\[]", r"[\g<0>]", path).replace("'", "''") + "'"


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
