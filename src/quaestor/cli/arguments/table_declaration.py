"""From the options of ``dataset add`` to the declaration of a table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quaestor.curator.catalog import Table, columns_of
from quaestor.curator.catalog.declaration import TypedFacts, declared_columns, declared_source
from quaestor.curator.catalog.sources import source_keys
from quaestor.curator.catalog.tables import MOST_GROUPS, MOST_ROWS
from quaestor.curator.language.query import Contribution
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TableOptions", "table_declaration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """What was typed about a table: ``place`` by key of the catalog, ``facts`` by option."""

    name: str
    place: Mapping[str, str | None]
    unit: str | None
    public: bool
    rows: int | None
    groups: int | None
    total_rows: int | None
    dataset: str | None
    facts: Mapping[str, list[str] | None]


def table_declaration(options: TableOptions, *, folder: Path) -> tuple[Table, tuple[str, ...]]:
    """The table, for a catalog in a folder, and the columns that are left out.

    Its schema is read, and no value.
    """
    contribution = _contribution(options)
    most = options.total_rows
    if most is not None and (options.public or not 1 <= most <= MOST_ROWS):
        valid = f"a whole number from 1 to {MOST_ROWS}, for a private table"
        raise InvalidParameter("--total-rows", most, valid)
    source = declared_source(options.name, _places(options.place, folder))
    given = {option: _by_column(option, facts) for option, facts in options.facts.items()}
    facts = TypedFacts(
        bounds=given["bounds"],
        keys=given["keys"],
        granularity=given["granularity"],
        kinds=given["kind"],
    )
    columns, left_out = declared_columns(columns_of(source, folder), facts)
    declared = Table(
        name=options.name,
        source=source,
        columns=columns,
        unit=options.unit,
        contribution=contribution,
        total_rows=most,
        dataset=options.dataset or (None if options.public else options.name),
    )
    return declared, left_out


def _contribution(options: TableOptions) -> Contribution | None:
    if options.public == (options.unit is not None):
        valid = "the column that says whom a row is about, or else give --public"
        raise InvalidParameter("--unit", options.unit, valid)
    if options.public:
        return None
    rows, groups = options.rows, options.groups
    for option, given, most in (("--rows", rows, MOST_ROWS), ("--groups", groups, MOST_GROUPS)):
        if given is None or not 1 <= given <= most:
            valid = f"given with --unit: a whole number from 1 to {most}"
            raise InvalidParameter(option, given, valid)
    return Contribution(rows=rows or 1, groups=groups or 1)


def _seen_from(folder: Path, given: str | None) -> str | None:
    """A path that was typed here, as the catalog is to have it."""
    if given is None or "://" in given or Path(given).is_absolute():
        return given
    return Path(os.path.relpath(given, folder)).as_posix()


def _places(given: Mapping[str, str | None], folder: Path) -> dict[str, str | None]:
    paths = {name for name, key in source_keys().items() if key.path}
    return {key: _seen_from(folder, at) if key in paths else at for key, at in given.items()}


def _by_column(option: str, given: list[str] | None) -> dict[str, str]:
    facts: dict[str, str] = {}
    for text in given or []:
        column, equals, fact = text.partition("=")
        if not equals or column in facts:
            example = {"bounds": "0:120", "keys": "F,M", "granularity": "0.1", "kind": "date"}
            valid = f"COLUMN={example[option]}, once for each column"
            raise InvalidParameter(f"--{option}", text, valid)
        facts[column] = fact
    return facts
