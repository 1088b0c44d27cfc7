"""Copies of tables of a server, which DuckDB reads in its place: as of the time they were made.

A connection is of certain files. Where a table is copied anew, or its copy is not to be trusted any
more, the next question gets another connection: so what an answer says of when its rows are from is
about the very rows that were read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quaestor.curator.engines.duckdb.connection import DuckConnection
from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.duckdb.parquet_files import quoted_text
from quaestor.errors import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.engines.plain_columns import PlainColumn
    from quaestor.curator.kernel.relations import Base

__all__ = ["CopiesConnection", "ServerCopies", "ServerCopy", "load_rows"]

_TYPES: Final = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_LONGEST_FIELD: Final = 2**18  # of a text of 2**16 bytes there are twice as many digits


@dataclass(frozen=True, slots=True)
class ServerCopy:
    """The file with a table's copy, as it was when it was looked at."""

    table: str
    path: str
    inode: int
    changed: int
    made: str

    @property
    def as_it_was(self) -> bool:
        """Whether it is still that file."""
        seen = Path(self.path).lstat()
        return (seen.st_ino, seen.st_ctime_ns) == (self.inode, self.changed)


@dataclass(frozen=True, slots=True)
class ServerCopies:
    """A copy of each table of a question."""

    copies: tuple[ServerCopy, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What answers say of them."""
        return tuple(
            f"Computed on the data owner's copy of {each.table}, as of {each.made}."
            for each in self.copies
        )

    def connection(self, catalog: Catalog) -> CopiesConnection:
        """An open connection to these files."""
        return CopiesConnection(catalog, self)


class CopiesConnection(DuckConnection):
    """A DuckDB in memory, to which copies of a server's tables are attached."""

    def __init__(self, catalog: Catalog, copies: ServerCopies) -> None:
        super().__init__(catalog)
        self._names = {copy.table: f"copy{at}" for at, copy in enumerate(copies.copies)}
        for copy in copies.copies:
            attach = f"ATTACH {quoted_text(copy.path)} AS {self._names[copy.table]} (READ_ONLY)"
            try:
                self._connection.execute(attach)
                if copy.as_it_was:
                    continue
            except Exception:  # noqa: BLE001, S110 (what kind of error it is depends on the version)
                pass
            self.close()
            raise SourceUnavailable(copy.table, "its prepared copy changed just now: ask again")

    def base(self, table: Table) -> Base:
        """The copy of a table."""
        return self._described(f"{self._names[table.name]}.main.copied")


def load_rows(
    catalog: Catalog, table: Table, columns: Sequence[PlainColumn], rows: Path, path: Path
) -> None:
    """Write a database file with the rows of a server's table, sorted by unit.

    The rows are lines of a file, as :meth:`.EngineKind.write_rows` writes them.
    """
    kinds = ", ".join(f"'c{at}': '{_TYPES[each.kind]}'" for at, each in enumerate(columns))
    read = (
        f"read_csv({quoted_text(str(rows))}, columns = {{{kinds}}}, auto_detect = false, "
        "header = false, delim = ',', quote = '\"', escape = '\"', nullstr = '', "
        f"max_line_size = {_LONGEST_FIELD * (len(columns) + 1)})"
    )
    listed = ", ".join(
        (f"decode(from_hex(substr(c{at}, 2)))" if each.kind == "text" else f"c{at}")
        + f" AS {DUCKDB.name_of(each.name)}"
        for at, each in enumerate(columns)
    )
    DuckConnection(catalog).write_copy(
        f"SELECT {listed} FROM {read}",  # noqa: S608 (quoted)
        DUCKDB.name_of(table.unit or ""),
        path,
    )
