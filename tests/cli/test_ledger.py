"""The ``account`` and ``ledger`` commands: a budget kept from the command line."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dp_accounting
import pytest
import typer

from quaestor import PureDP
from quaestor.cli.commands.account import account
from quaestor.cli.commands.ledger import ledger
from quaestor.cli.drawing.numbers import bar, bar_and_percent
from quaestor.errors.base import install_command
from quaestor.ledger import Ledger
from tests.cli.running import strict_json

if TYPE_CHECKING:
    from tests.cli.running import Outcome, Run

CLI_REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
OPEN = ("account", "open", "trial", "--epsilon", "1", "--delta", "1e-6")
HALF, QUARTER = "PureDP(epsilon=0.5)", "PureDP(epsilon=0.25)"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, where the commands are called."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)
    return tmp_path


@pytest.fixture
def trial(quaestor: Run) -> Run:
    """An account of epsilon 1 without delta, in which epsilons add up."""
    opened = quaestor(
        *("account", "open", "trial", "--epsilon", "1", "--delta", "0", "--dataset", "patients")
    )
    assert (opened.status, opened.err) == (0, "")
    return quaestor


def epsilon_left(run: Run, name: str = "trial") -> float:
    """What the account says is left of its epsilon."""
    shown = run("account", "show", name, "--json").json
    (left,) = [m["remaining"] for m in shown["meters"] if m["meter"] == "epsilon"]
    assert isinstance(left, float)
    return left


def refused(run: Outcome) -> str:
    """What people are told, in one line, of something that was bad input."""
    assert (run.status, run.out) == (2, "")
    assert run.err.startswith("quaestor: ")
    return run.err


# Opening.


def test_an_account_opens_and_says_what_it_promises(quaestor: Run) -> None:
    run = quaestor(*OPEN, "--dataset", "patients", "--expected", "Gaussian(sigma=50)")
    assert (run.status, run.err) == (0, "")
    said = " ".join(run.out.split())
    assert "account trial: open, epsilon 1, delta 1e-6" in said
    assert "All answers together are (1.0, 1e-06)-differentially private" in said
    with Ledger("ledger.db") as book:
        definition = book.account("trial").definition
    assert definition.policy.kind == "open"
    assert definition.datasets == ("patients",)
    assert "more of Gaussian(sigma=50.0, sensitivity=1.0)" in said


def test_a_plan_is_declared_for_each_dataset(quaestor: Run) -> None:
    opened = quaestor(
        *OPEN,
        *("--dataset", "north", "--dataset", "south: east"),
        *("--plan", f"north: {QUARTER} * 2", "--plan", "south: east: Laplace(scale=10)", "--json"),
    ).json
    policy = opened["definition"]["policy"]
    assert policy["kind"] == "planned"
    assert set(policy["releases"]) == {"north", "south: east"}
    assert 0 < opened["planned_epsilon"] <= 0.6
    assert quaestor("account", "charge", "trial", QUARTER, "--dataset", "north").status == 0
    slots = {m["dataset"]: m for m in quaestor("account", "show", "trial", "--json").json["meters"]}
    assert (slots["north"]["spent"], slots["north"]["remaining"]) == (1.0, 1.0)
    assert slots["south: east"]["remaining"] == 1.0
    other = quaestor("account", "charge", "trial", HALF, "--dataset", "north")
    assert "does not include PureDP(epsilon=0.5)" in refused(other)


def test_a_plan_that_loses_more_than_the_target_is_not_opened(quaestor: Run) -> None:
    run = quaestor(*OPEN, "--dataset", "patients", "--plan", f"{HALF} * 30")
    assert run.status == 1
    assert "remove releases, add noise, or raise epsilon" in run.err
    assert quaestor("account", "list", "--json").json == {"accounts": []}


def test_a_dashboard_answers_each_of_its_queries_once(quaestor: Run, folder: Path) -> None:
    (folder / "weekly.sql").write_bytes(b"SELECT COUNT(*) FROM visits\r\n")
    query = ("--query", f"weekly.sql={QUARTER}")
    opened = quaestor(*OPEN, "--dataset", "patients", *query)
    assert "each by the SHA-256 of its text" in " ".join(opened.out.split())
    asked = ("account", "charge", "trial", QUARTER, "--query", "weekly.sql")
    assert quaestor("account", "price", *asked[2:], "--json").json["left"] == 1
    assert quaestor(*asked, "--json").json["left"] == 0
    again = quaestor(*asked)
    assert (again.status, again.out) == (3, "")
    digest = hashlib.sha256(b"SELECT COUNT(*) FROM visits\r\n").hexdigest()
    assert f"query {digest}" in again.err
    (folder / "weekly.sql").write_bytes(b"SELECT COUNT(*) FROM visits WHERE age > 40\r\n")
    assert "does not include" in refused(quaestor(*asked))


@pytest.mark.parametrize(
    ("file", "said"),
    [("weekly count", "a file with the text of the query"), ("empty.sql", "not an empty one")],
)
def test_a_query_of_a_dashboard_is_a_file_and_not_a_name(
    quaestor: Run, folder: Path, file: str, said: str
) -> None:
    (folder / "empty.sql").write_text(" \n", encoding="utf-8")
    opening = (*OPEN, "--dataset", "patients", "--query", f"{file}={QUARTER}")
    assert said in refused(quaestor(*opening))
    (folder / "bytes.sql").write_bytes(b"\xff\xfe\xff")
    assert "UTF-8" in refused(quaestor(*opening[:-1], f"bytes.sql={QUARTER}"))


def test_quotas_are_kept_apart_and_the_star_is_for_others(quaestor: Run) -> None:
    quotas = ("--share", "ada=0.5", "--quota", "*=0.25,0")  # the earlier name is understood
    quaestor(*OPEN, "--dataset", "patients", *quotas)
    assert quaestor("account", "charge", "trial", HALF, "--analyst", "ada").status == 0
    refusal = quaestor("account", "charge", "trial", HALF, "--analyst", "bob", "--json")
    assert refusal.status == 3
    assert "bob's quota" in refusal.error["meter"]
    assert quaestor("account", "charge", "trial", QUARTER, "--analyst", "bob").status == 0
    shown = quaestor("account", "show", "trial", "--json").json
    used = {line["analyst"]: line["used"] for line in shown["standing"]}
    assert used["ada"] == 1.0
    assert used["bob"] == 1.0
    assert set(used) == {None, "ada", "bob"}
    people = quaestor("account", "show", "trial").out
    assert "all analysts" in people
    assert "  0 %" in people


def test_a_plan_file_brings_datasets_and_facts(quaestor: Run, folder: Path) -> None:
    (folder / "plan.toml").write_text(
        'facts = [{ fact = "AtMost", m = 1 }]\n[databases]\n'
        'north = "PureDP(epsilon=0.5)"\nsouth = "PureDP(epsilon=0.5)"\n',
        encoding="utf-8",
    )
    file = ("--plan-file", "plan.toml")
    quaestor("account", "open", "both", "--epsilon", "0.5", "--delta", "0", *file)
    for dataset in ("north", "south"):  # nobody is in both
        done = quaestor("account", "charge", "both", HALF, "--dataset", dataset)
        assert done.status == 0, done.err
    assert "AtMost(1)" in quaestor("account", "show", "both").out
    opened = quaestor(*OPEN, *file, "--policy", "open", "--beside", "--json").json["definition"]
    assert len(opened["policy"]["expected"]) == 2
    assert opened["membership"] is not None
    assert opened["beside"] is True
    refused(quaestor(*OPEN, *file, "--dataset", "north"))
    assert "cannot be read" in refused(quaestor(*OPEN, "--plan-file", "none.toml"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--dataset"),
        (("--dataset", "a", "--share", "ada"), "ANALYST=EPSILON,DELTA"),
        (("--dataset", "a", "--share", "ada=0.5,1e-7,3"), "ANALYST=EPSILON,DELTA"),
        (("--dataset", "a", "--share", "ada=half"), "ANALYST=EPSILON,DELTA"),
        (("--dataset", "a", "--policy", "planned"), "--plan"),
        (("--dataset", "a", "--policy", "dashboard"), "--query"),
        (("--dataset", "a", "--policy", "open", "--plan", HALF), "used with --policy planned"),
        (("--dataset", "a", "--plan", f"b: {HALF}"), "DATASET: RELEASE"),
        (("--dataset", "a", "--dataset", "b", "--plan", HALF), "DATASET: RELEASE"),
        (("--dataset", "a", "--plan", "PureDP(epsilon=-1)"), "column 8"),
        (("--dataset", "a", "--query", HALF.replace("=", "~")), "FILE=RELEASE"),
        (("--dataset", "a", "--neighbours", "next door"), "add_remove, replace, replace_record"),
        (("--dataset", "a\x1b[31m"), "printable"),
        (("--dataset", "a", "--dataset", "a"), "different names"),
    ],
)
def test_options_that_make_no_account_are_explained(
    quaestor: Run, options: tuple[str, ...], said: str
) -> None:
    run = quaestor(*OPEN, *options)
    assert said in refused(run)
    assert "\x1b" not in run.err
    assert not Path("ledger.db").exists()


CATALOG = """
ledger = "money/budget.db"

[tables.visits]
file = "visits.parquet"
unit = "patient"
rows = 5
groups = 2
columns = { patient = "integer" }

[accounts.research]
epsilon = 0.5
delta = 1e-7
datasets = ["visits"]
expected = ["Gaussian(sigma=50)"]
"""


def test_an_account_of_the_catalog_opens_as_planned_there(quaestor: Run, folder: Path) -> None:
    (folder / "quaestor.toml").write_text(CATALOG, encoding="utf-8")
    (folder / "money").mkdir()
    opened = quaestor("account", "open", "research", "--json").json
    assert (opened["definition"]["epsilon"], opened["definition"]["delta"]) == (0.5, 1e-7)
    assert (folder / "money" / "budget.db").exists()
    assert not (folder / "ledger.db").exists()
    assert '"research"' in quaestor("account", "list", "--json").out
    assert "money" not in refused(quaestor("account", "open", "researhc"))


def test_epsilon_and_delta_go_together(quaestor: Run) -> None:
    assert "delta must be given too" in refused(quaestor("account", "open", "x", "-e", "1"))
    assert "quaestor init" in refused(quaestor("account", "open", "x"))


def test_a_second_account_on_a_dataset_must_be_meant(trial: Run) -> None:
    second = ("account", "open", "more", "--epsilon", "1", "--delta", "0", "--dataset", "patients")
    assert "(--beside) to accept the sum" in refused(trial(*second))
    assert trial(*second, "--beside").status == 0
    again = trial("account", "open", "trial", "--epsilon", "1", "--delta", "0", "--dataset", "x")
    assert "choose another name" in refused(again)


# Charging.


def test_a_charge_is_an_entry_and_says_how_many_more_fit(trial: Run) -> None:
    run = trial("account", "charge", "trial", QUARTER, "--purpose", "weekly count")
    assert (run.status, run.err) == (0, "")
    assert run.out == f"charged to trial as entry 1: {QUARTER}\n3 more of {QUARTER} would fit\n"
    again = trial("account", "charge", "trial", f"{QUARTER} * 2", "--analyst", "ada", "--json")
    assert again.json == {
        "account": "trial",
        "entry": 2,
        "releases": [f"{QUARTER} * 2"],
        "left": 1,
        "repeated": False,
    }
    assert epsilon_left(trial) == 0.25


def test_what_does_not_fit_ends_with_status_3_and_changes_nothing(trial: Run) -> None:
    trial("account", "charge", "trial", HALF, QUARTER)
    before = trial("account", "show", "trial", "--json").json
    run = trial("account", "charge", "trial", HALF)
    assert (run.status, run.out) == (3, "")
    assert "needs 0.5, 0.25 left, too much by 0.25" in run.err
    assert f"instead, {QUARTER} would fit" in run.err
    told = trial("account", "charge", "trial", HALF, "--json")
    assert told.status == 3
    error = told.error
    assert error["code"] == "budget_exceeded"
    assert [error[name] for name in ("requested", "remaining", "difference")] == [0.5, 0.25, 0.25]
    assert error["would_fit"] == QUARTER
    assert trial("account", "show", "trial", "--json").json == before
    assert trial("account", "charge", "trial", QUARTER).status == 0


def test_a_price_charges_nothing(trial: Run) -> None:
    fits = trial("account", "price", "trial", HALF, "--json").json
    assert (fits["fits"], fits["left"], fits["would_fit"]) == (True, 2, None)
    dear = trial("account", "price", "trial", "PureDP(epsilon=2)")
    assert dear.status == 3
    assert trial("account", "price", "trial", "PureDP(epsilon=2)", "--json").status == 3
    people = dear.out
    assert "It does not fit" in people
    assert "needs 2, 1 left, too much by 1" in people
    assert "Instead, PureDP(epsilon=1.0) would fit" in people
    assert epsilon_left(trial) == 1.0


def test_a_closed_account_takes_nothing_and_can_be_read(trial: Run) -> None:
    trial("account", "charge", "trial", HALF)
    assert "permanently" in trial("account", "close", "trial").out
    run = trial("account", "charge", "trial", QUARTER, "--json")
    assert (run.status, run.error["code"]) == (1, "account_closed")
    shown = trial("account", "show", "trial", "--json").json
    assert shown["status"] == "closed"
    assert shown["entries"]["released"] == 1
    assert "open, closed" in trial("account", "list").out
    assert trial("account", "close", "trial", "--json").status == 1


# Showing.


def test_the_bar_burns_down_and_is_empty_only_where_nothing_is_left() -> None:
    assert bar(1.0) == "█" * 20
    assert bar(0.0, cells=8) == "░" * 8
    assert bar_and_percent(1.0) == "█" * 20 + " 100 %"
    assert bar_and_percent(Fraction(9, 10)) == "█" * 18 + "░" * 2 + "  90 %"
    assert bar_and_percent(0.5) == "█" * 10 + "░" * 10 + "  50 %"
    assert bar_and_percent(0.999) == "█" * 19 + "░" + "  99 %"
    assert bar_and_percent(0.0001) == "█" + "░" * 19 + "   1 %"
    assert bar_and_percent(0.0, cells=8) == "░" * 8 + "   0 %"
    assert bar_and_percent(-0.5, cells=8) == "░" * 8 + "   0 %"  # a rounding error draws no less


def test_the_burn_down_follows_the_charges(trial: Run) -> None:
    fresh = trial("account", "show", "trial").out
    assert "█" * 20 + " 100 %" in fresh
    assert "entries: 0 released, 0 reserved, 0 void" in fresh
    trial("account", "charge", "trial", f"{QUARTER} * 3")
    shown = trial("account", "show", "trial").out
    assert "█" * 5 + "░" * 15 + "  25 %" in shown
    assert f"still fits: 1 more of {QUARTER}" in shown
    assert "privacy loss so far: at most epsilon 0.75" in shown
    assert "█" * 2 + "░" * 6 + "  25 %" in trial("account", "list").out


def test_programs_get_everything_about_an_account(trial: Run) -> None:
    trial("account", "charge", "trial", HALF)
    shown = trial("account", "show", "trial", "--json").json
    assert shown["standing"] == [
        {
            "dataset": "patients",
            "analyst": None,
            "used": 0.5,
            "fits": [{"release": HALF, "left": 1}],
        }
    ]
    assert shown["odometer"] == {"epsilon": 0.5, "delta": 0.0}
    assert shown["entries"] == {"released": 1, "reserved": 0, "void": 0}
    assert shown["planned_epsilon"] is None
    (listed,) = trial("account", "list", "--json").json["accounts"]
    assert listed == {
        "account": "trial",
        "status": "open",
        "problem": None,
        "policy": "open",
        "epsilon": 1.0,
        "delta": 0.0,
        "datasets": ["patients"],
        "used": 0.5,
        "entries": 1,
    }


def test_a_meter_that_says_nothing_any_more_is_shown_as_such(quaestor: Run) -> None:
    quaestor(*OPEN, "--dataset", "patients", "--expected", "Gaussian(sigma=50)")
    quaestor("account", "charge", "trial", "Gaussian(sigma=50) * 60")
    assert "not applicable" in quaestor("account", "show", "trial", "--verbose").out
    meters = quaestor("account", "show", "trial", "--json").json["meters"]
    spent = {meter["meter"]: meter["spent"] for meter in meters}
    assert spent["epsilon"] is None
    assert spent["mu squared"] == pytest.approx(60 / 2500, rel=1e-12)


def test_an_infinite_odometer_is_strict_json(quaestor: Run) -> None:
    leak = "ApproxDP(epsilon=0.5, delta=0.75)"
    options = ("--dataset", "patients", "--expected", leak)
    quaestor("account", "open", "all", "--epsilon", "1", "--delta", "1", *options)
    charged = quaestor("account", "charge", "all", leak)
    assert charged.status == 0, charged.err
    shown = quaestor("account", "show", "all", "--json")
    assert strict_json(shown.out)["odometer"]["epsilon"] == "Infinity"
    assert "no finite epsilon" in quaestor("account", "show", "all").out


def test_of_many_datasets_those_charged_last_are_shown(quaestor: Run, folder: Path) -> None:
    (folder / "plan.toml").write_text(
        'facts = [{ fact = "AtMost", m = 2 }]\n'
        '[[many]]\nname = "ward"\ncount = 40\nreleases = []\n',
        encoding="utf-8",
    )
    quaestor(*OPEN, "--plan-file", "plan.toml", "--policy", "open")
    quaestor("account", "charge", "trial", QUARTER, "--dataset", "ward 33")
    shown = quaestor("account", "show", "trial", "--json").json
    assert [line["dataset"] for line in shown["standing"]] == ["ward 33"]
    people = quaestor("account", "show", "trial").out
    assert "and 39 more datasets; --dataset NAME shows one" in people
    one = quaestor("account", "show", "trial", "--dataset", "ward 7", "--json").json
    assert {meter["dataset"] for meter in one["meters"]} == {"ward 7"}
    refused(quaestor("account", "show", "trial", "--dataset", "ward 41"))
    assert "ward 1, ward 2, ward 3 and 37" in quaestor("account", "list").out


# The book.


def test_the_log_shows_who_was_charged_for_what(trial: Run) -> None:
    assert "no entries yet" in trial("ledger", "log").out
    for number in range(3):
        trial("account", "charge", "trial", "PureDP(epsilon=0.125)", "--purpose", f"week {number}")
    people = trial("ledger", "log", "--last", "2").out
    assert "week 0" not in people
    assert people.index("week 1") < people.index("week 2")
    assert "trial 3" in people
    assert "and 1 earlier; --last 3 shows all" in people
    log = trial("ledger", "log", "trial", "--json").json
    assert log["earlier"] == 0
    assert [entry["number"] for entry in log["entries"]] == [1, 2, 3]
    assert log["entries"][0]["releases"] == [{"type": "PureDP", "epsilon": 0.125}]
    assert log["entries"][0]["status"] == "released"


def test_reserved_and_void_entries_are_told_apart(trial: Run) -> None:
    with Ledger("ledger.db") as book:
        with book.account("trial").reserve(PureDP(epsilon=0.25), purpose="a") as charge:
            charge.void("the engine was down")
        book.account("trial").reserve(PureDP(epsilon=0.25), purpose="b")
    people = trial("ledger", "log").out
    assert "void" in people
    assert "reserved" in people
    shown = trial("account", "show", "trial", "--json").json["entries"]
    assert shown == {"released": 0, "reserved": 1, "void": 1}
    reasons = [e["reason"] for e in trial("ledger", "log", "--json").json["entries"]]
    assert reasons == ["the engine was down", ""]


def test_the_log_of_several_accounts_is_in_the_order_of_time(trial: Run) -> None:
    trial("account", "open", "other", "--epsilon", "1", "--delta", "0", "--dataset", "staff")
    for name in ("trial", "other", "trial"):
        trial("account", "charge", name, QUARTER)
    entries = trial("ledger", "log", "--json").json["entries"]
    assert [entry["account"] for entry in entries] == ["trial", "other", "trial"]
    last = trial("ledger", "log", "--last", "1", "--json").json
    assert [entry["account"] for entry in last["entries"]] == ["trial"]
    assert last["earlier"] == 2


def test_a_ledger_that_holds_together_is_verified_with_its_heads(trial: Run) -> None:
    trial("account", "charge", "trial", QUARTER)
    (checked,) = trial("ledger", "verify", "--json").json["accounts"]
    assert checked["entries"] == 1
    people = trial("ledger", "verify").out
    assert f"trial={checked['head']}\n" in people
    assert "verified: 1 account with 1 entry, no tampering found" in people
    trial("account", "charge", "trial", QUARTER)
    for noted in (checked["head"], f"trial={checked['head'].upper()}"):
        assert trial("ledger", "verify", "--head", noted).status == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_events SET analyst = 'eve' WHERE seq = 2",
        "DELETE FROM ledger_events WHERE seq = 3",
        "DELETE FROM ledger_balances",
        "UPDATE ledger_accounts SET definition = replace(definition, '1.0', '9.0')",
    ],
)
def test_tampering_shows_with_status_1(trial: Run, statement: str) -> None:
    trial("account", "charge", "trial", QUARTER)
    with closing(sqlite3.connect("ledger.db")) as file, file:
        assert file.execute(statement).rowcount > 0
    run = trial("ledger", "verify")
    assert (run.status, run.out) == (1, "")
    assert "the ledger failed verification" in run.err
    assert "Do not use it" in run.err
    told = trial("ledger", "verify", "--json")
    assert (told.status, told.error["code"]) == (1, "ledger_corrupted")


def test_a_history_that_was_cut_off_is_seen_by_the_head_noted_before(trial: Run) -> None:
    trial("account", "charge", "trial", QUARTER)
    Path("backup.db").write_bytes(_settled("ledger.db"))
    trial("account", "charge", "trial", QUARTER)
    (checked,) = trial("ledger", "verify", "--json").json["accounts"]
    old = ("ledger", "verify", "--ledger", "backup.db")
    assert trial(*old).status == 0  # a backup holds together by itself
    run = trial(*old, "--head", checked["head"])
    assert run.status == 1
    assert "events were removed or rewritten" in run.err
    gone = trial("ledger", "verify", "--head", f"study={checked['head']}")
    assert gone.status == 1
    assert "its head was recorded, but the account is missing" in gone.err


def _settled(name: str) -> bytes:
    with closing(sqlite3.connect(name)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(name).read_bytes()


def test_a_head_must_be_one_and_say_whose(trial: Run) -> None:
    assert "64 hexadecimal" in refused(trial("ledger", "verify", "--head", "abc"))
    trial("account", "open", "other", "--epsilon", "1", "--delta", "0", "--dataset", "staff")
    assert "several accounts" in refused(trial("ledger", "verify", "--head", "a" * 64))
    twice = ("--head", "trial=" + "a" * 64) * 2
    assert "once for each" in refused(trial("ledger", "verify", *twice))


def test_an_export_can_be_followed_without_this_library(trial: Run) -> None:
    trial("account", "charge", "trial", QUARTER, "--purpose", 'he said "hi", and left')
    lines = trial("ledger", "export").out.splitlines()
    previous = None
    for line in lines:
        event = json.loads(line)
        digest = event.pop("hash")
        text = json.dumps(event, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == digest
        assert previous is None or event["previous"] == previous
        previous = digest
    assert len(lines) == 3
    events = trial("ledger", "export", "--json").json["events"]
    assert events == [json.loads(line) for line in lines]
    rows = list(csv.DictReader(io.StringIO(trial("ledger", "export", "--format", "csv").out)))
    assert [row["hash"] for row in rows] == [event["hash"] for event in events]
    assert rows[1]["purpose"] == 'he said "hi", and left'


def test_an_export_goes_to_a_file(trial: Run) -> None:
    told = trial("ledger", "export", "trial", "--format", "csv", "--out", "a.csv", "--json").json
    assert told == {"out": "a.csv", "format": "csv", "events": 1}
    assert trial("ledger", "export", "--format", "csv").out == _crlf("a.csv")
    assert "1 event written to b.jsonl" in trial("ledger", "export", "--out", "b.jsonl").out
    assert "can be written" in refused(trial("ledger", "export", "--out", "no/such/folder"))


def _crlf(name: str) -> str:
    return Path(name).read_bytes().decode()


# History from elsewhere.


def test_events_of_dp_accounting_are_charged_as_one_entry(trial: Run, folder: Path) -> None:
    laplace = dp_accounting.LaplaceDpEvent(16.0)
    history = [laplace, laplace, dp_accounting.SelfComposedDpEvent(laplace, 2)]
    text = "# last year\n\n" + "".join(f"{event!r}\n" for event in history)
    (folder / "events.txt").write_text(text, encoding="utf-8")
    told = trial("ledger", "import", "trial", "events.txt", "--json").json
    assert told["entry"] == 1
    assert told["releases"] == ["Laplace(scale=16.0, sensitivity=1.0) * 4"]
    assert epsilon_left(trial) == 0.75
    (entry,) = trial("ledger", "log", "--json").json["entries"]
    assert entry["imported"] is True
    assert entry["purpose"] == "imported from events.txt"
    assert "imported" in trial("ledger", "log").out


def test_releases_as_json_and_as_expressions_are_charged(trial: Run, folder: Path) -> None:
    described = {"type": "PureDP", "epsilon": 0.25}
    text = f"{json.dumps(described)}\n{QUARTER} * 2\n"
    (folder / "history.jsonl").write_text(text, encoding="utf-8")
    run = trial("ledger", "import", "trial", "history.jsonl", "--purpose", "2025")
    said = "charged by the sum of epsilons and deltas, because --fixed-before was not given"
    assert run.out == f"charged to trial as entry 1: {QUARTER} * 3\n{said}\n"
    assert epsilon_left(trial) == 0.25


def test_a_history_of_gaussian_noise_needs_a_statement_which_is_kept(
    quaestor: Run, folder: Path
) -> None:
    expected = ("--expected", "Gaussian(sigma=100)")
    opening = ("account", "open", "trial", "--epsilon", "1", "--delta", "1e-6")
    quaestor(*opening, "--dataset", "patients", *expected)
    (folder / "history.txt").write_text("Gaussian(sigma=100) * 80\n", encoding="utf-8")
    asked = ("ledger", "import", "trial", "history.txt")
    alone = quaestor(*asked)
    assert alone.status == 3  # it has no epsilon to add up
    assert "state so with fixed_before (--fixed-before)" in alone.err
    assert "would fit" not in alone.err
    stated = "protocol v2 of 2024-01-03, section 4"
    told = quaestor(*asked, "--fixed-before", stated, "--json").json
    assert told["statement"] == stated
    (entry,) = quaestor("ledger", "log", "--json").json["entries"]
    assert (entry["statement"], entry["imported"]) == (stated, True)
    shown = quaestor("account", "show", "trial").out
    assert stated in " ".join(shown.split())
    assert stated in quaestor("ledger", "export").out


def test_a_plan_takes_no_history_without_a_statement(quaestor: Run, folder: Path) -> None:
    quaestor(*OPEN, "--dataset", "patients", "--plan", f"{QUARTER} * 2")
    (folder / "history.txt").write_text(f"{QUARTER}\n", encoding="utf-8")
    asked = ("ledger", "import", "trial", "history.txt")
    assert "import the history into an account with policy open" in refused(quaestor(*asked))
    assert quaestor(*asked, "--fixed-before", "the protocol").status == 0


def test_a_history_that_does_not_fit_is_refused_whole(trial: Run, folder: Path) -> None:
    (folder / "history.txt").write_text(f"{QUARTER}\nPureDP(epsilon=0.875)\n", encoding="utf-8")
    run = trial("ledger", "import", "trial", "history.txt")
    assert (run.status, run.out) == (3, "")
    assert epsilon_left(trial) == 1.0
    assert trial("ledger", "log", "--json").json["entries"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least one release"),
        (f"{QUARTER}\nsomething\n", "history.txt, line 2: column 1"),
        ('{"type": "PureDP", "epsilon": NaN}', "line 1: release must be made of finite"),
        ("UnknownDpEvent(3)", "line 1: event must be"),
        ("NonPrivateDpEvent(__import__('os'))", "line 1: event must be"),
    ],
)
def test_a_history_that_makes_no_sense_is_refused(
    trial: Run, folder: Path, text: str, said: str
) -> None:
    (folder / "history.txt").write_text(text, encoding="utf-8")
    assert said in refused(trial("ledger", "import", "trial", "history.txt"))
    assert epsilon_left(trial) == 1.0


def test_the_dataset_of_a_history_must_be_named_where_there_are_several(
    quaestor: Run, folder: Path
) -> None:
    quaestor(*OPEN, "--dataset", "north", "--dataset", "south")
    (folder / "h.txt").write_text(QUARTER, encoding="utf-8")
    assert "north, south" in refused(quaestor("ledger", "import", "trial", "h.txt"))
    done = quaestor("ledger", "import", "trial", "h.txt", "--dataset", "south", "--json").json
    assert done["dataset"] == "south"
    assert "a file that can be read (" in refused(quaestor("ledger", "import", "trial", "none.txt"))
    (folder / "bytes.txt").write_bytes(b"\xff\xfe\xff")
    assert "UTF-8" in refused(quaestor("ledger", "import", "trial", "bytes.txt"))


# Where the ledger is.


def test_the_ledger_is_named_by_option_then_environment_then_folder(
    quaestor: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = quaestor("account", "list")
    assert (run.status, run.out) == (1, "")
    assert "there is no ledger in 'ledger.db'" in run.err
    assert "QUAESTOR_LEDGER" in run.err
    assert not (folder / "ledger.db").exists()
    quaestor(*OPEN, "--dataset", "a")
    monkeypatch.setenv("QUAESTOR_LEDGER", "second.db")
    quaestor(*OPEN, "--dataset", "b")
    quaestor(*OPEN, "--dataset", "c", "--ledger", "third.db")
    found = []
    for place in ("ledger.db", "second.db", "third.db"):
        with Ledger(folder / place, create=False) as book:
            found += [each.definition.datasets for each in book.accounts()]
    assert found == [("a",), ("b",), ("c",)]


def test_credentials_of_an_address_are_never_shown(
    quaestor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "h4rdly-s3cret"  # noqa: S105
    for address in (
        f"postgresql://eve:{secret}@127.0.0.1:1/none",
        f"mysql://eve:{secret}@127.0.0.1/none",
        f"postgresql://eve:{secret}@127.0.0.1:port/none",
    ):
        monkeypatch.setenv("QUAESTOR_LEDGER", address)
        for options in ((), ("--json",), ("--help",)):
            run = quaestor("account", "list", *options)
            assert secret not in run.out + run.err
            assert "--help" in options or run.status in {1, 2}


def test_postgres_keeps_accounts_too(quaestor: Run, database: str) -> None:
    there = ("--ledger", database)
    assert quaestor(*OPEN, "--dataset", "patients", *there).status == 0
    assert quaestor("account", "charge", "trial", QUARTER, *there).status == 0
    shown = quaestor("account", "show", "trial", *there, "--json").json
    assert shown["entries"]["released"] == 1
    assert "trial 1" in quaestor("ledger", "log", *there).out
    assert quaestor("ledger", "verify", *there).status == 0
    refusal = quaestor("account", "charge", "trial", "PureDP(epsilon=1.5) * 4", *there)
    assert refusal.status == 3


# In a hurry.


def test_the_nearest_name_is_offered(trial: Run) -> None:
    for command in (
        ("account", "show", "trail"),
        ("account", "charge", "trail", QUARTER),
        ("account", "close", "trail"),
        ("ledger", "log", "trail"),
        ("ledger", "export", "trail"),
    ):
        assert "did you mean 'trial'?" in refused(trial(*command))
    wrong = trial("account", "charge", "trial", QUARTER, "--dataset", "patient")
    assert "patients" in refused(wrong)


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "[/red]", ":warning:", "a\\", "=1+1", "--x"])
def test_names_are_shown_as_they_are(quaestor: Run, name: str) -> None:
    opened = quaestor(
        *("account", "open", "--epsilon", "1", "--delta", "0", "--dataset", name),
        *("--share", f"{name}=1", "--", name),
    )
    assert opened.status == 0, opened.err
    charged = quaestor(
        *("account", "charge", "--analyst", name, "--purpose", name, "--", name, QUARTER)
    )
    assert charged.status == 0, charged.err
    for command in (
        ("account", "show", "--", name),
        ("account", "list"),
        ("ledger", "log"),
        ("ledger", "verify"),
        ("account", "price", "--analyst", name, "--", name, QUARTER),
    ):
        run = quaestor(*command)
        assert run.status == 0, run.err
        assert name in run.out, command
    assert name in opened.out + charged.out


def test_control_characters_never_reach_the_terminal(trial: Run) -> None:
    for options in (("--analyst", "\x1b[2J"), ("--purpose", "a\nb"), ("--purpose", "\u202e")):
        run = trial("account", "charge", "trial", QUARTER, *options)
        assert "printable" in refused(run)
        assert not {"\x1b", "\u202e"} & set(run.err)
    for command in (("account", "show", "\x1b[2J"), ("ledger", "log", "\x07")):
        assert "\x1b" not in refused(trial(*command))


def test_a_file_that_is_no_ledger_is_said_to_be_none(quaestor: Run, folder: Path) -> None:
    (folder / "ledger.db").write_bytes(b"these are not the bytes you are looking for" * 100)
    run = quaestor("account", "list")
    assert run.status == 1
    assert "it is damaged, or is not a ledger at all" in run.err


def test_a_missing_package_is_named_with_its_extra(folder: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['sqlalchemy'] = None\n"
        "from quaestor.cli.app import main\n"
        "sys.argv = ['quaestor', 'account', 'list']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 1
    assert install_command("ledger") in done.stderr
    assert "Traceback" not in done.stderr


def test_other_commands_do_not_pay_for_the_ledger() -> None:
    code = (
        "import sys\n"
        "import quaestor.cli.app\n"
        "heavy = ('sqlalchemy', 'alembic', 'psycopg', 'dp_accounting', 'quaestor.ledger',\n"
        "         'quaestor.accounting.filters')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"


def test_every_command_and_option_is_in_the_reference() -> None:
    reference = CLI_REFERENCE.read_text(encoding="utf-8")
    for group, app in (("account", account), ("ledger", ledger)):
        commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
        for name, command in commands.items():
            assert f"`{group} {name}`" in reference
            for parameter in command.params:
                for option in parameter.opts:
                    if option.startswith("--") and option != "--help":
                        assert option in reference, (name, option)


def test_a_charge_with_a_key_can_be_repeated(trial: Run) -> None:
    asked = ("account", "charge", "trial", QUARTER, "--key", "monday")
    first, again = trial(*asked, "--json").json, trial(*asked, "--json").json
    assert (first["entry"], again["entry"]) == (1, 1)
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert trial(*asked).out.startswith("already charged to trial as entry 1")
    assert epsilon_left(trial) == 0.75
    other = trial("account", "charge", "trial", HALF, "--key", "monday", "--json")
    assert other.error["code"] == "key_reused"
