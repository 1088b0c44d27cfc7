"""How the cost of a question grows in DuckDB: ``python -m benchmarks.growth``.

One fact of the data or of the question is changed at a time. Each question runs in a process of
its own, so that its memory is its own, beside what DuckDB takes for the aggregate alone.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import load, machine
from benchmarks.text import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"
RESULTS = _FOLDER / "growth.md"

_RUNS = 1
_FIRST = "SELECT COUNT(*) AS n FROM t"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    """The facts that cost depends on. ``private`` groups are not declared, but found."""

    rows: int = 1_000_000
    units: int = 10_000
    groups: int = 20
    private: bool = False
    sums: int = 1

    @property
    def sql(self) -> str:
        sums = ", ".join(f"SUM(value + {number}) AS s{number}" for number in range(self.sums))
        return f"SELECT key, COUNT(*) AS n, {sums} FROM t GROUP BY key"  # noqa: S608

    @property
    def catalog(self) -> str:
        declared = "" if self.private else f", keys = {list(range(self.groups))}"
        return f"""
[tables.t]
database = "t.duckdb"
unit = "unit"
rows = 50
groups = 5

[tables.t.columns]
unit = "integer"
key = {{ kind = "integer"{declared} }}
value = {{ kind = "real", low = 0.0, high = 100.0, granularity = 0.01 }}

[accounts.research]
epsilon = 1e6
delta = 1e-2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """One fact, and the values that it is given."""

    fact: str
    name: str
    values: tuple[int, ...]
    base: _Size = _Size()

    @property
    def sizes(self) -> list[_Size]:
        changes: list[dict[str, Any]] = [{self.fact: value} for value in self.values]
        return [replace(self.base, **change) for change in changes]


_DATA = (
    _Axis(fact="rows", name="rows", values=(300_000, 1_000_000, 3_000_000, 10_000_000)),
    _Axis(fact="units", name="units", values=(1_000, 10_000, 100_000, 1_000_000)),
    _Axis(fact="sums", name="sums", values=(1, 5, 20, 50)),
)
_GROUPS = (
    _Axis(fact="groups", name="declared groups", values=(20, 200, 2_000, 20_000)),
    _Axis(
        fact="groups",
        name="private groups",
        values=(20, 2_000, 20_000, 200_000),
        base=_Size(private=True, units=100_000),
    ),
)
_PICTURES = {"growth.svg": _DATA, "growth-groups.svg": _GROUPS}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    """Seconds of CPU of a whole question, of plain DuckDB, and the bytes that Python held."""

    ours: float
    plain: float
    python: int
    memory: int
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """Cost as a fixed part and one that grows: the line with the least relative errors."""

    fixed: float
    each: float
    off: float

    @classmethod
    def through(cls, sizes: Sequence[int], costs: Sequence[float]) -> _Line:
        import numpy as np

        x, y = np.asarray(sizes, dtype=float), np.asarray(costs)
        columns = np.stack([1.0 / y, x / y], axis=1)
        fixed, each = np.linalg.lstsq(columns, np.ones_like(y), rcond=None)[0]
        if fixed < 0.0:
            fixed, each = 0.0, float((x / y).sum() / ((x / y) ** 2).sum())
        elif each < 0.0:
            fixed, each = float((1.0 / y).sum() / ((1.0 / y) ** 2).sum()), 0.0
        off = float(np.abs((fixed + each * x) / y - 1.0).max())
        return cls(fixed=float(fixed), each=float(each), off=off)


_NOTES = f"""\
Written by `python -m benchmarks.growth`; not edited by hand.

Whole questions of a DuckDB table, from the text to the answer with its noise, error bars and
charge: `SELECT key, COUNT(*), SUM(value) ... GROUP BY key`. One fact changes at a time; the others
are {_Size().rows:,} scattered rows of {_Size().units:,} units in {_Size().groups} declared groups,
and one sum (private groups: 100,000 units). Of a unit at most 50 rows in a group and 5 groups
count, so that most units exceed a limit. Seconds are of CPU, each measured once in a process of
its own after a first, smaller question, whole errors included. *Plain* is DuckDB's aggregate alone,
without bounding or noise. *Python* is the most memory that the curator itself allocates; *memory*
is that of the whole process, DuckDB included. With private groups only those are answered that
enough people are in.

What takes the time are the pairs of a unit and a group, of which there are at most as many as
rows: each is ranked where its unit is in too many groups, once for the answer and its whole error
together. So cost grows with units and groups only until every row is a pair of its own, and
lines through the points of units and of declared groups are poor. What Python holds does not grow
with rows or units. No ratio is given where plain takes less than a hundredth of a second.
"""


def main() -> None:
    """Measure all, or one size that is given."""
    if len(sys.argv) > 1:
        folder, asked = sys.argv[1:]
        print(json.dumps(asdict(_measured(Path(folder), _Size(**json.loads(asked))))))
        return
    before = load()
    lines = ["# How cost grows", "", _NOTES]
    lines += [f"- {name}: {value}" for name, value in machine(("quaestor-dp", "duckdb")).items()]
    costs = {axis: [_apart(size) for size in axis.sizes] for axis in (*_DATA, *_GROUPS)}
    lines += [f"- load before, after: {before}, {load()}", ""]
    for picture, chosen in _PICTURES.items():
        _draw(_FOLDER / picture, {axis: costs[axis] for axis in chosen})
        names = ", ".join(axis.name for axis in chosen)
        lines += [f"![Seconds of CPU against {names}, with fitted lines]({picture})", ""]
        for axis in chosen:
            lines += [*_section(axis, costs[axis]), ""]
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


def _section(axis: _Axis, costs: Sequence[_Cost]) -> list[str]:
    lines = [
        f"## With {axis.name}",
        "",
        f"| {axis.name} | ours | plain | ours / plain | Python | memory | groups answered |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for value, cost in zip(axis.values, costs, strict=True):
        ratio = f"{cost.ours / cost.plain:.1f}" if cost.plain >= 0.01 else "-"
        lines.append(
            f"| {value:,} | {cost.ours:.2f} | {cost.plain:.3f} | {ratio} "
            f"| {cost.python / 1e6:.1f} MB | {cost.memory / 1e6:,.0f} MB | {cost.answers:,} |"
        )
    line = _Line.through(axis.values, [cost.ours for cost in costs])
    return [
        *lines,
        "",
        (
            f"Fitted: {duration(line.fixed)}, and {duration(line.each)} for each of the "
            f"{axis.name}; the line is off by {line.off:.0%} at most."
        ),
    ]


def _draw(out: Path, costs: dict[_Axis, list[_Cost]]) -> None:
    import numpy as np

    from quaestor.figures.style import COLOURS, drawing

    with drawing(out, panels=len(costs), height=3.2) as panels:
        for axes, (axis, found) in zip(panels, costs.items(), strict=True):
            line = _Line.through(axis.values, [cost.ours for cost in found])
            x = np.geomspace(axis.values[0], axis.values[-1])
            axes.plot(x, line.fixed + line.each * x, color=COLOURS[0], lw=1.0)
            for colour, name in zip(COLOURS, ("ours", "plain"), strict=False):
                seconds = [getattr(cost, name) for cost in found]
                axes.plot(axis.values, seconds, "o", color=colour, label=name, ms=4)
            axes.set(xscale="log", yscale="log", xlabel=axis.name)
            axes.set_xticks(axis.values, [f"{value:,}" for value in axis.values])
            axes.set_xticks([], minor=True)
        panels[0].set_ylabel("seconds of CPU")
        panels[0].legend(loc="center right")


def _apart(size: _Size) -> _Cost:
    """The least of some runs, each in a process of its own, on one table."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        with duckdb.connect(str(Path(folder) / "t.duckdb")) as connection:
            connection.execute(
                f"CREATE TABLE t AS SELECT (hash(range) % {size.units})::BIGINT AS unit, "  # noqa: S608
                f"(hash(range * 3 + 1) % {size.groups})::BIGINT AS key, "
                f"((hash(range * 7) % 10000) / 100.0)::DOUBLE AS value FROM range({size.rows})"
            )
        command = [sys.executable, "-m", "benchmarks.growth", folder, json.dumps(asdict(size))]
        runs = [_run(command) for _ in range(_RUNS)]
    best = min(runs, key=lambda cost: cost.ours)
    print(f"{size}: {best}", file=sys.stderr)
    return replace(best, plain=min(cost.plain for cost in runs))


def _run(command: list[str]) -> _Cost:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return _Cost(**json.loads(done.stdout.splitlines()[-1]))


def _measured(folder: Path, size: _Size) -> _Cost:
    import duckdb

    from quaestor.curator import Curator

    with tempfile.TemporaryDirectory(dir=folder) as inner:
        text = size.catalog.replace('"t.duckdb"', '"../t.duckdb"')
        Path(inner, "quaestor.toml").write_text(text, encoding="utf-8")
        with Curator.from_file(inner) as curator:
            curator.open_account("research")
            curator.ask(_FIRST, epsilon=1.0)
            start = time.process_time()
            answers = len(curator.ask(size.sql, epsilon=100.0))
            ours = time.process_time() - start
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            tracemalloc.start()
            curator.ask(size.sql, epsilon=101.0)
            python = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    with duckdb.connect(str(folder / "t.duckdb"), read_only=True) as connection:
        start = time.process_time()
        connection.execute(size.sql).fetchall()
        plain = time.process_time() - start
    return _Cost(ours=ours, plain=plain, python=python, memory=memory, answers=answers)


if __name__ == "__main__":
    main()
