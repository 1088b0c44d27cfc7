"""Both stores: the same tests run on a file and on a private PostgreSQL server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quaestor.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger can be made, on one store and then on the other."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    address: str = request.getfixturevalue("database")
    return address


@pytest.fixture
def ledger(location: str) -> Iterator[Ledger]:
    """A new ledger."""
    with Ledger(location) as made:
        yield made
