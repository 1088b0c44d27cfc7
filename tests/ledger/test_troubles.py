"""Disks, servers, clocks and files that fail: a clear error, and nothing is released."""

from __future__ import annotations

import os
import pwd
import resource
import shutil
import signal
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import (
    ClockWentBack,
    InvalidParameter,
    LedgerCorrupted,
    LedgerUnavailable,
    QuaestorError,
)
from quaestor.ledger import Ledger, stored_text
from quaestor.ledger.journal.chain import Chain
from quaestor.ledger.journal.events import COLUMNS, Event, event_from_text
from quaestor.ledger.store import base
from quaestor.ledger.store.driver_errors import SENTENCES, postgres_trouble
from tests.ledger.places import around, definition, remaining_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = PureDP(epsilon=0.125)


def in_child(work: Callable[[], object]) -> str:
    """What comes of it in a process of its own: the error's reason or code, or ``done``."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            work()
            said = "done"
        except LedgerUnavailable as problem:
            said = problem.reason
        except QuaestorError as problem:
            said = problem.code
        except BaseException as problem:  # noqa: BLE001  # it must not get out of here
            said = repr(problem)
        os.write(writer, said.encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger in a file, with one account."""
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.open_account(definition()).reserve(SMALL)
    return path


# Disk full.


def few_pages(ledger: Ledger) -> None:
    """Let the file grow no further: SQLite then answers as it does when the disk is full."""
    with ledger._store.writing() as session:
        session.rows("PRAGMA max_page_count = 1")


def test_a_full_disk_is_said_and_nothing_is_charged(file: Path) -> None:
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        account.reserve(SMALL)
        few_pages(ledger)

        def fill() -> None:
            for number in range(100):
                with account.reserve(PureDP(epsilon=1e-6), query=f"f{number}") as charge:
                    charge.release("x" * 10_000)

        with pytest.raises(LedgerUnavailable, match=r"disk .* is full") as error:
            fill()
        assert error.value.reason == "disk_full"
    with Ledger(file) as ledger:
        ledger.verify()
        ledger.account("trial").reserve(SMALL)


def test_a_full_disk_at_release_keeps_the_charge_and_releases_nothing(file: Path) -> None:
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        with account.reserve(SMALL, query="f00") as charge:
            charge.drawing()
            few_pages(ledger)
            with pytest.raises(LedgerUnavailable) as error:
                charge.release("x" * 100_000)
            assert error.value.reason == "disk_full"
        assert account.answer("f00") is None
        assert [entry.status for entry in account.entries()] == ["reserved", "reserved"]
        account.verify()


def test_a_file_that_may_not_grow_is_said_and_nothing_is_charged(file: Path) -> None:
    """The kernel itself refuses to write further."""

    def work() -> None:
        with Ledger(file) as ledger:
            account = ledger.account("trial")
            size = sum(part.stat().st_size for part in file.parent.iterdir())
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            for _ in range(1000):
                with account.reserve(PureDP(epsilon=1e-6)) as charge:
                    charge.release("x" * 1000)

    assert in_child(work) in {"unwritable", "disk_full"}
    with Ledger(file) as ledger:
        ledger.verify()


def test_a_server_whose_disk_is_full_is_said_and_nothing_is_charged(database: str) -> None:
    with Ledger(database) as ledger:
        account = ledger.open_account(definition())
        with around(database) as run:
            run(
                "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "RAISE EXCEPTION USING ERRCODE = '53100'; END $$"
            )
            run(
                "CREATE TRIGGER full_disk BEFORE INSERT ON ledger_events "
                "EXECUTE FUNCTION full_disk()"
            )
        with pytest.raises(LedgerUnavailable, match=r"disk .* is full"):
            account.reserve(SMALL)
        assert list(account.entries()) == []
        assert remaining_epsilon(account) == 1


# Read-only.


def test_a_file_that_cannot_be_written_is_said(file: Path) -> None:
    """Root may write anything, so that somebody else tries."""
    nobody = pwd.getpwnam("nobody")
    shared = Path("/tmp") / f"quaestor-{os.getpid()}"  # noqa: S108  # pytest's folders are private
    shared.mkdir(mode=0o755)
    try:
        copy = Path(shutil.copy(file, shared / "ledger.db"))
        copy.chmod(0o444)

        def work() -> None:
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            Ledger(copy).account("trial").reserve(SMALL)

        assert in_child(work) in {"read_only", "cannot_open"}
        with Ledger(copy) as ledger:
            assert len(list(ledger.account("trial").entries())) == 1
    finally:
        shutil.rmtree(shared)


def test_a_server_that_may_only_be_read_is_said(database: str) -> None:
    with Ledger(database) as ledger:
        ledger.open_account(definition())
    name = database.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            f"ALTER DATABASE {name} SET default_transaction_read_only = on"  # type: ignore[call-overload,unused-ignore]
        )
    with Ledger(database) as ledger:
        account = ledger.account("trial")
        with pytest.raises(LedgerUnavailable, match="the ledger is read-only") as error:
            account.reserve(SMALL)
        assert error.value.reason == "read_only"
        assert list(account.entries()) == []


# Lost connections.


def stop_backends(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )


def test_a_connection_lost_between_charges_is_made_again(database: str) -> None:
    with Ledger(database) as ledger:
        account = ledger.open_account(definition())
        stop_backends(database)
        account.reserve(SMALL)
        assert len(list(account.entries())) == 1


def test_a_connection_lost_within_a_charge_is_said_and_releases_nothing(database: str) -> None:
    with Ledger(database) as ledger:
        account = ledger.open_account(definition())
        with around(database) as run:
            run(
                "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$"
            )
            run("CREATE TRIGGER cut BEFORE INSERT ON ledger_events EXECUTE FUNCTION cut()")
        with pytest.raises(LedgerUnavailable, match=r"connection .* was lost") as error:
            account.reserve(SMALL)
        assert error.value.reason == "lost_connection"
        assert list(account.entries()) == []
        with around(database) as run:
            run("DROP TRIGGER cut ON ledger_events")
        account.reserve(SMALL)
        ledger.verify()


def test_a_server_that_is_not_there_is_said_without_the_password() -> None:
    with pytest.raises(LedgerUnavailable, match="cannot be reached") as error:
        Ledger("postgresql://somebody:sesame@127.0.0.1:1/nothing")
    assert "sesame" not in f"{error.value} {error.value.fields()} {error.value.__cause__}"
    assert error.value.__suppress_context__


@pytest.mark.parametrize(
    "address",
    [
        "mysql://somebody:sesame@host/x",
        "sqlite://",
        "sqlite:///:memory:",
        ":memory:",
        "",
        "postgresql://somebody:sesame@host:notaport/x",
    ],
)
def test_addresses_that_are_no_ledger_are_refused_without_the_password(address: str) -> None:
    with pytest.raises(InvalidParameter, match="ledger must be a file") as error:
        Ledger(address)
    assert "sesame" not in f"{error.value} {error.value.fields()} {error.value.__cause__}"


# Locks.


def test_waiting_for_others_has_an_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quaestor.ledger.store.sqlite.WAIT", 0.2)
    with (
        Ledger(file) as ledger,
        closing(sqlite3.connect(file, isolation_level=None)) as other,
    ):
        account = ledger.account("trial")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="locked the ledger for too long") as error:
            account.reserve(SMALL)
        assert error.value.reason == "locked"
        assert len(list(account.entries())) == 1  # to read is possible all the time
        other.execute("ROLLBACK")
        account.reserve(SMALL)


def test_waiting_for_others_on_a_server_has_an_end(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quaestor.ledger.store.postgres.WAIT", 0.2)
    with Ledger(database) as ledger:
        account = ledger.open_account(definition())
        with around(database) as run:
            run("SELECT * FROM ledger_heads FOR UPDATE")
            with pytest.raises(LedgerUnavailable, match="locked the ledger for too long"):
                account.reserve(SMALL)
        account.reserve(SMALL)
    assert base.WAIT >= 10


# Clocks.


def moved(location: str, seconds: float) -> str:
    """Let the account's last event be of another time: as if the clock had gone the other way."""
    time = (datetime.now(tz=UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    with around(location) as run:
        run("UPDATE ledger_heads SET time = ?", time)
    return time


def test_a_clock_that_went_back_is_said_and_nothing_is_charged(location: str) -> None:
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        with account.reserve(SMALL) as charge:
            last = moved(location, 3600.0)
            for action in (
                lambda: account.reserve(SMALL),
                lambda: charge.void("no"),
                lambda: charge.release("42"),
                account.close,
            ):
                with pytest.raises(ClockWentBack) as error:
                    action()
                assert error.value.last == last
                assert error.value.now < last
        assert [entry.status for entry in account.entries()] == ["reserved"]


def test_a_clock_that_is_a_little_behind_uses_the_last_time_again(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert timedelta(seconds=1) <= stored_text.TOLERANCE <= timedelta(minutes=1)
    monkeypatch.setattr(
        stored_text, "TOLERANCE", timedelta(hours=2)
    )  # for machines that take a break
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        last = moved(location, 3600.0)
        account.reserve(SMALL)
        (entry,) = account.entries()
        assert entry.time == last


def years_ahead(location: str) -> str:
    """The last charge was made under a clock in 2031, with everything else as it should be."""
    with around(location) as run:
        columns = ", ".join(COLUMNS)
        (row,) = run(f"SELECT {columns} FROM ledger_events ORDER BY seq DESC LIMIT 1")  # noqa: S608
        event = Event(*row)._replace(time="2031-01-01T00:00:00.000000Z").sealed()
        changed = (event.time, event.hash)
        run("UPDATE ledger_events SET time = ?, hash = ? WHERE seq = ?", *changed, event.seq)
        run("UPDATE ledger_heads SET time = ?, head = ?", *changed)
    return event.time


def test_a_clock_that_went_wrong_is_accepted_with_a_reason_and_verifies(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(location) as ledger:
        ledger.open_account(definition()).reserve(SMALL)
    years_ahead(location)
    monkeypatch.setattr("quaestor.ledger.store.base._HEADS", {})  # as in another process
    with Ledger(location) as ledger:
        account = ledger.account("trial")
        with pytest.raises(ClockWentBack, match="quaestor ledger clock"):
            account.reserve(SMALL)
        with pytest.raises(ClockWentBack):
            account.close()
        with pytest.raises(InvalidParameter, match="reason"):
            account.accept_clock("")
        account.accept_clock("the server's battery was empty")
        assert account.state().time < "2031"
        with account.reserve(SMALL) as charge:
            charge.release("42")
        with pytest.raises(InvalidParameter, match="earlier than the last event"):
            account.accept_clock("again")
        account.close()
        ledger.verify()
    with around(location) as run:
        kinds = [row[0] for row in run("SELECT kind FROM ledger_events ORDER BY seq")]
        assert kinds == ["opened", "reserved", "clock", "reserved", "released", "closed"]
        (accepted,) = run("SELECT detail, time FROM ledger_events WHERE kind = 'clock'")
        assert accepted[0] == "the server's battery was empty"
        assert accepted[1] < "2031"


def test_only_an_event_that_accepts_it_may_go_back_in_time(location: str) -> None:
    with Ledger(location) as ledger:
        ledger.open_account(definition()).reserve(SMALL)
    time = years_ahead(location)
    chain = Chain("trial")
    with Ledger(location) as ledger:
        events = [event_from_text(line) for line in ledger.export(account="trial")]
    for event in events:
        chain.add(event)
    for kind, detail, holds in (
        ("clock", "the battery was empty", True),
        ("clock", "", False),
        ("closed", "the battery was empty", False),
    ):
        at = "2026-01-01T00:00:00.000000Z"
        later = Event("trial", 3, kind, time=at, detail=detail, previous=chain.head).sealed()
        assert later.time < time
        follower = Chain("trial")
        for before in events:
            follower.add(before)
        if holds:
            follower.add(later)
        else:
            with pytest.raises(LedgerCorrupted):
                follower.add(later)


# Files.


def test_a_damaged_file_is_said_and_nothing_is_charged(file: Path) -> None:
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        for number in range(300):
            account.reserve(PureDP(epsilon=1e-6), query=f"f{number}" * 20)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = file.read_bytes()
    assert len(whole) > 100_000
    for start in range(0, len(whole), len(whole) // 16):
        garbage = bytes((i * 37 + 11) % 256 for i in range(5000))
        file.write_bytes((whole[:start] + garbage + whole[start + 5000 :])[: len(whole)])
        for leftover in ("ledger.db-wal", "ledger.db-shm"):
            (file.parent / leftover).unlink(missing_ok=True)
        with pytest.raises(LedgerCorrupted), Ledger(file) as ledger:
            ledger.verify()
    file.write_bytes(whole)
    with Ledger(file) as ledger:
        ledger.verify()


@pytest.mark.parametrize("content", [b"not a database, but long enough to be one" * 100, b"x"])
def test_a_file_that_is_something_else_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(content)
    with pytest.raises(LedgerCorrupted, match="damaged, or is not a ledger at all"):
        Ledger(path)
    assert path.read_bytes() == content


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    with pytest.raises(LedgerUnavailable, match="not a ledger's") as error:
        Ledger(path)
    assert error.value.reason == "not_a_ledger"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("photos",)]


def test_a_folder_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="cannot be opened"):
        Ledger(tmp_path / "nowhere" / "ledger.db")


def test_a_ledger_that_is_only_to_be_read_is_not_made(tmp_path: Path, database: str) -> None:
    for location in (str(tmp_path / "ledger.db"), database):
        with pytest.raises(LedgerUnavailable, match="no ledger at this address yet"):
            Ledger(location, create=False)
    assert list(tmp_path.iterdir()) == []


def test_every_reason_has_a_sentence_of_its_own_and_a_line_in_the_guide() -> None:
    assert len(set(SENTENCES.values())) == len(SENTENCES)
    guide = Path(__file__).parents[2] / "docs" / "guide" / "operating-the-ledger.md"
    lines = [line for line in guide.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    for reason in SENTENCES:
        assert any(f"`{reason}`" in line.split("|")[1] for line in lines), reason
    unknown = psycopg.errors.lookup("22012")("division by zero: secret")
    said = postgres_trouble(unknown, connected=True)
    assert "secret" not in str(said)
    assert said.fields() == {"reason": "failed"}
