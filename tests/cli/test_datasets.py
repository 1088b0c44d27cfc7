"""Datasets on the command line: known by their source, of some version, and for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.curator.hospital import write_hospital

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quaestor: Run) -> Path:
    """The catalog of a hospital whose account is open."""
    monkeypatch.chdir(tmp_path)
    catalog = write_hospital(tmp_path)
    assert quaestor("account", "open", "research").status == 0
    return catalog


def test_a_renamed_dataset_is_refused_with_what_to_do(hospital: Path, quaestor: Run) -> None:
    assert quaestor("query", COUNT, "--epsilon", "0.5").status == 0
    text = hospital.read_text(encoding="utf-8")
    renamed = text.replace("tables.visits", "tables.stays").replace("research", "fresh")
    hospital.write_text(renamed, encoding="utf-8")
    run = quaestor("account", "open", "fresh")
    assert run.status == 2
    assert "a new name does not give a new budget: name it 'visits'" in run.err
    error = quaestor("account", "open", "fresh", "--json").error
    assert (error["code"], error["known_as"]) == ("source_known", "visits")
    hospital.write_text(renamed + "beside = true\n", encoding="utf-8")
    assert quaestor("account", "open", "fresh").status == 0
    assert quaestor("ledger", "verify").status == 0


def test_a_changed_declaration_is_shown_with_the_account(hospital: Path, quaestor: Run) -> None:
    assert quaestor("query", COUNT, "--epsilon", "0.5").status == 0
    assert "unchanged since" in quaestor("account", "show", "research").out
    text = hospital.read_text(encoding="utf-8")
    hospital.write_text(text.replace("= 120", "= 110"), encoding="utf-8")
    assert quaestor("query", COUNT, "--epsilon", "0.4").status == 0
    assert "changed once, at" in quaestor("account", "show", "research").out
    (declared,) = quaestor("account", "show", "research", "--json").json["declared"]
    assert (declared["dataset"], declared["changes"]) == ("visits", 1)


def test_a_refresh_is_recorded_and_a_question_can_be_asked_anew(
    hospital: Path, quaestor: Run
) -> None:
    assert hospital.is_file()
    ask = ("query", COUNT, "--epsilon", "0.5")
    assert quaestor(*ask).status == 0
    run = quaestor("dataset", "refreshed", "visits", "--version", "2026-12", "--json")
    assert run.json == {"dataset": "visits", "version": "2026-12", "accounts": ["research"]}
    again = quaestor(*ask)
    assert "before version 2026-12" in again.out
    assert "cost nothing" in again.out
    anew = quaestor(*ask, "--anew")
    assert "receipt 2" in anew.out
    assert "data version 2026-12" in anew.out
    assert quaestor(*ask, "--json").json["data_version"] == "2026-12"
    assert not quaestor("preview", COUNT, "--epsilon", "0.5", "--anew", "--json").json["free"]
    assert "has data version 2026-12 since" in quaestor("account", "show", "research").out
    assert quaestor("dataset", "refreshed", "visits", "--version", "2026-12").status == 2
    assert quaestor("dataset", "refreshed", "vists", "--version", "3").status == 2


def test_an_answer_for_the_analyst_alone_is_paid_for_again_by_others(
    hospital: Path, quaestor: Run
) -> None:
    assert hospital.is_file()
    ask = ("query", COUNT, "--epsilon", "0.5", "--json", "--analyst")
    epi = ("--member-of", "epi")
    assert quaestor(*ask, "ann", "--audience", "group:epi", *epi).json["receipt"] == 1
    assert quaestor(*ask, "bob", *epi).json["receipt"] == 1
    assert quaestor(*ask, "carl", "--audience", "analyst").json["receipt"] == 2
    assert quaestor(*ask, "carl").json["repeated"]
    assert quaestor(*ask, "dora").json["receipt"] == 3
    preview = ("preview", COUNT, "--epsilon", "0.25", "--json")
    assert not quaestor(*preview, *epi).json["free"]
    logged = quaestor("ledger", "log", "research", "--json")
    assert [e["audience"] for e in logged.json["entries"]] == ["group:epi", "analyst", ""]


def test_a_prepared_table_is_asked_until_it_changes(hospital: Path, quaestor: Run) -> None:
    assert quaestor("dataset", "prepare", "visits", "--status", "--json").json["table"] == "visits"
    assert "snapshot of visits: in use, as of 20" in quaestor("dataset", "prepare", "visits").out
    assert quaestor("query", COUNT, "--epsilon", "0.5").status == 0
    refused = quaestor("dataset", "prepare", "visits", "--status", "--remove")
    assert (refused.status, "without --status" in refused.err) == (2, True)
    assert "visits: removed" in quaestor("dataset", "prepare", "visits", "--remove").out
    unknown = quaestor("dataset", "prepare", "nowhere")
    assert (unknown.status, "quaestor dataset list" in unknown.err) == (2, True)
    assert hospital.exists()


def test_a_copy_of_a_table_that_was_renamed_is_named_and_can_be_deleted(
    hospital: Path, quaestor: Run
) -> None:
    copies = hospital.with_name("quaestor.snapshots")
    assert quaestor("dataset", "prepare", "visits", "--json").json["orphans"] == []
    text = hospital.read_text(encoding="utf-8")
    hospital.write_text(text.replace("[tables.visits", "[tables.calls"), encoding="utf-8")
    told = quaestor("dataset", "prepare", "calls")
    assert "quaestor dataset prepare visits --remove" in told.out + told.err
    assert len([*copies.glob("*.duckdb")]) == 2
    removed = quaestor("dataset", "prepare", "visits", "--remove")
    assert "removed" in removed.out
    assert len([*copies.glob("*.duckdb")]) == 1
    assert quaestor("dataset", "prepare", "visits", "--remove").status == 2


_CALLS = """
ledger = "ledger.db"
[tables.calls]
environment = "CALLS"
unit = "id"
rows = 1
groups = 1
columns = { id = "integer" }
[accounts.calls]
datasets = ["calls"]
policy = "open"
epsilon = 9.0
delta = 1e-6
"""


def test_a_table_of_a_server_is_asked_as_of_when_it_was_prepared(
    tmp_path: Path, quaestor: Run, postgres_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE TABLE calls AS SELECT i AS id FROM generate_series(1, 50) r(i)")
    monkeypatch.setenv("CALLS", postgres_address)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quaestor.toml").write_text(_CALLS, encoding="utf-8")
    assert quaestor("account", "open", "calls").status == 0
    try:
        made = quaestor("dataset", "prepare", "calls")
        assert "snapshot of calls: in use, as of 20" in made.out
        assert "recorded as a data version with calls" in made.out
        again = quaestor("dataset", "prepare", "calls", "--json").json
        assert again["accounts"] == ["calls"]
        of = again["snapshot"].removeprefix("in use, as of ")
        asked = quaestor("query", "SELECT COUNT(*) AS n FROM calls", "--epsilon", "1")
        assert f"Computed on the data owner's copy of calls, as of {of}." in " ".join(
            asked.out.split()
        )
        assert f"data version {of}" in asked.out
        assert "calls: removed" in quaestor("dataset", "prepare", "calls", "--remove").out
    finally:
        with psycopg.connect(postgres_address, autocommit=True) as connection:
            connection.execute("DROP TABLE calls")
