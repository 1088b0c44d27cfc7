"""A count and a sum by group in SmartNoise, on pandas: ``python in_smartnoise.py rows.parquet``.

It bounds the rows of a unit over all groups: five groups of 50 rows are 250.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from importlib.metadata import version

import pandas as pd
import snsql

_COLUMNS = {
    "unit": {"type": "int", "private_id": True},
    "key": {"type": "string"},
    "value": {"type": "float", "lower": 0.0, "upper": 100.0},
}


def main(path: str) -> None:
    """Ask, and say what it took, without what reading the file took."""
    frame = pd.read_parquet(path)
    bounds = {"max_ids": 250, "rows": len(frame), "censor_dims": False, "clamp_counts": False}
    described = {"": {"bench": {"rows": {**bounds, **_COLUMNS}}}}
    wall, cpu = time.perf_counter(), time.process_time()
    privacy = snsql.Privacy(epsilon=1.0, delta=1e-6)
    reader = snsql.from_df(frame, privacy=privacy, metadata=described)
    sql = "SELECT key, COUNT(*) AS n, SUM(value) AS total FROM bench.rows GROUP BY key"
    answered = len(reader.execute(sql)) - 1  # the first are the names
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    name = f"SmartNoise {version('smartnoise-sql')}, rows in memory"
    print(json.dumps({**took, "memory": memory, "rows": answered, "name": name}))


if __name__ == "__main__":
    main(sys.argv[1])
