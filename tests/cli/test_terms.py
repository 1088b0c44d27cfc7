"""Terms of accounts on the command line: closing dates, successors, groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
    assert "lost in all by next, trial: at most epsilon 4" in opened.out
    together = quaestor("account", "show", "next", "--json").json["together"]
    assert together == {"accounts": ["next", "trial"], "epsilon": 4.0, "delta": 0.0}


def test_a_group_uses_what_it_has_together(quaestor: Run) -> None:
    opened = quaestor(*OPEN, "--quota", "*=1", "--group", "team:ada, bob=1")
    assert opened.status == 0, opened.err
    charge = ("account", "charge", "trial", "PureDP(epsilon=0.75)", "--analyst")
    assert quaestor(*charge, "ada").status == 0
    refused = quaestor(*charge, "bob")
    assert refused.status == 3
    assert "epsilon of group team's quota: requested 0.75, remaining 0.25" in refused.err
    assert quaestor(*charge, "cid").status == 0
    assert "group team" in quaestor("account", "show", "trial").out
    (kept,) = quaestor("account", "show", "trial", "--json").json["definition"]["groups"]
    assert (kept["group"], kept["members"]) == ("team", ["ada", "bob"])
    for wrong in ("team=1", "team:ada", "team:ada=x"):
        assert quaestor(*OPEN, "--quota", "*=1", "--group", wrong).status == 2
