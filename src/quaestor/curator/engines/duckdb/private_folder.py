"""A folder that nobody else can enter, for rows that do not fit into memory.

DuckDB would write them to ``.tmp`` in the current folder, in files that everybody can read.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref

__all__ = ["private_folder"]


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
    try:
        folder = tempfile.mkdtemp(prefix="quaestor-")
    except OSError:
        return ""
    weakref.finalize(owner, _delete, folder, os.getpid())
    return folder


def _delete(folder: str, process: int) -> None:
    """Delete the folder, but not in a child process, whose parent uses it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
