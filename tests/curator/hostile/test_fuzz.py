"""Ten thousand statements, asked: an answer that was charged and noised, or a refusal."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator import Curator
from quaestor.curator import charged_questions as curator_answering
from quaestor.curator.answers.outputs import answer_of
from quaestor.curator.catalog.model import AccountPlan
from quaestor.errors import QuaestorError
from tests.curator.sql.grammar import Grammar
from tests.curator.sql.hospital import CATALOG, TABLES, create, random_rows

if TYPE_CHECKING:
    from pathlib import Path

    from quaestor.curator.answers.answer import Answer

STATEMENTS = [600, pytest.param(10_000, marks=pytest.mark.slow)]
RUNS = 40  # so many reach the engine; some of them take half a second
EPSILON = 0.01


class Released:
    """The one door through which figures leave: it counts who goes through."""

    def __init__(self) -> None:
        self.through = answer_of
        self.answers: list[Answer] = []

    def __call__(self, *arguments: Any, **named: Any) -> Answer:
        """Draw, and remember what was drawn."""
        self.answers.append(self.through(*arguments, **named))
        return self.answers[-1]


class Enough(Exception):
    """No more runs on the engine."""


@pytest.fixture
def curator(tmp_path: Path) -> Curator:
    """The hospital of the parser's tests, on DuckDB, and an account that is never exhausted."""
    import duckdb

    chance = random.Random(4)
    with duckdb.connect(str(tmp_path / "hospital.duckdb")) as connection:
        for name, table in TABLES.items():
            connection.execute(create(table))
            made = [list(row.values()) for row in random_rows(table, chance, 60)]
            marks = ", ".join("?" * len(table.columns))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', made)
    tables = tuple(
        replace(
            table,
            source=replace(
                table.source, connection="hospital.duckdb", table=table.name, files=None
            ),
        )
        for table in CATALOG.tables
    )
    account = AccountPlan(
        name="all", epsilon=100_000.0, delta=1e-3, datasets=("hospital", "staff"), policy="open"
    )
    return Curator(replace(CATALOG, tables=tables, accounts=(account,), folder=str(tmp_path)))


def asked(curator: Curator, text: str) -> tuple[str, Answer | None]:
    """How it went; whatever is not an error of ours comes through, and fails the test."""
    try:
        answer = curator.ask(text, epsilon=EPSILON, noise="geometric")  # epsilons add up
    except (Enough, QuaestorError) as error:
        return type(error).__name__, None
    return ("repeated" if answer.repeated else "answered"), answer


@pytest.mark.parametrize("count", STATEMENTS)
def test_every_statement_is_refused_or_answered_with_noise_and_an_entry(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    account = curator.open_account("all")
    released = Released()
    monkeypatch.setattr(curator_answering, "answer_of", released)
    grammar = Grammar(random.Random(20_261_117))
    kinds = [grammar.statement] * 6 + [grammar.broken] * 3 + [grammar.noise]
    found: Counter[str] = Counter()
    charged: Counter[str] = Counter()
    prepared = curator._engines.prepared

    def stopping(measurement: Any) -> Any:
        if found["answered"] >= RUNS:
            raise Enough
        return prepared(measurement)

    monkeypatch.setattr(curator._engines, "prepared", stopping)
    for number in range(count):
        text = kinds[number % len(kinds)]()
        outcome, answer = asked(curator, text)
        found[outcome] += 1
        if outcome == "answered" and answer is not None:
            charged[answer.dataset] += answer.epsilon or 0.0  # type: ignore[assignment]
            assert answer.columns == released.answers[-1].columns, text
            assert answer.releases == released.answers[-1].releases != (), text
    entries = list(account.entries())
    assert found["answered"] == RUNS == len(entries) == len(released.answers)
    assert {entry.status for entry in entries} == {"released"}
    assert [e.releases for e in entries] == [a.releases for a in released.answers]
    for dataset in ("hospital", "staff"):
        [spent] = [b.spent for b in account.remaining(dataset=dataset) if b.meter == "epsilon"]
        assert float(spent or 0) == pytest.approx(charged[dataset], rel=1e-9)
    assert found["RefusedQuery"] > count / 2
    refused = {"RefusedQuery", "Enough", "InvalidParameter", "TargetOutOfReach"}
    assert set(found) <= {"answered", "repeated"} | refused, found
    curator.ledger.verify()
    curator.close()
