"""Writing catalogs: the file one starts with, and tables that are added to it.

A file that is there already is only ever appended to: whatever its owner wrote, comments and all,
stays as it is.
"""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

from quaestor.curator.catalog.catalog_file import CATALOG, catalog_from_toml, read_text
from quaestor.curator.catalog.columns import plain
from quaestor.curator.catalog.model import engine_kind
from quaestor.curator.catalog.text_format import format_values
from quaestor.errors import InvalidCatalog

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table, TunedLimits
    from quaestor.curator.language.expressions import Kind, Value

__all__ = [
    "STARTER",
    "add_table",
    "column_to_toml",
    "table_to_toml",
    "tuned_to_toml",
    "write_starter",
]

STARTER = """\
# The tables that Quaestor answers questions about. Everything in this file is public: write only
# what is known without looking at the data. Do not put passwords here; addresses of servers come
# from environment variables.

# The ledger of spent budgets: a file beside this one, or a PostgreSQL server whose address is in
# an environment variable:  ledger = { environment = "LEDGER_DATABASE" }
ledger = "ledger.db"

# A private table. "quaestor dataset add" writes such a section from the table's schema.
#
# [tables.visits]
# file = "visits.parquet"       # or: database = "clinic.duckdb", environment = "CLINIC_DATABASE"
# unit = "patient"              # the privacy unit: the column that identifies a person
# rows = 20                     # at most 20 rows of one patient count in a group
# groups = 5                    # and in at most 5 groups
#
# [tables.visits.columns]
# patient = "integer"
# age = { kind = "integer", low = 0, high = 120 }
# sex = { kind = "text", keys = ["F", "M"] }

# A budget: the most that all answers together may cost, for all analysts.
#
# [accounts.research]
# epsilon = 1.0
# delta = 1e-6
# datasets = ["visits"]
"""


def write_starter(folder: Path) -> Path:
    """Write a commented catalog into a folder, which is made if need be; never over another."""
    path = folder / CATALOG
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(STARTER)
    except FileExistsError:
        there = path.exists() or path.is_symlink()
        problem = "a catalog already exists" if there else "a file of that name exists"
        raise _unwritable(path, problem, "edit it, or name another folder") from None
    except (OSError, ValueError) as error:
        reason = (
            error.strerror if isinstance(error, OSError) else None
        ) or "this is not a valid name"
        raise _unwritable(path, f"cannot be written ({reason})", "name another folder") from None
    return path


def add_table(path: Path, table: Table) -> Catalog:
    """Append a table to a catalog; nothing is written unless all of it can be read then.

    Raises:
        InvalidCatalog: the file is wrong, the table's name is taken, or what is declared is wrong.
    """
    text = read_text(path)
    known = catalog_from_toml(text, file=str(path), folder=str(path.parent))
    if known.table(table.name) is not None:
        problem = f"table {table.name!r} already exists"
        raise _unwritable(
            path, problem, "choose another name, add --replace, or edit its section in the file"
        )
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    added = (gap + table_to_toml(table)).replace("\n", end)
    try:
        whole = catalog_from_toml(text + added, file=str(path), folder=str(path.parent))
    except InvalidCatalog as error:
        raise _unwritable(path, f"nothing was added: {error.problem}", error.remedy) from None
    try:
        _append(path, added.encode())
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise _unwritable(path, problem, "make it writable") from None
    return whole


def _append(path: Path, content: bytes) -> None:
    """All of it, or nothing: half a section would be a wrong catalog."""
    with path.open("ab", buffering=0) as stream:
        size = stream.tell()
        if stream.write(content) != len(content):
            stream.truncate(size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _unwritable(path: Path, problem: str, remedy: str) -> InvalidCatalog:
    return InvalidCatalog(file=str(path), line=None, problem=problem, remedy=remedy)


def table_to_toml(table: Table) -> str:
    """The table as a section of a catalog; reading it gives the same table."""
    lines = [f"[tables.{_key(table.name)}]", *_source(table.source)]
    if table.unit is None:
        lines.append("public = true")
    else:
        lines.append(f"unit = {_text(table.unit)}")
    if table.contribution is not None:
        lines.append(f"rows = {table.contribution.rows}")
        lines.append(f"groups = {table.contribution.groups}")
    if table.total_rows is not None:
        lines.append(f"total_rows = {table.total_rows}")
    outer = ("outer_rows", "outer_groups", "outer_total_rows")
    lines += [f"{name} = {most}" for name in outer if (most := getattr(table, name)) is not None]
    if table.dataset is not None and table.dataset != table.name:
        lines.append(f"dataset = {_text(table.dataset)}")
    if table.blocks is not None:
        date, every = _text(table.blocks.date), _text(table.blocks.every)
        lines.append(f"blocks = {{ date = {date}, every = {every} }}")
    if table.tuned:
        lines.append(f"tuned = {tuned_to_toml(table.tuned)}")
    lines.extend(["", f"[tables.{_key(table.name)}.columns]"])
    lines.extend(f"{_key(column.name)} = {column_to_toml(column)}" for column in table.columns)
    return "\n".join(lines) + "\n"


def _source(source: Source) -> list[str]:
    named = engine_kind(source.engine).written(source)
    placed = [f"{key} = {_text(value)}" for key, value in named.items() if value is not None]
    written = format_values(source.format).items()
    return placed + [f"{key} = {_format_value(value)}" for key, value in written]


def _format_value(value: str | bool | tuple[str, ...]) -> str:  # noqa: FBT001  # as it is declared
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else f"[{', '.join(map(_text, value))}]"


def tuned_to_toml(tuned: tuple[TunedLimits, ...]) -> str:
    """What paid for limits that were chosen privately, as the catalog keeps it."""
    each = (
        f"{{ account = {_text(one.account)}, receipt = {one.receipt}, "
        f"limits = [{', '.join(map(_text, one.limits))}] }}"
        for one in tuned
    )
    return f"[{', '.join(each)}]"


def column_to_toml(column: ColumnFacts) -> str:
    """The facts about a column, as the catalog has them behind its name."""
    facts = {"kind": _text(column.kind)}
    for name in ("low", "high", "granularity", "outer_low", "outer_high"):
        number = getattr(column, name)
        if number is not None and not (name == "granularity" and _is_default(column)):
            facts[name] = plain(number)
    if column.keys is not None:
        keys = [key for key in column.keys if key is not None]
        facts["keys"] = f"[{', '.join(_value(key, column.kind) for key in keys)}]"
        if len(keys) < len(column.keys):
            facts["missing"] = "true"
    if len(facts) == 1:
        return facts["kind"]
    return f"{{ {', '.join(f'{name} = {value}' for name, value in facts.items())} }}"


def _is_default(column: ColumnFacts) -> bool:
    """Whole numbers need not say that they are."""
    return column.kind == "integer" and column.granularity == 1.0


def _value(value: Value, kind: Kind) -> str:
    if kind in {"date", "timestamp"}:
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    """A text in quotes: TOML escapes as JSON does, and one character more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if bare else _text(name)
