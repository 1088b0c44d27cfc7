"""For neighbouring tables no figure moves by more than its noise is priced for, whatever is asked.

The attacker writes rows, expressions, cells and noise directly, never through the parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.curator.kernel import pointed
from tests.curator.kernel.judging import attacked

if TYPE_CHECKING:
    from tests.curator.kernel.judging import Tally
    from tests.curator.kernel.tables import Side

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


# Spark takes seconds a case. These six notice a group too many, a row too many, a value too many,
# ranks that are not thinned, and totals that are not clamped; the first twelve noticed one.
_ON_SPARK = (7, 17, 20, 22, 36, 49)


def held(tally: Tally, least: int) -> None:
    """Nothing is wrong, and the attack was one: most was answered, and much of it moved."""
    assert not tally.wrong, tally.wrong[:5]
    cases = tally.cases
    assert cases["figures"] >= least, cases
    assert cases["moved"] >= cases["equal"] / 3, cases
    assert cases["moved"] + cases["equal"] >= 3 * (cases["refused"] + cases["failed"]), cases


def test_on_duckdb_one_unit_moves_no_more_than_is_priced(on_duckdb: dict[str, Side]) -> None:
    held(attacked(on_duckdb, range(100)), 200)


def test_on_postgres_one_unit_moves_no_more_than_is_priced(on_postgres: dict[str, Side]) -> None:
    held(attacked(on_postgres, range(800)), 1_600)


def test_on_spark_one_unit_moves_no_more_than_is_priced(on_spark: dict[str, Side]) -> None:
    held(attacked(on_spark, _ON_SPARK, bare=True), 20)


@pytest.mark.slow
def test_on_duckdb_nor_in_many_more_cases(on_duckdb: dict[str, Side]) -> None:
    held(attacked(on_duckdb, range(100, 1_200)), 2_200)
    held(attacked(on_duckdb, range(100_000, 115_000)), 30_000)


@pytest.mark.slow
def test_on_spark_nor_in_more_cases(on_spark: dict[str, Side]) -> None:
    held(attacked(on_spark, sorted(set(range(60)) - set(_ON_SPARK)), bare=True), 80)


@pytest.mark.slow
def test_on_postgres_nor_in_many_more_cases(on_postgres: dict[str, Side]) -> None:
    held(attacked(on_postgres, range(800, 2_000)), 2_400)
    held(attacked(on_postgres, range(100_000, 150_000)), 100_000)


def test_on_duckdb_every_guard_holds(on_duckdb: dict[str, Side]) -> None:
    """Without two of the targets: of faults inside the kernel ``check.py`` sees no more either."""
    assert not pointed.wrongs(on_duckdb, every=False)


@pytest.mark.slow
def test_on_duckdb_every_guard_holds_whoever_is_not_there(on_duckdb: dict[str, Side]) -> None:
    assert not pointed.wrongs(on_duckdb)


def test_on_postgres_every_guard_holds(on_postgres: dict[str, Side]) -> None:
    assert not pointed.wrongs(on_postgres)
