"""What the catalog declares of tables, drawn for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.cli.drawing.numbers import print_words, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.catalog.model import ColumnFacts, Source, Table

__all__ = ["print_declared", "print_tables"]

_MOST_KEYS_SHOWN = 6


def print_declared(table: Table) -> None:
    """All that is declared of a table, for people, and what is still missing."""
    from quaestor.curator.catalog.declaration import missing_facts
    from quaestor.curator.catalog.text_format import format_values

    say(f"table {table.name}, {_place(table.source)}", plain=True)
    written = format_values(table.source.format)
    if written:
        say(
            f"file format: {', '.join((f'{k} {_shown(v)}' for k, v in written.items()))}",
            plain=True,
        )
    if table.unit is None:
        say("public: its rows are not about people")
    else:
        limits = _limits(table)
        say(
            (f"privacy unit {table.unit}, at most {limits}, charged to dataset {table.dataset}"),
            plain=True,
        )
        say(f"rows without a value in {table.unit} are ignored", plain=True)
    missing = dict(missing_facts(table))
    rows = [
        [
            c.name,
            c.kind,
            "privacy unit" if c.name == table.unit else _facts(c),
            missing.get(c.name, ""),
        ]
        for c in table.columns
    ]
    heads = ["column", "kind", "declared", "still missing"]
    print_words(heads, rows)


def _shown(value: object) -> str:
    return ", ".join(map(repr, value)) if isinstance(value, tuple) else repr(value)


def print_tables(tables: Sequence[Table]) -> None:
    """One line for each table."""
    rows = [
        [
            table.name,
            "public" if table.unit is None else table.unit,
            _limits(table),
            table.dataset or "-",
            str(len(table.columns)),
            _place(table.source),
        ]
        for table in tables
    ]
    heads = ["table", "unit", "at most", "dataset", "#columns", "where"]
    print_words(heads, rows)


def _limits(table: Table) -> str:
    limits = table.contribution
    if limits is None:
        return "-"
    most = "" if table.total_rows is None else f", {table.total_rows} in all"
    return f"{limits.rows} rows in each of {limits.groups} groups{most}"


def _facts(column: ColumnFacts) -> str:
    from quaestor.curator.catalog.columns import plain

    facts: list[str] = []
    if column.low is not None and column.high is not None and column.granularity is not None:
        steps = "" if column.granularity == 1.0 else f" in steps of {plain(column.granularity)}"
        facts.append(f"{plain(column.low)} to {plain(column.high)}{steps}")
    if column.keys is not None:
        some = ["no value" if key is None else str(key) for key in column.keys[:_MOST_KEYS_SHOWN]]
        more = len(column.keys) - len(some)
        facts.append(f"keys {', '.join(some)}" + (f" and {more} more" if more else ""))
    return "; ".join(facts)


def _place(source: Source) -> str:
    from quaestor.curator.catalog.sources import place_in_words

    return place_in_words(source)
