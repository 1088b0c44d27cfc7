"""Private groups on a cluster of Spark: more than its driver takes, and one unit with many rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import spark_cluster

pytestmark = pytest.mark.slow  # a cluster of its own: three Java processes

_ROWS, _KEYS, _HEAVY = 600_000, 200_000, 50
# In a process of its own, whose driver takes 4 MB of results: all groups are a dozen times as much.
_SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
from quaestor.curator.catalog.model import Catalog, ColumnFacts, Source, Table
from quaestor.curator.engines import engine_for
from quaestor.curator.kernel.draws import NoisyUnits
from quaestor.curator.kernel.figures import KeptGroups
from quaestor.curator.kernel.measurement import CellKey, Cells, Measurement
from quaestor.curator.kernel.measures import Distinct, RowCount, Units
from quaestor.curator.language.expressions import Column
from quaestor.curator.language.query import Scan
from quaestor.errors import EngineFailed
from quaestor.mechanisms import Geometric, PartitionSelection
from quaestor.curator.kernel.draws import NoisyMeasure

master, file, engine = sys.argv[1:]
if engine == "spark":
    builder = SparkSession.builder.appName("quaestor").master(master)
    builder = builder.config("spark.driver.memory", "512m")
    builder = builder.config("spark.sql.adaptive.enabled", "true")
    builder.config("spark.driver.maxResultSize", "4m").getOrCreate()
columns = tuple(
    ColumnFacts(name=name, kind=kind)
    for name, kind in (("unit", "integer"), ("place", "text"), ("seen", "integer"))
)
source = Source(engine=engine, connection=master if engine == "spark" else None, files=file)
table = Table(name="t", source=source, unit="unit", columns=columns)
measures = RowCount(rows=3), Distinct(operand=Column("seen"), rows=2)
measurement = Measurement(
    dataset="t",
    rows=Scan("t"),
    cells=Cells(keys=(CellKey(expression=Column("place"), kind="text", codes=None),), groups=40),
    choice=NoisyUnits(
        measure=Units(),
        mechanism=PartitionSelection(scale=1.0, threshold=100, contributions=40),
    ),
    draws=tuple(
        NoisyMeasure(
            measure=each,
            mechanism=Geometric(scale=1.0, sensitivity=each.sensitivity),
            spread=40,
        )
        for each in measures
    ),
)
asked = engine_for(Catalog(tables=(table,), ledger=""), ["t"])
prepared, kept = asked.measure(measurement)
assert isinstance(kept, KeptGroups)
shown, noisy = kept.shown(measurement.choice)
kept.close()
all_came = None
try:
    prepared.exact() if engine == "spark" else None
except EngineFailed:
    all_came = False
found = {
    "groups": int(kept.runs.count.sum()),
    "shown": [key for key, in shown.groups],
    "units": shown.units,
    "values": [shown.values[each] for each in measures],
    "near": bool((abs(noisy - shown.units) < 40).all()),
    "all came": all_came,
}
print(json.dumps(found))
"""


def _skewed(path: Path) -> None:
    """Every tenth row is of one unit, and of the places every twentieth of one of a few."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(22)
    units = rng.integers(1, _ROWS // 3, _ROWS)
    units[::10] = 0
    places = rng.integers(_HEAVY, _KEYS, _ROWS)
    places[1::20] = rng.integers(0, _HEAVY, places[1::20].size)
    names = np.array([f"a place far away, number {place}" for place in range(_KEYS)])
    columns = {"unit": units, "place": names[places], "seen": rng.integers(0, 5, _ROWS)}
    pq.write_table(pa.table(columns), path, row_group_size=100_000)


def _found(master: str, file: str, engine: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, master, file, engine],
        capture_output=True,
        text=True,
        timeout=1200,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_driver_takes_what_is_shown_and_not_all_groups(tmp_path: Path) -> None:
    _skewed(tmp_path / "t.parquet")
    file = str(tmp_path / "t.parquet")
    here = _found("", file, "duckdb")
    with spark_cluster() as cluster:
        there = _found(cluster, file, "spark")
    assert there.pop("all came") is False  # they are more than the driver takes
    assert here.pop("all came") is None
    assert here == there
    assert isinstance(here["groups"], int)
    assert here["groups"] > 150_000
    assert here["shown"] == [
        f"a place far away, number {n}" for n in sorted(range(_HEAVY), key=str)
    ]
    assert here["near"] is True
