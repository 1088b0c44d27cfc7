"""Means, sums and counts of people with more rows than count: their intervals hold the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from quaestor.curator import Curator
from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.catalog.catalog_file import read_catalog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.answers.answer import AnswerColumn

CATALOG = """
[tables.t]
file = "t.parquet"
unit = "u"
rows = 1
groups = 1
outer_rows = 20

[tables.t.columns]
u = "integer"
smoked = { kind = "integer", low = 0, high = 1 }
cost = { kind = "integer", low = 0, high = 100 }
word = "text"

[accounts.research]
epsilon = 1e6
delta = 1e-6
"""


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    """A thousand people with three visits: two smoked, one with a cost, and half with a number."""
    path: Path = tmp_path_factory.mktemp("visits")
    duckdb.sql(
        "COPY (SELECT i AS u, CAST(j < 2 AS INT) AS smoked, CASE WHEN j = 0 THEN 50 END AS cost, "
        "CASE WHEN i % 2 = 0 THEN 'none' ELSE '7' END AS word "
        f"FROM range(1000) AS t(i), range(3) AS r(j)) TO '{path}/t.parquet'"
    )
    (path / "quaestor.toml").write_text(CATALOG, encoding="utf-8")
    open_from_catalog(read_catalog(path / "quaestor.toml"), "research")
    with Curator.from_file(path / "quaestor.toml") as opened:
        yield opened


def widened(column: AnswerColumn, *, whole: bool) -> tuple[float, float]:
    """An interval of 95 %, three times as wide: no test fails by chance."""
    ends = (column.whole_lower, column.whole_upper) if whole else (column.lower, column.upper)
    low, high = (float((end or (None,))[0] or 0.0) for end in ends)
    return low - (high - low) - 1e-3, high + (high - low) + 1e-3


@pytest.mark.parametrize(
    ("question", "counted", "truths"),
    [
        (
            "AVG(smoked) AS a, COUNT(*) AS b, SUM(smoked) AS c",
            (2 / 3, 1000, 2000 / 3),
            (2 / 3, 3000, 2000),
        ),
        (
            "AVG(cost) AS a, COUNT(*) AS b, SUM(cost) AS c, COUNT(cost) AS d",
            (50, 1000, 50_000, 1000),
            (50, 3000, 50_000, 1000),
        ),
    ],
)
def test_both_intervals_hold_what_they_are_of(
    curator: Curator, question: str, counted: tuple[float, ...], truths: tuple[float, ...]
) -> None:
    columns = curator.ask(f"SELECT {question} FROM t", epsilon=50.0).columns
    for column, inner, outer in zip(columns, counted, truths, strict=True):
        for truth, whole in ((inner, False), (outer, True)):
            low, high = widened(column, whole=whole)
            assert low <= truth <= high, (column.name, whole)


def test_variances_are_of_the_rows_that_count(curator: Curator) -> None:
    """A person counts with one row: two thirds of one that smoked, a third of one that did not."""
    [population, sample, count] = curator.ask(
        "SELECT VAR_POP(smoked) AS p, VARIANCE(smoked) AS s, COUNT(smoked) AS n FROM t",
        epsilon=50.0,
    ).columns
    for column, truth in ((population, 2 / 9), (sample, 2 / 9 * 1000 / 999), (count, 1000)):
        low, high = widened(column, whole=False)
        assert low <= truth <= high, column.name
        assert column.name == "n" or high - low < 0.02


def test_texts_that_are_no_numbers_are_rows_all_the_same(curator: Curator) -> None:
    answer = curator.ask(
        "SELECT AVG(CLAMP(CAST(word AS INTEGER), 0, 10)) AS mean, COUNT(*) AS rows FROM t "
        "WHERE word IS NOT NULL",
        epsilon=50.0,
        whole_error=False,
    )
    mean, rows = answer.columns
    assert mean.values[0] == pytest.approx(7, abs=0.1)
    assert rows.values[0] == pytest.approx(1000, abs=3)
