"""Rows of text files in DuckDB's SQL: every field a text, and no row an error.

Nothing is guessed: types, separators or line ends would depend on what single rows hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quaestor.curator.engines.duckdb.dialect import DUCKDB

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PATH", "json_field", "read_fields", "read_lines"]

PATH: Final = "path of the file"
_LINE: Final = "line of the file"
_ALWAYS: Final = (
    "auto_detect = false, header = false, new_line = '\\n', ignore_errors = true, "
    # Otherwise a text of two lines is an error.
    "strict_mode = false, parallel = false, compression = 'none', encoding = 'utf-8', "
    f"hive_partitioning = false, filename = '{PATH}'"
)


def read_fields(files: str, names: Sequence[str], separator: str) -> str:
    """The rows of CSV files; a row with fewer fields has NULL in the others."""
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({files}, columns = {{{columns}}}, delim = {_text(separator)}, "
        "quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
        f"null_padding = true, {_ALWAYS})"
    )


def read_lines(files: str) -> str:
    """Lines as they are; a line of JSON holds no control characters, which separate nothing."""
    return (
        f"read_csv({files}, columns = {{'{_LINE}': 'VARCHAR'}}, delim = '\x1f', quote = '', "
        f"escape = '', nullstr = '', {_ALWAYS})"
    )


def json_field(name: str) -> str:
    """A field of a line that is a JSON object, as a text; NULL where it is absent or null.

    Objects and lists are the texts that they were written as.
    """
    pointer = _text("/" + name.replace("~", "~0").replace("/", "~1"))
    line = DUCKDB.name_of(_LINE)
    whole = f"CASE WHEN json_valid({line}) THEN {line} END"
    return f"TRY(json_extract_string({whole}, {pointer}))"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
