"""The tables: made by migrations, upgraded in place, and read by nobody who is too old."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.releases import PureDP
from quaestor.errors import InvalidParameter, LedgerUnavailable, UnknownAccount
from quaestor.ledger import Ledger
from quaestor.ledger.store.address import REVISIONS, open_store
from quaestor.ledger.store.upgrade import downgrade
from quaestor.ledger.theory import PRICING
from tests.ledger.places import around, definition, remaining_epsilon

if TYPE_CHECKING:
    from quaestor.ledger import Account

QUARTER = PureDP(epsilon=0.25)


def test_every_revision_is_known_to_the_quick_check() -> None:
    from alembic.script import ScriptDirectory

    import quaestor.ledger.store.migrations

    folder = Path(quaestor.ledger.store.migrations.__file__).parent
    scripts = ScriptDirectory(str(folder))
    assert tuple(s.revision for s in reversed(list(scripts.walk_revisions()))) == REVISIONS


def test_an_older_ledger_is_upgraded_in_place(location: str) -> None:
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        account.reserve(QUARTER, purpose="long ago")
        head = account.verify().head
    store = open_store(location, create=False)
    with store.migrating() as connection:
        downgrade(connection, revision="0001")
    store.close()
    with around(location) as run:
        assert run("SELECT version_num FROM ledger_version") == [("0001",)]
    with Ledger(location) as ledger:
        account = ledger.account("trial")
        assert [entry.purpose for entry in account.entries()] == ["long ago"]
        assert remaining_epsilon(account) == Fraction(3, 4)
        account.verify(head=head)
        with account.reserve(QUARTER, query="f00") as charge:
            charge.release("42")
        assert account.answer("f00") == (2, "42")
    with around(location) as run:
        assert run("SELECT version_num FROM ledger_version") == [(REVISIONS[-1],)]


def test_a_newer_ledger_is_refused_and_left_alone(location: str) -> None:
    with Ledger(location) as ledger:
        ledger.open_account(definition())
    with around(location) as run:
        run("UPDATE ledger_version SET version_num = '0999'")
    with pytest.raises(LedgerUnavailable, match="newer version of quaestor") as error:
        Ledger(location)
    assert error.value.reason == "newer"
    with around(location) as run:
        assert run("SELECT version_num FROM ledger_version") == [("0999",)]


def test_a_ledger_that_a_newer_version_has_priced_is_refused(location: str) -> None:
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        with around(location) as run:
            run("UPDATE ledger_heads SET pricing = 999")
        with pytest.raises(LedgerUnavailable, match="newer"):
            account.reserve(QUARTER)
        with pytest.raises(LedgerUnavailable, match="newer"):
            ledger.account("trial")


@pytest.mark.parametrize("again", [True, False])
def test_a_history_is_priced_again_when_costs_have_changed(
    location: str,
    again: bool,  # noqa: FBT001  # two ways to come upon it
) -> None:
    """As if it had been priced by other costs, which were too low."""
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        account.reserve(QUARTER)
        with account.reserve(QUARTER) as charge:
            charge.void("no")
        other = ledger.account("trial")
        with around(location) as run:
            run("UPDATE ledger_heads SET pricing = 0")
            run("UPDATE ledger_balances SET totals = ?", '{"0:epsilon":"1/16"}')
        if again:
            other = ledger.account("trial")
        assert remaining_epsilon(other) == Fraction(3, 4)
        other.reserve(QUARTER)
        assert remaining_epsilon(account) == Fraction(1, 2)
        account.verify()


def test_a_ledger_that_was_priced_by_older_costs_verifies(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        account.reserve(QUARTER)
        monkeypatch.setattr("quaestor.ledger.journal.verification.PRICING", PRICING + 1)
        assert account.verify().entries == 1


def test_a_charge_upon_other_costs_prices_the_history_first(location: str) -> None:
    with Ledger(location) as ledger:
        account = ledger.open_account(definition())
        account.reserve(QUARTER)
        with around(location) as run:
            run("UPDATE ledger_heads SET pricing = 0")
            run("UPDATE ledger_balances SET totals = ?", "{}")
        ledger.accounts()[0].reserve(QUARTER)
        assert remaining_epsilon(account) == Fraction(1, 2)
        account.verify()


def test_a_quick_open_imports_no_migrations(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.open_account(definition())
    code = (
        "import sys\nfrom quaestor.ledger import Ledger\n"
        "assert 'sqlalchemy' not in sys.modules\n"
        f"Ledger({str(path)!r}).account('trial')\n"
        "print([name for name in ('alembic', 'psycopg', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "[]\n"


def test_without_its_packages_the_ledger_names_the_extra(tmp_path: Path) -> None:
    for package, extra, location in (
        ("sqlalchemy", "ledger", tmp_path / "ledger.db"),
        ("alembic", "ledger", tmp_path / "ledger.db"),
        ("psycopg", "postgres", "postgresql://host/database"),
    ):
        code = (
            f"import sys\nsys.modules[{package!r}] = None\n"
            "from quaestor.errors import MissingExtra\nfrom quaestor.ledger import Ledger\n"
            f"try:\n    Ledger({str(location)!r})\n"
            "except MissingExtra as error:\n    print(error.package, error.extra)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
        )
        assert done.stdout == f"{package} {extra}\n"


# Exports.


@pytest.fixture
def account(ledger: Ledger) -> Account:
    """An account with something in it."""
    account = ledger.open_account(definition())
    with account.reserve(QUARTER, purpose='a "quoted", é purpose', query="f00") as charge:
        charge.release("42")
    return account


def test_lines_of_json_can_be_verified_without_this_library(
    ledger: Ledger, account: Account
) -> None:
    previous = "0" * 64
    lines = list(ledger.export("jsonl", account="trial"))
    for number, line in enumerate(lines, start=1):
        event = json.loads(line)
        stated = event.pop("hash")
        assert (event["seq"], event["previous"]) == (number, previous)
        body = json.dumps(event, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(body.encode()).hexdigest() == stated
        previous = stated
    assert len(lines) == 3
    assert previous == account.verify().head


def test_csv_says_the_same(ledger: Ledger, account: Account) -> None:
    rows = list(csv.DictReader(io.StringIO("".join(ledger.export("csv")))))
    assert [row["kind"] for row in rows] == ["opened", "reserved", "released"]
    assert rows[1]["purpose"] == 'a "quoted", é purpose'
    assert json.loads(rows[1]["releases"]) == [{"type": "PureDP", "epsilon": 0.25}]
    assert rows[-1]["hash"] == account.state().head


def test_an_export_of_what_there_is_not_is_refused(ledger: Ledger) -> None:
    with pytest.raises(InvalidParameter, match="format"):
        ledger.export("xml")
    with pytest.raises(UnknownAccount):
        ledger.export("csv", account="nobody")


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    from concurrent.futures import ThreadPoolExecutor

    account = ledger.open_account(definition())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: account.reserve(PureDP(epsilon=0.01)), range(40)))
    assert remaining_epsilon(account) == 1 - 40 * Fraction(0.01)
    account.verify()
