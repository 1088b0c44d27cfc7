"""Terms of accounts on the command line: closing dates, successors, groups, approval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.catalog.catalog_file import read_catalog
from tests.curator.hospital import write_hospital
from tests.ledger.clocks import Clock

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

OPEN = ("account", "open", "trial", "--epsilon", "2", "--delta", "0", "--dataset", "patients")


@pytest.fixture(autouse=True)
def _nowhere_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The ledger is the one in the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)


def test_a_closing_date_is_shown_and_kept_to(
    quaestor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    closes = clock.after(3600.0)
    opened = quaestor(*OPEN, "--closes", closes)
    assert f"closes {closes[:19]}Z" in opened.out
    assert "takes no further charges" in opened.out
    assert quaestor("account", "charge", "trial", "PureDP(epsilon=0.5)").status == 0
    clock.ahead = 86400.0
    refused = quaestor("account", "charge", "trial", "PureDP(epsilon=0.5)")
    assert refused.status == 1
    assert f"closed on {closes[:19]}Z" in refused.err
    shown = quaestor("account", "show", "trial", "--json").json
    assert (shown["status"], shown["definition"]["closes"]) == ("closed", closes)
    assert ", closed" in quaestor("account", "list").out


def test_what_is_no_date_is_said(quaestor: Run) -> None:
    refused = quaestor(*OPEN, "--closes", "soon")
    assert refused.status == 2
    assert "2027-01-31" in refused.err


def test_closing_and_opening_anew_resets_nothing(quaestor: Run) -> None:
    assert quaestor(*OPEN).status == 0
    assert quaestor("account", "close", "trial").status == 0
    second = ("account", "open", "next", *OPEN[3:])
    refused = quaestor(*second)
    assert refused.status == 2
    assert "--succeeds" in refused.err
    assert "--beside" in refused.err
    opened = quaestor(*second, "--succeeds", "trial")
    assert "accounts next, trial together: at most epsilon 4" in opened.out
    together = quaestor("account", "show", "next", "--json").json["together"]
    assert together == {"accounts": ["next", "trial"], "epsilon": 4.0, "delta": 0.0}


def test_a_group_uses_what_it_has_together(quaestor: Run) -> None:
    opened = quaestor(*OPEN, "--quota", "*=1", "--group", "team:ada, bob=1")
    assert opened.status == 0, opened.err
    charge = ("account", "charge", "trial", "PureDP(epsilon=0.75)", "--analyst")
    assert quaestor(*charge, "ada").status == 0
    refused = quaestor(*charge, "bob")
    assert refused.status == 3
    assert "epsilon of group team's quota: needs 0.75, 0.25 left" in refused.err
    assert quaestor(*charge, "cid").status == 0
    assert "group team" in quaestor("account", "show", "trial").out
    (kept,) = quaestor("account", "show", "trial", "--json").json["definition"]["groups"]
    assert (kept["group"], kept["members"]) == ("team", ["ada", "bob"])
    for wrong in ("team=1", "team:ada", "team:ada=x"):
        assert quaestor(*OPEN, "--quota", "*=1", "--group", wrong).status == 2


COUNT = "SELECT COUNT(*) AS n FROM visits"
STRICT = "\n[accounts.research]\nepsilon = 2.0\ndelta = 0\napproval = 0.25\n"


def test_a_question_is_submitted_approved_and_asked(quaestor: Run, tmp_path: Path) -> None:
    path = write_hospital(tmp_path, STRICT)
    open_from_catalog(read_catalog(path), "research")
    asked = (COUNT, "--epsilon", "0.5", "--analyst", "ada")
    assert quaestor("query", COUNT, "--epsilon", "0.25", "--analyst", "ada").status == 0
    refused = quaestor("query", *asked)
    assert refused.status == 1
    assert "quaestor account submit" in refused.err
    submitted = quaestor("account", "submit", *asked, "--purpose", "annual", "--json").json
    made = submitted["approval"]
    assert submitted == {"account": "research", "approval": made, "status": "submitted"}
    own = quaestor("account", "approve", "research", made, "--by", "ada")
    assert "another person must decide" in own.err
    assert quaestor("account", "approve", "research", made, "--by", "bob").status == 0
    other = quaestor("query", COUNT, "--epsilon", "0.75", "--analyst", "ada", "--approval", made)
    assert "a different request" in other.err
    assert quaestor("query", *asked, "--approval", made).status == 0
    listed = quaestor("account", "approvals", "research", "--json").json["approvals"]
    assert [(each["id"], each["status"], each["decided_by"]) for each in listed] == [
        (made, "used", "bob")
    ]
    assert "annual" in quaestor("account", "approvals", "research").out
    second = quaestor("account", "submit", *asked, "--json").json["approval"]
    assert quaestor("account", "decline", "research", second, "--by", "bob").status == 0
    again = quaestor("account", "decline", "research", second, "--by", "bob", "--json")
    assert again.error["code"] == "approval_needed"
    assert quaestor("ledger", "verify").status == 0


PLAN = """
purpose = "annual report"

[[questions]]
sql = "SELECT COUNT(*) AS n FROM visits"
epsilon = 0.5

[[questions]]
sql = "SELECT AVG(age) AS mean FROM visits"
epsilon = 0.75
purpose = "for the appendix"

[[questions]]
sql = "SELECT COUNT(*) AS n FROM visits WHERE age > 40"
within = 20
"""


def test_releases_are_submitted_approved_and_charged_by_hand(quaestor: Run) -> None:
    opened = ("account", "open", "registry", "--dataset", "registry", "--epsilon", "1")
    assert quaestor(*opened, "--delta", "0", "--approval").status == 0
    charge = ["account", "charge", "registry", "PureDP(epsilon=0.25)", "--query", "June"]
    charge += ["--analyst", "ada"]
    refused = quaestor(*charge, "--json")
    assert refused.error["code"] == "approval_needed"
    made = quaestor(*charge, "--submit", "--json").json["approval"]
    assert "another person can approve it" in quaestor(*charge, "--submit").out
    assert quaestor(*charge, "--submit", "--approval", made).status == 2
    assert quaestor("account", "approve", "registry", made, "--by", "bob").status == 0
    assert quaestor(*charge, "--approval", made).status == 0
    assert quaestor(*charge, "--approval", made, "--json").error["code"] == "approval_needed"


def test_a_plan_is_submitted_approved_and_asked_one_by_one(quaestor: Run, tmp_path: Path) -> None:
    path = write_hospital(tmp_path, STRICT.replace("0.25", "true"))
    open_from_catalog(read_catalog(path), "research")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    submit = ("account", "submit", "--plan", "plan.toml", "--analyst", "ada")
    submitted = quaestor(*submit, "--json").json
    made = submitted["approval"]
    assert submitted == {
        "account": "research",
        "approval": made,
        "status": "submitted",
        "questions": 3,
    }
    assert "a plan of 3 questions, submitted to account research" in quaestor(*submit).out
    assert quaestor("account", "approve", "research", made, "--by", "bob").status == 0
    asked = ("--analyst", "ada", "--approval", made)
    assert quaestor("query", COUNT, "--epsilon", "0.5", *asked).status == 0
    other = quaestor("query", COUNT, "--epsilon", "0.25", *asked)
    assert other.status == 1
    assert "ask exactly what was approved" in other.err
    again = quaestor("query", COUNT, "--epsilon", "0.5", "--anew", *asked)
    assert f"this question of plan {made} is used" in again.err
    shown = quaestor("account", "approvals", "research").out
    assert made in shown
    assert "1 of 3 used" in shown
    assert "plan of 3" in shown
    assert "appendix" in shown
    plan, second = quaestor("account", "approvals", "research", "--json").json["approvals"]
    assert [each["status"] for each in plan["questions"]] == ["used", "approved", "approved"]
    assert second["status"] == "submitted"
    declined = quaestor("account", "decline", "research", second["id"], "--by", "bob")
    assert declined.status == 0
    assert quaestor("ledger", "verify").status == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it has no questions"),
        ("questions = 3", "it has no questions"),
        ("[[questions]]\nepsilon = 0.1", "question 1: it has no sql"),
        ('[[questions]]\nsql = "x"\nprice = 1', "'price' is not a known key"),
        ('[[questions]]\nsql = "x"\nepsilon = "much"', "epsilon must be a number"),
        ('[[questions]]\nsql = "x"\nepsilon = 1\nrho = 1', "in one way"),
        ('[[questions]]\nsql = "x"', "in one way"),
        ('[[questions]]\nsql = "x"\nwithin = -1', "question 1"),
        ("more = 1", "plan, more"),
        ("= 1", "is not TOML"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said(
    quaestor: Run, tmp_path: Path, text: str, said: str
) -> None:
    write_hospital(tmp_path, STRICT)
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    refused = quaestor("account", "submit", "--plan", "plan.toml", "--analyst", "ada")
    assert refused.status == 2
    assert said in " ".join(refused.err.split())


def test_a_plan_says_all_and_a_question_says_something(quaestor: Run, tmp_path: Path) -> None:
    write_hospital(tmp_path, STRICT)
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    for wrong in ((COUNT,), ("--epsilon", "0.5"), ("--rows", "1")):
        refused = quaestor("account", "submit", "--plan", "plan.toml", *wrong)
        assert refused.status == 2
        assert "which the file has for each question" in refused.err
    assert "--plan" in quaestor("account", "submit", "--analyst", "ada").err
    assert "cannot be read" in quaestor("account", "submit", "--plan", "absent.toml").err


def test_an_account_opened_by_options_demands_approval(quaestor: Run) -> None:
    assert quaestor(*OPEN, "--approval", "--json").json["definition"]["approval"] is True
    refused = quaestor("account", "charge", "trial", "PureDP(epsilon=0.5)")
    assert "requires approval" in refused.err
    other = ("account", "open", "other", *OPEN[3:-1], "staff")
    opened = quaestor(*other, "--approval-above", "0.5", "--json").json
    assert opened["definition"]["approval"] == 0.5
    assert "above epsilon 0.5" in opened["words"]


HALF = "PureDP(epsilon=0.5)"
ROOM = ("--epsilon", "1", "--delta", "1e-6", "--dataset")
BY_MONTH = ("--policy", "blocks", "--every", "month", "--first", "2024-01")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("show", "nobody"), "quaestor account list"),
        (("charge", "quotas", HALF), "given (--analyst)"),
        (("charge", "blocks", HALF), "--block 2024-01"),
        (("charge", "strict", HALF), "quaestor account submit"),
        (("approve", "strict", "0123", "--by", "bob"), "quaestor account approvals strict"),
        (("open", "x", *ROOM, "x", *BY_MONTH, "--enforced"), "--most 3"),
        (("open", "x", *ROOM, "x", "--group", "team:ada=1"), '--quota "*=1"'),
        (("open", "x", *ROOM, "open", *BY_MONTH, "--predecessor", "open"), "account close"),
        (("open", "x", *ROOM, "old", *BY_MONTH, "--predecessor", "old"), "larger epsilon"),
    ],
)
def test_a_refusal_says_what_to_do_next(quaestor: Run, asked: tuple[str, ...], said: str) -> None:
    for name, more in (
        ("quotas", ("--quota", "ada=1")),
        ("blocks", BY_MONTH),
        ("strict", ("--approval",)),
        ("open", ()),
        ("old", ()),
    ):
        assert quaestor("account", "open", name, *ROOM, name, *more).status == 0
    assert quaestor("account", "close", "old").status == 0
    refused = quaestor("account", *asked)
    assert refused.status in {1, 2, 3}
    assert said in " ".join(refused.err.split())
