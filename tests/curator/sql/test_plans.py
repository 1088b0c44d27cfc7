"""What a query says beside its meaning: bounds, steps, keys, contributions, largest groups."""

from __future__ import annotations

import math

import pytest

from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.language.expressions import Aggregated, Column, Keyed
from quaestor.curator.language.query import Contribution, Join, Projected, Scan, TopGroups
from quaestor.curator.sql import parse
from quaestor.errors import RefusedQuery
from tests.curator.sql.hospital import CATALOG


@pytest.mark.parametrize(
    ("operand", "low", "high", "step"),
    [
        ("age", 0, 120, 1),
        ("cost", 0, 10_000, 0.25),
        ("change", -50, 50, 0.125),
        ("age * 1000", 0, 120_000, 1),
        ("cost * 2", 0, 20_000, 2.0**-5),
        (
            "change / 3",
            -math.ceil(50 / 3 * 2**15) / 2**15,
            math.ceil(50 / 3 * 2**15) / 2**15,
            2.0**-15,
        ),
        ("age * 1000000", 0, 120_000_000, 128),
        ("CLAMP(weight, 10, 90)", 10, 90, 2.0**-13),
        ("CLAMP(code, -3, 3)", -3, 3, 1),
        ("0", 0, 0, 1),
        ("CASE WHEN smoker THEN 1 ELSE 0 END", 0, 1, 1),
    ],
)
def test_sums_have_bounds_in_whole_steps(
    operand: str, low: float, high: float, step: float
) -> None:
    (aggregate,) = parse(f"SELECT SUM({operand}) FROM visits", CATALOG).aggregates
    assert (aggregate.low, aggregate.high, aggregate.step) == (low, high, step)
    assert max(abs(low), abs(high)) / step <= 2**24


def test_a_condition_makes_bounds_narrower() -> None:
    query = parse("SELECT AVG(age), AVG(cost) FROM visits WHERE age > 39.5 AND cost < 7", CATALOG)
    age, cost = query.aggregates
    assert (age.low, age.high) == (40, 120)
    assert (cost.low, cost.high) == (0, 7)


@pytest.mark.parametrize(
    ("key", "where", "values"),
    [
        ("sex", "TRUE", ("F", "M")),
        ("sex", "sex <> 'F'", ("M",)),
        ("sex", "LOWER(sex) = 'f'", ("F",)),
        ("city", "TRUE", None),
        ("city", "city IN ('b', 'a')", ("a", "b")),
        ("city", "city IN ('b', 'a') AND city <> 'a'", ("b",)),
        ("city", "city = 'a' OR smoker", None),
        ("smoker", "TRUE", (False, True, None)),
        ("smoker", "smoker IS NOT NULL", (False, True)),
        ("smoker", "NOT smoker", (False,)),
        ('"Ward No"', "TRUE", (1, 2, 3, 4, None)),
        ('"Ward No"', '"Ward No" > 2', (3, 4)),
        ("FLOOR(age / 50)", "TRUE", (0, 1, 2, None)),
        ("FLOOR(age / 50)", "age >= 50", (1, 2)),
        ("FLOOR(age / 50) * 50", "age IS NOT NULL", (0, 50, 100)),
        ("FLOOR(change / 25)", "change <= 0", (-2, -1, 0)),
        ("age > 40", "age > 0", (False, True)),
        ("CASE WHEN age > 40 THEN 'old' ELSE 'new' END", "TRUE", ("new", "old")),
        ("CASE WHEN age > 40 THEN 'old' END", "TRUE", ("old", None)),
        ("WIDTH_BUCKET(cost, 0, 100, 2)", "TRUE", (0, 1, 2, 3, None)),
        ("WIDTH_BUCKET(cost, 0, 100, 2)", "cost IS NOT NULL", (0, 1, 2, 3)),
        ("QUARTER(day)", "TRUE", (1, 2, 3, 4, None)),
        ("YEAR(day)", "TRUE", None),
        ("CLAMP(YEAR(day), 2020, 2022)", "day IS NOT NULL", (2020, 2021, 2022)),
        ("DATE_TRUNC('month', day)", "TRUE", None),
        ("code", "TRUE", None),
        ("code", "code BETWEEN 3 AND 5", (3, 4, 5)),
        ("code", "code BETWEEN 3 AND 5000", None),
        ("age % 3", "age IS NOT NULL", (0, 1, 2)),
    ],
)
def test_keys_have_the_values_that_can_be_known(
    key: str, where: str, values: tuple[object, ...] | None
) -> None:
    query = parse(f"SELECT {key}, COUNT(*) FROM visits WHERE {where} GROUP BY 1", CATALOG)
    assert query.keys[0].values == values


def test_a_null_key_is_shown_where_it_was_declared_or_a_left_join_makes_it() -> None:
    query = parse("SELECT test, COUNT(*) FROM labs GROUP BY test", CATALOG)
    assert query.keys[0].values == ("iron", "zinc", None)
    text = "SELECT region, COUNT(*) FROM visits {} JOIN cities USING (city) GROUP BY region"
    assert parse(text.format("LEFT"), CATALOG).keys[0].values == ("north", "south", None)
    assert parse(text.format("INNER"), CATALOG).keys[0].values == ("north", "south")


@pytest.mark.parametrize(
    ("text", "rows", "groups"),
    [
        ("SELECT COUNT(*) FROM visits", 20, 1),
        ("SELECT COUNT(*) FROM visits GROUP BY sex", 20, 2),
        ("SELECT COUNT(*) FROM visits GROUP BY sex, smoker", 20, 5),
        ("SELECT COUNT(*) FROM visits GROUP BY city", 20, 5),
        ("SELECT COUNT(*) FROM visits WHERE sex = 'F' GROUP BY sex", 20, 1),
        ("SELECT COUNT(*) FROM labs", 50, 1),
        ("SELECT COUNT(*) FROM visits JOIN labs USING (patient) GROUP BY city", 50, 5),
        ("SELECT COUNT(*) FROM staff GROUP BY city", 1, 1),
    ],
)
def test_contributions_are_as_declared_and_no_more_than_there_are_groups(
    text: str, rows: int, groups: int
) -> None:
    assert parse(text, CATALOG).contribution == Contribution(rows=rows, groups=groups)


def test_an_analyst_may_ask_for_less_of_each_person() -> None:
    query = parse("SELECT COUNT(*) FROM visits GROUP BY city", CATALOG, rows=1, groups=2)
    assert query.contribution == Contribution(rows=1, groups=2)
    with pytest.raises(RefusedQuery, match="groups limits how much one person counts"):
        parse("SELECT COUNT(*) FROM visits GROUP BY city", CATALOG, groups=6)


@pytest.mark.parametrize(
    ("text", "top"),
    [
        ("SELECT age, COUNT(*) n FROM visits GROUP BY age ORDER BY n DESC LIMIT 3", 3),
        ("SELECT age FROM visits GROUP BY age ORDER BY COUNT(*) DESC LIMIT 3", 3),
        ("SELECT age FROM visits GROUP BY age ORDER BY COUNT(DISTINCT patient) DESC LIMIT 3", 3),
        ("SELECT age, COUNT(cost) FROM visits GROUP BY age ORDER BY 2 DESC LIMIT 1", 1),
        ("SELECT age, COUNT(*) n FROM visits GROUP BY age ORDER BY n LIMIT 3", None),
        ("SELECT age, COUNT(*) n FROM visits GROUP BY age ORDER BY n DESC", None),
        ("SELECT age, COUNT(*) n FROM visits GROUP BY age ORDER BY n DESC, age LIMIT 3", None),
        ("SELECT age, COUNT(*) n FROM visits GROUP BY age ORDER BY n + 1 DESC LIMIT 3", None),
        ("SELECT age, AVG(cost) n FROM visits GROUP BY age ORDER BY n DESC LIMIT 3", None),
        ("SELECT sex, COUNT(*) n FROM visits GROUP BY sex ORDER BY n DESC LIMIT 2", None),
        ("SELECT city, COUNT(*) n FROM visits GROUP BY city ORDER BY n DESC LIMIT 3", None),
        (
            "SELECT age, COUNT(*) n FROM visits GROUP BY age HAVING n > 5 ORDER BY n DESC LIMIT 3",
            None,
        ),
        ("SELECT COUNT(*) AS n FROM visits ORDER BY n DESC LIMIT 1", None),
    ],
)
def test_the_largest_groups_are_chosen_privately_where_that_fits(
    text: str, top: int | None
) -> None:
    query = parse(text, CATALOG)
    place = query.order[0][0]
    expected = None
    if top is not None:
        assert isinstance(place, Aggregated)
        expected = TopGroups(count=top, place=place.place)
    assert query.top == expected


def test_one_aggregate_is_released_once() -> None:
    query = parse("SELECT COUNT(*), COUNT(1) + 1, SUM(age) / COUNT(*) FROM visits", CATALOG)
    assert [aggregate.function for aggregate in query.aggregates] == ["count", "sum"]


def test_aggregates_that_nothing_is_made_of_are_not_computed() -> None:
    text = "SELECT m FROM (SELECT sex, COUNT(*) AS n, AVG(age) AS m FROM visits GROUP BY sex)"
    query = parse(text, CATALOG)
    assert [aggregate.function for aggregate in query.aggregates] == ["mean"]
    assert query.outputs[0].expression == Aggregated(0)
    assert len(query.keys) == 1


def test_outputs_without_names_get_some() -> None:
    query = parse(
        "SELECT sex, FLOOR(age), COUNT(*), COUNT(*), AVG(cost), MEDIAN(age), 1 + COUNT(*), "
        "QUANTILE(age, 0.1), COUNT(*) FILTER (WHERE smoker) FROM visits GROUP BY sex, FLOOR(age)",
        CATALOG,
    )
    assert [output.name for output in query.outputs] == [
        "sex", "floor_age", "count", "count_2", "avg_cost", "median_age", "expression",
        "quantile_age", "count_3",
    ]  # fmt: skip
    assert query.outputs[0].expression == Keyed(0)


def test_both_sides_of_a_join_have_names_of_their_own() -> None:
    query = parse("SELECT COUNT(*) FROM visits v JOIN labs l USING (patient)", CATALOG)
    assert isinstance(query.rows, Join)
    assert query.rows.left == Scan("visits")
    assert isinstance(query.rows.right, Projected)
    assert [name for name, _ in query.rows.right.columns] == ["patient_2", "test", "value"]
    assert query.rows.on == ((Column("patient"), Column("patient_2")),)
    assert query.unit == "patient"


def test_the_unit_goes_along_where_it_is_not_selected() -> None:
    query = parse("SELECT COUNT(*) FROM (SELECT age AS patient FROM visits)", CATALOG)
    assert isinstance(query.rows, Projected)
    assert dict(query.rows.columns)[query.unit] == Column("patient")
    assert dict(query.rows.columns)["patient"] == Column("age")


def test_names_that_differ_only_by_case_need_the_right_case() -> None:
    columns = tuple(ColumnFacts(name=name, kind="integer") for name in ("u", "x", "X"))
    table = Table(name="t", source=Source(engine="duckdb"), columns=columns, unit="u")
    catalog = Catalog(tables=(table,), ledger="ledger.db")
    query = parse("SELECT COUNT(x), COUNT(X) FROM t", catalog)
    assert [aggregate.operand for aggregate in query.aggregates] == [Column("x"), Column("X")]


def test_parsing_one_question_takes_milliseconds() -> None:
    import time

    text = (
        "SELECT sex, FLOOR(age / 10), AVG(cost), COUNT(*) FROM visits WHERE age > 3 GROUP BY 1, 2"
    )
    parse(text, CATALOG)
    best = math.inf
    for _ in range(20):
        before = time.thread_time()
        parse(text, CATALOG)
        best = min(best, time.thread_time() - before)
    assert best < 0.015  # of CPU time: ten times what is usual
