"""Successors: closing an account and opening another one resets nothing, and the sum is printed.

The attack: spend an account, close it, open a new one on the same people, and spend again.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import mpmath
import pytest

from quaestor.accounting.membership.facts import AtMost
from quaestor.accounting.releases import PureDP
from quaestor.errors import (
    AccountClosed,
    AccountExists,
    InvalidParameter,
    LedgerCorrupted,
    UnknownAccount,
)
from quaestor.ledger import AccountDefinition, Blocked, Ledger, accounts
from quaestor.ledger.cashier import Cashier
from quaestor.ledger.successors import Together
from tests.ledger.clocks import Clock
from tests.ledger.places import around, definition, share

if TYPE_CHECKING:
    from quaestor.ledger import Account

HALF = PureDP(epsilon=0.5)


def spent(ledger: Ledger, name: str = "old", **more: Any) -> Account:
    """An account of which something was used, closed."""
    account = ledger.open_account(definition(name, **more))
    with account.reserve(HALF) as charge:
        charge.release()
    account.close()
    return account


def optimum(boxes: list[tuple[float, float]], epsilon: float) -> Any:
    """Delta of the worst mechanisms with these parameters, by enumeration of all that they tell.

    Each tells everything with probability delta, and is randomized response otherwise.
    """
    with mpmath.workdps(60):
        kept, told = mpmath.mpf(1), mpmath.mpf(0)
        for _, delta in boxes:
            kept *= 1 - mpmath.mpf(delta)
        for truths in itertools.product((True, False), repeat=len(boxes)):
            one = other = mpmath.mpf(1)
            for (size, _), truth in zip(boxes, truths, strict=True):
                right = 1 / (1 + mpmath.exp(-mpmath.mpf(size)))
                one *= right if truth else 1 - right
                other *= 1 - right if truth else right
            told += max(mpmath.mpf(0), one - mpmath.exp(mpmath.mpf(epsilon)) * other)
        return 1 - kept * (1 - told)


def test_a_closed_account_gives_nothing_back_unless_it_is_said(ledger: Ledger) -> None:
    spent(ledger)
    with pytest.raises(AccountExists, match=r"what it spent stays spent.*succeeds.*beside") as no:
        ledger.open_account(definition("new"))
    assert no.value.fields() == {"account": "old", "dataset": "patients"}
    assert [each.name for each in ledger.accounts()] == ["old"]


def test_so_does_one_whose_closing_date_has_come(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    ledger.open_account(definition("old", closes=clock.after(3600.0)))
    with pytest.raises(AccountExists, match="use that account"):
        ledger.open_account(definition("new"))
    with pytest.raises(InvalidParameter, match="closed"):
        ledger.open_account(definition("new", succeeds="old"))
    clock.ahead = 86400.0
    with pytest.raises(AccountExists, match="what it spent stays spent"):
        ledger.open_account(definition("new"))
    assert ledger.open_account(definition("new", succeeds="old")).together() is not None


def test_a_successor_prints_the_certified_sum_of_both(ledger: Ledger) -> None:
    spent(ledger)
    account = ledger.open_account(definition("new", epsilon=0.5, succeeds="old"))
    together = account.together()
    assert together is not None
    assert together.accounts == ("new", "old")
    assert together.delta >= 2e-6
    assert together.epsilon is not None
    assert 1.5 - 1e-9 <= together.epsilon <= 1.5
    boxes = [(1.0, 1e-6), (0.5, 1e-6)]
    assert optimum(boxes, together.epsilon) <= together.delta
    assert "Together with account old" in account.words()
    assert account.standing().to_dict()["together"] == together.to_dict()
    again = ledger.account("new")
    assert again.definition.succeeds == "old"
    assert again.together() == together
    again.verify()


def test_the_sum_is_over_all_that_came_before(ledger: Ledger) -> None:
    spent(ledger, "first")
    spent(ledger, "second", succeeds="first")
    third = ledger.open_account(definition("third", succeeds="second"))
    together = third.together()
    assert together is not None
    assert together.accounts == ("third", "second", "first")
    assert together.epsilon is not None
    assert together.epsilon <= 3.0
    assert optimum([(1.0, 1e-6)] * 3, together.epsilon) <= together.delta


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-6, 1e-3])
def test_at_a_larger_delta_the_sum_is_the_optimum_and_no_less(delta: float) -> None:
    sizes = [(1.0, 1e-9), (0.5, 0.0), (0.25, 1e-10), (0.125, 0.0)]
    together = Together.of(tuple((str(k), *size) for k, size in enumerate(sizes)))
    asked = together.delta + delta
    found = together.epsilon_at(asked)
    assert optimum(sizes, found) <= asked
    assert found == 0 or optimum(sizes, found - 1e-4) > asked
    assert found <= sum(epsilon for epsilon, _ in sizes)


def test_accounts_of_pure_privacy_add_up_exactly(ledger: Ledger) -> None:
    spent(ledger, delta=0.0)
    account = ledger.open_account(definition("new", delta=0.0, succeeds="old"))
    together = account.together()
    assert together is not None
    assert (together.epsilon, together.delta) == (2.0, 0.0)


def test_only_a_closed_account_on_the_same_people_has_a_successor(ledger: Ledger) -> None:
    with pytest.raises(UnknownAccount):
        ledger.open_account(definition("new", succeeds="old"))
    ledger.open_account(definition("old"))
    with pytest.raises(InvalidParameter, match="closed"):
        ledger.open_account(definition("new", succeeds="old"))
    ledger.account("old").close()
    with pytest.raises(InvalidParameter, match="same datasets"):
        ledger.open_account(definition("new", datasets=("others",), succeeds="old"))
    with pytest.raises(InvalidParameter, match="neighbours"):
        ledger.open_account(definition("new", neighbours="replace_record", succeeds="old"))
    with pytest.raises(InvalidParameter, match="itself"):
        definition("new", succeeds="new")
    assert ledger.open_account(definition("new", succeeds="old")).name == "new"


@pytest.mark.parametrize("blocked", ["old", "new"])
def test_blocks_of_time_are_in_no_line_for_their_epsilon_is_each_block_s(
    ledger: Ledger, blocked: str
) -> None:
    """Six blocks of epsilon 1 lose 6: a sum that took them for 1 would be too small."""
    policies = {blocked: Blocked(every="month", first="2024-01", most=6)}
    old = ledger.open_account(definition("old", **_policy(policies.get("old"))))
    old.close()
    with pytest.raises(InvalidParameter, match="without blocks of time"):
        ledger.open_account(definition("new", succeeds="old", **_policy(policies.get("new"))))


def test_no_sum_is_certified_of_a_line_with_blocks_that_came_about_otherwise(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent(ledger)
    with monkeypatch.context() as planted:
        planted.setattr(accounts, "check_predecessor", lambda *_, **__: None)
        policy = _policy(Blocked(every="month", first="2024-01", most=6))
        new = ledger.open_account(definition("new", succeeds="old", **policy))
    together = new.together()
    assert together is not None
    assert together.epsilon is None


def _policy(policy: Blocked | None) -> dict[str, Any]:
    return {} if policy is None else {"policy": policy}


def test_one_account_has_one_successor_and_no_gap(ledger: Ledger) -> None:
    spent(ledger, "first")
    spent(ledger, "second", succeeds="first")
    with pytest.raises(AccountExists, match="'second'"):  # a gap: what second allows is left out
        ledger.open_account(definition("third", succeeds="first"))
    ledger.open_account(definition("third", succeeds="second"))
    with pytest.raises(AccountExists, match="'third'"):
        ledger.open_account(definition("fourth", succeeds="second"))


def test_another_account_on_the_same_people_must_still_be_meant(ledger: Ledger) -> None:
    spent(ledger, "old")
    ledger.open_account(definition("side", beside=True))
    with pytest.raises(AccountExists, match="'side'"):
        ledger.open_account(definition("new", succeeds="old"))
    ledger.open_account(definition("new", succeeds="old", beside=True))


def test_the_old_account_stays_closed(ledger: Ledger) -> None:
    old = spent(ledger)
    ledger.open_account(definition("new", succeeds="old"))
    with pytest.raises(AccountClosed):
        old.reserve(HALF)
    assert ledger.account("old").together() is None


def test_the_words_name_the_facts_and_what_is_taken_for_granted(ledger: Ledger) -> None:
    facts = AtMost(1)
    both = ("north", "south")
    spent_definition = definition("old", datasets=both, membership=facts)
    ledger.open_account(spent_definition).close()
    account = ledger.open_account(definition("new", datasets=both, succeeds="old"))
    assert "facts that any of these accounts believes" in account.words()
    assert "not chosen by what another had answered" in account.words()


def test_an_analyst_may_read_the_sum_and_it_tells_of_no_charges(ledger: Ledger) -> None:
    quotas = (share("ann", 0.25), share("bob", 1.0))
    for name in ("quiet", "busy"):
        old = ledger.open_account(definition(name, datasets=(name,), shares=quotas))
        if name == "busy":
            old.reserve(HALF, analyst="bob")
        old.close()
    words = [
        ledger.open_account(
            definition(f"after {name}", datasets=(name,), shares=quotas, succeeds=name)
        ).words()
        for name in ("quiet", "busy")
    ]
    assert words[0].replace("quiet", "busy") == words[1]


def test_definitions_without_a_predecessor_keep_their_bytes() -> None:
    assert "succeeds" not in json.loads(definition().to_json())
    made = definition(succeeds="old")
    assert AccountDefinition.from_json(made.to_json()) == made


def test_a_predecessor_that_is_gone_is_found(location: str) -> None:
    with Ledger(location) as ledger:
        spent(ledger)
        ledger.open_account(definition("new", succeeds="old"))
    with around(location) as run:
        for table in ("events", "heads", "balances", "answers", "jobs"):
            run(f"DELETE FROM ledger_{table} WHERE account = 'old'")  # noqa: S608
        run("DELETE FROM ledger_accounts WHERE name = 'old'")
    with Ledger(location) as ledger:
        with pytest.raises(LedgerCorrupted, match="'new'"):
            ledger.verify()
        with pytest.raises(LedgerCorrupted, match="'new'"):
            ledger.account("new").together()


def test_no_sum_is_certified_where_an_account_of_the_line_promised_too_much(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent(ledger)
    account = ledger.open_account(definition("new", succeeds="old"))
    overdrawn = Cashier.overdrawn
    monkeypatch.setattr(
        Cashier, "overdrawn", lambda self: "too much" if self.name == "old" else overdrawn(self)
    )
    together = account.together()
    assert together is not None
    assert together.epsilon is None
    assert "No sum of them is certified" in account.words()
