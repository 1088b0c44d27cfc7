"""Quotas on the command line: what is printed for an analyst tells of the own quota only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.catalog.catalog_file import read_catalog
from tests.curator.hospital import write_hospital

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Outcome, Run

OPEN = ("account", "open", "trial", "--epsilon", "2", "--delta", "0", "--dataset", "patients")
QUOTAS = ("--quota", "ann=0.25", "--quota", "bob=2")
COUNT = "SELECT COUNT(*) AS n FROM visits"
ACCOUNT = """
[accounts.research]
epsilon = 2.0
delta = 0
[accounts.research.quotas]
ann = { epsilon = 0.25 }
bob = { epsilon = 2.0 }
"""


@pytest.fixture(autouse=True)
def _nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is the one in the folder."""
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)


def release(epsilon: float) -> str:
    return f"PureDP(epsilon={epsilon!r})"


def looks(run: Run) -> list[Outcome]:
    """Every command about releases that ann can give, in words and as JSON."""
    asked = [("price", size) for size in (0.01, 0.25, 0.5, 5.0)]
    asked += [("charge", size) for size in (0.5, 0.03125)]
    return [
        run("account", command, "trial", release(size), "--analyst", "ann", *form)
        for form in ((), ("--json",))
        for command, size in asked
    ]


def questions(run: Run) -> list[Outcome]:
    """The same with questions, whose figures are left out."""
    asked = [("preview", epsilon) for epsilon in ("0.1", "0.25", "1", "5")]
    asked += [("query", epsilon) for epsilon in ("0.0625", "5")]
    found = []
    for form in ((), ("--json",)):
        for command, epsilon in asked:
            told = run(command, COUNT, "--epsilon", epsilon, "--analyst", "ann", *form)
            found.append(told if command == "preview" else told._replace(out=_not_drawn(told.out)))
    return found


def _not_drawn(printed: str) -> str:
    """What is printed of an answer, without its table, which is as wide as its figures."""
    bare = re.sub(r'(?m)^[┏┃┡│└].*\n|"columns": .*?\}\], ', "", printed)
    return re.sub(r"(?<=beyond them: )[0-9,]+ to [0-9,]+", "", bare)


def test_ann_is_shown_the_same_whatever_bob_charges(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = []
    for answer in ("low", "high"):
        folder = tmp_path / answer
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert quaestor(*OPEN, *QUOTAS).status == 0
        bob = ("--analyst", "bob")
        assert quaestor("account", "charge", "trial", release(1.5), *bob).status == 0
        if answer == "high":
            assert quaestor("account", "charge", "trial", release(2**-6), *bob).status == 0
        views.append(looks(quaestor))
    assert views[0] == views[1]
    assert {each.status for each in views[0]} == {0, 3}


def test_ann_is_answered_the_same_whatever_bob_asks(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = []
    for answer in ("low", "high"):
        folder = tmp_path / answer
        folder.mkdir()
        open_from_catalog(read_catalog(write_hospital(folder, ACCOUNT)), "research")
        monkeypatch.chdir(folder)
        bob = ("--analyst", "bob")
        assert quaestor("query", COUNT, "--epsilon", "1.5", *bob).status == 0
        if answer == "high":
            assert quaestor("query", COUNT, "--epsilon", "0.015625", *bob).status == 0
        views.append(questions(quaestor))
    assert views[0] == views[1]
    assert {each.status for each in views[0]} == {0, 3}
    shown = "".join(each.out for each in views[0])
    assert "of ann's quota" in shown
    assert '"columns"' not in shown
    assert "of account research (" not in shown
    assert "Whether the account can pay is decided when you ask." in shown


def test_a_refusal_for_lack_of_the_total_has_no_figures(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quaestor(*OPEN, *QUOTAS)
    quaestor("account", "charge", "trial", release(1.875), "--analyst", "bob")
    for size in (0.1875, 0.25):
        asked = ("account", "charge", "trial", release(size), "--analyst", "ann")
        said = quaestor(*asked)
        assert (said.status, said.out) == (3, "")
        refused = "account 'trial' has too little budget left. Nothing was charged"
        assert said.err == f"quaestor: {refused}\n"
        error = quaestor(*asked, "--json").error
        told = {name for name, value in error.items() if value is not None}
        assert told == {"code", "message", "account", "meter"}
        assert (error["code"], error["meter"]) == ("budget_exceeded", "total")


def test_the_owner_is_shown_the_total_and_what_fits_of_both(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quaestor(*OPEN, *QUOTAS)
    quaestor("account", "charge", "trial", release(1.875), "--analyst", "bob")
    quaestor("account", "charge", "trial", release(0.0625), "--analyst", "ann")
    shown = quaestor("account", "show", "trial", "--json").json
    left = {(m["analyst"], m["meter"]): m["remaining"] for m in shown["meters"]}
    assert left[None, "epsilon"] == 0.0625
    assert left["ann", "epsilon"] == 0.1875
    fits = {line["analyst"]: line["fits"] for line in shown["standing"]}
    assert fits["ann"][0] == {"release": release(0.0625), "left": 1}  # three fit the quota
    assert "only the total is guaranteed" in shown["words"]
    whole = quaestor("account", "price", "trial", release(0.0625), "--json").json
    assert (whole["quota_of"], whole["left"]) == (None, 1)
    own = quaestor("account", "price", "trial", release(0.0625), "--analyst", "ann", "--json").json
    assert (own["quota_of"], own["left"]) == ("ann", 3)
