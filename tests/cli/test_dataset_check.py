"""``dataset check``: exact, for the owner's terminal alone, and it leaves nothing behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.cli.drawing.checked_tables import EXACT
from quaestor.curator.catalog.catalog_file import read_catalog

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

CATALOG = """\
ledger = "ledger.db"

[tables.visits]
file = "visits.csv"
unit = "patient"
rows = 2       # of one patient
groups = 1

[tables.visits.columns]
patient = "integer"
ward = { kind = "text", keys = ["north", "south"] }
cost = { kind = "real", low = 0, high = 100 }  # in euro
creatinine = { kind = "integer", low = 0, high = 20 }
visited = "date"

[accounts.study]
epsilon = 1.0
delta = 1e-6
"""


def _file(*, dear: float = 250.0, many: int = 5, ward: str = "North") -> str:
    lines = ["patient,ward,cost,creatinine,visited"]
    lines += [f"{p},north,10,0.8,2024-01-1{p % 10}" for p in range(20)]
    lines += [f"3,south,{dear},2,2024-02-01"] * many
    lines += [f"4,{ward},20,1,2024-02-01", "5,east,20,1,2024-02-02"]
    lines += [
        ",north,1,1,2024-02-01",
        '6,south,"1,5",1,11.01.2024',
        "7,south,N/A,1,2024-01-11 08:30",
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a messy file and its catalog."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quaestor.toml").write_text(CATALOG, encoding="utf-8")
    (tmp_path / "visits.csv").write_text(_file(), encoding="utf-8")
    return tmp_path


def _found(quaestor: Run) -> Any:
    return quaestor("dataset", "check", "visits", "--yes-exact", "--json").json


def test_exact_figures_go_to_no_pipe_and_no_program(clinic: Path, quaestor: Run) -> None:
    for more in ((), ("--json",)):
        refused = quaestor("dataset", "check", "visits", *more)
        assert refused.status == 2
        assert not refused.out
        assert "--yes-exact" in refused.err
        assert "250" not in refused.err
    assert {file.name for file in clinic.iterdir()} == {"quaestor.toml", "visits.csv"}


def test_a_terminal_gets_them_and_the_first_line_says_what_they_are(clinic: Path) -> None:
    main, other = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "quaestor", "dataset", "check", "visits"],
        cwd=clinic,
        stdout=other,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "120"},
    )
    os.close(other)
    said = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:  # Linux says so when the other side is closed
            break
        if not part:
            break
        said += part
    assert process.wait(60) == 0
    os.close(main)
    assert said.decode().splitlines()[0].strip() == EXACT
    assert "above the cap" in said.decode()


@pytest.mark.usefixtures("clinic")
def test_what_is_found_is_what_is_there(quaestor: Run) -> None:
    found = _found(quaestor)
    assert (found["rows"], found["without_unit"], found["lost"]) == (30, 1, 0)
    columns = {each["column"]: each for each in found["columns"]}
    assert columns["cost"]["unreadable"] == 2
    assert [text for text, _ in columns["cost"]["first"]] == ["1,5", "N/A"]
    numbers = columns["cost"]["numbers"]
    assert (numbers["below"], numbers["above"]) == (0, 5)
    mass = 20 * 10 + 5 * 250 + 2 * 20
    assert numbers["mass"] == mass
    assert columns["cost"]["mass_moved"] == 5 * 150 / mass
    # patient 3 has six values, 510 within the bounds, patients 4 and 5 two each: of 740 in all
    assert columns["cost"]["mass_capped"] == pytest.approx(510 * (1 - 2 / 6) / 740)
    assert columns["creatinine"]["numbers"]["fractions"] == 20
    assert columns["visited"]["unreadable"] == 1  # a time is read as its date
    assert columns["ward"]["other_keys"] == {"rows": 2, "first": ["North", "east"]}
    assert columns["ward"]["variants"] == 1
    assert columns["ward"]["first_variants"] == ["North", "north"]
    people = found["people"]
    assert people["rows"] == {"1": 15, "2": 4, "6": 1}
    assert people["rows_cut"] == 4 / 29
    (groups,) = people["groups"]
    # patients 3, 6 and 7 are in two groups of the declared ones
    assert groups["units"] == {"1": 17, "2": 3}
    kept = 17 + 2 * (1 + 1) / 2 + (1 + 2) / 2
    assert groups["rows_cut"] == pytest.approx(1 - kept / (17 + 4 + 6))


def test_a_ledger_is_neither_made_nor_changed(clinic: Path, quaestor: Run) -> None:
    _found(quaestor)
    assert not (clinic / "ledger.db").exists()
    quaestor("account", "open", "study")
    before = (clinic / "ledger.db").read_bytes()
    _found(quaestor)
    assert (clinic / "ledger.db").read_bytes() == before


def test_remedies_about_bounds_caps_and_keys_hold_nothing_of_the_data(
    clinic: Path, quaestor: Run
) -> None:
    first = _found(quaestor)["remedies"]
    (clinic / "visits.csv").write_text(_file(dear=7777.0, many=40, ward="SOUTH"), encoding="utf-8")
    second = _found(quaestor)["remedies"]
    assert first == second
    abouts = {about for about, _, _ in first}
    assert abouts == {"reading", "unit", "bounds", "caps", "keys"}
    for about, words, command in first:
        if about != "reading":
            assert not re.search(r"\d", words)
            assert not command


@pytest.mark.usefixtures("clinic")
def test_the_command_about_reading_names_every_option_once(quaestor: Run) -> None:
    commands = [command for _, _, command in _found(quaestor)["remedies"] if command]
    wanted = (
        "quaestor dataset add visits --replace --file visits.csv --unit patient --rows 2 --groups 1"
        " --kind patient=integer --kind ward=text --keys ward=north,south --kind cost=real"
        " --bounds cost=0:100 --kind creatinine=real --bounds creatinine=0:20"
        " --kind visited=date --decimal , --null N/A --date-format %d.%m.%Y"
    )
    assert commands == [wanted]


def test_bytes_of_another_encoding_and_lines_of_other_lengths_are_counted(
    clinic: Path, quaestor: Run
) -> None:
    text = _file() + "8,Île-de-Ré,1,1,2024-01-01\n9,south,1\n"
    (clinic / "visits.csv").write_bytes(text.encode("latin-1"))
    found = _found(quaestor)
    assert found["lines"]["undecodable"] == 1
    assert found["lines"]["first_undecodable"] == 32
    assert found["lines"]["ragged"] == 1
    assert found["lines"]["first_ragged"] == [33, 3, 5]
    (command,) = [command for _, _, command in found["remedies"] if command]
    assert "--encoding latin-1" in command


def test_a_clean_table_is_said_to_be_clean(clinic: Path, quaestor: Run) -> None:
    lines = ["patient,ward,cost,creatinine,visited"]
    lines += [f"{p},north,10,1,2024-01-11" for p in range(5)]
    (clinic / "visits.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    printed = quaestor("dataset", "check", "visits", "--yes-exact")
    assert printed.out.splitlines()[0] == EXACT
    assert "All values can be read" in printed.out
    assert not _found(quaestor)["remedies"]


@pytest.mark.usefixtures("clinic")
def test_an_unknown_table_is_named(quaestor: Run) -> None:
    refused = quaestor("dataset", "check", "visit", "--yes-exact")
    assert refused.status == 2
    assert "did you mean 'visits'?" in refused.err


def test_a_table_can_be_declared_anew_and_the_rest_of_the_catalog_stays(
    clinic: Path, quaestor: Run
) -> None:
    more = ("--unit", "patient", "--rows", "2", "--groups", "1", "--kind", "patient=integer")
    taken = quaestor("dataset", "add", "visits", "--file", "visits.csv", *more)
    assert taken.status == 2
    again = quaestor("dataset", "add", "visits", "--replace", "--file", "visits.csv", *more)
    assert again.status == 0, again.err
    assert "quaestor dataset check visits" in again.out
    text = (clinic / "quaestor.toml").read_text(encoding="utf-8")
    assert text.startswith('ledger = "ledger.db"\n\n[tables.visits]\nfile = "visits.csv"\n')
    assert text.endswith("\n\n[accounts.study]\nepsilon = 1.0\ndelta = 1e-6\n")
    assert 'cost = "text"' in text


def test_a_table_is_declared_anew_with_bounds_whose_steps_are_implied(
    clinic: Path, quaestor: Run
) -> None:
    text = (
        "quaestor dataset add visits --replace --file visits.csv --unit patient --rows 2 --groups 1"
        " --kind patient=integer --kind creatinine=integer --bounds creatinine=0:30"
        " --bounds cost=0:90 --kind cost=real"
    )
    again = quaestor(*text.split()[1:])
    assert again.status == 0, again.err
    made = read_catalog(clinic / "quaestor.toml").table("visits")
    assert made is not None
    numbers = [each for each in made.columns if each.name in {"creatinine", "cost"}]
    assert sorted((each.low, each.high) for each in numbers) == [(0.0, 30.0), (0.0, 90.0)]
    assert all(each.granularity for each in numbers)
    wrong = quaestor(*text.replace("=0:30", "=0:1e14").split()[1:])
    assert wrong.status == 2
    assert "nothing was changed: " in wrong.err
    assert "by hand" not in wrong.err


def test_a_declared_format_is_read_as_it_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quaestor: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = CATALOG.replace(
        'file = "visits.csv"\n',
        'file = "visits.csv"\nseparator = ";"\ndecimal = ","\ndate_format = "%d.%m.%Y"\n'
        'null = ["k.A."]\n',
    )
    (tmp_path / "quaestor.toml").write_text(catalog, encoding="utf-8")
    lines = ["patient;ward;cost;creatinine;visited"]
    lines += [f"{p};north;{p},5;1;1{p % 10}.01.2024" for p in range(20)]
    lines += ["3;north;k.A.;1;32.01.2024", "4;north;1.5;1;2024-01-11"]
    (tmp_path / "visits.csv").write_text("\n".join(lines), encoding="utf-8")
    done = quaestor("dataset", "check", "visits", "--json", "--yes-exact")
    found = {each["column"]: each for each in done.json["columns"]}
    assert {name: (each["missing"], each["unreadable"]) for name, each in found.items()} == {
        "patient": (0, 0),
        "ward": (0, 0),
        "cost": (1, 1),
        "creatinine": (0, 0),
        "visited": (0, 2),
    }
    assert found["cost"]["numbers"]["mass"] == sum(range(20)) + 20 * 0.5
