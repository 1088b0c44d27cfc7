"""DuckDB joins files with declared keys without holding the files' rows: seen in its plans."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.engines import engine_for
from quaestor.curator.kernel.measures import Total, Units
from quaestor.curator.language.expressions import Column
from tests.curator.engines.answers import statements
from tests.curator.engines.queries import asked, key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAMES = tuple(f"name {number}" for number in range(100))  # DuckDB guesses 42 rows of a CSV
_FACTS = (
    ColumnFacts(name="id", kind="integer"),
    ColumnFacts(name="name", kind="text"),
    ColumnFacts(name="height", kind="real", low=0.0, high=250.0, granularity=0.5),
)
_SCANS = {"parquet": "ARROW_SCAN", "csv": "READ_CSV"}


@pytest.mark.parametrize("kind", _SCANS)
def test_rows_of_files_are_not_held_for_a_join(kind: str, tmp_path: Path) -> None:
    _write(tmp_path / f"people.{kind}")
    source = Source(engine="duckdb", files=f"people.{kind}")
    table = Table(name="people", source=source, columns=_FACTS, unit="id")
    engine = engine_for(Catalog(tables=(table,), ledger="", folder=str(tmp_path)), ["people"])
    query = asked("people", key(Column("name"), "text", *_NAMES), unit="id", most=5, groups=2)
    total = Total(operand=Column("height"), low=0, high=500, step=0.5, rows=5)
    scans = 0
    for statement in statements(engine, query, (Units(), total)):
        connection: Any = engine.connection
        plan = connection.rows(f"EXPLAIN (FORMAT json) {statement.sql}")[0][1]
        for held, name in _scans(json.loads(plan)[0], held=False):
            if name == _SCANS[kind]:
                scans += 1
                assert not held, plan
    assert scans
    engine.close()


def _write(path: Path) -> None:
    import duckdb

    rows = "SELECT i // 3 AS id, 'name ' || i % 100 AS name, i / 2 AS height FROM range(3000) t(i)"
    kind = "FORMAT parquet" if path.suffix == ".parquet" else "HEADER"
    duckdb.execute(f"COPY ({rows}) TO '{path}' ({kind})")


def _scans(node: dict[str, Any], *, held: bool) -> Iterator[tuple[bool, str]]:
    """Every node without children, and whether a join holds its rows: those of its right side."""
    children = node["children"]
    if not children:
        yield held, node["name"].strip()
    for at, child in enumerate(children):
        yield from _scans(child, held=held or ("JOIN" in node["name"] and at == 1))
