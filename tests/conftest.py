"""What holds for every test: a skipped one counts as failed; and servers that many share.

``make test`` runs two processes. The tests of a file run in one of them, and so do all tests that
need Spark: the cluster is started once. A PostgreSQL starts in a second; each process has its own.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import postgres_server, spark_cluster

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from xdist.scheduler import LoadScopeScheduling

_NUMBERS = count(1)
_SPARK = "@spark"  # ends the names of tests that need Spark
_LONG = (
    "tests/curator/kernel/test_mutations.py",
    "tests/curator/kernel/test_attack.py",
    "tests/laws/test_privacy_loss.py",
    "tests/curator/engines/test_storage.py",
    "tests/laws/test_range_composition.py",
    "tests/ledger/",
    "tests/curator/hostile/",
)

# On a busy machine everything takes long, and nothing is wrong.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.hookimpl(tryfirst=True)  # before xdist puts the group into the names
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts Spark, and begin with what takes longest, so that both end together."""
    for item in items:
        if {"spark_master", "spark_places"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(_SPARK[1:]))
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """Spark first, what takes a minute next, the rest as it was found."""
    if item.get_closest_marker("xdist_group"):
        return 0
    long = (at for at, start in enumerate(_LONG, 1) if item.nodeid.startswith(start))
    return next(long, 1 + len(_LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Give out whole files, and all of Spark as one, in the order of collection."""
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return _SPARK if nodeid.endswith(_SPARK) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return Files(config, log)


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


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """The address of a PostgreSQL server that belongs to this test run."""
    with postgres_server() as address:
        yield address


@pytest.fixture
def database(postgres_address: str) -> str:
    """The address of a new, empty database."""
    import psycopg

    name = f"ledger_{next(_NUMBERS)}"
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload,unused-ignore]
    return postgres_address.replace("/postgres?", f"/{name}?")


@pytest.fixture(scope="session")
def spark_master() -> Iterator[str]:
    """The address of a Spark cluster, one master and two workers, of this test run."""
    with spark_cluster() as address:
        yield address
