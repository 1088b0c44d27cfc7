"""Opening the engine where the tables of a query live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaestor.curator.engines.engine import Engine
from quaestor.curator.language.query import Filtered, Join, Projected, Scan, Union
from quaestor.errors import InvalidParameter, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.engines.engine import Connection
    from quaestor.curator.language.query import Relation

__all__ = ["engine_for", "place_of", "tables_of"]


def engine_for(catalog: Catalog, tables: Iterable[str]) -> Engine:
    """An engine on which all these tables are; nothing of them is read yet.

    Raises:
        SourceUnavailable: the server does not answer, or the tables live in different places.
    """
    found = [_declared(catalog, name) for name in dict.fromkeys(tables)]
    if not found:
        raise InvalidParameter("tables", [], "at least one table")
    first = found[0]
    for table in found[1:]:
        if place_of(table) != place_of(first):
            raise SourceUnavailable(
                table.name,
                f"it does not live where {first.name} does: tables that are joined must be in "
                "one engine; copy the public one there",
            )
    return Engine(catalog=catalog, connection=_connection(catalog, first))


def tables_of(relation: Relation) -> Iterator[str]:
    """The tables that a relation reads."""
    if isinstance(relation, Scan):
        yield relation.table
    elif isinstance(relation, Filtered | Projected):
        yield from tables_of(relation.rows)
    elif isinstance(relation, Join):
        yield from tables_of(relation.left)
        yield from tables_of(relation.right)
    elif isinstance(relation, Union):
        for part in relation.parts:
            yield from tables_of(part)


def _declared(catalog: Catalog, name: str) -> Table:
    table = catalog.table(name)
    if table is None:
        raise InvalidParameter("table", name, "one that the catalog declares")
    return table


def place_of(table: Table) -> tuple[str, str | None]:
    """Embedded DuckDB reaches every file; a server only its own tables."""
    engine = table.source.engine
    return engine, None if engine == "duckdb" else table.source.connection


def _connection(catalog: Catalog, table: Table) -> Connection:
    if table.source.engine == "duckdb":
        from quaestor.curator.engines.duckdb.connection import DuckConnection

        return DuckConnection(catalog)
    if table.source.engine == "postgres":
        from quaestor.curator.engines.postgres.connection import PostgresConnection

        return PostgresConnection(table)
    from quaestor.curator.engines.spark.connection import SparkConnection

    return SparkConnection(catalog, table)
