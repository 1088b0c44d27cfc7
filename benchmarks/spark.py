"""How cost grows on Spark: ``python -m benchmarks.spark``, beside SQL by hand."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import load, machine

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks" / "how-cost-grows.md"

_SIZES = (1_000_000, 10_000_000)
_ROWS_A_UNIT, _GROUPS, _KEPT, _COUNTED = 100, 20, 5, 50
_RUNS = 2
_CODES = tuple(f"group {number}" for number in range(_GROUPS))
_NOTES = f"""\
Written by `python -m benchmarks.spark`; not edited by hand.

Spark on this machine (`local[2]`, 2 GiB), Parquet files, {_ROWS_A_UNIT} rows of a unit in
{_GROUPS} declared groups, scattered: a count and a sum by group, of each unit at most {_COUNTED}
rows in a group and {_KEPT} groups. *By hand* is SQL that a careful person would write: added up by
unit and group, ranked by a hash, added up by group. *Ours* is the kernel's statement, with NaN,
bounds and codes taken care of. Seconds of CPU are those of Spark's Java process, the least of
{_RUNS}. *Exchanged* is what stages write for others to read: compressed bytes, and records.
"""
_GROWTH = """
## What grows with what

| step | exchanged | held in memory |
| --- | --- | --- |
| rows are sent by unit, once | one record a row: unit, group, addends | nothing: it is on disk |
| added up, ranked and bounded by unit | nothing | the groups of the units of one task |
| added up by group | one record a group and task | one record a group |
| collected | one row a declared group, in columns | the answer |

Private groups are collected with every group that a unit counts in, and histograms with every value
of a group, because noise is drawn by the curator and not by the engine: they have to fit in its
memory, which this page does not measure.

A unit's rows are added up in one task. A unit with a tenth of all rows makes that task ten times
as long as the average of a hundred tasks; others do not wait for it but at the end.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    """What one statement took."""

    cpu: float
    wall: float
    written: int
    records: int


def main() -> None:
    """Measure, show and keep."""
    before = load()
    facts = machine(("quaestor-dp", "pyspark"))
    costs: dict[int, tuple[_Cost, _Cost]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in _SIZES:
            path = Path(folder) / f"{rows}.parquet"
            _fill(path, rows)
            costs[rows] = _measured(path)
    lines = ["# How cost grows on Spark", "", _NOTES]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    lines += [f"- load before, after: {before}, {load()}", "", *_table(costs), _GROWTH]
    lines += _extrapolated(costs)
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


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


def _extrapolated(costs: dict[int, tuple[_Cost, _Cost]]) -> list[str]:
    (few, (_, small)), (many, (_, large)) = costs.items()
    each = (large.cpu - small.cpu) / (many - few)
    sent = (large.written - small.written) / (many - few)
    return [
        "## A billion rows",
        "",
        (
            f"From {few:,} to {many:,} rows every row more takes {each * 1e6:.1f} microseconds of "
            f"CPU, and {sent:.0f} bytes are exchanged. If it goes on like that, a billion rows of "
            f"ten million units take {each * 1e9 / 3600:.1f} hours of CPU and exchange "
            f"{sent:.0f} GB: this was not measured. What is collected stays the same."
        ),
    ]


def _fill(path: Path, rows: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(22)
    numbers = rng.integers(0, _GROUPS, rows).astype("int8")
    keys = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(_CODES)).cast(pa.string())
    table = pa.table(
        {
            "unit": rng.integers(0, rows // _ROWS_A_UNIT, rows),
            "key": keys,
            "value": np.round(rng.random(rows) * 100, 2),
        }
    )
    pq.write_table(table, path, row_group_size=500_000)


def _measured(path: Path) -> tuple[_Cost, _Cost]:
    """By hand, and ours, in turns, so that a busy machine is so for both."""
    prepared, session = _prepared(path)
    session.read.parquet(str(path)).createOrReplaceTempView("scattered")
    by_hand = _by_hand()
    calls: list[Callable[[], object]] = [lambda: session.sql(by_hand).collect(), prepared.exact]
    found: list[list[_Cost]] = [[], []]
    for _ in range(_RUNS):
        for call, costs in zip(calls, found, strict=True):
            costs.append(_cost(session, call))
    hand, ours = (min(costs, key=lambda cost: cost.cpu) for costs in found)
    return hand, ours


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


def _prepared(path: Path) -> tuple[Any, Any]:
    """The measurement, ready to run, and Spark's session."""
    from pyspark.sql import SparkSession

    from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
    from quaestor.curator.engines import engine_for
    from quaestor.curator.kernel.draws import NoisyMeasure
    from quaestor.curator.kernel.measurement import CellKey, Cells, Measurement
    from quaestor.curator.kernel.measures import RowCount, Total, Units
    from quaestor.curator.language.expressions import Column
    from quaestor.curator.language.query import Scan
    from quaestor.mechanisms import Geometric

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
        ),
    )
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
    measurement = Measurement(
        dataset="visits",
        rows=Scan("visits"),
        cells=Cells(keys=(key,), groups=_KEPT),
        choice=None,
        draws=draws,
    )
    engine = engine_for(Catalog(tables=(table,), ledger=""), ["visits"])
    return engine.prepare(measurement), session


if __name__ == "__main__":
    main()
