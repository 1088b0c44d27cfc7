"""What ``dataset add`` sees of text files on the owner's machine, and says to the owner alone.

What it takes into the catalog by itself follows from the first line and from the mark of the
encoding. That bytes are in the declared encoding is checked to the end; no value is shown.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import json
import os
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.curator.catalog.model import file_kind
from quaestor.curator.catalog.text_format import codec_of
from quaestor.curator.engines.schemas import refuse
from quaestor.curator.engines.text_files import TextStream, column_names, opened, separator_of

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Source

__all__ = ["file_paths", "fitted", "text_columns"]

_PIECE = 1 << 20
_SEPARATORS = (",", ";", "\t", "|")
_WORDS = {"\t": "tabulators", ";": "semicolons", ",": "commas", "|": "bars"}
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_UNPACKED = (OSError, EOFError, zlib.error, gzip.BadGzipFile)


def file_paths(source: Source, folder: str | Path) -> list[str]:
    """The files that the catalog means, in the order of their names; there is at least one."""
    pattern = os.path.join(folder, source.files or "")  # noqa: PTH118  # Path would eat "//"
    exact = [pattern] if Path(pattern).is_file() else []
    found = exact or sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
    found = [name for name in found if Path(name).is_file()]
    if not found:
        refuse(source, "there is no such file", "correct the name; it is relative to the catalog")
    return found


def fitted(source: Source, folder: str | Path) -> tuple[Source, list[str]]:
    """The source with what its files say of themselves, and what the owner should know of it."""
    notes: list[str] = []
    paths = file_paths(source, folder)
    source = _with_mark(source, paths[0], notes)
    for path in paths:
        _check_bytes(source, path)
    if file_kind(source.files or "") == "jsonl":
        return source, notes
    source = _with_separator(source, paths[0], notes)
    if source.format.header:
        _check_headers(source, paths, notes)
        return source, notes
    names = source.format.names or tuple(
        f"column{place}" for place, _ in enumerate(_fields(source, paths[0]), 1)
    )
    return replace(source, format=replace(source.format, names=names)), notes


def text_columns(source: Source, folder: str | Path) -> list[str]:
    """The names of the columns of text files: by their first lines, or as declared."""
    path = file_paths(source, folder)[0]
    if file_kind(source.files or "") == "jsonl":
        return _keys(source, path)
    names = column_names(path, source.format, separator_of(source))
    if not names:
        refuse(source, "its first line cannot be read", "it holds the names of the columns")
    return names


def _with_mark(source: Source, path: str, notes: list[str]) -> Source:
    start = _start(source, path)
    if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        remedy = "open it in the spreadsheet program and save it as  CSV UTF-8"
        refuse(source, "this is a spreadsheet or an archive, and not a text file", remedy)
    for mark, encoding in _MARKS:
        if start.startswith(mark) and source.format.encoding == "utf-8":
            notes.append(f'it is in UTF-16, as its first bytes say: encoding = "{encoding}"')
            return replace(source, format=replace(source.format, encoding=encoding))
    if b"\0" in start[:200] and source.format.encoding == "utf-8":
        refuse(source, "it is not in UTF-8", "add  --encoding utf-16-le  (or utf-16-be)")
    if not start.strip():
        refuse(source, "the file is empty", "it needs a line with the names of the columns")
    return source


def _start(source: Source, path: str) -> bytes:
    try:
        with opened(path) as file:
            return file.read(_PIECE)
    except _UNPACKED:
        refuse(
            source, "the file cannot be read", "check that it is complete and that you may read it"
        )


def _check_bytes(source: Source, path: str) -> None:
    """All of the file is in its encoding, and its lines end."""
    encoding = source.format.encoding
    decoder = codecs.getincrementaldecoder(codec_of(encoding))(errors="strict")
    breaks = feeds = False
    try:
        with opened(path) as file:
            while piece := file.read(_PIECE):
                text = decoder.decode(piece)
                breaks, feeds = breaks or "\r" in text, feeds or "\n" in text
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        others = [one for one in ("windows-1252", "utf-8", "utf-16") if one != encoding]
        typed = f"add  --encoding {others[0]}" if encoding == "utf-8" else f"try {others[0]}"
        refuse(
            source,
            f"{Path(path).name} contains bytes that are not valid {encoding}",
            f"{typed}  (what Excel writes in Western Europe), or save the file as UTF-8",
        )
    except _UNPACKED:
        refuse(source, "the file cannot be unpacked", "it is damaged or truncated: copy it again")
    if breaks and not feeds:
        refuse(
            source,
            f"the lines of {Path(path).name} end in carriage returns alone",
            "save it with the line ends of Windows or Unix",
        )


def _fields(source: Source, path: str, separator: str | None = None) -> list[str]:
    """The fields of the first line that is not empty."""
    try:
        with TextStream(path, source.format.encoding, skip_header=False) as stream:
            line = io.StringIO(stream.header(), newline="")
        return next(csv.reader(line, delimiter=separator or separator_of(source)), [])
    except (csv.Error, *_UNPACKED):
        return []


def _with_separator(source: Source, path: str, notes: list[str]) -> Source:
    if len(_fields(source, path)) > 1:
        return source
    counts = {one: len(_fields(source, path, one)) for one in _SEPARATORS}
    likely = max(_SEPARATORS, key=lambda one: counts[one])
    if counts[likely] < 2:
        return source
    typed = "$'\\t'" if likely == "\t" else f"'{likely}'"
    if source.format.separator is not None:
        problem = "its first line has one field only, by the separator that you gave"
        refuse(source, problem, f"write  --separator {typed}")
    notes.append(f"its fields are separated by {_WORDS[likely]}; using  --separator {typed}")
    return replace(source, format=replace(source.format, separator=likely))


def _check_headers(source: Source, paths: list[str], notes: list[str]) -> None:
    given = _fields(source, paths[0])
    names = column_names(paths[0], source.format, separator_of(source)) or []
    if not names:
        refuse(source, "its first line cannot be read", "it holds the names of the columns")
    for place, (said, name) in enumerate(zip(given, names, strict=True), 1):
        if not said.strip():
            notes.append(f"column {place} has no name in the first line; its name is now {name}")
        elif said.lower() in {each.lower() for each in names if each != name}:
            notes.append(f"column {place} has the name of another, {said}; its name is now {name}")
        elif said != name:
            notes.append(f"the name of column {place} is not allowed; its name is now {name}")
    for path in paths[1:]:
        if column_names(path, source.format, separator_of(source)) != names:
            refuse(
                source,
                (f"the first line of {Path(path).name} differs from that of {Path(paths[0]).name}"),
                "write all files with the same columns in the same order",
            )


def _keys(source: Source, path: str) -> list[str]:
    with TextStream(path, source.format.encoding, skip_header=False) as stream:
        line = stream.header()
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        first = None
    if not isinstance(first, dict) or not first:
        remedy = 'write one object per line, such as  {"patient": 1, "age": 40},  not a list'
        refuse(source, "its first line is not a JSON object", remedy)
    return list(first)
