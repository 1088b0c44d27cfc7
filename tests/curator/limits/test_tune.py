"""``tune``: charged as a question, drawn once, written with its receipt, and it leaks nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import pytest

from quaestor.accounting.releases import counts_of
from quaestor.curator import Curator
from quaestor.curator.catalog.catalog_edit import replace_table
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.curator.engines.engine import Engine, engine_for
from quaestor.curator.kernel.figures import Prepared
from quaestor.curator.limits.grids import count_edges, value_edges
from quaestor.curator.limits.tune_plan import loosened, plan_tune, price_tune
from quaestor.errors import BudgetExceeded, EngineFailed, InvalidParameter, RefusedQuery
from quaestor.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

CATALOG = """\
ledger = "ledger.db"

# what we know
[tables.visits]
file = "visits.parquet"
unit = "patient"
rows = 1    # to begin with
groups = 1

[tables.visits.columns]
patient = "integer"
ward = { kind = "text", keys = ["A", "B", "C", "D"] }
cost = "real"   # in euro
age = { kind = "integer", low = 0, high = 7 }

[accounts.study]
epsilon = 20.0
delta = 1e-6
datasets = ["visits"]
"""
MADE = """
COPY (
  SELECT i % 2000 AS patient, chr(65 + (i * 7 % 4)::INT) AS ward,
         round(exp(3 + 1.5 * sin(i * 12.9898)), 2) AS cost, (i * 31 % 90)::INT AS age
  FROM range(6000) t(i) WHERE {0}
) TO 'visits.parquet'
"""


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """2,000 patients with three visits each; an account for them is open."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quaestor.toml").write_text(CATALOG, encoding="utf-8")
    duckdb.sql(MADE.format("TRUE"))
    with Curator.from_file() as curator:
        curator.open_account("study")
    return tmp_path / "quaestor.toml"


def test_limits_are_chosen_paid_for_and_written_with_the_receipt(clinic: Path) -> None:
    with Curator.from_file(clinic) as curator:
        made = curator.tune("visits", epsilon=2.0)
        limits = {each.limit: each for each in made.chosen}
        assert list(limits) == ["cost", "rows", "groups"]
    table = replace_table(clinic, made.table).table("visits")
    assert table is not None
    assert limits["rows"].high in {2, 3, 4}
    assert table.contribution is not None
    assert table.contribution.rows == limits["rows"].high
    assert table.tuned[0].receipt == made.answer.receipt
    assert table.tuned[0].limits == ("cost", "rows", "groups")
    text = clinic.read_text(encoding="utf-8")
    for comment in ("# what we know", "# to begin with", "# in euro"):
        assert comment in text
    assert made.answer.epsilon is not None
    assert made.answer.epsilon <= 2.0


def test_what_is_written_is_of_the_public_grid_alone(clinic: Path) -> None:
    """Whatever the data: a bound is an edge (moved to whole steps), and not a value."""
    with Curator.from_file(clinic) as curator:
        made = curator.tune("visits", epsilon=5.0, columns=("cost", "age"))
    for each in made.chosen:
        if each.low is None:
            assert each.high in count_edges()
        else:
            assert {each.low, each.high} <= {*value_edges("real"), *value_edges("integer")}


def test_the_same_again_costs_nothing_and_chooses_the_same(clinic: Path) -> None:
    with Curator.from_file(clinic) as curator:
        first = curator.tune("visits", epsilon=1.0)
        replace_table(clinic, first.table)
    with Curator.from_file(clinic) as curator:
        before = curator.account("study").remaining(dataset="visits")
        plan, price = curator.preview_tune("visits", epsilon=1.0, columns=("cost",))
        assert price.free
        again = curator.tune("visits", epsilon=1.0, columns=("cost",))
        assert again.answer.repeated
        assert again.chosen == first.chosen
        assert curator.account("study").remaining(dataset="visits") == before
        other = curator.tune("visits", epsilon=1.0, columns=("cost",), anew=True)
        assert other.answer.receipt != first.answer.receipt
    assert plan.limits == ("cost", "rows", "groups")


def test_what_does_not_fit_is_refused_and_measures_nothing(clinic: Path) -> None:
    with Curator.from_file(clinic) as curator:
        with pytest.raises(BudgetExceeded):
            curator.tune("visits", epsilon=50.0)
        assert curator.ledger.pending() == ()


def test_a_failure_before_noise_is_completed_and_one_after_it_is_paid_anew(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret")

    with Curator.from_file(clinic) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(Engine, "measure", broken)
            with pytest.raises(EngineFailed) as failed:
                curator.tune("visits", epsilon=1.0)
        assert "secret" not in str(failed.value)
        (left,) = curator.ledger.pending()
        assert (left.state, left.purpose) == ("left", "dataset tune visits: cost, rows, groups")
        made = curator.tune("visits", epsilon=1.0)
        assert made.answer.receipt == left.entry  # the same charge, completed
        assert curator.ledger.pending() == ()
        with monkeypatch.context() as patch:
            patch.setattr(Prepared, "draw", broken)
            with pytest.raises(EngineFailed):
                curator.tune("visits", epsilon=0.5)
        (drawn,) = curator.ledger.pending()
        assert drawn.state == "drawn"
        again = curator.tune("visits", epsilon=0.5)
        assert again.answer.receipt is not None
        assert again.answer.receipt > drawn.entry


def test_a_dashboard_on_the_table_forbids_it(clinic: Path) -> None:
    text = clinic.read_text(encoding="utf-8")
    text += """
[accounts.wall]
epsilon = 1.0
delta = 1e-6
datasets = ["visits"]
policy = "dashboard"
beside = true
queries = [{ sql = "SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon = 0.1 }]
"""
    clinic.write_text(text, encoding="utf-8")
    with Curator.from_file(clinic) as curator:
        curator.open_account("wall")
        for way in (curator.tune, curator.preview_tune):
            with pytest.raises(RefusedQuery, match="dashboard"):
                way("visits", epsilon=1.0, account="study")
        curator.account("wall").close()
        assert curator.tune("visits", epsilon=1.0, account="study").chosen


def test_one_person_changes_one_bin_of_each_histogram_by_one(clinic: Path) -> None:
    """The kernel's exact figures, on neighbouring tables."""
    catalog = read_catalog(clinic)
    plan = plan_tune(catalog, "visits", epsilon=1.0, columns=("cost", "age"))
    measurement = price_tune(plan, catalog).offer.measurement
    found = []
    for rows in ("TRUE", "i % 2000 <> 17"):
        duckdb.sql(MADE.format(rows))
        engine = engine_for(loosened(catalog, "visits"), ["visits"])
        found.append(engine.prepare(measurement).exact().values)
        engine.close()
    for draw in measurement.draws:
        (one,), (other,) = found[0][draw.measure], found[1][draw.measure]
        moved = [abs(one.get(at, 0) - other.get(at, 0)) for at in {*one, *other}]
        assert sum(moved) == 1
    assert len(measurement.draws) == 4
    assert sum(counts_of(measurement.releases).values()) == 4


def test_a_stated_question_decides_what_is_measured_and_for_what(clinic: Path) -> None:
    catalog = read_catalog(clinic)
    asked = "SELECT ward, AVG(cost) FROM visits WHERE age > 10 GROUP BY ward"
    plan = plan_tune(catalog, "visits", epsilon=1.0, question=asked, question_epsilon=0.2)
    assert plan.limits == ("cost", "rows", "groups")
    assert (plan.aim.epsilon, plan.aim.cells, plan.aim.centred) == (0.2, 4, True)
    with Curator.from_file(clinic) as curator:
        made = curator.tune("visits", epsilon=4.0, question=asked)
    groups = next(each for each in made.chosen if each.limit == "groups")
    assert groups.high <= 4
    for wrong in ("SELECT COUNT(*) FROM nothing", "SELECT COUNT(*) FROM visits, visits v"):
        with pytest.raises((RefusedQuery, InvalidParameter)):
            plan_tune(catalog, "visits", epsilon=1.0, question=wrong)


@pytest.mark.parametrize(
    "given",
    [{"columns": ("ward",)}, {"columns": ("patient",)}, {"columns": ("no",)}, {"epsilon": -1.0}],
)
def test_what_cannot_be_tuned_is_refused_before_anything_is_charged(
    clinic: Path, given: dict[str, object]
) -> None:
    with Curator.from_file(clinic) as curator, pytest.raises(InvalidParameter):
        curator.tune("visits", **{"epsilon": 1.0, **given})  # type: ignore[arg-type]
    with Ledger(str(clinic.parent / "ledger.db")) as ledger:
        assert ledger.pending() == ()


def test_the_ledger_keeps_noisy_histograms_and_no_exact_figure(clinic: Path) -> None:
    with Curator.from_file(clinic) as curator:
        made = curator.tune("visits", epsilon=1.0)
        plan = plan_tune(curator.catalog, "visits", epsilon=1.0)
        asked = price_tune(plan, curator.catalog)
        (stored,) = curator.account("study").answers(asked.fingerprint)
    kept = json.loads(stored.text)
    names = [column["name"] for column in kept["columns"]]
    assert names == ["part", "limit", "above", "up to", "units"]
    units = kept["columns"][-1]["values"]
    assert any(each < 0 for each in units)  # as the noise left them
    assert made.answer.to_json() == stored.text
