"""Blocks of time: each pays for what reads its rows, and no total is ever set back."""

from __future__ import annotations

import datetime as dt
import random
import threading
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import mpmath
import pytest

from quaestor.accounting.filters.base import basic_filter
from quaestor.accounting.membership.facts import AtMost
from quaestor.accounting.membership.time_blocks import (
    EVERY,
    block_of,
    blocks_between,
    person_total,
    span_of,
)
from quaestor.accounting.releases import ApproxDP, PureDP
from quaestor.errors import (
    AccountExists,
    BudgetExceeded,
    InvalidParameter,
    KeyReused,
    LedgerCorrupted,
)
from quaestor.ledger import AccountDefinition, Ledger
from quaestor.ledger.policies.blocks import Blocked
from quaestor.ledger.theory import PRICING
from tests.ledger.places import around, definition, share

if TYPE_CHECKING:
    from quaestor.ledger import Account
    from quaestor.ledger.price import Balance

HALF, QUARTER = PureDP(epsilon=0.5), PureDP(epsilon=0.25)
JANUARY, FEBRUARY, MARCH = "2024-01", "2024-02", "2024-03"


def blocked(**changes: Any) -> AccountDefinition:
    adding = basic_filter(epsilon=1.0, delta=1e-6)
    given = {"every": "month", "first": JANUARY, "most": 3, "enforced": True, **changes}
    shares = given.pop("shares", ())
    return definition(policy=Blocked(filter=adding, **given), shares=shares)


def left(account: Account, block: str) -> Fraction | None:
    found: dict[str, Balance] = {b.meter: b for b in account.remaining(blocks=[block])}
    return found["epsilon"].remaining


def test_blocks_follow_each_other_without_a_gap() -> None:
    for every in EVERY:
        listed = blocks_between(
            block_of(dt.date(1999, 1, 1), every), block_of(dt.date(2031, 7, 9), every), every
        )
        spans = [span_of(label, every) for label in listed]
        assert all(mine[1] == theirs[0] for mine, theirs in pairwise(spans))
        assert spans[0][0] == dt.date(1999, 1, 1)
        assert list(listed) == sorted(listed)
        for label, (first, after) in zip(listed, spans, strict=True):
            assert block_of(first, every) == block_of(after - dt.timedelta(days=1), every) == label


@pytest.mark.parametrize("label", ["2024-13", "2024-00", "2024", "2024-1", "24-01", "2024-01 ", 1])
def test_what_is_no_month_is_no_block(label: Any) -> None:
    with pytest.raises(InvalidParameter):
        span_of(label, "month")


@pytest.mark.parametrize("most", [2, 3, 12])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-3), (0.25, 1e-12)])
def test_the_total_of_a_person_is_the_optimum_of_so_many_blocks(
    most: int, epsilon: float, delta: float
) -> None:
    """By the whole list of outcomes, at 60 digits: some block tells all, or k of them say yes."""
    total = person_total(epsilon=epsilon, delta=delta, most=most)

    def hidden(at: mpmath.mpf) -> mpmath.mpf:
        small, tell = mpmath.mpf(epsilon), mpmath.mpf(delta)
        yes = mpmath.exp(small) / (1 + mpmath.exp(small))
        found = mpmath.mpf(0)
        for k in range(most + 1):
            ways = mpmath.binomial(most, k)
            here = ways * yes**k * (1 - yes) ** (most - k)
            there = ways * (1 - yes) ** k * yes ** (most - k)
            found += max(mpmath.mpf(0), here - mpmath.exp(at) * there)
        kept = (1 - tell) ** most
        return 1 - kept + kept * found

    with mpmath.workdps(60):
        assert hidden(mpmath.mpf(total.epsilon)) <= mpmath.mpf(total.delta)
        less = mpmath.mpf(total.epsilon) * (1 - mpmath.mpf("1e-6"))
        assert hidden(less) > mpmath.mpf(total.delta)
    assert total.epsilon <= most * epsilon


def test_a_charge_leaves_other_blocks_untouched(ledger: Ledger) -> None:
    account = ledger.open_account(blocked())
    account.reserve(HALF, blocks=[JANUARY])
    account.reserve(HALF, blocks=[JANUARY])
    assert left(account, JANUARY) == 0
    assert left(account, FEBRUARY) == 1
    with pytest.raises(BudgetExceeded):
        account.reserve(QUARTER, blocks=[JANUARY])
    account.reserve(HALF, blocks=[FEBRUARY])
    assert left(account, FEBRUARY) == Fraction(1, 2)
    account.verify()


def test_a_charge_to_several_blocks_is_paid_by_each_or_by_none(ledger: Ledger) -> None:
    account = ledger.open_account(blocked())
    account.reserve([HALF, QUARTER], blocks=[JANUARY])
    said = "too little left: 2024-01; the others have left: 2024-02"
    with pytest.raises(BudgetExceeded, match=said):
        account.reserve(HALF, blocks=[FEBRUARY, JANUARY])
    assert left(account, FEBRUARY) == 1
    account.reserve(QUARTER, blocks=[FEBRUARY, JANUARY])
    assert left(account, JANUARY) == 0
    assert left(account, FEBRUARY) == Fraction(3, 4)


def test_charges_are_those_of_an_exact_count_by_block(ledger: Ledger) -> None:
    """Every decision, of charges to any blocks and of what is given back, as fractions have it."""
    account, draw = ledger.open_account(blocked()), random.Random(7)  # a test's
    blocks = [JANUARY, FEBRUARY, MARCH]
    used = dict.fromkeys(blocks, Fraction(0))
    for _ in range(60):
        size = draw.choice([1, 2, 3, 5]) / 16
        chosen = draw.sample(blocks, draw.randint(1, 3))
        fits = all(used[block] + Fraction(size) <= 1 for block in chosen)
        release = PureDP(epsilon=size)
        assert account.price(release, blocks=chosen).fits is fits
        if not fits:
            with pytest.raises(BudgetExceeded):
                account.reserve(release, blocks=chosen)
            continue
        charge = account.reserve(release, blocks=chosen)
        if draw.random() < 0.4:
            charge.void("a test")
        else:
            for block in chosen:
                used[block] += Fraction(size)
        assert {block: 1 - (left(account, block) or 0) for block in blocks} == used
    account.verify()
    assert account.history(block=JANUARY).points[-1].spent[0] == used[JANUARY]


def test_nothing_is_set_back_by_time_closing_or_repricing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = ledger.open_account(blocked())
    account.reserve(HALF, blocks=[JANUARY])
    later = [*account.blocks()]
    account.reserve(QUARTER, blocks=[later[-1]])
    monkeypatch.setattr("quaestor.ledger.cashier.PRICING", PRICING + 1)
    monkeypatch.setattr("quaestor.ledger.journal.appender.PRICING", PRICING + 1)
    ledger.account("trial").price_again()
    assert left(account, JANUARY) == Fraction(1, 2)
    assert left(account, later[-1]) == Fraction(3, 4)


def test_a_block_that_has_not_begun_has_no_budget(ledger: Ledger) -> None:
    account = ledger.open_account(blocked())
    now = account.blocks()[-1]
    _, after = span_of(now, "month")
    account.reserve(QUARTER, blocks=[now])
    with pytest.raises(InvalidParameter, match="not after"):
        account.reserve(QUARTER, blocks=[block_of(after, "month")])
    with pytest.raises(InvalidParameter, match="not before"):
        account.reserve(QUARTER, blocks=["2023-12"])


@pytest.mark.parametrize("wrong", [(), ("2024-Q1",), ("2024-01", "2024-01"), "", (None,)])
def test_every_charge_names_its_blocks(ledger: Ledger, wrong: Any) -> None:
    account = ledger.open_account(blocked())
    with pytest.raises(InvalidParameter):
        account.reserve(QUARTER, blocks=wrong)
    with pytest.raises(InvalidParameter):
        account.import_history({"patients": [QUARTER]}, purpose="a past without blocks")


def test_an_account_without_blocks_takes_none(ledger: Ledger) -> None:
    account = ledger.open_account(definition())
    with pytest.raises(InvalidParameter, match="no blocks"):
        account.reserve(QUARTER, blocks=[JANUARY])


def test_quotas_hold_in_each_block(ledger: Ledger) -> None:
    account = ledger.open_account(blocked(shares=(share("ann", 0.5), share("bob", 1.0))))
    account.reserve(HALF, analyst="ann", blocks=[JANUARY])
    with pytest.raises(BudgetExceeded, match="ann's quota"):
        account.reserve(QUARTER, analyst="ann", blocks=[JANUARY, FEBRUARY])
    account.reserve(HALF, analyst="ann", blocks=[FEBRUARY])
    account.reserve(HALF, analyst="bob", blocks=[JANUARY])
    with pytest.raises(BudgetExceeded) as refused:  # the total is short: nothing is said of it
        account.reserve(QUARTER, analyst="bob", blocks=[JANUARY])
    assert (refused.value.remaining, JANUARY in str(refused.value)) == (None, False)
    account.verify()


def test_a_key_is_of_a_charge_to_the_same_blocks(ledger: Ledger) -> None:
    account = ledger.open_account(blocked())
    account.reserve(QUARTER, blocks=[JANUARY], key="once")
    account.reserve(QUARTER, blocks=[JANUARY], key="once")
    assert left(account, JANUARY) == Fraction(3, 4)
    with pytest.raises(KeyReused):
        account.reserve(QUARTER, blocks=[FEBRUARY], key="once")


def test_the_same_question_about_other_blocks_is_another_charge(ledger: Ledger) -> None:
    account = ledger.open_account(blocked())
    with account.claim(QUARTER, query_text="one", blocks=[JANUARY]):  # type: ignore[union-attr]
        pass
    account.claim(QUARTER, query_text="one", blocks=[JANUARY, FEBRUARY])
    assert (left(account, JANUARY), left(account, FEBRUARY)) == (Fraction(1, 2), Fraction(3, 4))


def test_blocks_are_part_of_the_chain(ledger: Ledger, location: str) -> None:
    account = ledger.open_account(blocked())
    account.reserve(HALF, blocks=[JANUARY, MARCH])
    (entry,) = account.entries()
    assert entry.blocks == (JANUARY, MARCH)
    assert entry.to_dict()["blocks"] == [JANUARY, MARCH]
    with around(location) as run:
        run("UPDATE ledger_events SET detail = ? WHERE kind = 'reserved'", f"\t{JANUARY}")
    with pytest.raises(LedgerCorrupted, match="its content does not match its hash"):
        account.verify()


def test_totals_that_moved_to_another_block_are_seen(ledger: Ledger, location: str) -> None:
    account = ledger.open_account(blocked())
    account.reserve(HALF, blocks=[JANUARY])
    with around(location) as run:
        run("UPDATE ledger_balances SET dataset = ?", f"patients\t{MARCH}")
    with pytest.raises(LedgerCorrupted, match="not match the sum of its entries"):
        account.verify()


def test_the_definition_is_read_back(ledger: Ledger) -> None:
    made = blocked(every="quarter", first="2023-Q4", most=None, enforced=False)
    ledger.open_account(made)
    assert ledger.account("trial").definition == made
    assert AccountDefinition.from_json(made.to_json()).policy == made.policy


def test_accounts_whose_promise_blocks_would_not_carry_are_refused() -> None:
    for changes in (
        {"datasets": ("patients", "visits")},
        {"neighbours": "replace_record"},
        {"membership": AtMost(1)},
    ):
        with pytest.raises(InvalidParameter):
            definition(policy=Blocked(every="month", first=JANUARY), **changes)
    for wrong in ({"most": 0}, {"most": None}, {"every": "week"}, {"first": "2024"}):
        with pytest.raises(InvalidParameter):
            blocked(**wrong)


def test_the_promise_says_what_a_block_and_what_a_person_loses(ledger: Ledger) -> None:
    enforced = ledger.open_account(blocked()).words()
    total = person_total(epsilon=1.0, delta=1e-6, most=3)
    assert "every month has a budget of its own" in enforced
    assert f"({total.epsilon!r}, {total.delta!r})-differentially private" in enforced
    assert "of each person only rows of the earliest 3 months count" in enforced
    believed = blocked(enforced=False)
    assert "It is assumed, not checked" in " ".join(believed.policy.about(believed) or ())
    nothing = blocked(most=None, enforced=False)
    assert "Nothing is claimed" in " ".join(nothing.policy.about(nothing) or ())


def test_the_standing_has_every_block_and_the_newest_last(ledger: Ledger) -> None:
    account = ledger.open_account(blocked())
    account.reserve(ApproxDP(epsilon=0.5, delta=1e-7), blocks=[FEBRUARY])
    shown = account.standing()
    assert tuple(each.block for each in shown.holders) == account.blocks()
    assert {each.block: each.used for each in shown.holders if each.used} == {
        FEBRUARY: Fraction(1, 2)
    }
    assert account.least_left().block == FEBRUARY
    assert account.standing_on("patients", blocks=[MARCH]).used == 0


def _closed(ledger: Ledger, **changes: Any) -> Account:
    """An account with a past, which is over."""
    before = ledger.open_account(definition("before", epsilon=0.5, delta=1e-7, **changes))
    before.reserve(PureDP(epsilon=0.125), dataset="patients").release()
    before.close()
    return before


def test_a_past_is_charged_to_every_block_there_is(ledger: Ledger) -> None:
    """All of the guarantee, and not what was used of it; blocks that open later are untouched."""
    _closed(ledger)
    account = ledger.open_account(blocked(predecessor="before"))
    assert {left(account, block) for block in account.blocks()} == {Fraction(1, 2)}
    _, after = span_of(account.blocks()[-1], "month")
    assert left(account, block_of(after, "month")) == 1
    (entry,) = account.entries()
    assert (entry.imported, entry.blocks) == (True, account.blocks())
    assert entry.releases == (ApproxDP(epsilon=0.5, delta=1e-7),)
    account.verify()
    account.reserve(HALF, blocks=[JANUARY])
    with pytest.raises(BudgetExceeded):
        account.reserve(QUARTER, blocks=[JANUARY])
    assert "its whole past, was charged to every month" in account.words()
    assert "has lost that guarantee besides" in account.words()
    assert ledger.account("trial").definition == account.definition
    ledger.verify()


def test_a_past_that_blocks_cannot_pay_opens_nothing(ledger: Ledger) -> None:
    before = ledger.open_account(definition("before", epsilon=2.0, delta=1e-7))
    before.close()
    with pytest.raises(BudgetExceeded):
        ledger.open_account(blocked(predecessor="before"))
    assert [each.name for each in ledger.accounts()] == ["before"]
    ledger.verify()


def test_a_past_that_is_not_over_is_refused(ledger: Ledger) -> None:
    before = ledger.open_account(definition("before", epsilon=0.5, delta=1e-7))
    with pytest.raises(InvalidParameter, match="close it first"):
        ledger.open_account(blocked(predecessor="before"))
    before.close()
    with pytest.raises(InvalidParameter, match="quota"):
        ledger.open_account(blocked(predecessor="before", shares=(share("ann", 0.5),)))
    ledger.open_account(blocked(predecessor="before"))


@pytest.mark.parametrize(
    "changes", [{"neighbours": "replace"}, {"membership": AtMost(1), "datasets": ("patients", "b")}]
)
def test_a_past_of_whom_facts_are_believed_is_refused(
    ledger: Ledger, changes: dict[str, Any]
) -> None:
    _closed(ledger, **changes)
    with pytest.raises(InvalidParameter, match="predecessor"):
        ledger.open_account(blocked(predecessor="before"))


def test_blocks_do_not_follow_blocks_and_nothing_follows_twice_for_free(ledger: Ledger) -> None:
    _closed(ledger)
    ledger.open_account(blocked(predecessor="before")).close()
    other = blocked(predecessor="before")
    with pytest.raises(AccountExists):
        ledger.open_account(replace(other, name="again"))
    with pytest.raises(InvalidParameter, match="without blocks"):
        ledger.open_account(replace(blocked(predecessor="trial"), name="again"))


def test_blocks_are_filled_to_the_brim_by_many_at_once(ledger: Ledger) -> None:
    """Charges to one block, to another and to both, mixed in the same transactions."""
    account, made = ledger.open_account(blocked()), []
    kinds = [(JANUARY,), (FEBRUARY,), (JANUARY, FEBRUARY), (MARCH,)]

    def charge(first: int) -> None:
        for count in range(12):
            blocks = kinds[(first + count) % 4]
            with suppress(BudgetExceeded):
                account.reserve(PureDP(epsilon=1 / 16), blocks=blocks)
                made.append(blocks)

    threads = [threading.Thread(target=charge, args=(first,)) for first in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for block in (JANUARY, FEBRUARY, MARCH):
        assert sum(block in blocks for blocks in made) == 16
        assert left(account, block) == 0
    account.verify()
