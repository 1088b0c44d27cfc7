"""Whether the columns of files are still those that statements were written for.

Statements rely on types of columns, and on their places in text files. In a file that has taken the
place of another one, a column of another type could make a scan fail because of one person's value,
and a column in another place could be taken for the privacy unit.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from quaestor.curator.engines.schemas import SchemaChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["SeenFiles"]

_T = TypeVar("_T")


class SeenFiles(Generic[_T]):
    """Files whose columns were looked at; they are looked at again where a file has changed."""

    def __init__(self, paths: Sequence[str], look: Callable[[], _T]) -> None:
        self._paths, self._look = paths, look
        self._states = [_state(path) for path in paths]
        self.columns = look()

    def refuse_changed(self) -> None:
        """Look at the files before they are read.

        Raises:
            SchemaChanged: their columns are others than before, or cannot be told.
        """
        states = [_state(path) for path in self._paths]
        if states == self._states:
            return
        try:
            same = self._look() == self.columns
        except Exception:  # noqa: BLE001 (whatever it is, the columns cannot be told)
            same = False
        if not same:
            raise SchemaChanged from None
        self._states = states


def _state(path: str) -> tuple[int, ...] | None:
    try:
        seen = Path(path).stat()
    except OSError:
        return None
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
