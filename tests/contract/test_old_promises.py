"""A ledger whose accounts promised too much: they open, verify, say what is wrong, and stop.

It was written by the code as it was before; ``make.py`` beside it says what was wrong with each
account. The one whose law had lost its mass is looked at in ``test_lost_mass.py``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.expressions import parse_releases
from quaestor.cli.app import main
from quaestor.errors import AccountOverdrawn
from quaestor.ledger import Ledger
from tests.contract.old_promises import ACCOUNTS, copied, loaded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a law of its time overflows

BROKEN = {
    "moved": "need epsilon",
    "opposed": "need epsilon",
    "realised": "was not planned in advance, as far as is known",
    "chosen order": "used 3.6",
    "named board": "need epsilon 0.634",
    "without replacement": "some charged releases have no bound here",
    "two sketches": "differs between adding and removing a person",
}
ASKED = {
    "moved": ("PoissonSampled(release=PureDP(epsilon=3), rate=0.01)", {"dataset": "b"}),
    "opposed": ("ProbabilityVectors(p=[0.2, 0.8], q=[0.05, 0.95])", {"dataset": "a"}),
    "realised": ("PureDP(epsilon=0.3)", {}),
    "named board": ("BoundedRange(epsilon=0.1)", {"query": "query 1"}),
    "two sketches": ("GraphSketch(rows=4, weight=400)", {}),
}
SOUND = {
    "sound": ("Laplace(scale=10)", {}),
    "sound plan": ("Laplace(scale=10) * 2", {"dataset": "a"}),
    "imported sum": ("PureDP(epsilon=0.25)", {}),
    "named plan": ("PureDP(epsilon=0.25)", {"query": "query 1"}),
    "never differs": ("PureDP(epsilon=50)", {}),
}


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A copy of the ledger, in a file and then on a server."""
    if request.param == "sqlite":
        return copied(tmp_path)
    return loaded(request.getfixturevalue("database"))


@pytest.fixture
def old(location: str) -> Iterator[Ledger]:
    """The ledger, opened by today's code."""
    with Ledger(location, create=False) as opened:
        yield opened


def test_every_account_is_looked_at() -> None:
    assert {*BROKEN, *SOUND, "lost mass"} == set(ACCOUNTS)
    for name in SOUND:
        assert ACCOUNTS[name]["truth"].startswith("sound")


def test_the_ledger_verifies_before_and_after_it_is_priced_again(old: Ledger) -> None:
    noted = {name: account["head"] for name, account in ACCOUNTS.items()}
    for _ in range(2):
        found = {each.account: each for each in old.verify(heads=noted)}
        for name, recorded in ACCOUNTS.items():
            each = found[name]
            assert (each.events, each.entries, each.head) == (
                recorded["events"],
                recorded["entries"],
                recorded["head"],
            )
            if name in BROKEN:
                assert BROKEN[name] in str(each.problem)
            elif name in SOUND:
                assert each.problem is None
        for name in ACCOUNTS:
            assert old.account(name).definition.to_json() == ACCOUNTS[name]["definition"]


def test_an_account_that_promised_too_much_says_so_and_refuses(old: Ledger) -> None:
    for name, reason in BROKEN.items():
        account = old.account(name)
        assert reason in str(account.problem())
        before = account.state().head
        text, given = ASKED.get(name, ("PureDP(epsilon=0.000001)", {}))
        with pytest.raises(AccountOverdrawn) as refused:
            account.reserve(parse_releases(text), **given)
        assert refused.value.reason == account.problem()
        assert "open another account" in str(refused.value)
        assert account.state().head == before


def test_stored_answers_are_found_all_the_same(old: Ledger) -> None:
    for name, recorded in ACCOUNTS.items():
        for query, answer in recorded["answers"].items():
            stored = old.account(name).answer(query, dataset=answer["dataset"])
            assert stored is not None
            assert stored.text == answer["text"]


def test_sound_accounts_go_on(old: Ledger) -> None:
    for name, (text, given) in SOUND.items():
        account = old.account(name)
        assert account.problem() is None
        with account.reserve(parse_releases(text), **given) as charge:
            charge.release()
        assert account.verify().problem is None
    old.verify()


def test_old_words_say_what_is_promised_today(old: Ledger) -> None:
    assert "this account promises nothing at all" in old.account("never differs").words()
    assert "What a name asks may be chosen by answers" in old.account("named plan").words()
    assert "charged by the basic sum" in old.account("imported sum").words()


def test_the_command_line_shows_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    location = copied(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["quaestor", *arguments, "--ledger", location])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return left.value.code, " ".join(printed.out.split()), printed.err

    status, shown, _ = run("account", "show", "moved")
    assert status == 0
    assert "It takes no further charges: by current theory its guarantee is not proved" in shown
    assert "It was opened with this guarantee:" in shown
    status, listed, _ = run("account", "list")
    assert status == 0
    assert "overdrawn" in listed
    status, checked, _ = run("ledger", "verify")
    assert status == 0
    assert "moved takes no further charges" in checked
    asked = "PoissonSampled(release=PureDP(epsilon=3), rate=0.01)"
    status, _, refused = run("account", "charge", "moved", asked, "--dataset", "a")
    assert status == 3
    assert "takes no further charges" in refused
