"""Lines of CSV files that are not read at all: other bytes, or another number of fields."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.curator.engines.files import found, kind_of, named_columns, pattern_of
from quaestor.curator.engines.text_files import TextStream, separator_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.curator.catalog.model import Catalog, Table, TextFormat

__all__ = ["TextLines", "text_lines"]

_LONGEST_FIELD = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLines:
    """What the lines of a table's CSV files are like, header lines left out."""

    records: int
    """Rows, as a reader that drops nothing finds them."""
    undecodable: int
    """Of them, those that are not in the declared encoding."""
    ragged: int
    """Those with another number of fields than the header."""
    first_undecodable: int | None
    """The first such line, from 1 in its file."""
    first_ragged: tuple[int, int, int] | None
    """The first such line, its number of fields, and the header's."""
    other_separator: str | None = None
    """What stands between the names of the header oftener than the declared separator."""


def text_lines(catalog: Catalog, table: Table) -> TextLines | None:
    """Read the table's CSV files as text; None if it is not made of such files."""
    if (
        table.source.files is None
        or "://" in table.source.files
        or kind_of(table) not in {"csv", "tsv"}
    ):
        return None
    records = undecodable = ragged = 0
    first_undecodable: int | None = None
    first_ragged: tuple[int, int, int] | None = None
    other: str | None = None
    form, mark = table.source.format, separator_of(table.source)
    for path in found(table, pattern_of(catalog, table)):
        names = named_columns(table, [path])
        other = other or (_other_separator(names, mark) if form.header else None)
        for line, fields in _records(path, mark, form):
            records += 1
            if any("\ufffd" in field for field in fields):
                undecodable += 1
                first_undecodable = first_undecodable or line
            if len(fields) != len(names):
                ragged += 1
                first_ragged = first_ragged or (line, len(fields), len(names))
    return TextLines(
        records=records,
        undecodable=undecodable,
        ragged=ragged,
        first_undecodable=first_undecodable,
        first_ragged=first_ragged,
        other_separator=other,
    )


def _other_separator(names: list[str], mark: str) -> str | None:
    line = mark.join(names)
    most = max((each for each in ",;\t|" if each != mark), key=line.count)
    return most if line.count(most) > line.count(mark) else None


def _records(path: str, mark: str, form: TextFormat) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(min(_LONGEST_FIELD, sys.maxsize))
    stream = TextStream(path, form.encoding, skip_header=form.header)
    with io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8", newline="\n") as file:
        reader = csv.reader(file, delimiter=mark)
        try:
            for fields in reader:
                if fields:
                    yield reader.line_num + form.header, fields
        except csv.Error:  # a field of a million characters: the rest is not looked at
            return
