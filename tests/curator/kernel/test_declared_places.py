"""DuckDB looks few declared texts up in a list, and joins with many: rows have the same cells."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import pytest

from quaestor.curator.engines.duckdb.dialect import DUCKDB
from quaestor.curator.kernel.measurement import CellKey, Cells
from quaestor.curator.kernel.relations import EngineRows
from quaestor.curator.kernel.statement import StatementAuthor
from quaestor.curator.language.expressions import Column
from quaestor.curator.scalars.scalar import SQL, Scalar

_TEXTS = ("a", "A", "a ", "", "é", "e\u0301", "it's", "group 1", "group 10", "x" * 40, "😀")
_ROWS = EngineRows(
    sql="SELECT u, c0, c1 FROM t",
    columns={name: Scalar(sql=sql, kind="text") for name, sql in (("a", "c0"), ("b", "c1"))},
    unit=Scalar(sql="u", kind="integer", whole=True),
)


def _found(
    places: tuple[str | None, ...], more: tuple[str | None, ...], *, listed: bool
) -> list[tuple[int, int]]:
    dialect = DUCKDB if listed else replace(DUCKDB, place_in=None)
    keys = tuple(
        CellKey(expression=Column(name), kind="text", codes=codes)
        for name, codes in (("a", places), ("b", more))
    )
    author = StatementAuthor(_ROWS, Cells(keys=keys, groups=2), SQL(dialect))
    statement = author.numbered({}, {})
    assert ("list_position" in statement) is listed
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (u BIGINT, c0 VARCHAR, c1 VARCHAR)")
        stored = [*_TEXTS, None, "none of them"]
        rows = [(at, one, stored[at % 5]) for at, one in enumerate(stored * 3)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        return connection.execute(f"SELECT u, g FROM ({statement}) ORDER BY u, g").fetchall()


@pytest.mark.parametrize(
    "places", [_TEXTS, (None, *_TEXTS), (*_TEXTS[:4], None, *_TEXTS[4:]), ("a",), (*_TEXTS, None)]
)
def test_a_list_and_a_join_number_rows_alike(places: tuple[str | None, ...]) -> None:
    more = (None, "a ", "a", "A")
    found = _found(places, more, listed=True)
    assert found == _found(places, more, listed=False)
    assert len({g for _, g in found}) > (len(places) > 1)
