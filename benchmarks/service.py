"""How much load a service takes on this machine: ``python -m benchmarks.service``.

``--seconds`` is the length of each phase. Everything stays on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil  # type: ignore[import-untyped]

from benchmarks.machine import load, machine
from benchmarks.service_client import LoadClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "service.md"
_CLIENTS, _FEWER = 64, 16
_STEP = 1.0
_STORED = "SELECT COUNT(*) AS n FROM patients"
_LIBRARIES = ("quaestor-dp", "fastapi", "uvicorn", "duckdb")
_NOTES = """\
Written by `python -m benchmarks.service`; not edited by hand.

`quaestor serve` over the liver study of the demo (400,123 rows), ledger in a SQLite file, one
process, time step 1 s; the load comes from one other process on the same cores. *Bare route* is a
FastAPI application in the same run whose only route returns a constant of the size of an answer,
without sign-in, ledger or log. *Fetched* is `GET /jobs/ID/answer` of an answered question. *Asked
again* is the whole way of a question that has a stored answer: ask, look until it is answered,
fetch. *New* is a count that nobody has asked, from the request to the answer in hand: charge, time
step, noise and looks at the job included. CPU is that of the server process. lomas is not in the
table: PyPI has its server as a source package only, which was not built here.
"""
_BARE = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.get("/")
def constant() -> dict[str, str]:
    return {"answer": "x" * 1500}
uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="warning")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phase:
    """What was measured in one phase."""

    name: str
    clients: int
    seconds: float
    cpu: float
    times: list[float]
    states: Counter[str]
    statuses: Counter[int]

    def row(self, bare: _Phase) -> str:
        """A line of the table."""
        done = len(self.times)
        rate, each = done / self.seconds, self.cpu / max(1, done)
        ordered = sorted(self.times)
        p99 = ordered[min(done - 1, int(0.99 * done))] if ordered else float("nan")
        cells = (
            self.name,
            f"{self.clients}",
            f"{done}",
            f"{rate:.0f}",
            f"{1e3 * each:.2f}",
            f"{each / (bare.cpu / max(1, len(bare.times))):.1f}",
            f"{1e3 * statistics.median(ordered):.0f}" if ordered else "-",
            f"{1e3 * p99:.0f}",
        )
        return f"| {' | '.join(cells)} |"


class _Load:
    """One server process, and analysts who ask it."""

    def __init__(self, port: int, process: psutil.Process, tokens: list[str]) -> None:
        self._port, self._process, self._tokens = port, process, tokens
        ages, masses = range(18, 98), range(20, 160)
        self._new = (
            f"{_STORED} WHERE age > {age} AND bmi > {mass / 2}"
            for age, mass in itertools.product(ages, masses)
        )

    def new(self) -> str:
        """A question that nobody has asked."""
        return next(self._new)

    def measured(
        self,
        name: str,
        clients: int,
        seconds: float,
        one: Callable[[LoadClient, int], Awaitable[tuple[str, float]]],
    ) -> _Phase:
        """Have so many clients do the same over and over, for so long."""
        return asyncio.run(self._measure(name, clients, seconds, one))

    async def _measure(
        self,
        name: str,
        clients: int,
        seconds: float,
        one: Callable[[LoadClient, int], Awaitable[tuple[str, float]]],
    ) -> _Phase:
        times: list[float] = []
        states, statuses = Counter[str](), Counter[int]()
        begun, used = time.perf_counter(), _cpu(self._process)

        async def repeat(number: int) -> None:
            token = self._tokens[number % len(self._tokens)] if self._tokens else ""
            async with LoadClient(self._port, token) as client:
                for turn in itertools.count():
                    if time.perf_counter() - begun > seconds:
                        break
                    state, took = await one(client, number + turn)
                    states[state] += 1
                    times.append(took)
                statuses.update(client.statuses)

        await asyncio.gather(*map(repeat, range(clients)))
        return _Phase(
            name=name,
            clients=clients,
            seconds=time.perf_counter() - begun,
            cpu=_cpu(self._process) - used,
            times=times,
            states=states,
            statuses=statuses,
        )


def _cpu(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return float(spent.user + spent.system)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def _started(command: list[str], port: int, path: str) -> Iterator[psutil.Process]:
    """A server that answers, until the block is over."""
    from urllib.error import URLError
    from urllib.request import urlopen

    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            try:
                urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).close()
                break
            except (URLError, OSError):
                time.sleep(0.1)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(120)


def _made_study(folder: Path) -> tuple[Path, list[str]]:
    """The liver study with a large budget, and a token for each analyst."""
    from quaestor.cli.demo.liver import ACCOUNT, write_tables
    from quaestor.curator import Curator

    write_tables(folder)
    catalog = folder / "quaestor.toml"
    text = catalog.read_text(encoding="utf-8")
    catalog.write_text(re.sub(r"epsilon = 3\.0", "epsilon = 1e6", text), encoding="utf-8")
    with Curator.from_file(catalog) as curator:
        curator.open_account(ACCOUNT)
        people, tokens = curator.ledger.people, []
        for number in range(_CLIENTS):
            people.add(f"analyst{number}", roles=("analyst",), by="benchmark")
            tokens.append(people.create_token(f"analyst{number}", by="benchmark")[1])
    return catalog, tokens


def _verified(catalog: Path) -> dict[str, int]:
    """Charges, and how many of them have neither an answer nor an open or failed job."""
    from quaestor.cli.demo.liver import ACCOUNT
    from quaestor.curator import Curator

    with Curator.from_file(catalog) as curator:
        curator.ledger.verify()
        entries = list(curator.account(ACCOUNT).entries())
        with curator.ledger.questions._store.reading() as session:  # noqa: SLF001
            linked = {row[0] for row in session.rows("SELECT entry FROM ledger_questions")}
        lost = [e for e in entries if e.status != "released" and e.number not in linked]
        return {"charges": len(entries), "lost": len(lost)}


async def _constant(client: LoadClient, _turn: int) -> tuple[str, float]:
    begun = time.perf_counter()
    await client.send("GET", "/")
    return "answered", time.perf_counter() - begun


def main() -> None:
    """Measure, show and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    seconds = min(60.0, parser.parse_args().seconds)
    before = load()
    with tempfile.TemporaryDirectory() as folder:
        lines = _lines(Path(folder), seconds)
    facts = {**machine(_LIBRARIES), "load before, after": f"{before}, {load()}"}
    said = [f"- {name}: {value}" for name, value in facts.items()]
    RESULTS.write_text(
        "\n".join(["# The service under load", "", _NOTES, *said, "", *lines, ""]),
        encoding="utf-8",
    )
    print("\n".join(lines))


def _lines(folder: Path, seconds: float) -> list[str]:
    port = _free_port()
    with _started([sys.executable, "-c", _BARE, str(port)], port, "/") as process:
        bare = _Load(port, process, []).measured("bare route", _CLIENTS, seconds / 3, _constant)
    catalog, tokens = _made_study(folder)
    port = _free_port()
    serve = [sys.executable, "-m", "quaestor", "serve", "--catalog", str(catalog)]
    serve += ["--port", str(port), "--rate", "100000", "--time-step", str(_STEP)]
    with _started(serve, port, "/ready") as process:
        run = _Load(port, process, tokens)

        async def stored(client: LoadClient, _turn: int) -> tuple[str, float]:
            return await client.ask(_STORED, epsilon=0.1)

        async def new(client: LoadClient, _turn: int) -> tuple[str, float]:
            return await client.ask(run.new(), epsilon=0.01)

        async def mixed(client: LoadClient, turn: int) -> tuple[str, float]:
            return await (new if turn % 4 == 0 else stored)(client, turn)

        async def fetched(client: LoadClient, _turn: int) -> tuple[str, float]:
            begun = time.perf_counter()
            jobs = await client.send("GET", "/api/v1/jobs?most=1")
            place = jobs["jobs"][0]["links"]["answer"]
            for _ in range(20):
                await client.send("GET", place)
            return "answered", (time.perf_counter() - begun) / 20

        run.measured("", _CLIENTS, 0.5, stored)  # the first one pays, and everybody has a plan
        alone = run.measured("new, one client", 1, seconds, new)
        again = run.measured("asked again", _CLIENTS, seconds / 2, stored)
        fetch = run.measured("fetched", _CLIENTS, seconds / 2, fetched)
        fewer = run.measured("new, 16 clients", _FEWER, seconds, new)
        first = process.memory_info().rss
        both = run.measured("three stored, one new", _CLIENTS, seconds, mixed)
        last = process.memory_info().rss
    fetch.times[:] = [each for each in fetch.times for _ in range(20)]
    found = _verified(catalog)
    phases = (bare, fetch, again, alone, fewer, both)
    bad = sum(count for p in phases for status, count in p.statuses.items() if status >= 500)
    states = sum((p.states for p in phases), Counter[str]())
    return [
        (
            "| phase | clients | answers | a second | CPU ms each | times bare route | median ms "
            "| p99 ms |"
        ),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(phase.row(bare) for phase in phases),
        "",
        (
            f"Answers with a status of 500 or more: {bad}. How questions ended: "
            f"{', '.join(f'{state} {count}' for state, count in sorted(states.items()))}."
        ),
        (
            f"Charges: {found['charges']}, without an answer or a job: {found['lost']}; the ledger "
            "verified."
        ),
        (
            f"Memory of the server before and after the mixed phase: {first / 2**20:.0f} MB, "
            f"{last / 2**20:.0f} MB."
        ),
        (
            "Goals: 300 stored answers a second; new counts at 16 clients below 1.5 s (p99); one "
            f"client below 0.3 s plus the time step of {_STEP:g} s."
        ),
    ]


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
