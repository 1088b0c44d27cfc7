"""Histories from elsewhere: lists that were realised, and filters that were chosen after them."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.filters import (
    basic_filter,
    concentrated_filter,
    gaussian_filter,
    moment_filter,
    range_filter,
    weighted_filter,
    whitehouse_filter,
)
from quaestor.accounting.releases import ApproxDP, Gaussian, PureDP
from quaestor.errors import BudgetExceeded, InvalidParameter
from quaestor.ledger import Dashboard, Ledger, Open, Planned, Share
from quaestor.ledger.account_limits import AccountLimits
from quaestor.ledger.price import Request
from quaestor.ledger.theory import cost, realised_cost
from tests.ledger.places import definition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.accounting.filters import Filter
    from quaestor.accounting.releases import Release

UNIT = 0.3
SIZES = (1, 6)
ROUNDING = 1e-11
MOST = 10  # releases in all: a strategy may stop

STATED = "the protocol of 2024, section 4"


def releases(counts: Sequence[int]) -> list[Release]:
    return [PureDP(epsilon=size * UNIT) * n for size, n in zip(SIZES, counts, strict=True) if n]


def worst_after_history(  # noqa: C901  # a game in two acts
    filters: Sequence[Filter], *, at: float, priced: Callable[..., object], most_before: int
) -> float:
    """The best of all strategies that choose the filter after a history of their own.

    The history has up to ``most_before`` randomized responses of the given sizes, each chosen by
    the outcomes so far. Then one of the filters is chosen, the history is charged to it, and the
    game goes on as long as the filter allows. What does not fit has no account and counts for
    nothing. Going backwards over all outcomes: exact up to floats.
    """

    @cache
    def allowed(chosen: int, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
        filter_ = filters[chosen]
        totals = {}
        for meter in filter_.meters:
            history = priced(meter, releases(before), neighbours="add_remove")
            later = cost(meter, releases(after), neighbours="add_remove")
            totals[meter] = None if history is None or later is None else history + later  # type: ignore[operator]
        return filter_.fits(totals)

    def outcomes(loss: int, size: int) -> tuple[tuple[float, int], ...]:
        truth = 1 / (1 + math.exp(-size * UNIT))
        return (truth, loss + size), (1 - truth, loss - size)

    def more(counts: tuple[int, ...], place: int) -> tuple[int, ...]:
        return tuple(n + (i == place) for i, n in enumerate(counts))

    @cache
    def later(loss: int, chosen: int, before: tuple[int, ...], after: tuple[int, ...]) -> float:
        best = max(0.0, 1 - math.exp(at - loss * UNIT))
        if sum(before) + sum(after) < MOST:
            for place, size in enumerate(SIZES):
                longer = more(after, place)
                if allowed(chosen, before, longer):
                    value = sum(
                        p * later(to, chosen, before, longer) for p, to in outcomes(loss, size)
                    )
                    best = max(best, value)
        return best

    @cache
    def earlier(loss: int, before: tuple[int, ...]) -> float:
        nothing = (0,) * len(SIZES)
        best = max(
            (
                later(loss, chosen, before, nothing)
                for chosen in range(len(filters))
                if allowed(chosen, before, nothing)
            ),
            default=0.0,
        )
        if sum(before) < most_before:
            for place, size in enumerate(SIZES):
                value = sum(p * earlier(to, more(before, place)) for p, to in outcomes(loss, size))
                best = max(best, value)
        return best

    return earlier(0, (0,) * len(SIZES))


ORDERS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)


@pytest.mark.parametrize(("at", "delta"), [(3.0, 0.038), (2.0, 0.1), (1.5, 0.05)])
def test_a_filter_that_is_chosen_after_the_history_holds_by_the_basic_sum(
    at: float, delta: float
) -> None:
    orders = [moment_filter(epsilon=at, delta=delta, order=order) for order in ORDERS]
    some = [(2.0, 0.5), (6.0, 0.5)]
    filters = [
        *orders,
        weighted_filter(epsilon=at, delta=delta, orders=some),
        basic_filter(epsilon=at, delta=delta),
        whitehouse_filter(epsilon=at, delta=delta),
        concentrated_filter(epsilon=at, delta=delta),
        gaussian_filter(epsilon=at, delta=delta),
        range_filter(epsilon=at, delta=delta),
    ]
    reached = worst_after_history(filters, at=at, priced=realised_cost, most_before=8)
    assert reached <= delta + ROUNDING
    assert reached > delta / 10  # the game is not over at once


def test_an_order_that_is_chosen_after_the_history_gains_unless_the_sum_is_charged() -> None:
    """At each outcome the order that is the most generous there: more than any one of them."""
    at, delta = 2.0, 0.05
    orders = [moment_filter(epsilon=at, delta=delta, order=order) for order in (1, *ORDERS)]
    broken = worst_after_history(orders, at=at, priced=cost, most_before=MOST)
    held = worst_after_history(orders, at=at, priced=realised_cost, most_before=MOST)
    alone = max(worst_after_history([one], at=at, priced=cost, most_before=MOST) for one in orders)
    assert held <= delta + ROUNDING
    assert alone <= delta + ROUNDING  # an order that was fixed before is sound
    assert broken > alone


# Accounts.


@pytest.mark.parametrize("kind", ["planned", "dashboard"])
def test_a_list_that_was_realised_is_not_a_plan(ledger: Ledger, kind: str) -> None:
    third = PureDP(epsilon=0.25)
    policy = (
        Planned(releases={"patients": (third * 2,)})
        if kind == "planned"
        else Dashboard.of({"SELECT 1": ("patients", (third, third))})
    )
    account = ledger.open_account(definition(policy=policy))
    said = "import the history into an account with policy open"
    with pytest.raises(InvalidParameter, match=said):
        account.import_history({"patients": [third * 2]}, purpose="last year")
    with pytest.raises(InvalidParameter, match=said):
        account.import_history({"patients": [third * 2]}, purpose="last year", fixed_before="  ")
    assert list(account.entries()) == []


def test_a_plan_takes_a_history_on_a_statement_that_is_kept_in_the_chain(ledger: Ledger) -> None:
    quarter = PureDP(epsilon=0.25)
    account = ledger.open_account(definition(policy=Planned(releases={"patients": (quarter * 3,)})))
    account.import_history({"patients": [quarter * 2]}, purpose="last year", fixed_before=STATED)
    (entry,) = account.entries()
    assert (entry.statement, entry.imported, entry.status) == (STATED, True, "released")
    assert STATED in account.words()
    assert any(STATED in line for line in ledger.export(account="trial"))
    account.reserve(quarter)
    with pytest.raises(BudgetExceeded):
        account.reserve(quarter)
    assert account.verify().problem is None


def test_without_a_statement_epsilons_and_deltas_add_up(ledger: Ledger) -> None:
    """By the moments alone 20 such releases would fit; by their sum 4."""
    chosen = moment_filter(epsilon=1.0, delta=1e-3, order=16.0, reserved=5e-4)
    account = ledger.open_account(
        definition(delta=1e-3, policy=Open(filter=chosen), datasets=("patients",))
    )
    history = ApproxDP(epsilon=0.125, delta=1e-4)
    entries = account.import_history({"patients": [history * 4]}, purpose="last year")
    assert entries == (1,)
    spent = {balance.meter: balance.spent for balance in account.remaining()}
    assert spent["epsilon"] == 0.5
    assert spent["moment 16.0"] == 16 * 0.5
    assert spent["delta"] is not None
    assert 4e-4 <= float(spent["delta"]) <= 4e-4 * (1 + 1e-12)
    assert "imported without a statement and charged by the basic sum" in account.words()
    assert account.verify().problem is None
    with pytest.raises(BudgetExceeded):
        account.import_history({"patients": [history * 5]}, purpose="and more")
    stated = ledger.open_account(
        definition("stated", delta=1e-3, policy=Open(filter=chosen), beside=True)
    )
    stated.import_history({"patients": [history * 4]}, purpose="as before", fixed_before=STATED)
    lighter = {balance.meter: balance.spent for balance in stated.remaining()}
    assert lighter["moment 16.0"] is not None
    assert lighter["moment 16.0"] < spent["moment 16.0"]


def test_what_has_no_epsilon_needs_a_statement(ledger: Ledger) -> None:
    chosen = gaussian_filter(epsilon=1.0, delta=1e-6)
    account = ledger.open_account(definition(policy=Open(filter=chosen)))
    history = {"patients": [Gaussian(sigma=100.0) * 80]}
    with pytest.raises(BudgetExceeded):
        account.import_history(history, purpose="last year")
    account.import_history(history, purpose="last year", fixed_before=STATED)
    account.reserve(Gaussian(sigma=100.0))
    account.verify()


def test_quotas_are_charged_by_the_same_rule_and_tell_nothing_of_imports(ledger: Ledger) -> None:
    chosen = moment_filter(epsilon=1.0, delta=1e-3, order=16.0)
    quotas = tuple(
        Share(analyst=analyst, epsilon=1.0, delta=1e-3, filter=chosen) for analyst in ("ann", "bob")
    )
    account = ledger.open_account(definition(delta=1e-3, policy=Open(filter=chosen), shares=quotas))
    before = account.words()
    account.import_history({"patients": [PureDP(epsilon=0.25)]}, purpose="x", analyst="ann")
    spent = {b.meter: b.spent for b in account.remaining(analyst="ann")}
    assert spent["moment 16.0"] == 4
    assert account.words() == before
    account.verify()


@pytest.mark.parametrize("statement", ["two\nlines", "x" * 3000, 7])
def test_a_statement_is_one_line(ledger: Ledger, statement: str) -> None:
    account = ledger.open_account(definition())
    with pytest.raises(InvalidParameter, match="fixed_before"):
        account.import_history(
            {"patients": [PureDP(epsilon=0.1)]}, purpose="x", fixed_before=statement
        )


def test_a_plan_that_took_a_realised_list_takes_nothing_more_on_any_dataset() -> None:
    """As earlier versions let it happen: straight to the arithmetic, for no door lets it in now."""
    tenth = PureDP(epsilon=0.1)
    plan = Planned(releases={"a": (tenth,), "b": (tenth,)})
    book = AccountLimits(definition(datasets=("a", "b"), policy=plan))
    history = Request(releases=(tenth,), dataset="a", realised=True)
    balances = book.totals([(history, 1)])
    assert "was not planned in advance, as far as is known" in str(book.overdrawn(balances))
    for dataset in ("a", "b"):
        asked = Request(releases=(tenth,), dataset=dataset)
        assert book.after(balances, asked) is None
        assert book.after({}, asked) is not None
        assert not book.price(balances, asked).fits
