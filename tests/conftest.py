"""What holds for every test: a skipped one counts as failed; and servers that many share."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.servers import postgres_server, spark_cluster

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_NUMBERS = count(1)


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
