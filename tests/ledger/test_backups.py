"""Backups, their way back, noted heads, and auditors who may only read."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import InvalidParameter, LedgerCorrupted, LedgerUnavailable
from quaestor.ledger import Ledger, backup_ledger, restore_ledger
from quaestor.ledger.store.row_copies import TABLES
from tests.ledger.places import around, definition, remaining_epsilon
from tests.ledger.test_troubles import in_child

if TYPE_CHECKING:
    from quaestor.ledger import Account

QUARTER, STEP = PureDP(epsilon=0.25), PureDP(epsilon=2.0**-10)


@pytest.fixture
def account(ledger: Ledger) -> Account:
    """An account with something in it."""
    account = ledger.open_account(definition())
    with account.reserve(QUARTER, query="f00") as charge:
        charge.release("42")
    return account


def rows(location: str) -> dict[str, list[tuple[object, ...]]]:
    with around(location) as run:
        return {
            table: run(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1, 2")  # noqa: S608  # ours
            for table, (_, columns) in TABLES.items()
        }


def test_a_backup_holds_everything_and_takes_no_charges(
    ledger: Ledger, account: Account, location: str, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.db"
    (verified,) = backup_ledger(ledger, backup)
    assert verified.head == account.state().head == ledger.heads()["trial"]
    assert rows(str(backup)) == rows(location)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.glob("backup*")) == ["backup.db"]
    with Ledger(backup) as kept:
        copy = kept.account("trial")
        assert copy.answer("f00") == (1, "42")
        with pytest.raises(LedgerUnavailable, match="takes no charges") as error:
            copy.reserve(STEP)
        assert error.value.reason == "backup"


def test_every_table_is_backed_up(ledger: Ledger, account: Account, location: str) -> None:
    del ledger, account
    listed = (
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        if "://" in location
        else "SELECT name FROM sqlite_master WHERE type = 'table'"
    )
    with around(location) as run:
        tables = {row[0] for row in run(listed)}
    made_anew = {"ledger_identity", "ledger_secrets"}  # what signs cookies is in no backup
    assert tables == {*TABLES, "ledger_version", *made_anew}


def test_a_backup_is_one_state_while_others_charge(ledger: Ledger, tmp_path: Path) -> None:
    account = ledger.open_account(definition())
    with ThreadPoolExecutor(5) as pool:
        charging = [
            pool.submit(lambda: [account.reserve(STEP) for _ in range(20)]) for _ in range(4)
        ]
        heads = [
            verified.head
            for number in range(3)
            for verified in backup_ledger(ledger, tmp_path / f"{number}.db")
        ]
        for charges in charging:
            charges.result(120)
    for head in heads:
        account.verify(head=head)


def test_a_backup_never_writes_over_anything(
    ledger: Ledger, account: Account, tmp_path: Path
) -> None:
    del account
    there = tmp_path / "there.db"
    there.write_text("precious", encoding="utf-8")
    with pytest.raises(LedgerUnavailable) as error:
        backup_ledger(ledger, there)
    assert error.value.reason == "taken"
    assert there.read_text(encoding="utf-8") == "precious"


@pytest.fixture(params=["sqlite", "postgres"])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Another place for a ledger, on each store."""
    if request.param == "sqlite":
        return str(tmp_path / "restored.db")
    address: str = request.getfixturevalue("postgres_address")
    name = f"restored_{tmp_path.name[-40:].replace('-', '_')}_{os.getpid()}".lower()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload,unused-ignore]
    return address.replace("/postgres?", f"/{name}?")


def test_a_restored_ledger_goes_on_and_says_so_in_its_chain(
    ledger: Ledger, account: Account, elsewhere: str, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.db"
    (noted,) = backup_ledger(ledger, backup)
    heads = {"trial": noted.head}
    restore_ledger(backup, elsewhere, reason="the disk died", heads=heads)
    with Ledger(elsewhere, create=False) as restored:
        again = restored.account("trial")
        assert again.answer("f00") == (1, "42")
        assert remaining_epsilon(again) == Fraction(3, 4)
        again.reserve(QUARTER)
        again.verify(head=noted.head)
    with around(elsewhere) as run:
        found = run("SELECT detail FROM ledger_events WHERE kind = 'restored'")
        ids = run("SELECT id, kind FROM ledger_identity")
    assert found == [("the disk died",)]
    assert ids[0][0] != ledger._store.identity.id
    assert ids[0][1] == "ledger"
    account.reserve(QUARTER)  # the first one is still what it was


def test_a_restore_that_would_lose_noted_entries_is_refused(
    ledger: Ledger, account: Account, tmp_path: Path
) -> None:
    backup, target = tmp_path / "backup.db", tmp_path / "restored.db"
    backup_ledger(ledger, backup)
    account.reserve(QUARTER)
    with pytest.raises(LedgerCorrupted, match="recorded head"):
        restore_ledger(backup, target, reason="the disk died", heads=ledger.heads())
    assert not target.exists()


def test_a_restore_leaves_ledgers_alone(
    ledger: Ledger, account: Account, location: str, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.db"
    backup_ledger(ledger, backup)
    with pytest.raises(LedgerUnavailable) as error:
        restore_ledger(backup, location, reason="by mistake")
    assert error.value.reason == "taken"
    with pytest.raises(InvalidParameter, match="reason"):
        restore_ledger(backup, tmp_path / "new.db", reason="")
    with Ledger(tmp_path / "live.db") as live:
        live.open_account(definition())
    with pytest.raises(LedgerUnavailable) as error:
        restore_ledger(tmp_path / "live.db", tmp_path / "new.db", reason="two of it")
    assert error.value.reason == "not_a_backup"
    assert account.verify().entries == 1


def test_a_damaged_backup_is_not_restored(ledger: Ledger, account: Account, tmp_path: Path) -> None:
    del account
    backup = tmp_path / "backup.db"
    backup_ledger(ledger, backup)
    with around(str(backup)) as run:
        run("UPDATE ledger_events SET purpose = 'another' WHERE seq = 2")
    with pytest.raises(LedgerCorrupted):
        restore_ledger(backup, tmp_path / "new.db", reason="the disk died")
    assert not (tmp_path / "new.db").exists()


def test_several_heads_of_an_account_may_be_noted(ledger: Ledger, account: Account) -> None:
    noted = [ledger.heads()["trial"]]
    account.reserve(QUARTER)
    noted.append(ledger.heads()["trial"])
    ledger.verify(heads={"trial": noted})
    with pytest.raises(LedgerCorrupted, match="recorded head"):
        ledger.verify(heads={"trial": [*noted, "a" * 64]})


# Auditors.


@pytest.mark.parametrize("state", ["closed", "open", "folded"])
def test_an_auditor_verifies_a_file_without_the_right_to_write(tmp_path: Path, state: str) -> None:
    """Root may write anything, so that somebody else tries."""
    nobody = pwd.getpwnam("nobody")
    shared = Path("/tmp") / f"quaestor-audit-{os.getpid()}"  # noqa: S108  # pytest's are private
    shared.mkdir(mode=0o755)
    try:
        path = shared / "ledger.db"
        ledger = Ledger(path)
        ledger.open_account(definition()).reserve(QUARTER)
        head = ledger.heads()["trial"]
        if state != "open":
            ledger.close()
        if state == "folded":
            backup = shared / "backup.db"
            with Ledger(path) as source:
                backup_ledger(source, backup)
            path = backup
        for part in shared.iterdir():
            part.chmod(0o644)

        def work() -> None:
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            with Ledger(path, read_only=True) as audited:
                assert [v.entries for v in audited.verify(heads={"trial": head})] == [1]
                account = audited.account("trial")
                try:
                    account.reserve(STEP)
                except LedgerUnavailable as problem:
                    assert problem.reason in {"read_only", "backup"}  # noqa: PT017
                else:
                    raise AssertionError("charged")

        assert in_child(work) == "done"
        ledger.close()
    finally:
        shutil.rmtree(shared)
    del tmp_path


GRANTS = """
GRANT CONNECT ON DATABASE {database} TO auditor;
GRANT USAGE ON SCHEMA public TO auditor;
GRANT SELECT ON ledger_version, ledger_identity, ledger_accounts, ledger_heads,
    ledger_events, ledger_balances, ledger_answers, ledger_jobs TO auditor;
GRANT SELECT ON ledger_trail, ledger_people, ledger_credentials, ledger_questions TO auditor;
GRANT CONNECT ON DATABASE {database} TO curator;
GRANT USAGE ON SCHEMA public TO curator;
GRANT SELECT ON ledger_version, ledger_identity TO curator;
GRANT SELECT, INSERT ON ledger_accounts, ledger_events, ledger_answers TO curator;
GRANT SELECT, INSERT, UPDATE ON ledger_heads, ledger_jobs TO curator;
GRANT SELECT, INSERT, UPDATE, DELETE ON ledger_balances TO curator;
GRANT SELECT, INSERT ON ledger_trail, ledger_secrets TO curator;
GRANT SELECT, INSERT, UPDATE ON ledger_people, ledger_credentials, ledger_questions TO curator;
"""


def test_roles_on_a_server_need_what_the_guide_grants_and_no_more(
    database: str, tmp_path: Path
) -> None:
    name = database.partition("?")[0].rpartition("/")[2]
    with Ledger(database) as ledger:
        ledger.open_account(definition())
    guide = Path(__file__).parents[2] / "docs" / "guide" / "operating-the-ledger.md"
    for line in GRANTS.format(database="ledger").strip().splitlines():
        assert line.strip() in guide.read_text(encoding="utf-8"), line
    with psycopg.connect(database, autocommit=True) as connection:
        for role in ("auditor", "curator"):
            connection.execute(f"DROP ROLE IF EXISTS {role}")  # type: ignore[call-overload,unused-ignore]
            connection.execute(f"CREATE ROLE {role} LOGIN")  # type: ignore[call-overload,unused-ignore]
        connection.execute(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC")  # type: ignore[call-overload,unused-ignore]
        connection.execute(GRANTS.format(database=name))  # type: ignore[call-overload,unused-ignore]
    try:
        with Ledger(database.replace("//postgres", "//curator", 1)) as ledger:
            assert "curator" in database.replace("//postgres", "//curator", 1)
            account = ledger.account("trial")
            with account.reserve(QUARTER, query="f00") as charge:
                charge.release("42")
            with account.reserve(QUARTER) as charge:
                charge.void("not needed")
            ledger.open_account(definition("second", datasets=("staff",))).close()
            ledger.verify()
        audits = database.replace("//postgres", "//auditor", 1)
        for read_only in (True, False):
            with Ledger(audits, create=False, read_only=read_only) as ledger:
                ledger.verify(heads=ledger.heads())
                backup_ledger(ledger, tmp_path / f"{read_only}.db")
                with pytest.raises(LedgerUnavailable, match="read-only"):
                    ledger.account("trial").reserve(STEP)
    finally:
        with psycopg.connect(database, autocommit=True) as connection:
            for role in ("auditor", "curator"):
                connection.execute(f"DROP OWNED BY {role}")  # type: ignore[call-overload,unused-ignore]
                connection.execute(f"DROP ROLE {role}")  # type: ignore[call-overload,unused-ignore]
