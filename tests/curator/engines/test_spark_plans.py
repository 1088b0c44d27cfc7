"""Spark sends the rows of a unit to one place once: counted in its plans, not in seconds.

And it has the figures of DuckDB where one unit has a tenth of all rows, and groups are many.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.language.query import Contribution
from tests.curator.door import exact
from tests.curator.engines.answers import statements
from tests.curator.engines.queries import CASES

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.engines import Engine
    from quaestor.curator.engines.engine_work import EngineWork

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

EXCHANGES = {
    "no keys": {"Units": 2, "Distinct": 3, "ValueCounts": 2},
    "declared texts": {"Units": 2, "Distinct": 3, "ValueCounts": 2},
    "declared texts, no limit of groups": {"Units": 2, "Distinct": 3, "ValueCounts": 2},
    "private texts": {"Units": 2, "Distinct": 3, "ValueCounts": 2},
    "one row a unit": {"Units": 2},
    "left join": {"Total": 2},
    "joined with a private table": {"Total": 3},  # each table by unit, and then by cell
}
"""Of each kind of statement: by unit, and by cell; different values of all units by value, too."""


@pytest.mark.parametrize("name", EXCHANGES)
def test_rows_are_sent_by_unit_once(spark_engine: Engine, name: str) -> None:
    session: Any = spark_engine.connection._session  # type: ignore[attr-defined]
    query, measures = CASES[name]
    found: dict[str, int] = {}
    for statement in statements(spark_engine, query, measures):
        plan = session.sql(statement.sql)._jdf.queryExecution().executedPlan().toString()
        kind = type(statement.measures[0]).__name__
        sent = plan.count("Exchange hashpartitioning") + plan.count("Exchange SinglePartition")
        found[kind] = max(found.get(kind, 0), sent)
    assert found == EXCHANGES[name]


@pytest.mark.slow
def test_work_is_told_while_a_statement_of_ours_runs(spark_engine: Engine) -> None:
    connection: Any = spark_engine.connection
    asleep = "SELECT reflect('java.lang.Thread', 'sleep', 2000L + id) FROM range(0, 4, 1, 2)"
    found: list[EngineWork] = []
    assert connection.work() == []
    with ThreadPoolExecutor(1) as thread:
        while not found:  # on a busy machine it may be over before it is seen
            asked = thread.submit(connection.rows, asleep)
            while not asked.done() and not found:
                found = connection.work()
                time.sleep(0.05)
            assert len(asked.result()) == 4
    (one,) = found
    assert (one.engine, one.tasks) == ("spark", 2)
    assert 0 <= one.done <= 2
    assert connection.work() == []


_ROWS, _UNITS, _KEYS = 300_000, 20_000, 60_000


def _skewed(path: Path) -> None:
    """Rows of which every tenth is of one unit, in many groups."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(22)
    units = rng.integers(1, _UNITS, _ROWS)
    units[::10] = 0
    columns = {
        "unit": units,
        "place": rng.integers(0, _KEYS, _ROWS),
        "value": rng.integers(-20, 120, _ROWS),
    }
    pq.write_table(pa.table(columns), path, row_group_size=50_000)


def _catalog(source: Source) -> Catalog:
    table = Table(
        name="t",
        source=source,
        unit="unit",
        contribution=Contribution(rows=3, groups=4),
        columns=(
            ColumnFacts(name="unit", kind="integer"),
            ColumnFacts(name="place", kind="integer"),
            ColumnFacts(name="value", kind="integer", low=0, high=100, granularity=1.0),
        ),
    )
    return Catalog(tables=(table,), ledger="")


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT value, COUNT(*) AS n, SUM(value) AS s FROM t GROUP BY value",
        "SELECT place, COUNT(*) AS n FROM t GROUP BY place",
        "SELECT MEDIAN(value) AS m, COUNT(DISTINCT place) AS d FROM t",
    ],
)
def test_a_unit_with_a_tenth_of_all_rows_counts_as_on_duckdb(
    spark_master: str, tmp_path: Path, sql: str
) -> None:
    _skewed(tmp_path / "t.parquet")
    file = str(tmp_path / "t.parquet")
    here = exact(_catalog(Source(engine="duckdb", files=file)), sql)
    there = exact(_catalog(Source(engine="spark", connection=spark_master, files=file)), sql)
    assert not here.failed
    assert here == there


def test_columns_hold_what_arrow_has() -> None:
    import numpy as np
    import pyarrow as pa

    from quaestor.curator.engines.spark.connection import _column

    most = 2**62 + 1  # no float
    for kind in (pa.int64(), pa.int32(), pa.string(), pa.decimal128(38, 0)):
        large = 7 if kind == pa.int32() else most
        for numbers in ([], [large, 1], [large, None, -1], [None, None]):
            as_text = kind == pa.string()
            values: list[Any] = [str(n) if n is not None and as_text else n for n in numbers]
            column = _column(pa.chunked_array([values[:1], values[1:]], kind))
            assert isinstance(column, np.ndarray) == pa.types.is_integer(kind)
            assert list(column.tolist() if isinstance(column, np.ndarray) else column) == values
