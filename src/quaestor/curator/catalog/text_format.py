"""How values are written in text files: the keys of ``[tables.NAME]`` that say so.

Nothing of it is guessed when a question is asked: what one row holds would decide how the rows of
others are read.
"""

from __future__ import annotations

import codecs
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from quaestor.curator.catalog.model import TextFormat, file_kind
from quaestor.curator.catalog.names import is_column_name
from quaestor.curator.catalog.sections import shown
from quaestor.curator.language.date_format import date_parts

if TYPE_CHECKING:
    from quaestor.curator.catalog.sections import Section

__all__ = [
    "ENCODINGS",
    "FORMAT_KEYS",
    "codec_of",
    "encoding_name",
    "format_values",
    "read_format",
]

FORMAT_KEYS: Final = tuple(each.name for each in fields(TextFormat))
"""The keys, which are options of ``dataset add`` too."""

# Of each no byte changes what the next line means: of many encodings of Asia one can.
_CODECS: Final = {
    "utf-8": "utf-8",
    "utf-16": "utf-16",
    "utf-16-le": "utf-16-le",
    "utf-16-be": "utf-16-be",
    "windows-1250": "cp1250",
    "windows-1251": "cp1251",
    "windows-1252": "cp1252",
    "windows-1253": "cp1253",
    "windows-1254": "cp1254",
    "windows-1257": "cp1257",
    "latin-1": "iso8859-1",
    **{f"iso-8859-{n}": f"iso8859-{n}" for n in (1, 2, 4, 5, 7, 9, 13, 15)},
    "cp850": "cp850",
    "cp437": "cp437",
}
ENCODINGS: Final = tuple(_CODECS)
"""The encodings that can be declared."""
_BY_CODEC: Final = {codecs.lookup(codec).name: name for name, codec in reversed(_CODECS.items())}

_MOST_WORDS = 100
_LONGEST_WORD = 100
_DATE_FORMATS = 'write  date_format = "%d.%m.%Y",  "%m/%d/%Y",  "%Y%m%d"'


def codec_of(encoding: str) -> str:
    """What Python calls an encoding that was declared."""
    return _CODECS[encoding]


def encoding_name(given: str) -> str | None:
    """The name that the catalog has for an encoding, however it was written; None for others.

    >>> encoding_name("CP1252"), encoding_name("latin1"), encoding_name("shift_jis")
    ('windows-1252', 'latin-1', None)
    """
    given = given.lower().removesuffix("-sig")
    if given in _CODECS:
        return given
    try:
        return _BY_CODEC.get(codecs.lookup(given).name)
    except LookupError:
        return None


def read_format(table: Section, files: str) -> TextFormat:
    """How the values of a section's text files are written."""
    encoding = table.text("encoding", remedy='write  encoding = "windows-1252"')
    found = TextFormat(
        separator=_one_character(table, "separator", 'write  separator = ";"  or  "\\t"'),
        encoding="utf-8" if encoding is None else _encoding(table, encoding),
        decimal=_one_character(table, "decimal", 'write  decimal = ","') or ".",
        thousands=_one_character(table, "thousands", 'write  thousands = "."'),
        date_format=_date_format(table),
        null=_null(table),
        header=_header(table),
        names=_names(table),
    )
    if found.decimal not in {".", ","}:
        problem = f"decimal must be a point or a comma, not {shown(found.decimal)}"
        raise table.wrong("decimal", problem, 'write  decimal = ","  for numbers such as 3,14')
    if found.thousands is not None and found.thousands in f"{found.decimal}+-eE":
        problem = f"thousands cannot be {shown(found.thousands)}, which means something else"
        remedy = 'write  decimal = ","  and  thousands = "."  for numbers such as 1.234,56'
        raise table.wrong("thousands", problem, remedy)
    _check_separator(table, found, files)
    _check_names(table, found)
    return found


def _check_separator(table: Section, found: TextFormat, files: str) -> None:
    lines = file_kind(files) == "jsonl"
    for key in ("separator", "header", "names"):
        if lines and key in table.values:
            raise table.wrong(key, f"{key} does not apply to JSON lines", "remove it")
    if found.separator in {'"', "\n", "\r"}:
        problem = f"the separator cannot be {shown(found.separator)}"
        raise table.wrong("separator", problem, 'write  separator = ";"')


def _check_names(table: Section, found: TextFormat) -> None:
    remedy = 'write  header = false  and  names = ["patient", "age"],  in the order of the file'
    if found.header and found.names:
        raise table.wrong("names", "the first line of the file names the columns", remedy)
    if not found.header and not found.names:
        raise table.wrong("header", "the names of the columns are missing", remedy)
    if len({name.lower() for name in found.names}) < len(found.names):
        raise table.wrong("names", "a name is listed twice", remedy)
    for name in found.names:
        if not is_column_name(name):
            raise table.wrong("names", f"{shown(name)} cannot be the name of a column", remedy)


def _one_character(table: Section, key: str, remedy: str) -> str | None:
    value = table.values.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) != 1 or value.isalnum() or value in "\0\n\r":
        problem = f"{key} must be one character that is not a letter or digit, not {shown(value)}"
        raise table.wrong(key, problem, remedy)
    return value


def _encoding(table: Section, given: str) -> str:
    name = encoding_name(given)
    if name is None:
        problem = f"{shown(given)} is not a supported encoding"
        some = "utf-8, windows-1252, latin-1, utf-16"
        remedy = f"write one such as {some}, or save the file as UTF-8"
        raise table.wrong("encoding", problem, remedy)
    return name


def _date_format(table: Section) -> str:
    value = table.text("date_format", remedy=_DATE_FORMATS)
    if value is None:
        return TextFormat().date_format
    if date_parts(value) is None:
        problem = (
            f"date_format must be made of %d, %m and %Y (or %y), each once, not {shown(value)}"
        )
        raise table.wrong("date_format", problem, _DATE_FORMATS)
    return value


def _null(table: Section) -> tuple[str, ...]:
    remedy = 'write  null = ["NA", "-"]'
    words = table.texts("null", remedy=remedy)
    if len(words) > _MOST_WORDS or any(len(w) > _LONGEST_WORD or "\0" in w for w in words):
        problem = f"null must be at most {_MOST_WORDS} texts of at most {_LONGEST_WORD} characters"
        raise table.wrong("null", problem, remedy)
    return tuple(dict.fromkeys(words))


def _header(table: Section) -> bool:
    return "header" not in table.values or table.truth("header", remedy="write  header = false")


def _names(table: Section) -> tuple[str, ...]:
    return table.texts("names", remedy='write  names = ["patient", "age"]')


def format_values(found: TextFormat) -> dict[str, Any]:
    """What differs from the usual, by key: what a catalog has to say."""
    usual = TextFormat()
    return {
        key: value for key in FORMAT_KEYS if (value := getattr(found, key)) != getattr(usual, key)
    }
