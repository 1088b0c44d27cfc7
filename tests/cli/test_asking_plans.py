"""``quaestor query --plan``: several questions in one call, each answered or refused by itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.ledger import Ledger
from tests.curator.hospital import truth_by_ward, write_hospital

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

PLAN = """
purpose = "annual report"

[[questions]]
sql = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
epsilon = 60

[[questions]]
sql = "SELECT COUNT(*) AS n FROM visits"
epsilon = 5000

[[questions]]
sql = "SELECT COUNT(*) AS n FROM visits"
epsilon = 30
purpose = "funding"
"""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan beside a hospital whose account is open and cannot pay for the second question."""
    open_from_catalog(read_catalog(write_hospital(tmp_path)), "research")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN, encoding="utf-8")
    return path


def test_each_question_of_a_plan_is_answered_or_refused_by_itself(
    quaestor: Run, plan: Path
) -> None:
    run = quaestor("query", "--plan", str(plan))
    assert run.status == 3
    for ward, visits in truth_by_ward().items():
        assert f"│ {ward}    │ {visits} ({visits} to {visits}) │" in run.out
    assert "2. SELECT COUNT(*) AS n FROM visits\nnot answered: " in run.out
    assert "1 of 3 questions have no answer" in run.out
    with Ledger(plan.parent / "ledger.db") as ledger:
        entries = ledger.account("research").entries()
    assert [each.purpose for each in entries] == ["annual report", "funding"]


def test_programs_get_answers_and_errors_in_order(quaestor: Run, plan: Path) -> None:
    run = quaestor("query", "--plan", str(plan), "--json")
    assert run.status == 3
    first, second, third = json.loads(run.out)["questions"]
    assert first["answer"]["repeated"] is False
    assert second["error"]["code"] == "budget_exceeded"
    assert [each["name"] for each in third["answer"]["columns"]] == ["n"]
    again = json.loads(quaestor("query", "--plan", str(plan), "--json").out)["questions"]
    assert [each["answer"]["repeated"] for each in (again[0], again[2])] == [True, True]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("SELECT COUNT(*) FROM visits",), "given without SQL"),
        (("--epsilon", "1"), "given without SQL"),
        (("--noise", "geometric"), "given without SQL"),
        (("--out", "answers.csv"), "left out with --plan"),
        (("--format", "csv"), "left out with --plan"),
        (("--confidence", "0.9"), "left out with --plan"),
        (("--no-quantile-intervals",), "left out with --plan"),
    ],
)
def test_options_of_one_question_are_refused_beside_a_plan(
    quaestor: Run, plan: Path, words: tuple[str, ...], said: str
) -> None:
    run = quaestor("query", *words, "--plan", str(plan))
    assert run.status == 2
    assert said in run.err
    assert not [*plan.parent.glob("answers*")]


def test_without_a_question_both_ways_are_said(quaestor: Run, plan: Path) -> None:
    assert plan.exists()
    run = quaestor("query", "--epsilon", "1")
    assert run.status == 2
    assert "--plan FILE" in run.err
