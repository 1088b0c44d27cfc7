"""How an account stands: followed from event to event, it is what all events say together."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from quaestor import Gaussian, PureDP
from quaestor.errors import InvalidParameter
from quaestor.ledger import AccountDefinition, Open, Planned, Quota

if TYPE_CHECKING:
    from quaestor.ledger import Account, Ledger

TENTH = PureDP(epsilon=0.1)


def charge(account: Account, dataset: str, *, analyst: str = "", void: bool = False) -> None:
    with account.reserve(TENTH, dataset=dataset, analyst=analyst) as made:
        made.void("a try") if void else made.release("1")


def test_what_is_followed_is_what_is_read_anew(ledger: Ledger) -> None:
    definition = AccountDefinition(
        name="trial",
        epsilon=2.0,
        delta=1e-6,
        datasets=("b", "a"),
        policy=Open(expected=(Gaussian(sigma=50.0),)),
        shares=(Quota(analyst="*", epsilon=1.0, delta=5e-7),),
    )
    followed = ledger.open_account(definition)
    assert followed.standing() == ledger.account("trial").standing()
    steps = (
        ("a", "ann", False),
        ("b", "bob", False),
        ("a", "bob", True),
        ("b", "ann", False),
        ("a", "cid", False),
    )
    for dataset, analyst, void in steps:
        charge(followed, dataset, analyst=analyst, void=void)
        assert followed.standing() == ledger.account("trial").standing()
    left_open = followed.reserve(TENTH, dataset="a", analyst="ann")
    followed.import_history({"b": [TENTH]}, analyst="bob", purpose="before")
    standing = followed.standing()
    assert standing == ledger.account("trial").standing()
    assert standing.statuses == {"released": 5, "reserved": 1, "void": 1}
    assert [each.analyst for each in standing.holders] == [None, "ann", "bob", "cid"] * 2
    left_open.release("2")
    assert followed.standing().statuses == {"released": 6, "reserved": 0, "void": 1}
    followed.close()
    assert followed.standing().closed


def test_shares_are_of_what_is_left_and_one_person_sees_the_own_alone(ledger: Ledger) -> None:
    definition = AccountDefinition(
        name="trial",
        epsilon=1.0,
        delta=0.0,
        datasets=("a", "b"),
        shares=(Quota(analyst="ann", epsilon=0.5, delta=0.0),),
    )
    account = ledger.open_account(definition)
    with account.reserve(PureDP(epsilon=0.25), dataset="a", analyst="ann") as made:
        made.release("1")
    own, whole = account.standing_on("a", analyst="ann"), account.standing_on("a")
    assert (own.holder, own.left, own.used) == ("ann's quota", Fraction(1, 2), Fraction(1, 2))
    assert (whole.holder, whole.left, whole.meter) == ("account trial", Fraction(3, 4), "epsilon")
    assert account.least_left().left == 0.75
    with pytest.raises(InvalidParameter, match="dataset"):
        account.standing_on("c")
    with pytest.raises(InvalidParameter, match="dataset"):
        account.standing(dataset="c")


def test_of_a_plan_the_slots_are_left(ledger: Ledger) -> None:
    plan = Planned(releases={"a": (TENTH * 4,)})
    definition = AccountDefinition(
        name="plan", epsilon=1.0, delta=0.0, datasets=("a", "b"), policy=plan
    )
    account = ledger.open_account(definition)
    charge(account, "a")
    assert account.standing_on("a").left == 0.75
    assert account.standing_on("a").meter == "the plan"
    assert account.standing_on("b").meters == ()
    assert [each.dataset for each in account.standing().holders] == ["a"]
