"""Who follows the README, or a page of the start, gets to what is shown there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from quaestor.cli.demo.liver import ACCOUNT, write_tables
from tests.contract.page_blocks import comparable, fences, follow, running_in
from tests.service.running import running

if TYPE_CHECKING:
    from tests.contract.page_blocks import Run

ANSWER, AUDIT = "docs/start/first-private-answer.md", "docs/start/first-audit.md"
SERVICE = "docs/start/first-service.md"
SERVED = "http://127.0.0.1:8080"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a new folder, which is called clinic; the lines that it prints."""
    return running_in(tmp_path / "clinic", monkeypatch, capsys)


def test_every_step_to_a_first_answer_works_and_prints_what_is_shown(run: Run) -> None:
    assert sum(follow(run, kind, block) for kind, block in fences(ANSWER)) >= 7


def test_a_first_audit_finds_what_is_shown(run: Run) -> None:
    assert sum(follow(run, kind, block) for kind, block in fences(AUDIT)) == 1


def test_the_answer_of_the_readme_has_the_form_that_is_shown(run: Run) -> None:
    study = Path("demo/liver")
    study.mkdir(parents=True)
    write_tables(study)
    run(f"quaestor account open {ACCOUNT} --catalog {study}/quaestor.toml")
    shown = [(kind, block) for kind, block in fences("README.md") if kind == "text"]
    assert sum(follow(run, kind, block) for kind, block in shown) == 1


def test_a_table_in_postgresql_is_asked_as_shown(
    run: Run, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT i % 500 AS patient, chr(65 + i % 3) AS ward, "
            "(i % 900)::numeric AS cost FROM generate_series(1, 2000) i"
        )
    monkeypatch.setenv("CLINIC_DATABASE", database)
    for kind, block in fences("docs/guide/postgresql.md"):
        if not block.startswith("ledger = "):
            follow(run, kind, block)
    assert "research" in "".join(run("quaestor account list"))


def test_a_first_service_is_asked_as_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, block in fences(ANSWER):
        if not block.startswith(("$ quaestor preview", "$ quaestor query", "from ", "quaestor q")):
            follow(run, kind, block)
    blocks = [block for kind, block in fences(SERVICE) if kind == "text"]
    for block in blocks:
        command, _, shown = block.removeprefix("$ ").partition("\n")
        if not command.startswith(("quaestor serve", "quaestor query")):
            printed = run(command)
            assert comparable(command, printed) == comparable(command, shown.splitlines())
            if command.startswith("quaestor token"):
                monkeypatch.setenv("QUAESTOR_TOKEN", printed[0])
    (asked,) = (block for kind, block in fences(SERVICE) if block.startswith("# ask.py"))
    with running(Path("quaestor.toml"), people=False) as service:
        Path("ask.py").write_text(asked.replace(SERVED, service.url), encoding="utf-8")
        fits, heading, *_ = run("python ask.py")
        assert fits == "True"
        assert heading.startswith("| ward | visits (0.95) |")
        command, _, shown = blocks[-1].removeprefix("$ ").partition("\n")
        printed = run(command.replace(SERVED, service.url))
        assert comparable(command, printed) == comparable(command, shown.splitlines())
