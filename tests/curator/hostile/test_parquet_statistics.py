"""What a Parquet file says of its columns' least and greatest numbers leaves out what is NaN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from quaestor.curator.catalog.model import ColumnFacts, Source
from tests.curator.engines.storage import apart, asked, catalog

if TYPE_CHECKING:
    from pathlib import Path

_HALVES = ColumnFacts(name="x", kind="real", low=0.0, high=9.0, granularity=0.5)
_WHOLE = ColumnFacts(name="x", kind="integer", low=0.0, high=9.0)
_ANY = ColumnFacts(name="x", kind="real", low=0.0, high=9.0)


def _written(path: Path, values: list[float], kind: str) -> Source:
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = {"id": pa.array(range(len(values)), pa.int64()), "x": pa.array(values, kind)}
    pq.write_table(pa.table(made), path)
    return Source(engine="duckdb", files=str(path))


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize(
    ("facts", "sql"),
    [
        (_HALVES, "SELECT SUM(x) AS s, MEDIAN(x) AS m FROM t WHERE x > 2"),
        (_WHOLE, "SELECT x, COUNT(*) AS n FROM t GROUP BY x"),
        (_ANY, "SELECT FLOOR(x) AS k, AVG(x) AS a FROM t GROUP BY 1"),
    ],
    ids=["in steps", "whole", "without steps"],
)
def test_one_number_that_is_none_among_others_within_bounds(
    facts: ColumnFacts, sql: str, kind: str, tmp_path: Path
) -> None:
    """DuckDB then knows that all others are, and leaves out the tests for it."""
    values = [3.0] * 40
    sides = (_written(tmp_path / "without.parquet", values, kind),
             _written(tmp_path / "with.parquet", [*values, math.nan], kind))  # fmt: skip
    before, after = (asked(catalog(side, (facts,)), sql) for side in sides)
    assert not isinstance(before, tuple), before
    assert not before.failed
    assert list(apart(before, after)) == []
