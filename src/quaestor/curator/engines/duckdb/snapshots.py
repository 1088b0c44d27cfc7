"""Prepared snapshots: copies of tables, sorted by unit, in a private folder beside the catalog.

A snapshot holds the declared columns as the source has them, so that every statement finds the same
groups and the same numbers in it. It is read while the source is as it was when it was copied: its
files are the same ones, of the same sizes and times (that of their last change of any kind too,
which nobody can set). Otherwise, and where anything else about it is doubtful, the source is read,
as if there were no snapshot. That decision depends on files and on no row.

Nobody can see whether rows on a server have changed. A copy of a server's table is read, as of the
time it was made, while the server, the user, the unit and the columns are those it was made with;
until the data owner makes another one, or removes it.

Files of the source are not opened for that: whoever closes a file gives up the locks of the whole
process on it, and with a lock DuckDB keeps others from writing to a database that is being read.

The folder and what is in it must belong to whoever runs this process, be open to nobody else, and
be no links; so nobody else can put another file in place of one that was looked at.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import stat
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from uuid import uuid4

from quaestor.curator.catalog.model import engine_kind
from quaestor.errors import InvalidParameter, QuaestorError, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.engines.duckdb.server_copies import ServerCopies

__all__ = ["Snapshot", "Snapshots"]

_FOLDER: Final = "quaestor.snapshots"
_ENDS: Final = 2**16  # bytes
_LONGEST: Final = 2**16
_FILE: Final = re.compile(r"[0-9a-f]{32}\.duckdb")
_PRIVATE: Final = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What is noted of a copy: its file, and the source that it was made of."""

    table: str
    file: str
    size: int
    ends: str
    source: str
    made: str
    """When, in UTC."""


class Snapshots:
    """The snapshots of a catalog's tables that DuckDB reads."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.folder = Path(catalog.folder).absolute() / _FOLDER

    def prepare(self, name: str) -> Snapshot:
        r"""Copy a private table, in place of an earlier copy; for the data owner.

        >>> from tempfile import TemporaryDirectory
        >>> from quaestor.curator.catalog import catalog_from_toml
        >>> text = '''
        ... [tables.visits]
        ... file = "visits.csv"
        ... unit = "patient"
        ... rows = 2
        ... groups = 1
        ... [tables.visits.columns]
        ... patient = { kind = "integer" }
        ... '''
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "visits.csv").write_text("patient\n2\n1\n")
        ...     snapshots = Snapshots(catalog_from_toml(text, folder=folder))
        ...     _ = snapshots.prepare("visits")
        ...     snapshots.state("visits").partition(",")[0]
        'in use'
        """
        table = self._private(name)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_ours(self.folder.lstat(), folder=True):
            raise InvalidParameter(
                "folder", self.folder, "your own, with mode 700, and no link: chmod 700, or move it"
            )
        with self._alone():
            begun, source = datetime.now(UTC), self.source_of(table)
            path = self.folder / f"{uuid4().hex}.duckdb"
            self._copied(table, path)
            note = self._note_of(table, path, source, begun)
            written = self._note(name).with_suffix(".new")
            written.unlink(missing_ok=True)
            with _new_file(written) as file:
                file.write(json.dumps(asdict(note)).encode())
            written.replace(self._note(name))
        return note

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time changes the folder, and leaves no copy there that no note names.

        Those can be of an earlier note, or of a process that was killed.
        """
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            try:
                yield
            finally:
                named = {_named(path, "file") for path in self.folder.glob("*.json")}
                for path in self.folder.glob("*.duckdb*"):
                    if _FILE.match(path.name) and path.name not in named:
                        path.unlink(missing_ok=True)
        finally:
            os.close(folder)

    def _copied(self, table: Table, path: Path) -> None:
        kind = engine_kind(table.source.engine)
        if kind.served:
            self._copied_from_server(table, path)
        else:
            with closing(kind.connection(self._catalog, table)) as connection:
                connection.copy(table, path)
        path.chmod(0o600)

    def _copied_from_server(self, table: Table, path: Path) -> None:
        """By way of a file beside it; see :meth:`_alone` for what becomes of that."""
        from quaestor.curator.engines.duckdb.server_copies import load_rows

        rows = path.with_name(f"{path.name}.rows")
        try:
            with _new_file(rows) as file:
                kind = engine_kind(table.source.engine)
                columns = kind.write_rows(self._catalog, table, file)
            load_rows(self._catalog, table, columns, rows, path)
        except QuaestorError:
            raise
        except Exception:  # noqa: BLE001 (what an engine says may be about somebody)
            failed = SourceUnavailable(
                table.name,
                "it could not be copied: the server stopped answering, or there is no room for "
                f"the copy in {self.folder}",
            )
        else:
            return
        raise failed

    def _note_of(self, table: Table, path: Path, source: str, begun: datetime) -> Snapshot:
        if self.source_of(table) != source:
            raise SourceUnavailable(table.name, "it changed while it was copied: prepare it again")
        return Snapshot(
            table=table.name,
            file=path.name,
            size=path.stat().st_size,
            ends=_ends(path),
            source=source,
            made=begun.isoformat(timespec="milliseconds"),
        )

    def remove(self, name: str) -> bool:
        """Delete the copy of a table; whether there was one."""
        there = self.exists(name)
        if self.folder.is_dir():
            with self._alone():
                self._note(name).unlink(missing_ok=True)
        return there

    def state(self, name: str) -> str:
        """What becomes of a table's snapshot, in words for the data owner."""
        if not self.exists(name) and self._catalog.table(name) is None:
            return "no snapshot; the catalog has no such table"
        table = self._private(name)
        if not self.exists(name):
            return f"no snapshot; make one with  quaestor dataset prepare {name}"
        note = self._noted(name)
        if note is None:
            return "not used: its folder or its note is damaged, a link, or open to others"
        if self.current(table) is not None:
            return f"in use, as of {note.made}"
        if self._as_noted(note) is None:
            return f"not used: its file is damaged, a link, or open to others (as of {note.made})"
        changed = "the table has changed"
        if engine_kind(table.source.engine).served:
            changed = "its server, user, unit or columns are others in the catalog or environment"
        return f"not used: {changed} since {note.made}; prepare it again"

    def exists(self, name: str) -> bool:
        """Whether there is a note of a snapshot, good or bad."""
        return os.path.lexists(self._note(name))

    def orphans(self) -> list[str]:
        """Tables that the catalog does not have any more, and that have a snapshot."""
        named = {_named(path, "table") for path in self.folder.glob("*.json")} - {""}
        return sorted(name for name in named if self._catalog.table(name) is None)

    def current(self, table: Table) -> Path | None:
        """The file to read in place of the table; None if there is none that is certain."""
        note = self._noted(table.name)
        if note is None or note.source != self.source_of(table):
            return None
        return self._as_noted(note)

    def in_place_of(self, tables: Sequence[Table]) -> ServerCopies | None:
        """Copies of all these tables of a server; None if one of them has none to be read."""
        from quaestor.curator.engines.duckdb.server_copies import ServerCopies, ServerCopy

        copies: list[ServerCopy] = []
        for table in {each.name: each for each in tables}.values():
            if not table.private or not self.exists(table.name):
                return None
            note, path = self._noted(table.name), self.current(table)
            if note is None or path is None or path.name != note.file:
                return None
            with suppress(OSError):
                seen = path.lstat()
                copies.append(
                    ServerCopy(table.name, str(path), seen.st_ino, seen.st_ctime_ns, note.made)
                )
        return ServerCopies(tuple(copies)) if len(copies) == len({t.name for t in tables}) else None

    def source_of(self, table: Table) -> str:
        """What tells one state of a table, and of how it is read, from another."""
        state = engine_kind(table.source.engine).state_of(self._catalog, table)
        parts: list[Any] = [repr(table.source), table.unit, *state]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def _private(self, name: str) -> Table:
        table = self._catalog.table(name)
        if table is None or not table.private:
            raise InvalidParameter("name", name, "a table of the catalog that has a unit")
        return table

    def _note(self, name: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"

    def _noted(self, name: str) -> Snapshot | None:
        """What is noted of a table's snapshot, if that is ours and whole."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            if not _is_ours(self.folder.lstat(), folder=True):
                return None
            opened = os.open(self._note(name), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(opened, "rb") as file:
                if not _is_ours(os.fstat(file.fileno())):
                    return None
                note = Snapshot(**json.loads(file.read(_LONGEST)))
            if note.table == name and _FILE.fullmatch(note.file):
                return note
        return None

    def _as_noted(self, note: Snapshot) -> Path | None:
        """The file of a snapshot, if it is the one that was written."""
        path = self.folder / note.file
        with suppress(OSError):
            seen = path.lstat()
            if _is_ours(seen) and seen.st_size == note.size and _ends(path) == note.ends:
                return path
        return None


def _new_file(path: Path) -> BinaryIO:
    """A file that was not there, open to nobody else."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _is_ours(seen: os.stat_result, *, folder: bool = False) -> bool:
    """Whether it is a plain file, or folder, of whoever runs this, and open to nobody else."""
    plain = stat.S_ISDIR(seen.st_mode) if folder else stat.S_ISREG(seen.st_mode)
    mine = not hasattr(os, "geteuid") or seen.st_uid == os.geteuid()
    return plain and mine and not seen.st_mode & _PRIVATE


def _named(note: Path, what: str) -> str:
    """The file or the table that a note names, whatever else is wrong with it."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return str(json.loads(note.read_text(encoding="utf-8"))[what])
    return ""


def _ends(path: Path) -> str:
    """A digest of the first and the last bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        digest.update(file.read(_ENDS))
        file.seek(max(0, os.fstat(file.fileno()).st_size - _ENDS))
        digest.update(file.read(_ENDS))
    return digest.hexdigest()
