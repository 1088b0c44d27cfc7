"""A lock on a database file that lasts as long as we need it.

DuckDB locks the files that it attaches, but with locks that belong to the process: whoever in this
process closes the same file, another engine for example, gives them up for all. A lock of an open
file description belongs to that alone. It keeps everybody from writing who takes DuckDB's lock
first, in this process too.

To close a file gives up the process's other locks on it as well, so this lock is taken before
DuckDB opens the file, and let go after DuckDB has closed it.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import weakref
from pathlib import Path
from typing import Final

__all__ = ["ReadLock"]

_SET: Final = getattr(fcntl, "F_OFD_SETLK", None) if sys.platform == "linux" else None
_WHOLE_FILE: Final = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)


class ReadLock:
    """Nobody who takes locks writes to a file while this object exists.

    ``held`` is false where the system or the file system has no such locks, or where somebody has
    the file open for writing. Then nothing is promised.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     lock = ReadLock(file.name)
    ...     lock.held == (_SET is not None), lock.is_on(file.name)
    (True, True)
    """

    def __init__(self, path: str) -> None:
        opened = os.open(path, os.O_RDONLY)
        seen = os.fstat(opened)
        self._file = seen.st_dev, seen.st_ino
        # Not closed before this object goes, even if the lock fails: others' locks would go too.
        weakref.finalize(self, os.close, opened).atexit = False
        self.held = _SET is not None and _locked(opened)

    def is_on(self, path: str) -> bool:
        """Whether the path still leads to the file that is locked."""
        try:
            seen = Path(path).stat()
        except OSError:
            return False
        return self._file == (seen.st_dev, seen.st_ino)


def _locked(opened: int) -> bool:
    assert _SET is not None  # noqa: S101
    try:
        fcntl.fcntl(opened, _SET, _WHOLE_FILE)
    except OSError:
        return False
    return True
