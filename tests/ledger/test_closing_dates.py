"""Closing dates: from then on nothing is charged; what is under way can be settled, and read."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import AccountClosed, BudgetExceeded, InvalidParameter, LedgerCorrupted
from quaestor.ledger import AccountDefinition, Ledger, StoredAnswer
from quaestor.ledger.journal.events import COLUMNS, Event
from tests.ledger.clocks import Clock
from tests.ledger.places import around, definition

if TYPE_CHECKING:
    from quaestor.ledger import Account

TENTH = PureDP(epsilon=0.125)
DAY = 86400.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of both stores."""
    return Clock(monkeypatch)


def limited(ledger: Ledger, clock: Clock, **more: Any) -> Account:
    """An account that closes in an hour."""
    return ledger.open_account(definition(closes=clock.after(3600.0), **more))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (dt.date(2031, 1, 2), "2031-01-02T00:00:00.000000Z"),
        ("2031-01-02", "2031-01-02T00:00:00.000000Z"),
        ("2031-01-02T03:04:05Z", "2031-01-02T03:04:05.000000Z"),
        ("2031-01-02T03:04:05+02:00", "2031-01-02T01:04:05.000000Z"),
        (dt.datetime(2031, 1, 2, tzinfo=dt.UTC), "2031-01-02T00:00:00.000000Z"),
    ],
)
def test_a_closing_date_is_kept_in_utc_and_comes_back(given: Any, kept: str) -> None:
    made = definition(closes=given)
    assert made.closes == kept
    assert AccountDefinition.from_json(made.to_json()) == made


@pytest.mark.parametrize(
    "given",
    ["soon", "", "2031-01-02T03:04:05", dt.datetime(2031, 1, 2), 2031, True, "2031-13-01"],  # noqa: DTZ001
)
def test_what_is_no_date_in_utc_is_refused(given: Any) -> None:
    with pytest.raises(InvalidParameter, match="closes"):
        definition(closes=given)


def test_definitions_without_a_date_keep_their_bytes() -> None:
    assert "closes" not in json.loads(definition().to_json())


def test_nothing_can_be_opened_that_has_closed_already(ledger: Ledger) -> None:
    with pytest.raises(InvalidParameter, match="in the future"):
        ledger.open_account(definition(closes="2020-01-01"))
    assert ledger.accounts() == ()


def test_charges_are_refused_from_the_date_on_and_nothing_is_written(
    ledger: Ledger, clock: Clock
) -> None:
    account = limited(ledger, clock)
    with account.reserve(TENTH) as charge:
        charge.release("before")
    clock.ahead = DAY
    head = account.state().head
    said = r"closed on .* ask the data owner to open one that succeeds it"
    with pytest.raises(AccountClosed, match=said):
        account.reserve(TENTH)
    with pytest.raises(AccountClosed):
        account.reserve(TENTH, key="again")
    with pytest.raises(AccountClosed):
        account.claim(TENTH, query="a count")
    with pytest.raises(AccountClosed):
        account.import_history({"patients": [TENTH]}, purpose="elsewhere")
    assert account.state().head == head
    account.verify()


def test_an_account_that_is_used_up_as_well_says_that_it_is_closed(
    ledger: Ledger, clock: Clock
) -> None:
    account = limited(ledger, clock)
    with account.reserve(PureDP(epsilon=1.0)) as charge:
        charge.release()
    with pytest.raises(BudgetExceeded):
        account.reserve(TENTH)
    clock.ahead = DAY
    with pytest.raises(AccountClosed, match="closed on"):
        account.reserve(TENTH)


def test_what_was_under_way_is_settled_and_read_after_the_date(
    ledger: Ledger, clock: Clock
) -> None:
    account = limited(ledger, clock)
    released = account.reserve(TENTH, query="one")
    undone = account.reserve(TENTH, query="two")
    keyed = account.reserve(TENTH, key="three")
    clock.ahead = DAY
    released.drawing()
    released.release("an answer")
    undone.void("nothing was sent")
    again = account.reserve(TENTH, key="three")
    assert (again.entry, again.repeated) == (keyed.entry, True)
    again.release("late")
    assert account.answer("one") == StoredAnswer(1, "an answer")
    assert account.claim(TENTH, query="one") == StoredAnswer(1, "an answer")
    assert [entry.status for entry in account.entries()] == ["released", "void", "released"]
    account.verify()


def test_a_question_left_behind_before_the_date_is_completed_after_it(
    ledger: Ledger, clock: Clock
) -> None:
    account = limited(ledger, clock)
    with pytest.raises(ValueError, match="broken"), account.claim(TENTH, query="one"):  # type: ignore[union-attr]
        raise ValueError("broken")
    clock.ahead = DAY
    taken = account.claim(TENTH, query="one")
    assert not isinstance(taken, StoredAnswer)
    with taken:
        taken.drawing()
        taken.release("late")
    assert taken.entry == 1


def test_an_account_can_be_closed_before_its_date_and_after(ledger: Ledger, clock: Clock) -> None:
    early = limited(ledger, clock)
    early.close()
    with pytest.raises(AccountClosed, match="is closed"):
        early.reserve(TENTH)
    late = limited(ledger, clock, name="late", datasets=("others",))
    clock.ahead = DAY
    late.close()
    late.verify()
    with pytest.raises(AccountClosed):
        late.close()


def test_standing_and_promise_say_when(ledger: Ledger, clock: Clock) -> None:
    account = limited(ledger, clock)
    closes = account.definition.closes
    assert closes is not None
    said = f"From {closes[:19]}Z on it takes no further charges."
    assert said in account.words()
    assert account.standing().to_dict()["status"] == "open"
    assert account.standing().to_dict()["definition"]["closes"] == closes
    clock.ahead = DAY
    assert account.standing().closed
    assert account.standing().to_dict()["status"] == "closed"
    assert said in account.standing().words


def test_a_charge_that_was_written_after_the_date_does_not_verify(
    location: str, clock: Clock
) -> None:
    with Ledger(location) as ledger:
        account = limited(ledger, clock)
        account.reserve(TENTH)
        account.verify()
    with around(location) as run:  # the same charge, a day later, with everything else in order
        columns = ", ".join(COLUMNS)
        (row,) = run(f"SELECT {columns} FROM ledger_events WHERE seq = 2")  # noqa: S608
        event = Event(*row)
        moved = event._replace(time=clock.after(DAY)).sealed()
        run("UPDATE ledger_events SET time = ?, hash = ? WHERE seq = 2", moved.time, moved.hash)
        run("UPDATE ledger_heads SET time = ?, head = ?", moved.time, moved.hash)
    with Ledger(location) as ledger, pytest.raises(LedgerCorrupted, match="event 2"):
        ledger.verify()
