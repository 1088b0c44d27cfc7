"""Every function has an answer for every value on every engine, and the same one everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.curator.kernel.extremes import duckdb_side, measurements, postgres_side, spark_side
from tests.curator.kernel.judging import outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.curator.kernel.tables import Side

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


def _found(side: Side) -> list[tuple[Any, list[list[int]]]]:
    """Groups and figures of every measurement; none may be refused, and none may fail."""
    found = []
    for measurement in measurements():
        became = outcome(measurement, side)
        assert became.exact is not None, (became.refusal, became.failure)
        found.append((became.exact.groups, list(became.exact.values.values())))
    return found


def _agree(one: Side, other: Side) -> None:
    pairs = list(zip(_found(one), _found(other), strict=True))
    one.close()
    other.close()
    for at, (mine, theirs) in enumerate(pairs):
        assert mine[0] == theirs[0], f"statement {at}"
        for place, (x, y) in enumerate(zip(mine[1], theirs[1], strict=True)):
            assert x == y, f"statement {at}, expression {place}"


def test_duckdb_and_postgres_have_the_same_answers_for_all_values(
    tmp_path: Path, attacked_address: str
) -> None:
    _agree(duckdb_side(tmp_path), postgres_side(attacked_address, "QUAESTOR_TEST_ATTACKED"))


def test_duckdb_and_spark_have_the_same_answers_for_all_values(
    tmp_path: Path, spark_master: str
) -> None:
    _agree(duckdb_side(tmp_path), spark_side(tmp_path, spark_master))
