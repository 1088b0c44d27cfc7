"""The whole error: what limits cut is measured as a slow count says, priced, and covered."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator import Curator
from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.answers.answer import Answer
from quaestor.curator.catalog.catalog_file import catalog_from_toml, read_catalog
from quaestor.curator.catalog.catalog_text import table_to_toml
from quaestor.curator.engines.engine import engine_for
from quaestor.curator.kernel.cut_measures import Beyond, Dropped, Excess
from quaestor.curator.kernel.measures import RowCount, Total
from quaestor.curator.pricing.priced_question import Budget, Priced, plan, price
from quaestor.errors import InvalidCatalog
from tests.curator.door import measured

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ("a", "b", "c")
_COLUMNS = """
[tables.v.columns]
who = "integer"
key = { kind = "text", keys = ["a", "b", "c"] }
x = { kind = "integer", low = 0, high = 10 }
y = { kind = "integer", low = -10, high = 10, outer_low = -30, outer_high = 20 }
"""


def _table(folder: Path, rows: list[tuple[Any, ...]], declared: str, more: str = "") -> Path:
    with (folder / "v.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["who", "key", "x", "y"])
        writer.writerows(rows)
    text = f'ledger = "l.sqlite"\n\n[tables.v]\nfile = "v.csv"\nunit = "who"\n{declared}{_COLUMNS}'
    (folder / "quaestor.toml").write_text(text + more)
    return folder / "quaestor.toml"


def _asked(path: Path, sql: str, **budget: Any) -> Priced:
    catalog = read_catalog(path)
    given: dict[str, Any] = {"epsilon": 1.0, "whole_error": True, **budget}
    return price(plan(sql, catalog), Budget(**given), catalog, delta=1e-6, sql=sql)


def _exact(path: Path, asked: Priced) -> dict[Any, list[int]]:
    engine = engine_for(read_catalog(path), ["v"])
    try:
        return measured(engine, asked.offer.measurement)[1].values
    finally:
        engine.close()


def _people(seed: int) -> list[tuple[int, str, int, int]]:
    rng = random.Random(seed)
    return [
        (who, rng.choice(KEYS), rng.randint(-20, 130), rng.randint(-40, 40))
        for who in range(12)
        for _ in range(rng.choice((1, 2, 3, 8, 40)))
    ]


def _clip(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def _contribution(values: list[int], rows: int) -> int:
    """As the docs of totals say: so many rows of the mean, rounded towards zero."""
    if len(values) <= rows:
        return sum(values)
    part = Fraction(rows * sum(values), len(values))
    return int(part)  # towards zero


@pytest.mark.parametrize("seed", range(6))
def test_what_is_cut_is_what_a_slow_count_says(tmp_path: Path, seed: int) -> None:
    rows = _people(seed)
    path = _table(tmp_path, rows, "rows = 2\ngroups = 3\n")
    sql = "SELECT key, COUNT(*) AS n, SUM(x) AS s, AVG(y) AS m FROM v GROUP BY key"
    found = _exact(path, _asked(path, sql))
    held: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for who, key, x, y in rows:
        held[who, key].append((x, y))
    for measure, counted in found.items():
        if not isinstance(measure, Excess):
            continue
        wanted = dict.fromkeys(KEYS, 0)
        for (_, key), values in held.items():
            wanted[key] += _clip(_lacking(measure, values), measure.low, measure.high)
        assert counted == list(wanted.values()), measure
    assert sum(isinstance(measure, Excess) for measure in found) == 4
    assert not any(isinstance(measure, Dropped) for measure in found)


def _lacking(measure: Excess, values: list[tuple[int, int]]) -> int:
    inner, outer = measure.inner, measure.outer
    if isinstance(inner, RowCount):
        assert isinstance(outer, RowCount)
        return min(len(values), outer.rows) - min(len(values), inner.rows)
    assert isinstance(inner, Total)
    assert isinstance(outer, Total)
    at, (near, far) = (0, ((0, 10), (0, 100))) if inner.low == 0 else (1, ((-10, 10), (-30, 20)))
    fine, coarse = round(1 / inner.step), round(1 / outer.step)  # means are in fine steps
    assert coarse * measure.times == fine
    mine = [_clip(each[at], *near) * fine for each in values]
    theirs = [_clip(each[at], *far) * coarse for each in values]
    return _contribution(theirs, outer.rows) * measure.times - _contribution(mine, inner.rows)


def test_who_is_in_too_many_groups_counts_once_with_the_most_of_one(tmp_path: Path) -> None:
    rows = [(who, key, 1, 1) for who in range(7) for key in KEYS[: 1 + who % 3] for _ in range(2)]
    path = _table(tmp_path, rows, "rows = 1\ngroups = 1\n")
    sql = "SELECT key, COUNT(*) AS n, COUNT(DISTINCT who) AS u FROM v GROUP BY key"
    found = _exact(path, _asked(path, sql))
    dropped = {
        measure.most: counted for measure, counted in found.items() if type(measure) is Dropped
    }
    assert dropped == {10: [2 * 4], 1: [4]}  # four of seven are in two groups or three
    (excess,) = (counted for measure, counted in found.items() if type(measure) is Excess)
    assert sum(excess) == 7  # one row more in the one group in which each of them counts


def test_who_is_beyond_is_counted_once(tmp_path: Path) -> None:
    few = [(who, "a", 1, 1) for who in range(5)]
    rows = [
        *few,
        *[(10, key, 1, 1) for key in KEYS for _ in range(11)],  # too many rows, in three groups
        (11, "a", 101, 1),  # a value beyond the outer bound
        *[(12, "b", 60, 1)] * 3,  # more in all than one row beyond, or ten within bounds
        *[(13, "b", 10, 1)] * 10,
    ]
    path = _table(tmp_path, rows, "rows = 1\ngroups = 3\n")
    sql = "SELECT key, SUM(x) AS s FROM v GROUP BY key"
    found = _exact(path, _asked(path, sql))
    (beyond,) = (counted for measure, counted in found.items() if type(measure) is Beyond)
    assert beyond == [3]


def test_a_tenth_pays_and_no_more_is_charged_than_was_asked(tmp_path: Path) -> None:
    path = _table(tmp_path, [], "rows = 3\ngroups = 2\n")
    sql = "SELECT key, COUNT(*) AS n, AVG(x) AS m, SUM(y) AS s FROM v GROUP BY key"
    for budget in ({"epsilon": 0.3}, {"epsilon": None, "rho": 0.02}):
        offer = _asked(path, sql, **budget).offer
        total = offer.epsilon if budget["epsilon"] else offer.rho
        wanted = Fraction(budget["epsilon"] or budget["rho"])  # type: ignore[arg-type]
        assert total is not None
        assert wanted * Fraction(99, 100) <= total <= wanted
        assert wanted * Fraction(99, 1000) <= offer.whole_price <= wanted / 10
        plain = _asked(path, sql, **budget, whole_error=False).offer
        assert plain.whole_draws == ()
        assert plain.whole_price == 0


@pytest.mark.parametrize("groups", [1, 3])
def test_where_nothing_can_be_cut_it_costs_nothing_and_is_that_of_the_noise(
    tmp_path: Path, groups: int
) -> None:
    rows = [(who, KEYS[who % 3], 1, 1) for who in range(50)]
    declared = f"rows = 1\ngroups = {groups}\nouter_rows = 1\nouter_groups = {groups}\n"
    path = _table(tmp_path, rows, declared, "[accounts.a]\nepsilon = 9.0\ndelta = 1e-6\n")
    sql = "SELECT key, COUNT(*) AS n FROM v GROUP BY key"
    asked = _asked(path, sql)
    assert asked.offer.measurement == _asked(path, sql, whole_error=False).offer.measurement
    with Curator.from_file(path) as curator:
        curator.open_account("a")
        column = curator.ask(sql, epsilon=0.5).column("n")
    assert (column.whole_lower, column.whole_upper) == (column.lower, column.upper)


def test_answers_carry_both_intervals_and_say_what_they_are(tmp_path: Path) -> None:
    rows = [(who, KEYS[who % 3], 5, 5) for who in range(3000) for _ in range(8)]
    path = _table(
        tmp_path,
        rows,
        "rows = 2\ngroups = 1\nouter_groups = 1\n",
        "[accounts.a]\nepsilon = 99.0\ndelta = 1e-6\n",
    )
    sql = "SELECT key, COUNT(*) AS n, AVG(x) AS m FROM v GROUP BY key ORDER BY n DESC"
    with Curator.from_file(path) as curator:
        curator.open_account("a")
        seen = curator.preview(sql, epsilon=8.0)
        answer = curator.ask(sql, epsilon=8.0)
        again = curator.ask(sql, epsilon=8.0)
    assert any("pays for the whole-error interval" in note for note in seen.notes)
    assert 0.79 < seen.to_dict()["whole_error"] <= 0.8
    assert again.repeated
    assert again == answer == Answer.from_json(answer.to_json())
    assert "n_whole_low,n_whole_high" in answer.to_csv()
    assert {"n_low", "n_whole_low", "m_whole_high"} <= set(answer.to_arrow().column_names)
    words = " ".join(answer.notes)
    for said in ("outer limits", "people beyond", "sampling error", "quaestor dataset tune"):
        assert words.count(said) == 1, said
    column = answer.column("n")
    assert column.upper is not None
    assert column.whole_lower is not None
    assert all(low > high for low, high in zip(column.whole_lower, column.upper, strict=True))  # type: ignore[operator]


def test_figures_without_a_whole_error_say_so(tmp_path: Path) -> None:
    account = '[accounts.a]\nepsilon = 100\ndelta = 1e-6\ndatasets = ["v"]\npolicy = "open"\n'
    path = _table(tmp_path, [(i, "a", 3, 3) for i in range(50)], "rows = 2\ngroups = 1\n", account)
    said = "do not cover what caps and bounds cut"
    with Curator.from_file(path) as curator:
        open_from_catalog(curator.catalog, "a", ledger=curator.ledger)
        alone = "SELECT VARIANCE(x) AS s FROM v"
        seen = curator.preview(alone, epsilon=1.0)
        assert f"the intervals of these figures {said}" in seen.notes
        assert f"the intervals of s {said}" in curator.ask(alone, epsilon=1.0).notes
        both = curator.ask("SELECT COUNT(*) AS n, VARIANCE(x) AS s FROM v", epsilon=1.0).notes
        assert f"the intervals of s {said}" in both
        assert any(note.startswith("whole error: also covers") for note in both)


def test_a_dashboard_pays_for_what_it_declared_and_old_answers_stay_free(tmp_path: Path) -> None:
    sql = "SELECT COUNT(*) AS n FROM v"
    more = (
        '[accounts.board]\npolicy = "dashboard"\nepsilon = 1.0\ndelta = 1e-6\n'
        f'queries = [{{ sql = "{sql}", epsilon = 0.5 }}]\n'
        "[accounts.free]\nepsilon = 9.0\ndelta = 1e-6\nbeside = true\n"
    )
    path = _table(tmp_path, [(1, "a", 1, 1)] * 5, "rows = 3\ngroups = 2\n", more)
    with Curator.from_file(path) as curator:
        curator.open_account("board")
        curator.open_account("free")
        answer = curator.ask(sql, epsilon=0.5, account="board")
        assert answer.column("n").whole_lower is None
        old = curator.ask(sql, epsilon=0.5, account="free", whole_error=False)
        assert old.column("n").whole_lower is None
        assert curator.ask(sql, epsilon=0.5, account="free") == old
        assert curator.preview(sql, epsilon=0.5, account="free").free
        new = curator.ask(sql, epsilon=0.5, account="free", whole_error=True)
        assert new.column("n").whole_lower is not None
        assert not new.repeated
        assert curator.ask(sql, epsilon=0.5, account="free") == new


def test_outer_limits_are_read_written_and_checked(tmp_path: Path) -> None:
    declared = "rows = 3\ngroups = 2\nouter_rows = 5\nouter_groups = 2\nouter_total_rows = 9\n"
    table = read_catalog(_table(tmp_path, [], declared)).tables[0]
    assert (table.outer_caps.rows, table.outer_caps.groups) == (5, 2)
    assert (table.total_cap(times=10), table.total_cap()) == (9, 6)
    y = table.column("y")
    assert y is not None
    assert (y.outer.low, y.outer.high) == (-30.0, 20.0)
    written = catalog_from_toml(f'ledger = "l"\n{table_to_toml(table)}', file="q", folder=".")
    assert written.tables[0] == table
    x = table.column("x")
    assert x is not None
    assert (x.outer.low, x.outer.high) == (0.0, 100.0)
    assert replace(x, low=-3.0, high=-1.0).outer.high == 0.0
    for wrong in ("outer_rows = 2", "outer_groups = 1", "outer_total_rows = 5", "outer_rows = 0"):
        with pytest.raises(InvalidCatalog, match="outer_"):
            read_catalog(_table(tmp_path, [], f"rows = 3\ngroups = 2\n{wrong}\n"))
    text = (tmp_path / "quaestor.toml").read_text().replace("outer_low = -30", "outer_low = -3")
    with pytest.raises(InvalidCatalog, match="inside the bounds"):
        catalog_from_toml(text.replace("outer_rows = 0\n", ""), file="q", folder=".")


def test_the_wire_of_old_columns_is_what_it_was(tmp_path: Path) -> None:
    path = _table(tmp_path, [], "rows = 3\ngroups = 2\n")
    said = json.loads(_asked(path, "SELECT COUNT(*) AS n FROM v", whole_error=False).identity)
    columns = said["tables"][0]["columns"]
    assert set(columns[2]) == {"is", "name", "kind", "low", "high", "granularity", "keys"}
    assert "outer" not in said


_FIGURES = (
    "SUM(x)",
    "SUM(3 - 2 * y)",
    "SUM(x * y)",
    "SUM((x - 50) * (x - 50))",
    "SUM(CASE WHEN x > 50 THEN 0 ELSE 1 END)",
    "SUM(CASE WHEN x > 50 THEN 1 ELSE 0 END)",
    "SUM(x % 7)",
    "SUM(LEAST(x, 50))",
    "SUM(COALESCE(NULLIF(x, 50), 7))",
    "SUM(x) FILTER (WHERE y < 5)",
    "COUNT(NULLIF(x, 50))",
    "COUNT(*) FILTER (WHERE x < 20)",
    "COUNT(DISTINCT CASE WHEN x > 20 THEN who END)",
    "COUNT(DISTINCT CASE WHEN x < 20 THEN who END)",
)


@pytest.mark.parametrize("declared", ["rows = 2\ngroups = 1", "rows = 12\ngroups = 3"])
def test_what_is_missing_is_what_the_truth_has_more(tmp_path: Path, declared: str) -> None:
    """Without noise: whatever is added up, the figure and what it lacks are the true answer."""
    import duckdb

    rng = random.Random(5)
    rows = [
        (who, key, rng.choice((0, 5, 10, 11, 50, 99)), rng.choice((-30, -10, 0, 5, 11, 20)))
        for who in range(20)
        for key in rng.sample(KEYS, rng.choice((1, 1, 3)))
        for _ in range(rng.choice((1, 2, 4)))
    ]
    path = _table(tmp_path, rows, f"{declared}\nouter_rows = 100\nouter_groups = 3\n")
    listed = ", ".join(f"{figure} AS f{at}" for at, figure in enumerate(_FIGURES))
    asked = _asked(path, f"SELECT key, {listed} FROM v GROUP BY key")
    found, offer = _exact(path, asked), asked.offer
    assert offer.whole is not None
    assert [held for measure, held in found.items() if type(measure) is Beyond] == [[0]]
    told = duckdb.connect().execute(
        f"SELECT key, {listed} FROM read_csv('{tmp_path}/v.csv', header = true) "
        "GROUP BY key ORDER BY key"
    )
    truths = told.fetchall()
    for at, (figure, recipe) in enumerate(zip(_FIGURES, offer.measuring.recipes, strict=True)):
        (cut,) = offer.whole.cuts[at] or ()
        for cell, truth in enumerate(truths):
            answer = sum(found[measure][cell] * times for measure, times in recipe.terms)  # type: ignore[attr-defined]
            lack = 0 if cut.excess is None else found[cut.excess][cell]
            off = 0 if cut.dropped is None else found[cut.dropped][0]
            low, high = answer + lack - (0 if cut.grows else off), answer + lack + off
            assert low <= (truth[1 + at] or 0) <= high, (figure, truth[0])


@pytest.mark.slow
def test_whole_intervals_hold_and_are_no_wider_than_the_docs_say() -> None:
    from benchmarks.whole_error import SETTINGS, simulated

    for setting in SETTINGS:
        for held in simulated(setting, times=600, seed=7):
            # 0.95 of 600 less four standard deviations: by chance once in 30,000 figures
            assert held.whole >= 0.95 - 4 * (0.95 * 0.05 / 600) ** 0.5, (setting.name, held)
            assert held.times <= setting.widest, (setting.name, held)


def test_caps_that_bite_are_covered_and_said(tmp_path: Path) -> None:
    """Five rows a person on average, three allowed, and values that grow with use."""
    rng = random.Random(18)
    rows = []
    for who in range(2000):
        used = min(1 + int(rng.expovariate(1 / 4.5)), 30)
        rows += [(who, "a", min(2 * used, 10), 0) for _ in range(used)]
    opened = "\n[accounts.a]\nepsilon = 1000.0\ndelta = 1e-6\n"
    path = _table(tmp_path, rows, "rows = 3\ngroups = 1\nouter_rows = 30\n", opened)
    open_from_catalog(read_catalog(path), "a")
    asked = "SELECT COUNT(*) AS n, AVG(x) AS m FROM v"
    same = ["", *(f" WHERE x > -{number}" for number in range(1, 5))]  # all rows each time
    with Curator.from_file(path) as curator:
        answers = [curator.ask(asked + condition, epsilon=199.0) for condition in same]
    count, mean = len(rows), sum(row[2] for row in rows) / len(rows)
    assert count > 4 * 2000
    for name, truth in (("n", count), ("m", mean)):
        held = 0
        for answer in answers:
            column = answer.column(name)
            assert column.whole_lower is not None
            assert column.whole_upper is not None
            (low,), (high,) = column.whole_lower, column.whole_upper
            assert low is not None
            assert high is not None
            held += low <= truth <= high
        assert held >= 2  # of five that hold 19 times in 20 each: fewer once in 30,000
    answer = answers[0]
    assert "quaestor dataset tune" in " ".join(answer.notes)
    noisy = answer.column("n").upper
    assert noisy is not None
    assert noisy[0] is not None
    assert noisy[0] < count  # the noise interval alone excludes it
