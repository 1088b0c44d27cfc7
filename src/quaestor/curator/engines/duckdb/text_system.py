"""Text files for DuckDB, handed over as streams in UTF-8 whose every line is a row."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

from quaestor.curator.engines.text_files import TextStream

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import TextFormat

__all__ = ["PROTOCOL", "TextSystem"]

PROTOCOL = "quaestortext"
_ADDRESS = re.compile(rf"(?:{PROTOCOL}://)?([0-9]+)(/.*)", re.DOTALL)
_ENDLESS = 2**50  # of a stream nobody knows the length before its end; DuckDB reads that far


@dataclass(frozen=True, slots=True)
class _Format:
    encoding: str
    skip_header: bool


class TextSystem(AbstractFileSystem):  # type: ignore[misc]  # it has no types
    """A file system whose files are the text files of tables, each in its declared encoding."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self._formats: list[_Format] = []

    def addresses(self, paths: list[str], form: TextFormat, *, lines: bool) -> list[str]:
        """What DuckDB is to call these files; each address means one file and no pattern."""
        known = _Format(form.encoding, form.header and not lines)
        if known not in self._formats:
            self._formats.append(known)
        number = self._formats.index(known)
        return [f"{PROTOCOL}://{number}{path}" for path in paths]

    def _found(self, address: str) -> tuple[_Format, str]:
        match = _ADDRESS.fullmatch(address)
        if match is None:
            raise FileNotFoundError
        return self._formats[int(match[1])], match[2]

    def open(self, path: str, mode: str = "rb", **_options: Any) -> TextStream:
        """A stream of the file."""
        if mode != "rb":
            raise PermissionError
        form, file = self._found(path)
        return TextStream(file, form.encoding, skip_header=form.skip_header)

    def glob(self, path: str, **_options: Any) -> list[str]:
        """The file itself, whatever characters its name has."""
        return [path]

    def exists(self, path: str, **_options: Any) -> bool:
        """Whether it is there."""
        return self.isfile(path)

    def isfile(self, path: str) -> bool:
        """Whether it is a file."""
        return Path(self._found(path)[1]).is_file()

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        """What is known of it."""
        return {"name": path, "size": _ENDLESS, "type": "file"}

    def size(self, path: str) -> int:
        """More than it has."""
        del path
        return _ENDLESS

    def modified(self, path: str) -> dt.datetime:
        """When it was last written."""
        return dt.datetime.fromtimestamp(Path(self._found(path)[1]).stat().st_mtime, tz=dt.UTC)
