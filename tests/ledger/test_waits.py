"""Servers that say nothing, and clients that hold the lock and hang: all waiting has an end."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import LedgerUnavailable
from quaestor.ledger import Ledger
from quaestor.ledger.store import postgres
from quaestor.ledger.store.base import WAIT
from quaestor.ledger.store.postgres_wire import PATIENCE
from tests.ledger.places import around, definition

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP = PureDP(epsilon=0.0625)


class BlackHole:
    """A proxy in front of a server, which can stop to forward and leaves everything open."""

    def __init__(self, server: str) -> None:
        self._server, self.swallowing = server, False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._ends: list[socket.socket] = [self._listener]
        self._over = False
        self._thread = threading.Thread(target=self._forward, daemon=True)
        self._thread.start()

    def _forward(self) -> None:
        others: dict[socket.socket, socket.socket] = {}
        while not self._over:
            ready, _, _ = select.select([self._listener, *others], [], [], 0.05)
            for one in ready:
                if one is self._listener:
                    near, _ = one.accept()
                    far = socket.socket(socket.AF_UNIX)
                    far.connect(self._server)
                    others |= {near: far, far: near}
                    self._ends += [near, far]
                    continue
                if one not in others:
                    continue  # its other end was closed just now
                try:
                    data = one.recv(65536)
                    if data and not self.swallowing:
                        others[one].sendall(data)
                except OSError:
                    data = b""
                if not data:
                    for end in (one, others.pop(one)):
                        others.pop(end, None)
                        end.close()

    def close(self) -> None:
        """Let go of everything."""
        self._over = True
        self._thread.join()
        for end in self._ends:
            end.close()


@contextmanager
def black_hole(address: str) -> Iterator[tuple[BlackHole, str]]:
    """A proxy, and the address of the same database behind it."""
    parts = urlsplit(address)
    (folder,) = parse_qs(parts.query)["host"]
    hole = BlackHole(f"{folder}/.s.PGSQL.5432")
    try:
        yield hole, f"postgresql://postgres@127.0.0.1:{hole.port}{parts.path}"
    finally:
        hole.close()


def test_a_server_that_says_nothing_any_more_is_given_up(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quaestor.ledger.store.postgres_wire.PATIENCE", 1.0)
    monkeypatch.setitem(postgres._CONNECT, "connect_timeout", 2)
    with black_hole(database) as (hole, address), Ledger(address) as ledger:
        account = ledger.open_account(definition())
        account.reserve(STEP)
        hole.swallowing = True
        reasons = set()
        for action in (lambda: account.reserve(STEP), account.state, lambda: Ledger(address)):
            with pytest.raises(LedgerUnavailable) as error:
                action()
            reasons.add(error.value.reason)
        assert reasons <= {"lost_connection", "unreachable"}
        hole.swallowing = False
        account.reserve(STEP)
        ledger.verify()


def test_the_stated_times_are_those_of_the_guide() -> None:
    """A charge fails within two minutes, whatever the network does."""
    assert WAIT < PATIENCE
    assert PATIENCE + 10 < 120


_HOLDER = """
import os, signal, sys
from quaestor.ledger import Ledger
from quaestor.ledger.journal.appender import Journal
from quaestor.ledger.store import postgres

postgres.WAIT = float(sys.argv[2])
ledger = Ledger(sys.argv[1])
with ledger._store.writing() as session:
    Journal(ledger._store, session, "trial")
    os.write(1, b"x")
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@contextmanager
def somebody_hangs(location: str) -> Iterator[None]:
    """Another process has locked the account, and is stopped."""
    command = [sys.executable, "-c", _HOLDER, location, str(vars(postgres)["WAIT"])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.read(1) == b"x"
            os.waitpid(holder.pid, os.WUNTRACED)
            yield
        finally:
            holder.kill()


def test_a_stopped_client_of_a_server_is_cut_off_and_others_go_on(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(database) as ledger:
        ledger.open_account(definition())
    monkeypatch.setattr("quaestor.ledger.store.postgres.WAIT", 4.0)
    with somebody_hangs(database), Ledger(database) as ledger:
        ledger.account("trial").reserve(STEP)
        ledger.verify()


def test_a_stopped_process_that_has_locked_a_file_is_said(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = str(tmp_path_factory.mktemp("stopped") / "ledger.db")
    with Ledger(location) as ledger:
        ledger.open_account(definition())
    monkeypatch.setattr("quaestor.ledger.store.sqlite.WAIT", 1.0)
    with Ledger(location) as ledger:
        account = ledger.account("trial")
        with somebody_hangs(location):
            with pytest.raises(LedgerUnavailable) as error:
                account.reserve(STEP)
            assert error.value.reason == "locked"
        account.reserve(STEP)
        ledger.verify()


@pytest.mark.parametrize("setting", ["off", "local", "remote_write", "on", "remote_apply"])
def test_charges_are_committed_synchronously_whatever_the_server_says(
    database: str, setting: str
) -> None:
    name = database.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = {setting}")  # type: ignore[call-overload,unused-ignore]
    with Ledger(database) as ledger:
        with ledger._store.writing() as session:
            found = session.row("SELECT current_setting('synchronous_commit')")
        assert found == (setting if setting == "remote_apply" else "on",)


def test_what_was_acknowledged_survives_a_server_that_is_killed(database: str) -> None:
    """Each acknowledged charge has been flushed: the log's flushed end is behind its commit."""
    with Ledger(database) as ledger:
        account = ledger.open_account(definition(epsilon=10.0))
        with around(database) as run:

            def flushed() -> bool:
                account.reserve(STEP)
                ((behind,),) = run(
                    "SELECT pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn()"
                )
                run("COMMIT")
                return bool(behind == 0)

            for _ in range(50):  # the server notes things of its own now and then, not thrice
                assert flushed() or flushed() or flushed()
