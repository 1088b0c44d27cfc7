"""Parts of pages that need no service: SQL of forms, ticks, charts, amounts, made-up rows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from starlette.datastructures import FormData

from quaestor.curator import Curator
from quaestor.errors import InvalidParameter, RefusedQuery, RequestRefused
from quaestor.service import dry_run as module
from quaestor.service.dry_run import dry_run
from quaestor.service.pages.content.amounts_shown import down, up
from quaestor.service.pages.content.asked_question import AskedQuestion
from quaestor.service.pages.content.budget_view import burn_down, projection
from quaestor.service.pages.content.charts import bar_charts, round_ticks
from quaestor.service.pages.content.form_fields import read_shape
from quaestor.service.pages.content.question_form import sql_of
from quaestor.service.shapes import PreviewBody, QuestionBody, TokenBody
from tests.curator.hospital import write_hospital

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

TABLES = [
    {
        "table": "Visits",
        "unit": "patient",
        "columns": [
            {"name": "patient", "kind": "integer"},
            {"name": 'odd "name', "kind": "text"},
            {"name": "seen", "kind": "date"},
            {"name": "age", "kind": "integer"},
        ],
    }
]
WARDS = "SELECT ward, COUNT(*) AS n, AVG(age) AS mean FROM visits GROUP BY ward"


@pytest.mark.parametrize(
    ("chosen", "sql"),
    [
        ({"figure": "rows"}, 'SELECT COUNT(*) AS "rows"\nFROM "Visits"'),
        ({"figure": "units"}, 'SELECT COUNT(DISTINCT patient) AS units\nFROM "Visits"'),
        (
            {"figure": "avg", "column": "age", "group": 'odd "name'},
            'SELECT "odd ""name", AVG(age) AS avg_age\nFROM "Visits"\nGROUP BY "odd ""name"',
        ),
        (
            {"filter_column": 'odd "name', "filter_sign": "=", "filter_value": "O'Hara"},
            'SELECT COUNT(*) AS "rows"\nFROM "Visits"\nWHERE "odd ""name" = \'O\'\'Hara\'',
        ),
        (
            {"filter_column": "seen", "filter_sign": ">=", "filter_value": "2026-01-01"},
            'SELECT COUNT(*) AS "rows"\nFROM "Visits"\nWHERE seen >= DATE \'2026-01-01\'',
        ),
    ],
)
def test_what_is_chosen_in_the_form_is_sql(chosen: dict[str, str], sql: str) -> None:
    assert sql_of(FormData({"table": "Visits", **chosen}), TABLES) == sql


@pytest.mark.parametrize(
    "chosen",
    [
        {"table": "other"},
        {"group": "salary"},
        {"figure": "avg", "column": "salary"},
        {"filter_column": "age", "filter_sign": "; DROP", "filter_value": "1"},
        {"filter_column": "age", "filter_sign": "=", "filter_value": "1 OR TRUE"},
    ],
)
def test_what_is_not_declared_is_refused(chosen: dict[str, str]) -> None:
    with pytest.raises(InvalidParameter):
        sql_of(FormData({"table": "Visits", **chosen}), TABLES)


def test_a_job_comes_back_into_the_form_as_it_was_asked() -> None:
    asked: dict[str, Any] = {"sql": WARDS, "account": "a", "accuracy": {"within": 5.0}}
    again = AskedQuestion.from_job(asked).read_as(QuestionBody)
    assert again.model_dump(exclude_defaults=True) == asked
    dear = AskedQuestion.from_job({"sql": WARDS, "rho": 0.5, "whole_error": False})
    assert dear.read_as(PreviewBody).rho == 0.5
    assert dear.read_as(PreviewBody).whole_error is False


@pytest.mark.parametrize("high", [0.003, 1.0, 7.3, 551.0, 11_588.0, 3.2e7])
def test_ticks_are_round_and_hold_everything(high: float) -> None:
    ticks = round_ticks(-high / 3, high)
    assert ticks[0] <= -high / 3
    assert ticks[-1] >= high
    assert 0.0 in ticks
    steps = {f"{after - before:.3g}" for before, after in pairwise(ticks)}
    assert len(steps) == 1
    assert steps.pop().replace(".", "").strip("0")[:2].split("e")[0] in {"1", "2", "25", "5"}


def test_amounts_are_rounded_to_the_safe_side() -> None:
    for value in (0.1, 0.12345678, 3.00001, 99999.9, 1e-9, 5e-7):
        assert float(up(value).replace(",", "")) >= value * (1 - 1e-13)
        assert float(down(value).replace(",", "")) <= value * (1 + 1e-13)


def test_a_burn_down_and_its_projection_follow_from_the_history() -> None:
    points = [
        {"used": 0.1, "spent": [0.3], "time": "2026-01-01T00:00:00.000000Z"},
        {"used": 0.2, "spent": [None], "time": "2026-01-11T00:00:00.000000Z"},
    ]
    history = {"points": points, "meters": ["epsilon"], "epsilon": 3.0}
    assert burn_down(history).added_up == (0.9, None)
    assert len(burn_down(history).chart.lines) == 2
    ahead = projection(history)
    assert ahead is not None
    assert (ahead.charges, ahead.day) == (8, "2026-02-20")
    assert projection({**history, "points": points[:1]}) is None


def test_a_dry_run_needs_no_data_and_leaves_nothing(tmp_path: Path) -> None:
    path = write_hospital(tmp_path)
    (tmp_path / "visits.parquet").unlink()
    with Curator.from_file(path) as curator:
        catalog = curator.catalog
    body = PreviewBody(sql=WARDS, epsilon=5.0, account="research")
    answer = dry_run(catalog, body)
    assert [row["ward"] for row in answer.rows()] == ["A", "B", "C"]
    assert {chart.name for chart in bar_charts(answer)} == {"n", "mean"}
    assert {each.name for each in tmp_path.iterdir()} <= {"quaestor.toml", "ledger.db"}
    with pytest.raises(RefusedQuery):
        dry_run(catalog, PreviewBody(sql="SELECT patient FROM visits", epsilon=1.0))
    with (
        module._AT_ONCE,
        module._AT_ONCE,
        pytest.raises(RequestRefused, match="too many dry runs are in progress"),
    ):
        dry_run(catalog, body)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"within": "10"}, "Question: fill this in"),
        ({"sql": "x", "within": "1,5"}, "Within ±: write a number, such as 0.5"),
        ({"sql": "x", "within": "5", "confidence": "95"}, "with probability: .* below 1"),
        ({"sql": "x", "by": "epsilon", "epsilon": "0"}, "ε: write a number above 0"),
    ],
)
def test_what_is_wrong_with_a_form_is_said_in_its_own_words(
    form: dict[str, str], said: str
) -> None:
    with pytest.raises(InvalidParameter, match=said):
        AskedQuestion.from_form(FormData(form)).read_as(QuestionBody)


def test_no_role_is_not_every_role_and_no_truth_is_not_false() -> None:
    with pytest.raises(InvalidParameter, match="For these roles: choose or write at least 1"):
        read_shape(TokenBody, {"days": "9", "scopes": []})
    tables: list[dict[str, Any]] = [
        {"table": "t", "unit": "u", "columns": [{"name": "ill", "kind": "boolean"}]}
    ]
    form = {"table": "t", "figure": "rows", "filter_column": "ill", "filter_sign": "="}
    with pytest.raises(InvalidParameter, match="true or false"):
        sql_of(FormData({**form, "filter_value": "perhaps"}), tables)
    assert sql_of(FormData({**form, "filter_value": "no"}), tables).endswith("ill = FALSE")
