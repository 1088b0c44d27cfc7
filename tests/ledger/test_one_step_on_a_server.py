"""Charges in one step on a server: what it is set to, and what goes wrong at the very end."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

from quaestor.errors import LedgerUnavailable
from quaestor.ledger import Ledger
from tests.ledger.places import around
from tests.ledger.test_one_step import SMALL, STEP, steps_of, warm

_REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'not today'; END $$
"""
_REFUSE_AT_COMMIT = """
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON ledger_events
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()
"""


def test_a_commit_that_fails_after_the_statement_is_no_charge(database: str) -> None:
    """The statement has brought its row by then: what follows it decides."""
    with Ledger(database) as ledger:
        account = warm(ledger)
        with around(database) as run:
            run(_REFUSE)
            run(_REFUSE_AT_COMMIT)
        with pytest.raises(LedgerUnavailable) as error:
            account.reserve(STEP)
        assert error.value.reason == "failed"
        with around(database) as run:
            run("DROP TRIGGER late ON ledger_events")
        assert account.reserve(STEP).entry == 4
        ledger.verify()


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_server_with_another_isolation_lets_who_waited_go_on(database: str, level: str) -> None:
    with around(database) as run:
        ((name,),) = run("SELECT current_database()")
        run(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    with Ledger(database) as ledger:
        account = warm(ledger)
        tried, made = steps_of(ledger), list[int]()
        with around(database) as run:
            run("UPDATE ledger_heads SET time = time")
            waiting = threading.Thread(target=lambda: made.append(account.reserve(SMALL).entry))
            waiting.start()
            waiting.join(0.5)
            assert waiting.is_alive()
        waiting.join(60)
        assert (made, tried) == ([4], [True])
        ledger.verify()


def test_commits_stay_durable_when_the_server_is_told_otherwise(database: str) -> None:
    """Settings of the server reach connections that are open already."""
    shown = "SELECT setting FROM pg_settings WHERE name = 'synchronous_commit'"
    with Ledger(database) as ledger, psycopg.connect(database, autocommit=True) as owner:
        account = warm(ledger)
        try:
            owner.execute("ALTER SYSTEM SET synchronous_commit = off")
            owner.execute("SELECT pg_reload_conf()")
            deadline = time.monotonic() + 60
            while owner.execute(shown).fetchone() != ("off",) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert owner.execute(shown).fetchone() == ("off",)
            account.reserve(SMALL)
            with ledger._store._spare.taken() as spare:  # type: ignore[attr-defined]
                assert spare.execute(shown).fetchone() == ("on",)
            with ledger._store.writing() as session:
                assert session.row(shown) == ("on",)
        finally:
            owner.execute("ALTER SYSTEM RESET synchronous_commit")
            owner.execute("SELECT pg_reload_conf()")
