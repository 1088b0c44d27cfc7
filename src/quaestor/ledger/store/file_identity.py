"""The file under a ledger: is it still the one that was opened, whole, and under one name?

Nothing here opens the file, its log or its index: to close one of them would drop the locks that
SQLite holds on it for this process (https://sqlite.org/howtocorrupt.html, section 2.2).
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from quaestor.ledger.store.driver_errors import unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NETWORK", "FileWatch", "file_system", "refuse_network"]

NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "9p", "ceph", "lustre", "gfs2"),
        *("glusterfs", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse"),
        *("fuse.ceph", "fuse.davfs2", "davfs", "ocfs2", "vboxsf", "fuse.vmhgfs-fuse"),
    }
)
"""File systems of other machines: SQLite's locks and its shared index do not reach across."""

_MOUNTS = Path("/proc/self/mounts")


class _Seen(NamedTuple):
    """What the kernel says of the file and of its log."""

    modified: int
    size: int
    log: int | None
    """The size of the write-ahead log; None if there is none."""

    def changed(self, before: _Seen) -> str:
        """What is not as it was: the ``log``, which may only grow, or the ``file``, or nothing."""
        if self.log is None or before.log is None or self.log < before.log:
            return "log"
        return "" if (self.modified, self.size) == (before.modified, before.size) else "file"


class FileWatch:
    """Remembers a file by what does not change while it is the same one."""

    def __init__(self, path: Path) -> None:
        """Remember the file as it is now."""
        self._path, self._log = str(path), f"{path}-wal"
        found = path.stat()
        self._place = (found.st_dev, found.st_ino)
        self._seen = self._now(found)

    @contextmanager
    def checked(self) -> Iterator[str]:
        """Refuse another file, or one with two names; what must be looked at anew, if anything.

        It counts as seen when the block is over: until then every thread is told of it.
        """
        seen = self._now(self.confirm())
        yield seen.changed(self._seen)
        self._seen = seen

    def written(self) -> None:
        """See that what was just written is under the file's name, and how long the log is now."""
        before = self._seen
        self._seen = _Seen(before.modified, before.size, self._now(self.confirm()).log)

    def confirm(self) -> os.stat_result:
        """Refuse another file, or one with two names."""
        try:
            found = os.stat(self._path)  # noqa: PTH116  # half as long as Path.stat, and often
        except OSError:
            raise unavailable("replaced") from None
        if (found.st_dev, found.st_ino) != self._place:
            raise unavailable("replaced")
        if found.st_nlink != 1:
            raise unavailable("second_name")
        return found

    def _now(self, found: os.stat_result) -> _Seen:
        try:
            log: int | None = os.stat(self._log).st_size  # noqa: PTH116  # see above
        except OSError:
            log = None
        return _Seen(found.st_mtime_ns, found.st_size, log)


def file_system(path: Path, mounts: str) -> str:
    """The type of the file system that holds a path, by the kernel's table of mounts."""
    kind, longest = "", -1
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:  # device, place, type
            continue
        place = Path(fields[1].encode().decode("unicode_escape"))
        if path.is_relative_to(place) and len(place.parts) >= longest:
            kind, longest = fields[2], len(place.parts)
    return kind


def refuse_network(path: Path) -> None:
    """Refuse a file on another machine, where that can be seen."""
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return  # not Linux: nobody can tell
    if file_system(path, mounts) in NETWORK:
        raise unavailable("network")
