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
from benchmarks.machine import load, machine

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "curator.md"

_ROWS, _UNITS, _GROUPS = 10_000_000, 100_000, 20
_NOTES = f"""\
Written by `python -m benchmarks.curator`; not edited by hand.

DuckDB, {_ROWS:,} rows of {_UNITS:,} units in {_GROUPS} declared groups: a count and a sum by group;
the best of five, in seconds. *Plain* is the aggregate without any bounding. *Window* and *by hand*
bound in SQL that a careful person would write: at most 50 rows of a unit in a group, found by
numbering all rows, or by adding up by unit and group first, and the groups that a unit may be in
chosen by a hash. *Ours* is `Engine.measure`, from the query to the whole numbers, with the same
limits, NaN and bounds taken care of. *Scattered* rows are in no order; *together*, all rows of a
unit follow each other and are in few groups, as in tables that grow by event.
"""
_PLAN_RUNS = 20
_LIBRARIES = ("quaestor", "duckdb", "ibis-framework", "sqlglot")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    name: str
    table: str
    groups: int

    @property
    def binding(self) -> bool:
        return self.groups < _GROUPS


_SETTINGS = (
    _Setting(name="scattered, all groups", table="scattered", groups=_GROUPS),
    _Setting(name="scattered, 5 groups a unit", table="scattered", groups=5),
    _Setting(name="together, all groups", table="together", groups=_GROUPS),
    _Setting(name="together, 2 groups a unit", table="together", groups=2),
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
        rows = [_row(path, setting) for setting in _SETTINGS]
        planning, fresh = _planning(path)
    lines += [f"- load before, after: {before}, {load()}", ""]
    lines += [
        "| rows | plain | window | by hand | ours | ours / by hand | ours / plain |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        f"Planning a query of three measures: {planning * 1e3:.1f} ms (goal: below 30 ms).",
        f"The same query once more: {fresh * 1e6:.0f} microseconds.",
        *asking_lines(),
        "Goals: at most 1.3 times by hand, and below 4 times plain where the data allow it.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


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


def _row(path: Path, setting: _Setting) -> str:
    import duckdb

    engine, query, measures = _asked(path, setting)
    with duckdb.connect(str(path), read_only=True) as connection:
        calls: list[Callable[[], object]] = [lambda: engine.measure(query, measures)]
        calls += [partial(_run, connection, sql) for sql in _by_hand(setting)]
        ours, plain, window, by_hand = _best(calls)
    engine.close()
    ratios = f"{ours / by_hand:.2f} | {ours / plain:.1f}"
    seconds = " | ".join(f"{one:.2f}" for one in (plain, window, by_hand, ours))
    return f"| {setting.name} | {seconds} | {ratios} |"


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


def _asked(path: Path, setting: _Setting) -> tuple[Any, Any, tuple[Any, ...]]:
    from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
    from quaestor.curator.engines import engine_for
    from quaestor.curator.kernel.measures import Rows, Total, Units
    from quaestor.curator.language.expressions import Column
    from quaestor.curator.query import Contribution, Key, Query, Scan

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
    query = Query(
        dataset="benchmark",
        rows=Scan(setting.table),
        unit="unit",
        contribution=Contribution(rows=50, groups=setting.groups),
        keys=(Key(name="key", expression=Column("key"), kind="text", values=names),),
        aggregates=(),
        outputs=(),
    )
    total = Total(operand=Column("value"), low=0, high=10_000, step=0.01, rows=50)
    engine = engine_for(Catalog(tables=(table,), ledger=""), [setting.table])
    return engine, query, (Units(), Rows(rows=50), total)


def _planning(path: Path) -> tuple[float, float]:
    """Seconds to plan a query that is new, and one that is known."""
    from dataclasses import replace

    from quaestor.curator.query import Contribution

    engine, query, measures = _asked(path, _SETTINGS[1])
    engine.check(query, measures)
    new = []
    for rows in range(100, 100 + _PLAN_RUNS):
        other = replace(query, contribution=Contribution(rows=rows, groups=5))
        start = time.perf_counter()
        engine.check(other, measures)
        new.append(time.perf_counter() - start)
    start = time.perf_counter()
    engine.check(query, measures)
    known = time.perf_counter() - start
    engine.close()
    return statistics.median(new), known


def _run(connection: Any, sql: str) -> None:
    connection.execute(sql).fetchall()


def _best(calls: list[Callable[[], object]]) -> list[float]:
    """The least seconds of each, called in turns, so that a busy machine is so for all of them."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(5):
        for call, taken in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in seconds]


if __name__ == "__main__":
    main()
