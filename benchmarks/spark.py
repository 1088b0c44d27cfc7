"""How cost grows on Spark: ``python -m benchmarks.spark [rows ...]``, beside SQL by hand.

A hundred million rows, which are asked where nothing else is said, take an hour on two cores.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.goals import Goal, goal_lines
from benchmarks.machine import load, machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.kernel.figures import Prepared
    from quaestor.curator.kernel.measurement import Measurement

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "how-cost-grows.md"

_SIZES = (1_000_000, 10_000_000, 100_000_000)
_ROWS_A_UNIT, _GROUPS, _KEPT, _COUNTED = 10, 20, 5, 50
_ROWS_A_KEY, _KEYS_A_UNIT, _THRESHOLD = 10, 100, 12
_RUNS = 2
_ONCE = 100_000_000
"""So many rows are asked once."""
_WRITTEN = 1_000_000
"""So many rows are made at a time."""
_CODES = tuple(f"group {number}" for number in range(_GROUPS))
_NOTES = f"""\
Written by `python -m benchmarks.spark`; not edited by hand.

Spark on this machine (`local[2]`, 2 GiB), Parquet files, {_ROWS_A_UNIT} rows of a unit in
{_GROUPS} declared groups, scattered: a count and a sum by group, of each unit at most {_COUNTED}
rows in a group and {_KEPT} groups. *By hand* is SQL that a careful person would write: added up by
unit and group, ranked by a hash, added up by group. *Ours* is the kernel's statement, with NaN,
bounds and codes taken care of. Seconds of CPU are those of Spark's Java process, the least of
{_RUNS} (of {_ONCE:,} rows, of one). *Exchanged* is what stages write for others to read: compressed
bytes, and records.
"""
_GROWTH = """
## What grows with what

| step | exchanged | held in memory |
| --- | --- | --- |
| rows are sent by unit, once | one record a row: unit, group, addends | nothing: it is on disk |
| added up, ranked and bounded by unit | nothing | the groups of the units of one task |
| added up by group | one record a group and task | one record a group |
| collected | one row a declared group, or a shown private one, in columns | the answer |
| private groups are kept | nothing: sorted where they are, written to disk | one task's |
| runs of private groups | one record a number of units and task | one record each |
| groups that are shown are fetched | their row numbers, to every task | the answer |

Of histograms (medians, quantiles) every value that occurs in a group that is shown is collected,
with its count, because the curator draws the noise and not the engine: at most as many as there
are steps between the bounds. More than a million row numbers are sent with the rows instead.

A unit's rows are added up in one task. A unit with a tenth of all rows makes that task ten times
as long as the average of a hundred tasks; other tasks wait for it only at the end.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    """What one statement took."""

    cpu: float
    wall: float
    written: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _PrivateCost:
    """What one question about private keys took: of Spark, and of the curator's own process."""

    engine: _Cost
    curator: float
    megabytes: int
    groups: int
    shown: int


def main() -> None:
    """Measure, show and keep."""
    sizes = tuple(map(int, sys.argv[1:])) or _SIZES
    before = load()
    facts = machine(("quaestor-dp", "pyspark"))
    costs: dict[int, tuple[_Cost, _Cost]] = {}
    private: dict[int, _PrivateCost] = {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in sizes:
            path = Path(folder) / f"{rows}.parquet"
            _fill(path, rows)
            costs[rows] = _measured(path, runs=1 if rows >= _ONCE else _RUNS)
            private[rows] = _measured_private(path)
            path.unlink()
    lines = ["# How cost grows on Spark", "", _NOTES]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    lines += [f"- load before, after: {before}, {load()}", "", *_table(costs)]
    lines += [*goal_lines(_goals(costs)), *_private_table(private), _GROWTH]
    lines += _extrapolated(costs, private)
    text = "\n".join(lines) + "\n"
    print(text)
    if sizes == _SIZES:
        RESULTS.write_text(text, encoding="utf-8")


def _goals(costs: dict[int, tuple[_Cost, _Cost]]) -> list[Goal]:
    return [
        Goal(
            what=f"{rows:,} rows, CPU beside SQL by hand",
            measured=ours.cpu / hand.cpu,
            at_most=1.15,
            unit="times",
        )
        for rows, (hand, ours) in costs.items()
    ]


def _table(costs: dict[int, tuple[_Cost, _Cost]]) -> list[str]:
    lines = [
        "| rows | by hand | ours | ours / by hand | exchanged, by hand | exchanged, ours |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for rows, (hand, ours) in costs.items():
        sent = [f"{c.written / 1e6:.0f} MB, {c.records:,}" for c in (hand, ours)]
        lines.append(
            f"| {rows:,} | {hand.cpu:.1f} | {ours.cpu:.1f} | {ours.cpu / hand.cpu:.2f} | "
            f"{sent[0]} | {sent[1]} |"
        )
    return lines


def _private_table(costs: dict[int, _PrivateCost]) -> list[str]:
    lines = [
        "## Private keys",
        "",
        (
            f"How many units have each of many whole numbers ({_ROWS_A_KEY} rows of each; nobody "
            f"counts in more than {_KEYS_A_UNIT}), none declared: those whose noisy number of "
            f"units reaches {_THRESHOLD} are shown. Seconds of CPU of Spark and of the "
            "curator's process, asked once; *memory* is the most that the latter has held so far."
        ),
        "",
        "| rows | private groups | shown | Spark | curator | memory | exchanged |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for rows, cost in costs.items():
        sent = f"{cost.engine.written / 1e6:.0f} MB, {cost.engine.records:,}"
        lines.append(
            f"| {rows:,} | {cost.groups:,} | {cost.shown:,} | {cost.engine.cpu:.1f} | "
            f"{cost.curator:.1f} | {cost.megabytes:,} MB | {sent} |"
        )
    return lines


def _extrapolated(
    costs: dict[int, tuple[_Cost, _Cost]], private: dict[int, _PrivateCost]
) -> list[str]:
    if len(costs) < 2:
        return []
    few, many = list(costs)[-2:]
    (_, small), (_, large) = costs[few], costs[many]
    each = (large.cpu - small.cpu) / (many - few)
    sent = (large.written - small.written) / (many - few)
    engine, curator = (
        (last - first) / (many - few) * 1e9
        for first, last in (
            (private[few].engine.cpu, private[many].engine.cpu),
            (private[few].curator, private[many].curator),
        )
    )
    return [
        "## A billion rows",
        "",
        (
            f"From {few:,} to {many:,} rows every row more takes {each * 1e6:.1f} microseconds of "
            f"CPU, and {sent:.0f} bytes are exchanged. If it goes on like that, a billion rows of "
            f"a hundred million units take {each * 1e9 / 3600:.1f} hours of CPU and exchange "
            f"{sent:.0f} GB: this was not measured. What is collected stays the same."
        ),
        "",
        (
            f"A hundred million private keys of a billion rows take {engine / 3600:.1f} hours of "
            f"Spark's CPU and {curator / 60:.1f} minutes of the curator's, if that goes on, too: "
            "it was not measured either."
        ),
    ]


def _fill(path: Path, rows: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(22)
    kinds = {"unit": pa.int64(), "key": pa.string(), "value": pa.float64(), "item": pa.int64()}
    with pq.ParquetWriter(path, pa.schema(kinds)) as writer:
        for start in range(0, rows, _WRITTEN):
            size = min(_WRITTEN, rows - start)
            numbers = rng.integers(0, _GROUPS, size).astype("int8")
            keys = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(_CODES))
            columns = {
                "unit": rng.integers(0, rows // _ROWS_A_UNIT, size),
                "key": keys.cast(pa.string()),
                "value": np.round(rng.random(size) * 100, 2),
                "item": rng.integers(0, rows // _ROWS_A_KEY, size),
            }
            writer.write_table(pa.table(columns), row_group_size=500_000)


def _measured(path: Path, *, runs: int) -> tuple[_Cost, _Cost]:
    """By hand, and ours, in turns, so that a busy machine is so for both."""
    prepared, session = _prepared(path, _declared())
    session.read.parquet(str(path)).createOrReplaceTempView("scattered")
    by_hand = _by_hand()
    calls: list[Callable[[], object]] = [lambda: session.sql(by_hand).collect(), prepared.exact]
    found: list[list[_Cost]] = [[], []]
    for _ in range(runs):
        for call, costs in zip(calls, found, strict=True):
            costs.append(_cost(session, call))
    hand, ours = (min(costs, key=lambda cost: cost.cpu) for costs in found)
    return hand, ours


def _measured_private(path: Path) -> _PrivateCost:
    """A question about private keys, from its statements to what is drawn."""
    from quaestor.curator.kernel.figures import KeptGroups, drawn_of_kept

    prepared, session = _prepared(path, _private())
    found: list[int] = []

    def asked() -> None:
        kept = prepared.measured()
        if not isinstance(kept, KeptGroups):
            raise TypeError("Spark keeps no groups")
        released = drawn_of_kept(prepared.measurement, kept)
        found.extend((int(kept.runs.count.sum()), len(released.places)))
        kept.close()

    used = time.process_time()
    engine = _cost(session, asked)
    curator = time.process_time() - used
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    groups, shown = found
    return _PrivateCost(
        engine=engine, curator=curator, megabytes=megabytes, groups=groups, shown=shown
    )


def _cost(session: Any, call: Callable[[], object]) -> _Cost:
    known = {stage.stageId() for stage in _stages(session)}
    start, used = time.perf_counter(), _java_seconds(session)
    call()
    wall, cpu = time.perf_counter() - start, _java_seconds(session) - used
    new = [stage for stage in _stages(session) if stage.stageId() not in known]
    return _Cost(
        cpu=cpu,
        wall=wall,
        written=sum(stage.shuffleWriteBytes() for stage in new),
        records=sum(stage.shuffleWriteRecords() for stage in new),
    )


def _stages(session: Any) -> list[Any]:
    context = session.sparkContext
    nothing = context._gateway.new_array(context._jvm.double, 0)  # noqa: SLF001
    store = context._jsc.sc().statusStore()  # noqa: SLF001
    found = store.stageList(None, False, False, nothing, None)  # noqa: FBT003
    return [found.apply(at) for at in range(found.size())]


def _java_seconds(session: Any) -> float:
    process = session.sparkContext._gateway.proc.pid  # noqa: SLF001
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _by_hand() -> str:
    names = ", ".join(f"'{code}'" for code in _CODES)
    return (
        f"SELECT key, COUNT(*), SUM(LEAST(n, {_COUNTED})), "  # noqa: S608 (numbers of this file)
        f"SUM(CASE WHEN n <= {_COUNTED} THEN s ELSE s * {_COUNTED} div n END) FROM ("
        "SELECT *, row_number() OVER (PARTITION BY unit ORDER BY md5(concat(unit, ':', key))) "
        "AS place FROM (SELECT unit, key, COUNT(*) AS n, "
        "SUM(CAST(round(LEAST(GREATEST(value, 0), 100) * 100) AS INT)) AS s "
        f"FROM scattered WHERE key IN ({names}) GROUP BY unit, key)) "
        f"WHERE place <= {_KEPT} GROUP BY key"
    )


def _prepared(path: Path, measurement: Measurement) -> tuple[Prepared, Any]:
    """The measurement, ready to run, and Spark's session."""
    from pyspark.sql import SparkSession

    from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
    from quaestor.curator.engines import engine_for

    builder = SparkSession.builder.appName("quaestor").master("local[2]")
    builder = builder.config("spark.driver.memory", "2g").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.local.dir", tempfile.gettempdir()).getOrCreate()
    table = Table(
        name="visits",
        source=Source(engine="spark", connection="local[2]", files=str(path)),
        unit="unit",
        columns=(
            ColumnFacts(name="unit", kind="integer"),
            ColumnFacts(name="key", kind="text"),
            ColumnFacts(name="value", kind="real", low=0.0, high=100.0, granularity=0.01),
            ColumnFacts(name="item", kind="integer"),
        ),
    )
    engine = engine_for(Catalog(tables=(table,), ledger=""), ["visits"])
    return engine.prepare(measurement), session


def _declared() -> Measurement:
    """A count and a sum by declared groups."""
    from quaestor.curator.kernel.draws import NoisyMeasure
    from quaestor.curator.kernel.measurement import CellKey, Cells, Measurement
    from quaestor.curator.kernel.measures import RowCount, Total, Units
    from quaestor.curator.language.expressions import Column
    from quaestor.curator.language.query import Scan
    from quaestor.mechanisms import Geometric

    total = Total(operand=Column("value"), low=0, high=10_000, step=0.01, rows=_COUNTED)
    draws = tuple(
        NoisyMeasure(
            measure=measure,
            mechanism=Geometric(scale=1.0, sensitivity=-(-measure.sensitivity // 2**10)),
            spread=_KEPT,
            grain=2**10,
        )
        for measure in (Units(), RowCount(rows=_COUNTED), total)
    )
    key = CellKey(expression=Column("key"), kind="text", codes=_CODES)
    return Measurement(
        dataset="visits",
        rows=Scan("visits"),
        cells=Cells(keys=(key,), groups=_KEPT),
        choice=None,
        draws=draws,
    )


def _private() -> Measurement:
    """How many units have each private key, of those that are shown."""
    from quaestor.curator.kernel.draws import NoisyUnits
    from quaestor.curator.kernel.measurement import CellKey, Cells, Measurement
    from quaestor.curator.kernel.measures import Units
    from quaestor.curator.language.expressions import Column
    from quaestor.curator.language.query import Scan
    from quaestor.mechanisms import PartitionSelection

    mechanism = PartitionSelection(scale=1.0, threshold=_THRESHOLD, contributions=_KEYS_A_UNIT)
    key = CellKey(expression=Column("item"), kind="integer", codes=None)
    return Measurement(
        dataset="visits",
        rows=Scan("visits"),
        cells=Cells(keys=(key,), groups=_KEYS_A_UNIT),
        choice=NoisyUnits(measure=Units(), mechanism=mechanism),
        draws=(),
    )


if __name__ == "__main__":
    main()
