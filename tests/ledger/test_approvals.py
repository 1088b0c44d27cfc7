"""Approval: submitted, approved by somebody else, asked once, and exactly as it was approved."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.accounting.releases import Gaussian, PureDP
from quaestor.errors import (
    AccountClosed,
    ApprovalNeeded,
    BudgetExceeded,
    InvalidParameter,
    LedgerCorrupted,
    UnknownAnalyst,
)
from quaestor.ledger import AccountDefinition, Charge, Ledger
from quaestor.ledger.journal.events import COLUMNS, Event
from tests.ledger.clocks import Clock
from tests.ledger.places import around, definition, share

if TYPE_CHECKING:
    from quaestor.ledger import Account

TENTH = PureDP(epsilon=0.125)
ASKED: dict[str, Any] = {"analyst": "ann", "query": "a count"}


def strict(ledger: Ledger, **more: Any) -> Account:
    """An account that demands approval for everything."""
    return ledger.open_account(definition(**{"approval": True, **more}))


def approved(account: Account, **changes: Any) -> str:
    """Ann's submission, approved by bob."""
    made = account.submit(TENTH, **{**ASKED, **changes})
    account.approve(made, by="bob", reason="agreed in the meeting")
    return made


def entries(account: Account) -> int:
    return account.state().entries


def test_a_question_is_submitted_approved_and_asked_once(ledger: Ledger) -> None:
    account = strict(ledger)
    made = account.submit(TENTH, purpose="weekly", **ASKED)
    assert entries(account) == 0
    with pytest.raises(ApprovalNeeded, match="is submitted"):
        account.reserve(TENTH, approval=made, **ASKED)
    account.approve(made, by="bob", reason="fine")
    (found,) = account.approvals()
    assert (found.status, found.analyst, found.decided_by) == ("approved", "ann", "bob")
    with account.reserve(TENTH, approval=made, **ASKED) as charge:
        charge.release("42")
    assert [entry.purpose for entry in account.entries()] == ["weekly"]
    with pytest.raises(ApprovalNeeded, match="is used"):
        account.reserve(TENTH, approval=made, **ASKED)
    assert entries(account) == 1
    assert account.approvals()[0].status == "used"
    account.verify()


def test_nothing_is_charged_without_approval(ledger: Ledger) -> None:
    account = strict(ledger)
    with pytest.raises(ApprovalNeeded, match="submit it"):
        account.reserve(TENTH, **ASKED)
    with pytest.raises(ApprovalNeeded):
        account.reserve(TENTH, key="a key", **ASKED)
    with pytest.raises(ApprovalNeeded):
        account.claim(TENTH, **ASKED)
    with pytest.raises(ApprovalNeeded, match="there is no submission"):
        account.reserve(TENTH, approval="0123456789abcdef", **ASKED)
    assert entries(account) == 0
    account.verify()


@pytest.mark.parametrize("by", ["ann", "Ann", "ANN"])
def test_nobody_approves_their_own(ledger: Ledger, by: str) -> None:
    account = strict(ledger)
    made = account.submit(TENTH, **ASKED)
    with pytest.raises(ApprovalNeeded, match="another person"):
        account.approve(made, by=by)
    with pytest.raises(InvalidParameter):
        account.approve(made, by="")
    with pytest.raises(InvalidParameter):  # nor hides who submits it
        account.submit(TENTH, query="a count")
    assert account.approvals()[0].status == "submitted"


@pytest.mark.parametrize(
    "changes",
    [
        {"releases": PureDP(epsilon=0.25)},
        {"releases": [TENTH, TENTH]},
        {"query": "another count"},
        {"analyst": "cid"},
        {"purpose": "something else"},
        {"dataset": "staff"},
    ],
)
def test_what_was_approved_is_what_is_asked(ledger: Ledger, changes: dict[str, Any]) -> None:
    account = strict(ledger, datasets=("patients", "staff"))
    made = approved(account, dataset="patients", purpose="weekly")
    asked: dict[str, Any] = {"releases": TENTH, "dataset": "patients", **ASKED, **changes}
    releases = asked.pop("releases")
    with pytest.raises(ApprovalNeeded, match="a different request"):
        account.reserve(releases, approval=made, **asked)
    assert entries(account) == 0
    account.reserve(TENTH, approval=made, dataset="patients", **ASKED)


def test_a_decision_is_made_once(ledger: Ledger) -> None:
    account = strict(ledger)
    made = account.submit(TENTH, **ASKED)
    account.decline(made, by="bob", reason="too much")
    for decide in (account.approve, account.decline):
        with pytest.raises(ApprovalNeeded, match="declined already"):
            decide(made, by="cid")
    with pytest.raises(ApprovalNeeded, match="is declined"):
        account.reserve(TENTH, approval=made, **ASKED)
    with pytest.raises(ApprovalNeeded, match="there is no submission"):
        account.approve("ffffffffffffffff", by="bob")
    (found,) = account.approvals()
    assert (found.status, found.decided_by, found.reason) == ("declined", "bob", "too much")
    account.verify()


def test_nothing_is_submitted_approved_or_asked_after_closing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    account = strict(ledger, closes=clock.after(3600.0))
    waiting, ready = account.submit(TENTH, **ASKED), approved(account, query="ready")
    clock.ahead = 86400.0
    for attempt in (
        lambda: account.submit(TENTH, **ASKED),
        lambda: account.approve(waiting, by="bob"),
        lambda: account.reserve(TENTH, approval=ready, analyst="ann", query="ready"),
    ):
        with pytest.raises(AccountClosed):
            attempt()
    account.decline(waiting, by="bob")
    account.close()
    with pytest.raises(AccountClosed):
        account.submit(TENTH, **ASKED)
    account.verify()


@pytest.mark.parametrize("shared", [True, False])
def test_many_who_use_one_approval_at_once_have_one_charge(
    location: str, ledger: Ledger, *, shared: bool
) -> None:
    made = approved(strict(ledger))
    done: list[str] = []
    start = threading.Barrier(8)

    def attempt(book: Ledger) -> None:
        account = book.account("trial")
        start.wait()
        try:
            account.reserve(TENTH, approval=made, **ASKED)
        except ApprovalNeeded as error:
            done.append(error.problem)
        else:
            done.append("charged")

    def work() -> None:
        if shared:  # one process, whose charges may go into one transaction
            attempt(ledger)
        else:
            with Ledger(location) as own:
                attempt(own)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done.count("charged") == 1
    assert len(done) == 8
    assert entries(ledger.account("trial")) == 1
    ledger.verify()


def test_what_was_given_back_can_be_asked_with_the_same_approval(ledger: Ledger) -> None:
    account = strict(ledger)
    made = approved(account)
    account.reserve(TENTH, approval=made, **ASKED).void("the engine was down")
    assert account.approvals()[0].status == "approved"
    account.reserve(TENTH, approval=made, **ASKED).release("42")
    with pytest.raises(ApprovalNeeded, match="is used"):
        account.reserve(TENTH, approval=made, **ASKED)
    account.verify()


def test_a_key_and_a_question_left_behind_need_no_second_approval(ledger: Ledger) -> None:
    account = strict(ledger)
    first, second = approved(account), approved(account, query="shared")
    charge = account.reserve(TENTH, approval=first, key="one", **ASKED)
    assert account.reserve(TENTH, approval=first, key="one", **ASKED).entry == charge.entry
    shared: dict[str, Any] = {"analyst": "ann", "query": "shared"}
    with pytest.raises(ValueError, match="broken"):
        _break(account.claim(TENTH, approval=second, **shared))
    taken = account.claim(TENTH, approval=second, **shared)
    assert isinstance(taken, Charge)
    with taken:
        taken.release("42")
    assert entries(account) == 2
    account.verify()


def _break(held: Any) -> None:
    with held:
        raise ValueError("broken")


def test_approval_is_no_budget(ledger: Ledger) -> None:
    account = strict(ledger, epsilon=0.125)
    first, second = approved(account), approved(account)
    account.reserve(TENTH, approval=first, **ASKED)
    with pytest.raises(BudgetExceeded):
        account.reserve(TENTH, approval=second, **ASKED)
    assert account.approvals()[1].status == "approved"


def test_above_an_epsilon_only_larger_charges_need_it(ledger: Ledger) -> None:
    account = strict(ledger, approval=0.25)
    account.reserve(PureDP(epsilon=0.25), **ASKED)
    with pytest.raises(ApprovalNeeded):
        account.reserve([PureDP(epsilon=0.125), PureDP(epsilon=0.1875)], **ASKED)
    with pytest.raises(ApprovalNeeded):
        account.reserve(PureDP(epsilon=0.0625) * 5, **ASKED)
    account.verify()


def test_releases_without_an_epsilon_are_measured_at_the_accounts_delta() -> None:
    made = definition(approval=0.25)
    assert made.needs_approval((Gaussian(sigma=10.0),))
    assert not made.needs_approval((Gaussian(sigma=1000.0),))
    pure = definition(approval=0.25, delta=0.0)
    assert pure.needs_approval((Gaussian(sigma=1000.0),))


def test_analysts_see_their_own_submissions_and_ids_count_nothing(ledger: Ledger) -> None:
    account = strict(ledger, shares=(share("ann", 0.5), share("bob", 0.5)))
    made = account.submit(TENTH, **ASKED)
    other = account.submit(TENTH, analyst="bob", query="a count")
    assert [each.id for each in account.approvals(analyst="ann")] == [made]
    assert {len(made), len(other)} == {16}
    with pytest.raises(UnknownAnalyst):
        account.submit(TENTH, analyst="zoe", query="a count")


def test_accounts_without_approval_take_none(ledger: Ledger) -> None:
    account = ledger.open_account(definition())
    with pytest.raises(InvalidParameter, match="requires approval"):
        account.submit(TENTH, **ASKED)
    with pytest.raises(InvalidParameter, match="query"):
        strict(ledger, name="strict", datasets=("staff",)).submit(TENTH, analyst="ann")


@pytest.mark.parametrize("given", [0, -1.0, "yes", float("nan"), float("inf")])
def test_approval_is_true_or_an_epsilon(given: Any) -> None:
    with pytest.raises(InvalidParameter, match="approval"):
        definition(approval=given)


def test_definitions_without_approval_keep_their_bytes_and_others_come_back() -> None:
    assert "approval" not in json.loads(definition().to_json())
    assert definition(approval=False) == definition()
    for given in (True, 0.25):
        made = definition(approval=given)
        assert AccountDefinition.from_json(made.to_json()) == made
        assert json.loads(made.to_json())["approval"] == given


@pytest.mark.parametrize(
    ("seq", "changes"),
    [
        (3, {"analyst": "ann"}),  # approved by oneself
        (3, {"kind": "declined"}),
        (3, {"detail": "0123456789abcdef"}),
        (4, {"detail": ""}),
        (4, {"query": "another"}),
        (4, {"analyst": "cid"}),
    ],
)
def test_what_does_not_follow_the_rules_does_not_verify(
    location: str, seq: int, changes: dict[str, Any]
) -> None:
    with Ledger(location) as ledger:
        account = strict(ledger)
        account.reserve(TENTH, approval=approved(account), **ASKED)
        account.verify()
    with around(location) as run:  # changed, and everything after it chained anew
        columns = ", ".join(COLUMNS)
        rows = run(f"SELECT {columns} FROM ledger_events ORDER BY seq")  # noqa: S608
        previous = rows[0][-1]
        for row in rows[1:]:
            event = Event(*row)._replace(previous=previous)
            sealed = (event._replace(**changes) if event.seq == seq else event).sealed()
            previous = sealed.hash
            assigned = ", ".join(f"{column} = ?" for column in COLUMNS)
            run(f"UPDATE ledger_events SET {assigned} WHERE seq = ?", *sealed, event.seq)  # noqa: S608
        run("UPDATE ledger_heads SET head = ?", previous)
    with Ledger(location) as ledger, pytest.raises(LedgerCorrupted, match=r"event [34]"):
        ledger.verify()
