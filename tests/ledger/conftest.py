"""Both stores: the same tests run on a file and on a private PostgreSQL server.

Tests that ask for a ``ledger`` have a copy of one that was made once, with an identity of its own:
to make its tables takes longer than most tests. How they are made is in test_stores.py.
"""

from __future__ import annotations

import secrets
import shutil
from typing import TYPE_CHECKING

import pytest

from quaestor.ledger import Ledger
from tests.ledger.places import around
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def blank_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger in which nothing has happened."""
    path = tmp_path_factory.mktemp("blank") / "ledger.db"
    Ledger(path).close()
    return path


@pytest.fixture(scope="session")
def blank_database(postgres_address: str) -> str:
    """The name of a database with such a ledger."""
    address = new_database(postgres_address)
    Ledger(address).close()
    return address.partition("?")[0].rpartition("/")[2]


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger can be made, or has been made for ``ledger``: on one store, then the other."""
    copied = "ledger" in request.fixturenames
    place = str(tmp_path / "ledger.db")
    if request.param == "sqlite" and copied:
        shutil.copy(request.getfixturevalue("blank_file"), place)
    elif request.param == "postgres" and copied:
        server = request.getfixturevalue("postgres_address")
        place = new_database(server, like=request.getfixturevalue("blank_database"))
    elif request.param == "postgres":
        place = request.getfixturevalue("database")
    if copied:
        with around(place) as run:
            run("UPDATE ledger_identity SET id = ?", secrets.token_hex(16))
    return place


@pytest.fixture
def ledger(location: str) -> Iterator[Ledger]:
    """A new ledger."""
    with Ledger(location) as made:
        yield made
