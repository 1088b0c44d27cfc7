"""The ``across`` command: a plan in, the total and its comparison out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quaestor import AtMost, PureDP, compose, compose_across
from quaestor.accounting.numerics.digits import rounded_up

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

HOSPITALS = """
facts = [{ fact = "AtMost", m = 365 }]

[[many]]
name = "hospital"
count = 2000
releases = "PureDP(epsilon=0.01)"
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(HOSPITALS, encoding="utf-8")
    return path


def test_the_hospitals_fit_into_ten_lines() -> None:
    assert len(HOSPITALS.strip().splitlines()) <= 10


def test_people_see_the_total_the_worst_and_what_others_say(quaestor: Run, plan: Path) -> None:
    run = quaestor("across", str(plan), "--delta", "1e-6")
    assert (run.status, run.err) == (0, "")
    nights = compose(PureDP(epsilon=0.01) * 365).epsilon(delta=1e-6)
    assert run.out.startswith(f"epsilon = {rounded_up(nights)} at delta = 1e-6")
    assert "exact (comparable releases: the most revealing first)" in run.out
    assert "2000 databases, neighbours: add_remove" in run.out
    assert (
        "a person in no database, against a person in hospital 1, hospital 2, hospital 3"
    ) in run.out
    assert "and 362 more" in run.out
    assert "the two cases differ in 365 databases" in run.out
    assert "naive" in run.out
    assert "3.65" in run.out  # 365 times 0.01, by parallel composition


def test_programs_get_all_of_it(quaestor: Run, plan: Path) -> None:
    said = quaestor("across", str(plan), "--delta", "1e-6", "--json").json
    databases = {f"hospital {i}": [PureDP(epsilon=0.01)] for i in range(1, 2001)}
    answer = compose_across(databases, membership=AtMost(365)).epsilon_bounds(delta=1e-6)
    assert said["epsilon"] == {"lower": answer.lower, "upper": answer.upper}
    everywhere = compose(PureDP(epsilon=0.01) * 2000).epsilon_bounds(delta=1e-6)
    assert said["naive"] == {"lower": everywhere.lower, "upper": everywhere.upper}
    assert said["parallel"] >= 3.65
    assert said["exact"] is True
    assert said["databases"] == 2000
    assert said["worst"]["first"] == []
    assert said["worst"]["second"] == [f"hospital {i}" for i in range(1, 366)]
    assert said["membership"] == {
        "fact": "All",
        "facts": [{"fact": "AtMost", "m": 365, "of": None}],
    }


def test_neighbours_can_be_changed_on_the_way(quaestor: Run, plan: Path) -> None:
    once = quaestor("across", str(plan), "-d", "1e-6", "--json").json
    twice = quaestor("across", str(plan), "-d", "1e-6", "--neighbours", "replace", "--json").json
    assert twice["epsilon"]["lower"] > once["epsilon"]["upper"]
    assert len(twice["worst"]["differing"]) == 730


def test_releases_without_an_epsilon_have_no_parallel_composition(
    quaestor: Run, tmp_path: Path
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('[databases]\n"a[b]" = "Gaussian(sigma=5)"\n', encoding="utf-8")
    run = quaestor("across", str(path), "--delta", "1e-6")
    assert run.status == 0
    assert "a person in a[b]" in run.out
    assert quaestor("across", str(path), "-d", "1e-6", "--json").json["parallel"] == "Infinity"


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "invalid_plan", "none; write"),
        ("facts = [", "invalid_plan", "this is not TOML"),
        (
            'facts = [{ fact = "AtMost", m = 0 }, { fact = "ExactlyOne" }]\n[databases]\na = []',
            "contradictory_facts",
            "remove or weaken one of them",
        ),
        (
            'facts = [{ fact = "AtMost", m = 1, of = ["nroth"] }]\n[databases]\nnorth = []',
            "unknown_database",
            "did you mean 'north'?",
        ),
        ('neighbours = "close"\n[databases]\na = []', "invalid_parameter", "neighbours must be"),
        ("neighbours = 3\n[databases]\na = []", "invalid_parameter", "neighbours must be"),
    ],
)
def test_a_bad_plan_ends_with_status_2_and_says_what_to_do(
    quaestor: Run, tmp_path: Path, text: str, code: str, message: str
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    run = quaestor("across", str(path), "--delta", "1e-6", "--json")
    assert run.status == 2
    assert run.error["code"] == code
    assert message in run.error["message"]
    plain = quaestor("across", str(path), "--delta", "1e-6")
    assert plain.status == 2
    assert plain.err.startswith("quaestor: ")


def test_a_file_that_cannot_be_read_says_so(quaestor: Run, tmp_path: Path) -> None:
    run = quaestor("across", str(tmp_path / "nothing.toml"), "--delta", "1e-6")
    assert run.status == 2
    assert "cannot be read (No such file or directory); give a TOML file" in run.err
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    run = quaestor("across", str(tmp_path / "bytes.toml"), "--delta", "1e-6")
    assert run.status == 2
    assert "it is not UTF-8 text" in run.err
    assert quaestor("across", str(tmp_path), "--delta", "1e-6").status == 2
