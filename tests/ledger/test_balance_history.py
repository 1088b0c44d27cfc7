"""The balance after every entry: exact totals, the odometer's readings, and quotas."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.membership.facts import AtMost
from quaestor.accounting.releases import ApproxDP, Gaussian, Laplace, PureDP
from quaestor.errors import UnknownAnalyst
from quaestor.ledger import AccountDefinition, Dashboard, Ledger, Planned, thinned
from quaestor.ledger.amounts import above
from quaestor.ledger.price import Request
from tests.ledger.places import definition, share
from tests.oracles.odometer import slow_odometer

if TYPE_CHECKING:
    from typing import Any

    from quaestor.ledger import Account, BalanceHistory

KINDS = (PureDP(epsilon=0.1), PureDP(epsilon=1 / 3) * 2, Laplace(scale=9.0), Gaussian(sigma=30.0))
ANY_USE: dict[str, Any] = {"epsilon": 50.0, "delta": 1e-6, "datasets": ("north", "south")}


def watched(account: Account, count: int) -> list[tuple[tuple[Any, ...], float]]:
    """Charge at random, give some of it back, and note how the account stands each time."""
    chance, noted = random.Random(count), []  # an order of charges
    charged: list[tuple[Request, int]] = []
    for _ in range(count):
        request = Request(
            releases=(chance.choice(KINDS),), dataset=chance.choice(account.definition.datasets)
        )
        with account.reserve(request.releases, dataset=request.dataset) as charge:
            charged.append((request, 1))
            noted.append(stands(account, charged))
            if chance.random() < 0.25:
                charge.void("unreachable")
                charged.pop()
                noted.append(stands(account, charged))
    return noted


def stands(account: Account, charged: list[tuple[Request, int]]) -> tuple[tuple[Any, ...], float]:
    """The totals of all datasets that the ledger keeps, rounded up, and the slow odometer."""
    totals: dict[str, Fraction | None] = {}
    for balance in account.remaining():
        before = totals.get(balance.meter, Fraction(0))
        lost = before is None or balance.spent is None
        totals[balance.meter] = None if lost else before + balance.spent  # type: ignore[operator]
    floats = tuple(None if total is None else above(total) for total in totals.values())
    return floats, slow_odometer(account.definition, charged, delta=account.definition.delta)


def test_a_history_is_what_the_ledger_and_the_odometer_said_each_time(ledger: Ledger) -> None:
    account = ledger.open_account(AccountDefinition(name="trial", **ANY_USE))
    noted = watched(account, 25)
    history = account.history()
    assert [(point.spent, point.epsilon) for point in history] == noted
    assert history.meters[:2] == ("delta", "epsilon")
    assert (history.epsilon, history.delta, history.analyst) == (50.0, 1e-6, None)
    assert {point.kind for point in history} == {"charged", "void"}
    assert [p.time for p in history] == sorted(p.time for p in history)


def test_facts_about_membership_count_in_a_history(ledger: Ledger) -> None:
    account = ledger.open_account(
        definition(epsilon=9.0, datasets=("a", "b", "c"), membership=AtMost(1))
    )
    for dataset, epsilon in (("a", 0.5), ("b", 0.75), ("a", 0.125), ("c", 2.0)):
        account.reserve(PureDP(epsilon=epsilon), dataset=dataset)
    assert [point.epsilon for point in account.history()] == [0.5, 0.75, 0.75, 2.0]
    assert [point.used for point in account.history()] == [
        above(Fraction(e) / 9) for e in (0.5, 0.75, 0.75, 2.0)
    ]


def test_a_release_without_an_epsilon_leaves_its_meter_of_no_use_until_it_is_void(
    ledger: Ledger,
) -> None:
    account = ledger.open_account(AccountDefinition(name="trial", **ANY_USE))
    account.reserve(PureDP(epsilon=0.25), dataset="north")
    with account.reserve(Gaussian(sigma=30.0), dataset="south") as charge:
        charge.void("unreachable")
    sums = [point.spent[1] for point in account.history()]
    assert sums == [0.25, None, 0.25]


def test_more_delta_than_is_kept_has_no_finite_epsilon(ledger: Ledger) -> None:
    account = ledger.open_account(definition(delta=1e-6))
    account.reserve(ApproxDP(epsilon=0.1, delta=4e-7))
    account.reserve(ApproxDP(epsilon=0.1, delta=4e-7))
    assert [point.epsilon for point in account.history()] == [0.1, float("inf")]


@pytest.mark.parametrize("kind", ["planned", "dashboard"])
def test_a_plan_is_used_slot_by_slot(ledger: Ledger, kind: str) -> None:
    release = PureDP(epsilon=0.125)
    policies: dict[str, Planned | Dashboard] = {
        "planned": Planned(releases={"patients": (release * 4,)}),
        "dashboard": Dashboard.of({f"q{i}": ("patients", (release,)) for i in range(4)}),
    }
    account = ledger.open_account(definition(policy=policies[kind]))
    for place in range(3):
        account.reserve(release, query_text=f"q{place}" if kind == "dashboard" else None)
    history = account.history()
    assert history.meters == ("slots",)
    assert [(p.spent, p.used, p.epsilon) for p in history] == [
        ((1.0,), 0.25, 0.125),
        ((2.0,), 0.5, 0.25),
        ((3.0,), 0.75, 0.375),
    ]


def test_an_analyst_sees_the_own_history_and_nothing_of_others(ledger: Ledger) -> None:
    def ann(name: str, others: int) -> BalanceHistory:
        quotas = (share("ann", 0.5), share("bob", 2.0))
        account = ledger.open_account(definition(name, epsilon=2.0, shares=quotas, beside=True))
        for _ in range(2):
            for _ in range(others):
                account.reserve(PureDP(epsilon=0.125), analyst="bob").void("unreachable")
                account.reserve(PureDP(epsilon=0.125), analyst="bob")
            account.reserve(PureDP(epsilon=0.25), analyst="ann")
        assert len(account.history()) == 2 + 6 * others
        return account.history(analyst="ann")

    alone, crowded = ann("alone", 0), ann("crowded", 3)
    assert alone.epsilon == crowded.epsilon == 0.5
    seen = [[point._replace(time="") for point in each] for each in (alone, crowded)]
    assert seen[0] == seen[1]
    assert [(p.number, p.epsilon, p.used) for p in alone] == [(1, 0.25, 0.5), (2, 0.5, 1.0)]
    with pytest.raises(UnknownAnalyst):
        ledger.account("alone").history(analyst="eve")


def test_an_account_without_entries_has_an_empty_history(ledger: Ledger) -> None:
    for name, more in (("any", ANY_USE), ("none", {**ANY_USE, "delta": 0.0})):
        account = ledger.open_account(AccountDefinition(name=name, **{**more, "beside": True}))
        assert len(account.history()) == 0
        assert account.history().to_dict()["points"] == []


def test_a_thinned_history_keeps_its_ends_and_every_peak(ledger: Ledger) -> None:
    account = ledger.open_account(definition(epsilon=90.0))
    for place in range(60):
        with account.reserve(PureDP(epsilon=8.0 if place == 30 else 0.125)) as charge:
            if place == 30:
                charge.void("unreachable")
    whole = account.history()
    for most in (2, 3, 7, 60, 61, 1000):
        few = thinned(whole, most=most)
        assert len(few) <= most
        assert (few.points[0], few.points[-1]) == (whole.points[0], whole.points[-1])
        assert set(few.points) <= set(whole.points)
        assert most == 2 or max(p.epsilon for p in few) == max(p.epsilon for p in whole)


def test_a_history_that_was_realised_is_charged_its_basic_sum_in_all_pictures(
    ledger: Ledger,
) -> None:
    account = ledger.open_account(definition(epsilon=4.0, delta=1e-6))
    account.import_history({"patients": [PureDP(epsilon=0.125) * 8]}, purpose="before us")
    account.reserve(PureDP(epsilon=0.125))
    points = account.history().points
    assert points[0].epsilon == 1.0
    assert points[-1].epsilon == account.odometer(delta=1e-6).epsilon
    spent = {one.meter: one for one in account.remaining(dataset="patients")}
    for place, meter in enumerate(account.history().meters):
        shown = points[-1].spent[place]
        assert shown is not None
        assert shown == above(spent[meter].spent or Fraction(0))
