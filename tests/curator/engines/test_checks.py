"""The owner's check finds the same in the same tables, wherever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.inspection import check_table
from tests.curator.engines.data import COLUMNS

if TYPE_CHECKING:
    from quaestor.curator.engines import Engine

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

CASES = [*((table, "postgres_engine") for table in COLUMNS), ("logins", "spark_engine")]


def _found(engine: Engine, table: str) -> dict[str, Any]:
    return check_table(engine.catalog, table).to_dict()


@pytest.mark.parametrize(("table", "engine"), CASES)
def test_all_engines_find_the_same(
    table: str, engine: str, duckdb_engine: Engine, request: pytest.FixtureRequest
) -> None:
    here, there = _found(duckdb_engine, table), _found(request.getfixturevalue(engine), table)
    for found in (here, there):
        del found["remedies"]  # they name the place
        for column in found["columns"]:
            column["first"] = [(text.lower(), problem) for text, problem in column["first"]]
            if column["numbers"] is not None:  # sums of floats differ in their last digits
                mass, moved = column["numbers"].pop("mass"), column["numbers"].pop("moved")
                column["near"] = [round(x, 6) for x in (mass, moved)]
            column["mass_moved"] = round(column["mass_moved"], 9)
            column["mass_capped"] = round(column["mass_capped"], 9)
    assert here == there
