"""One question, one charge, one draw: whoever asks at once, crashes, or sleeps."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import (
    AnswerPending,
    BudgetExceeded,
    ChargeSettled,
    InvalidParameter,
    LedgerCorrupted,
    UnknownAccount,
)
from quaestor.ledger import Charge, Dashboard, Ledger, StoredAnswer
from quaestor.ledger.store.address import open_store
from quaestor.ledger.store.upgrade import downgrade
from tests.ledger.places import around, definition, remaining_epsilon, share

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.ledger import Account

FORK = multiprocessing.get_context("fork")
QUARTER = PureDP(epsilon=0.25)


@pytest.fixture
def account(ledger: Ledger) -> Account:
    """An open account with an epsilon of 1."""
    return ledger.open_account(definition())


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases that end soon."""
    monkeypatch.setattr("quaestor.ledger.jobs.LEASE", 0.5)


def claimed(account: Account, query: str = "f00", **more: Any) -> Charge:
    """A charge for a question that has no answer."""
    charge = account.claim(QUARTER, query=query, **more)
    assert isinstance(charge, Charge)
    return charge


def answered(account: Account, query: str = "f00", **more: Any) -> str:
    """The answer to a question, drawn if need be."""
    found = account.claim(QUARTER, query=query, **more)
    if isinstance(found, StoredAnswer):
        return found.text
    with found:
        time.sleep(0.05)
        found.drawing()
        text = f"{random.random()}"
        found.release(text)
    return text


def leave(charge: Charge) -> None:
    """Fail before noise is drawn."""
    with pytest.raises(ZeroDivisionError), charge:
        _ = 1 // 0


def together(work: Callable[[], object], count: int) -> list[Any]:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except ChargeSettled as problem:
            found.append(problem)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def draws(ledger: Ledger, name: str = "trial") -> Counter[int]:
    """How often each entry was marked as drawn."""
    events = map(json.loads, ledger.export(account=name))
    return Counter(event["entry"] for event in events if event["kind"] == "drawing")


def test_sixteen_threads_have_one_answer_for_one_charge(ledger: Ledger, account: Account) -> None:
    found = together(lambda: answered(account), 16)
    assert len(found) == 16
    assert len(set(found)) == 1
    assert len(list(account.entries())) == 1
    assert draws(ledger) == {1: 1}
    ledger.verify()


def asking(location: str, start: Any, answers: Any) -> None:
    with Ledger(location) as ledger:
        account = ledger.account("trial")
        start.wait()
        answers.put(answered(account))


def test_eight_processes_have_one_answer_for_one_charge(account: Account, location: str) -> None:
    start, answers = FORK.Barrier(8), FORK.SimpleQueue()
    children = [FORK.Process(target=asking, args=(location, start, answers)) for _ in range(8)]
    for child in children:
        child.start()
    assert len({answers.get() for _ in children}) == 1
    for child in children:
        child.join()
    assert len(list(account.entries())) == 1
    account.verify()


def test_what_failed_before_noise_is_completed_three_attempts_in_all(
    ledger: Ledger, account: Account
) -> None:
    for attempt in (1, 2, 3):
        charge = claimed(account, analyst=f"analyst {attempt}")
        assert (charge.entry, charge.attempt, charge.repeated) == (1, attempt, attempt > 1)
        leave(charge)
    assert len(list(account.entries())) == 1
    with claimed(account) as charge:  # three attempts were made of the first
        assert (charge.entry, charge.attempt) == (2, 1)
        charge.drawing()
        charge.release("42")
    ledger.verify()


def test_a_completed_charge_keeps_the_name_of_whoever_paid(account: Account) -> None:
    leave(claimed(account, analyst="ann", purpose="weekly"))
    with claimed(account, analyst="bob", purpose="other") as charge:
        charge.release("42")
    (entry,) = account.entries()
    assert (entry.analyst, entry.purpose, entry.status) == ("ann", "weekly", "released")
    assert account.answer("f00") == (1, "42")
    account.verify()


def test_a_used_up_account_still_completes_what_it_was_charged_for(account: Account) -> None:
    leave(claimed(account))
    account.reserve(PureDP(epsilon=0.75))
    assert remaining_epsilon(account) == 0
    assert answered(account)
    with pytest.raises(BudgetExceeded):
        claimed(account, "f01")


def test_once_noise_may_have_been_drawn_the_question_is_paid_anew(
    ledger: Ledger, account: Account
) -> None:
    with claimed(account) as charge:
        charge.drawing()
    with claimed(account) as again:
        assert (again.entry, again.attempt) == (2, 1)
        again.drawing()
        again.release("42")
    assert draws(ledger) == {1: 1, 2: 1}
    ledger.verify()


@pytest.mark.usefixtures("short")
def test_a_lease_that_ends_is_taken_over_and_the_first_holder_is_refused(
    account: Account, location: str
) -> None:
    first = claimed(account)  # not entered: nobody renews it
    with Ledger(location) as other, claimed(other.account("trial")) as second:
        assert (second.entry, second.attempt) == (1, 2)
        for late in (first.drawing, lambda: first.void("why"), lambda: first.release("41")):
            with pytest.raises(ChargeSettled, match="was taken over"):
                late()
        with pytest.raises(ChargeSettled, match="another process made it"):
            second.void("the first may have sent a statement")
        second.drawing()
        second.release("42")
    with pytest.raises(ChargeSettled, match="is released already"):
        first.drawing()
    assert account.answer("f00") == (1, "42")
    account.verify()


@pytest.mark.usefixtures("short")
def test_a_lease_is_renewed_as_long_as_the_work_takes(account: Account) -> None:
    with claimed(account) as charge:
        with pytest.raises(AnswerPending):
            account.claim(QUARTER, query="f00", patience=1.5)  # three leases
        charge.drawing()
        charge.release("42")
    assert answered(account) == "42"
    assert len(list(account.entries())) == 1


def test_who_waited_for_a_failure_shares_it_and_a_later_repeat_completes_it(
    account: Account,
) -> None:
    charge = claimed(account)
    found: list[object] = []
    waiter = threading.Thread(target=lambda: found.extend(together(lambda: answered(account), 4)))
    with charge:
        waiter.start()
        time.sleep(0.5)
    waiter.join()
    refused = [each for each in found if isinstance(each, ChargeSettled)]
    assert len(found) == 4
    assert refused  # whoever had begun to wait
    assert len(list(account.entries())) == 1
    assert answered(account)
    assert len(list(account.entries())) == 1


def test_with_quotas_each_analyst_has_an_own_answer(ledger: Ledger) -> None:
    shares = (share("*", 0.25),)
    account = ledger.open_account(definition("shared", shares=shares))
    found = {who: answered(account, analyst=who) for who in ("ann", "bob")}
    assert found["ann"] != found["bob"]
    assert [answered(account, analyst=who) for who in ("ann", "bob")] == list(found.values())
    assert len(list(account.entries())) == 2
    ledger.verify()


def test_on_a_dashboard_too_a_failure_before_noise_is_completed(ledger: Ledger) -> None:
    policy = Dashboard.of({"SELECT 1": ("patients", [QUARTER])})
    account = ledger.open_account(definition("wall", policy=policy))

    def ask() -> str:
        found = account.claim(QUARTER, query_text="SELECT 1")
        if isinstance(found, StoredAnswer):
            return found.text
        with found:
            found.drawing()
            found.release(f"{random.random()}")
        return ask()

    charge = account.claim(QUARTER, query_text="SELECT 1")
    assert isinstance(charge, Charge)
    leave(charge)
    assert len(set(together(ask, 16))) == 1
    assert len(list(account.entries())) == 1
    ledger.verify()


def test_other_releases_make_another_question(account: Account) -> None:
    leave(claimed(account))
    other = account.claim(PureDP(epsilon=0.125), query="f00")
    assert isinstance(other, Charge)
    assert other.entry == 2


def test_a_claim_needs_a_question(account: Account) -> None:
    with pytest.raises(InvalidParameter, match="query"):
        account.claim(QUARTER)


def sleeper(location: str, ready: int, result: int) -> None:
    """Claim, be stopped, wake up, and try to draw."""
    with Ledger(location) as ledger, claimed(ledger.account("trial")) as charge:
        os.write(ready, b"held")
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            charge.drawing()
        except ChargeSettled:
            os.write(result, b"refused")
        else:
            os.write(result, b"drew")


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("settled", [True, False])
def test_a_stopped_process_that_wakes_up_later_draws_nothing(
    ledger: Ledger, account: Account, location: str, *, settled: bool
) -> None:
    (held, ready), (answer, result) = os.pipe(), os.pipe()
    child = FORK.Process(target=sleeper, args=(location, ready, result))
    child.start()
    assert os.read(held, 10) == b"held"
    with claimed(account) as charge:
        assert (charge.entry, charge.attempt) == (1, 2)
        if settled:
            charge.drawing()
            charge.release("42")
        os.kill(child.pid or 0, signal.SIGCONT)
        assert os.read(answer, 10) == b"refused"
        if not settled:
            charge.drawing()
            charge.release("42")
    child.join()
    assert draws(ledger) == {1: 1}
    assert account.answer("f00") == (1, "42")
    ledger.verify()
    for end in (held, ready, answer, result):
        os.close(end)


def ask_until_killed(location: str, shown: int, seed: int) -> None:
    """Ask a few questions again and again; tell of every draw before anything else is done."""
    choose = random.Random(seed)
    with Ledger(location) as ledger:
        account = ledger.account("trial")
        for _ in range(1000):
            query = f"{seed // 2 + choose.randrange(6)}"  # some of the round before
            found = account.claim(PureDP(epsilon=2.0**-20), query=query)
            if isinstance(found, StoredAnswer):
                continue
            with found:
                time.sleep(choose.uniform(0, 0.08))
                found.drawing()
                os.write(shown, f"{found.entry}\n".encode())
                time.sleep(choose.uniform(0, 0.01))
                found.release(f"{seed} {choose.random()}")


@pytest.mark.parametrize("rounds", [24, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_at_any_moment_never_lead_to_two_draws_for_one_charge(
    ledger: Ledger,
    account: Account,
    location: str,
    rounds: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quaestor.ledger.jobs.LEASE", 0.02)  # about a quarter are taken over
    reader, writer = os.pipe()
    slower = 1.0  # where the machine is busy, children live longer
    for seed in range(rounds):
        children = [
            FORK.Process(target=ask_until_killed, args=(location, writer, 2 * seed + half))
            for half in (0, 1)
        ]
        for child in children:
            child.start()
        time.sleep(slower * random.Random(seed).uniform(0.02, 0.2))
        for child in children:
            child.kill()
            child.join()
        if seed % 4 == 3 and not draws(ledger):
            slower *= 2
    os.close(writer)
    with os.fdopen(reader, encoding="ascii") as pipe:
        drawn = Counter(int(line) for line in pipe.read().split())
    assert set(drawn.values()) == {1}
    marked = draws(ledger)
    assert set(marked.values()) <= {1}
    assert drawn.keys() <= marked.keys()
    entries = list(account.entries())
    # every charge but the last of a question was answered or marked, or had its three attempts
    latest = {entry.query: entry.number for entry in entries}
    for entry in entries:
        assert entry.status != "void"
        if entry.number != latest[entry.query] and entry.number not in marked:
            assert attempts(location, entry.number) == 3
    ledger.verify()


def attempts(location: str, entry: int) -> int:
    with around(location) as run:
        ((found,),) = run("SELECT attempt FROM ledger_jobs WHERE entry = ?", entry)
    return int(found)


def test_what_is_left_behind_is_listed_with_what_can_be_done(
    ledger: Ledger, account: Account
) -> None:
    account.reserve(PureDP(epsilon=0.01), analyst="ann", purpose="by hand")
    account.reserve(PureDP(epsilon=0.01), key="monday")
    leave(claimed(account, "left", analyst="bob"))
    for _ in range(3):
        leave(claimed(account, "exhausted"))
    with claimed(account, "drawn") as charge:
        charge.drawing()
    with account.reserve(PureDP(epsilon=0.01)) as charge:
        charge.release("42")
    with account.claim(PureDP(epsilon=0.01), query="running") as charge:  # type: ignore[union-attr]
        found = ledger.pending()
        charge.release("42")
    assert [each.state for each in found] == [
        *("unknown", "keyed", "left", "exhausted", "drawn", "running")
    ]
    assert [each.entry for each in found] == [1, 2, 3, 4, 5, 7]
    assert [each.attempt for each in found] == [0, 1, 1, 3, 1, 1]
    assert (found[0].analyst, found[0].purpose, found[0].holder) == ("ann", "by hand", "")
    assert (found[1].key, found[2].analyst, found[2].query) == ("monday", "bob", "left")
    assert all(each.holder.endswith(f":{os.getpid()}") for each in found[1:])
    assert all(0 <= each.age < 600 for each in found)
    assert found[2].to_dict()["advice"].startswith("ask the same question again")
    assert len(ledger.pending(account="trial")) == 5
    with pytest.raises(UnknownAccount, match="trial"):
        ledger.pending(account="trail")


def test_a_charge_whose_question_was_run_is_not_given_back(account: Account) -> None:
    with account.reserve(QUARTER) as charge:
        charge.running()
        with pytest.raises(ChargeSettled, match="its question has been run"):
            charge.void("it took too long")
    with claimed(account) as charge:
        charge.void("the engine is down")
    again = claimed(account)
    assert (again.entry, again.attempt, again.repeated) == (3, 1, False)
    account.verify()


def test_a_child_process_does_not_give_up_what_its_parent_holds(account: Account) -> None:
    with claimed(account) as charge:
        child = os.fork()
        if child == 0:
            try:
                charge.__exit__(None, None, None)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)  # never on into the parent's tests
        os.waitpid(child, 0)
        with pytest.raises(AnswerPending):
            account.claim(QUARTER, query="f00", patience=0.1)
        charge.drawing()
        charge.release("42")
    account.verify()


def test_whoever_changes_jobs_behind_the_ledgers_back_gains_no_second_draw(
    ledger: Ledger, account: Account, location: str
) -> None:
    with claimed(account) as first:
        first.drawing()
        with around(location) as run:
            run("UPDATE ledger_jobs SET attempt = 1, lease = '', holder = 'me'")
        second = claimed(account)
        assert second.entry == 2
        first.release("42")
    with around(location) as run:
        run("UPDATE ledger_jobs SET entry = 7 WHERE entry = 2")
    with pytest.raises(LedgerCorrupted, match="the job of entry 7"):
        ledger.verify()
    with around(location) as run:
        run("UPDATE ledger_jobs SET entry = 2, account = 'other' WHERE entry = 7")
    with pytest.raises(LedgerCorrupted, match="other"):
        ledger.verify()


def test_a_ledger_of_the_revision_before_keeps_its_heads_and_what_it_left_stays_charged(
    location: str,
) -> None:
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        account.reserve(QUARTER, query="f00")
        with account.reserve(QUARTER, query="f01") as charge:
            charge.release("42")
        heads = ledger.heads()
    store = open_store(location, create=False)
    with store.migrating() as connection:
        downgrade(connection, revision="0003")
    store.close()
    with Ledger(location) as ledger:
        assert ledger.heads() == heads
        assert [each.state for each in ledger.pending()] == ["unknown"]
        account = ledger.account("trial")
        assert claimed(account).entry == 3  # nobody knows what became of the first
        assert account.claim(QUARTER, query="f01") == (2, "42")
        ledger.verify(heads=heads)
