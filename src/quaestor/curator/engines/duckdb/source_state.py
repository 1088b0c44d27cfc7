"""What tells one state of a table's files, and of how they are read, from another."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quaestor.curator.engines.files import found, pattern_of

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog, Table

__all__ = ["files_as_they_are"]


def files_as_they_are(catalog: Catalog, table: Table) -> list[Any]:
    """The columns of a table of files, and which files they are, of which sizes and times."""
    if table.source.connection is not None:
        path = str(Path(catalog.folder).absolute() / table.source.connection)
        paths = [path, *[wal for wal in (f"{path}.wal",) if Path(wal).exists()]]
    else:
        paths = found(table, pattern_of(catalog, table))
    parts: list[Any] = [[each.name for each in table.columns]]
    for path in paths:
        with suppress(OSError):
            seen = Path(path).stat()
            times = seen.st_mtime_ns, seen.st_ctime_ns
            parts.append((path, seen.st_dev, seen.st_ino, seen.st_size, *times))
    return parts
