"""What holds for every test: a skipped one counts as failed; and servers that many share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers import postgres_server, spark_cluster

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn skips into failures: what is not run proves nothing."""
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


@pytest.fixture(scope="session")
def spark_master() -> Iterator[str]:
    """The address of a Spark cluster, one master and two workers, of this test run."""
    with spark_cluster() as address:
        yield address
