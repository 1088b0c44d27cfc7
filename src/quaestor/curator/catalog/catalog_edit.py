"""Changing a table in a catalog that is there already: its lines, and as few of them as can be.

The text is read again before it is written: unless it says of the table what is wanted, and of
everything else what it said before, the file stays as it is.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.curator.catalog.catalog_file import catalog_from_toml, read_text
from quaestor.curator.catalog.catalog_text import column_to_toml, table_to_toml, tuned_to_toml
from quaestor.curator.catalog.sections import lines_of
from quaestor.errors import InvalidCatalog

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog, Table

__all__ = ["declared_anew", "replace_table"]

_VALUE = re.compile(r"""(\s*(?:"[^"]*"|'[^']*'|[\w-]+)\s*=\s*)(.*?)(\s+\#[^"'\]}]*)?(\r?\n?)$""")


def replace_table(path: Path, table: Table) -> Catalog:
    """Write what a table of a catalog is from now on, in place of what it was.

    Lines of values that change are changed, comments beside them stay. Where that is not possible
    (a section that is written in an unusual way, other columns) the whole section is written anew.

    Raises:
        InvalidCatalog: the file is wrong, has no such table, or cannot be changed by program.
    """
    text = read_text(path)
    known = catalog_from_toml(text, file=str(path), folder=str(path.parent))
    if known.table(table.name) is None:
        raise _refused(path, f"there is no table {table.name!r}", "see  dataset list")
    wanted = replace(
        known, tables=tuple(table if t.name == table.name else t for t in known.tables)
    )
    for edited in (_by_line(text, table, known), _by_section(text, table)):
        with suppress(InvalidCatalog, ValueError):
            made = catalog_from_toml(edited, file=str(path), folder=str(path.parent))
            if made == wanted:
                _write(path, edited)
                return made
    raise _refused(
        path,
        f"the section of {table.name!r} cannot be edited automatically",
        f"edit it by hand:  {table_to_toml(table)}",
    )


def declared_anew(path: Path, table: Table, before: Table) -> Table:
    """A table that is declared anew, with what no option says, and what still is as it was.

    Its columns are as a catalog reads them: with the steps of numbers that only have bounds.

    Raises:
        InvalidCatalog: what is declared is wrong.
    """
    try:
        alone = catalog_from_toml(table_to_toml(table), file=str(path), folder=str(path.parent))
    except InvalidCatalog as error:
        raise _refused(path, f"nothing was changed: {error.problem}", error.remedy) from None
    table = alone.table(table.name) or table
    same = {c.name for c in table.columns if before.column(c.name) == c}
    if table.contribution == before.contribution:
        same |= {"rows", "groups"}
    kept = tuple(each for each in before.tuned if same.issuperset(each.limits))
    return replace(table, name=before.name, blocks=before.blocks, tuned=kept)


def _by_line(text: str, table: Table, known: Catalog) -> str:
    """The text with the lines of what differs changed."""
    before, places = known.table(table.name), lines_of(text)
    lines = text.splitlines(keepends=True)
    end = "\r\n" if "\r\n" in text else "\n"
    if before is None or [c.name for c in before.columns] != [c.name for c in table.columns]:
        return ""
    changed: dict[tuple[str, ...], str] = {}
    for new, old in zip(table.columns, before.columns, strict=True):
        if new != old:
            changed["columns", new.name] = column_to_toml(new)
    if table.contribution is not None and table.contribution != before.contribution:
        changed["rows",] = str(table.contribution.rows)
        changed["groups",] = str(table.contribution.groups)
    if table.tuned != before.tuned:
        changed["tuned",] = tuned_to_toml(table.tuned)
    for place, value in changed.items():
        at = places.get(("tables", table.name, *place))
        if at is not None:
            lines[at - 1] = _with(lines[at - 1], value)
    header = places.get(("tables", table.name))
    if header is not None and ("tables", table.name, "tuned") not in places and table.tuned:
        lines.insert(header, f"tuned = {tuned_to_toml(table.tuned)}{end}")
    return "".join(lines)


def _with(line: str, value: str) -> str:
    found = _VALUE.fullmatch(line)
    return line if found is None else f"{found[1]}{value}{found[3] or ''}{found[4]}"


def _by_section(text: str, table: Table) -> str:
    """The text with the whole section written anew; comments in front of the next one stay."""
    places = lines_of(text)
    own = ("tables", table.name)
    start = places.get(own)
    if start is None:
        return ""
    later = [line for place, line in places.items() if place[:2] != own and line > start]
    lines = text.splitlines(keepends=True)
    end = min(later, default=len(lines) + 1)
    while end - 2 >= start and lines[end - 2].strip()[:1] in {"", "#"}:
        end -= 1
    section = table_to_toml(table)
    if "\r\n" in text:
        section = section.replace("\n", "\r\n")
    return "".join([*lines[: start - 1], section, *lines[end - 1 :]])


def _write(path: Path, text: str) -> None:
    """All of it or nothing, in one step."""
    there = path.resolve()
    try:
        handle, name = tempfile.mkstemp(dir=there.parent, prefix=f".{there.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(text.encode())
                stream.flush()
                os.fsync(stream.fileno())
            shutil.copymode(there, name)
            Path(name).replace(there)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise _refused(path, problem, "make the file and its folder writable") from None


def _refused(path: Path, problem: str, remedy: str) -> InvalidCatalog:
    return InvalidCatalog(file=str(path), line=None, problem=problem, remedy=remedy)
