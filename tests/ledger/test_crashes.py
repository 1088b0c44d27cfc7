"""A process that is killed at any moment: what it has shown is in the ledger, and all holds."""

from __future__ import annotations

import os
import random
import select
import signal
import time
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.releases import PureDP
from quaestor.ledger import Ledger
from tests.ledger.places import definition, remaining_epsilon, spent

if TYPE_CHECKING:
    from typing import NoReturn

EPSILON = 2.0**-20


def charge_until_killed(location: str, shown: int, seed: int) -> NoReturn:
    """Charge, release, and only then show the answer; for ever."""
    choose = random.Random(seed)
    with Ledger(location) as ledger:
        account = ledger.account("crash")
        while True:
            with account.reserve(PureDP(epsilon=EPSILON), query=f"{seed}") as charge:
                charge.drawing()
                answer = f"{charge.entry} {choose.random()}\n"
                charge.release(answer)
                os.write(shown, answer.encode())


def killed(location: str, seed: int) -> list[str]:
    """Start such a process, kill it at a random moment, and return what it has shown.

    Every other one is killed only after it has shown something, however busy the machine is.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            charge_until_killed(location, writer, seed)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)  # never on into the parent's tests
    os.close(writer)
    if seed % 2:
        select.select([reader], [], [])
    time.sleep(random.Random(-seed).uniform(0.0, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        return [line for line in pipe.read().splitlines(keepends=True) if line.endswith("\n")]


def crash_many_times(location: str, times: int) -> None:
    with Ledger(location) as ledger:
        ledger.open_account(definition("crash", epsilon=1e6))
    seen, last = 0, None
    for seed in range(times):
        shown = killed(location, seed)
        with Ledger(location) as ledger:
            account = ledger.account("crash")
            status = {entry.number: entry.status for entry in account.entries(after=seen)}
            for answer in shown:
                assert status[int(answer.split()[0])] == "released"
            if shown:
                newest = account.answer(f"{seed}")
                # the last one may have been released, and not yet shown
                assert newest is not None
                assert newest.entry >= int(shown[-1].split()[0])
                assert newest.text == shown[-1] or newest.entry > int(shown[-1].split()[0])
            seen += len(status)
            if seed < 50 or seed % 50 == 0:  # a long chain takes its time
                last = account.verify(head=last).head
    with Ledger(location) as ledger:
        account = ledger.account("crash")
        account.verify(head=last)
        entries = list(account.entries())
        assert remaining_epsilon(account) == 10**6 - spent(entries)
        assert "released" in {entry.status for entry in entries}
        with account.reserve(PureDP(epsilon=1.0)) as charge:
            charge.release("it goes on")


def test_twenty_crashes_lose_nothing_that_was_shown(location: str) -> None:
    crash_many_times(location, 20)


@pytest.mark.slow
def test_a_thousand_crashes_lose_nothing_that_was_shown(location: str) -> None:
    crash_many_times(location, 1000)
