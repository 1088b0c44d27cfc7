"""Approval and quotas of groups where every block of time has a budget of its own."""

from __future__ import annotations

import random
import threading
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.accounting.filters.base import basic_filter
from quaestor.accounting.releases import PureDP
from quaestor.errors import (
    AnswerPending,
    ApprovalNeeded,
    BudgetExceeded,
    InvalidParameter,
    LedgerCorrupted,
)
from quaestor.ledger import (
    AccountDefinition,
    Charge,
    GroupQuota,
    Ledger,
    Proposal,
    StoredAnswer,
)
from quaestor.ledger.policies.blocks import Blocked
from tests.ledger.places import around, definition, share
from tests.ledger.test_submitted_plans import events, rewritten, with_

if TYPE_CHECKING:
    from quaestor.ledger import Account

QUARTER, HALF = PureDP(epsilon=0.25), PureDP(epsilon=0.5)
JANUARY, FEBRUARY, MARCH = "2024-01", "2024-02", "2024-03"
MONTHS = (JANUARY, FEBRUARY, MARCH)


def blocked(**more: Any) -> AccountDefinition:
    policy = Blocked(
        filter=basic_filter(epsilon=2.0, delta=1e-6), every="month", first=JANUARY, most=3
    )
    return definition(policy=policy, **{"epsilon": 2.0, **more})


def teams(**more: Any) -> AccountDefinition:
    """Two for a month, one for each analyst, one for ann and bob together."""
    group = GroupQuota(
        group="team",
        members=("ann", "bob"),
        epsilon=1.0,
        delta=1e-6,
        filter=basic_filter(epsilon=1.0, delta=1e-6),
    )
    quotas = tuple(share(analyst, 1.0) for analyst in ("ann", "bob", "cid"))
    return blocked(shares=quotas, groups=(group,), **more)


def left(account: Account, analyst: str, block: str) -> dict[str | None, Fraction | None]:
    found = account.remaining(analyst=analyst, blocks=[block])
    return {each.analyst: each.remaining for each in found if each.meter == "epsilon"}


def test_a_groups_quota_holds_in_each_block(ledger: Ledger) -> None:
    account = ledger.open_account(teams())
    for analyst in ("ann", "bob"):
        account.reserve(HALF, analyst=analyst, blocks=[JANUARY])
    for analyst in ("ann", "bob"):
        with pytest.raises(BudgetExceeded, match="group team's quota in 2024-01"):
            account.reserve(QUARTER, analyst=analyst, blocks=[JANUARY])
        with pytest.raises(BudgetExceeded, match="too little left: 2024-01"):
            account.reserve(QUARTER, analyst=analyst, blocks=[JANUARY, FEBRUARY])
        account.reserve(QUARTER, analyst=analyst, blocks=[FEBRUARY])
    account.reserve(HALF, analyst="cid", blocks=[JANUARY])
    zero, half = Fraction(0), Fraction(1, 2)
    assert left(account, "ann", JANUARY) == {"ann": half, "group team": zero}
    assert left(account, "ann", FEBRUARY) == {"ann": Fraction(3, 4), "group team": half}
    assert left(account, "ann", MARCH) == {"ann": Fraction(1), "group team": Fraction(1)}
    assert left(account, "cid", JANUARY) == {"cid": half}
    standing = account.standing()
    shown = {(each.analyst, each.block): each.used for each in standing.holders}
    assert (shown["group team", JANUARY], shown["group team", FEBRUARY]) == (Fraction(1), half)
    assert account.standing_on("patients", analyst="ann").block == JANUARY
    account.verify()


def test_every_decision_is_that_of_an_exact_count_by_block_and_holder(ledger: Ledger) -> None:
    account, draw = ledger.open_account(teams()), random.Random(3)  # a test's
    limits = {"*": 2, "ann": 1, "bob": 1, "cid": 1, "team": 1}
    used = {(who, month): Fraction(0) for who in limits for month in MONTHS}
    for _ in range(70):
        analyst = draw.choice(["ann", "bob", "cid"])
        size, chosen = draw.choice([1, 2, 3]) / 8, draw.sample(MONTHS, draw.randint(1, 2))
        holders = ["*", analyst, *(["team"] if analyst != "cid" else [])]
        fits = all(used[who, m] + Fraction(size) <= limits[who] for who in holders for m in chosen)
        try:
            charge = account.reserve(PureDP(epsilon=size), analyst=analyst, blocks=chosen)
        except BudgetExceeded:
            assert not fits
            continue
        assert fits
        if draw.random() < 0.4:
            charge.void("a test")
            continue
        for who in holders:
            for month in chosen:
                used[who, month] += Fraction(size)
    for month in MONTHS:
        assert left(account, "bob", month) == {
            "bob": 1 - used["bob", month],
            "group team": 1 - used["team", month],
        }
    account.verify()


def test_nobody_outside_a_group_sees_in_which_block_its_members_ask(ledger: Ledger) -> None:
    def seen(account: Account) -> list[Any]:
        said: dict[str, Any] = {"analyst": "cid", "blocks": MONTHS}
        told: list[Any] = [account.words(), account.remaining(**said)]
        told += [account.price(PureDP(epsilon=e), **said).to_dict() for e in (0.25, 3.0)]
        told += [account.standing_on("patients", **said), account.history(analyst="cid")]
        with pytest.raises(BudgetExceeded) as refused:
            account.reserve(PureDP(epsilon=3.0), **said)
        return [*told, str(refused.value), refused.value.fields()]

    account = ledger.open_account(teams())
    before = seen(account)
    account.reserve(HALF, analyst="ann", blocks=[FEBRUARY])
    assert seen(account) == before


def test_members_who_charge_at_once_stay_within_each_block(location: str) -> None:
    with Ledger(location) as ledger:
        ledger.open_account(teams())
    refused: list[str] = []

    def work(analyst: str) -> None:
        with Ledger(location) as own:
            account = own.account("trial")
            for month in MONTHS * 3:
                try:
                    account.reserve(QUARTER, analyst=analyst, blocks=[month])
                except BudgetExceeded:
                    refused.append(month)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("ann", "bob") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Ledger(location) as ledger:
        account = ledger.account("trial")
        assert account.state().entries == 12
        assert len(refused) == 24
        for month in MONTHS:
            assert left(account, "ann", month)["group team"] == 0
        ledger.verify()


def test_totals_of_a_group_that_were_changed_are_found(location: str) -> None:
    with Ledger(location) as ledger:
        ledger.open_account(teams()).reserve(HALF, analyst="ann", blocks=[JANUARY])
    with around(location) as run:
        run("DELETE FROM ledger_balances WHERE analyst = ?", " team")
    with Ledger(location) as ledger, pytest.raises(LedgerCorrupted, match="totals"):
        ledger.verify()


# Questions of one's own: the same query of other blocks is another question.


def answered(account: Account, text: str, *months: str) -> None:
    charge = account.claim(QUARTER, query="f00", blocks=months)
    assert isinstance(charge, Charge)
    with charge:
        charge.release(text)


def test_the_same_query_of_other_blocks_has_an_answer_of_its_own(ledger: Ledger) -> None:
    account = ledger.open_account(blocked())
    answered(account, "of january", JANUARY)
    answered(account, "of both", JANUARY, FEBRUARY)
    answered(account, "of february", FEBRUARY)
    for text, months in (
        ("of january", (JANUARY,)),
        ("of february", (FEBRUARY,)),
        ("of both", (JANUARY, FEBRUARY)),
    ):
        again = account.claim(QUARTER, query="f00", blocks=months[::-1])
        assert isinstance(again, StoredAnswer)
        assert (again.text, again.blocks) == (text, months)
        stored = account.answer("f00", blocks=months)
        assert stored is not None
        assert stored.text == text
        assert [each.text for each in account.answers("f00", blocks=months)] == [text]
    assert account.answer("f00", blocks=[MARCH]) is None
    every = account.answers("f00")
    assert [each.blocks for each in every] == [(JANUARY,), (JANUARY, FEBRUARY), (FEBRUARY,)]
    assert account.state().entries == 3
    with pytest.raises(InvalidParameter):
        account.answer("f00", blocks=["2024"])
    plain = ledger.open_account(definition("plain", datasets=("staff",)))
    with pytest.raises(InvalidParameter, match="no blocks"):
        plain.answer("f00", blocks=[JANUARY])
    account.verify()


def test_a_question_in_flight_is_not_waited_for_by_that_of_other_blocks(ledger: Ledger) -> None:
    account = ledger.open_account(blocked())
    held = account.claim(QUARTER, query="f00", blocks=[JANUARY])
    assert isinstance(held, Charge)
    with held:
        answered(account, "of february", FEBRUARY)  # at once
        with pytest.raises(AnswerPending):
            account.claim(QUARTER, query="f00", blocks=[JANUARY], patience=0.0)
        held.release("of january")
    found = account.claim(QUARTER, query="f00", blocks=[JANUARY])
    assert found == (1, "of january")


def test_the_same_query_of_other_blocks_at_once_is_charged_for_each(location: str) -> None:
    with Ledger(location) as ledger:
        ledger.open_account(blocked())
    told: list[tuple[str, str]] = []

    def work(month: str) -> None:
        with Ledger(location) as own:
            found = own.account("trial").claim(QUARTER, query="f00", blocks=[month])
            if isinstance(found, Charge):
                with found:
                    found.drawing()
                    found.release(f"of {month}")
                told.append((month, f"of {month}"))
            else:
                told.append((month, found.text))

    threads = [threading.Thread(target=work, args=(month,)) for month in MONTHS * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == sorted((month, f"of {month}") for month in MONTHS * 3)
    with Ledger(location) as ledger:
        assert ledger.account("trial").state().entries == 3
        ledger.verify()


# Approval.


def approved(account: Account, *months: str, **more: Any) -> str:
    made = account.submit(QUARTER, analyst="ann", query="a count", blocks=months, **more)
    account.approve(made, by="bob")
    return made


def test_what_was_approved_for_blocks_is_asked_of_these(ledger: Ledger) -> None:
    account = ledger.open_account(blocked(approval=True))
    made = approved(account, JANUARY, FEBRUARY)
    asked: dict[str, Any] = {"analyst": "ann", "query": "a count", "approval": made}
    for others in ([JANUARY], [FEBRUARY], [JANUARY, FEBRUARY, MARCH], [MARCH]):
        with pytest.raises(ApprovalNeeded, match="approved for 2024-01 to 2024-02, and this"):
            account.reserve(QUARTER, blocks=others, **asked)
        with pytest.raises(ApprovalNeeded, match="a different request"):
            account.claim(QUARTER, blocks=others, **asked)
    with pytest.raises(InvalidParameter, match="blocks"):
        account.reserve(QUARTER, **asked)
    assert account.state().entries == 0
    account.reserve(QUARTER, blocks=[FEBRUARY, JANUARY], **asked)
    with pytest.raises(ApprovalNeeded, match="is used"):
        account.reserve(QUARTER, blocks=[JANUARY, FEBRUARY], **asked)
    assert account.approvals()[0].blocks == (JANUARY, FEBRUARY)
    assert account.approvals()[0].to_dict()["blocks"] == [JANUARY, FEBRUARY]
    account.verify()


def test_without_approval_no_block_is_charged_and_none_is_submitted(ledger: Ledger) -> None:
    account = ledger.open_account(blocked(approval=0.25))
    account.reserve(QUARTER, blocks=[JANUARY, FEBRUARY])
    with pytest.raises(ApprovalNeeded):
        account.reserve(HALF, blocks=[JANUARY])
    for wrong in ((), ("2023-12",), ("2024",), "2024-01x"):
        with pytest.raises(InvalidParameter):
            account.submit(HALF, analyst="ann", query="a count", blocks=wrong)
    account.verify()


def test_a_block_that_has_not_begun_can_be_approved_and_not_asked(ledger: Ledger) -> None:
    account = ledger.open_account(blocked(approval=True))
    made = approved(account, "2199-01")
    with pytest.raises(InvalidParameter, match="not after"):
        account.reserve(QUARTER, analyst="ann", query="a count", blocks=["2199-01"], approval=made)
    assert account.approvals()[0].status == "approved"


def test_a_plan_has_one_question_for_each_of_its_blocks(ledger: Ledger) -> None:
    """The same query of other blocks is another question."""
    account = ledger.open_account(teams(approval=True))
    plan = [Proposal(releases=QUARTER, query="a count", blocks=[month]) for month in MONTHS]
    made = account.submit_plan(plan, analyst="ann")
    account.approve(made, by="bob")
    asked: dict[str, Any] = {"analyst": "ann", "query": "a count", "approval": made}
    with pytest.raises(ApprovalNeeded, match="a different request"):
        account.reserve(QUARTER, blocks=[JANUARY, FEBRUARY], **asked)
    account.reserve(QUARTER, blocks=[FEBRUARY], **asked)
    with pytest.raises(ApprovalNeeded, match="is used"):
        account.reserve(QUARTER, blocks=[FEBRUARY], **asked)
    account.reserve(QUARTER, blocks=[JANUARY], **asked).void("a test")
    (found,) = account.approvals()
    assert [each.status for each in found.questions] == ["approved", "used", "approved"]
    assert found.blocks == MONTHS
    account.verify()


@pytest.mark.parametrize(
    ("seq", "detail"),
    [
        (2, "\t2024-01\t2024-03"),
        (2, ""),
        (4, "{id}\t2024-01"),
        (4, "{id}\t2024-01\t2024-02\t2024-03"),
        (4, "{id}"),
        (4, "\t2024-01\t2024-02"),
    ],
)
def test_a_charge_to_other_blocks_than_approved_does_not_verify(
    location: str, seq: int, detail: str
) -> None:
    with Ledger(location) as ledger:
        account = ledger.open_account(blocked(approval=True))
        asked: dict[str, Any] = {"analyst": "ann", "query": "a count"}
        made = approved(account, JANUARY, FEBRUARY)
        account.reserve(QUARTER, blocks=[JANUARY, FEBRUARY], approval=made, **asked)
        account.verify()
    opened, submitted, decided, charged = events(location)
    wrong = with_([opened, submitted, decided, charged], seq, detail=detail.format(id=made))
    if seq == 2:  # decided about under the id that it has then
        known_as = wrong[1].sealed().hash[:16]
        wrong[2] = decided._replace(detail=known_as)
        wrong[3] = charged._replace(detail=f"{known_as}\t{JANUARY}\t{FEBRUARY}")
    rewritten(location, lambda _: wrong)
    with Ledger(location) as ledger, pytest.raises(LedgerCorrupted, match="event 4"):
        ledger.verify()
