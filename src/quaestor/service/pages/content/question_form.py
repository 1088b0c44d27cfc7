"""Questions for people who do not write SQL: a figure of a table, by groups, of some rows."""

from __future__ import annotations

import re
from typing import Any

from starlette.datastructures import FormData

from quaestor.errors import InvalidParameter
from quaestor.service.pages.content.form_fields import text_of

__all__ = ["COMPARISONS", "COUNTS", "FIGURES", "completion_words", "sql_of"]

FIGURES = {
    "rows": "number of rows",
    "units": "number of people or other units",
    "avg": "average of a column",
    "sum": "sum of a column",
    "median": "median of a column",
    "stddev": "standard deviation of a column",
}
COUNTS = ("rows", "units")
"""The figures whose accuracy can be chosen without knowing their size."""
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_OF_COLUMN = {"avg": "AVG", "sum": "SUM", "median": "MEDIAN", "stddev": "STDDEV"}
_WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "COUNT(*)", "COUNT(DISTINCT ", "SUM(", "AVG("),
    *("MEDIAN(", "STDDEV(", "AND", "OR", "BETWEEN", "IN ("),
)
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_NUMBERS = {"integer", "real"}
_TRUE, _FALSE = {"true", "yes", "1"}, {"false", "no", "0"}


def sql_of(form: FormData, tables: list[dict[str, Any]]) -> str:
    """The SQL of what was chosen.

    Raises:
        InvalidParameter: something that does not go together, or is not declared.
    """
    table = _chosen("table", text_of(form, "table"), {each["table"]: each for each in tables})
    columns = {each["name"]: each for each in table["columns"]}
    figure, column = text_of(form, "figure"), text_of(form, "column")
    keys = [name for name in form.getlist("group") if isinstance(name, str)]
    for key in keys:
        _chosen("group", key, columns)
    if figure in _OF_COLUMN:
        _chosen("column", column, columns)
        wanted = f"{_OF_COLUMN[figure]}({_name(column)}) AS {_name(f'{figure}_{column}')}"
    elif figure == "units" and table["unit"]:
        wanted = f"COUNT(DISTINCT {_name(table['unit'])}) AS units"
    else:
        wanted = 'COUNT(*) AS "rows"'
    listed = ", ".join([*map(_name, keys), wanted])
    where = _condition(form, columns)
    groups = f"\nGROUP BY {', '.join(map(_name, keys))}" if keys else ""
    return f"SELECT {listed}\nFROM {_name(table['table'])}{where}{groups}"


def _condition(form: FormData, columns: dict[str, Any]) -> str:
    name, sign = text_of(form, "filter_column"), text_of(form, "filter_sign")
    value = text_of(form, "filter_value")
    if not name:
        return ""
    kind = _chosen("filter_column", name, columns)["kind"]
    if sign not in COMPARISONS:
        raise InvalidParameter("filter_sign", sign, f"one of {' '.join(COMPARISONS)}")
    if kind in _NUMBERS:
        if not _NUMBER.fullmatch(value):
            raise InvalidParameter("filter_value", value, f"a number, as {name} is one")
        written = value
    elif kind == "boolean":
        if value.lower() not in _TRUE | _FALSE:
            raise InvalidParameter(
                "filter_value", value, f"true or false, as {name} is one of them"
            )
        written = "TRUE" if value.lower() in _TRUE else "FALSE"
    else:
        quoted = value.replace("'", "''")
        written = f"{kind.upper()} '{quoted}'" if kind in {"date", "timestamp"} else f"'{quoted}'"
    return f"\nWHERE {_name(name)} {sign} {written}"


def _chosen(field: str, name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        raise InvalidParameter(field, name, f"one of {', '.join(known)}")
    return known[name]


def _name(name: str) -> str:
    """A name as SQL writes it: in quotes, unless it is plain."""
    if _PLAIN.fullmatch(name) and name not in {"rows", "group", "order", "table", "user"}:
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def completion_words(tables: list[dict[str, Any]]) -> list[str]:
    """What may stand in a question: tables, their columns, and the usual words."""
    names = [_name(each["table"]) for each in tables]
    names += [_name(column["name"]) for each in tables for column in each["columns"]]
    return [*dict.fromkeys([*names, *_WORDS])]
