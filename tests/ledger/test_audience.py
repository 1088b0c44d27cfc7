"""Who may see an answer: the analyst, a group, everybody; whoever may not, pays for an own one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from quaestor import PureDP
from quaestor.curator import Curator
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.errors import InvalidParameter, LedgerCorrupted
from quaestor.ledger import GroupQuota, StoredAnswer
from tests.curator.hospital import write_hospital
from tests.ledger.places import around, definition, share

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.ledger import Account, Charge, Ledger

SMALL = PureDP(epsilon=0.125)
COUNT = "SELECT COUNT(*) AS n FROM visits"
QUOTAS = (share("ann", 0.5), share("bob", 0.5))


def made(account: Account, analyst: str, **said: Any) -> Charge:
    """A claim of the same question by somebody, who must be charged for it."""
    found = account.claim(SMALL, query="f00", analyst=analyst, patience=0.0, **said)
    assert not isinstance(found, StoredAnswer)
    return found


def answered(account: Account, analyst: str, **said: Any) -> None:
    with made(account, analyst, **said) as charge:
        charge.release(f"for {analyst}")


def seen(account: Account, analyst: str, **said: Any) -> str | None:
    """What somebody gets free of charge, by every way there is to ask for it."""
    stored = account.answer("f00", analyst=analyst, **said)
    listed = account.answers("f00", analyst=analyst, **said)
    assert stored == (listed[-1] if listed else None)
    if stored is not None:
        assert account.claim(SMALL, query="f00", analyst=analyst, **said) == stored
    return None if stored is None else stored.text


@pytest.mark.parametrize("quotas", [(), QUOTAS])
@pytest.mark.parametrize("audience", ["analyst", "group:epi"])
def test_whoever_is_outside_the_audience_pays_for_an_own_answer(
    ledger: Ledger, quotas: tuple[Any, ...], audience: str
) -> None:
    account = ledger.open_account(definition(shares=quotas))
    with made(account, "ann", audience=audience, member_of=("epi",)) as first:
        with made(account, "bob") as second:  # nobody waits for what they may not see
            assert (second.entry, second.repeated) == (2, False)
            second.release("for bob")
        first.release("for ann")
    assert seen(account, "bob") == "for bob"
    assert seen(account, "ann", member_of=("epi",)) == ("for bob" if not quotas else "for ann")
    assert len(list(account.entries())) == 2
    ledger.verify()


@pytest.mark.parametrize("quotas", [(), QUOTAS])
def test_answers_are_for_whom_they_are_meant(ledger: Ledger, quotas: tuple[Any, ...]) -> None:
    account = ledger.open_account(definition(shares=quotas))
    answered(account, "ann", audience="group:epi", member_of=("epi",))
    assert seen(account, "bob", member_of=("epi",)) == "for ann"
    assert seen(account, "bob", member_of=("ops", "epidemics")) is None
    assert seen(account, "bob") is None
    answered(account, "bob", audience="everybody")
    assert seen(account, "ann") == "for bob"
    # with quotas, carl has none: he is not on the account
    assert seen(account, "carl") == (None if quotas else "for bob")
    ledger.verify()


def test_nobody_says_to_be_in_a_group_that_the_account_declares(ledger: Ledger) -> None:
    team = GroupQuota(group="epi", members=("ann",), epsilon=0.5, delta=0.0)
    account = ledger.open_account(definition(shares=QUOTAS, groups=(team,)))
    answered(account, "ann", audience="group:epi")
    assert seen(account, "ann") == "for ann"
    assert seen(account, "bob", member_of=("epi",)) is None
    with pytest.raises(InvalidParameter, match="audience"):
        account.reserve(SMALL, analyst="bob", audience="group:epi", member_of=("epi",))


def test_without_a_word_it_is_as_it_always_was(ledger: Ledger) -> None:
    shared = ledger.open_account(definition("shared", datasets=("a",)))
    answered(shared, "ann")
    assert seen(shared, "bob") == seen(shared, "") == "for ann"
    parted = ledger.open_account(definition("parted", datasets=("b",), shares=QUOTAS))
    answered(parted, "ann")
    assert seen(parted, "bob") is None
    answered(parted, "bob", audience="analyst")  # the default, in words
    for line in ledger.export():
        event = json.loads(line)
        assert not event["answer"] or event["kind"] == "released"
    assert [entry.audience for entry in parted.entries()] == ["", ""]


def test_the_same_question_for_the_same_audience_is_one_charge(ledger: Ledger) -> None:
    account = ledger.open_account(definition(shares=QUOTAS))
    said = {"audience": "group:epi", "member_of": ("epi",)}
    with pytest.raises(RuntimeError), made(account, "ann", **said):
        raise RuntimeError
    with made(account, "bob", **said) as taken:  # left behind: completed, and paid for by ann
        assert (taken.entry, taken.repeated, taken.request.analyst) == (1, True, "ann")
        taken.release("for all of us")
    assert seen(account, "ann", member_of=("epi",)) == "for all of us"
    assert [entry.audience for entry in account.entries()] == ["group:epi"]
    ledger.verify()


@pytest.mark.parametrize(
    ("audience", "analyst", "member_of"),
    [
        ("analyst", "", ()),
        ("group:epi", "ann", ()),
        ("group:", "ann", ("",)),
        ("friends", "ann", ()),
    ],
)
def test_an_audience_that_is_none_is_refused(
    ledger: Ledger, audience: str, analyst: str, member_of: tuple[str, ...]
) -> None:
    account = ledger.open_account(definition())
    with pytest.raises(InvalidParameter):
        account.reserve(SMALL, analyst=analyst, audience=audience, member_of=member_of)
    assert list(account.entries()) == []


def test_who_may_see_an_answer_cannot_be_changed_unseen(ledger: Ledger, location: str) -> None:
    account = ledger.open_account(definition())
    answered(account, "ann", audience="analyst")
    ledger.verify()
    with around(location) as run:
        run("UPDATE ledger_answers SET analyst = '*'")
    with pytest.raises(LedgerCorrupted):
        ledger.verify()


def test_a_curator_charges_whoever_is_outside(ledger: Ledger, tmp_path: Path) -> None:
    accounts = (
        "[accounts.open]\nepsilon = 9.0\ndelta = 0\n[accounts.parted]\nepsilon = 9.0\ndelta = 0\n"
        "beside = true\n[accounts.parted.quotas]\nann = { epsilon = 4 }\nbob = { epsilon = 4 }\n"
    )
    with Curator(read_catalog(write_hospital(tmp_path, accounts)), ledger=ledger) as curator:
        for name in ("open", "parted"):
            account = curator.open_account(name)
            said: dict[str, Any] = {"epsilon": 0.5, "account": name}
            curator.ask(COUNT, **said, analyst="ann", audience="analyst")
            assert not curator.preview(COUNT, **said, analyst="bob").free
            own = curator.ask(COUNT, **said, analyst="bob", audience="everybody")
            assert not own.repeated
            assert len(list(account.entries())) == 2
            assert curator.ask(COUNT, **said, analyst="bob").repeated
        # what is shared says nothing of the quota from which it was paid
        assert (own.receipt, own.remaining) == (None, ())


@pytest.mark.parametrize("quotas", [(), QUOTAS])
def test_an_answer_of_others_is_not_seen_in_what_the_ledger_does(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, quotas: tuple[Any, ...]
) -> None:
    """The same statements are sent, and the same is said, whether or not there is one."""
    with ledger._store.reading() as session:  # what is sent is seen there only
        kind = type(session)
    sent: list[str] = []
    original = {name: getattr(kind, name) for name in ("rows", "run")}
    for name in original:

        def noted(self: Any, statement: str, _name: str = name, **said: Any) -> Any:
            sent.append(statement)
            return original[_name](self, statement, **said)

        monkeypatch.setattr(kind, name, noted)
    found = []
    for place, asked in enumerate(("f00", "f01")):
        account = ledger.open_account(
            definition(f"a{place}", datasets=(f"d{place}",), shares=quotas)
        )
        with account.reserve(SMALL, analyst="ann", query=asked, audience="analyst") as charge:
            charge.release("for ann")
        sent.clear()
        assert seen(account, "bob") is None
        with made(account, "bob") as own:
            told = (own.receipt, own.repeated, own.status)
            own.release("for bob")
        found.append((told, list(sent)))
    assert found[0] == found[1]
