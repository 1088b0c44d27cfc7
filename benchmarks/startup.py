"""What a user waits for before the first answer: imports, and the command line from cold."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.goals import Goal

__all__ = ["COMMAND_LINE", "STARTUPS", "Startup", "cold_lines", "median_seconds", "write_visits"]

_RUNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Startup:
    """Something to start: its name, and what follows ``python`` on the command line."""

    name: str
    arguments: tuple[str, ...]


def _statement(code: str) -> Startup:
    return Startup(name=code, arguments=("-c", code))


COMMAND_LINE = Startup(
    name='quaestor epsilon --delta 1e-6 "ApproxDP(epsilon=0.1, delta=1e-8) * 30"',
    arguments=(
        *("-m", "quaestor", "epsilon", "--delta", "1e-6"),
        "ApproxDP(epsilon=0.1, delta=1e-8) * 30",
    ),
)

STARTUPS = (
    _statement("pass"),
    _statement("import quaestor"),
    _statement("import dp_accounting"),
    _statement("from dp_accounting.pld import privacy_loss_distribution"),
    COMMAND_LINE,
)

_CATALOG = """
[tables.visits]
database = "visits.duckdb"
unit = "patient"
rows = 3
groups = 1

[tables.visits.columns]
patient = "integer"
age = { kind = "integer", low = 0, high = 120 }

[accounts.research]
epsilon = 1000.0
delta = 1e-6
"""
_ENGINES = "import numpy, duckdb, sqlite3"

# As after an installation, which compiles every module: the first run of each command keeps them.
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


def cold_lines() -> tuple[list[str], list[Goal]]:
    """What commands take from cold, beside what importing their engines takes, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        engines, epsilon, query = _cold(Path(folder))

    def line(words: str, spent: tuple[float, float]) -> str:
        return f"- {words}: {spent[0]:.2f} ({spent[1]:.2f}), {spent[1] / engines[1]:.1f} times"

    goals = [
        Goal(
            what="`quaestor epsilon` from cold, CPU, beside importing numpy, DuckDB and sqlite3",
            measured=epsilon[1] / engines[1],
            at_most=0.9,
            unit="times",
        ),
        Goal(
            what="`quaestor query` from cold, the same",
            measured=query[1] / engines[1],
            at_most=3.0,
            unit="times",
            reason="importing sqlglot, typer, rich and python-flint takes 0.9 times by itself; the "
            "rest makes 300 modules' classes and runs the question",
        ),
        Goal(
            what="`quaestor query` from cold, CPU",
            measured=query[1],
            at_most=0.9,
            unit="s",
            reason="as above",
        ),
    ]
    lines = [
        "",
        f"From cold, the best of {_RUNS}, in seconds; processor time in brackets, and as a",
        f"multiple of that of `{_ENGINES}` in the same run, {engines[0]:.2f} ({engines[1]:.2f}):",
        "",
        line("`quaestor epsilon`", epsilon),
        line("`quaestor query`, a new question of 100,000 rows", query),
        "",
    ]
    return lines, goals


def write_visits(folder: Path, rows: int) -> None:
    """A table of so many visits, and the catalog of an account on it."""
    import duckdb

    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT i % 10_000 AS patient, 18 + i % 70 AS age "  # noqa: S608
            f"FROM range({rows}) AS rows(i)"
        )
    (folder / "quaestor.toml").write_text(_CATALOG, encoding="utf-8")


def _cold(folder: Path) -> list[tuple[float, float]]:
    write_visits(folder, 100_000)
    _spent(("-m", "quaestor", "account", "open", "research"), folder)
    found: list[list[tuple[float, float]]] = [[], [], []]
    for run in range(_RUNS + 1):
        asked = f"SELECT COUNT(*) AS n, AVG(age) AS mean FROM visits WHERE age > {run}.5"  # noqa: S608
        commands = (
            ("-c", _ENGINES),
            COMMAND_LINE.arguments,
            ("-m", "quaestor", "query", "--epsilon", "0.1", asked),
        )
        for spent, command in zip(found, commands, strict=True):
            spent.append(_spent(command, folder))
    return [(min(w for w, _ in spent[1:]), min(c for _, c in spent[1:])) for spent in found]


def _spent(arguments: tuple[str, ...], folder: Path) -> tuple[float, float]:
    """Seconds of wall clock, and of processor time, in a fresh process."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = (sys.executable, *arguments)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, env=_ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, used


def median_seconds(startup: Startup) -> float:
    """The median of five runs in fresh processes, after one that warms the disk's cache."""
    command = (sys.executable, *startup.arguments)
    seconds = []
    for _ in range(_RUNS + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_ENVIRONMENT)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


if __name__ == "__main__":
    print("\n".join(cold_lines()[0]))
