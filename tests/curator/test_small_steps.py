"""Sums whose bounds are wide and whose values are small: nothing is rounded away."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import duckdb
import pytest

from quaestor.curator import Curator
from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.aggregates.aggregate_kind import MOST_FINE_STEPS, finer, stepped
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.curator.catalog.default_steps import default_granularity
from quaestor.curator.catalog.model import ColumnFacts
from quaestor.curator.kernel.measures import Total
from quaestor.curator.pricing.editions import LATEST, SECOND
from quaestor.curator.pricing.offers import measures_of, offer
from quaestor.curator.pricing.priced_question import Budget, plan, price
from tests.curator.pricing.tables import X, aggregate, query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.curator.language.query import Query

CATALOG = """
[tables.t]
file = "t.parquet"
unit = "u"
rows = 3
groups = 1

[tables.t.columns]
u = "integer"
x = { kind = "integer", low = -1000, high = 1000 }
y = { kind = "real", low = 0, high = 1000 }
z = { kind = "real", low = 0, high = 1000, granularity = 0.001 }
k = { kind = "real", low = 0, high = 1000, keys = [0.0, 0.5] }

[accounts.research]
epsilon = 1e6
delta = 1e-6
"""


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    """A hundred thousand people with an x of 5 and a small y; one of them has many rows more."""
    duckdb.sql(
        "COPY (SELECT i AS u, 5 AS x, 0.0004 AS y, 0.0004 AS z, 0.0004 AS k FROM "
        "range(100_000) AS t(i) UNION ALL "
        f"SELECT 7, 1000, 1e9, 0, 0 FROM range(100000)) TO '{tmp_path}/t.parquet'"
    )
    path = tmp_path / "quaestor.toml"
    path.write_text(CATALOG, encoding="utf-8")
    open_from_catalog(read_catalog(path), "research")
    with Curator.from_file(path) as opened:
        yield opened


def test_cubes_of_small_numbers_are_not_added_up_to_nothing(curator: Curator) -> None:
    [column] = curator.ask("SELECT SUM(x * x * x) AS s FROM t WHERE u <> 7", epsilon=9000.0).columns
    [value], [low], [high] = column.values, column.lower or (), column.upper or ()
    truth = 99_999 * 125
    assert low is not None
    assert high is not None
    margin = float(high) - float(low)  # an interval of 95 % alone would fail in every 20th run
    assert float(low) - margin <= truth <= float(high) + margin
    assert value == pytest.approx(truth, abs=2.2e6)
    assert float(high) - float(low) < 3e6


def test_small_reals_are_not_added_up_to_nothing(curator: Curator) -> None:
    [column] = curator.ask("SELECT SUM(y) AS s FROM t WHERE u <> 7", epsilon=9000.0).columns
    assert column.values[0] == pytest.approx(99_999 * 0.0004, abs=15)  # noise has a scale of 0.4


def test_means_of_small_reals_are_not_rounded_to_nothing(curator: Curator) -> None:
    [column] = curator.ask("SELECT AVG(y) AS m FROM t WHERE u <> 7", epsilon=9000.0).columns
    assert column.values[0] == pytest.approx(0.0004, abs=1.5e-4)  # noise has a scale of 4e-6


def test_declared_steps_and_keys_mean_what_they_meant(curator: Curator) -> None:
    [column] = curator.ask("SELECT SUM(z) AS s FROM t WHERE u <> 7", epsilon=9000.0).columns
    assert column.values[0] == pytest.approx(0, abs=15)
    grouped = curator.ask("SELECT k, COUNT(*) AS n FROM t GROUP BY k", epsilon=9000.0)
    assert grouped.column("n").values[0] == pytest.approx(100_002, abs=2)


@pytest.mark.parametrize(
    ("sql", "fine"),
    [
        ("SELECT SUM(y) AS s FROM t", ("y",)),
        ("SELECT AVG(y + 1) AS s, SUM(z) AS q FROM t", ("y",)),
        ("SELECT SUM(v * 2) AS s FROM (SELECT y AS v FROM t) AS b", ("y",)),
        ("SELECT MEDIAN(y) AS s, COUNT(y) AS n FROM t WHERE y > 1", ()),
        ("SELECT FLOOR(y) AS f, SUM(y) AS s FROM t GROUP BY FLOOR(y)", ("y",)),
        ("SELECT SUM(z) AS s, SUM(x) AS q, SUM(k) AS r FROM t", ()),
    ],
)
def test_what_is_added_up_is_read_in_finer_steps(
    curator: Curator, sql: str, fine: tuple[str, ...]
) -> None:
    query = plan(sql, curator.catalog)
    latest, second = (
        price(query, Budget(epsilon=1.0), curator.catalog, delta=1e-6, edition=edition)
        for edition in (LATEST, SECOND)
    )
    assert latest.offer.measurement.fine == fine
    assert second.offer.measurement.fine == ()
    assert "fine" not in second.identity
    if fine:
        assert latest.fingerprint != second.fingerprint


@pytest.mark.usefixtures("earlier_accounts")
def test_a_sum_that_was_answered_before_is_free(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT SUM(y) AS s FROM t"
    with monkeypatch.context() as before:
        before.setattr("quaestor.curator.pipeline.LATEST", SECOND)
        first = curator.ask(sql, epsilon=1.0)
        exact = curator.ask(sql, epsilon=1.0, whole_error=False)
    assert curator.ask(sql, epsilon=1.0).to_json() == first.to_json()
    assert curator.ask(sql, epsilon=1.0, whole_error=False).to_json() == exact.to_json()
    assert not curator.ask(sql, epsilon=1.0, anew=True).repeated


@pytest.mark.parametrize("bounds", [(0.0, 1000.0), (-1000.0, 1000.0), (999_999.0, 1e6)])
def test_fine_steps_are_of_columns_whose_step_nobody_declared(bounds: tuple[float, float]) -> None:
    low, high = bounds
    step = default_granularity(low, high)
    chosen = ColumnFacts(name="y", kind="real", low=low, high=high, granularity=step)
    fine = chosen.fine_granularity
    assert fine == step * 2.0**-14
    assert max(abs(low), abs(high)) / fine <= 2**38
    whole = stepped(X, low=low, high=high, step=step)
    assert finer(whole, 1).step < step
    for other in (
        replace(chosen, granularity=2 * step),
        replace(chosen, kind="integer", granularity=1.0),
        replace(chosen, keys=(low,)),
        replace(chosen, low=None, high=None, granularity=None),
    ):
        assert other.fine_granularity is None


def test_one_unit_of_many_large_rows_adds_what_it_may(curator: Curator) -> None:
    [column] = curator.ask("SELECT SUM(x * x * x) AS s FROM t WHERE u = 7", epsilon=9000.0).columns
    # of 100,001 rows, three times their mean
    assert column.values[0] == pytest.approx(3 * 1e9, rel=1e-3)


@pytest.mark.parametrize("rows", [1, 7, 1000, 2**30])
@pytest.mark.parametrize(("low", "high", "step"), [(-1e9, 1e9, 1024.0), (0.0, 10.0, 2.0**-16)])
def test_steps_are_small_and_one_unit_is_of_few_enough(
    low: float, high: float, step: float, rows: int
) -> None:
    whole = stepped(X, low=low, high=high, step=step)
    small = finer(whole, rows)
    assert small.step <= whole.step
    assert (whole.step / small.step).is_integer()
    assert (small.low * small.step, small.high * small.step) == (
        low // step * step,
        whole.high * step,
    )
    if small != whole:
        assert rows * small.reach <= MOST_FINE_STEPS


@pytest.mark.parametrize("step", [1.0, 0.01, 0.5])
def test_declared_steps_and_whole_numbers_stay(step: float) -> None:
    whole = stepped(X, low=0.0, high=500.0, step=step)
    assert finer(whole, 1) == whole


def test_the_first_edition_and_scores_keep_their_steps() -> None:
    sums = aggregate("sum", high=2.0**30, step=1024.0)

    def step(asked: Query, edition: int = LATEST) -> float:
        [total] = measures_of(asked, edition=edition).measures
        assert isinstance(total, Total)
        return total.step

    assert step(query(sums)) == 1.0
    assert step(query(sums), edition=1) == 1024.0
    assert step(query(sums, keys=range(9), top=2)) == 1024.0
    assert Fraction(999, 1000) < (offer(query(sums), epsilon=1.0).epsilon or 0) <= 1
