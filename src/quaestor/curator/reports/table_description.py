"""What the catalog declares of a table, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.declaration import missing_facts
from quaestor.curator.catalog.sources import place_in_words
from quaestor.curator.catalog.text_format import format_values

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Table

__all__ = ["public_description", "table_description"]


def table_description(table: Table) -> dict[str, Any]:
    """All that is declared of a table, as plain JSON values."""
    limits = table.contribution
    return {
        "table": table.name,
        "engine": table.source.engine,
        "where": place_in_words(table.source),
        "format": format_values(table.source.format),
        "unit": table.unit,
        "rows": limits.rows if limits else None,
        "groups": limits.groups if limits else None,
        "total_rows": table.total_rows,
        "dataset": table.dataset,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "low": column.low,
                "high": column.high,
                "granularity": column.granularity,
                "keys": None if column.keys is None else list(column.keys),
            }
            for column in table.columns
        ],
        "missing": [{"column": name, "lacks": lacks} for name, lacks in missing_facts(table)],
    }


def public_description(table: Table) -> dict[str, Any]:
    """What analysts may know: all of it but where the table lives, and what its owner forgot."""
    said = table_description(table)
    return {name: said[name] for name in said if name not in {"engine", "where", "missing"}}
