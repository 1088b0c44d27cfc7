"""Sixteen processes on one account: whatever they do at once, nobody overspends."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import BudgetExceeded
from quaestor.ledger import Ledger, Planned
from tests.ledger.places import definition, epsilon_of, remaining_epsilon, spent

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.queues import SimpleQueue

PROCESSES = 16
ATTEMPTS = 160  # of each: 2,560 together, of which some 300 fit; ten thousand are slow
COSTS = (0.1, 0.25, 0.3, 1.0)
LIMIT = 100.0
FORK = multiprocessing.get_context("fork")

Outcome = tuple[int, list[int], list[int]]  # refusals, entries that stand, entries that are void


def charging(
    location: str, seed: int, outcomes: SimpleQueue[Outcome], attempts: int = ATTEMPTS
) -> None:
    """Charge at random, release or void some, and say what was granted."""
    choose = random.Random(seed)
    granted, void, refused = [], [], 0
    with Ledger(location) as ledger:
        account = ledger.account("race")
        for _ in range(attempts):
            try:
                with account.reserve(PureDP(epsilon=choose.choice(COSTS))) as charge:
                    luck = choose.random()
                    if luck < 0.1:
                        charge.void("changed my mind")
                        void.append(charge.entry)
                        continue
                    if luck < 0.2:
                        charge.release("42")
                    granted.append(charge.entry)
            except BudgetExceeded:
                refused += 1
    outcomes.put((refused, granted, void))


def taking(location: str, _seed: int, outcomes: SimpleQueue[Outcome]) -> None:
    """Take slots until there are none."""
    granted = []
    with Ledger(location) as ledger:
        account = ledger.account("race")
        while True:
            try:
                with account.reserve(PureDP(epsilon=0.1)) as charge:
                    granted.append(charge.entry)
            except BudgetExceeded:
                outcomes.put((1, granted, []))
                return


def raced(target: Callable[..., None], location: str) -> list[Outcome]:
    outcomes: SimpleQueue[Outcome] = FORK.SimpleQueue()
    children = [
        FORK.Process(target=target, args=(location, seed, outcomes), daemon=True)
        for seed in range(PROCESSES)
    ]
    for child in children:
        child.start()
    found: list[Outcome] = []
    while len(found) < len(children):
        if not outcomes.empty():
            found.append(outcomes.get())
            continue
        assert not any(child.exitcode for child in children)  # who died says nothing more
        time.sleep(0.01)
    for child in children:
        child.join(timeout=600)
        assert child.exitcode == 0
    return found


def test_sixteen_processes_never_overspend(location: str) -> None:
    never_overspent(location, ATTEMPTS)


@pytest.mark.slow
def test_sixteen_processes_never_overspend_in_ten_thousand_attempts(location: str) -> None:
    never_overspent(location, 640)


def never_overspent(location: str, attempts: int) -> None:
    """Race so many attempts of each process, and count what became of them."""
    with Ledger(location) as ledger:
        ledger.open_account(definition("race", epsilon=LIMIT))
    start = time.monotonic()
    found = raced(partial(charging, attempts=attempts), location)
    seconds = time.monotonic() - start
    with Ledger(location) as ledger:
        account = ledger.account("race")
        entries = list(account.entries())
        status = {entry.number: entry.status for entry in entries}
        assert sum(r + len(g) + len(v) for r, g, v in found) == PROCESSES * attempts
        granted = [number for _, listed, _ in found for number in listed]
        void = [number for _, _, listed in found for number in listed]
        # every grant is an entry of its own, and there are no others
        assert sorted(granted + void) == list(range(1, len(entries) + 1))
        assert {status[number] for number in void} == {"void"}
        assert "void" not in {status[number] for number in granted}
        # what was spent, from the descriptions alone, is within the limit, and nothing was lost
        assert spent(entries) <= Fraction(LIMIT)
        assert remaining_epsilon(account) == Fraction(LIMIT) - spent(entries)
        assert remaining_epsilon(account) < epsilon_of([PureDP(epsilon=0.1)])
        assert sum(refused for refused, _, _ in found) > PROCESSES * attempts // 2
        ledger.verify()
    assert seconds < 600, "somebody waited for a lock that nobody would release"


def test_sixteen_processes_take_every_slot_once(location: str) -> None:
    slots = 160
    plan = Planned(releases={"patients": (PureDP(epsilon=0.1) * slots,)})
    with Ledger(location) as ledger:
        ledger.open_account(definition("race", epsilon=16.5, policy=plan))
    found = raced(taking, location)
    granted = Counter(number for _, listed, _ in found for number in listed)
    assert granted == Counter(range(1, slots + 1))
    with Ledger(location) as ledger:
        ledger.verify()


def opening(location: str, seed: int, outcomes: SimpleQueue[Outcome]) -> None:
    """Make the ledger, and an account of one's own, at the same time as everybody else."""
    with Ledger(location) as ledger:
        ledger.open_account(definition(f"race {seed}", datasets=(f"data {seed}",)))
    outcomes.put((0, [seed], []))


def test_a_ledger_is_made_once_by_all_who_open_it_first(location: str) -> None:
    raced(opening, location)
    with Ledger(location) as ledger:
        assert len(ledger.accounts()) == PROCESSES
        ledger.verify()
