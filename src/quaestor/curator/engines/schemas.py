"""What the engines' schemas have in common: kinds by the names of types, and how to say no."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from quaestor.curator.catalog.sources import place_in_words
from quaestor.errors import UnreadableTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from quaestor.curator.catalog.model import Source
    from quaestor.curator.language.expressions import Kind

__all__ = ["SchemaChanged", "divided", "kind_of", "kinds_of", "refuse", "table_kinds"]

_DECIMAL = re.compile(r"(?:decimal|numeric)(?:\(\d+(?:,\s*(-?\d+))?\))?")


def kind_of(described: str, types: Mapping[str, Kind]) -> Kind | None:
    """The kind of a column by its engine's types, or None for what the curator does not read.

    Decimals without places are integers. What is in brackets says nothing, unless it is all that
    there is: lists and arrays are of no kind.

    >>> kind_of("DECIMAL(18,2)", {}), kind_of("VARCHAR(3)", {"varchar": "text"})
    ('real', 'text')
    >>> kind_of("INTEGER[]", {"integer": "integer"})
    """
    name = described.strip().lower()
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return "integer" if "(" in name and int(decimal[1] or 0) <= 0 else "real"
    if name.endswith("]"):
        return None
    return types.get(re.sub(r"\(.*\)", "", name, flags=re.DOTALL).strip())


class SchemaChanged(Exception):  # nothing is wrong: see Engine.measure
    """A statement was not run, because the schema that it relies on has changed: write it anew."""


def kinds_of(
    columns: Iterable[tuple[str, str]], types: Mapping[str, Kind]
) -> list[tuple[str, Kind | None]]:
    """Names and described types as names and kinds."""
    return [(name, kind_of(described, types)) for name, described in columns]


def table_kinds(
    source: Source, columns: list[tuple[str, str]], types: Mapping[str, Kind]
) -> list[tuple[str, Kind | None]]:
    """The kinds of a table's columns; a table that has none is not there."""
    if not columns:
        remedy = "correct the name, with its schema if it has one:  clinic.visits"
        refuse(source, "there is no such table", remedy)
    return kinds_of(columns, types)


def divided(source: Source, default: str) -> tuple[str, str]:
    """The schema and the name of a table."""
    schema, _, table = (source.table or "").rpartition(".")
    return schema or default, table


def refuse(source: Source, problem: str, remedy: str) -> NoReturn:
    """Say that a schema cannot be read, and nothing of what the engine said."""
    raise UnreadableTable(place=place_in_words(source), problem=problem, remedy=remedy) from None
