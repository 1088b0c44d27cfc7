"""A key for a charge: the same key is the same charge, and its noise is drawn once."""

from __future__ import annotations

import multiprocessing
import threading
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import (
    BudgetExceeded,
    ChargeSettled,
    InvalidParameter,
    KeyReused,
    LedgerCorrupted,
)
from quaestor.ledger import Ledger, backup_ledger, restore_ledger
from quaestor.ledger.journal.chain import Chain
from quaestor.ledger.journal.events import event_from_text
from tests.ledger.places import definition, remaining_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from quaestor.ledger import Account

FORK = multiprocessing.get_context("fork")
QUARTER = PureDP(epsilon=0.25)


@pytest.fixture
def account(ledger: Ledger) -> Account:
    """An open account with an epsilon of 1."""
    return ledger.open_account(definition())


def test_the_same_key_is_the_same_charge_after_a_restart_too(
    account: Account, location: str
) -> None:
    first = account.reserve(QUARTER, analyst="ann", query="f00", key="monday")
    with Ledger(location) as other:
        again = other.account("trial").reserve(QUARTER, analyst="ann", query="f00", key="monday")
        assert (first.entry, again.entry) == (1, 1)
        assert (first.repeated, again.repeated) == (False, True)
        other.account("trial").reserve(QUARTER, analyst="ann", query="f00")
        assert [entry.number for entry in other.account("trial").entries()] == [1, 2]
        other.verify()
    assert remaining_epsilon(account) == Fraction(1, 2)


@pytest.mark.parametrize(
    "other",
    [{"analyst": "bob"}, {"query": "f01"}, {"purpose": "else"}, {"releases": PureDP(epsilon=0.5)}],
    ids=lambda other: next(iter(other)),
)
def test_a_key_with_another_request_is_an_error(account: Account, other: dict[str, Any]) -> None:
    given: dict[str, Any] = {"releases": QUARTER, "analyst": "ann", "query": "f00", "key": "monday"}
    account.reserve(**given)
    with pytest.raises(KeyReused, match="already used for another charge") as error:
        account.reserve(**given | other)
    assert error.value.fields() == {"key": "monday", "account": "trial"}
    assert len(list(account.entries())) == 1
    assert account.reserve(**given).entry == 1


def test_accounts_have_keys_of_their_own(account: Account, ledger: Ledger) -> None:
    second = ledger.open_account(definition("second", datasets=("others",)))
    account.reserve(QUARTER, key="monday")
    assert second.reserve(PureDP(epsilon=0.5), key="monday").repeated is False
    ledger.verify()


@pytest.mark.parametrize("key", [" monday", "two\nlines", "x" * 201, 7])
def test_a_key_is_a_name(account: Account, key: Any) -> None:
    with pytest.raises(InvalidParameter, match="key"):
        account.reserve(QUARTER, key=key)


def test_a_key_is_known_when_the_account_is_used_up_or_closed(account: Account) -> None:
    whole = PureDP(epsilon=1.0)
    account.reserve(whole, key="all")
    assert account.reserve(whole, key="all").entry == 1
    with pytest.raises(BudgetExceeded):
        account.reserve(whole, key="more")
    account.close()
    assert account.reserve(whole, key="all").entry == 1


def test_a_repeat_knows_how_the_charge_stands(account: Account) -> None:
    with account.reserve(QUARTER, query="f00", key="one") as charge:
        charge.drawing()
        charge.release("42")
    again = account.reserve(QUARTER, query="f00", key="one")
    assert again.status == "released"
    with pytest.raises(ChargeSettled, match="is released already"):
        again.drawing()
    with account.reserve(QUARTER, key="two") as charge:
        charge.void("the engine is down")
    assert account.reserve(QUARTER, key="two").status == "void"
    with pytest.raises(ChargeSettled, match="is void already"):
        account.reserve(QUARTER, key="two").release("43")


def test_of_all_who_hold_a_charge_one_draws(account: Account, location: str) -> None:
    first = account.reserve(QUARTER, query="f00", key="one")
    with Ledger(location) as other:
        second = other.account("trial").reserve(QUARTER, query="f00", key="one")
        with pytest.raises(ChargeSettled, match="another process made it"):
            second.void("it is not mine")
        second.drawing()
        second.drawing()  # its own mark
        for late in (first.drawing, lambda: first.release("41"), lambda: first.void("why")):
            with pytest.raises(ChargeSettled, match="noise may have been drawn"):
                late()
        second.release("42")
    assert account.answer("f00") == (1, "42")
    account.verify()


def test_the_mark_is_durable_before_the_draw_and_bars_a_void(
    account: Account, location: str
) -> None:
    with account.reserve(QUARTER) as charge:
        charge.drawing()
        with Ledger(location) as other:
            kinds = [line for line in other.export(account="trial") if '"drawing"' in line]
        assert len(kinds) == 1
    account.verify()


def holding(location: str, start: Any, outcomes: Any) -> None:
    with Ledger(location) as ledger:
        account = ledger.account("trial")
        start.wait()
        charge = account.reserve(PureDP(epsilon=1.0), key="race")
        try:
            charge.drawing()
        except ChargeSettled:
            outcomes.put((charge.entry, "late"))
        else:
            outcomes.put((charge.entry, "drew"))


def test_eight_processes_with_one_key_are_charged_once_and_one_draws(
    account: Account, location: str
) -> None:
    start, outcomes = FORK.Barrier(8), FORK.SimpleQueue()
    children = [FORK.Process(target=holding, args=(location, start, outcomes)) for _ in range(8)]
    for child in children:
        child.start()
    found = [outcomes.get() for _ in children]
    for child in children:
        child.join()
    assert sorted(found) == [(1, "drew"), *[(1, "late")] * 7]
    assert remaining_epsilon(account) == 0
    account.verify()


def together(work: Callable[[], object], count: int) -> list[Any]:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(work())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_sixteen_threads_with_one_key_are_charged_once(account: Account) -> None:
    found = together(lambda: account.reserve(PureDP(epsilon=1.0), key="race"), 16)
    assert [charge.entry for charge in found] == [1] * 16
    assert [charge.repeated for charge in found].count(False) == 1
    account.verify()


def test_a_chain_in_which_noise_is_drawn_twice_or_given_back_is_found_out(
    account: Account, location: str
) -> None:
    with account.reserve(QUARTER) as charge:
        charge.drawing()
    with Ledger(location) as other:
        events = [event_from_text(line) for line in other.export(account="trial")]
    for kind in ("drawing", "void"):
        chain = Chain("trial")
        for event in events:
            chain.add(event)
        forged = events[-1]._replace(seq=len(events) + 1, kind=kind, previous=chain.head)
        with pytest.raises(LedgerCorrupted, match="noise"):
            chain.add(forged.sealed())


def test_a_restored_charge_counts_as_drawn_for_it_may_have_been_after_the_backup(
    ledger: Ledger, account: Account, tmp_path: Path
) -> None:
    charge = account.reserve(QUARTER, query="f00", key="one")
    backup_ledger(ledger, tmp_path / "backup.db")
    charge.drawing()
    charge.release("42")
    restore_ledger(tmp_path / "backup.db", tmp_path / "restored.db", reason="a test")
    with Ledger(tmp_path / "restored.db") as restored:
        again = restored.account("trial").reserve(QUARTER, query="f00", key="one")
        assert (again.entry, again.status) == (1, "reserved")
        with pytest.raises(ChargeSettled, match="noise may have been drawn"):
            again.drawing()
        restored.verify()
