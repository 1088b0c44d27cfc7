"""Generated questions, with a hostile person and without: noise covers all that differs.

What is compared are the exact figures, so that asking once suffices.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.curator.door import Drawn, Seen, one_connection_each
from tests.curator.hostile.generator import Statement, statement, statements
from tests.curator.hostile.neighbours import NOBODY
from tests.curator.hostile.verdict import violations
from tests.curator.hostile.worlds import (
    duckdb_worlds,
    judged,
    parquet_worlds,
    postgres_worlds,
    spark_worlds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.curator.hostile.worlds import Worlds

# PySpark leaves the sockets of its answers to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

SEED = 20_261_116


@pytest.fixture(autouse=True, scope="module")
def _connections() -> Iterator[None]:
    """One a place: to open one takes longer than most questions."""
    with one_connection_each():
        yield


@pytest.fixture(scope="module")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    """The worlds as DuckDB files."""
    return duckdb_worlds(tmp_path_factory.mktemp("neighbours"))


@pytest.fixture(scope="module")
def on_files(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    """The worlds as Parquet files."""
    return parquet_worlds(tmp_path_factory.mktemp("neighbours"))


@pytest.fixture(scope="module")
def on_postgres(postgres_address: str) -> Iterator[Worlds]:
    """The worlds as schemas of a PostgreSQL database of their own."""
    import psycopg

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE neighbours")
    with postgres_worlds(postgres_address.replace("/postgres?", "/neighbours?")) as worlds:
        yield worlds


@pytest.fixture
def on_spark(spark_master: str, tmp_path: Path) -> Worlds:
    """The worlds as files that Spark reads."""
    return spark_worlds(tmp_path, spark_master)


def _check(worlds: Worlds, seed: int, count: int) -> None:
    """Ask; everything that is wrong is told at once, with the statements."""
    became: Counter[str] = Counter()
    wrong = []
    for one in statements(worlds[NOBODY], seed, count):
        result = judged(worlds, one)
        became[result.became] += 1
        wrong += [
            f"statement {one.number} (seed {seed}, {one.world}): {found.words}\n    {one.sql}"
            for found in result.found[:1]
        ]
    assert not wrong, f"{len(wrong)} of {count} statements:\n" + "\n".join(wrong[:10])
    assert became["answered"] > 0.4 * count, became


def test_no_generated_question_tells_neighbours_apart_on_duckdb(on_duckdb: Worlds) -> None:
    _check(on_duckdb, SEED, 40)


def test_no_generated_question_tells_neighbours_apart_in_files(on_files: Worlds) -> None:
    _check(on_files, SEED + 1, 12)


def test_no_generated_question_tells_neighbours_apart_on_postgres(on_postgres: Worlds) -> None:
    _check(on_postgres, SEED + 2, 40)


def test_no_generated_question_tells_neighbours_apart_on_spark(on_spark: Worlds) -> None:
    _check(on_spark, SEED + 3, 3)


@pytest.mark.slow
def test_no_question_of_thousands_tells_neighbours_apart_on_duckdb(on_duckdb: Worlds) -> None:
    _check(on_duckdb, SEED, 200)
    _check(on_duckdb, SEED + 4, 5_000)


@pytest.mark.slow
def test_no_question_of_many_tells_neighbours_apart_on_spark(on_spark: Worlds) -> None:
    _check(on_spark, SEED + 3, 60)


@pytest.mark.slow
def test_no_question_of_many_tells_neighbours_apart_in_files(on_files: Worlds) -> None:
    _check(on_files, SEED + 1, 200)


@pytest.mark.slow
def test_no_question_of_thousands_tells_neighbours_apart_on_postgres(on_postgres: Worlds) -> None:
    _check(on_postgres, SEED + 2, 150)
    _check(on_postgres, SEED + 5, 3_000)


TOGETHER = (
    "SELECT ward, level, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY CUBE (ward, level)",
    "SELECT city, age, COUNT(DISTINCT patient) AS n FROM visits GROUP BY ROLLUP (city, age)",
    "SELECT town, MEDIAN(age) AS m FROM visits GROUP BY GROUPING SETS ((town), (), (town, age))",
    (
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward UNION ALL SELECT city, SUM(income) "
        "FROM visits GROUP BY city UNION ALL SELECT NULL, COUNT(*) FROM labs"
    ),
)


@pytest.mark.parametrize("sql", TOGETHER)
def test_no_part_of_questions_asked_together_moves_more_than_it_is_priced_for(
    sql: str, on_duckdb: Worlds
) -> None:
    for world in ("many", "extreme", "speller"):
        one = Statement(number=0, sql=sql, world=world, names=())
        result = judged(on_duckdb, one)
        assert result.became == "answered"
        assert not result.found, result.found[0].words


def test_a_statement_is_the_same_for_the_same_seed_and_number(on_duckdb: Worlds) -> None:
    catalog = on_duckdb[NOBODY]
    row = list(statements(catalog, SEED, 30))
    assert statement(catalog, SEED, 17) == row[17]
    assert len({one.sql for one in row}) == 30


# What the judge sees ---------------------------------------------------------------------------


def _seen(*values: int, kind: str = "measure", labels: str = "abc", cells: int = 1) -> Seen:
    named = [(label,) for label in labels[: len(values)]]
    drawn = Drawn(kind=kind, labels=named, values=list(values), bound=2, cells=cells)
    return Seen(failed=False, drawn=(drawn,))


def _kinds(one: Seen, other: Seen) -> list[str]:
    return [found.kind for found in violations(one, other)]


def test_a_change_within_the_price_is_no_violation() -> None:
    assert _kinds(_seen(5, 7, 9), _seen(5, 7, 9)) == []
    assert _kinds(_seen(5, 7, 9), _seen(5, 5, 9)) == []


def test_a_cell_that_changes_too_much_is_seen() -> None:
    assert _kinds(_seen(5, 7, 9), _seen(5, 4, 9)) == ["bound"]


def test_too_many_cells_that_change_are_seen() -> None:
    assert _kinds(_seen(5, 7, 9), _seen(4, 6, 9)) == ["cells"]


def test_a_failure_with_the_person_only_is_seen() -> None:
    assert _kinds(Seen(failed=True), _seen(1)) == ["failure"]


def test_declared_labels_that_differ_are_seen() -> None:
    assert _kinds(_seen(5, labels="a"), _seen(5, labels="b")) == ["labels"]


def test_a_private_group_that_is_not_there_is_empty() -> None:
    one, other = _seen(1, 2, kind="keys"), _seen(1, kind="keys")
    assert _kinds(one, other) == []
    assert _kinds(_seen(9, kind="keys", labels="A"), _seen(9, kind="keys", labels="a")) == [
        "cells",
        "bound",
    ]


def test_the_counts_of_a_histogram_are_compared_together() -> None:
    def histogram(**counts: int) -> Seen:
        values = [{int(name[1:]): count for name, count in counts.items()}]
        drawn = Drawn(kind="quantile", labels=[()], values=values, bound=2, cells=1)
        return Seen(failed=False, drawn=(drawn,))

    assert _kinds(histogram(v1=3, v2=4), histogram(v1=3, v2=2)) == []
    assert _kinds(histogram(v1=3, v2=4), histogram(v1=2, v2=2)) == ["bound"]
