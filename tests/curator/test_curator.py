"""The whole way of a question: charged before it is answered, and never twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator import Accuracy, Curator, col, count, table
from quaestor.curator.pricing import offers
from quaestor.errors import (
    BudgetExceeded,
    EngineFailed,
    InvalidParameter,
    RefusedQuery,
    SourceUnavailable,
)
from quaestor.ledger import Ledger
from tests.curator.hospital import COLUMNS, truth_by_ward, write_hospital

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quaestor.ledger import Account

BY_WARD = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
SURE = 60.0  # an epsilon with which geometric noise is 0 but for a chance of 2e-13 a figure
SMALL = """
[accounts.research]
epsilon = 1.0
delta = 1e-6
"""


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    """A curator of the hospital, with a large account that is open."""
    with Curator.from_file(write_hospital(tmp_path)) as opened:
        opened.open_account("research")
        yield opened


@pytest.fixture
def poor(tmp_path: Path) -> Iterator[Curator]:
    """The same with a small account."""
    with Curator.from_file(write_hospital(tmp_path, SMALL)) as opened:
        opened.open_account("research")
        yield opened


def left(account: Account) -> dict[str, Fraction | None]:
    return {balance.meter: balance.remaining for balance in account.remaining()}


def entries(curator: Curator) -> list[Any]:
    return list(curator.account("research").entries())


@pytest.mark.parametrize("auto", [False, True])
def test_what_cannot_be_foretold_is_refused_before_it_is_charged(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, *, auto: bool
) -> None:
    def broken(*_: object) -> Any:
        raise InvalidParameter("confidence", "none", "one that can be had")

    monkeypatch.setattr(offers, "_expected", broken)
    bounds = "AUTO(age)" if auto else "age"
    with pytest.raises(InvalidParameter, match="one that can be had"):
        curator.ask(f"SELECT AVG({bounds}) AS mean FROM visits", epsilon=0.5)
    kept = [entry for entry in entries(curator) if "AVG" in entry.purpose.upper()]
    assert not kept


def test_an_answer_is_right_and_carries_its_cost_and_receipt(curator: Curator) -> None:
    answer = curator.ask(BY_WARD, epsilon=SURE, purpose="weekly report")
    assert {row["ward"]: row["visits"] for row in answer.rows()} == truth_by_ward()
    assert (answer.account, answer.receipt, answer.delta) == ("research", 1, 0.0)
    assert answer.epsilon is not None
    assert SURE * 0.999 < answer.epsilon <= SURE
    assert dict(answer.remaining)["epsilon"] == pytest.approx(1000 - answer.epsilon)
    (entry,) = entries(curator)
    assert (entry.status, entry.purpose) == ("released", "weekly report")
    assert entry.releases == answer.releases
    curator.ledger.verify()


def test_tables_that_live_in_different_places_are_refused_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUAESTOR_TEST_ELSEWHERE", "postgresql://nobody@localhost:1/nowhere")
    more = (
        '[tables.wards]\nenvironment = "QUAESTOR_TEST_ELSEWHERE"\npublic = true\n'
        'columns = { ward = "text", beds = "integer" }\n'
    )
    path = write_hospital(tmp_path, SMALL + more)
    sql = "SELECT COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward"
    with Curator.from_file(path) as curator:
        curator.open_account("research")
        curator.ask(BY_WARD, epsilon=0.1)
        assert curator.preview(sql, epsilon=0.1).fits
        with pytest.raises(SourceUnavailable, match="is not in the same database as"):
            curator.ask(sql, epsilon=0.1)
        assert len(entries(curator)) == 1


def test_importing_the_curator_imports_nothing_heavy_until_it_is_used() -> None:
    heavy = ("ibis", "duckdb", "sqlglot", "pyarrow", "pandas", "sqlalchemy")
    code = (
        "import sys, quaestor.curator, quaestor.cli.app\n"
        f"print([name for name in {heavy!r} if name in sys.modules])\n"
        "from quaestor.curator import Accuracy, Answer, Curator, Preview\n"
        "print([kind.__name__ for kind in (Accuracy, Answer, Curator, Preview)])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['Accuracy', 'Answer', 'Curator', 'Preview']"]


def test_the_builder_asks_the_same_questions(curator: Curator) -> None:
    question = table("visits").group_by("ward").aggregate(visits=count())
    first = curator.ask(question, epsilon=SURE)
    again = curator.ask(BY_WARD, epsilon=SURE)
    assert again.repeated
    assert not first.repeated
    assert first == again


def test_the_same_question_in_other_words_is_free_and_word_for_word_the_same(
    curator: Curator,
) -> None:
    where = "SELECT COUNT(*) AS n FROM visits WHERE "
    first = curator.ask(where + "age > 30 AND ward = 'A'", epsilon=0.1)
    before = left(curator.account("research"))
    again = curator.ask(where + "ward = 'A' AND 30 < age", epsilon=0.1)
    assert again.repeated
    assert again.to_json() == first.to_json()
    assert left(curator.account("research")) == before
    assert len(entries(curator)) == 1


def test_other_noise_or_other_limits_make_another_question(curator: Curator) -> None:
    ways: list[dict[str, Any]] = [
        {"epsilon": 0.1},
        {"epsilon": 0.2},
        {"rho": 0.01},
        {"accuracy": Accuracy(within=50)},
        {"epsilon": 0.1, "groups": 1},
    ]
    for number, way in enumerate(ways):
        assert curator.ask(BY_WARD, **way).receipt == number + 1


@pytest.mark.parametrize("name", ["rows", "groups", "epsilon"])
def test_what_was_planned_for_one_is_not_taken_for_true(curator: Curator, name: str) -> None:
    sql, said = "SELECT COUNT(*) AS n FROM visits WHERE age > 31", {"epsilon": 0.5}
    curator.preview(sql, **{**said, name: 1})  # type: ignore[arg-type]
    with pytest.raises((RefusedQuery, InvalidParameter)):
        curator.preview(sql, **{**said, name: True})  # type: ignore[arg-type]


def test_a_declared_bound_that_only_a_condition_meets_makes_another_question(
    tmp_path: Path,
) -> None:
    sql = "SELECT COUNT(*) AS n FROM visits WHERE age > 30"
    with Curator.from_file(write_hospital(tmp_path)) as curator:
        curator.open_account("research")
        curator.ask(sql, epsilon=0.1)
    narrower = COLUMNS.replace("120", "40")
    with Curator.from_file(write_hospital(tmp_path, columns=narrower)) as curator:
        assert not curator.ask(sql, epsilon=0.1).repeated
        assert curator.ask(sql, epsilon=0.1).repeated


def test_a_preview_tells_exactly_what_is_charged(poor: Curator) -> None:
    account = poor.account("research")
    for way in ({"epsilon": 0.2}, {"rho": 0.003}, {"accuracy": Accuracy(within=100)}):
        seen = poor.preview(BY_WARD, **way)
        before = left(account)
        answer = poor.ask(BY_WARD, **way)
        after = left(account)
        assert seen.releases == answer.releases
        assert (seen.epsilon, seen.delta) == (answer.epsilon, answer.delta)
        assert seen.fits
        assert not seen.free
        assert poor.preview(BY_WARD, **way).free
        for meter in seen.meters:
            was, now = before[meter.name], after[meter.name]
            if was is not None and now is not None and meter.requested is not None:
                assert float(was - now) == pytest.approx(meter.requested, rel=1e-12)
                assert meter.left == pytest.approx(float(now), rel=1e-12)
        (error,) = [one.standard_error for one in seen.expected]
        assert set(answer.column("visits").standard_errors or ()) == {error}


def test_a_preview_neither_reads_data_nor_writes_an_entry(poor: Curator, tmp_path: Path) -> None:
    (tmp_path / "visits.parquet").unlink()
    assert poor.preview(BY_WARD, epsilon=0.2).fits
    assert not poor.preview(BY_WARD, epsilon=20).fits
    assert entries(poor) == []


def test_a_refusal_changes_nothing_and_what_it_offers_fits(poor: Curator) -> None:
    account = poor.account("research")
    poor.ask(BY_WARD, epsilon=0.3)
    head, before = account.state().head, left(account)
    with pytest.raises(BudgetExceeded, match=r"the same question with epsilon 0\.\d+ would fit"):
        poor.ask(BY_WARD, epsilon=5.0)
    with pytest.raises(BudgetExceeded) as refused:
        poor.ask(BY_WARD, epsilon=6.0)
    assert (account.state().head, left(account)) == (head, before)
    offered = str(refused.value.would_fit).rsplit(" ", 1)[1]
    assert poor.preview(BY_WARD, epsilon=6.0).would_fit == refused.value.would_fit
    assert not poor.preview(BY_WARD, epsilon=float(offered) * 1.1).fits
    assert poor.ask(BY_WARD, epsilon=float(offered)).receipt == 2


def test_a_refusal_offers_a_rho_or_an_accuracy_where_that_was_asked_for(poor: Curator) -> None:
    with pytest.raises(BudgetExceeded) as refused:
        poor.ask(BY_WARD, rho=5.0)
    assert poor.preview(BY_WARD, rho=float(str(refused.value.would_fit).rsplit(" ", 1)[1])).fits
    with pytest.raises(BudgetExceeded) as refused:
        poor.ask(BY_WARD, accuracy=Accuracy(within=1))
    within = float(str(refused.value.would_fit).rsplit(" ", 1)[1])
    assert within > 1
    assert poor.preview(BY_WARD, accuracy=Accuracy(within=within)).fits


@pytest.mark.parametrize(("moment", "receipt"), [("computing", 1), ("drawing noise", 2)])
def test_a_charge_survives_a_kill_and_is_completed_if_nothing_was_drawn(
    tmp_path: Path, moment: str, receipt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quaestor.ledger.jobs.LEASE", 1.0)
    path = write_hospital(tmp_path, SMALL)
    with Curator.from_file(path) as curator:
        before = left(curator.open_account("research"))
    child = os.fork()
    if child == 0:
        try:
            with Curator.from_file(path) as curator:
                curator.progress = lambda doing: (
                    os.kill(os.getpid(), signal.SIGKILL) if doing == moment else None
                )
                curator.ask(BY_WARD, epsilon=0.2)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    with Curator.from_file(path) as curator:
        account = curator.account("research")
        (entry,) = account.entries()
        assert entry.status == "reserved"
        spent = Fraction(before["epsilon"] or 0) - Fraction(left(account)["epsilon"] or 0)
        assert float(spent) == pytest.approx(0.2, rel=1e-4)
        assert curator.ask(BY_WARD, epsilon=0.2).receipt == receipt
        assert account.state().entries == receipt
        curator.ledger.verify()


def failing(folder: Path) -> Path:
    """A hospital whose table is a view that fails on one row, and quotes it."""
    import duckdb

    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT 1 AS patient, 'Jane Doe' AS name; "
            "CREATE VIEW visits AS SELECT patient, 'A' AS ward, name::INTEGER AS age FROM people"
        )
    return write_hospital(folder, SMALL, source='database = "clinic.duckdb"\ntable = "visits"')


def test_what_fails_after_the_charge_stays_charged_and_always_looks_the_same(
    tmp_path: Path,
) -> None:
    with Curator.from_file(failing(tmp_path)) as curator:
        curator.open_account("research")
        with pytest.raises(EngineFailed) as failure:
            curator.ask("SELECT AVG(age) AS a FROM visits", epsilon=0.1)
        error = failure.value
        assert str(error) == str(EngineFailed())
        assert (error.__context__, error.__cause__) == (None, None)
        assert [entry.status for entry in entries(curator)] == ["reserved"]
        assert curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.1).receipt == 2


def test_a_defect_after_the_charge_looks_the_same_too(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object, **_named: object) -> None:
        raise RuntimeError("Jane Doe")

    monkeypatch.setattr("quaestor.curator.charged_questions.answer_of", broken)
    with pytest.raises(EngineFailed) as failure:
        curator.ask(BY_WARD, epsilon=0.1)
    assert failure.value.__context__ is None
    assert [entry.status for entry in entries(curator)] == ["reserved"]


def test_what_is_wrong_before_the_charge_costs_nothing(curator: Curator, tmp_path: Path) -> None:
    for sql in ("SELECT patient FROM visits", "SELECT 1", "SELECT", "DROP TABLE visits"):
        with pytest.raises(RefusedQuery):
            curator.ask(sql, epsilon=0.1)
    for way in ({}, {"epsilon": 1.0, "rho": 1.0}, {"epsilon": -1.0}, {"epsilon": float("nan")}):
        with pytest.raises(InvalidParameter):
            curator.ask(BY_WARD, **way)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        curator.ask(42, epsilon=0.1)  # type: ignore[arg-type]
    (tmp_path / "visits.parquet").unlink()
    with pytest.raises(SourceUnavailable):
        curator.ask(BY_WARD, epsilon=0.1)
    assert entries(curator) == []


def test_private_groups_take_a_hundredth_of_the_accounts_delta_and_say_so(
    tmp_path: Path,
) -> None:
    open_keys = COLUMNS.replace('{ kind = "text", keys = ["A", "B", "C"] }', '"text"')
    with Curator.from_file(write_hospital(tmp_path, columns=open_keys)) as curator:
        curator.open_account("research")
        seen = curator.preview(BY_WARD, epsilon=1.0)
        assert 0.5e-8 < seen.delta <= 1e-8
        assert 0.5e-9 < curator.preview(BY_WARD, epsilon=1.0, delta=1e-9).delta <= 1e-9
        assert seen.rows is None
        assert any("delta 1e-08" in note and "hundredth" in note for note in seen.notes)
        answer = curator.ask(BY_WARD, epsilon=SURE)
        assert 0.0 < (answer.delta or 0.0) <= 1e-8
        assert {row["ward"]: row["visits"] for row in answer.rows()} == truth_by_ward()


def test_where_nothing_is_set_aside_for_private_groups_the_refusal_says_what_to_do(
    tmp_path: Path,
) -> None:
    open_keys = COLUMNS.replace('{ kind = "text", keys = ["A", "B", "C"] }', '"text"')
    expecting = SMALL + 'expected = ["PureDP(epsilon=0.01) * 100"]\n'
    with Curator.from_file(write_hospital(tmp_path, expecting, columns=open_keys)) as curator:
        curator.open_account("research")
        with pytest.raises(BudgetExceeded, match="declare the keys in the catalog"):
            curator.ask(BY_WARD, epsilon=0.1)
        without = col("age") > 30
        asked = table("visits").where(without).aggregate(n=count())
        assert curator.ask(asked, epsilon=0.1).receipt == 1


def test_data_and_ledger_may_both_be_on_postgres(
    tmp_path: Path, postgres_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    from tests.curator.hospital import VISITS

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE whole_way")
    address = postgres_address.replace("/postgres?", "/whole_way?")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (patient BIGINT, ward TEXT, age INTEGER)")
        connection.cursor().executemany("INSERT INTO visits VALUES (%s, %s, %s)", VISITS)
    monkeypatch.setenv("QUAESTOR_TEST_WHOLE_WAY", address)
    path = write_hospital(
        tmp_path,
        source='environment = "QUAESTOR_TEST_WHOLE_WAY"',
        more='ledger = { environment = "QUAESTOR_TEST_WHOLE_WAY" }',
    )
    with Curator.from_file(path) as curator:
        curator.open_account("research")
        answer = curator.ask(BY_WARD, epsilon=SURE)
        assert {row["ward"]: row["visits"] for row in answer.rows()} == truth_by_ward()
        assert curator.ask(BY_WARD, epsilon=SURE).repeated
    with Ledger(address, create=False) as ledger:
        assert [entry.status for entry in ledger.account("research").entries()] == ["released"]
