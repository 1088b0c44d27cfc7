"""What limits cut: all engines count the same of rows, groups, values and joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.kernel.cut_measures import CUT, Beyond, Dropped, Excess
from quaestor.curator.pricing.priced_question import Budget, plan, price
from tests.curator.door import measured
from tests.curator.engines.data import CATALOG

if TYPE_CHECKING:
    from quaestor.curator.engines import Engine

# PySpark leaves it to the garbage collector to close the sockets that results come through.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

QUESTIONS = (
    "SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(bill) AS m FROM visits WHERE age > 30",
    "SELECT ward, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY ward",
    (
        "SELECT smoker, COUNT(*) AS n, SUM(v.age - p.weight) AS s FROM visits AS v "
        "LEFT JOIN people AS p ON v.patient = p.person GROUP BY smoker"
    ),
    "SELECT site, SUM(amount) AS s, COUNT(DISTINCT login) AS u FROM logins GROUP BY site",
)


def _cut(engine: Engine, sql: str) -> dict[Any, list[int]]:
    budget = Budget(epsilon=1.0, whole_error=True)
    asked = price(plan(sql, CATALOG), budget, CATALOG, delta=1e-6)
    _, exact = measured(engine, asked.offer.measurement)
    return {measure: held for measure, held in exact.values.items() if type(measure) in CUT}


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        *(("postgres_engine", sql) for sql in QUESTIONS),
        *(("spark_engine", sql) for sql in QUESTIONS[1:3]),
        *(pytest.param("spark_engine", sql, marks=pytest.mark.slow) for sql in QUESTIONS[::3]),
    ],
)
def test_engines_count_alike_what_limits_cut(
    name: str, sql: str, duckdb_engine: Engine, request: pytest.FixtureRequest
) -> None:
    wanted = _cut(duckdb_engine, sql)
    assert {type(measure) for measure in wanted} >= {Excess, Beyond}
    assert _cut(request.getfixturevalue(name), sql) == wanted


def test_the_questions_cut_rows_groups_and_values(duckdb_engine: Engine) -> None:
    found = [item for sql in QUESTIONS for item in _cut(duckdb_engine, sql).items()]
    for kind in (Excess, Dropped, Beyond):
        assert any(type(measure) is kind and any(held) for measure, held in found)
    assert any(type(m) is Excess and any(each < 0 for each in held) for m, held in found)
