"""The ``audit`` command catches what is broken, with its own exit status, and clears the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests.cli.running import strict_json

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Run

SURE = ("--confidence", "0.999999")


def broken(name: str, first: str, second: str, *more: str) -> tuple[str, ...]:
    """The command line for a broken mechanism of the gallery that promises epsilon = 1."""
    target = f"tests.audit.gallery:{name}"
    return ("audit", target, "--neighbours", first, second, "--epsilon", "1", *more)


HALF = broken("half_the_noise", "0.0", "1.0", "--runs", "8000")


@pytest.mark.parametrize(
    "arguments",
    [
        HALF,
        broken("sensitivity_forgotten_in_one_branch", "[1, 2, 10]", "[1, 2]", "-n", "8000"),
        broken("sparse_vector_without_noise_on_queries", "[0.0, 1.0]", "[1.0, 0.0]", "-n", "8000"),
        broken("seeded_noise", "0.0", "1.0", "-n", "2000"),
        broken("clipped_after_noise", "[1, 50]", "[1]", "-n", "8000"),
        broken("missing_keys", "{'a': 5, 'b': 1}", "{'a': 5, 'b': 0}", "-n", "8000"),
        broken("error_on_rare_data", "[1, 2000]", "[1]", "-n", "8000"),
        broken("slower_for_one", "[99.0]", "[1.0]", "--timing", "-n", "4000"),
        broken("enough_noise", "0.0", "1.0", "--rounds", "3", "-n", "8000"),
        broken("clipped_after_noise", "[1, 50]", "tests.audit.gallery:SHORT", "-n", "8000"),
        broken("half_the_noise", "0.0", "1.0", "--delta", "1e-6", "-n", "8000"),
        ("audit", "Geometric(scale=1) * 4", "--epsilon", "1", "-n", "20000"),
        ("audit", "Laplace(scale=1)", "--neighbours", "0.0", "3.0", "-n", "8000"),
    ],
    ids=lambda arguments: " ".join(arguments[1:5]),
)
def test_a_false_claim_is_status_4(quaestor: Run, arguments: tuple[str, ...]) -> None:
    outcome = quaestor(*arguments)
    assert outcome.status == 4, outcome.out + outcome.err
    assert "VIOLATES its claim: epsilon at least " in outcome.out
    assert "with 99.9 % confidence, claimed" in outcome.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("Geometric(scale=20)", "--epsilon", "0.05", "--delta", "0"),
        ("Geometric(scale=2)",),
        ("Laplace(scale=2) * 3", "--delta", "1e-6"),
        ("Gaussian(sigma=1)",),
        ("RandomizedResponse(epsilon=1, categories=3)",),
        ("Geometric(scale=1)", "--timing", "--epsilon", "1"),
        ("tests.audit.gallery:enough_noise", "--neighbours", "0.0", "1.0", "-e", "1"),
    ],
    ids=" ".join,
)
def test_a_true_claim_is_status_0(quaestor: Run, arguments: tuple[str, ...]) -> None:
    outcome = quaestor("audit", *arguments, *SURE, "--runs", "4000")
    assert outcome.status == 0, outcome.out
    assert "consistent: epsilon at least " in outcome.out
    assert outcome.err == ""


def test_the_json_says_all_that_was_found(quaestor: Run) -> None:
    outcome = quaestor(*HALF, "--json", "--seed", "4")
    assert outcome.status == 4
    told = strict_json(outcome.out)
    assert outcome.out.count("\n") == 1
    assert outcome.err == ""
    assert told["verdict"] == "violates"
    assert 1.0 < told["epsilon"] <= 2.0
    assert told["claimed_epsilon"] == 1.0
    assert told["confidence"] == 0.999
    assert told["runs"] == 2 * told["judged"] == 8000
    assert {"test", "looks_at", "towards_one", "threshold", "counts"} <= set(told["findings"][0])
    assert {"false_positive", "most_false_negative"} <= set(told["curve"][0])


def test_the_picture_is_drawn(quaestor: Run, tmp_path: Path) -> None:
    out = tmp_path / "audit.svg"
    assert quaestor(*HALF, "--out", str(out)).status == 4
    assert ET.parse(out).getroot().tag.endswith("svg")  # noqa: S314  # our own file


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("PureDP(epsilon=1)",), "release"),
        (("Geometric(scale=1)", "--runs", "3"), "runs"),
        (("Geometric(scale=1)", "--confidence", "1"), "confidence"),
        (("Geometric(scale=1)", "--rounds", "0"), "rounds"),
        (("Geometric(scale=1)", "--epsilon", "-1"), "epsilon"),
        (("Geometric(scale=1)", "--delta", "2"), "delta"),
        (("Geometric(scale=1)", "--out", "audit.txt"), "out"),
        (("Geometric(scale=1)", "--neighbours", "os.getcwd()", "1"), "neighbours"),
        (("tests.audit.gallery:half_the_noise", "--epsilon", "1"), "neighbours"),
        (("tests.audit.gallery:half_the_noise", "--neighbours", "0", "1"), "epsilon"),
        (("tests.audit.gallery:nothing", "--neighbours", "0", "1", "-e", "1"), "target"),
        (("no.such.module:nothing", "--neighbours", "0", "1", "-e", "1"), "target"),
        (("tests.audit.gallery:LONG", "--neighbours", "0", "1", "-e", "1"), "target"),
        (("tests.audit.gallery:clipped", "--neighbours", "'a'", "'b'", "-e", "1"), "target"),
    ],
)
def test_what_cannot_be_audited_is_refused_in_words(
    quaestor: Run, arguments: tuple[str, ...], field: str
) -> None:
    few = () if "--runs" in arguments else ("--runs", "400")
    outcome = quaestor("audit", *arguments, *few, "--json")
    assert outcome.status == 2
    assert outcome.error["field"] == field


def test_a_sequential_audit_stops_when_the_claim_is_refuted(quaestor: Run) -> None:
    told = quaestor(*broken("half_the_noise", "0.0", "1.0", "--sequential"))
    assert told.status == 4
    assert "VIOLATES its claim, after " in told.out
    outcome = quaestor("audit", "Geometric(scale=1)", "--sequential", "-n", "500", *SURE, "--json")
    assert outcome.status == 0
    assert outcome.json["verdict"] == "consistent"
    assert outcome.json["runs"] == 500
    refused = quaestor("audit", "Geometric(scale=1)", "--sequential", "--out", "a.svg", "--json")
    assert refused.error["field"] == "sequential"


def test_neighbours_are_searched_for(quaestor: Run) -> None:
    target = "tests.audit.test_search:forgets_noise_if_all_are_alike"
    space = ("--search", "tests.audit.gallery:SPACE")
    told = quaestor("audit", target, *space, "--epsilon", "1", "--sequential")
    assert told.status == 4
    assert "neighbours found in 5000 runs: [" in told.out
    for wrong in (("--neighbours", "0", "1", *space), ("--search", "tests.audit.gallery:LONG")):
        assert quaestor("audit", target, *wrong, "-e", "1", "--json").error["field"] == "search"


def test_times_have_no_picture(quaestor: Run, tmp_path: Path) -> None:
    timed = broken("slower_for_one", "[99.0]", "[1.0]", "--timing", "-n", "400")
    assert quaestor(*timed, "--out", str(tmp_path / "audit.svg")).status == 2
