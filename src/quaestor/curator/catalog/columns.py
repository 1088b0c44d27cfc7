"""The columns of a table in the catalog: their kinds, and what is publicly known of them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, cast, get_args

from quaestor.curator.catalog.bounds import read_bounds
from quaestor.curator.catalog.model import ColumnFacts
from quaestor.curator.catalog.names import check_column_name, check_differ
from quaestor.curator.catalog.sections import Section, shown
from quaestor.curator.catalog.steps import LARGEST
from quaestor.curator.language.expressions import Kind

if TYPE_CHECKING:
    from quaestor.curator.catalog.bounds import Bounds
    from quaestor.curator.language.expressions import Value

__all__ = ["KINDS", "MOST_KEYS", "read_columns"]

KINDS: tuple[str, ...] = get_args(Kind)
MOST_KEYS = 100_000
_LONGEST_KEY = 1_000
_REMEDY = 'write  age = "integer"  or  age = { kind = "integer", low = 0, high = 120 }'
_KEYS = {
    "integer": "keys = [1, 2, 3]",
    "real": "keys = [0.5, 1.0]",
    "text": 'keys = ["F", "M"]',
    "boolean": "keys = [false, true]",
    "date": "keys = [2026-01-31, 2026-02-28]",
}


def read_columns(table: Section, *, title: str) -> tuple[ColumnFacts, ...]:
    """The columns under ``[tables.NAME.columns]``, in the order of the file."""
    columns = table.section("columns", title=title, remedy=_REMEDY)
    if not columns.values:
        key = "columns" if "columns" in table.values else None
        raise table.wrong(key, "no columns are declared", f"{_REMEDY}  under  [{_header(table)}]")
    check_differ(columns, "column")
    return tuple(_column(columns, name) for name in columns.values)


def _header(table: Section) -> str:
    return ".".join([*map(str, table.place), "columns"])


def _column(columns: Section, name: str) -> ColumnFacts:
    check_column_name(columns, name)
    title = f"{columns.title}, column {name!r}"
    given = columns.values[name]
    values = {"kind": given} if isinstance(given, str) else given
    if not isinstance(values, dict):
        raise columns.wrong(name, f"column {name!r} must have a kind, not {shown(given)}", _REMEDY)
    place = (*columns.place, name)
    section = Section(page=columns.page, place=place, title=title, values=values)
    section.only("kind", "low", "high", "granularity", "keys", "missing")
    chosen = section.choice("kind", KINDS, remedy=f"kinds are {', '.join(KINDS)}")
    if chosen is None:
        raise section.wrong(None, "the kind is missing", f"write one of {', '.join(KINDS)}")
    kind = cast("Kind", chosen)
    bounds = read_bounds(section, kind)
    return ColumnFacts(
        name=name,
        kind=kind,
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
        granularity=bounds.granularity if bounds else None,
        keys=_keys(section, kind, bounds),
    )


def _keys(column: Section, kind: Kind, bounds: Bounds | None) -> tuple[Value, ...] | None:
    remedy = f"write  {_KEYS[kind]}  or leave keys out"
    missing = column.truth("missing", remedy="write  missing = true  for a group without a value")
    listed = column.values.get("keys")
    if listed is None:
        if missing:
            problem = "missing says that no value is a key too, but there are no keys"
            raise column.wrong("missing", problem, f"write  {_KEYS[kind]}  too")
        return None
    if not isinstance(listed, list) or not listed:
        problem = f"keys must be a list of values, not {shown(listed)}"
        raise column.wrong("keys", problem, remedy)
    if len(listed) > MOST_KEYS:
        problem = f"{len(listed)} keys are more than {MOST_KEYS}"
        raise column.wrong("keys", problem, "leave keys out: groups of enough people show then")
    keys: dict[Value, None] = {}
    entry = Section(page=column.page, place=(*column.place, "keys"), title=column.title, values={})
    for count, given in enumerate(listed):
        key = _key(given, kind)
        if key is None:
            raise entry.wrong(count, f"the key {shown(given)} is not of kind {kind}", remedy)
        if key in keys:
            raise entry.wrong(count, f"the key {shown(given)} is there twice", "take one away")
        if bounds and not bounds.may_be(cast("float", key)):
            problem = f"the key {shown(given)} cannot be read from the column, given its bounds"
            remedy = "keys lie between low and high, in whole steps of the granularity"
            raise entry.wrong(count, problem, remedy)
        keys[key] = None
    return (*keys, None) if missing else tuple(keys)


def _key(given: Any, kind: Kind) -> Value:  # noqa: PLR0911  # a kind, a line
    """The key as a value of its kind; None where it is of another."""
    if kind == "boolean":
        return given if isinstance(given, bool) else None
    if kind == "text":
        return given if isinstance(given, str) and _is_text(given) else None
    if kind == "date":
        return _date(given)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    if not -LARGEST <= given <= LARGEST:  # NaN neither
        return None
    if kind == "integer":
        return given if isinstance(given, int) else None
    return float(given) + 0.0  # no negative zero


def _is_text(given: str) -> bool:
    return len(given) <= _LONGEST_KEY and "\0" not in given


def _date(given: Any) -> str | None:
    if isinstance(given, dt.date) and not isinstance(given, dt.datetime):
        return given.isoformat()
    try:
        return dt.datetime.strptime(given, "%Y-%m-%d").date().isoformat()  # noqa: DTZ007
    except (TypeError, ValueError):
        return None
