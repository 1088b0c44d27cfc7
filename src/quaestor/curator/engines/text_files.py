"""Text files as the catalog declares them: their lines in UTF-8, and the names in their first line.

Only a line feed ends a line, with or without a carriage return before it. A carriage return alone
is a blank: programs write it without quotes, and it would begin a row that nobody wrote. A byte
that is none in the declared encoding becomes the character U+FFFD, and changes no other.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from typing import IO, TYPE_CHECKING, Any, cast

from quaestor.curator.catalog.model import file_kind
from quaestor.curator.catalog.text_format import codec_of

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Source, TextFormat

__all__ = ["TextStream", "column_names", "opened", "separator_of"]

_PIECE = 1 << 20
_LONGEST_HEADER = 1 << 20
_MARK = "\ufeff"


def opened(path: str) -> IO[bytes]:
    """The bytes of a file, unpacked."""
    if path.lower().endswith(".gz"):
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return open(path, "rb")  # noqa: PTH123  # the stream closes it


def separator_of(source: Source) -> str:
    """What stands between the fields: as declared, or by the name of the file."""
    usual = "\t" if file_kind(source.files or "") == "tsv" else ","
    return source.format.separator or usual


class TextStream(io.RawIOBase):
    """The lines of a file in UTF-8, each ended by a line feed; ``skip`` leaves the header out.

    It can be read once from the beginning to the end, and be set back to the beginning.
    """

    def __init__(self, path: str, encoding: str, *, skip_header: bool) -> None:
        super().__init__()
        self._path, self._skip = path, skip_header
        self._codec = codecs.getincrementaldecoder(codec_of(encoding))
        self._file: IO[bytes] | None = None
        self._restart()

    def _restart(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = opened(self._path)
        self._decoder = self._codec(errors="replace")
        self._waiting, self._held = b"", ""
        self._at, self._first, self._ended = 0, True, False
        if self._skip:
            self.header()

    def header(self) -> str:
        """The first line that is not empty, with the lines that its quotes hold together."""
        line = ""
        while not self._ended or self._waiting:
            piece = self._line(_LONGEST_HEADER - len(line))
            line += piece
            if line.strip("\n") == "":
                line = ""
            elif line.count('"') % 2 == 0 or len(line) >= _LONGEST_HEADER or not piece:
                break
        return line

    def _line(self, most: int) -> str:
        while b"\n" not in self._waiting[:most] and len(self._waiting) < most and not self._ended:
            self._fill()
        end = self._waiting.find(b"\n", 0, most)
        end = min(most, len(self._waiting)) if end < 0 else end + 1
        line, self._waiting = self._waiting[:end], self._waiting[end:]
        return line.decode("utf-8", errors="replace")

    def _fill(self) -> None:
        file = cast("IO[bytes]", self._file)
        piece = file.read(_PIECE)
        text = self._held + self._decoder.decode(piece, final=not piece)
        self._held, self._ended = "", not piece
        if self._first and text:
            text, self._first = text.removeprefix(_MARK), False
        if "\r" in text:
            if text.endswith("\r") and piece:  # a line feed may follow
                text, self._held = text[:-1], "\r"
            text = text.replace("\r\n", "\n").replace("\r", " ")
        self._waiting += text.encode("utf-8", errors="replace")

    # What readers of files ask for

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """To the beginning, and to where it is."""
        return True

    def tell(self) -> int:
        """How many bytes were read."""
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        """Back to the beginning."""
        if whence != 0 or offset not in {0, self._at}:
            raise io.UnsupportedOperation("seek")
        if offset != self._at:
            self._restart()
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as there are bytes."""
        given = self.read(len(buffer))
        buffer[: len(given)] = given
        return len(given)

    def read(self, size: int = -1) -> bytes:
        """So many bytes; fewer only at the end."""
        while not self._ended and (size < 0 or len(self._waiting) < size):
            self._fill()
        size = len(self._waiting) if size < 0 else size
        given, self._waiting = self._waiting[:size], self._waiting[size:]
        self._at += len(given)
        return given

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        super().close()


def column_names(path: str, form: TextFormat, separator: str) -> list[str] | None:
    """The names of a CSV file's columns, all different; None where the first line is none.

    A column without a name is called by its place, ``column3``; a second ``x`` is ``x_2``.
    """
    if not form.header:
        return list(form.names)
    try:
        with TextStream(path, form.encoding, skip_header=False) as stream:
            line = stream.header()
        given = next(csv.reader(io.StringIO(line, newline=""), delimiter=separator), [])
    except (OSError, EOFError, csv.Error, gzip.zlib.error):  # type: ignore[attr-defined]
        return None
    return _different(given) if len(line) < _LONGEST_HEADER else None


def _different(given: list[str]) -> list[str]:
    names: dict[str, str] = {}
    taken = {name.lower() for name in given}
    for place, name in enumerate(given, 1):
        # Line breaks in a name cannot be typed; blanks are left as they are.
        plain = name if name.isprintable() else " ".join(name.split())
        plain = plain if plain.strip() else f"column{place}"
        chosen, count = plain, 1
        while chosen.lower() in names or (chosen != name and chosen.lower() in taken):
            count += 1
            chosen = f"{plain}_{count}"
        names[chosen.lower()] = chosen
    return list(names.values())
