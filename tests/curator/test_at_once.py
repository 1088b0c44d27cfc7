"""The same question, asked by many at the same moment: one charge, one answer."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from quaestor.curator import Curator
from quaestor.errors import EngineFailed
from tests.curator.hospital import VISITS, write_hospital

if TYPE_CHECKING:
    from pathlib import Path

FORK = multiprocessing.get_context("fork")
BY_WARD = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
ACCOUNTS = {
    "open": "[accounts.research]\nepsilon = 1.0\ndelta = 1e-6\n",
    "dashboard": "[accounts.research]\nepsilon = 1.0\ndelta = 1e-6\n"
    f'policy = "dashboard"\nqueries = [{{ sql = "{BY_WARD}", epsilon = 0.2 }}]\n',
}


@pytest.fixture(params=["sqlite", "postgres"])
def more(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the catalog says that the ledger is, on one store and then on the other."""
    if request.param == "sqlite":
        return ""
    monkeypatch.setenv("QUAESTOR_TEST_LEDGER", request.getfixturevalue("database"))
    return 'ledger = { environment = "QUAESTOR_TEST_LEDGER" }'


@pytest.mark.parametrize("policy", ACCOUNTS)
def test_sixteen_threads_have_one_answer_for_one_charge(
    tmp_path: Path, policy: str, more: str
) -> None:
    path = write_hospital(tmp_path, ACCOUNTS[policy], more=more)
    with Curator.from_file(path) as curator:
        account = curator.open_account("research")
        with ThreadPoolExecutor(16) as threads:
            asked = [threads.submit(curator.ask, BY_WARD, epsilon=0.2) for _ in range(16)]
            answers = [each.result() for each in asked]
        assert len({answer.to_json() for answer in answers}) == 1
        assert [answer.repeated for answer in answers].count(False) == 1
        assert [entry.status for entry in account.entries()] == ["released"]
        curator.ledger.verify()


def asking(path: Path, start: Any, answers: Any) -> None:
    with Curator.from_file(path) as curator:
        start.wait()
        answers.put(curator.ask(BY_WARD, epsilon=0.2).to_json())


@pytest.mark.parametrize("policy", ACCOUNTS)
def test_sixteen_processes_have_one_answer_for_one_charge(
    tmp_path: Path, policy: str, more: str
) -> None:
    path = write_hospital(tmp_path, ACCOUNTS[policy], more=more)
    with Curator.from_file(path) as curator:
        curator.open_account("research")
    start, answers = FORK.Barrier(16), FORK.SimpleQueue()
    children = [FORK.Process(target=asking, args=(path, start, answers)) for _ in range(16)]
    for child in children:
        child.start()
    assert len({answers.get() for _ in children}) == 1
    for child in children:
        child.join()
    with Curator.from_file(path) as curator:
        assert len(list(curator.account("research").entries())) == 1
        curator.ledger.verify()


@pytest.mark.parametrize("policy", ACCOUNTS)
def test_a_question_that_failed_before_noise_is_completed_when_it_is_asked_again(
    tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise RuntimeError("Jane Doe")

    path = write_hospital(tmp_path, ACCOUNTS[policy])
    with Curator.from_file(path) as curator:
        account = curator.open_account("research")
        with monkeypatch.context() as broken:
            broken.setattr("quaestor.curator.engines.engine.Engine.measure", down)
            with pytest.raises(EngineFailed):
                curator.ask(BY_WARD, epsilon=0.2)
        assert [entry.status for entry in account.entries()] == ["reserved"]
        before = account.remaining()
        answer = curator.ask(BY_WARD, epsilon=0.2)
        assert (answer.receipt, answer.repeated) == (1, False)
        assert account.remaining() == before
        assert [entry.status for entry in account.entries()] == ["released"]
        curator.ledger.verify()


def test_an_engine_that_is_down_before_a_statement_was_sent_costs_nothing(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (patient BIGINT, ward TEXT, age INTEGER)")
        connection.cursor().executemany("INSERT INTO visits VALUES (%s, %s, %s)", VISITS)
    monkeypatch.setenv("QUAESTOR_TEST_DATA", database)
    source = 'environment = "QUAESTOR_TEST_DATA"'
    path = write_hospital(tmp_path, ACCOUNTS["open"], source=source)
    name = database.rpartition("/ledger_")[2].partition("?")[0]
    server = database.replace(f"/ledger_{name}?", "/postgres?")
    with Curator.from_file(path) as curator:
        account = curator.open_account("research")
        curator.ask(BY_WARD, epsilon=0.1)
        before = account.remaining()
        hang_up(server, f"ALTER DATABASE ledger_{name} ALLOW_CONNECTIONS false", name)
        with pytest.raises(EngineFailed):
            curator.ask(BY_WARD, epsilon=0.2)
        assert [entry.status for entry in account.entries()] == ["released", "void"]
        assert account.remaining() == before
        hang_up(server, f"ALTER DATABASE ledger_{name} ALLOW_CONNECTIONS true", name)
        assert curator.ask(BY_WARD, epsilon=0.2).receipt == 3
        hang_up(server, "SELECT 1", name)  # it is connected again, and nobody notices
        assert curator.ask(BY_WARD, epsilon=0.3).receipt == 4
        curator.ledger.verify()


def hang_up(server: str, statement: str, name: str) -> None:
    """Run a statement, and end everybody's connection to a database."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[call-overload,unused-ignore]
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            [f"ledger_{name}"],
        )


def test_after_an_earlier_attempt_an_engine_that_is_down_leaves_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise EngineFailed

    with Curator.from_file(write_hospital(tmp_path, ACCOUNTS["open"])) as curator:
        account = curator.open_account("research")
        for method in ("measure", "reach"):  # the first attempt may be why it is down
            with monkeypatch.context() as broken:
                broken.setattr(f"quaestor.curator.engines.engine.Engine.{method}", down)
                with pytest.raises(EngineFailed):
                    curator.ask(BY_WARD, epsilon=0.2)
            assert [entry.status for entry in account.entries()] == ["reserved"]
        assert curator.ask(BY_WARD, epsilon=0.2).receipt == 1
        curator.ledger.verify()
