"""The columns of a table in the catalog: their kinds, and what is publicly known of them.

Numbers lie between bounds and are read as a whole number of steps, the granularity at which they
are added up. Limits on that number keep sums of integers from overflowing, on every engine and
whatever the data are.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast, get_args

from quaestor.curator.catalog.default_steps import (
    FINEST,
    MOST_STEPS,
    coarse_enough,
    default_granularity,
)
from quaestor.curator.catalog.model import ColumnFacts
from quaestor.curator.catalog.names import check_column_name, check_differ
from quaestor.curator.catalog.sections import Section, shown
from quaestor.curator.language.expressions import Kind

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Value

__all__ = [
    "KINDS",
    "MOST_KEYS",
    "ColumnBounds",
    "in_steps",
    "plain",
    "read_bounds",
    "read_columns",
]

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
    "timestamp": "keys = [2026-01-31T08:00:00, 2026-01-31T09:00:00]",
}
_NAMES = ("low", "high", "granularity")
_OUTER = ("outer_low", "outer_high")
_BOTH = "write both, such as  low = 0, high = 120"
LARGEST = 1e15
"""No bound is further from zero; whole numbers up to there are floats."""


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
    section.only("kind", "low", "high", "granularity", "keys", "missing", *_OUTER)
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
        **_outer(section, kind, bounds),
    )


def _outer(column: Section, kind: Kind, bounds: ColumnBounds | None) -> dict[str, float | None]:
    """The outer bounds that are declared: around the inner ones, in whole steps."""
    found: dict[str, float | None] = {}
    for name in _OUTER:
        value = _bound(column, name, kind)
        if value is None:
            continue
        if bounds is None:
            problem = f"{name} needs bounds"
            raise column.wrong(name, problem, "declare  low  and  high  too")
        inner = bounds.low if name == "outer_low" else bounds.high
        if not (value <= inner if name == "outer_low" else value >= inner):
            problem = f"{name} ({plain(value)}) is inside the bounds"
            raise column.wrong(name, problem, f"write  {name} = {plain(inner)}, or farther out")
        ends = outward(min(value, bounds.low), max(value, bounds.high), bounds.granularity)
        found[name] = ends[0] if name == "outer_low" else ends[1]
    return found


def _keys(column: Section, kind: Kind, bounds: ColumnBounds | None) -> tuple[Value, ...] | None:
    remedy = f"write  {_KEYS[kind]}  or leave keys out"
    missing = column.truth("missing", remedy="write  missing = true  for a group without a value")
    listed = column.values.get("keys")
    if listed is None:
        if missing:
            problem = "missing = true adds a group without a value, but there are no keys"
            raise column.wrong("missing", problem, f"write  {_KEYS[kind]}  too")
        return None
    if not isinstance(listed, list) or not listed:
        problem = f"keys must be a list of values, not {shown(listed)}"
        raise column.wrong("keys", problem, remedy)
    if len(listed) > MOST_KEYS:
        problem = f"there are {len(listed)} keys, more than {MOST_KEYS}"
        raise column.wrong(
            "keys", problem, "omit keys: then only groups with enough people are shown"
        )
    keys: dict[Value, None] = {}
    entry = Section(page=column.page, place=(*column.place, "keys"), title=column.title, values={})
    for count, given in enumerate(listed):
        key = _key(given, kind)
        if key is None:
            raise entry.wrong(count, f"the key {shown(given)} is not of kind {kind}", remedy)
        if key in keys:
            raise entry.wrong(
                count, f"the key {shown(given)} is listed twice", "remove one of them"
            )
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
    if kind == "timestamp":
        return _time(given)
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


def _time(given: Any) -> str | None:
    """A time without a zone: it is in UTC, as all are."""
    if isinstance(given, str):
        try:
            given = dt.datetime.fromisoformat(given)
        except ValueError:
            return None
    if not isinstance(given, dt.datetime) or given.tzinfo is not None:
        return None
    return given.isoformat(sep=" ")


# Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBounds:
    """Every value is moved between ``low`` and ``high``, and rounded to the granularity."""

    low: float
    high: float
    granularity: float

    def may_be(self, value: float) -> bool:
        """Whether a value can be the same after it has been moved and rounded."""
        return self.low <= value <= self.high and _is_whole(value, self.granularity)


def read_bounds(column: Section, kind: Kind) -> ColumnBounds | None:
    """The bounds of a column, in whole steps; None where it has none."""
    if not any(name in column.values for name in _NAMES):
        return None
    if kind not in {"integer", "real"}:
        name = next(name for name in _NAMES if name in column.values)
        raise column.wrong(name, f"{name} does not apply to a column of kind {kind}", "remove it")
    low, high = _bound(column, "low", kind), _bound(column, "high", kind)
    if low is None or high is None:
        lacking = [name for name in ("low", "high") if name not in column.values]
        verb = "is" if len(lacking) == 1 else "are"
        raise column.wrong(None, f"{' and '.join(lacking)} {verb} missing", _BOTH)
    if not low < high:
        problem = f"low ({plain(low)}) must be below high ({plain(high)})"
        raise column.wrong("low", problem, "correct one of them")
    granularity = _granularity(column, kind)
    if granularity is None and kind == "real":
        granularity = default_granularity(low, high)
        low, high = outward(low, high, granularity)
    elif granularity is None:
        granularity = 1.0
    _check_steps(column, low, high, granularity)
    return ColumnBounds(low=low, high=high, granularity=granularity)


def _bound(column: Section, name: str, kind: Kind) -> float | None:
    valid = f"a {'whole ' if kind == 'integer' else ''}number from -1e15 to 1e15"
    value = column.number(name, valid=valid, remedy=_BOTH)
    if value is None:
        return None
    if not -LARGEST <= value <= LARGEST or (kind == "integer" and value != int(value)):
        raise column.wrong(name, f"{name} must be {valid}, not {value!r}", _BOTH)
    return value


def _granularity(column: Section, kind: Kind) -> float | None:
    least = 1.0 if kind == "integer" else FINEST
    valid = (
        "a whole number from 1 to 1e15"
        if kind == "integer"
        else f"a number from 2**-40 ({FINEST!r}) to 1e15"
    )
    remedy = "values are rounded to its multiples; write  granularity = 1  for whole numbers"
    value = column.number("granularity", valid=valid, remedy=remedy)
    if value is None:
        return None
    if not least <= value <= LARGEST or (kind == "integer" and value != int(value)):
        raise column.wrong("granularity", f"granularity must be {valid}, not {value!r}", remedy)
    return value


def _check_steps(column: Section, low: float, high: float, granularity: float) -> None:
    largest = max(abs(low), abs(high))
    key = "granularity" if "granularity" in column.values else "high"
    if in_steps(largest, granularity) > MOST_STEPS:
        enough = coarse_enough(largest / MOST_STEPS)
        problem = f"bounds of more than 2**24 steps of {plain(granularity)} could overflow in sums"
        raise column.wrong(key, problem, f"write  {_facts(low, high, enough)}")
    if not (_is_whole(low, granularity) and _is_whole(high, granularity)):
        problem = (
            f"low ({plain(low)}) and high ({plain(high)}) must be whole multiples of the "
            f"granularity ({plain(granularity)})"
        )
        raise column.wrong(key, problem, f"write  {_facts(low, high, granularity)}")


def _is_whole(number: float, granularity: float) -> bool:
    return in_steps(number, granularity).denominator == 1


def _facts(low: float, high: float, granularity: float) -> str:
    below, above = outward(low, high, granularity)
    return f"low = {plain(below)}, high = {plain(above)}, granularity = {plain(granularity)}"


# Steps


def plain(number: float) -> str:
    """The number as one writes it in the file; ``float`` reads the same one back."""
    return str(int(number)) if number.is_integer() else repr(number)


def in_steps(number: float, granularity: float) -> Fraction:
    """How many steps a number is from zero, exactly.

    Decimals count as they were written: 0.3 is three steps of 0.1. Steps that are powers of two,
    which floats hold exactly, count as the floats that they are.
    """
    if math.frexp(granularity)[0] == 0.5:
        return Fraction(number) / Fraction(granularity)
    return Fraction(repr(number)) / Fraction(repr(granularity))


def outward(low: float, high: float, granularity: float) -> tuple[float, float]:
    """The nearest bounds around these in whole steps; inward only where they would be too large."""
    step = Fraction(LARGEST) / in_steps(LARGEST, granularity)
    most = math.floor(in_steps(LARGEST, granularity))
    below = min(max(math.floor(in_steps(low, granularity)), -most), most - 1)
    above = max(min(math.ceil(in_steps(high, granularity)), most), below + 1)
    return float(below * step), float(above * step)
