"""Spark on a cluster, and behind Connect: the same measures as anywhere.

Here statements are compiled, as they are for users. Other tests interpret them, in one process.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.catalog.model import Source
from tests.curator.engines.answers import in_order, wanted
from tests.curator.engines.data import DATA, catalog_on
from tests.curator.engines.queries import CASES
from tests.servers import spark_cluster, spark_connect_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

_CONNECT = ("private and declared",)
_CLUSTER = (
    "private and declared",
    "joined twice",
    "thinned histograms",
    "distinct values of every kind",
    "units that are texts, private keys",
    "variances, part 1",
)
# In a process of its own: one process has one Spark.
_SCRIPT = """
import pickle, sys
from quaestor.curator.engines import engine_for
from quaestor.errors import SourceUnavailable
from tests.curator.engines.answers import answer

catalog, elsewhere, cases = pickle.load(sys.stdin.buffer)
engine = engine_for(catalog, ["visits"])
found = [answer(engine, query, measures) for query, measures in cases]
try:
    engine_for(elsewhere, ["visits"])
except SourceUnavailable as error:
    refusal = str(error)
else:
    refusal = None
sys.stdout.buffer.write(pickle.dumps((found, refusal)))
"""
_Measured = tuple[list[Any], "str | None"]


def _measured(master: str, elsewhere: str, folder: Path, names: tuple[str, ...]) -> _Measured:
    catalogs = [
        catalog_on(Source(engine="spark", connection=one), folder) for one in (master, elsewhere)
    ]
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        input=pickle.dumps((*catalogs, [CASES[name] for name in names])),
        capture_output=True,
        timeout=600,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result: _Measured = pickle.loads(done.stdout)  # noqa: S301 (of our own process)
    return result


pytestmark = pytest.mark.slow  # three Java processes: two minutes of one core


@pytest.fixture(scope="module")
def spark_places(parquet_folder: Path) -> Iterator[dict[str, Future[_Measured]]]:
    """Both at once: what takes long is that they start."""
    with (
        spark_cluster() as cluster,
        spark_connect_server() as connect,
        ThreadPoolExecutor(2) as pool,
    ):
        yield {
            "cluster": pool.submit(_measured, cluster, "local[2]", parquet_folder, _CLUSTER),
            "connect": pool.submit(_measured, connect, connect, parquet_folder, _CONNECT),
        }


def _agree(found: list[Any], names: tuple[str, ...]) -> None:
    for one, name in zip(found, names, strict=True):
        assert in_order(one) == in_order(wanted(*CASES[name], DATA)), name


def test_spark_on_a_cluster(spark_places: dict[str, Future[_Measured]]) -> None:
    found, refusal = spark_places["cluster"].result()
    _agree(found, _CLUSTER)
    assert refusal is not None
    assert "this process already uses a Spark session other" in refusal


def test_spark_behind_connect(spark_places: dict[str, Future[_Measured]]) -> None:
    found, refusal = spark_places["connect"].result()
    _agree(found, _CONNECT)
    assert refusal is None
