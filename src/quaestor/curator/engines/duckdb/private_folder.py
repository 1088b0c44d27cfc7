"""A folder that nobody else can enter, for rows that do not fit into memory.

DuckDB would write them to ``.tmp`` in the current folder, in files that everybody can read.

Its owner holds a lock on it, which the system takes away from a process that was killed. So what
such a process left behind can be told from what is in use, and the next process deletes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["private_folder"]

_PREFIX: Final = "quaestor-rows-"


def private_folder(owner: object) -> str:
    """A new folder, deleted with its owner, or when this process ends; "" where none can be made.

    It is where ``TMPDIR`` says, or in the system's folder of temporary files.

    >>> import os
    >>> class Connection: ...
    >>> connection = Connection()
    >>> folder = private_folder(connection)
    >>> oct(os.stat(folder).st_mode & 0o777)
    '0o700'
    >>> del connection
    >>> os.path.exists(folder)
    False
    """
    with suppress(OSError):
        _delete_left(tempfile.gettempdir())
    try:
        folder, lock = _new_folder()
    except OSError:
        return ""
    weakref.finalize(owner, _delete, folder, lock, os.getpid())
    return folder


def _new_folder() -> tuple[str, int | None]:
    while True:
        folder = tempfile.mkdtemp(prefix=_PREFIX)
        try:
            return folder, _locked(folder)
        except (BlockingIOError, FileNotFoundError):  # taken for one that was left, and deleted
            continue
        except OSError:  # there are no such locks here, so nobody takes it for that
            return folder, None


def _locked(folder: str) -> int:
    """The open folder, on which we have the lock.

    Raises:
        BlockingIOError: somebody else has it.
        FileNotFoundError: the folder was deleted meanwhile.
        OSError: there are no such locks here.
    """
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.lstat(folder)
    except OSError:
        os.close(opened)
        raise
    return opened


@cache
def _delete_left(place: str) -> None:
    """Delete folders of our own whose process was killed; once a process is enough."""
    for path in Path(place).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if path.lstat().st_uid == os.geteuid():
                lock = _locked(str(path))
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _delete(folder: str, lock: int | None, process: int) -> None:
    """Delete the folder, but not in a child process, whose parent uses it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)
