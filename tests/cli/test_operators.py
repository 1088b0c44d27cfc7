"""The commands for operators: heads, backups and their way back, and a wrong clock."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from quaestor import PureDP
from quaestor.cli.commands.ledger_operations import _ago
from quaestor.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

QUARTER = "PureDP(epsilon=0.25)"


@pytest.fixture
def trial(quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """An account in a folder of its own, with one charge."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)
    target = ("--epsilon", "1", "--delta", "0", "--dataset", "patients")
    assert quaestor("account", "open", "trial", *target).status == 0
    assert quaestor("account", "charge", "trial", QUARTER).status == 0
    return quaestor


def test_heads_that_were_noted_over_time_are_verified(trial: Run, tmp_path: Path) -> None:
    noted = tmp_path / "heads.txt"
    for _ in range(2):
        with noted.open("a", encoding="utf-8") as file:
            file.write(trial("ledger", "heads").out)
        assert trial("account", "charge", "trial", QUARTER).status == 0
    assert trial("ledger", "heads", "--json").json["heads"].keys() == {"trial"}
    assert trial("ledger", "verify", "--heads", str(noted)).status == 0
    with noted.open("a", encoding="utf-8") as file:
        file.write("trial=" + "a" * 64 + "\n")
    run = trial("ledger", "verify", "--heads", str(noted))
    assert run.status == 1
    assert "recorded head" in run.err
    noted.write_text("nonsense\n", encoding="utf-8")
    assert trial("ledger", "verify", "--heads", str(noted)).status == 2
    assert trial("ledger", "verify", "--heads", "nowhere.txt").status == 2


def test_a_backup_is_verified_read_and_restored(trial: Run, tmp_path: Path) -> None:
    made = trial("ledger", "backup", "backup.db")
    assert made.status == 0, made.err
    head = trial("ledger", "heads").out.strip()
    assert head in made.out
    assert head in trial("ledger", "verify", "--ledger", "backup.db").out
    refused = trial("account", "charge", "trial", QUARTER, "--ledger", "backup.db")
    assert refused.status == 1
    assert "takes no charges" in refused.err
    assert trial("ledger", "backup", "backup.db").status == 1
    (tmp_path / "heads.txt").write_text(head + "\n", encoding="utf-8")
    reason = ("--reason", "the disk died", "--heads", "heads.txt")
    assert "was not changed" in trial("ledger", "restore", "backup.db", *reason).err
    (tmp_path / "ledger.db").rename(tmp_path / "broken.db")
    restored = trial("ledger", "restore", "backup.db", *reason, "--json")
    assert restored.status == 0, restored.err
    (account,) = restored.json["accounts"]
    assert (account["account"], account["entries"]) == ("trial", 1)
    assert trial("account", "charge", "trial", QUARTER).status == 0
    assert trial("ledger", "verify", "--heads", "heads.txt").status == 0


def test_a_clock_that_was_right_is_not_accepted_again(trial: Run) -> None:
    run = trial("ledger", "clock", "trial", "--reason", "no reason")
    assert run.status == 2
    assert "earlier than the last event" in run.err


def test_an_account_of_the_future_goes_on(trial: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr("quaestor.ledger.stored_text.now", lambda: "2031-01-01T00:00:00.000000Z")
        assert trial("account", "charge", "trial", QUARTER).status == 0
    for command in (("account", "charge", "trial", QUARTER), ("account", "close", "trial")):
        run = trial(*command)
        assert run.status == 1
        assert "quaestor ledger clock" in run.err
    run = trial("ledger", "clock", "trial", "--reason", "it was set by hand")
    assert run.status == 0, run.err
    assert "2031-01-01" in run.out
    assert trial("account", "close", "trial").status == 0
    assert trial("ledger", "verify").status == 0
    with closing(sqlite3.connect("ledger.db")) as file:
        found = file.execute("SELECT detail FROM ledger_events WHERE kind = 'clock'").fetchall()
    assert found == [("it was set by hand",)]


def test_what_is_left_behind_is_listed_with_the_one_safe_thing(trial: Run) -> None:
    assert trial("ledger", "pending").out == "all charges are settled\n"
    assert trial("ledger", "pending", "--json").json == {"pending": []}
    with Ledger("ledger.db") as ledger:
        account = ledger.account("trial")
        with account.claim(PureDP(epsilon=0.25), query="f00", analyst="ann"):  # type: ignore[union-attr]
            pass
    (left,) = trial("ledger", "pending", "trial", "--json").json["pending"]
    assert (left["entry"], left["state"], left["analyst"]) == (2, "left", "ann")
    printed = trial("ledger", "pending").out
    assert "trial 2" in printed
    assert "seconds" in printed
    assert trial("ledger", "pending", "nobody").status == 2


def test_an_age_is_in_a_unit_that_people_read() -> None:
    ages = (0.0, 119.0, 120.0, 7199.0, 7200.0, 3 * 86400.0)
    assert list(map(_ago, ages)) == [
        *("0 seconds", "119 seconds", "2 minutes", "119 minutes", "2 hours", "3 days")
    ]
