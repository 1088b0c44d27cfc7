"""Blocks of time on the command line: opened, charged, shown, and made of an account."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

OPEN = ("account", "open", "trial", "--epsilon", "1", "--delta", "1e-6", "--dataset", "patients")
BLOCKS = ("--policy", "blocks", "--every", "year", "--first", "2024", "--most", "2", "--enforced")
HALF = "PureDP(epsilon=0.5)"


@pytest.fixture(autouse=True)
def _nowhere_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The ledger is the one in the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)


def test_blocks_are_opened_charged_and_shown(quaestor: Run) -> None:
    opened = quaestor(*OPEN, *BLOCKS)
    assert opened.status == 0, opened
    assert "epsilon 1, delta 1e-6 for each year" in opened.out
    charged = quaestor("account", "charge", "trial", HALF, "--block", "2024", "--block", "2025")
    assert charged.status == 0, charged
    assert quaestor("account", "charge", "trial", HALF, "--block", "2024").status == 0
    refused = quaestor("account", "charge", "trial", HALF, "--block", "2024", "--block", "2026")
    assert refused.status == 3
    assert "too little left: 2024" in refused.err
    shown = quaestor("account", "show", "trial")
    assert "patients 2024" in shown.out
    standing = json.loads(quaestor("account", "show", "trial", "--json").out)["standing"]
    blocks = [each["block"] for each in standing]
    assert blocks[:3] == ["2024", "2025", "2026"]
    assert blocks == sorted(blocks)
    assert [each["used"] for each in standing[:3]] == [1.0, 0.5, 0.0]
    history = json.loads(quaestor("account", "history", "trial", "--block", "2025", "--json").out)
    assert (history["block"], len(history["points"])) == ("2025", 1)
    assert json.loads(quaestor("account", "history", "trial", "--json").out)["block"] == "2024"
    assert quaestor("ledger", "verify").status == 0
    report = quaestor("account", "report", "trial", "--format", "registry")
    said = " ".join(report.out.split())
    assert "The budget is by the year: epsilon" in said
    assert "for each year" in said
    # the field that others read is what a person loses in all, and not one year's
    (published,) = re.findall(r"privacy_parameters:\s+epsilon: (\S+)", report.out)
    assert 1.99 < float(published) <= 2.0  # two years of 1, of which deltas take next to nothing
    assert "blocks, each year" in " ".join(quaestor("account", "list").out.split())


def test_an_account_is_turned_into_blocks(quaestor: Run) -> None:
    before = ("account", "open", "before", "--epsilon", "0.25", "--delta", "0")
    assert quaestor(*before, "--dataset", "patients").status == 0
    follow = (*OPEN, *BLOCKS, "--predecessor", "before")
    assert quaestor(*follow).status == 2
    assert quaestor("account", "close", "before").status == 0
    opened = quaestor(*follow, "--json")
    assert opened.status == 0, opened
    assert json.loads(opened.out)["standing"][0]["used"] > 0.24
    assert quaestor("ledger", "verify").status == 0


@pytest.mark.parametrize(
    "wrong",
    [
        ("--policy", "blocks", "--every", "year"),
        ("--policy", "blocks", "--first", "2024"),
        ("--policy", "open", "--every", "year"),
        ("--every", "year", "--first", "2024-01"),
        ("--every", "year", "--first", "2024", "--enforced"),
        ("--policy", "open", "--most", "3"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_opened(quaestor: Run, wrong: tuple[str, ...]) -> None:
    told = quaestor(*OPEN, *wrong)
    assert (told.status, told.out) == (2, "")
