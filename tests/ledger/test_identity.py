"""One store, once: files that are replaced, linked, emptied or put back are noticed."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import LedgerUnavailable
from quaestor.ledger import Ledger
from quaestor.ledger.store.file_identity import NETWORK, file_system
from tests.ledger.places import around, definition

HALF, STEP = PureDP(epsilon=0.5), PureDP(epsilon=0.0625)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger in a file, with one account."""
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.open_account(definition()).reserve(STEP)
    return path


def reason(error: pytest.ExceptionInfo[LedgerUnavailable]) -> str:
    assert "nothing was charged" in str(error.value)
    return error.value.reason


def test_a_file_that_was_replaced_takes_no_charges(file: Path) -> None:
    copy = Path(shutil.copy(file, file.parent / "copy.db"))
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        account.reserve(HALF)
        copy.replace(file)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert reason(error) == "replaced"


def test_a_file_that_is_gone_takes_no_charges(file: Path) -> None:
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        file.rename(file.parent / "elsewhere.db")
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert reason(error) == "replaced"


def test_a_file_with_two_names_takes_no_charges(file: Path) -> None:
    other = file.parent / "other.db"
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        account.reserve(STEP)
        os.link(file, other)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert reason(error) == "second_name"
    with Ledger(other) as ledger, pytest.raises(LedgerUnavailable) as error:
        ledger.account("trial").reserve(STEP)
    assert reason(error) == "second_name"
    other.unlink()
    with Ledger(file) as ledger:
        ledger.account("trial").reserve(STEP)


def test_a_backup_copied_over_a_live_file_takes_no_charges(file: Path) -> None:
    """The same file by its number, with what it held before."""
    old = file.read_bytes()
    with Ledger(file) as ledger:
        ledger.account("trial").reserve(HALF)
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        for name in ("ledger.db-wal", "ledger.db-shm"):
            (file.parent / name).unlink(missing_ok=True)
        file.write_bytes(old)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert reason(error) in {"rolled_back", "truncated"}


def test_a_truncated_log_takes_no_charges(file: Path) -> None:
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        account.reserve(HALF)
        os.truncate(f"{file}-wal", 0)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert reason(error) in {"rolled_back", "truncated"}


def cut_off(location: str) -> None:
    """Take the last event away, and make everything else fit: as an older backup would be."""
    with around(location) as run:
        ((last,),) = run("SELECT MAX(seq) FROM ledger_events")
        run("DELETE FROM ledger_events WHERE seq = ?", last)
        ((head, entry, time),) = run(
            "SELECT hash, entry, time FROM ledger_events WHERE seq = ?", last - 1
        )
        run(
            "UPDATE ledger_heads SET events = ?, head = ?, entries = ?, time = ?",
            *(last - 1, head, entry, time),
        )
        run("DELETE FROM ledger_balances")


@pytest.mark.parametrize("anew", [False, True])
def test_a_store_without_a_head_that_was_seen_takes_no_charges(
    location: str,
    anew: bool,  # noqa: FBT001  # with the ledger that saw it, or with another of this process
) -> None:
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        account.reserve(HALF)
        cut_off(location)
        if anew:
            with Ledger(location) as other, pytest.raises(LedgerUnavailable) as error:
                other.account("trial").reserve(STEP)
        else:
            with pytest.raises(LedgerUnavailable) as error:
                account.reserve(STEP)
        assert reason(error) == "rolled_back"
        assert "restart this process" in str(error.value)


def test_a_store_that_went_on_from_an_earlier_state_takes_no_charges(location: str) -> None:
    """As long as before, and not the same."""
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        account.reserve(HALF)
        with around(location) as run:
            run("UPDATE ledger_events SET hash = ? WHERE seq = 2", "a" * 64)
            run("UPDATE ledger_heads SET head = ?", "a" * 64)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert reason(error) == "rolled_back"


def test_another_ledger_in_the_place_of_the_first_takes_no_charges(database: str) -> None:
    with Ledger(database) as ledger:
        account = ledger.open_account(definition())
        with around(database) as run:
            run("UPDATE ledger_identity SET id = 'another'")
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert reason(error) == "rolled_back"


@pytest.mark.parametrize("create", [True, False])
def test_an_emptied_file_is_an_error_and_no_new_ledger(file: Path, create: bool) -> None:  # noqa: FBT001
    file.write_bytes(b"")
    with pytest.raises(LedgerUnavailable) as error:
        Ledger(file, create=create)
    assert reason(error) == "emptied"
    assert file.stat().st_size == 0


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Ledger(tmp_path / "ledger.db") as ledger:
            ledger.open_account(definition()).reserve(STEP)
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("ledger.db", "ledger.db-wal", "ledger.db-shm"), 0o600)


def test_to_open_a_ledger_twice_does_not_let_go_of_its_locks(file: Path) -> None:
    """Whoever closes a file loses the locks that SQLite has on it in the same process."""
    with Ledger(file) as ledger:
        account = ledger.account("trial")
        account.reserve(STEP)
        Ledger(file).close()
        child = os.fork()
        if child == 0:  # a process of its own, which is the last one by all locks that it sees
            try:
                with Ledger(file) as other:
                    other.account("trial").reserve(STEP)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        account.reserve(STEP)
    with Ledger(file) as ledger:
        assert len(list(ledger.account("trial").entries())) == 4
        ledger.verify()


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/export /mnt/shared nfs4 rw 0 0
//server/share /mnt/with\\040space cifs rw 0 0
tmpfs /mnt/shared/fast tmpfs rw 0 0
"""


def test_network_file_systems_are_seen() -> None:
    kinds = {
        "/srv/ledger.db": "ext4",
        "/mnt/shared/ledger.db": "nfs4",
        "/mnt/shared/fast/ledger.db": "tmpfs",
        "/mnt/sharedledger.db": "ext4",
        "/mnt/with space/ledger.db": "cifs",
    }
    for path, kind in kinds.items():
        assert file_system(Path(path), MOUNTS) == kind
    assert {"nfs4", "cifs"} <= NETWORK
    assert not {"ext4", "tmpfs", "xfs", "overlay"} & NETWORK


def test_a_ledger_on_a_network_file_system_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = file.parent / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/x {file.parent} nfs4 rw 0 0\n")
    monkeypatch.setattr("quaestor.ledger.store.file_identity._MOUNTS", mounts)
    for path in (file, file.parent / "new.db"):
        with pytest.raises(LedgerUnavailable) as error:
            Ledger(path)
        assert reason(error) == "network"
