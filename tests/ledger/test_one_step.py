"""Charges in one step: who is alone takes no lock first, and whatever has changed is noticed."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import AccountClosed, BudgetExceeded, LedgerUnavailable
from quaestor.ledger import Account, Ledger
from tests.ledger.places import around, definition, remaining_epsilon, share, spent

if TYPE_CHECKING:
    from pathlib import Path

STEP, SMALL = PureDP(epsilon=0.0625), PureDP(epsilon=2.0**-10)


def steps_of(ledger: Ledger) -> list[bool]:
    """Whether each attempt to charge in one step was one, from here on."""
    tried, append = [], ledger._store.append_in_one_step

    def noted(charge: tuple[object, ...]) -> bool:
        tried.append(append(charge))
        return tried[-1]

    ledger._store.append_in_one_step = noted  # type: ignore[method-assign]
    return tried


def warm(ledger: Ledger) -> Account:
    """An account of which this process knows the totals, and has a connection for the step."""
    account = ledger.open_account(definition())
    for _ in range(3):
        account.reserve(SMALL)
    return account


def test_who_is_alone_charges_in_one_step_and_the_chain_is_the_same(ledger: Ledger) -> None:
    account = ledger.open_account(definition())
    account.reserve(STEP, analyst="ann")
    tried = steps_of(ledger)
    for number in range(5):
        charge = account.reserve(STEP, analyst="ann", purpose='ü "x" \\', query=f"q{number}")
        assert charge.entry == number + 2
    assert tried == [True] * 5
    with account.reserve(STEP) as charge:
        charge.drawing()
        charge.release("42")
    entries = list(account.entries())
    assert [entry.number for entry in entries] == list(range(1, 8))
    assert remaining_epsilon(account) == 1 - spent(entries)
    ledger.verify()


def test_what_others_have_charged_meanwhile_is_counted(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two ledgers in turns, each with totals that the other makes old: to the last charge.

    Each has seen the own heads only, as if they were of two processes.
    """
    with Ledger(location) as one, Ledger(location) as other:
        accounts = [one.open_account(definition()), other.account("trial")]
        tried = steps_of(one)
        seen: list[dict[object, object]] = [{}, {}]
        for number in range(16):
            turn = number // 3 % 2
            monkeypatch.setattr("quaestor.ledger.store.base._HEADS", seen[turn])
            assert accounts[turn].reserve(STEP).entry == number + 1
        for account in accounts:
            with pytest.raises(BudgetExceeded):
                account.reserve(SMALL)
        assert set(tried) == {True, False}
        assert remaining_epsilon(accounts[0]) == 0
        one.verify()


def test_an_account_that_was_closed_meanwhile_takes_no_charge(location: str) -> None:
    with Ledger(location) as ledger, Ledger(location) as other:
        account = warm(ledger)
        other.account("trial").close()
        with pytest.raises(AccountClosed):
            account.reserve(STEP)
        ledger.verify()


def test_a_row_that_was_changed_by_hand_is_not_built_upon(location: str) -> None:
    """The same head in the account's row, and another one in the chain."""
    with Ledger(location) as ledger:
        account = warm(ledger)
        with around(location) as run:
            run("UPDATE ledger_events SET hash = ? WHERE seq = 4", "0" * 64)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert error.value.reason == "rolled_back"


def test_a_state_that_others_here_have_seen_grow_is_not_built_upon(location: str) -> None:
    """The store is put back to where one of two ledgers of a process saw it last."""
    with Ledger(location) as ledger, Ledger(location) as other:
        account = warm(ledger)
        kept = "SELECT events, entries, head FROM ledger_heads"
        with around(location) as run:
            (before,) = run(kept)
        other.account("trial").reserve(STEP)
        with around(location) as run:
            run("DELETE FROM ledger_events WHERE seq > ?", before[0])
            run("UPDATE ledger_heads SET events = ?, entries = ?, head = ?", *before)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert error.value.reason == "rolled_back"


def test_totals_of_other_prices_are_worked_out_anew(location: str) -> None:
    with Ledger(location) as ledger:
        account = warm(ledger)
        with around(location) as run:
            ((current,),) = run("SELECT pricing FROM ledger_heads")
            run("UPDATE ledger_heads SET pricing = 0")
        tried = steps_of(ledger)
        account.reserve(STEP)
        assert tried == [False]
        with around(location) as run:
            assert run("SELECT pricing FROM ledger_heads") == [(current,)]
        ledger.verify()


def test_quotas_are_charged_under_the_lock(ledger: Ledger) -> None:
    account = ledger.open_account(definition(shares=(share("ann", 0.5),)))
    account.reserve(STEP, analyst="ann")
    tried = steps_of(ledger)
    account.reserve(STEP, analyst="ann")
    assert tried == []
    ledger.verify()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a ledger can be made in a file."""
    return tmp_path / "ledger.db"


def test_somebody_who_writes_meanwhile_is_waited_for(file: Path) -> None:
    with Ledger(file) as ledger:
        account = warm(ledger)
        tried = steps_of(ledger)
        with around(str(file)) as run:
            run("BEGIN IMMEDIATE")
            waiting = threading.Thread(target=account.reserve, args=(STEP,))
            waiting.start()
            waiting.join(0.2)
            assert waiting.is_alive()
            run("COMMIT")
            waiting.join(60)
        assert tried == [False]
        assert len(list(account.entries())) == 4
        account.reserve(STEP)
        assert tried == [False, True]
        ledger.verify()


def test_a_file_with_a_second_name_is_noticed_by_who_has_charged_before(file: Path) -> None:
    with Ledger(file) as ledger:
        account = warm(ledger)
        (file.parent / "other.db").hardlink_to(file)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert error.value.reason == "second_name"


def test_a_file_that_was_moved_away_in_the_midst_is_no_charge(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was appended is under no name that anybody will open."""
    with Ledger(file) as ledger:
        account = warm(ledger)
        store = ledger._store
        append = store.append_in_one_step

        def appended(charge: tuple[object, ...]) -> bool:
            done = append(charge)
            file.rename(file.parent / "other.db")
            return done

        monkeypatch.setattr(store, "append_in_one_step", appended)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert error.value.reason == "replaced"


def test_a_ledger_that_is_closed_leaves_one_file(file: Path) -> None:
    with Ledger(file) as ledger:
        warm(ledger)
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_an_old_copy_over_the_file_is_noticed_by_who_has_charged_before(file: Path) -> None:
    with Ledger(file) as ledger:
        warm(ledger)
    old = file.read_bytes()
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        for _ in range(3):
            account.reserve(STEP)
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        account.price(STEP)
        for name in ("ledger.db-wal", "ledger.db-shm"):
            (file.parent / name).unlink(missing_ok=True)
        file.write_bytes(old)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert error.value.reason in {"rolled_back", "truncated"}


def test_pages_of_before_are_forgotten_when_the_file_was_written(file: Path) -> None:
    """What a connection remembers of the file is not what somebody has put there."""
    with Ledger(file) as ledger:
        warm(ledger)
    old = file.read_bytes()
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        account.reserve(STEP)
        account.reserve(STEP)
        with around(str(file)) as run:  # all is in the file, and the log begins anew
            assert run("PRAGMA wal_checkpoint(RESTART)")[0][0] == 0
        file.write_bytes(old)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert error.value.reason in {"rolled_back", "truncated"}


def test_a_truncated_log_is_noticed_by_who_has_charged_before(file: Path) -> None:
    with Ledger(file) as ledger:
        account = warm(ledger)
        os.truncate(f"{file}-wal", 0)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert error.value.reason in {"rolled_back", "truncated"}


def test_checkpoints_of_others_cost_no_charge(file: Path) -> None:
    """The file is written by every checkpoint: that alone is nothing to complain about."""
    with Ledger(file) as ledger:
        account = warm(ledger)
        tried = steps_of(ledger)
        for _ in range(5):
            with around(str(file)) as run:
                assert run("PRAGMA wal_checkpoint(PASSIVE)")[0][0] == 0
            account.reserve(SMALL)
        assert tried == [True] * 5
        ledger.verify()
