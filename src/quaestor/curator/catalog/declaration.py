"""Declaring a table from its schema and a few facts: what ``quaestor dataset add`` does."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from quaestor.curator.catalog.columns import KINDS
from quaestor.curator.catalog.model import ColumnFacts
from quaestor.curator.catalog.names import is_column_name
from quaestor.curator.catalog.sections import Page, Section, nearest
from quaestor.curator.catalog.sources import read_source
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.curator.catalog.model import Source, Table
    from quaestor.curator.language.expressions import Kind, Value

__all__ = ["TypedFacts", "declared_columns", "declared_source", "kind_notes", "missing_facts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedFacts:
    """Public facts by column, as somebody typed them."""

    bounds: Mapping[str, str]
    keys: Mapping[str, str]
    granularity: Mapping[str, str]
    kinds: Mapping[str, str]
    outer_bounds: Mapping[str, str] = field(default_factory=dict)


def declared_source(name: str, keys: Mapping[str, Any]) -> Source:
    """Where a table is, by what the keys of ``[tables.NAME]`` would be, if they are given."""
    given = {key: value for key, value in keys.items() if value is not None}
    page = Page(file="dataset add", lines={})
    return read_source(Section(page=page, place=(), title=name, values=given), name=name)


def declared_columns(
    schema: Sequence[tuple[str, Kind | None]], facts: TypedFacts
) -> tuple[tuple[ColumnFacts, ...], tuple[str, ...]]:
    """The columns that can be declared, with their facts, and the names of those left out."""
    names = [name for name, _ in schema]
    for option, given in (
        ("bounds", facts.bounds),
        ("outer-bounds", facts.outer_bounds),
        ("keys", facts.keys),
        ("granularity", facts.granularity),
        ("kind", facts.kinds),
    ):
        for name in given:
            if name not in names:
                near = nearest(name, names)
                hint = f" (did you mean {near!r}?)" if near else ""
                raise InvalidParameter(option, name, f"about a column of the table{hint}")
    kinds = {
        name: _kind(name, kind, facts) if is_column_name(name) else None for name, kind in schema
    }
    columns = tuple(_column(name, kind, facts) for name, kind in kinds.items() if kind is not None)
    return columns, tuple(name for name, kind in kinds.items() if kind is None)


def kind_notes(schema: Sequence[tuple[str, Kind | None]], facts: TypedFacts) -> list[str]:
    """What kinds were taken that nobody declared: bounds say that a text is a number."""
    taken = [n for n, kind in schema if kind == "text" and n in facts.bounds.keys() - facts.kinds]
    if not taken:
        return []
    typed = " ".join(f"--kind {name}=integer" for name in taken)
    return [f"{', '.join(taken)}: read as real numbers; for whole numbers write  {typed}"]


def _kind(name: str, found: Kind | None, facts: TypedFacts) -> Kind | None:
    chosen = facts.kinds.get(name)
    if chosen is not None and chosen not in KINDS:
        raise InvalidParameter("kind", chosen, f"one of {', '.join(KINDS)}")
    if chosen is None and found == "text" and name in facts.bounds:
        return "real"  # a number in a text file, whose columns have no types
    return cast("Kind | None", chosen) or found


def _column(name: str, kind: Kind, facts: TypedFacts) -> ColumnFacts:
    low, high = _ends(f"bounds of {name}", facts.bounds.get(name))
    outer_low, outer_high = _ends(f"outer-bounds of {name}", facts.outer_bounds.get(name))
    granularity = None
    if name in facts.granularity:
        granularity = _number(f"granularity of {name}", facts.granularity[name])
    keys = None if name not in facts.keys else _keys(name, facts.keys[name], kind)
    return ColumnFacts(
        name=name,
        kind=kind,
        low=low,
        high=high,
        granularity=granularity,
        keys=keys,
        outer_low=outer_low,
        outer_high=outer_high,
    )


def _ends(name: str, text: str | None) -> tuple[float | None, float | None]:
    if text is None:
        return None, None
    ends = text.split(":")
    if len(ends) != 2:
        raise InvalidParameter(name, text, "two numbers, such as 0:120")
    low, high = (_number(name, end) for end in ends)
    return low, high


def _number(field: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidParameter(field, text, "a number") from None


def _keys(name: str, text: str, kind: Kind) -> tuple[Value, ...]:
    return tuple(_key(f"keys of {name}", part.strip(), kind) for part in text.split(","))


def _key(field: str, text: str, kind: Kind) -> Value:
    truths: dict[str, Any] = {"true": True, "false": False}
    try:
        if kind == "integer":
            return int(text)
        if kind == "real":
            return float(text)
        if kind == "date":
            return dt.date.fromisoformat(text).isoformat()
        if kind == "timestamp":
            return _time(text)
        return truths[text.lower()] if kind == "boolean" else text
    except (KeyError, ValueError):
        raise InvalidParameter(field, text, f"of kind {kind}") from None


def _time(text: str) -> str:
    time = dt.datetime.fromisoformat(text)
    if time.tzinfo is not None:
        raise ValueError  # keys are in UTC, and say no zone
    return time.isoformat(sep=" ")


def missing_facts(table: Table) -> list[tuple[str, str]]:
    """For which questions facts are missing, by column; nothing for the unit."""
    missing: list[tuple[str, str]] = []
    for column in table.columns:
        if column.name == table.unit or not table.private:
            continue
        if column.kind in {"integer", "real"} and column.low is None:
            lacking = "SUM, AVG, VARIANCE and MEDIAN need bounds (low and high)"
            missing.append((column.name, lacking))
        elif column.kind in {"text", "date", "timestamp"} and column.keys is None:
            lacking = (
                "without keys, GROUP BY shows only groups with enough people, at a cost in delta"
            )
            missing.append((column.name, lacking))
    return missing
