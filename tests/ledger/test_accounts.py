"""Opening accounts: definitions, policies, quotas, and several datasets."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from quaestor import compose_nonadaptive
from quaestor.accounting.membership.facts import AtMost, Exclusive
from quaestor.accounting.releases import ApproxDP, BoundedRange, Gaussian, PureDP
from quaestor.errors import (
    AccountExists,
    BudgetExceeded,
    InvalidParameter,
    NotPlanned,
    TargetOutOfReach,
    UnknownAccount,
    UnknownAnalyst,
)
from quaestor.ledger import (
    AccountDefinition,
    Dashboard,
    Ledger,
    Open,
    Planned,
    planned_epsilon,
    query_digest,
)
from tests.ledger.places import definition, remaining_epsilon, share

if TYPE_CHECKING:
    from quaestor.ledger import Account

TENTH, QUARTER = PureDP(epsilon=0.1), PureDP(epsilon=0.25)


def test_an_account_is_found_again_by_its_name(ledger: Ledger, location: str) -> None:
    made = ledger.open_account(definition("north", membership=AtMost(1), datasets=("a", "b")))
    with Ledger(location) as other:
        assert other.account("north").definition == made.definition
        assert [account.name for account in other.accounts()] == ["north"]


def test_an_unknown_account_is_answered_by_the_nearest_name(ledger: Ledger) -> None:
    ledger.open_account(definition("north"))
    with pytest.raises(UnknownAccount, match="did you mean 'north'"):
        ledger.account("nroth")
    with pytest.raises(UnknownAccount, match="quaestor account open") as error:
        ledger.account("zzz")
    assert error.value.fields() == {"name": "zzz", "near": None}


def test_a_name_is_taken_once(ledger: Ledger) -> None:
    ledger.open_account(definition("north"))
    with pytest.raises(AccountExists, match="account 'north' already exists"):
        ledger.open_account(definition("north", datasets=("others",)))


def test_a_dataset_is_covered_twice_only_if_that_is_meant(ledger: Ledger) -> None:
    first = ledger.open_account(definition("first", datasets=("a", "b")))
    with pytest.raises(AccountExists, match="the losses of both accounts would add up") as error:
        ledger.open_account(definition("second", datasets=("b", "c")))
    assert error.value.fields() == {"account": "first", "dataset": "b"}
    first.close()  # what was lost stays lost
    with pytest.raises(AccountExists):
        ledger.open_account(definition("second", datasets=("b", "c")))
    ledger.open_account(definition("second", datasets=("b", "c"), beside=True))
    assert [account.name for account in ledger.accounts()] == ["first", "second"]


@pytest.mark.parametrize(
    "made",
    [
        definition(),
        definition(policy=Open(expected=(TENTH * 3, Gaussian(sigma=3.0)))),
        definition(policy=Planned(releases={"patients": (TENTH * 3, QUARTER, TENTH)})),
        definition(policy=Dashboard(queries={"f00": ("patients", (TENTH, QUARTER))})),
        definition(shares=(share("ann", 0.5), share("*", 0.25)), neighbours="replace", beside=True),
        definition(datasets=("a", "b"), membership=Exclusive("a", "b")),
    ],
)
def test_a_definition_goes_through_json(made: AccountDefinition) -> None:
    text = made.to_json()
    assert AccountDefinition.from_json(text) == made
    assert AccountDefinition.from_json(text).to_json() == text
    assert json.loads(text)["name"] == "trial"


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "two\nlines"}),
        ("epsilon", {"epsilon": -1.0}),
        ("delta", {"delta": 2.0}),
        ("dataset", {"datasets": ()}),
        ("datasets", {"datasets": ("a", "a")}),
        ("neighbours", {"neighbours": "friends"}),
        ("membership", {"membership": 3}),
        ("database", {"membership": AtMost(1, of=["other"])}),
        ("policy", {"policy": "open"}),
        ("policy", {"policy": Planned(releases={"other": (TENTH,)})}),
        ("shares", {"shares": (share("ann", 1.0), share("ann", 2.0))}),
        ("shares", {"shares": ("ann",)}),
        ("filter", {"epsilon": 0.5, "policy": definition().policy}),
    ],
)
def test_a_bad_definition_names_what_is_wrong(field: str, changes: dict[str, Any]) -> None:
    given: dict[str, Any] = {"name": "trial", "epsilon": 1.0, "delta": 1e-6, "datasets": ("data",)}
    with pytest.raises(InvalidParameter, match=field):
        AccountDefinition(**{**given, **changes})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": 3}', "null", "[" * 5000])
def test_text_that_is_no_definition_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        AccountDefinition.from_json(text)


# Quotas.


@pytest.fixture
def shared(ledger: Ledger) -> Account:
    """One epsilon for all, half of it for ann, a quarter for each other analyst."""
    shares = (share("ann", 0.5), share("*", 0.25))
    return ledger.open_account(definition("shared", shares=shares))


def test_an_analyst_charges_no_more_than_a_quota(shared: Account) -> None:
    with shared.reserve(PureDP(epsilon=0.5), analyst="ann"):
        pass
    with pytest.raises(BudgetExceeded) as refused:
        shared.reserve(PureDP(epsilon=0.125), analyst="ann")
    assert refused.value.meter == "epsilon of ann's quota"
    assert (refused.value.remaining, refused.value.requested) == (0.0, 0.125)
    with pytest.raises(BudgetExceeded, match="bob's quota"):
        shared.reserve(PureDP(epsilon=0.375), analyst="bob")


def test_analysts_who_collude_have_no_more_than_the_account(shared: Account) -> None:
    for analyst in ("ann", "bob", "cyd", "dan"):
        with shared.reserve(QUARTER, analyst=analyst):
            pass
    for analyst in ("eve", "ann"):  # whose quotas are not used up
        with pytest.raises(BudgetExceeded) as refused:
            shared.reserve(QUARTER, analyst=analyst)
        assert refused.value.meter == "total"
    by_name = {(b.analyst, b.meter): b.remaining for b in shared.remaining(analyst="ann")}
    assert by_name["ann", "epsilon"] == Fraction(1, 4)
    assert {analyst for analyst, _ in by_name} == {"ann"}
    assert remaining_epsilon(shared) == 0
    shared.verify()


def test_an_analyst_without_a_quota_is_refused(ledger: Ledger) -> None:
    account = ledger.open_account(definition(shares=(share("ann", 0.5),)))
    with pytest.raises(UnknownAnalyst, match="did you mean 'ann'"):
        account.reserve(TENTH, analyst="anna")
    with pytest.raises(InvalidParameter, match="analyst"):
        account.reserve(TENTH)
    with pytest.raises(UnknownAnalyst):
        account.price(TENTH, analyst="zoe")
    assert list(account.entries()) == []


def test_answers_that_others_paid_for_are_not_for_those_with_a_quota(shared: Account) -> None:
    with shared.reserve(TENTH, analyst="ann", query="f00") as charge:
        charge.release("42")
    assert shared.answer("f00", analyst="ann") == (1, "42")
    assert shared.answer("f00", analyst="bob") is None
    with pytest.raises(InvalidParameter, match="analyst"):
        shared.answer("f00")


# Plans.


def test_a_plan_is_checked_by_optimal_composition_when_it_opens(ledger: Ledger) -> None:
    """Thirty times (0.1, 0): 3 by the sum; the optimum at 1e-6 is below 2.5 [Thm 3.3]."""
    plan = Planned(releases={"patients": (TENTH * 30,)})
    with pytest.raises(TargetOutOfReach, match="remove releases"):
        ledger.open_account(definition(epsilon=2.0, policy=plan))
    made = definition(epsilon=2.5, policy=plan)
    assert 2.0 < (planned_epsilon(made) or 0) < 2.5
    ledger.open_account(made)
    assert planned_epsilon(definition()) is None


def test_slots_are_taken_in_any_order_each_as_often_as_declared(ledger: Ledger) -> None:
    box = ApproxDP(epsilon=0.1, delta=1e-9)
    plan = Planned(releases={"patients": (TENTH * 2, box, QUARTER, TENTH)})
    account = ledger.open_account(definition(policy=plan))
    for releases in (QUARTER, [TENTH, box], TENTH * 2):
        with account.reserve(releases):
            pass
    with pytest.raises(BudgetExceeded, match="slots of PureDP") as refused:
        account.reserve(TENTH)
    assert (refused.value.remaining, refused.value.requested) == (0.0, 1.0)
    assert all(balance.remaining == 0 for balance in account.remaining())
    account.verify()


def test_a_void_slot_can_be_taken_again(ledger: Ledger) -> None:
    account = ledger.open_account(definition(policy=Planned(releases={"patients": (TENTH,)})))
    with account.reserve(TENTH) as charge:
        charge.void("the engine is down")
    with account.reserve(TENTH):
        pass
    with pytest.raises(BudgetExceeded):
        account.reserve(TENTH)


def test_what_is_not_planned_cannot_be_charged_however_little_it_is(ledger: Ledger) -> None:
    plan = Planned(releases={"north": (QUARTER,)})
    account = ledger.open_account(definition(policy=plan, datasets=("north", "south")))
    with pytest.raises(NotPlanned, match="declares slots of PureDP"):
        account.reserve(PureDP(epsilon=0.001), dataset="north")
    with pytest.raises(NotPlanned):
        account.reserve(QUARTER, dataset="south")
    with pytest.raises(NotPlanned):
        account.price(PureDP(epsilon=0.001), dataset="north")
    assert list(account.entries()) == []


def test_a_quota_of_a_plan_is_a_filter_of_its_own(ledger: Ledger) -> None:
    """Which slots an analyst takes is chosen as one goes: no optimal theorem is about it."""
    plan = Planned(releases={"patients": (TENTH * 8,)})
    account = ledger.open_account(definition(policy=plan, shares=(share("ann", 0.25),)))
    for _ in range(2):
        with account.reserve(TENTH, analyst="ann"):
            pass
    with pytest.raises(BudgetExceeded, match="ann's quota"):
        account.reserve(TENTH, analyst="ann")
    account.verify()


def test_a_dashboard_is_checked_by_non_adaptive_composition(ledger: Ledger) -> None:
    """Bounded range gains by it; epsilon halfway between both answers."""
    chosen = BoundedRange(epsilon=0.1)
    fixed = compose_nonadaptive(chosen * 10).epsilon(delta=1e-6)
    queries = {f"SELECT {i}": ("patients", (chosen,)) for i in range(10)}
    ledger.open_account(definition(epsilon=fixed, policy=Dashboard.of(queries)))
    plan = Planned(releases={"patients": (chosen * 10,)})
    with pytest.raises(TargetOutOfReach):
        ledger.open_account(definition("plan", epsilon=fixed, policy=plan, beside=True))


def test_a_dashboard_answers_each_of_its_queries_once(ledger: Ledger) -> None:
    queries = {"count": ("patients", (TENTH, TENTH)), "sum": ("patients", (QUARTER,))}
    account = ledger.open_account(definition(policy=Dashboard.of(queries)))
    with account.reserve([TENTH, TENTH], query_text="count") as charge:
        charge.release("42")
    with pytest.raises(BudgetExceeded, match=f"query {query_digest('count')}"):
        account.reserve(TENTH * 2, query_text="count")
    for releases, query in ((QUARTER, "mean"), (QUARTER, "sum "), (TENTH, "sum")):
        with pytest.raises(NotPlanned):
            account.reserve(releases, query_text=query)
    with account.reserve(QUARTER, query_text="sum"):
        pass
    assert account.answer(query_digest("count")) == (1, "42")
    account.verify()


# Several datasets.


def test_without_facts_datasets_add_up(ledger: Ledger) -> None:
    account = ledger.open_account(definition(datasets=("north", "south")))
    with account.reserve(PureDP(epsilon=0.75), dataset="north"):
        pass
    assert remaining_epsilon(account, dataset="south") == Fraction(1, 4)
    with pytest.raises(BudgetExceeded):
        account.reserve(PureDP(epsilon=0.5), dataset="south")
    with pytest.raises(InvalidParameter, match="dataset"):
        account.reserve(TENTH)


def test_facts_let_a_charge_cost_only_where_it_can_matter(ledger: Ledger) -> None:
    """Nobody is in both: each dataset has the whole epsilon, and the third counts with either."""
    account = ledger.open_account(
        definition(datasets=("north", "south", "all"), membership=Exclusive("north", "south"))
    )
    with account.reserve(PureDP(epsilon=0.75), dataset="north"):
        pass
    assert remaining_epsilon(account, dataset="south") == 1
    with account.reserve(PureDP(epsilon=0.5), dataset="south"):
        pass
    assert remaining_epsilon(account, dataset="all") == Fraction(1, 4)
    with pytest.raises(BudgetExceeded) as refused:
        account.reserve(PureDP(epsilon=0.5), dataset="all")
    assert (refused.value.remaining, refused.value.difference) == (0.25, 0.25)
    with account.reserve(PureDP(epsilon=0.25), dataset="all"):
        pass
    assert remaining_epsilon(account, dataset="north") == 0
    assert remaining_epsilon(account, dataset="south") == Fraction(1, 4)
    account.verify()


def test_replaced_memberships_count_both_sides(ledger: Ledger) -> None:
    account = ledger.open_account(
        definition(
            datasets=("north", "south"),
            membership=Exclusive("north", "south"),
            neighbours="replace",
        )
    )
    with account.reserve(PureDP(epsilon=0.75), dataset="north"):
        pass
    assert remaining_epsilon(account, dataset="south") == Fraction(1, 4)


def test_facts_make_a_plan_cheaper_too(ledger: Ledger) -> None:
    plan = Planned(releases={"north": (TENTH * 8,), "south": (TENTH * 8,)})
    datasets = ("north", "south")
    with pytest.raises(TargetOutOfReach):
        ledger.open_account(definition(delta=0.0, policy=plan, datasets=datasets))
    ledger.open_account(
        definition(delta=0.0, policy=plan, datasets=datasets, membership=Exclusive(*datasets))
    )


# The odometer.


def test_an_odometer_counts_what_was_charged_and_not_what_was_void(ledger: Ledger) -> None:
    plan = Planned(releases={"patients": (TENTH * 3, QUARTER)})
    account = ledger.open_account(definition(policy=plan))
    assert account.odometer(delta=1e-6).epsilon == 0.0
    with account.reserve(QUARTER) as charge:
        charge.void("the engine is down")
    with account.reserve(TENTH):
        pass
    reading = account.odometer(delta=1e-6)
    assert 0.1 <= reading.epsilon <= 0.1 + 1e-12
    assert reading.delta <= 1e-6


def test_an_odometer_knows_the_facts(ledger: Ledger) -> None:
    account = ledger.open_account(
        definition(datasets=("north", "south"), membership=Exclusive("north", "south"))
    )
    for dataset in ("north", "south"):
        with account.reserve(QUARTER, dataset=dataset):
            pass
    assert account.odometer(delta=0.0).epsilon == 0.25
