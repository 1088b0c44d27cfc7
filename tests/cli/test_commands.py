"""Every command does what the design says: the same words for people and for programs."""

import json
import math
import os
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from quaestor import __version__, compose, parse_release
from quaestor.accounting.expressions import parse_releases
from quaestor.accounting.numerics.digits import DIGITS, READING
from quaestor.accounting.theorems import THEOREMS
from quaestor.cli.app import app
from quaestor.errors.base import install_command
from tests.cli.running import Run, run_process

HOMOGENEOUS = "ApproxDP(epsilon=0.1, delta=1e-8) * 30"
HETEROGENEOUS = "PureDP(epsilon=0.25) * 4 + ApproxDP(epsilon=0.5, delta=1e-7) * 3"
BEYOND_ENUMERATION = "PureDP(epsilon=1e-6) * 1000000000 + PureDP(epsilon=3.14159e-5) * 1000000000"
HOPELESS = "ApproxDP(epsilon=2, delta=1) + PureDP(epsilon=1)"
HISTORIES = (
    "PureDP(epsilon=1)",
    HOMOGENEOUS,
    HETEROGENEOUS,
    BEYOND_ENUMERATION,
    HOPELESS,
    "ApproxDP(epsilon=2, delta=1)",
    "ApproxDP(epsilon=0, delta=1e-7) * 10",
    "ApproxDP(epsilon=0.5, delta=0.3) * 20",
    "PureDP(epsilon=0)",
    "PureDP(epsilon=1000000)",
)
CLI_REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
PNG, PDF = b"\x89PNG\r\n\x1a\n", b"%PDF-"

ALWAYS = [theorem for theorem in THEOREMS if not theorem.of_ranges]


def commands() -> list[Any]:
    """Every registered command, as a parameter that goes by its name."""
    return [pytest.param(command, id=command.name) for command in app.registered_commands]


def number(shown: object) -> float:
    """A number out of strict JSON, where an infinity is a text."""
    return inf if shown == "Infinity" else float(shown)  # type: ignore[arg-type]


def words(text: str) -> str:
    """The text without colours, frames and line ends."""
    return " ".join(re.sub(r"[│╭╮╰╯─|+-]", " ", ANSI.sub("", text)).split())


def assert_is_svg(path: Path) -> None:
    root = ET.fromstring(path.read_bytes())  # noqa: S314  # our own file
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 3


# As a process.


def test_python_m_quaestor_prints_the_json_of_the_design() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quaestor", "epsilon", "--delta", "1e-6", "--json", HOMOGENEOUS],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(
        r'\{"epsilon": \{"lower": 2\.36934999\d+, "upper": 2\.36934999\d+\}, '
        r'"delta": 1e-06, "theorem": "optimal"\}\n',
        done.stdout,
    )
    assert done.stderr == ""


def test_the_installed_command_knows_its_version() -> None:
    command = Path(sys.executable).with_name("quaestor")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"quaestor {__version__}\n"


def test_bad_input_ends_a_process_with_status_2_and_a_sentence() -> None:
    done = run_process("epsilon", "--delta", "1e-6", "PureDP(epsilon=-1)")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("quaestor: column 8: epsilon must be a number in [0, ")


def test_a_target_out_of_reach_ends_a_process_with_status_1() -> None:
    done = run_process("count", "-e", "1", "-d", "1", "PureDP(epsilon=1)")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("quaestor: ")
    assert "Traceback" not in done.err


def test_a_reader_that_hangs_up_causes_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "quaestor", "explain", "-d", "1e-6", HOMOGENEOUS],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_tables_survive_a_terminal_that_knows_only_ascii() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quaestor", "explain", "-d", "1e-6", HOMOGENEOUS],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        check=True,
    )
    assert done.stdout.isascii()
    assert b"2.36935" in done.stdout


# epsilon and delta.


@pytest.mark.parametrize("releases", HISTORIES)
def test_epsilon_prints_exactly_its_interval_its_delta_and_its_theorem(
    quaestor: Run, releases: str
) -> None:
    answer = quaestor("epsilon", "--delta", "1e-6", "--json", releases).json
    assert list(answer) == ["epsilon", "delta", "theorem"]
    assert list(answer["epsilon"]) == ["lower", "upper"]
    bounds = compose(*parse_releases(releases)).epsilon_bounds(delta=1e-6)
    assert number(answer["epsilon"]["lower"]) == bounds.lower
    assert number(answer["epsilon"]["upper"]) == bounds.upper
    assert answer["delta"] == 1e-6
    assert answer["theorem"] in {theorem.name for theorem in THEOREMS}


def test_a_limit_decides_the_exit_status(quaestor: Run) -> None:
    asked = ("epsilon", "--delta", "1e-6", "Gaussian(sigma=5) * 10", "--at-most")
    bounds = compose(*parse_releases(asked[3])).epsilon_bounds(delta=1e-6)
    for limit, status in ((bounds.upper, 0), (math.nextafter(bounds.upper, 0), 3), (0.1, 3)):
        assert quaestor(*asked, repr(limit)).status == status
        answer = quaestor(*asked, repr(limit), "--json")
        assert answer.status == status
        assert json.loads(answer.out)["holds"] is (status == 0)
    assert "above the limit of 0.1" in quaestor(*asked, "0.1").out
    assert quaestor("delta", "--epsilon", "1", asked[3], "--at-most", "1").status == 0
    assert quaestor("delta", "--epsilon", "1", asked[3], "--at-most", "0").status == 3
    assert quaestor(*asked, "-1").status == 2
    assert quaestor(*asked, "nan").status == 2


@pytest.mark.parametrize("releases", HISTORIES)
def test_delta_prints_exactly_its_interval_its_epsilon_and_its_theorem(
    quaestor: Run, releases: str
) -> None:
    answer = quaestor("delta", "--epsilon", "1", "--json", releases).json
    assert list(answer) == ["delta", "epsilon", "theorem"]
    assert list(answer["delta"]) == ["lower", "upper"]
    bounds = compose(*parse_releases(releases)).delta_bounds(epsilon=1.0)
    assert answer["delta"] == {"lower": bounds.lower, "upper": bounds.upper}
    assert answer["epsilon"] == 1.0


def test_several_expressions_are_the_same_as_their_sum(quaestor: Run) -> None:
    apart = quaestor("epsilon", "-d", "1e-6", "--json", *HETEROGENEOUS.split(" + "))
    assert apart == quaestor("epsilon", "-d", "1e-6", "--json", HETEROGENEOUS)


def test_an_infinite_epsilon_is_a_text_in_json(quaestor: Run) -> None:
    answer = quaestor("epsilon", "--delta", "0", "--json", HOMOGENEOUS).json
    assert answer["epsilon"] == {"lower": "Infinity", "upper": "Infinity"}


def test_an_infinite_epsilon_may_be_asked_about(quaestor: Run) -> None:
    answer = quaestor("delta", "--epsilon", "inf", "--json", "ApproxDP(epsilon=1, delta=0.5)").json
    assert answer["epsilon"] == "Infinity"
    assert answer["delta"] == {"lower": 0.5, "upper": 0.5}


def test_an_infinite_epsilon_is_said_to_people_too(quaestor: Run) -> None:
    assert quaestor("epsilon", "--delta", "0", HOMOGENEOUS).out.startswith("epsilon = inf ")


def assert_shown_above(text: str, upper: float) -> None:
    """Few digits, and not below the bound but for the reading of decimals: see decision 7."""
    shown, exact = Fraction(text), Fraction(upper)
    assert exact * (1 - READING) <= shown <= exact * (1 + Fraction(1, 10 ** (DIGITS - 1)))


@pytest.mark.parametrize("releases", HISTORIES)
@pytest.mark.parametrize("delta", ["0.3", "1e-3", "1e-6", "1e-12", "1e-40"])
def test_the_epsilon_for_people_is_never_below_the_upper_end(
    quaestor: Run, releases: str, delta: str
) -> None:
    upper = compose(*parse_releases(releases)).epsilon(delta=float(delta))
    out = quaestor("epsilon", "--delta", delta, releases).out
    shown = re.match(r"epsilon = (\S+) at delta = ", out)
    assert shown is not None
    if upper == inf:
        assert shown[1] == "inf"
    else:
        assert_shown_above(shown[1], upper)


@pytest.mark.parametrize("releases", HISTORIES)
@pytest.mark.parametrize("epsilon", ["0", "0.3", "1", "2.5"])
def test_the_delta_for_people_is_never_below_the_upper_end(
    quaestor: Run, releases: str, epsilon: str
) -> None:
    upper = compose(*parse_releases(releases)).delta(epsilon=float(epsilon))
    out = quaestor("delta", "--epsilon", epsilon, releases).out
    shown = re.match(r"delta = (\S+) at epsilon = ", out)
    assert shown is not None
    assert_shown_above(shown[1], upper)


@pytest.mark.parametrize(
    ("arguments", "repeated"),
    [
        (("epsilon", "-d", "1.2345649e-06", HOMOGENEOUS), r"at delta = (\S+)"),
        (("delta", "-e", "1.2345649", HOMOGENEOUS), r"at epsilon = (\S+)"),
        (("explain", "-d", "1.2345649e-06", HOMOGENEOUS), r"at delta = (\S+)"),
        (("explain", "-e", "1.2345649", HOMOGENEOUS), r"at epsilon = (\S+)"),
        (
            ("calibrate", "-e", "1.2345649", "-d", "1e-6", "PureDP(epsilon=?)"),
            r"fits epsilon = ([^\s,]+)",
        ),
        (
            ("calibrate", "-e", "1", "-d", "1.2345649e-06", "PureDP(epsilon=?)"),
            r", delta = (\S+)",
        ),
        (
            ("count", "-e", "1.2345649", "-d", "1e-6", "PureDP(epsilon=0.1)"),
            r"fits epsilon = ([^\s,]+)",
        ),
        (("count", "-e", "1", "-d", "1.2345649e-06", "PureDP(epsilon=0.1)"), r", delta = (\S+)"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_the_other_half_of_a_guarantee_is_not_shown_smaller_than_it_was_asked(
    quaestor: Run, arguments: tuple[str, ...], repeated: str
) -> None:
    asked = next(Decimal(text) for text in arguments if "1.2345649" in text)
    shown = re.search(repeated, quaestor(*arguments).out)
    assert shown is not None
    assert Decimal(shown[1]) >= asked


# explain.


@pytest.mark.parametrize(("option", "quantity"), [("delta", "epsilon"), ("epsilon", "delta")])
@pytest.mark.parametrize("releases", HISTORIES)
def test_explain_has_one_row_for_every_theorem(
    quaestor: Run, releases: str, option: str, quantity: str
) -> None:
    answer = quaestor("explain", f"--{option}", "1e-6", "--json", releases).json
    assert list(answer) == [option, "rows"]
    assert answer[option] == 1e-6
    assert [row["theorem"] for row in answer["rows"]] == [theorem.name for theorem in ALWAYS]
    for row in answer["rows"]:
        assert list(row) == ["theorem", "source", quantity, "note", "best"]
        assert row[quantity] is not None or row["note"] != ""
    assert sum(row["best"] for row in answer["rows"]) == 1


def test_explain_shows_the_family_of_bounded_range(quaestor: Run) -> None:
    rows = quaestor("explain", "-d", "1e-6", "--json", "BoundedRange(epsilon=0.1) * 20").json[
        "rows"
    ]
    listed = [theorem.name for theorem in THEOREMS]
    assert [row["theorem"] for row in rows] == [*listed, "bounded range"]
    found = {row["theorem"]: row for row in rows}
    best = found["bounded range"]
    assert (best["best"], best["note"]) == (True, "here: range, adaptive optimum")
    fixed = found["range, fixed in advance"]
    assert fixed["epsilon"]["upper"] < found["range, adaptive optimum"]["epsilon"]["lower"]
    assert "every query is fixed before the first answer" in fixed["note"]
    rows = quaestor(
        "explain", "-d", "1e-6", "--json", "--non-adaptive", "BoundedRange(epsilon=0.1) * 20"
    ).json["rows"]
    best = next(row for row in rows if row["best"])
    assert best["theorem"] == "bounded range, fixed in advance"
    assert best["note"] == "here: range, fixed in advance"


def test_a_count_of_selections_says_what_black_boxes_would_afford(quaestor: Run) -> None:
    asked = ("count", "-e", "1", "-d", "1e-6", "ExponentialMechanism(epsilon=0.1, sensitivity=1)")
    answer = quaestor(*asked, "--json").json
    assert answer["black_boxes"] < answer["count"] <= answer["non_adaptive"]
    assert quaestor(*asked, "--json", "--non-adaptive").json["count"] == answer["non_adaptive"]
    out = words(quaestor(*asked).out)
    assert f"{answer['black_boxes']} if only epsilon is known" in out


@pytest.mark.parametrize("releases", HISTORIES)
def test_no_theorem_promises_less_than_the_optimum(quaestor: Run, releases: str) -> None:
    least = compose(*parse_releases(releases)).epsilon_bounds(delta=1e-6).lower
    for row in quaestor("explain", "--delta", "1e-6", "--json", releases).json["rows"]:
        if row["epsilon"] is not None:
            assert number(row["epsilon"]["upper"]) >= least, row["theorem"]


@pytest.mark.parametrize("releases", HISTORIES)
def test_the_winner_of_explain_is_the_answer_of_epsilon(quaestor: Run, releases: str) -> None:
    answer = quaestor("epsilon", "--delta", "1e-6", "--json", releases).json
    rows = quaestor("explain", "--delta", "1e-6", "--json", releases).json["rows"]
    best = next(row["epsilon"] for row in rows if row["best"])
    upper = inf if best is None else number(best["upper"])
    assert upper == number(answer["epsilon"]["upper"])


def test_explain_names_every_theorem_to_people_too(quaestor: Run) -> None:
    out = words(quaestor("explain", "--delta", "1e-6", HETEROGENEOUS).out)
    for theorem in ALWAYS:
        assert words(theorem.name) in out
        assert words(theorem.source) in out


@pytest.mark.parametrize("columns", ["40", "30", "20"])
def test_a_narrow_terminal_cuts_no_number_short(
    quaestor: Run, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    wide = quaestor("explain", "--delta", "1e-6", HOMOGENEOUS).out
    numbers = re.findall(r"\d+\.\d{4,}", wide)
    assert len(numbers) >= 3
    monkeypatch.setenv("COLUMNS", columns)
    narrow = quaestor("explain", "--delta", "1e-6", HOMOGENEOUS).out
    for shown in numbers:
        assert shown in narrow


def test_a_printed_explanation_is_not_below_its_upper_ends() -> None:
    explanation = compose(parse_release(HOMOGENEOUS)).explain(delta=1e-6)
    lines = str(explanation).splitlines()[1:]
    for row, line in zip(explanation, lines, strict=True):
        shown = line[2 + 28 :].split()[0]
        assert row.bounds is not None
        assert Fraction(shown) >= Fraction(row.bounds.upper) * (1 - READING), row.theorem


# calibrate and count.


@pytest.mark.parametrize(
    ("epsilon", "delta", "parameter", "releases"),
    [
        ("1", "1e-6", "epsilon", ["PureDP(epsilon=?)"]),
        ("1", "1e-6", "epsilon", ["PureDP(epsilon=?) * 100"]),
        ("0.5", "1e-12", "epsilon", ["ApproxDP(epsilon=?, delta=1e-15) * 30"]),
        ("3", "0", "epsilon", ["PureDP(epsilon=?) * 7"]),
        ("1", "1e-6", "delta", ["ApproxDP(epsilon=0.05, delta=?) * 10"]),
        ("1", "1e-6", "epsilon", ["PureDP(epsilon=?) * 5", "PureDP(epsilon=0.125) * 3"]),
        ("1", "1e-6", "epsilon", ["PureDP(epsilon=?) * 5 + ApproxDP(epsilon=0.1, delta=1e-9)"]),
        ("0", "1e-3", "epsilon", ["PureDP(epsilon=?) * 3"]),
        ("1000", "1e-6", "epsilon", ["PureDP(epsilon=?) * 3"]),
        ("1", "1e-20", "delta", ["ApproxDP(epsilon=0.05, delta=?) * 10"]),
    ],
)
def test_the_calibrated_value_fits_and_a_hair_more_does_not(
    quaestor: Run, epsilon: str, delta: str, parameter: str, releases: list[str]
) -> None:
    answer = quaestor("calibrate", "-e", epsilon, "-d", delta, "--json", *releases).json
    assert list(answer) == ["parameter", "value", "bounds", "epsilon", "delta", "releases"]
    assert answer["parameter"] == parameter
    assert answer["bounds"]["lower"] <= answer["value"] <= answer["bounds"]["upper"]
    assert (answer["epsilon"], answer["delta"]) == (float(epsilon), float(delta))

    def cost(value: float) -> Any:
        texts = (text.replace("?", repr(value)) for text in releases)
        built = compose(*(release for text in texts for release in parse_releases(text)))
        return built.delta_bounds(epsilon=float(epsilon))

    assert cost(answer["value"]).upper <= float(delta)
    assert cost(answer["value"] * 1.0001).lower > float(delta)
    written = compose(*map(parse_release, answer["releases"]))
    assert written.delta(epsilon=float(epsilon)) <= float(delta)


def test_the_calibrated_value_for_people_fits_too(quaestor: Run) -> None:
    out = quaestor("calibrate", "-e", "1", "-d", "1e-6", "PureDP(epsilon=?) * 100").out
    shown = re.match(r"epsilon = (\S+) fits ", out)
    assert shown is not None
    fitting = parse_release(f"PureDP(epsilon={shown[1]}) * 100")
    assert compose(fitting).epsilon(delta=1e-6) <= 1.0


@pytest.mark.parametrize(
    ("release", "epsilon", "delta", "count"),
    [
        ("PureDP(epsilon=0.125)", "1", "0", 8),
        ("PureDP(epsilon=0.125)", "0.9999999999999999", "0", 7),
        ("PureDP(epsilon=0.125) * 2", "1", "0", 4),
        ("PureDP(epsilon=2)", "1", "0", 0),
        ("PureDP(epsilon=1)", "1", "0", 1),
        ("PureDP(epsilon=1)", "1000000", "0", 1000000),
        ("ApproxDP(epsilon=0.25, delta=0.5)", "0.5", "0.5", 1),
        ("ApproxDP(epsilon=0.25, delta=0.5)", "0.5", "0.75", 2),
        ("ApproxDP(epsilon=0, delta=0.25)", "0", "0.578125", 3),
    ],
)
def test_count_is_right_where_hand_can_compute_it(
    quaestor: Run, release: str, epsilon: str, delta: str, count: int
) -> None:
    answer = quaestor("count", "-e", epsilon, "-d", delta, "--json", release).json
    assert list(answer) == ["count", "release", "epsilon", "delta"]
    assert answer["count"] == count
    assert parse_release(answer["release"]) == parse_release(release)


@pytest.mark.parametrize(
    "release",
    ["PureDP(epsilon=0.1)", "PureDP(epsilon=0.001)", "ApproxDP(epsilon=0.01, delta=1e-10)"],
)
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.5", "1e-9"), ("2", "0.01")])
def test_count_fits_and_one_more_does_not(
    quaestor: Run, release: str, epsilon: str, delta: str
) -> None:
    count = quaestor("count", "-e", epsilon, "-d", delta, "--json", release).json["count"]
    one = parse_release(release)
    assert compose(one * count).delta(epsilon=float(epsilon)) <= float(delta)
    assert compose(one * (count + 1)).delta_bounds(epsilon=float(epsilon)).lower > float(delta)


def test_count_tells_people_the_same(quaestor: Run) -> None:
    out = quaestor("count", "-e", "1", "-d", "0", "PureDP(epsilon=0.125)").out
    assert out.startswith("count = 8 fits ")


# region and demo.


def test_region_draws_a_real_svg(quaestor: Run, tmp_path: Path) -> None:
    out = tmp_path / "region.svg"
    assert quaestor("region", "--out", str(out), HOMOGENEOUS, "PureDP(epsilon=1)").status == 0
    assert_is_svg(out)


def test_region_draws_the_same_svg_twice(quaestor: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    for out in (one, two):
        assert quaestor("region", "--out", str(out), "PureDP(epsilon=1) * 3").status == 0
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    ("name", "magic"), [("x.png", PNG), ("x.PNG", PNG), ("x.pdf", PDF), ("x.SVG", b"<?xml")]
)
def test_region_draws_what_the_ending_says(
    quaestor: Run, tmp_path: Path, name: str, magic: bytes
) -> None:
    out = tmp_path / name
    assert quaestor("region", "-o", str(out), "PureDP(epsilon=1)").status == 0
    assert out.read_bytes().startswith(magic)
    assert out.stat().st_size > 5000


@pytest.mark.parametrize("name", ["with space.svg", "ünïcödé.svg", "[red]x.svg", "[bold].svg"])
def test_region_says_where_it_drew_whatever_the_name(
    quaestor: Run, tmp_path: Path, name: str
) -> None:
    out = quaestor("region", "-o", str(tmp_path / name), "PureDP(epsilon=1)").out
    assert (tmp_path / name).is_file()
    assert name in out


def test_region_draws_into_a_folder_whose_name_looks_like_markup(
    quaestor: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "a["
    folder.mkdir()
    assert quaestor("region", "-o", str(folder / "b].svg"), "PureDP(epsilon=1)").status == 0


def test_region_prints_one_curve_for_each_expression(quaestor: Run) -> None:
    releases = ["PureDP(epsilon=1) * 2 + PureDP(epsilon=0.5)", "ApproxDP(epsilon=1, delta=0.25)"]
    answer = quaestor("region", "--json", *releases).json
    assert list(answer) == ["out", "curves"]
    assert answer["out"] is None
    assert [curve["releases"] for curve in answer["curves"]] == releases
    for curve in answer["curves"]:
        assert list(curve) == ["releases", "advantage", "false_negative", "vertices"]
        assert 0 <= curve["advantage"]["lower"] <= curve["advantage"]["upper"] <= 1
        for point in curve["false_negative"]:
            assert list(point) == ["false_positive", "lower", "upper"]
            assert 0 <= point["lower"] <= point["upper"] <= 1 - point["false_positive"] + 1e-15
        alarms, misses = zip(*curve["vertices"], strict=True)
        assert list(alarms) == sorted(alarms)
        assert list(misses) == sorted(misses, reverse=True)
        assert alarms[0] == misses[-1] == 0.0


def test_region_draws_the_same_expression_twice_if_it_is_given_twice(quaestor: Run) -> None:
    twice = quaestor("region", "--json", "PureDP(epsilon=1)", "PureDP(epsilon=1)").json
    assert len(twice["curves"]) == 2


def test_region_says_in_json_where_it_drew(quaestor: Run, tmp_path: Path) -> None:
    out = tmp_path / "region.svg"
    assert quaestor("region", "--json", "-o", str(out), "PureDP(epsilon=1)").json["out"] == str(out)
    assert_is_svg(out)


def test_region_rounds_every_number_to_the_safe_side(quaestor: Run) -> None:
    (curve,) = quaestor("region", "--json", HOMOGENEOUS).json["curves"]
    shown = [Decimal(text) for text in re.findall(r"\b0\.\d+", quaestor("region", HOMOGENEOUS).out)]
    assert min(value for value in shown if value >= Decimal(curve["advantage"]["upper"])) < (
        Decimal(curve["advantage"]["upper"]) + Decimal("1e-4")
    )
    for point in curve["false_negative"]:
        exact = Decimal(point["lower"])
        assert any(exact - Decimal("1e-4") < value <= exact for value in shown)


@pytest.mark.parametrize("figure", ["1", "2", "3", "range", "databases", "beliefs"])
def test_region_reproduces_the_figures_of_the_paper(
    quaestor: Run, tmp_path: Path, figure: str
) -> None:
    svg = tmp_path / "figure.svg"
    answer = quaestor("region", "--figure", figure, "--out", str(svg), "--json").json
    assert answer == {"out": str(svg), "figure": figure}
    assert_is_svg(svg)


def test_a_figure_of_the_paper_is_drawn_for_own_numbers(quaestor: Run, tmp_path: Path) -> None:
    svg = tmp_path / "figure.svg"
    own = ("--epsilon", "0.5", "--delta", "0.01", "--count", "3")
    answer = quaestor("region", "--figure", "3", *own, "--out", str(svg), "--json").json
    assert answer == {"out": str(svg), "figure": "3", "epsilon": 0.5, "delta": 0.01, "count": 3}
    assert_is_svg(svg)
    for wrong in (
        ("region", "--figure", "1", "--count", "3"),
        ("region", "--figure", "2", "--epsilon", "0"),
        ("region", "--figure", "2", "--log"),
        ("region", "PureDP(epsilon=1)", "--epsilon", "1"),
    ):
        assert quaestor(*wrong, "--out", str(svg)).status == 2


def test_a_region_is_drawn_with_logarithmic_axes(quaestor: Run, tmp_path: Path) -> None:
    svg = tmp_path / "log.svg"
    quaestor("region", "PureDP(epsilon=1) * 3", "--log", "--out", str(svg))
    assert "detection" in svg.read_text(encoding="utf-8")


def test_a_figure_of_the_paper_may_be_a_png(quaestor: Run, tmp_path: Path) -> None:
    png = tmp_path / "figure.png"
    assert quaestor("region", "--figure", "1", "--out", str(png)).status == 0
    assert png.read_bytes().startswith(PNG)


def test_a_figure_of_the_paper_has_a_name_of_its_own(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "figure1.svg" in quaestor("region", "--figure", "1").out
    assert_is_svg(tmp_path / "figure1.svg")


def test_a_missing_plot_extra_is_named(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    run = quaestor("region", "-o", str(tmp_path / "x.svg"), "--json", "PureDP(epsilon=1)")
    assert run.status == 1
    assert run.error["code"] == "missing_extra"
    assert (run.error["package"], run.error["extra"]) == ("matplotlib", "plot")
    assert install_command("plot") in run.error["message"]


def test_the_demo_draws_its_picture_where_it_is_told(quaestor: Run, tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there" / "yet"
    run = quaestor("demo", "--accounting", "--out", str(folder))
    assert (run.status, run.err) == (0, "")
    assert_is_svg(folder / "region.svg")
    assert (folder / "region.png").read_bytes().startswith(PNG)
    assert "region.svg" in run.out
    for theorem in ALWAYS:
        assert words(theorem.name) in words(run.out)


# What holds for all commands.


@pytest.mark.parametrize("command", commands())
def test_help_says_what_a_command_is_for(quaestor: Run, command: Any) -> None:
    run = quaestor(command.name, "--help")
    assert run.status == 0
    purpose = command.callback.__doc__.splitlines()[0]
    assert words(purpose) in words(run.out)


@pytest.mark.parametrize("command", commands())
def test_every_command_takes_json(quaestor: Run, command: Any) -> None:
    if command.name != "serve":  # it answers over HTTP, and logs JSON
        assert "--json" in quaestor(command.name, "--help").out


def test_help_lists_every_command(quaestor: Run) -> None:
    run = quaestor("--help")
    assert run.status == 0
    for command in app.registered_commands:
        assert re.search(rf"\b{command.name}\b", run.out)


@pytest.mark.parametrize("command", commands())
def test_every_command_is_documented(command: Any) -> None:
    assert re.search(rf"\b{command.name}\b", CLI_REFERENCE.read_text(encoding="utf-8"))


def test_every_option_is_documented(quaestor: Run) -> None:
    reference = CLI_REFERENCE.read_text(encoding="utf-8")
    for command in app.registered_commands:
        options = set(re.findall(r"--[a-z]+", ANSI.sub("", quaestor(command.name, "--help").out)))
        for option in options - {"--help"}:
            assert option in reference, (command.name, option)
