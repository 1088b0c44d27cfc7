"""One question of a large table, ours and as others answer it: ``python -m benchmarks.tables``.

Every way runs in a process of its own, peers in environments of their own (``make benchmark`` makes
them). A way that cannot run stays in the table, with the reason.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import load, machine

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "tables.md"

_ROWS, _UNITS, _GROUPS = 10_000_000, 100_000, 20
_RUNS = 3
_TOO_LONG_TO_REPEAT = 30.0  # seconds
_LIBRARIES = ("quaestor-dp", "duckdb", "sqlglot")
_KEYS = [f"group {number}" for number in range(_GROUPS)]
_CATALOG = f"""
[tables.visits]
file = "rows.parquet"
unit = "unit"
rows = 50
groups = 5

[tables.visits.columns]
unit = "integer"
key = {{ kind = "text", keys = {_KEYS} }}
value = {{ kind = "real", low = 0.0, high = 100.0, granularity = 0.01 }}

[accounts.research]
epsilon = 1000.0
delta = 1e-6
"""
_PLAIN = "SELECT key, COUNT(*) AS n, SUM(value) AS total FROM {} GROUP BY key"
_BY_HAND = f"""
SELECT key, sum(least(n, 50)), sum(CASE WHEN n <= 50 THEN s ELSE s * 50 // n END) FROM (
    SELECT unit, key, count(*) AS n,
        sum(round(least(greatest(value, 0), 100) * 100)::INT)::BIGINT AS s
    FROM {{}} WHERE key IN ({", ".join(f"'{key}'" for key in _KEYS)}) GROUP BY unit, key
    QUALIFY row_number() OVER (PARTITION BY unit ORDER BY md5(unit || ':' || key)) <= 5
) GROUP BY key"""  # noqa: S608 (numbers of this file)
_NOTES = f"""\
Written by `python -m benchmarks.tables`; not edited by hand.

A count and a sum by group of {_ROWS:,} scattered rows of {_UNITS:,} units in {_GROUPS} declared
groups, in one Parquet file; of a unit at most 50 rows count in a group, and 5 groups. The least of
{_RUNS} runs (of one, where it takes over {_TOO_LONG_TO_REPEAT:.0f} seconds), each in a fresh
process, imports left out; seconds, and the most memory of the process. *Plain* bounds nothing and
adds no noise. *By hand* bounds in SQL, and adds no noise. *Ours* is `Curator.ask`, from SQL to the
answer that the ledger has kept; the *whole error* is the second interval, which also covers what
was bounded, and is asked for by default. OpenDP keeps the first groups of a unit, not random ones.
SmartNoise has no bound on groups and draws 250 rows of a unit; its rows are in memory before it
starts.
"""
_OURS = {
    "plain DuckDB": "plain",
    "DuckDB, bounded by hand": "by hand",
    "ours": "ours",
    "ours, without the whole error": "noise only",
    "ours, on a prepared snapshot": "snapshot",
    "ours, on a snapshot, without the whole error": "snapshot, noise only",
}
_PEERS = {
    "opendp": ("in_opendp.py", str(_GROUPS)),
    "smartnoise": ("in_smartnoise.py",),
}


def main() -> None:
    """One way, or all of them."""
    if len(sys.argv) > 1:
        print(json.dumps(_one(Path(sys.argv[1]), sys.argv[2])))
        return
    before = load()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _fill(folder)
        ways = {
            name: [sys.executable, "-m", "benchmarks.tables", made, way]
            for name, way in _OURS.items()
        }
        for peer, (script, *further) in _PEERS.items():
            environment = Path(sys.prefix) / "peers" / peer / "bin" / "python"
            ours = Path(__file__).parent / "table_peers" / script
            ways[peer] = [str(environment), str(ours), str(folder / "rows.parquet"), *further]
        found = {name: _best(command) for name, command in ways.items()}
    text = _page(found, before)
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


def _fill(folder: Path) -> None:
    import duckdb

    duckdb.execute(
        f"""COPY (SELECT (hash(range) % {_UNITS})::BIGINT AS unit,
            'group ' || (hash(range * 3 + 1) % {_GROUPS}) AS key,
            ((hash(range * 7) % 10000) / 100.0)::DOUBLE AS value
        FROM range({_ROWS})) TO '{folder / "rows.parquet"}' (FORMAT parquet)"""  # noqa: S608
    )
    (folder / "quaestor.toml").write_text(_CATALOG, encoding="utf-8")


def _one(folder: Path, way: str) -> dict[str, float]:
    """What one of ours took."""
    import duckdb

    from quaestor.curator import Curator

    if way in ("plain", "by hand"):
        sql = {"plain": _PLAIN, "by hand": _BY_HAND}[way].format(f"'{folder / 'rows.parquet'}'")
        with duckdb.connect() as connection:
            wall, cpu = time.perf_counter(), time.process_time()
            rows = len(connection.execute(sql).fetchall())
            took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    else:
        _prepare(folder, snapshot=way.startswith("snapshot"))
        sql = _PLAIN.format("visits")
        with Curator.from_file(folder) as curator:
            curator.preview(sql, epsilon=1.0)  # imports
            wall, cpu = time.perf_counter(), time.process_time()
            whole = "noise only" not in way
            rows = len(curator.ask(sql, epsilon=1.0, whole_error=whole))
            took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {**took, "memory": memory, "rows": rows}


def _prepare(folder: Path, *, snapshot: bool) -> None:
    """A new ledger, and a copy or none, made by processes that are not measured."""
    for old in folder.glob("ledger.db*"):
        old.unlink()
    commands = [["account", "open", "research"], ["dataset", "prepare", "visits"]]
    if not snapshot:
        commands[1].append("--remove")
    for command in commands:
        subprocess.run(
            [sys.executable, "-m", "quaestor", *command],
            cwd=folder,
            check=command[0] == "account" or snapshot,
            capture_output=True,
        )


def _best(command: list[str]) -> dict[str, Any] | str:
    """The least of some runs, or why there is none."""
    runs = []
    for _ in range(_RUNS):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return "not installed: run `make benchmark`"
        if done.returncode:
            return done.stderr.strip().splitlines()[-1][:120]
        runs.append(json.loads(done.stdout.splitlines()[-1]))
        if runs[-1]["cpu"] > _TOO_LONG_TO_REPEAT:
            break
    least = min(runs, key=lambda run: float(run["cpu"]))
    return {**least, "wall": min(run["wall"] for run in runs)}


def _page(found: dict[str, dict[str, Any] | str], before: str) -> str:
    lines = ["# A large table, beside others", "", _NOTES]
    lines += [f"- {name}: {value}" for name, value in machine(_LIBRARIES).items()]
    lines += [f"- load before, after: {before}, {load()}", ""]
    lines += [
        "| way | wall clock | CPU | memory (MB) | CPU / by hand | CPU / ours |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    hand, ours = found["DuckDB, bounded by hand"], found["ours"]
    for way, took in found.items():
        if isinstance(took, str) or isinstance(hand, str) or isinstance(ours, str):
            lines.append(f"| {way} | {took} | | | | |")
            continue
        cpu = took["cpu"]
        lines.append(
            f"| {took.get('name', way)} | {took['wall']:.2f} | {cpu:.2f} | {took['memory']:,} | "
            f"{cpu / hand['cpu']:.2f} | {cpu / ours['cpu']:.2f} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
