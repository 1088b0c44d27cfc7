"""The data are refreshed: answers say of which version they are, and asking anew costs anew."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from quaestor import PureDP
from quaestor.curator import Answer, Curator
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.errors import BudgetExceeded, InvalidParameter, LedgerCorrupted
from quaestor.ledger.journal.chain import Chain
from quaestor.ledger.journal.events import Event
from tests.curator.hospital import write_hospital
from tests.ledger.places import definition, remaining_epsilon, share

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.ledger import Account, Ledger

COUNT = "SELECT COUNT(*) AS n FROM visits"
ONE = "\n[accounts.research]\nepsilon = 1.0\ndelta = 0\n"
SMALL = PureDP(epsilon=0.125)


@pytest.fixture
def curator(ledger: Ledger, tmp_path: Path) -> Iterator[Curator]:
    with Curator(read_catalog(write_hospital(tmp_path, ONE)), ledger=ledger) as made:
        made.open_account("research")
        yield made


def paid(account: Account, query: str, answer: str, **said: Any) -> int:
    with account.reserve(SMALL, query=query, **said) as charge:
        charge.release(answer)
    return charge.entry


def test_asking_anew_is_never_free_and_replaces_nothing(curator: Curator, ledger: Ledger) -> None:
    first = curator.ask(COUNT, epsilon=0.25)
    account = curator.account("research")
    (fingerprint,) = {entry.query for entry in account.entries()}
    (before,) = account.answers(fingerprint)
    ledger.refreshed("visits", version="2026-12")
    left = remaining_epsilon(account)
    again = curator.ask(COUNT, epsilon=0.25)
    assert again.repeated
    assert again.columns == first.columns
    assert "before version 2026-12" in again.notes[-1]
    assert remaining_epsilon(account) == left
    assert account.answers(fingerprint) == (before,)  # byte by byte
    for charged in (2, 3):
        anew = curator.ask(COUNT, epsilon=0.25, anew=True)
        assert not anew.repeated
        assert anew.data_version == "2026-12"
        assert len(list(account.entries())) == charged
        assert len({entry.answer for entry in account.entries()}) == charged
    kept = account.answers(fingerprint)
    assert [stored.entry for stored in kept] == [1, 2, 3]
    assert [stored.version for stored in kept] == ["", "2026-12", "2026-12"]
    assert kept[0] == before
    assert Answer.from_json(kept[0].text) == first
    assert curator.ask(COUNT, epsilon=0.25).columns == anew.columns
    assert remaining_epsilon(account) < left
    ledger.verify()


def test_asking_anew_is_refused_where_nothing_is_left(curator: Curator, ledger: Ledger) -> None:
    first = curator.ask(COUNT, epsilon=0.75)
    ledger.refreshed("visits", version="2")
    with pytest.raises(BudgetExceeded):
        curator.ask(COUNT, epsilon=0.75, anew=True)
    assert not curator.preview(COUNT, epsilon=0.75, anew=True).free
    assert not curator.preview(COUNT, epsilon=0.75, anew=True).fits
    assert curator.preview(COUNT, epsilon=0.75).free
    assert curator.ask(COUNT, epsilon=0.75).columns == first.columns


def test_without_a_refresh_nothing_is_said_of_versions(curator: Curator) -> None:
    first = curator.ask(COUNT, epsilon=0.25)
    again = curator.ask(COUNT, epsilon=0.25)
    assert again == first
    assert "data_version" not in first.to_json()
    account = curator.account("research")
    assert account.data_versions() == ()
    assert account.standing().to_dict()["versions"] == []


def test_an_answer_that_was_on_its_way_during_a_refresh_names_both(ledger: Ledger) -> None:
    account = ledger.open_account(definition())
    ledger.refreshed("patients", version="one")
    with account.reserve(SMALL, query="f00") as charge:
        ledger.refreshed("patients", version="two")
        assert account.version_of(charge.entry, dataset="patients") == "one or two"
        charge.release("42")
    ledger.refreshed("patients", version="three")
    (stored,) = account.answers("f00")
    assert stored.version == "one or two"
    assert account.answer("f00") == stored


def test_a_refresh_is_in_the_chain_of_every_account_on_the_dataset(ledger: Ledger) -> None:
    for name in ("a", "b"):
        ledger.open_account(definition(name, beside=True))
    ledger.open_account(definition("c", datasets=("others",)))
    ledger.account("b").close()
    assert ledger.refreshed("patients", version="2026-12") == ("a", "b")
    found = [json.loads(line) for line in ledger.export()]
    said = [(e["account"], e["dataset"], e["detail"]) for e in found if e["kind"] == "refreshed"]
    assert said == [("a", "patients", "2026-12"), ("b", "patients", "2026-12")]
    (shown,) = ledger.account("a").standing().to_dict()["versions"]
    assert (shown["dataset"], shown["version"]) == ("patients", "2026-12")
    ledger.verify()
    with pytest.raises(InvalidParameter, match="not used before"):
        ledger.refreshed("patients", version="2026-12")
    with pytest.raises(InvalidParameter, match="dataset"):
        ledger.refreshed("nobody", version="1")
    with pytest.raises(InvalidParameter, match="version"):
        ledger.refreshed("patients", version="")
    assert ledger.account("a").data_versions() == ledger.account("a").data_versions("patients")
    assert len(ledger.account("a").data_versions()) == 1


def test_with_quotas_only_the_own_answers_are_listed(ledger: Ledger) -> None:
    account = ledger.open_account(definition(shares=(share("ann", 0.5), share("bob", 0.5))))
    paid(account, "f00", "for ann", analyst="ann")
    ledger.refreshed("patients", version="2")
    paid(account, "f00", "for bob", analyst="bob")
    assert [each.text for each in account.answers("f00", analyst="ann")] == ["for ann"]
    assert [each.text for each in account.answers("f00", analyst="bob")] == ["for bob"]
    assert account.answers("f00", analyst="carl") == ()


@pytest.mark.parametrize("wrong", [{"detail": ""}, {"dataset": ""}, {"entry": 1}])
def test_a_chain_has_no_refresh_that_says_nothing(wrong: dict[str, Any]) -> None:
    time = "2026-01-01T00:00:00.000000Z"
    opened = Event("trial", 1, "opened", time=time, detail="{}").sealed()
    right = Event(
        *("trial", 2, "refreshed"),
        time=time,
        dataset="patients",
        detail="2026-12",
        previous=opened.hash,
    )
    chain = Chain("trial")
    chain.add(opened)
    with pytest.raises(LedgerCorrupted):
        chain.add(right._replace(**wrong).sealed())
    chain.add(right.sealed())
