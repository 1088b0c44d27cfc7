"""A count and a sum by group in OpenDP, on Polars: ``python in_opendp.py rows.parquet``.

The groups of a unit are its first ones: ``keep="sample"`` fails in this version.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from importlib.metadata import version

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")


def main(path: str, groups: int) -> None:
    """Ask, and say what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("unit")),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["key"], max_length=10_000_000, max_groups=groups)],
    )
    keys = pl.LazyFrame({"key": [f"group {number}" for number in range(groups)]})
    total = pl.col("value").fill_nan(0.0).fill_null(0.0).dp.sum((0.0, 100.0))
    asked = (
        context.query()
        .truncate_num_groups(5, by=["key"], keep="first")
        .truncate_per_group(50, by=["key"])
        .group_by("key")
        .agg(dp.len(signed=True), total)
        .with_keys(keys)
    )
    answered = len(asked.release().collect())
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    names = f"OpenDP {version('opendp')} and Polars {version('polars')}"
    print(json.dumps({**took, "memory": memory, "rows": answered, "name": names}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
