"""Questions with private groups, which the engine keeps until it is drawn which are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from quaestor.curator import Curator
from quaestor.curator.answers.answer import Answer
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.curator.engines.duckdb.connection import DuckConnection
from quaestor.curator.engines.duckdb.kept_rows import DuckKeptRows
from quaestor.curator.engines.stop import Stop
from quaestor.curator.inquiry import Inquiry
from quaestor.curator.pricing.priced_question import Budget
from quaestor.errors import EngineFailed
from tests.curator.hospital import COLUMNS, VISITS, write_hospital

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STEP = 0.5
PRIVATE = "SELECT place, COUNT(*) AS n FROM visits GROUP BY place"
DECLARED = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
MEDIANS = "SELECT place, MEDIAN(age) AS m, COUNT(DISTINCT ward) AS d FROM visits GROUP BY place"
_COLUMNS = f"""{COLUMNS}place = {{ kind = "integer" }}"""


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every place of kept rows that was made, with what was done there."""
    made: list[Any] = []
    first = DuckKeptRows.__init__
    closed = DuckKeptRows.close

    def remembered(self: DuckKeptRows, *given: Any, **named: Any) -> None:
        first(self, *given, **named)
        made.append([self, "open"])

    def forgotten(self: DuckKeptRows) -> None:
        closed(self)
        for each in made:
            each[1] = "closed" if each[0] is self else each[1]

    monkeypatch.setattr(DuckKeptRows, "__init__", remembered)
    monkeypatch.setattr(DuckKeptRows, "close", forgotten)
    return made


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    """A curator of visits whose places, their ages, are private keys."""
    path = write_hospital(tmp_path, columns=_COLUMNS)
    with_place = parquet.read_table(tmp_path / "visits.parquet")
    with_place = with_place.append_column("place", with_place["age"])
    parquet.write_table(with_place, tmp_path / "visits.parquet")
    catalog = read_catalog(path)
    with Curator(catalog, time_step=STEP) as made:
        made.open_account("research")
        yield made


def _slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr("quaestor.curator.charged_questions.sleep", slept.append)
    return slept


def test_figures_are_those_of_the_groups_that_are_shown(curator: Curator, rows: list[Any]) -> None:
    answer = curator.ask(PRIVATE, epsilon=200.0, whole_error=False)
    truth = {age: len({who for who, _, known in VISITS if known == age}) for age in range(20, 80)}
    found: dict[Any, Any] = {row["place"]: row["n"] for row in answer.rows()}
    assert set(found) <= set(truth)
    assert len(found) > 30
    assert all(abs(n - truth[age]) <= 3 for age, n in found.items())
    assert [state for _, state in rows] == ["closed"]


def test_what_depends_on_private_groups_ends_at_a_step_twice(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once when all is measured, and once when what is shown has been fetched: always."""
    slept = _slept(monkeypatch)
    curator.ask(DECLARED, epsilon=1.0)
    assert len(slept) == 1
    curator.ask(PRIVATE, epsilon=1.0)
    assert len(slept) == 3
    monkeypatch.setattr(DuckKeptRows, "keep", _fails)
    with pytest.raises(EngineFailed):
        curator.ask(MEDIANS, epsilon=1.0)
    assert len(slept) == 5


def _fails(*_: object, **__: object) -> None:
    raise RuntimeError("Jane Doe")


@pytest.mark.parametrize("method", ["keep", "offer", "columns"])
def test_what_fails_while_groups_are_kept_or_fetched_looks_the_same(
    curator: Curator, rows: list[Any], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    _slept(monkeypatch)
    account = curator.account("research")
    with monkeypatch.context() as broken:
        broken.setattr(DuckKeptRows, method, _fails)
        with pytest.raises(EngineFailed) as failure:
            curator.ask(PRIVATE, epsilon=1.0)
    assert str(failure.value) == str(EngineFailed())
    assert failure.value.__context__ is None
    assert {state for _, state in rows} == {"closed"}
    assert [entry.status for entry in account.entries()] == ["reserved"]  # it stays charged
    # once noise was drawn, nobody may draw again for this charge
    assert curator.ask(PRIVATE, epsilon=1.0).receipt == (2 if method == "offer" else 1)


def test_what_is_stopped_while_groups_are_fetched_fails_though_they_had_come(
    curator: Curator, rows: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _slept(monkeypatch)
    stop, offer = Stop(), DuckKeptRows.offer

    def stopped_meanwhile(self: DuckKeptRows, numbers: Any) -> Any:
        stop._stopped.set()  # as if just after the last statement was sent
        return offer(self, numbers)

    monkeypatch.setattr(DuckKeptRows, "offer", stopped_meanwhile)
    with stop.watching(), pytest.raises(EngineFailed):
        curator.ask(PRIVATE, epsilon=1.0)
    assert [state for _, state in rows] == ["closed"]


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("moment", ["another statement", "the wait", "fetching"])
def test_what_is_interrupted_leaves_no_rows_behind(
    curator: Curator, rows: list[Any], monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Temporary tables go with their cursor, but Spark's views would stay with its session."""
    slept = _slept(monkeypatch)
    where = {
        "another statement": "quaestor.curator.engines.duckdb.connection.DuckConnection.columns",
        "the wait": "quaestor.curator.charged_questions.sleep",
        "fetching": "quaestor.curator.engines.duckdb.kept_rows.DuckKeptRows.offer",
    }
    monkeypatch.setattr(where[moment], _interrupted)
    asked = [
        Inquiry(question=text, budget=Budget(epsilon=1.0, whole_error=False))
        for text in (PRIVATE, DECLARED)
    ]
    with pytest.raises(KeyboardInterrupt):
        curator.answered_many(asked)
    assert [state for _, state in rows] == ["closed"]
    assert len(slept) == {"another statement": 1, "the wait": 0, "fetching": 2}[moment]


def test_of_a_question_with_a_part_that_fails_no_rows_stay(
    curator: Curator, rows: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do they go before the questions that share them are answered."""
    _slept(monkeypatch)
    monkeypatch.setattr(DuckConnection, "columns", _fails)
    parts = f"{PRIVATE} UNION ALL SELECT -1, COUNT(*) FROM visits"
    asked = [
        Inquiry(question=text, budget=Budget(epsilon=200.0, whole_error=False))
        for text in (parts, PRIVATE)
    ]
    failed, found = curator.answered_many(asked)
    assert isinstance(failed, EngineFailed)
    assert isinstance(found, Answer)
    assert len(found) > 30
    assert [state for _, state in rows] == ["closed"]


def test_questions_about_the_same_groups_share_what_is_kept(
    curator: Curator, rows: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _slept(monkeypatch)
    asked = [
        Inquiry(question=text, budget=Budget(epsilon=epsilon, whole_error=False))
        for text, epsilon in ((PRIVATE, 200.0), (MEDIANS, 400.0))
    ]
    first, second = curator.answered_many(asked)
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert [state for _, state in rows] == ["closed"]
    assert len(first) > 30
    assert all(set(row) == {"place", "m", "d"} for row in second.rows())
