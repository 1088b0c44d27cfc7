"""What holds for every test: a skipped one counts as failed; and servers that many share.

``make test`` runs three processes. The tests of a file run in one of them, and so do all files that
need Spark: it is started once. A PostgreSQL starts in a second; each process has its own.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from mpmath import mp

from tests.servers import local_spark, new_database, postgres_server, spark_cluster

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from xdist.scheduler import LoadScopeScheduling

pytest.register_assert_rewrite("tests.contract.page_blocks")

_SPARK = re.compile(r"\b(on_spark|spark_(engine|master|places))\b")
_LONG = (
    "tests/curator/kernel/test_mutations.py",
    "tests/laws/test_privacy_loss.py",
    "tests/laws/test_range_composition.py",
    "tests/ledger/",
    "tests/curator/hostile/",
)

# A law that is held against random cases has at least so many of them in the ordinary suite, or a
# third if that is more; the others are slow.
_SEEDS = 6

# Before numpy is imported: each process has its own core, and threads that wait would take another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Files in memory, where there is room: ledgers wait for their disk at every charge. What survives a
# crash is tested by processes that are killed, not by machines that are.
_MEMORY = Path("/dev/shm")  # noqa: S108 (the folders in it are private)
_ROOM = 4 * 2**30
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM:
    os.environ["TMPDIR"], tempfile.tempdir = str(_MEMORY), None

# On a busy machine everything takes long, and nothing is wrong.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.hookimpl(tryfirst=True)  # before what is slow is left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that all processes end together; of many seeds run some."""
    items.sort(key=lambda item: _place(_file(item.nodeid)))
    seeds: dict[str, dict[int, None]] = {}
    drawn = [(item, seed) for item in items if (seed := _seed(item)) is not None]
    for item, seed in drawn:
        seeds.setdefault(_function(item), {})[seed] = None
    some = {name: set(list(each)[: max(_SEEDS, len(each) // 3)]) for name, each in seeds.items()}
    for item, seed in drawn:
        if seed not in some[_function(item)]:
            item.add_marker(pytest.mark.slow)


def _seed(item: pytest.Item) -> int | None:
    """The seed of a random case of mathematics; what attacks the curator or the ledger runs all."""
    if not item.nodeid.startswith(("tests/laws/", "tests/accounting/")):
        return None
    seed: int | None = getattr(getattr(item, "callspec", None), "params", {}).get("seed")
    return seed


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


@pytest.fixture(autouse=True)
def _sixty_digits() -> None:
    """Whatever a module or a test before has set: references have sixty digits."""
    mp.dps = 60


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Give out whole files, and all of Spark as one, in the order of collection."""
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = _file(nodeid)
            return "Spark" if _needs_spark(file) else file

    config.option.loadscopereorder = False
    return Files(config, log)


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _place(file: str) -> int:
    """Spark first, what takes a minute next, the rest as it was found."""
    if _needs_spark(file):
        return 0
    return next((at for at, start in enumerate(_LONG, 1) if file.startswith(start)), 99)


@cache
def _needs_spark(file: str) -> bool:
    """Whether a file names a fixture of Spark's."""
    path = Path(__file__).parents[1] / file
    return file.startswith("tests/") and bool(_SPARK.search(path.read_text(encoding="utf-8")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn skips into failures: what is not run proves nothing."""
    report = yield
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, which counts as failed: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for whole files that are skipped."""
    report = yield
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, which counts as failed: {report.longrepr}"
    return report


@pytest.fixture
def earlier_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounts are opened as by the version before: other editions may have charged them."""
    monkeypatch.setattr("quaestor.ledger.accounts.PRICING", 2)


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """The address of a PostgreSQL server that belongs to this test run."""
    with postgres_server() as address:
        yield address


@pytest.fixture
def database(postgres_address: str) -> str:
    """The address of a new, empty database."""
    return new_database(postgres_address)


@pytest.fixture(scope="session")
def spark_master() -> Iterator[str]:
    """The address of Spark; with ``QUAESTOR_TEST_SPARK=cluster`` of a cluster with two workers."""
    cluster = os.environ.get("QUAESTOR_TEST_SPARK") == "cluster"
    with spark_cluster() if cluster else local_spark() as address:
        yield address
