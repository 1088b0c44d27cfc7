"""Whole errors of expressions of released figures: shares, ratios, and arithmetic of aggregates."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pytest

from quaestor.curator import Curator
from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.answers.whole_intervals import _arithmetic
from quaestor.curator.catalog.catalog_file import read_catalog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CATALOG = """
[tables.t]
file = "t.parquet"
unit = "u"
rows = 2
groups = 2
outer_rows = 20
outer_groups = 3

[tables.t.columns]
u = "integer"
ward = { kind = "text", keys = ["a", "b", "c"] }
cost = { kind = "integer", low = 0, high = 20, outer_high = 100 }

[accounts.research]
epsilon = 1e6
delta = 1e-6
"""
ASKED = {
    "share": "COUNT(*) * 100.0 / SUM(COUNT(*)) OVER ()",
    "part": "SUM(cost) / SUM(SUM(cost)) OVER ()",
    "ratio": "SUM(cost) / COUNT(*)",
    "mixed": "ROUND(3 * SUM(cost) - COUNT(*) / 2)",
    "per_head": "COUNT(*) / NULLIF(COUNT(DISTINCT u), 0)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People with up to twelve visits where two count, and costs beyond what is declared."""
    path = tmp_path_factory.mktemp("visits")
    coins = random.Random(5)
    rows = []
    for u in range(600):
        wards = ["a"] if u % 3 else ["a", "b"]
        rows += [
            (u, coins.choice(wards), min(int(coins.gammavariate(2.0, 10.0)), 100))
            for _ in range(coins.choice((1, 2, 3, 12)))
        ]
    rows += [(1000, "c", 30)]  # a group of one person
    with duckdb.connect() as made:
        made.execute("CREATE TABLE t (u INTEGER, ward TEXT, cost INTEGER)")
        made.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        made.execute(f"COPY t TO '{path}/t.parquet'")
    (path / "quaestor.toml").write_text(CATALOG, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def curator(folder: Path) -> Iterator[Curator]:
    open_from_catalog(read_catalog(folder / "quaestor.toml"), "research")
    with Curator.from_file(folder / "quaestor.toml") as opened:
        yield opened


def truths(folder: Path, expression: str) -> list[float]:
    """What DuckDB says of the whole table."""
    found = duckdb.sql(
        f"SELECT ward, {expression} FROM '{folder}/t.parquet' GROUP BY ward ORDER BY ward"
    ).fetchall()
    return [float(value) for _, value in found]


def held(curator: Curator, folder: Path, times: int) -> dict[str, float]:
    """How often whole intervals hold what DuckDB says; caps and bounds bite."""
    truth = {name: truths(folder, expression) for name, expression in ASKED.items()}
    inside, missed = dict.fromkeys(ASKED, 0), dict.fromkeys(ASKED, 0)
    shown = ", ".join(f"{expression} AS {name}" for name, expression in ASKED.items())
    for _ in range(times):
        answer = curator.ask(f"SELECT ward, {shown} FROM t GROUP BY ward", epsilon=4.0, anew=True)
        for name, exact in truth.items():
            column = answer.column(name)
            assert column.whole_lower is not None
            assert column.whole_upper is not None
            assert column.lower is not None
            assert column.upper is not None
            for low, high, one in zip(column.whole_lower, column.whole_upper, exact, strict=True):
                inside[name] += (low is None or low <= one) and (high is None or one <= high)
            assert column.whole_lower[0] is not None  # of a group of many people, always
            assert column.whole_upper[0] is not None
            missed[name] += not (column.lower[0] or 0) <= exact[0] <= (column.upper[0] or 0)
            if name in {"share", "part"}:  # of every group, and no more than a share can be
                most = 100.0 if name == "share" else 1.0
                ends = [*column.whole_lower, *column.whole_upper]
                assert all(end is not None and 0 <= end <= most for end in ends)
    for name in ("ratio", "mixed", "per_head"):
        assert missed[name] > 0.8 * times  # or the test would prove nothing
    return {name: number / (3 * times) for name, number in inside.items()}


def test_the_whole_truth_is_inside(curator: Curator, folder: Path) -> None:
    assert all(share >= 0.85 for share in held(curator, folder, 7).values())


@pytest.mark.slow
def test_the_whole_truth_is_inside_as_often_as_is_said(curator: Curator, folder: Path) -> None:
    assert all(share >= 0.94 for share in held(curator, folder, 150).values())


def test_an_answer_says_once_what_is_in_no_interval(curator: Curator) -> None:
    answer = curator.ask(
        "SELECT COUNT(*) / 2 AS half, VARIANCE(cost) + COUNT(*) AS odd, "
        "CASE WHEN COUNT(*) > 5 THEN COUNT(*) END AS some FROM t",
        epsilon=3.0,
    )
    half, odd, some = answer.columns
    assert half.whole_lower is not None
    assert odd.whole_lower is None
    assert some.whole_lower is None
    said = [note for note in answer.notes if "do not cover" in note]
    assert said == ["the intervals of odd, some do not cover what caps and bounds cut"]


def test_where_nothing_can_be_cut_it_is_the_interval_of_the_noise(curator: Curator) -> None:
    column = curator.ask("SELECT COUNT(DISTINCT u) * 2 AS x FROM t", epsilon=3.0).column("x")
    assert column.whole_lower == column.lower


@pytest.mark.parametrize("operator", ["+", "-", "*", "/"])
def test_intervals_hold_every_result_of_what_is_inside(operator: str) -> None:
    """Thousands of pairs of intervals, ends at 0 and at infinity among them, against points."""
    rng = np.random.default_rng(3)

    def ends() -> tuple[Any, Any]:
        found = rng.choice([0.0, 1.0, -1.0, 1e100, -1e100], (2, 5000))
        found = np.where(rng.random((2, 5000)) < 0.6, rng.normal(size=(2, 5000)), found)
        low, high = np.minimum(*found), np.maximum(*found)
        free = rng.random((2, 5000)) < 0.1
        return np.where(free[0], -np.inf, low), np.where(free[1], np.inf, high)

    def inside(ends: tuple[Any, Any], at: float) -> Any:
        low, high = (np.clip(end, -1e200, 1e200) for end in ends)
        return low * (1 - at) + high * at

    left, right = ends(), ends()
    with np.errstate(all="ignore"):
        low, high = _arithmetic(operator, left, right)
        for a, b in product((0.0, 0.3, 1.0), (0.0, 0.6, 1.0)):
            one, other = inside(left, a), inside(right, b)
            exact = {"+": one + other, "-": one - other, "*": one * other, "/": one / other}
            value = exact[operator]
            there, slack = np.isfinite(value), 1e-9 * np.abs(value)
            assert np.all((low <= value + slack)[there])
            assert np.all((value - slack <= high)[there])
