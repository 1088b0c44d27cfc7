"""Quotas of groups: beside each member's own and the total, and nobody outside sees of them."""

from __future__ import annotations

import json
import threading
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.accounting.filters.base import basic_filter
from quaestor.accounting.releases import PureDP
from quaestor.errors import BudgetExceeded, InvalidParameter, LedgerCorrupted
from quaestor.ledger import AccountDefinition, GroupQuota, Ledger
from tests.ledger.places import around, definition, share

if TYPE_CHECKING:
    from quaestor.ledger import Account
    from quaestor.ledger.price import Balance

QUARTER = PureDP(epsilon=0.25)


def group(name: str, members: tuple[str, ...], epsilon: float) -> GroupQuota:
    """A group in which epsilons add up."""
    adding = basic_filter(epsilon=epsilon, delta=1e-6)
    return GroupQuota(group=name, members=members, epsilon=epsilon, delta=1e-6, filter=adding)


def teams(ledger: Ledger, name: str = "trial", **changes: Any) -> Account:
    """Two for all, one for each analyst, one for ann and bob together."""
    quotas = tuple(share(analyst, 1.0) for analyst in ("ann", "bob", "cid"))
    given = {"epsilon": 2.0, "shares": quotas, "groups": (group("team", ("ann", "bob"), 1.0),)}
    return ledger.open_account(definition(name, **given | changes))


def left(account: Account, analyst: str) -> dict[str | None, Fraction | None]:
    """What is left of epsilon, by whose quota it is."""
    found: tuple[Balance, ...] = account.remaining(analyst=analyst)
    return {each.analyst: each.remaining for each in found if each.meter == "epsilon"}


def charge(account: Account, analyst: str, release: PureDP = QUARTER) -> None:
    """Charge and release."""
    with account.reserve(release, analyst=analyst) as made:
        made.release()


def test_members_share_what_their_group_has(ledger: Ledger) -> None:
    account = teams(ledger)
    for analyst in ("ann", "bob", "ann", "bob"):
        charge(account, analyst)
    for analyst in ("ann", "bob"):
        with pytest.raises(BudgetExceeded, match="group team's quota") as refused:
            account.reserve(QUARTER, analyst=analyst)
        assert (refused.value.requested, refused.value.remaining) == (0.25, 0.0)
        assert not account.price(QUARTER, analyst=analyst).fits
    charge(account, "cid")
    account.verify()
    assert left(account, "ann") == {"ann": Fraction(1, 2), "group team": Fraction(0)}
    assert left(account, "cid") == {"cid": Fraction(3, 4)}


def test_the_own_quota_and_the_total_hold_as_before(ledger: Ledger) -> None:
    quotas = (share("ann", 0.25), share("bob", 1.0), share("cid", 2.0))
    account = teams(ledger, shares=quotas)
    charge(account, "ann")
    with pytest.raises(BudgetExceeded, match="ann's quota"):
        account.reserve(QUARTER, analyst="ann")
    charge(account, "cid", PureDP(epsilon=1.5))
    charge(account, "bob")
    with pytest.raises(BudgetExceeded) as refused:  # within quota and group, not within the total
        account.reserve(QUARTER, analyst="bob")
    assert refused.value.meter == "total"
    assert refused.value.requested is None
    account.verify()


def test_what_would_fit_fits_the_group_too(ledger: Ledger) -> None:
    account = teams(ledger)
    charge(account, "bob", PureDP(epsilon=0.75))
    price = account.price(PureDP(epsilon=0.5), analyst="ann")
    assert (price.fits, price.would_fit) == (False, "PureDP(epsilon=0.25)")
    assert account.price(QUARTER, analyst="ann").left == 1
    charge(account, "ann", PureDP(epsilon=0.25))


def test_nobody_outside_a_group_sees_what_its_members_do(ledger: Ledger) -> None:
    def seen(account: Account) -> list[Any]:
        told: list[Any] = [account.words(), account.remaining(analyst="cid")]
        told += [account.price(PureDP(epsilon=e), analyst="cid").to_dict() for e in (0.25, 3.0)]
        told.append(account.standing_on("patients", analyst="cid").to_dict())
        told.append(account.history(analyst="cid"))
        with pytest.raises(BudgetExceeded) as refused:
            account.reserve(PureDP(epsilon=3.0), analyst="cid")
        return [*told, str(refused.value), refused.value.fields()]

    account = teams(ledger)
    before = seen(account)
    charge(account, "ann")
    charge(account, "bob", PureDP(epsilon=0.5))
    assert seen(account) == before
    assert "team" not in str(before)


def test_a_member_of_one_group_sees_nothing_of_another(ledger: Ledger) -> None:
    groups = (group("one", ("ann", "bob"), 1.0), group("two", ("bob", "cid"), 0.5))
    account = teams(ledger, groups=groups)
    charge(account, "cid")
    assert left(account, "ann") == {"ann": Fraction(1), "group one": Fraction(1)}
    charge(account, "bob")
    assert left(account, "bob") == {
        "bob": Fraction(3, 4),
        "group one": Fraction(3, 4),
        "group two": Fraction(0),
    }
    with pytest.raises(BudgetExceeded, match="group two"):
        account.reserve(QUARTER, analyst="bob")
    charge(account, "ann")
    account.verify()


def test_what_is_given_back_is_given_back_to_the_group(ledger: Ledger) -> None:
    account = teams(ledger)
    made = account.reserve(PureDP(epsilon=1.0), analyst="ann")
    with pytest.raises(BudgetExceeded):
        account.reserve(QUARTER, analyst="bob")
    made.void("nothing was sent")
    charge(account, "bob", PureDP(epsilon=1.0))
    account.verify()


def test_members_who_charge_at_once_stay_within_their_group(location: str) -> None:
    with Ledger(location) as ledger:
        teams(ledger, epsilon=64.0, shares=(share("*", 64.0),))
    charged: list[str] = []

    def work(analyst: str) -> None:
        with Ledger(location) as own:
            account = own.account("trial")
            for _ in range(8):
                try:
                    charge(account, analyst)
                except BudgetExceeded:
                    return
                charged.append(analyst)

    threads = [threading.Thread(target=work, args=(who,)) for who in ("ann", "bob", "cid") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(who in ("ann", "bob") for who in charged) == 4
    assert sum(who == "cid" for who in charged) == 16
    with Ledger(location) as ledger:
        ledger.verify()


def test_the_owner_sees_every_group(ledger: Ledger) -> None:
    account = teams(ledger)
    charge(account, "ann")
    holders = {each.analyst: each.used for each in account.standing().holders}
    assert holders["group team"] == Fraction(1, 4)
    assert holders["bob"] == 0
    assert "group" in account.words()


def test_the_tightest_of_what_a_member_sees_is_shown(ledger: Ledger) -> None:
    account = teams(ledger, groups=(group("team", ("ann", "bob"), 0.5),))
    charge(account, "bob")
    standing = account.standing_on("patients", analyst="ann")
    assert (standing.holder, standing.used) == ("group team's quota", Fraction(1, 2))


@pytest.mark.parametrize(
    "groups",
    [
        (group("team", ("ann", "zoe"), 1.0),),  # zoe has no quota of her own
        (group("team", ("ann",), 1.0), group("team", ("bob",), 1.0)),
        ("team",),
        {"team": ("ann",)},
    ],
)
def test_groups_are_of_analysts_who_have_quotas_each_by_one_name(groups: Any) -> None:
    with pytest.raises(InvalidParameter, match="groups"):
        definition(shares=(share("ann", 1.0), share("bob", 1.0)), groups=groups)


@pytest.mark.parametrize("changed", [{"members": ()}, {"members": ("ann", "ann")}, {"group": "*"}])
def test_a_group_has_a_name_and_members(changed: dict[str, Any]) -> None:
    given = {"group": "team", "members": ("ann",), "epsilon": 1.0, "delta": 0.0, **changed}
    with pytest.raises(InvalidParameter):
        GroupQuota(**given)


def test_definitions_without_groups_keep_their_bytes_and_others_come_back() -> None:
    assert "groups" not in json.loads(definition().to_json())
    made = definition(shares=(share("*", 1.0),), groups=(group("team", ("ann",), 1.0),))
    assert AccountDefinition.from_json(made.to_json()) == made
    chosen = definition(
        shares=(share("*", 1.0),),
        groups=(GroupQuota(group="team", members=("ann",), epsilon=0.5, delta=1e-6),),
    )
    assert chosen.groups[0].filter is not None
    assert AccountDefinition.from_json(chosen.to_json()) == chosen


def test_totals_of_a_group_that_were_changed_are_found(location: str) -> None:
    with Ledger(location) as ledger:
        charge(teams(ledger), "ann")
    with around(location) as run:
        run("DELETE FROM ledger_balances WHERE analyst = ?", " team")
    with Ledger(location) as ledger, pytest.raises(LedgerCorrupted, match="totals"):
        ledger.verify()
