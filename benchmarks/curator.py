"""How fast contribution bounding and whole questions are: ``python -m benchmarks.curator``."""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.asking import asking_lines
from benchmarks.cliffs import cliff_lines
from benchmarks.goals import Goal, goal_lines
from benchmarks.machine import load, machine
from benchmarks.startup import cold_lines

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "curator.md"

_ROWS, _UNITS, _GROUPS = 10_000_000, 100_000, 20
_NOTES = f"""\
Written by `python -m benchmarks.curator`; not edited by hand.

DuckDB, {_ROWS:,} rows of {_UNITS:,} units in {_GROUPS} declared groups: a count and a sum by
group; the best of five, in seconds of wall clock and, in brackets, of CPU. *Plain* is the
aggregate without any bounding. *Window* and *by hand* bound in SQL that a careful person would
write: at most 50 rows of a unit in a group, found by numbering all rows, or by adding up by unit
and group first, and the groups that a unit may be in chosen by a hash. *Ours* is the kernel, from
a measurement to the whole numbers, with the same limits, NaN and bounds taken care of.
*Scattered* rows are in no order; *together*, all rows of a unit follow each other and are in few
groups, as in tables that grow by event. *Snapshot* is ours on a prepared copy of the table.
"""
_PLAN_RUNS = 20
_LIBRARIES = ("quaestor-dp", "duckdb", "sqlglot")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    name: str
    table: str
    groups: int
    reason: str = (
        "adding up by unit and group is nearly all of it, and takes DuckDB as long by hand; "
        "values that are not numbers or out of bounds cost the rest"
    )
    """Why a goal was missed, if it was: of the table, and of its snapshot."""
    of_snapshot: str = (
        "adding up by unit and group takes DuckDB, of numbers that are ready and sorted, a third "
        "of what bounding by hand takes; to find groups and clamp values takes the rest"
    )

    @property
    def binding(self) -> bool:
        return self.groups < _GROUPS


_TOGETHER = "the table's own rows are together already: a sorted copy has nothing to win"
_SETTINGS = (
    _Setting(name="scattered, all groups", table="scattered", groups=_GROUPS),
    _Setting(name="scattered, 5 groups a unit", table="scattered", groups=5),
    _Setting(name="together, all groups", table="together", groups=_GROUPS, of_snapshot=_TOGETHER),
    _Setting(name="together, 2 groups a unit", table="together", groups=2, of_snapshot=_TOGETHER),
)


def main() -> None:
    """Measure, show and keep."""
    import duckdb

    before = load()
    lines = ["# Contribution bounding", "", _NOTES]
    lines += [f"- {name}: {value}" for name, value in machine(_LIBRARIES).items()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.duckdb"
        with duckdb.connect(str(path)) as connection:
            _fill(connection)
        rows, goals = [], []
        for setting in _SETTINGS:
            row, wanted = _row(path, setting)
            rows.append(row)
            goals += wanted
        planning, fresh = _planning(path)
    asking, cold, cliffs = asking_lines(), cold_lines(), _cliffs()
    goals += [*cold[1], *asking[1], *cliffs[1]]
    lines += [f"- load before, after: {before}, {load()}", ""]
    lines += [
        (
            "| rows | plain | window | by hand | ours | snapshot | ours / by hand "
            "| snapshot / by hand | ours / plain |"
        ),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        "Ratios are of CPU time.",
        f"Writing the statement of three measures: {planning * 1e3:.2f} ms.",
        f"The same query once more: {fresh * 1e6:.0f} microseconds.",
        *asking[0],
        *cold[0],
        "Whole questions, of 10 million rows of 100,000 units (`python -m benchmarks.cliffs`):",
        "",
        *cliffs[0],
        *goal_lines(goals),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


def _cliffs() -> tuple[list[str], list[Goal]]:
    with tempfile.TemporaryDirectory() as folder:
        return cliff_lines(Path(folder))


def _fill(connection: Any) -> None:
    connection.execute(
        f"""CREATE TABLE scattered AS SELECT
            (hash(range) % {_UNITS})::BIGINT AS unit,
            'group ' || (hash(range * 3 + 1) % {_GROUPS}) AS key,
            ((hash(range * 7) % 10000) / 100.0)::DOUBLE AS value
        FROM range({_ROWS})"""  # noqa: S608 (numbers of this file)
    )
    connection.execute(
        f"""CREATE TABLE together AS SELECT
            (range // {_ROWS // _UNITS})::BIGINT AS unit,
            'group ' || (hash(range // {_ROWS // _UNITS // 3}) % {_GROUPS}) AS key,
            ((hash(range * 7) % 10000) / 100.0)::DOUBLE AS value
        FROM range({_ROWS})"""  # noqa: S608 (numbers of this file)
    )


def _row(path: Path, setting: _Setting) -> tuple[str, list[Goal]]:
    import duckdb

    from quaestor.curator.engines.duckdb.snapshots import Snapshots

    engine, measured = _asked(path, setting)
    snapshots = Snapshots(engine.catalog)
    prepared = engine.prepare(measured(50))
    snapshots.prepare(setting.table)
    copied, _ = _asked(path, setting)
    of_copy = copied.prepare(measured(50))
    with duckdb.connect(str(path), read_only=True) as connection:
        calls: list[Callable[[], object]] = [prepared.exact, of_copy.exact]
        calls += [partial(_run, connection, sql) for sql in _by_hand(setting)]
        ours, ready, plain, window, by_hand = _best(calls)
    engine.close()
    copied.close()
    snapshots.remove(setting.table)
    shares = ours[1] / by_hand[1], ready[1] / by_hand[1]
    ratios = f"{shares[0]:.2f} | {shares[1]:.2f} | {ours[1] / plain[1]:.1f}"
    columns = (plain, window, by_hand, ours, ready)
    seconds = " | ".join(f"{wall:.2f} ({cpu:.2f})" for wall, cpu in columns)
    goals = [
        Goal(
            what=f"bounding, {setting.name}{words}, CPU beside SQL by hand",
            measured=share,
            at_most=most,
            unit="times",
            reason=setting.of_snapshot if words else setting.reason,
        )
        for share, most, words in zip(shares, (0.75, 0.4), ("", ", on a snapshot"), strict=True)
    ]
    return f"| {setting.name} | {seconds} | {ratios} |", goals


def _by_hand(setting: _Setting) -> tuple[str, str, str]:
    names = ", ".join(f"'group {number}'" for number in range(_GROUPS))
    table, limit = setting.table, ""
    if setting.binding:
        limit = (
            "QUALIFY row_number() OVER (PARTITION BY unit ORDER BY md5(unit || ':' || key)) "
            f"<= {setting.groups}"
        )
    plain = f"SELECT key, count(*), sum(value) FROM {table} GROUP BY key"  # noqa: S608
    window = (
        "WITH few AS (SELECT unit, key, value FROM (SELECT *, "  # noqa: S608
        "row_number() OVER (PARTITION BY unit, key ORDER BY hash(value)) AS place, "
        "dense_rank() OVER (PARTITION BY unit ORDER BY hash(unit, key)) AS group_place "
        f"FROM {table} WHERE key IN ({names})) "
        f"WHERE place <= 50 AND group_place <= {setting.groups}) "
        "SELECT key, count(*), sum(least(greatest(value, 0), 100)) FROM few GROUP BY key"
    )
    by_hand = (
        "SELECT key, sum(least(n, 50)), "  # noqa: S608
        "sum(CASE WHEN n <= 50 THEN s ELSE s * 50 // n END) FROM ("
        "SELECT unit, key, count(*) AS n, "
        "sum(round(least(greatest(value, 0), 100) * 100)::INT)::BIGINT AS s "
        f"FROM {table} WHERE key IN ({names}) GROUP BY unit, key {limit}) GROUP BY key"
    )
    return plain, window, by_hand


def _asked(path: Path, setting: _Setting) -> tuple[Any, Callable[[int], Any]]:
    """The engine, and the measurement in which so many rows of a unit count."""
    from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
    from quaestor.curator.engines import engine_for
    from quaestor.curator.kernel.draws import NoisyMeasure
    from quaestor.curator.kernel.measurement import CellKey, Cells, Measurement
    from quaestor.curator.kernel.measures import RowCount, Total, Units
    from quaestor.curator.language.expressions import Column
    from quaestor.curator.language.query import Scan
    from quaestor.mechanisms import Geometric

    table = Table(
        name=setting.table,
        source=Source(engine="duckdb", connection=str(path), table=setting.table),
        unit="unit",
        columns=(
            ColumnFacts(name="unit", kind="integer"),
            ColumnFacts(name="key", kind="text"),
            ColumnFacts(name="value", kind="real", low=0.0, high=100.0, granularity=0.01),
        ),
    )
    names = tuple(f"group {number}" for number in range(_GROUPS))
    key = CellKey(expression=Column("key"), kind="text", codes=names)
    grain = 2**10

    def measured(rows: int) -> Measurement:
        total = Total(operand=Column("value"), low=0, high=10_000, step=0.01, rows=rows)
        draws = tuple(
            NoisyMeasure(
                measure=measure,
                mechanism=Geometric(scale=1.0, sensitivity=-(-measure.sensitivity // grain)),
                spread=setting.groups,
                grain=grain,
            )
            for measure in (Units(), RowCount(rows=rows), total)
        )
        return Measurement(
            dataset=setting.table,
            rows=Scan(setting.table),
            cells=Cells(keys=(key,), groups=setting.groups),
            choice=None,
            draws=draws,
        )

    catalog = Catalog(tables=(table,), ledger="", folder=str(path.parent))
    return engine_for(catalog, [setting.table]), measured


def _planning(path: Path) -> tuple[float, float]:
    """Seconds to write the statements of a question that is new, and of one that is known."""
    engine, measured = _asked(path, _SETTINGS[1])
    engine.prepare(measured(50))
    new = []
    for rows in range(100, 100 + _PLAN_RUNS):
        other = measured(rows)
        start = time.perf_counter()
        engine.prepare(other)
        new.append(time.perf_counter() - start)
    known = measured(50)
    start = time.perf_counter()
    engine.prepare(known)
    again = time.perf_counter() - start
    engine.close()
    return statistics.median(new), again


def _run(connection: Any, sql: str) -> None:
    connection.execute(sql).fetchall()


def _best(calls: list[Callable[[], object]]) -> list[tuple[float, float]]:
    """The least seconds of wall clock and of CPU of each.

    They are called in turns, so that a busy machine is so for all of them.
    """
    walls: list[list[float]] = [[] for _ in calls]
    cpus: list[list[float]] = [[] for _ in calls]
    for _ in range(5):
        for call, wall, cpu in zip(calls, walls, cpus, strict=True):
            start, used = time.perf_counter(), time.process_time()
            call()
            wall.append(time.perf_counter() - start)
            cpu.append(time.process_time() - used)
    return [(min(wall), min(cpu)) for wall, cpu in zip(walls, cpus, strict=True)]


if __name__ == "__main__":
    main()
