"""Random questions have the same answer everywhere, and the one that the definitions give."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from quaestor.curator.catalog.model import Source
from quaestor.curator.engines import engine_for
from tests.curator.engines import oracle
from tests.curator.engines.answers import answer, in_order, wanted
from tests.curator.engines.data import CATALOG, COLUMNS, DATA, catalog_on, fill_parquet
from tests.curator.engines.queries import CASES
from tests.curator.engines.random_queries import random_measures, random_query

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.engines import Engine

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.mark.parametrize("seed", range(24))
def test_duckdb_and_postgres_agree_with_the_definitions(
    seed: int, duckdb_engine: Engine, postgres_engine: Engine
) -> None:
    query, measures = random_query(seed), random_measures(1000 + seed, 6)
    expected = wanted(query, measures, DATA)
    assert in_order(answer(duckdb_engine, query, measures)) == in_order(expected)
    assert in_order(answer(postgres_engine, query, measures)) == in_order(expected)


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_spark_agrees_with_the_definitions(seed: int, spark_engine: Engine) -> None:
    query, measures = random_query(seed), random_measures(2000 + seed, 8)
    found = answer(spark_engine, query, measures)
    assert in_order(found) == in_order(wanted(query, measures, DATA))


@pytest.mark.parametrize("seed", range(6))
def test_random_tables_are_bounded_as_the_definitions_say(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    data = {name: draw.choices(rows, k=len(rows)) if rows else [] for name, rows in DATA.items()}
    fill_parquet(tmp_path, data)
    engine = engine_for(catalog_on(Source(engine="duckdb"), tmp_path), COLUMNS)
    for name in draw.sample(sorted(CASES), 5):
        query, measures = CASES[name]
        found = answer(engine, query, measures)
        assert in_order(found) == in_order(wanted(query, measures, data)), name
    engine.close()


def test_the_oracle_knows_every_rule_by_heart() -> None:
    """So few rows that one can count: a unit of five rows, of which two count."""
    from quaestor.curator.kernel.measures import RowCount, Total, Units, ValueCounts
    from quaestor.curator.language.expressions import Column
    from tests.curator.engines.queries import asked

    rows = [
        {"person": 1, "weight": weight, "team": "red"} for weight in (40.0, 50.0, 61.0, 70.0, 80.0)
    ]
    rows += [
        {"person": 2, "weight": None, "team": "red"},
        {"person": None, "weight": 1.0, "team": ""},
    ]
    weight = Column("weight")
    measures = (
        Units(),
        RowCount(rows=2),
        RowCount(rows=2, operand=weight),
        Total(operand=weight, low=0, high=150, step=1.0, rows=2),
        ValueCounts(operand=weight, low=0, high=150, step=1.0, rows=2),
    )
    groups, units, columns = oracle.measured(
        asked("people"), measures, CATALOG, {**DATA, "people": rows}
    )
    assert groups == [()]
    assert units == [2]
    # 40 + 50 + 61 + 70 + 80 = 301, twice the mean is 120.4; the middles are 50 and 70.
    assert columns == [[2], [3], [2], [120], [{50: 1, 70: 1}]]
