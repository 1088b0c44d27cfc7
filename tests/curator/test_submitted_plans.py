"""Plans of questions through the curator: approved as a whole, asked one by one, as approved."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator import Accuracy, Curator, PlanQuestion, count, table
from quaestor.errors import ApprovalNeeded, InvalidParameter, RefusedQuery
from tests.curator.hospital import COLUMNS, fill_visits, write_hospital

if TYPE_CHECKING:
    from pathlib import Path

COUNT = "SELECT COUNT(*) AS n FROM visits"
MEAN = "SELECT AVG(age) AS mean FROM visits"
STRICT = "\n[accounts.research]\nepsilon = 2.0\ndelta = 1e-6\napproval = true\n"
PLAN = [
    PlanQuestion(question=COUNT, epsilon=0.25),
    PlanQuestion(question=MEAN, epsilon=0.5, purpose="the mean alone"),
    PlanQuestion(question=table("visits").aggregate(n=count()), accuracy=Accuracy(within=20.0)),
]


def opened(folder: Path, **more: Any) -> Curator:
    curator = Curator.from_file(write_hospital(folder, STRICT, **more))
    curator.open_account("research")
    return curator


def approved(curator: Curator, plan: list[PlanQuestion] | None = None) -> str:
    """Ada's plan, approved by bob."""
    account, made = curator.submit_plan(plan or PLAN, analyst="ada", purpose="annual")
    curator.account(account).approve(made, by="bob")
    return made


def test_a_plan_is_asked_question_by_question(tmp_path: Path) -> None:
    with opened(tmp_path) as curator:
        made = approved(curator)
        said: dict[str, Any] = {"analyst": "ada", "approval": made}
        mean = curator.ask(MEAN, epsilon=0.5, **said)
        assert curator.ask(MEAN, epsilon=0.5, **said).to_json() == mean.to_json()  # stored
        curator.ask(table("visits").aggregate(n=count()), accuracy=Accuracy(within=20.0), **said)
        account = curator.account("research")
        (plan,) = account.approvals()
        assert [each.status for each in plan.questions] == ["approved", "used", "used"]
        assert [each.purpose for each in plan.questions] == ["annual", "the mean alone", "annual"]
        curator.ask(COUNT, epsilon=0.25, **said)
        assert account.approvals()[0].status == "used"
        with pytest.raises(ApprovalNeeded, match="is used"):
            curator.ask(COUNT, epsilon=0.25, anew=True, **said)
        assert account.state().entries == 3
        account.verify()


@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        (COUNT, {"epsilon": 0.5}),
        (COUNT, {"epsilon": 0.25, "analyst": "eve"}),
        (COUNT, {"epsilon": 0.25, "purpose": "something else"}),
        (COUNT, {"rho": 0.01}),
        (COUNT + " WHERE age > 40", {"epsilon": 0.25}),
    ],
)
def test_another_question_than_those_of_the_plan_is_not_asked(
    tmp_path: Path, sql: str, asked: dict[str, Any]
) -> None:
    with opened(tmp_path) as curator:
        made = approved(curator)
        with pytest.raises(ApprovalNeeded, match="a different request"):
            curator.ask(sql, **{"analyst": "ada", "approval": made, **asked})
        assert curator.account("research").state().entries == 0


def test_what_changes_after_it_was_approved_is_another_question(tmp_path: Path) -> None:
    """Whoever declares another bound, once the plan is approved, would ask something else."""
    with opened(tmp_path) as curator:
        made = approved(curator)
    write_hospital(tmp_path, STRICT, columns=COLUMNS.replace("high = 120", "high = 1200000"))
    with Curator.from_file(tmp_path / "quaestor.toml") as curator:
        with pytest.raises(ApprovalNeeded, match="a different request"):
            curator.ask(MEAN, epsilon=0.5, analyst="ada", approval=made)
        account = curator.account("research")
        assert account.state().entries == 0
        account.verify()


def test_many_who_ask_one_question_of_a_plan_have_one_charge_and_one_answer(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as curator:
        made = approved(curator)
        start, told = threading.Barrier(6), set()

        def ask() -> None:
            start.wait()
            told.add(curator.ask(COUNT, epsilon=0.25, analyst="ada", approval=made).to_json())

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(told) == 1
        assert curator.account("research").state().entries == 1


def test_a_plan_with_a_question_that_is_refused_is_not_submitted(tmp_path: Path) -> None:
    with opened(tmp_path) as curator:
        with pytest.raises(RefusedQuery):
            curator.submit_plan(
                [*PLAN, PlanQuestion(question="SELECT age FROM visits", epsilon=0.1)],
                analyst="ada",
            )
        for wrong in ([], [COUNT], COUNT, [PLAN[0], PLAN[0]], [PLAN[0], PLAN[0], PLAN[1]]):
            with pytest.raises(InvalidParameter):
                curator.submit_plan(wrong, analyst="ada")  # type: ignore[arg-type]
        assert curator.account("research").approvals() == ()


def test_a_plan_is_of_one_account(tmp_path: Path) -> None:
    accounts = (
        '\n[accounts.one]\nepsilon = 2.0\ndelta = 0\napproval = true\ndatasets = ["visits"]\n'
        '\n[accounts.two]\nepsilon = 2.0\ndelta = 0\napproval = true\ndatasets = ["others"]\n'
    )
    other = (
        '\n[tables.others]\nfile = "others.parquet"\nunit = "patient"\nrows = 1\ngroups = 1\n'
        '[tables.others.columns]\npatient = "integer"\n'
    )
    fill_visits(tmp_path / "others.parquet")
    with Curator.from_file(write_hospital(tmp_path, other + accounts)) as curator:
        curator.open_account("one")
        curator.open_account("two")
        plan = [
            PlanQuestion(question=COUNT, epsilon=0.25),
            PlanQuestion(question="SELECT COUNT(*) AS n FROM others", epsilon=0.25),
        ]
        with pytest.raises(InvalidParameter, match="all paid by one account"):
            curator.submit_plan(plan, analyst="ada")
