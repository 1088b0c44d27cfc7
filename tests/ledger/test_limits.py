"""Filters of several meters: all of some must hold, and one of others, fixed in advance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.accounting.filters import FILTERS
from quaestor.accounting.filters.base import DeltaMeter, EpsilonMeter, Filter, Meter, basic_filter
from quaestor.accounting.releases import Gaussian, PureDP, Release
from quaestor.errors import BudgetExceeded, InvalidParameter
from quaestor.ledger import Open
from quaestor.ledger.amounts import above, below, totals_from_text, totals_to_text
from tests.ledger.places import definition

if TYPE_CHECKING:
    from quaestor.ledger import Account, Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions(Meter):
    """Counts releases, whatever they are: no theorem, only a second meter to try things with."""

    name: ClassVar[str] = "questions"
    limit: Fraction

    def cost_of_one(self, release: Release) -> Fraction | None:
        """One."""
        del release
        return Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain(Meter):
    """Adds up epsilons of those releases that state one."""

    name: ClassVar[str] = "stated"
    limit: Fraction

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The stated epsilon."""
        return Fraction(release.epsilon) if isinstance(release, PureDP) else None


EITHER = Filter(
    kind="either",
    epsilon=1.0,
    delta=1e-6,
    every=(Questions(limit=Fraction(6)),),
    some=(Plain(limit=Fraction(1, 2)), Questions(limit=Fraction(3))),
)
HALF, TINY, OTHER = PureDP(epsilon=0.5), PureDP(epsilon=2.0**-10), Gaussian(sigma=10.0)


@pytest.fixture
def account(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Account:
    """At most six questions, and of these at most three, or an epsilon of at most a half."""
    monkeypatch.setitem(FILTERS, "either", lambda **_: EITHER)
    return ledger.open_account(definition(policy=Open(filter=EITHER)))


def test_a_filter_that_no_theorem_stands_behind_opens_no_account(ledger: Ledger) -> None:
    with pytest.raises(InvalidParameter, match="filter must be one of"):
        ledger.open_account(definition(policy=Open(filter=EITHER)))
    basic = basic_filter(epsilon=1.0, delta=1e-6)
    wider = replace(basic, every=(EpsilonMeter(limit=Fraction(2)), basic.every[1]))
    with pytest.raises(InvalidParameter, match="filter must be one of"):
        ledger.open_account(definition(epsilon=1.0, delta=1e-6, policy=Open(filter=wider)))
    assert ledger.accounts() == ()


def charge(account: Account, *releases: Release) -> None:
    for release in releases:
        with account.reserve(release):
            pass


def test_one_of_the_meters_that_may_hold_is_enough(account: Account) -> None:
    charge(account, HALF, TINY, TINY)  # beyond a half, and no more than three
    with pytest.raises(BudgetExceeded) as refused:
        account.reserve(TINY)
    assert refused.value.meter in {"stated", "questions"}


def test_every_meter_that_must_hold_must_hold(account: Account) -> None:
    charge(account, *[TINY] * 6)
    assert account.price(TINY).left == 0
    with pytest.raises(BudgetExceeded) as refused:
        account.reserve(TINY)
    assert (refused.value.meter, refused.value.remaining) == ("questions", 0.0)


def test_what_one_meter_cannot_count_another_carries(account: Account) -> None:
    charge(account, TINY, OTHER)
    by_meter = {balance.meter: balance for balance in account.remaining()}
    assert (by_meter["stated"].spent, by_meter["stated"].remaining) == (None, None)
    assert account.price(TINY).left == 1
    charge(account, TINY)
    with pytest.raises(BudgetExceeded):
        account.reserve(TINY)


def test_a_void_charge_gives_back_what_a_meter_could_not_count(account: Account) -> None:
    charge(account, TINY)
    with account.reserve(OTHER) as other:
        assert account.remaining()[1].spent is None
        other.void("the engine is down")
    assert account.remaining()[1].spent == Fraction(2.0**-10)
    charge(account, *[TINY] * 5)
    with pytest.raises(BudgetExceeded):
        account.reserve(TINY)


def test_prices_say_what_every_meter_says(account: Account) -> None:
    price = account.price(OTHER)
    assert (price.fits, price.left) == (True, 3)
    assert [reading.fits for reading in price.readings] == [True, False, True]
    assert price.to_dict()["meters"][1]["requested"] is None


# Exact amounts.


@given(st.fractions())
def test_floats_are_on_the_safe_side_and_next_to_the_truth(exact: Fraction) -> None:
    assert Fraction(below(exact)) <= exact <= Fraction(above(exact))
    assert math.nextafter(below(exact), math.inf) >= above(exact)


@given(st.dictionaries(st.text(), st.none() | st.fractions(min_value=0), max_size=4))
def test_totals_go_through_text(totals: dict[str, Fraction | None]) -> None:
    text = totals_to_text(totals)
    kept = {meter: total for meter, total in totals.items() if total is None or total}
    assert totals_from_text(text) == kept
    assert totals_to_text(totals_from_text(text)) == text


def test_the_basic_meters_are_those_of_the_theory() -> None:
    """The tests of this folder add up by hand what these meters add up."""
    assert EpsilonMeter(limit=Fraction(1)).cost([HALF * 3]) == Fraction(3, 2)
    assert DeltaMeter(limit=Fraction(1)).cost([HALF]) == 0
