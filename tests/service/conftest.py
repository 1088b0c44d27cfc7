"""One service for many tests; and one on each store where the store matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.service.running import RunningService, made_hospital, running

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service over a hospital, with a ledger in a file."""
    catalog = made_hospital(tmp_path_factory.mktemp("hospital"))
    with running(catalog, "--time-step", "0.05", "--rate", "100000") as started:
        yield started
