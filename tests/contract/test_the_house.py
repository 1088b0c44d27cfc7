"""The house stays one that strangers can live in: names, folders, and the way of a question."""

from __future__ import annotations

import ast
import sys
import threading
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

import quaestor
from quaestor.curator import Curator
from quaestor.curator.accounts import open_from_catalog

if TYPE_CHECKING:
    from types import FrameType

    import pytest

HOUSE = Path(quaestor.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))

MOST_FILES_OF_A_QUESTION = 90
MOST_DOUBLES = 10
MOST_IN_A_FOLDER = 20
NOUNS = {"standing"}

CATALOG = """
ledger = "ledger.db"

[tables.people]
file = "people.parquet"
unit = "person"
rows = 1
groups = 1

[tables.people.columns]
person = "integer"
age = { kind = "integer", low = 0, high = 120 }
team = { kind = "text", keys = ["a", "b"] }

[accounts.study]
epsilon = 5.0
delta = 1e-6
datasets = ["people"]
policy = "open"
"""

QUESTION = "SELECT team, COUNT(*) AS n, AVG(age) AS mean FROM people WHERE age > 20 GROUP BY team"


def test_modules_are_named_by_what_they_hold() -> None:
    doing = [file for file in FILES if file.stem.endswith("ing") and file.stem not in NOUNS]
    assert not doing


def test_no_file_repeats_the_name_of_its_folder() -> None:
    assert not [file for file in FILES if file.stem == file.parent.name]


def test_no_folder_is_a_flat_heap() -> None:
    counts: dict[Path, int] = defaultdict(int)
    for file in FILES:
        counts[file.parent] += file.name != "__init__.py"
    assert not {folder: count for folder, count in counts.items() if count >= MOST_IN_A_FOLDER}


def test_few_class_names_exist_twice() -> None:
    homes = defaultdict(list)
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(file.relative_to(HOUSE)))
    doubles = {name: files for name, files in homes.items() if len(files) > 1}
    assert len(doubles) <= MOST_DOUBLES, doubles


def test_every_folder_says_what_it_is() -> None:
    said = {file: ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) for file in FILES}
    assert not [file for file, docstring in said.items() if not docstring]


def test_a_question_passes_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From ``Curator.ask`` to the answer, in all threads: every file in which a call is made."""
    monkeypatch.chdir(tmp_path)
    duckdb.sql(
        "COPY (SELECT i AS person, i % 90 AS age, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END AS team"
        " FROM range(2000) AS t(i)) TO 'people.parquet'"
    )
    (tmp_path / "quaestor.toml").write_text(CATALOG, encoding="utf-8")
    passed: set[str] = set()
    asking = threading.Event()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        del argument
        if event == "call" and asking.is_set():
            passed.add(frame.f_code.co_filename)

    threading.setprofile(note)  # also for the ledger's own thread, which starts with the ledger
    try:
        with Curator.from_file() as curator:
            open_from_catalog(curator.catalog, "study", ledger=curator.ledger)
            curator.preview(QUESTION, epsilon=0.5)  # imports happen once, and are not on its way
            sys.setprofile(note)
            asking.set()
            curator.ask(QUESTION, epsilon=0.5)
            asking.clear()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    ours = sorted(file.removeprefix(str(HOUSE)) for file in passed if file.startswith(str(HOUSE)))
    assert len(ours) <= MOST_FILES_OF_A_QUESTION, ours
