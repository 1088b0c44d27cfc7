"""``AUTO(x)``: bounds inside a question, as two questions that are charged and stored as any."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb
import pytest

from quaestor.curator import Accuracy, Curator, PlanQuestion
from quaestor.curator.engines.engine import Engine
from quaestor.curator.limits.grids import value_edges
from quaestor.curator.sql.auto_calls import read_auto
from quaestor.errors import BudgetExceeded, EngineFailed, InvalidParameter, RefusedQuery
from tests.curator.limits.test_tune import MADE, clinic

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.answers.answer import Answer

__all__ = ["clinic"]

MEAN = "SELECT AVG(AUTO(cost)) AS mean FROM visits"


def bounds_in(answer: Answer) -> tuple[float, float]:
    """The bounds in the SQL that was asked."""
    found = re.search(r"CLAMP\(cost, (\S+), ([^\s)]+)\)", answer.sql or "")
    assert found is not None
    return float(found[1]), float(found[2])


def left(curator: Curator) -> object:
    """What is left of the account."""
    return curator.account("study").remaining(dataset="visits")


def test_both_are_paid_for_and_the_answer_says_with_which_bounds(clinic: Path) -> None:
    with Curator.from_file(clinic) as curator:
        answer = curator.ask(MEAN, epsilon=5.0)
        entries = list(curator.account("study").entries())
    low, high = bounds_in(answer)
    assert {low, high} <= {*value_edges("real")}
    assert (answer.receipt, len(entries)) == (2, 2)
    assert answer.epsilon is not None
    assert 4.9 < answer.epsilon <= 5.0
    (note,) = (note for note in answer.notes if note.startswith("Bounds"))
    assert f"cost from {low:g} to {high:g}" in note
    assert "epsilon 1, receipt 1" in note
    (mean,) = answer.column("mean").values
    (truth,) = duckdb.sql("SELECT avg(cost) FROM 'visits.parquet'").fetchall()[0]
    assert isinstance(mean, float)
    assert abs(mean - truth) < 0.2 * truth


def test_the_same_again_is_free_and_has_the_same_bounds(clinic: Path) -> None:
    with Curator.from_file(clinic) as curator:
        first = curator.ask(MEAN, epsilon=5.0)
        before = left(curator)
        assert curator.preview(MEAN, epsilon=5.0).free
        again = curator.ask(MEAN, epsilon=5.0)
        assert left(curator) == before
    assert again.repeated
    assert (again.sql, again.columns, again.receipt) == (first.sql, first.columns, first.receipt)
    assert set(first.notes) < set(again.notes)


def test_another_question_at_the_price_uses_the_histogram_that_is_there(clinic: Path) -> None:
    """The same that a tuning of the column stores: neither is paid for twice."""
    with Curator.from_file(clinic) as curator:
        tuned = curator.tune("visits", epsilon=1.0, columns=("cost",), caps=False)
        shown = curator.preview(MEAN, epsilon=5.0)
        assert shown.epsilon is not None
        assert 3.9 < shown.epsilon <= 4.0
        answer = curator.ask(MEAN, epsilon=5.0)
        other = curator.ask(
            "SELECT ward, SUM(auto ( v.Cost )) FROM visits v WHERE age > 3 GROUP BY ward",
            epsilon=5.0,
        )
        assert f"receipt {tuned.answer.receipt})" in "".join(answer.notes)
    for each in (answer, other):
        assert each.epsilon is not None
        assert each.epsilon <= 4.0
        assert "The histogram was paid for before." in each.notes


def test_a_preview_shows_the_split_and_charges_nothing(clinic: Path) -> None:
    with Curator.from_file(clinic) as curator:
        before = left(curator)
        shown = curator.preview(MEAN, epsilon=5.0)
        assert left(curator) == before
        too_much = curator.preview(MEAN, epsilon=24.0)
    assert shown.fits
    assert not shown.free
    assert shown.question.startswith("AVG(AUTO(cost)) of visits")
    assert shown.epsilon is not None
    assert 4.9 < shown.epsilon <= 5.0
    assert "epsilon 1 pays" in shown.notes[-1]
    assert "epsilon 4 for the question" in shown.notes[-1]
    assert "not known before" in shown.notes[-1]
    assert not too_much.fits


def test_bounds_follow_from_the_released_histogram_and_nobodys_rows(clinic: Path) -> None:
    """An attack: after the release somebody leaves, and another brings an enormous bill."""
    asked = []
    for rows, bill in (("TRUE", "1"), ("i % 2000 <> 17", "CASE WHEN i = 18 THEN 1e11 ELSE 1 END")):
        duckdb.sql(MADE.format(rows).replace("round(", f"{bill} * round("))
        with Curator.from_file(clinic) as curator:
            answer = curator.ask(MEAN, epsilon=5.0, anew=True)
            *_, entry = curator.account("study").entries()
        notes = [note for note in answer.notes if note.startswith("Bounds")]
        asked.append((answer.sql, notes, entry.query, entry.releases, entry.purpose))
    assert asked[0] == asked[1]
    assert bounds_in(answer)[1] in value_edges("real")


def test_a_failure_between_the_two_loses_no_histogram(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, calls = Engine.measure, []

    def second_fails(self: Engine, *given: object) -> object:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("secret")
        return true(self, *given)  # type: ignore[arg-type]

    with Curator.from_file(clinic) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(Engine, "measure", second_fails)
            with pytest.raises(EngineFailed):
                curator.ask(MEAN, epsilon=5.0)
        (pending,) = curator.ledger.pending()
        before = left(curator)
        answer = curator.ask(MEAN, epsilon=5.0)
        assert answer.receipt == pending.entry  # the same charge, completed
        assert left(curator) == before
        assert "receipt 1)" in "".join(answer.notes)
        assert curator.ledger.pending() == ()


def test_what_does_not_fit_together_is_refused_before_the_first_charge(clinic: Path) -> None:
    """Either part alone would fit the account of 20."""
    with Curator.from_file(clinic) as curator:
        before = left(curator)
        with pytest.raises(BudgetExceeded, match="must fit together"):
            curator.ask(MEAN, epsilon=24.0)
        assert left(curator) == before
        assert curator.ledger.pending() == ()


def test_an_analyst_with_a_quota_pays_for_a_histogram_of_ones_own(clinic: Path) -> None:
    """What others have paid for is neither used nor told, unless they let one see it."""
    text = (
        clinic.read_text(encoding="utf-8")
        + """
[accounts.quotas]
epsilon = 20.0
delta = 1e-6
datasets = ["visits"]
beside = true

[accounts.quotas.shares.ada]
epsilon = 9.0

[accounts.quotas.shares.bo]
epsilon = 9.0
"""
    )
    clinic.write_text(text, encoding="utf-8")
    with Curator.from_file(clinic) as curator:
        curator.open_account("quotas")
        for analyst in ("ada", "bo"):
            answer = curator.ask(MEAN, epsilon=5.0, account="quotas", analyst=analyst)
            assert answer.epsilon is not None
            assert answer.epsilon > 4.9
            assert not answer.repeated
        with pytest.raises(BudgetExceeded, match="must fit together"):
            curator.ask(MEAN.replace("AVG", "SUM"), epsilon=4.5, account="quotas", analyst="bo")


def test_where_noise_hides_everybody_only_the_histogram_is_charged(clinic: Path) -> None:
    with Curator.from_file(clinic) as curator:
        with pytest.raises(RefusedQuery, match=r"would be a guess.*receipt 1"):
            curator.ask(MEAN, epsilon=0.0001)
        (entry,) = curator.account("study").entries()
        assert entry.purpose == "bounds of visits: cost"
        declared = curator.ask("SELECT AVG(AUTO(age)) FROM visits", epsilon=0.0001)
    assert "CLAMP(age, 0, 7)" in (declared.sql or "")
    assert "as declared" in "".join(declared.notes)


def test_bounds_stay_inside_those_that_are_declared(clinic: Path) -> None:
    """Ages are up to 89 and declared up to 7: what is declared stays the limit."""
    with Curator.from_file(clinic) as curator:
        answer = curator.ask("SELECT SUM(AUTO(age)) FROM visits", epsilon=5.0)
    found = re.search(r"CLAMP\(age, (\S+), ([^\s)]+)\)", answer.sql or "")
    assert found is not None
    assert 0 <= float(found[1]) < float(found[2]) <= 7


ELSEWHERE = [
    ("SELECT AVG(AUTO(cost * 2)) FROM visits", "name of one column"),
    ("SELECT AVG(AUTO(cost, 3)) FROM visits", "name of one column"),
    ("SELECT AVG(AUTO()) FROM visits", "name of one column"),
    ("SELECT AVG(AUTO(AUTO(cost))) FROM visits", "name of one column"),
    ("SELECT AVG(AUTO(cost) * 2) FROM visits", "stands alone"),
    ("SELECT COUNT(AUTO(cost)) FROM visits", "needs no bounds"),
    ("SELECT MEDIAN(AUTO(cost)) FROM visits", "stands alone"),
    ("SELECT AUTO(cost) FROM visits", "stands alone"),
    ("SELECT COUNT(*) FROM visits WHERE AUTO(cost) > 3", "stands alone"),
    ("SELECT COUNT(*) FROM visits GROUP BY AUTO(cost)", "stands alone"),
    ("SELECT AVG(DISTINCT AUTO(cost)) FROM visits", "stands alone"),
    ("SELECT AVG(AUTO(ward)) FROM visits", "column 12"),
    ("SELECT AVG(AUTO(patient)) FROM visits", "AUTO|patient"),
    ("SELECT AVG(AUTO(nothing)) FROM visits", "nothing"),
    ("SELECT AVG(AUTO(cost)), MAX(age) FROM visits", "column 25.*MAX"),
    ("SELECT AVG(AUTO(cost)) FROM (SELECT age AS cost FROM visits)", "one table"),
    (
        "SELECT AVG(AUTO(n)) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient)",
        "one table",
    ),
]


def test_elsewhere_it_is_refused_with_what_to_write(clinic: Path) -> None:
    with Curator.from_file(clinic) as curator:
        for sql, words in ELSEWHERE:
            for way in (curator.ask, curator.preview):
                with pytest.raises(RefusedQuery, match=words) as refused:
                    way(sql, epsilon=1.0)
                assert refused.value.remedy
        assert curator.ledger.pending() == ()
        assert not list(curator.account("study").entries())


def test_budgets_that_do_not_fit_it_are_refused(clinic: Path) -> None:
    with Curator.from_file(clinic) as curator:
        for budget in ({"rho": 0.1}, {"accuracy": Accuracy(within=5.0)}):
            with pytest.raises(RefusedQuery, match="give --epsilon"):
                curator.ask(MEAN, **budget)
        for epsilon in (0.0, -1.0, float("nan")):
            with pytest.raises(InvalidParameter):
                curator.ask(MEAN, epsilon=epsilon)
        with pytest.raises(RefusedQuery, match="CLAMP"):
            curator.submit(MEAN, epsilon=1.0)
        with pytest.raises(RefusedQuery, match="CLAMP"):
            curator.submit_plan([PlanQuestion(question=MEAN, epsilon=1.0)])


@pytest.mark.parametrize(
    "said",
    [
        'policy = "planned"\nplan = { visits = ["PureDP(epsilon=0.1)"] }',
        'policy = "dashboard"\nqueries = [{ sql = "SELECT COUNT(*) FROM visits", epsilon = 0.1 }]',
        "approval = true",
        "approval = 0.5",
    ],
)
def test_accounts_that_fix_their_questions_refuse_it(clinic: Path, said: str) -> None:
    text = clinic.read_text(encoding="utf-8")
    text += '\n[accounts.wall]\nepsilon = 9.0\ndelta = 1e-6\ndatasets = ["visits"]\nbeside = true\n'
    text += said
    clinic.write_text(text, encoding="utf-8")
    with Curator.from_file(clinic) as curator:
        curator.open_account("wall")
        for way in (curator.ask, curator.preview):
            with pytest.raises(RefusedQuery, match="AUTO"):
                way(MEAN, epsilon=0.6, account="wall")
        assert curator.ledger.pending() == ()


def test_every_edge_is_written_so_that_it_is_read_again() -> None:
    auto = read_auto('SELECT \'é AUTO(x)\' AS é, SUM( "auto" ( "v"."cost" ) ) FROM v -- AUTO(z)')
    assert auto is not None
    for edge in value_edges("real"):
        made = auto.bounded({"cost": (edge, edge)})
        found = re.search(r"CLAMP \( \"v\".\"cost\" , (\S+), (\S+)\)", made)
        assert found is not None
        assert float(found[1]) == float(found[2]) == edge
        assert made.startswith("SELECT 'é AUTO(x)' AS é, SUM(")
        assert made.endswith(" ) FROM v -- AUTO(z)")
    assert read_auto("SELECT auto, 'AUTO(x)' FROM v") is None
