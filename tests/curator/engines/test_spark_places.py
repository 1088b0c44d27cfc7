"""Spark on this machine alone, and behind Connect: the same measures as anywhere."""

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
from tests.servers import spark_connect_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

_NAME = "private and declared"
# In a process of its own: one process has one Spark.
_SCRIPT = """
import pickle, sys
from quaestor.curator.engines import engine_for
from quaestor.errors import SourceUnavailable
from tests.curator.engines.answers import answer

catalog, elsewhere, query, measures = pickle.load(sys.stdin.buffer)
found = answer(engine_for(catalog, ["visits"]), query, measures)
try:
    engine_for(elsewhere, ["visits"])
except SourceUnavailable as error:
    refusal = str(error)
else:
    refusal = None
sys.stdout.buffer.write(pickle.dumps((found, refusal)))
"""


def _measured(master: str, elsewhere: str, folder: Path) -> tuple[Any, str | None]:
    catalogs = [
        catalog_on(Source(engine="spark", connection=one), folder) for one in (master, elsewhere)
    ]
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        input=pickle.dumps((*catalogs, *CASES[_NAME])),
        capture_output=True,
        timeout=600,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result: tuple[Any, str | None] = pickle.loads(done.stdout)  # noqa: S301 (of our own process)
    return result


def _behind_connect(folder: Path) -> tuple[Any, str | None]:
    with spark_connect_server() as address:
        return _measured(address, address, folder)


@pytest.fixture(scope="module")
def spark_places(parquet_folder: Path) -> Iterator[dict[str, Future[tuple[Any, str | None]]]]:
    """Both at once: what takes long is that they start."""
    with ThreadPoolExecutor(2) as pool:
        yield {
            "local": pool.submit(_measured, "local[2]", "local[3]", parquet_folder),
            "connect": pool.submit(_behind_connect, parquet_folder),
        }


def test_spark_on_this_machine(spark_places: dict[str, Future[tuple[Any, str | None]]]) -> None:
    found, refusal = spark_places["local"].result()
    assert in_order(found) == in_order(wanted(*CASES[_NAME], DATA))
    assert refusal is not None
    assert "this process already uses a Spark session other" in refusal


def test_spark_behind_connect(spark_places: dict[str, Future[tuple[Any, str | None]]]) -> None:
    found, refusal = spark_places["connect"].result()
    assert in_order(found) == in_order(wanted(*CASES[_NAME], DATA))
    assert refusal is None
