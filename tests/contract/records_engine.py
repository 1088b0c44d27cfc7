"""An engine from outside the package: lines of JSON, asked by a DuckDB in memory.

It has all that an engine has: a key in the catalog, a dialect, schemas and a connection.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quaestor.curator.catalog.model import Source
from quaestor.curator.catalog.sources import EngineKind, SourceKey, refuse_together
from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.engines.schemas import kinds_of, refuse
from quaestor.curator.kernel.relations import Base
from quaestor.errors import SourceUnavailable

if TYPE_CHECKING:
    from quaestor.curator.catalog.model import Catalog, Table
    from quaestor.curator.catalog.sections import Section
    from quaestor.curator.language.expressions import Kind

__all__ = ["ENGINE"]

_STORED = {"int": "BIGINT", "float": "DOUBLE", "str": "VARCHAR", "bool": "BOOLEAN"}
_DIALECT = replace(DUCKDB, name="records", quotient="CAST(trunc({0} // {1}) AS BIGINT)")


class _Records(EngineKind):
    name = "records"
    address = SourceKey(
        name="records", example="visits.jsonl", help="Lines of JSON objects.", path=True
    )
    keys = (address,)
    dialect = _DIALECT

    def source(self, table: Section, name: str) -> Source:
        del name
        refuse_together(table, "records", "table")
        path = table.text("records", remedy='write  records = "visits.jsonl"')
        return Source(engine=self.name, connection=path)

    def columns(self, source: Source, folder: str | Path) -> list[tuple[str, Kind | None]]:
        """By the first line, which is the schema: the names of types instead of values."""
        try:
            schema = _lines(folder, source)[0]
        except OSError:
            refuse(source, "there is no such file", "correct the name")
        types: dict[str, Kind] = {
            "int": "integer",
            "float": "real",
            "str": "text",
            "bool": "boolean",
        }
        return kinds_of(schema.items(), types)

    def connection(self, catalog: Catalog, table: Table) -> _Connection:
        del table
        return _Connection(catalog)

    def place(self, source: Source) -> str:
        return str(source.connection)


class _Connection:
    dialect = _DIALECT

    def __init__(self, catalog: Catalog) -> None:
        import duckdb

        self._folder = catalog.folder
        self._connection = duckdb.connect()
        self._connection.execute("SET GLOBAL ieee_floating_point_ops = false")

    def base(self, table: Table) -> Base:
        try:
            schema, *rows = _lines(self._folder, table.source)
        except OSError:
            raise SourceUnavailable(table.name, "there is no such file") from None
        types = {name: _STORED[kind] for name, kind in schema.items() if kind in _STORED}
        listed = ", ".join(f"{_DIALECT.name_of(name)} {stored}" for name, stored in types.items())
        self._connection.execute(f"CREATE TABLE stored_{table.name} ({listed})")
        marks = ", ".join("?" * len(types))
        self._connection.executemany(
            f"INSERT INTO stored_{table.name} VALUES ({marks})",  # noqa: S608
            [[row.get(name) for name in types] for row in rows],
        )
        return Base(sql=f"stored_{table.name}", types=types)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            return list(cursor.execute(sql).fetchall())

    def close(self) -> None:
        self._connection.close()


def _lines(folder: str | Path, source: Source) -> list[dict[str, Any]]:
    text = (Path(folder) / str(source.connection)).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


ENGINE = _Records()
