"""The commands that release and that say how much noise is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.papers.least_variance import least_variances

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

MANY = "Geometric(scale=0.001, sensitivity=120)"  # so little noise that none is ever drawn


@pytest.fixture
def ages(tmp_path: Path) -> str:
    file = tmp_path / "people.csv"
    file.write_text("name,age\nAda,34\nBea,51\nCleo,\nDora,178\n", encoding="utf-8")
    return str(file)


def test_release_shows_the_figure_its_error_and_its_cost(quaestor: Run) -> None:
    out = quaestor("release", "Geometric(scale=20)", "--value", "120").out.splitlines()
    assert abs(int(out[0].removeprefix("released = ")) - 120) < 1000
    assert out[1] == "standard error 28.29, 95% within 60"
    assert out[2] == "cost: Geometric(scale=20.0, sensitivity=1)"
    assert out[3].endswith("at delta = 1e-6")


def test_release_in_json(quaestor: Run) -> None:
    told = quaestor("release", "Laplace(scale=2)", "--value", "1.5", "-d", "0", "--json").json
    assert set(told) == {
        "released",
        "standard_error",
        "error",
        "confidence",
        "releases",
        "epsilon",
        "delta",
    }
    assert isinstance(told["released"], float)
    assert told["releases"] == ["Laplace(scale=2.0, sensitivity=1.0)"]
    assert told["epsilon"]["lower"] <= 0.5 <= told["epsilon"]["upper"]
    assert told["error"]["upper"] == -told["error"]["lower"]


def test_an_answer_is_released_as_a_category(quaestor: Run) -> None:
    told = quaestor("release", "RandomizedResponse(epsilon=1)", "--value", "1", "--json").json
    assert told["released"] in {0, 1}
    assert told["error"] is None


@pytest.mark.parametrize(("statistic", "released"), [("sum", 205), ("count", 3), ("mean", 205 / 3)])
def test_release_of_a_column(quaestor: Run, ages: str, statistic: str, released: float) -> None:
    told = quaestor(
        *("release", MANY, "--csv", ages, "--column", "age"),
        *("--clamp", "0", "120", "--statistic", statistic, "--json"),
    ).json
    assert told["released"] == pytest.approx(released)
    assert len(told["releases"]) == (2 if statistic == "mean" else 1)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["Geometric(scale=20)"], "value"),
        (["Geometric(scale=20)", "--value", "1.5"], "value"),
        (["Geometric(scale=20)", "--value", "many"], "value"),
        (["Laplace(scale=20)", "--value", "nan"], "value"),
        (["Laplace(scale=20)", "--value", "inf"], "value"),
        (["Geometric(scale=-20)", "--value", "1"], "scale"),
        (["PureDP(epsilon=1)", "--value", "1"], "release"),
        (["Geometric(scale=20)", "--value", "1", "--delta", "2"], "delta"),
        (["Geometric(scale=20)", "--value", "1", "--csv", "FILE"], "value"),
        (["Geometric(scale=20)", "--csv", "FILE"], "column"),
        (["Geometric(scale=20)", "--csv", "FILE", "--column", "height"], "column"),
        (["Geometric(scale=20)", "--csv", "FILE", "--column", "age"], "clamp"),
        (["Geometric(scale=20)", "--csv", "FILE", "--column", "age", "--clamp", "0", "9"], "sensi"),
        (["Geometric(scale=20)", "--csv", "nowhere.csv", "--column", "age"], "csv"),
        ([MANY, "--csv", "FILE", "--column", "name", "--clamp", "0", "9"], "column"),
        ([MANY, "--csv", "FILE", "--column", "age", "--clamp", "9", "0"], "high"),
        (["RandomizedResponse(epsilon=1)", "--csv", "FILE", "--column", "age"], "mechanism"),
    ],
)
def test_what_cannot_be_released_is_refused_in_words(
    quaestor: Run, ages: str, arguments: list[str], word: str
) -> None:
    given = [ages if each == "FILE" else each for each in arguments]
    outcome = quaestor("release", *given, "--json")
    assert outcome.status == 2
    assert word in outcome.error.get("field", outcome.error.get("problem", ""))
    assert not any(private in outcome.err for private in ("Ada", "Dora", "178", "205"))


def test_a_column_that_is_no_numbers_is_refused_without_showing_them(
    quaestor: Run, tmp_path: Path
) -> None:
    file = tmp_path / "secret.csv"
    for entry in ("123-45-6789", "nan", "inf"):
        file.write_text(f"age\n{entry}\n", encoding="utf-8")
        outcome = quaestor(
            *("release", MANY, "--csv", str(file), "--column", "age", "--clamp", "0", "120")
        )
        assert outcome.status == 2
        assert entry not in outcome.err.replace("finite", "")
    file.write_bytes(b"age\n\xff\xfe\n")
    outcome = quaestor("release", MANY, "--csv", str(file), "--column", "age")
    assert outcome.status == 2
    assert "UTF-8" in outcome.err


def test_variance_says_the_same_as_the_library(quaestor: Run) -> None:
    target = ("--epsilon", "2", "--delta", "1e-5", "--count", "3")
    told = quaestor("variance", *target, "--json").json
    rows = least_variances(epsilon=2.0, delta=1e-5, count=3)
    assert [row["release"] for row in told["rows"]] == [str(row.release) for row in rows]
    assert [row["variance"] for row in told["rows"]] == [row.variance for row in rows]
    out = quaestor("variance", *target).out
    for name in ("Gaussian", "Laplace", "Geometric", "Staircase", "Kairouz-Oh-Viswanath 4.3"):
        assert name in out
    assert "proved only for other targets" in out  # of Corollary 4.2, which ends at 0.9


@pytest.mark.parametrize(
    "target",
    [
        ("--epsilon", "-1", "--delta", "1e-5", "--count", "3"),
        ("--epsilon", "1", "--delta", "0", "--count", "3"),
        ("--epsilon", "1", "--delta", "1e-5", "--count", "0"),
    ],
)
def test_variance_refuses_targets_that_make_no_sense(quaestor: Run, target: tuple[str]) -> None:
    assert quaestor("variance", *target).status == 2
