"""Questions with many groups, values or sums, as users ask them: ``python -m benchmarks.cliffs``.

Each runs in a process of its own, so that its memory is its own. Beside each is what DuckDB takes
for the aggregate alone, without any bounding or noise.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.goals import Goal

__all__ = ["cliff_lines", "main"]

_ROWS, _UNITS, _GROUPS, _ITEMS = 10_000_000, 100_000, 20, 1_000_000
_KEYS = [f"group {number}" for number in range(_GROUPS)]
_CATALOG = f"""
[tables.t]
database = "t.duckdb"
unit = "unit"
rows = 50
groups = {{groups}}

[tables.t.columns]
unit = "integer"
item = "integer"
key = {{{{ kind = "text", keys = {_KEYS} }}}}
value = {{{{ kind = "real", low = 0.0, high = 100.0, granularity = 0.01 }}}}

[accounts.research]
epsilon = 1e6
delta = 1e-2
"""
_SUMS = ", ".join(f"SUM(value + {number}) AS s{number}" for number in range(50))
_BEFORE = {"a million private keys": 9.6, "median by key": 8.8, "50 sums by key": 11.8}
"""Seconds of CPU before columns, joins and fewer scans; three times less is wanted."""
_REASONS = {
    "a million private keys": "nearly all of it is the engine's: by unit and key, and ranking "
    "the keys of units with more than 100",
    "median by key": "nearly all of it is the engine's, which counts rows by unit, key and value",
    "50 sums by key": "nearly all of it is the engine's: 50 sums of 10 million rows, each clamped",
}
_QUESTIONS = {  # what is asked, in how many groups a unit may be, the epsilon
    "a million private keys": ("SELECT item, COUNT(*) AS n FROM t GROUP BY item", 100, 400.0),
    "median by key": ("SELECT key, MEDIAN(value) AS m FROM t GROUP BY key", _GROUPS, 10.0),
    "50 sums by key": (f"SELECT key, {_SUMS} FROM t GROUP BY key", _GROUPS, 500.0),  # noqa: S608 (numbers of this file)
}


def cliff_lines(folder: Path) -> tuple[list[str], list[Goal]]:
    """A table: seconds of wall clock, of CPU, and the most memory, of ours and of plain DuckDB."""
    import duckdb

    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT (hash(range) % {_UNITS})::BIGINT AS unit, "  # noqa: S608
            f"'group ' || (hash(range * 3 + 1) % {_GROUPS}) AS key, "
            f"(hash(range * 11) % {_ITEMS})::BIGINT AS item, "
            f"((hash(range * 7) % 10000) / 100.0)::DOUBLE AS value FROM range({_ROWS})"
        )
    lines = [
        "| question | plain | ours | rows of the answer |",
        "| --- | ---: | ---: | ---: |",
    ]
    goals = []
    for name in _QUESTIONS:
        plain, ours = (_apart(folder, name, way) for way in ("plain", "ours"))
        lines.append(f"| {name} | {plain.shown} | {ours.shown} | {ours.rows:,} |")
        goals.append(
            Goal(
                what=f"{name}, CPU (a third of {_BEFORE[name]} s before)",
                measured=ours.cpu,
                at_most=_BEFORE[name] / 3,
                unit="s",
                reason=_REASONS[name],
            )
        )
    return lines, goals


class _Spent(NamedTuple):
    """What a question took: seconds, megabytes, and how many rows its answer has."""

    wall: float
    cpu: float
    memory: int
    rows: int

    @property
    def shown(self) -> str:
        return f"{self.wall:.1f} s ({self.cpu:.1f} s of CPU), {self.memory:,} MB"


def _apart(folder: Path, name: str, way: str) -> _Spent:
    """What one question takes, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cliffs", str(folder), name, way],
        capture_output=True,
        text=True,
        check=True,
    )
    return _Spent(*json.loads(done.stdout.strip().splitlines()[-1]))


def _one(folder: Path, name: str, way: str) -> _Spent:
    import duckdb

    from quaestor.curator import Curator

    sql, groups, epsilon = _QUESTIONS[name]
    if way == "plain":
        with duckdb.connect(str(folder / "t.duckdb"), read_only=True) as connection:
            wall, cpu = time.perf_counter(), time.process_time()
            rows = len(connection.execute(sql).fetchall())
            took = time.perf_counter() - wall, time.process_time() - cpu
    else:
        with tempfile.TemporaryDirectory(dir=folder) as inner:
            text = _CATALOG.format(groups=groups).replace('"t.duckdb"', '"../t.duckdb"')
            Path(inner, "quaestor.toml").write_text(text, encoding="utf-8")
            with Curator.from_file(inner) as curator:
                curator.open_account("research")
                wall, cpu = time.perf_counter(), time.process_time()
                rows = len(curator.ask(sql, epsilon=epsilon, whole_error=False))
                took = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return _Spent(*took, memory, rows)


def main() -> None:
    """One question of a folder, or all of them."""
    if len(sys.argv) > 1:
        folder, name, way = sys.argv[1:]
        print(json.dumps(_one(Path(folder), name, way)))
        return
    with tempfile.TemporaryDirectory() as made:
        print("\n".join(cliff_lines(Path(made))[0]))


if __name__ == "__main__":
    main()
