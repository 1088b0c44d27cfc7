"""Many threads on one ledger, and exceptions at any instant: everything stays usable."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import AccountClosed, BudgetExceeded, LedgerUnavailable
from quaestor.ledger import Ledger
from quaestor.ledger.journal.appender import Journal, _perform
from quaestor.ledger.store.group_commit import Job
from tests.ledger.places import around, definition, remaining_epsilon, share, spent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.ledger import Account

THREADS = 64
STEP = PureDP(epsilon=2.0**-10)


def test_sixty_four_threads_share_a_ledger(location: str) -> None:
    """All ask, price, charge and release at once; the budget is for half of them."""
    each = 4
    with Ledger(location) as ledger:
        ledger.open_account(definition(epsilon=THREADS * each / 2 * STEP.epsilon))

        def work(number: int) -> Counter[str]:
            outcomes: Counter[str] = Counter()
            for _ in range(each):
                account = ledger.account("trial")
                account.price(STEP)
                try:
                    with account.reserve(STEP, query=f"f{number}") as charge:
                        charge.release(f"{number}")
                        outcomes["released"] += 1
                except BudgetExceeded:
                    outcomes["refused"] += 1
                account.answer(f"f{number}")
            return outcomes

        with ThreadPoolExecutor(THREADS) as pool:
            total = sum(pool.map(work, range(THREADS)), Counter())
        assert total == {"released": THREADS * each // 2, "refused": THREADS * each // 2}
        account = ledger.account("trial")
        assert remaining_epsilon(account) == 0
        numbers = [entry.number for entry in account.entries()]
        assert numbers == list(range(1, THREADS * each // 2 + 1))
        ledger.verify()


def test_threads_with_quotas_are_charged_each_to_their_own(ledger: Ledger) -> None:
    """Several analysts in one transaction: each one's quota holds, and each is refused alone."""
    names = [f"analyst {number}" for number in range(16)]
    account = ledger.open_account(
        definition(shares=tuple(share(name, 3 * STEP.epsilon) for name in names))
    )

    def work(name: str) -> int:
        granted = 0
        for _ in range(5):
            try:
                with account.reserve(STEP, analyst=name) as charge:
                    granted += 1
                    if granted == 1:
                        charge.void("not needed")
            except BudgetExceeded as refusal:
                assert name in str(refusal)  # noqa: PT017  # whose quota it was
        return granted

    with ThreadPoolExecutor(len(names)) as pool:
        assert set(pool.map(work, names)) == {4}
    assert remaining_epsilon(account) == 1 - 3 * len(names) * Fraction(STEP.epsilon)
    ledger.verify()


def test_charges_that_queue_are_made_durable_together(ledger: Ledger) -> None:
    """While one transaction is under way, those who come meanwhile wait for the same next one."""
    account = ledger.open_account(definition())
    store, transactions = ledger._store, Counter[str]()
    entered, gate = threading.Event(), threading.Event()
    writing = store.writing

    def counted() -> object:
        entered.set()
        gate.wait(600)
        transactions["writing"] += 1
        return writing()

    store.writing = counted  # type: ignore[assignment,method-assign]
    with ThreadPoolExecutor(32) as pool:
        charges = [pool.submit(account.reserve, STEP)]
        assert entered.wait(600)  # alone at the gate: the others can only queue
        charges += [pool.submit(account.reserve, STEP) for _ in range(31)]
        queue = store._writers["" if store.shared_writer else "trial"]._queue
        for _ in range(60_000):
            if queue.qsize() == 31:
                break
            threading.Event().wait(0.01)
        gate.set()
        numbers = sorted(charge.result(600).entry for charge in charges)
    store.writing = writing  # type: ignore[method-assign]
    assert numbers == list(range(1, 33))
    assert transactions["writing"] == 2
    ledger.verify()


def test_one_that_does_not_fit_is_refused_alone(ledger: Ledger) -> None:
    account = ledger.open_account(definition())
    sizes = [0.25, 0.25, 0.75, 0.25, 0.75, 0.125]

    def attempt(epsilon: float) -> bool:
        try:
            account.reserve(PureDP(epsilon=epsilon))
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(len(sizes)) as pool:
        granted = list(pool.map(attempt, sizes))
    total = sum(size for size, done in zip(sizes, granted, strict=True) if done)
    assert total <= 1
    assert all(total + size > 1 for size, done in zip(sizes, granted, strict=True) if not done)
    assert spent(account.entries()) == Fraction(total)
    ledger.verify()


def test_one_that_fails_in_the_midst_of_its_writing_fails_alone(ledger: Ledger) -> None:
    ledger.open_account(definition()).reserve(STEP)

    def broken(journal: Journal) -> None:
        journal.append("closed")
        raise AccountClosed("trial")

    def sound(journal: Journal) -> int:
        journal.append("released", entry=1)
        return 7

    works = (broken, sound, broken)
    jobs = [Job("trial", work, alone=False, reading=None) for work in works]
    _perform(ledger._store, jobs)
    assert [type(job.problem) for job in jobs] == [AccountClosed, type(None), AccountClosed]
    assert jobs[1].result == 7
    assert [entry.status for entry in ledger.account("trial").entries()] == ["released"]
    ledger.verify()


# what a finaliser is interrupted by is lost, and reported; see sys.unraisablehook
UNRAISABLE = "ignore::pytest.PytestUnraisableExceptionWarning"


class TimeLimit(Exception):  # as a job runner would name it
    """What a job runner's signal handler raises."""


@contextmanager
def interrupts(kind: type[BaseException], choose: random.Random) -> Iterator[None]:
    """Raise something at a random instant of the block, or just after it."""

    def go_off(*_: object) -> None:
        raise kind

    before = signal.signal(signal.SIGALRM, go_off)
    try:
        signal.setitimer(signal.ITIMER_REAL, choose.uniform(1e-5, 4e-3))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def steps(account: Account, ledger: Ledger, number: int) -> None:
    """Everything that uses the store."""
    with account.reserve(STEP, query=f"f{number % 7}") as charge:
        if number % 3:
            charge.drawing()
            charge.release(f"{number}")
        else:
            charge.void("not needed")
    account.answer(f"f{number % 7}")
    ledger.account("trial").price(STEP)
    next(account.entries())


def interrupted(location: str, times: int) -> None:
    choose, seen = random.Random(times), Counter[str]()
    with Ledger(location) as ledger:
        account = ledger.open_account(definition(epsilon=1e6))
        account.reserve(STEP)
        for number in range(times):
            kind = choose.choice([KeyboardInterrupt, TimeLimit])
            try:
                try:
                    with interrupts(kind, choose):
                        steps(account, ledger, number)
                    seen["through"] += 1
                except (KeyboardInterrupt, TimeLimit):
                    seen["interrupted"] += 1
                except LedgerUnavailable:  # what a driver makes of it while it connects
                    seen["driver"] += 1
            except (KeyboardInterrupt, TimeLimit):  # while the timer was being stopped
                seen["late"] += 1
            if number % 50 == 0:
                with Ledger(location) as other:  # nobody else waits for what was left behind
                    steps(other.account("trial"), other, number)
        assert seen["interrupted"] > times / 4, seen
        assert seen["driver"] <= times / 100 + 1, seen
        steps(account, ledger, 1)
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda n: steps(account, ledger, n), range(32)))
        assert remaining_epsilon(account) == 10**6 - spent(account.entries())
        ledger.verify()


@pytest.mark.filterwarnings(UNRAISABLE)
def test_a_hundred_interrupts_leave_everything_usable(location: str) -> None:
    interrupted(location, 100)


@pytest.mark.slow
@pytest.mark.filterwarnings(UNRAISABLE)
def test_three_thousand_interrupts_leave_everything_usable(location: str) -> None:
    interrupted(location, 3000)


def test_a_fork_in_the_midst_of_charges_leaves_both_sides_usable(location: str) -> None:
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        account.reserve(STEP)
        child = os.fork()
        if child == 0:
            try:
                account.reserve(STEP)
                os._exit(0)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        account.reserve(STEP)
        assert os.waitpid(child, 0)[1] == 0
        account.reserve(STEP)
        assert len(list(account.entries())) == 4
        ledger.verify()
    if "://" not in location:
        with around(location) as run:
            assert run("PRAGMA integrity_check") == [("ok",)]


def test_forks_while_another_thread_charges_leave_both_sides_usable(location: str) -> None:
    """A child finds nothing in the midst of being written, which nobody there would bring on."""
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        over, made, forks = threading.Event(), [0], 12

        def charge() -> None:
            while not over.is_set():
                account.reserve(PureDP(epsilon=2.0**-30))
                made[0] += 1

        other = threading.Thread(target=charge)
        other.start()
        try:
            for _ in range(forks):
                child = os.fork()
                if child == 0:
                    try:
                        account.reserve(PureDP(epsilon=2.0**-30))
                        os._exit(0)
                    finally:
                        os.kill(os.getpid(), signal.SIGKILL)
                deadline = time.monotonic() + 50
                while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
                    if time.monotonic() > deadline:
                        os.kill(child, signal.SIGKILL)
                    time.sleep(0.001)
                assert ended[1] == 0
        finally:
            over.set()
            other.join()
        assert len(list(account.entries())) == made[0] + forks
        ledger.verify()
