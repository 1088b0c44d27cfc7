"""A new engine is one folder (here one module, outside the package) and one line."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from quaestor.cli.app import main
from quaestor.curator import Curator
from quaestor.curator.catalog import columns_of, read_catalog, table_to_toml
from quaestor.curator.catalog.model import ENGINES, Source
from quaestor.errors import InvalidCatalog, InvalidParameter, SourceUnavailable, UnreadableTable

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = 3_000
ACCOUNT = """
[accounts.study]
epsilon = 20.0
delta = 1e-6
datasets = ["people"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with people in lines of JSON: a schema first, then one person a line."""
    lines: list[dict[str, object]] = [{"person": "int", "age": "int", "place": "str", "note": "?"}]
    lines += [
        {"person": at, "age": 20 + at % 50, "place": "north" if at % 3 else "south"}
        for at in range(PEOPLE)
    ]
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "people.jsonl").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUAESTOR_LEDGER", raising=False)
    return tmp_path


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line."""
    monkeypatch.setitem(ENGINES, "records", "tests.contract.records_engine")


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["quaestor", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def add(monkeypatch: pytest.MonkeyPatch) -> int:
    where = ("--records", "people.jsonl", "--unit", "person", "--rows", "1", "--groups", "1")
    facts = ("--bounds", "age=0:100", "--keys", "place=north,south")
    return run(monkeypatch, "dataset", "add", "people", *where, *facts)


@pytest.mark.usefixtures("registered")
def test_a_new_engine_is_declared_asked_and_charged(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "init") == 0
    assert add(monkeypatch) == 0
    assert (
        "Left out, because their types or names are not supported: note" in capsys.readouterr().out
    )
    text = (folder / "quaestor.toml").read_text(encoding="utf-8")
    assert 'records = "people.jsonl"' in text
    (folder / "quaestor.toml").write_text(text + ACCOUNT, encoding="utf-8")
    with Curator.from_file() as curator:
        source = curator.catalog.tables[0].source
        assert source == Source(engine="records", connection="people.jsonl")
        account = curator.open_account("study")
        before = account.state().entries
        answer = curator.ask(
            "SELECT place, COUNT(*) AS n, AVG(age) AS mean FROM people "
            "WHERE age < 60 GROUP BY place",
            epsilon=4.0,
        )
        # With a quarter of the epsilon, noise of 100 has a probability below exp(-99).
        true = {
            place: sum(
                20 + at % 50 < 60 for at in range(PEOPLE) if bool(at % 3) == (place == "north")
            )
            for place in ("north", "south")
        }
        for row in answer.rows():
            assert abs(float(row["n"] or 0) - true[str(row["place"])]) < 100
            assert 20 <= float(row["mean"] or 0) <= 60
        assert answer.receipt is not None
        assert account.state().entries > before
        assert account.verify().problem is None
        assert curator.corrections == 0


@pytest.mark.usefixtures("registered")
def test_a_new_engine_speaks_with_the_others_words(folder: Path) -> None:
    table = '[tables.people]\nunit = "person"\nrows = 1\ngroups = 1\n'
    columns = 'columns = { person = "integer" }\n'
    path = folder / "quaestor.toml"
    for keys, problem in (
        ('engine = "records"\nfile = "a.csv"\n', "the engine records needs records"),
        ('records = "a.jsonl"\nmaster = "local[2]"\n', "master cannot be combined with records"),
        ('recrods = "a.jsonl"\n', "did you mean 'records'"),
        ("", r'or  records = "visits.jsonl"'),
    ):
        path.write_text(table + keys + columns, encoding="utf-8")
        with pytest.raises(InvalidCatalog, match=problem):
            read_catalog(path)
    path.write_text(f'{table}records = "people.jsonl"\n{columns}', encoding="utf-8")
    declared = read_catalog(path).tables[0]
    assert 'records = "people.jsonl"' in table_to_toml(declared)
    with pytest.raises(UnreadableTable, match=r"none\.jsonl: there is no such file"):
        columns_of(Source(engine="records", connection="none.jsonl"), folder)


@pytest.mark.usefixtures("registered")
def test_tables_of_a_new_engine_are_not_joined_with_those_of_another(folder: Path) -> None:
    from quaestor.curator.engines import engine_for

    (folder / "quaestor.toml").write_text(
        '[tables.people]\nrecords = "people.jsonl"\nunit = "person"\nrows = 1\ngroups = 1\n'
        'columns = { person = "integer", place = "text" }\n'
        '[tables.places]\nfile = "places.csv"\npublic = true\ncolumns = { place = "text" }\n',
        encoding="utf-8",
    )
    with pytest.raises(SourceUnavailable, match="is not in the same database as people"):
        engine_for(read_catalog(folder), ["people", "places"])


def test_without_its_line_it_is_unknown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "init") == 0
    assert add(monkeypatch) == 2
    assert "[tables.people]" not in (folder / "quaestor.toml").read_text(encoding="utf-8")
    with pytest.raises(InvalidParameter, match="engine"):
        columns_of(Source(engine="records", connection="people.jsonl"), folder)
