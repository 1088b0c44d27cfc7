"""``quaestor preview`` and ``quaestor query``: answers in every form, refusals, and bad input."""

from __future__ import annotations

import csv
import io
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from quaestor.curator.accounts import open_from_catalog
from quaestor.curator.answers.answer import Answer
from quaestor.curator.catalog.catalog_file import read_catalog
from quaestor.ledger import Ledger
from tests.curator.hospital import truth_by_ward, write_hospital

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.running import Run

BY_WARD = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a hospital whose account is open, which is where commands run."""
    open_from_catalog(read_catalog(write_hospital(tmp_path)), "research")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a folder for commands that charge nothing."""
    folder = tmp_path_factory.mktemp("hospital")
    open_from_catalog(read_catalog(write_hospital(folder)), "research")
    return folder


def test_an_answer_is_a_table_with_intervals_a_cost_a_receipt_and_a_bar(
    quaestor: Run, hospital: Path
) -> None:
    assert hospital.is_dir()
    run = quaestor("query", BY_WARD, "--epsilon", "60")
    assert (run.status, run.err) == (0, "")
    for ward, visits in truth_by_ward().items():
        assert f"│ {ward}    │ {visits} ({visits} to {visits}) │" in run.out
    assert "receipt 1" in run.out
    assert "cost epsilon 60," in run.out
    assert "% of account research; " in run.out
    assert "█" in run.out
    assert "░" in run.out
    again = quaestor("query", BY_WARD, "--epsilon", "60")
    assert "cost nothing" in again.out
    assert again.out.splitlines()[:6] == run.out.splitlines()[:6]


def test_an_answer_in_json_is_the_answer_of_the_library(quaestor: Run, hospital: Path) -> None:
    run = quaestor("query", BY_WARD, "--epsilon", "60", "--json")
    assert run.json["repeated"] is False
    again = quaestor("query", BY_WARD, "--epsilon", "60", "--format", "json").json
    assert again == {**run.json, "repeated": True}
    with Ledger(hospital / "ledger.db") as ledger:
        (entry,) = ledger.account("research").entries()
        stored = ledger.account("research").answer(entry.query)
        assert stored is not None
        answer = Answer.from_json(stored.text)
    assert list(answer.column("visits").values) == run.json["columns"][1]["values"]


def test_an_answer_in_csv_and_arrow_has_its_errors_beside_it(quaestor: Run, hospital: Path) -> None:
    from pyarrow import feather, parquet

    printed = quaestor("query", BY_WARD, "--epsilon", "60", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert {row["ward"]: int(row["visits"]) for row in rows} == truth_by_ward()
    beside = ("error", "low", "high", "whole_low", "whole_high")
    assert set(rows[0]) == {"ward", "visits", *(f"visits_{each}" for each in beside)}
    asked = ("query", BY_WARD, "--epsilon", "60", "--out")
    for form in ("csv", "json", "table", "md", "html", "tex"):
        assert quaestor(*asked, f"answer.{form}").status == 0
        assert "visits" in (hospital / f"answer.{form}").read_text(encoding="utf-8")
    written = (hospital / "answer.csv").read_text(encoding="utf-8")
    assert written == printed  # and no table drawn for terminals
    assert quaestor(*asked, "answer.parquet", "--plot", "answer.png").status == 0
    assert parquet.read_table(hospital / "answer.parquet").num_rows == len(rows)
    assert (hospital / "answer.png").read_bytes().startswith(b"\x89PNG")
    told = quaestor(*asked, "answer.xlsx", "--plot", "answer.svg", "--json").json
    assert told == {"out": "answer.xlsx", "plot": "answer.svg", "account": "research", "receipt": 1}
    told = quaestor(*asked, "answer.json", "--json").json
    assert told == {"out": "answer.json", "account": "research", "receipt": 1}
    run = quaestor(*asked, "answer.arrow", "--format", "arrow")
    assert "Wrote answer.arrow" in run.out
    table = feather.read_table(str(hospital / "answer.arrow"))
    assert dict(zip(*(table[name].to_pylist() for name in ("ward", "visits")), strict=True)) == (
        truth_by_ward()
    )


def test_a_preview_says_what_it_would_cost_and_charges_nothing(
    quaestor: Run, hospital: Path
) -> None:
    run = quaestor("preview", BY_WARD, "--within", "10", "--confidence", "0.9")
    assert run.status == 0
    assert "COUNT(*) of visits by ward (3 values)" in run.out
    assert "within 10 with probability 0.9" in run.out
    assert "questions like this fit in total. Nothing was charged." in run.out
    told = quaestor("preview", BY_WARD, "--within", "10", "--json").json
    assert told["expected"][0]["half_width"] <= 10
    assert {"fits", "free", "meters", "releases", "would_fit", "notes"} <= set(told)
    dear = quaestor("preview", BY_WARD, "--epsilon", "5000")
    assert "It does not fit; the same question with epsilon" in dear.out
    with Ledger(hospital / "ledger.db") as ledger:
        assert list(ledger.account("research").entries()) == []


def test_a_refused_budget_is_status_3_with_what_would_fit(quaestor: Run, hospital: Path) -> None:
    assert hospital.is_dir()
    run = quaestor("query", BY_WARD, "--epsilon", "5000")
    assert run.status == 3
    assert "would fit. Nothing was charged (" in run.err
    error = quaestor("query", BY_WARD, "--epsilon", "5000", "--json").error
    assert error["code"] == "budget_exceeded"
    assert error["would_fit"].startswith("the same question with epsilon ")


BAD: list[tuple[tuple[str, ...], str]] = [
    ((BY_WARD,), "--epsilon 0.1, --rho 0.005 or --within 50"),
    ((BY_WARD, "--epsilon", "1", "--rho", "1"), "in exactly one way"),
    ((BY_WARD, "--epsilon", "0"), "epsilon"),
    ((BY_WARD, "--epsilon", "nan"), "epsilon"),
    ((BY_WARD, "--within", "-1"), "within"),
    ((BY_WARD, "--within", "5", "--confidence", "2"), "confidence"),
    ((BY_WARD, "--within", "5", "--of", "nothing"), "nothing"),
    ((BY_WARD, "--epsilon", "1", "--rows", "9"), "from 1 to 1"),
    ((BY_WARD, "--epsilon", "1", "--account", "nobody"), "nobody"),
    ((BY_WARD, "--epsilon", "1", "--analyst", "a\nb"), "analyst"),
    ((BY_WARD, "--epsilon", "1", "--purpose", "a\nb"), "purpose"),
    ((BY_WARD, "--epsilon", "1", "--format", "arrow"), "--out"),
    ((BY_WARD, "--epsilon", "1", "--out", "report.doc"), "ends in one of .txt, .csv"),
    ((BY_WARD, "--epsilon", "1", "--out", "report"), "ends in one of .txt, .csv"),
    ((BY_WARD, "--epsilon", "1", "--out", "report.csv", "--format", "json"), "ends in .json"),
    ((BY_WARD, "--epsilon", "1", "--plot", "report.csv"), ".svg, .png, .pdf"),
    ((BY_WARD, "--epsilon", "1", "--plot", "no/such/report.svg"), "existing folder"),
    ((BY_WARD, "--epsilon", "1", "--out", "no/such/folder.csv"), "--out"),
    ((BY_WARD, "--epsilon", "1", "--catalog", "no.toml"), "no.toml"),
    (("", "--epsilon", "1"), ""),
    (("SELECT patient FROM visits", "--epsilon", "1"), ""),
    (("SELECT COUNT(*) FROM vists", "--epsilon", "1"), "visits"),
    (("SELECT COUNT(*) FROM visits; DROP TABLE visits", "--epsilon", "1"), ""),
    (("SELECT '[/b]' FROM visits", "--epsilon", "1"), ""),
]


@pytest.mark.parametrize(("arguments", "word"), BAD, ids=lambda value: " ".join(value)[-40:])
def test_bad_input_is_a_sentence_and_status_2_and_charges_nothing(
    quaestor: Run,
    untouched: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    word: str,
) -> None:
    monkeypatch.chdir(untouched)
    run = quaestor("query", *arguments)
    assert run.status == 2, run
    assert run.out == ""
    assert word in run.err
    assert "Traceback" not in run.err
    with Ledger(untouched / "ledger.db") as ledger:
        assert list(ledger.account("research").entries()) == []


def test_names_that_look_like_markup_are_shown_as_they_are(quaestor: Run, hospital: Path) -> None:
    assert hospital.is_dir()
    for command in ("preview", "query"):
        run = quaestor(command, 'SELECT COUNT(*) AS "[/b]n" FROM visits', "--epsilon", "1")
        assert run.status == 0, run
        assert "[/b]n" in run.out


def test_an_account_that_is_not_open_is_status_2_with_the_command_to_run(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_hospital(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = quaestor("query", BY_WARD, "--epsilon", "1")
    assert run.status == 2
    assert "quaestor account open research" in run.err


def on_a_terminal(code: str) -> str:
    """What Python code writes to standard error where that is a terminal."""
    reader, writer = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code], stderr=writer, check=False, timeout=600, text=True
    )
    os.close(writer)
    written = b""
    read: Callable[[int, int], bytes] = os.read
    try:
        while chunk := read(reader, 65_536):
            written += chunk
    except OSError:  # the other end is closed, and everything was read
        pass
    os.close(reader)
    assert done.returncode == 0
    return written.decode()


_WAITING = (
    "\nimport threading\nfrom quaestor.cli.drawing import progress as "
    "waiting\nassert waiting._PATIENCE == 0.5\nwaiting._PATIENCE = {patience}\nwith "
    'waiting.waiting() as tell:\n    tell("computing")\n    for timer in '
    "threading.enumerate():\n        if isinstance(timer, threading.Timer) and "
    "{until_it_is_over}:\n            timer.join()\n"
)


def test_progress_is_shown_to_people_who_wait_for_more_than_half_a_second() -> None:
    shown = on_a_terminal(_WAITING.format(patience=0.5, until_it_is_over=True))
    assert "computing" in shown


def test_progress_is_not_shown_to_people_who_wait_for_less() -> None:
    shown = on_a_terminal(_WAITING.format(patience=600, until_it_is_over=False))
    assert "computing" not in shown
