"""From the options of ``dataset add`` to the declaration of a table."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog import Table, columns_of
from quaestor.curator.catalog.declaration import (
    TypedFacts,
    declared_columns,
    declared_source,
    kind_notes,
)
from quaestor.curator.catalog.model import file_kind
from quaestor.curator.catalog.sources import fitted_source, source_keys
from quaestor.curator.catalog.tables import MOST_GROUPS, MOST_ROWS
from quaestor.curator.language.query import Contribution
from quaestor.errors import InvalidCatalog, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.curator.catalog import Source

__all__ = ["TableDeclaration", "TableOptions", "table_declaration"]

_TABULATORS = {"\\t": "\t", "tab": "\t"}


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
    outer_rows: int | None
    outer_groups: int | None
    dataset: str | None
    facts: Mapping[str, list[str] | None]
    format: Mapping[str, Any]
    """How text files are written, by key of the catalog; None where nothing was typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDeclaration:
    """A table, the columns that are left out, and what its owner should know."""

    table: Table
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def table_declaration(options: TableOptions, *, folder: Path) -> TableDeclaration:
    """The table, for a catalog in a folder.

    Its schema is read, and of text files whether they are in their encoding; no value is shown.
    """
    contribution = _contribution(options)
    most = options.total_rows
    if most is not None and (options.public or not 1 <= most <= MOST_ROWS):
        valid = f"a whole number from 1 to {MOST_ROWS}, for a private table"
        raise InvalidParameter("--total-rows", most, valid)
    _check_outer(options)
    source, notes = _source(options, folder)
    given = {option: _by_column(option, facts) for option, facts in options.facts.items()}
    facts = TypedFacts(
        bounds=given["bounds"],
        keys=given["keys"],
        granularity=given["granularity"],
        kinds=given["kind"],
        outer_bounds=given["outer-bounds"],
    )
    schema = columns_of(source, folder)
    if file_kind(source.files or "") == "jsonl":  # not every line has every field
        known = {name for name, _ in schema}
        schema += [(name, None) for name in facts.kinds if name not in known]
    columns, left_out = declared_columns(schema, facts)
    notes += kind_notes(schema, facts)
    declared = Table(
        name=options.name,
        source=source,
        columns=columns,
        unit=options.unit,
        contribution=contribution,
        total_rows=most,
        outer_rows=options.outer_rows,
        outer_groups=options.outer_groups,
        dataset=options.dataset or (None if options.public else options.name),
    )
    return TableDeclaration(table=declared, left_out=left_out, notes=tuple(notes))


def _check_outer(options: TableOptions) -> None:
    """See that outer limits are those of a private table, and not below the inner ones."""
    outer = (
        ("rows", options.outer_rows, options.rows),
        ("groups", options.outer_groups, options.groups),
    )
    for name, given, inner in outer:
        if given is not None and (inner is None or given < inner):
            valid = f"given only for a private table, and at least --{name}"
            raise InvalidParameter(f"--outer-{name}", given, valid)


def _source(options: TableOptions, folder: Path) -> tuple[Source, list[str]]:
    """Where the table is, and how its files are written, with what their first lines say."""
    form = {key: value for key, value in options.format.items() if value is not None}
    unnamed = form.get("header") is False and not form.get("names")
    if unnamed or form.get("header"):
        del form["header"]
    if "separator" in form:
        form["separator"] = _TABULATORS.get(form["separator"].lower(), form["separator"])
    if not any(options.place.get(key) for key in source_keys()):
        ways = (f"--{key.name} {key.example}" for key in source_keys().values())
        problem, remedy = "the place of the table is missing", f"add  {'  or  '.join(ways)}"
        raise InvalidCatalog(file="dataset add", line=None, problem=problem, remedy=remedy)
    source = declared_source(options.name, {**_places(options.place, folder), **form})
    if unnamed:
        source = replace(source, format=replace(source.format, header=False))
    return fitted_source(source, folder)


def _contribution(options: TableOptions) -> Contribution | None:
    if options.public and options.unit is not None:
        raise InvalidParameter("--unit", options.unit, "left out for a --public table")
    if not options.public and options.unit is None:
        valid = (
            "given: the column that identifies a person, such as --unit patient; or give "
            "--public for a table that is not about people"
        )
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
            example["outer-bounds"] = "0:1200"
            valid = f"COLUMN={example[option]}, once for each column"
            raise InvalidParameter(f"--{option}", text, valid)
        facts[column] = fact
    return facts
