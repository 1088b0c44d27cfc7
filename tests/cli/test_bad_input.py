"""Whatever is typed: a sentence and status 2, or the right answer; never a traceback."""

import math
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.cli.running import Run, run_process

ONE = "PureDP(epsilon=1)"
MANY_DIGITS = "9" * 400


def deep(levels: int) -> str:
    """Repeated(release=Repeated(release=...)), so many levels of it."""
    return "Repeated(release=" * levels + ONE + ", count=2)" * levels


# Text that is no release: the column where it stops making sense, and what the message says.
EXPRESSIONS: list[tuple[str, int, str]] = [
    ("", 1, "expected a release"),
    (" ", 1, "expected a release"),
    ("\t\n ", 1, "expected a release"),
    ("PureDP", 7, "expected '('"),
    ("PureDP(", 8, "named"),
    ("PureDP()", 1, "epsilon"),
    ("PureDP(epsilon)", 15, "expected '='"),
    ("PureDP(epsilon=)", 16, "expected a number"),
    ("PureDP(epsilon=1", 17, "expected"),
    ("PureDP(epsilon=1,)", 18, ""),
    ("PureDP(epsilon=1))", 18, "after the release"),
    ("PureDP(epsilon=1);", 18, "unexpected ';'"),
    ("PureDP(0.1)", 8, "named"),
    ("PureDP(epsilon=nan)", 8, "epsilon must be a number in [0, "),
    ("PureDP(epsilon=inf)", 8, "epsilon must be a number in [0, "),
    ("PureDP(epsilon=-inf)", 8, "epsilon must be a number in [0, "),
    ("PureDP(epsilon=-1)", 8, "epsilon must be a number in [0, "),
    ("PureDP(epsilon=-1e-300)", 8, "epsilon must be a number in [0, "),
    ("PureDP(epsilon=1e400)", 8, "epsilon must be a number in [0, "),
    ("PureDP(epsilon=1e300)", 8, "epsilon must be a number in [0, "),
    ("PureDP(epsilon=1000001)", 8, "epsilon must be a number in [0, "),
    (f"PureDP(epsilon={MANY_DIGITS})", 8, "epsilon must be a number in [0, "),
    (f"PureDP(epsilon=-{MANY_DIGITS})", 8, "epsilon must be a number in [0, "),
    ("PureDP(epsilon=True)", 8, ""),
    ("PureDP(epsilon='1')", 16, "unexpected"),
    ("PureDP(epsilon=0x10)", 17, ""),
    ("PureDP(epsilon=1e5e5)", 19, ""),
    ("PureDP(epsilon=1.2.3)", 19, ""),
    ("PureDP(epsilon=1,5)", 18, "named"),
    ("PureDP(epsilon=--1)", 16, "unexpected '-'"),
    ("PureDP(epsilon=1/3)", 17, "unexpected '/'"),
    ("PureDP(epsilon=1+1)", 17, "expected"),
    ("PureDP(epsilon={1})", 16, "unexpected '{'"),
    ("PureDP(epsilon=PureDP(epsilon=1))", 8, "epsilon must be a number"),
    ("PureDP(epsilon=1, epsilon=2)", 19, "epsilon is given twice"),
    ("PureDP(epsilon=1, delta=0)", 19, "delta"),
    ("PureDP(Epsilon=1)", 8, "Epsilon"),
    ("PureDP(epsilοn=1)", 8, ""),  # a Greek omicron
    ("ApproxDP(epsilon=1)", 1, "delta"),
    ("ApproxDP(delta=0.1)", 1, "epsilon"),
    ("ApproxDP(epsilon=1, delta=-0.1)", 21, "delta must be a number in [0, 1]"),
    ("ApproxDP(epsilon=1, delta=1.0000001)", 21, "delta must be a number in [0, 1]"),
    ("ApproxDP(epsilon=1, delta=nan)", 21, "delta must be a number in [0, 1]"),
    ("ApproxDP(epsilon=1, delta=1e400)", 21, "delta must be a number in [0, 1]"),
    (f"ApproxDP(epsilon=1, delta={MANY_DIGITS})", 21, "delta must be a number in [0, 1]"),
    ("puredp(epsilon=1)", 1, "unknown release 'puredp'"),
    ("Laplacian(scale=1)", 1, "unknown release 'Laplacian'"),
    ("__import__(os=1)", 1, "unknown release '__import__'"),
    ("__import__('os')", 12, "unexpected"),
    ("Release(epsilon=1)", 1, "unknown release 'Release'"),
    ("０PureDP(epsilon=1)", 2, "expected '*'"),  # a wide zero
    ("ПурeDP(epsilon=1)", 1, "unexpected"),
    ("🙂", 1, "unexpected"),
    ("\x00", 1, "unexpected"),
    ("\x1b[31m" + ONE, 1, "unexpected"),
    ("* 3", 1, "expected a release"),
    ("3", 2, "expected '*'"),
    ("3 *", 4, "expected a release"),
    (f"{ONE} *", 20, "count must be a whole number"),
    (f"{ONE} * 0", 21, "count must be"),
    (f"{ONE} * -0", 21, "count must be"),
    (f"{ONE} * -3", 21, "count must be"),
    (f"{ONE} * 1.5", 21, "count must be"),
    (f"{ONE} * 1e3", 21, "count must be"),
    (f"{ONE} * 3.0", 21, "count must be"),
    (f"{ONE} * inf", 21, "count must be"),
    (f"{ONE} * nan", 21, "count must be"),
    (f"{ONE} * x", 21, "count must be"),
    (f"{ONE} * (3)", 21, "count must be"),
    (f"{ONE} * {10**30}", 21, "count must be"),
    (f"{ONE} * {10**15 + 1}", 21, "count must be"),
    (f"{ONE} * {'9' * 4000}", 21, "count must be"),
    (f"{ONE} * 1__0", 22, "unexpected"),
    (f"0 * {ONE}", 1, "count must be"),
    (f"-3 * {ONE}", 1, "count must be"),
    (f"1.5 * {ONE}", 1, "count must be"),
    (f"{10**30} * {ONE}", 1, "count must be"),
    (f"2 * {ONE} * 3", 23, "after the release"),
    (f"{ONE} * 2 * 3", 23, "after the release"),
    (f"{ONE} ** 2", 20, "count must be"),
    (f"{ONE} {ONE}", 19, "after the release"),
    (f"{ONE} + ", 20, "expected a release"),
    (f"{ONE} + 5", 22, "expected '*'"),
    (f"{ONE} - {ONE}", 19, "unexpected '-'"),
    (f"+ {ONE}", 1, "expected a release"),
    (f"({ONE})", 1, "expected a release"),
    (f"Repeated(release={ONE}, count=0)", 37, "count must be"),
    (f"Repeated(release={ONE}, count=1.5)", 37, "count must be"),
    (f"Repeated(release={ONE}, count={10**30})", 37, "count must be"),
    ("Repeated(release=5, count=2)", 10, "release must be"),
    ("Repeated(release=PureDP(epsilon=-1), count=2)", 25, "epsilon must be"),
    (f"Repeated(count=2, release={ONE}, count=3)", 46, "count is given twice"),
    (deep(2), 10, "release must be"),
    (deep(100), 1 + 17 * 17, "nested too deeply"),
    (ONE + " " * 10_000, 4096, "longer than 4096 characters"),
    ("P" * 10_000, 4096, "longer than 4096 characters"),
    ("(" * 10_000, 4096, "longer than 4096 characters"),
    (" + ".join([ONE] * 1000), 4096, "longer than 4096 characters"),
    ("P" * 4000, 1, "unknown release"),
    ("(" * 4000, 1, "expected a release"),
    ("PureDP(epsilon=?)", 16, "'?' is only for calibrate"),
    ("ApproxDP(epsilon=?, delta=?)", 27, "only one '?'"),
    (f"{ONE} * ?", 21, "count must be"),
    ("?", 1, "expected a release"),
]

# Numbers that options refuse, and the words of the refusal.
NOT_A_DELTA = ["nan", "inf", "-inf", "-1", "-1e-300", "1.0000001", "1e400", "2", MANY_DIGITS]
NOT_AN_EPSILON = ["nan", "-inf", "-1", "-1e-300", "-1e400", f"-{MANY_DIGITS}"]
NOT_A_NUMBER = ["", " ", "abc", "1,5", "1e", "0x10", "one", "½", "1 2", "--", "1e-6;", "None"]

# Whole command lines that make no sense.
LINES: list[tuple[tuple[str, ...], str]] = [
    (("explain", ONE), "delta and epsilon"),
    (("explain", "-d", "1e-6", "-e", "1", ONE), "delta and epsilon"),
    (("calibrate", "-e", "1", "-d", "1e-6", ONE), '"?"'),
    (("calibrate", "-e", "1", "-d", "1e-6", "PureDP(epsilon=?)", "PureDP(epsilon=?)"), '"?"'),
    (("calibrate", "-e", "1", "-d", "1e-6", "PureDP(epsilon=?) + PureDP(epsilon=?)"), "one '?'"),
    (("calibrate", "-e", "1", "-d", "1e-6", "PureDP(sigma=?)"), "sigma"),
    (("calibrate", "-e", "1", "-d", "1e-6", "ApproxDP(epsilon=?)"), "delta"),
    (("calibrate", "-e", "1", "-d", "1e-6", "ApproxDP(epsilon=?, delta=5)"), "delta must be"),
    (("calibrate", "-e", "1", "-d", "1e-6", "ApproxDP(epsilon=?, delta=nan)"), "delta must be"),
    (("calibrate", "-e", "1", "-d", "1e-6", "PureDP(epsilon=?)", "PureDP(epsilon=-1)"), "epsilon"),
    (("calibrate", "-e", "1", "-d", "1e-6", "PureDP(epsilon=?)", "ApproxDP(epsilon=1)"), "delta"),
    (("calibrate", "-e", "1", "-d", "1e-6", f"PureDP(epsilon=?) * {10**30}"), "count must be"),
    (("calibrate", "-e", "1", "-d", "1e-6", f"Repeated(release={ONE}, count=?)"), "count"),
    (("calibrate", "-e", "inf", "-d", "1e-6", "PureDP(epsilon=?)"), "epsilon must be"),
    (("calibrate", "-e", "1", "-d", "1e-6", "PureDP(epsilon=?"), "column 17"),
    (("count", "-e", "inf", "-d", "1e-6", ONE), "epsilon must be"),
    (("count", "-e", "1", "-d", "1e-6", f"{ONE} + {ONE}"), "one release"),
    (("count", "-e", "1", "-d", "1e-6", "PureDP(epsilon=?)"), "column 16"),
    (("region",), "releases must be given"),
    (("region", "--figure", "0"), "figure must be one of 1, 2, 3"),
    (("region", "--figure", "4"), "figure must be one of 1, 2, 3"),
    (("region", "--figure", "-1"), "figure must be one of 1, 2, 3"),
    (("region", "--figure", str(10**30)), "figure must be one of 1, 2, 3"),
    (("region", "-o", "x.txt", ONE), "ends in .svg"),
    (("region", "-o", "x", ONE), "ends in .svg"),
    (("region", "-o", ".svg", ONE), "ends in .svg"),
    (("region", "-o", "", ONE), "ends in .svg"),
    (("region", "-o", "x.svg.exe", ONE), "ends in .svg"),
    (("region", "-o", "x.txt", "--figure", "1"), "ends in .svg"),
    (("region", "PureDP(epsilon=-1)"), "column 8"),
    (("region", ONE, "PureDP(epsilon=-1)"), "column 8"),
]

# Command lines that the option parser itself refuses.
USAGE: list[tuple[str, ...]] = [
    ("epsilon",),
    ("epsilon", ONE),
    ("epsilon", "--delta", "1e-6"),
    ("epsilon", "--delta"),
    ("epsilon", "--delta", "1e-6", "--epsilon", "1", ONE),
    ("epsilon", "--delta", "1e-6", "--sideways", ONE),
    ("delta", ONE),
    ("delta", "--epsilon", "1"),
    ("explain", "--delta", "1e-6"),
    ("calibrate", "-e", "1", "PureDP(epsilon=?)"),
    ("calibrate", "-d", "1e-6", "PureDP(epsilon=?)"),
    ("count", "-e", "1", ONE),
    ("count", "-e", "1", "-d", "1e-6"),
    ("count", "-e", "1", "-d", "1e-6", ONE, ONE),
    ("region", "--figure", "1.5"),
    ("region", "--figure", "one"),
    ("demo", "surplus"),
    ("unheard-of",),
    ("--unheard-of",),
    ("Epsilon", "--delta", "1e-6", ONE),
    *(("epsilon", "--delta", text, ONE) for text in NOT_A_NUMBER),
]


def short(value: object) -> str | None:
    """A name for a test: its hostile text, cut to a bearable length."""
    if isinstance(value, tuple):
        return " ".join(value)[:60]
    return ascii(value)[:40] if isinstance(value, str) else None


# Expressions.


@pytest.mark.parametrize(("text", "column", "problem"), EXPRESSIONS, ids=short)
def test_an_expression_that_makes_no_sense_is_refused_with_its_column(
    quaestor: Run, text: str, column: int, problem: str
) -> None:
    run = quaestor("epsilon", "--delta", "1e-6", "--", text)
    assert (run.status, run.out) == (2, "")
    assert run.err.startswith(f"quaestor: column {column}: ")
    assert problem in run.err
    assert len(run.err) < 600


@pytest.mark.parametrize(("text", "column", "problem"), EXPRESSIONS, ids=short)
def test_programs_are_told_the_column_too(
    quaestor: Run, text: str, column: int, problem: str
) -> None:
    run = quaestor("delta", "--epsilon", "1", "--json", "--", text)
    assert run.status == 2
    assert run.error["code"] == "invalid_expression"
    assert run.error["column"] == column
    assert problem in run.error["problem"]


@pytest.mark.parametrize("command", ["epsilon", "delta", "explain", "calibrate", "count", "region"])
@pytest.mark.parametrize("text", ["", "PureDP(epsilon=-1)", "nonsense", "\x00", "(" * 5000])
def test_every_command_refuses_what_is_no_release(quaestor: Run, command: str, text: str) -> None:
    options = {
        "epsilon": ["-d", "1e-6"],
        "delta": ["-e", "1"],
        "explain": ["-d", "1e-6"],
        "region": [],
    }.get(command, ["-e", "1", "-d", "1e-6"])
    run = quaestor(command, *options, text)
    assert (run.status, run.out) == (2, "")
    assert run.err.startswith("quaestor: ")


def test_bytes_that_are_no_text_are_refused() -> None:
    run = run_process("epsilon", "-d", "1e-6", os.fsdecode(b"PureDP(epsilon=\xff)"))
    assert (run.status, run.out) == (2, "")
    assert run.err.startswith("quaestor: column 16: unexpected ")


def test_the_pointer_stands_under_the_column(quaestor: Run) -> None:
    text = " + ".join([ONE] * 40) + " + PureDP(epsilon=-1) + " + " + ".join([ONE] * 40)
    _, window, pointer = quaestor("epsilon", "-d", "1e-6", text).err.splitlines()
    assert window[pointer.index("^") :].startswith("epsilon=-1")
    assert len(window) < 100


@pytest.mark.parametrize("text", ["PureDP(\nepsilon=-1)", "\tPureDP(epsilon=-1)", "\x1b[31m"])
def test_an_error_is_three_printable_lines_whatever_the_expression_holds(
    quaestor: Run, text: str
) -> None:
    lines = quaestor("epsilon", "-d", "1e-6", text).err.split("\n")
    assert len(lines) == 4
    assert lines[-1] == ""
    assert all(line.isprintable() for line in lines)


# Options.


@pytest.mark.parametrize("delta", NOT_A_DELTA, ids=short)
@pytest.mark.parametrize("command", ["epsilon", "explain", "calibrate", "count"])
def test_a_delta_outside_its_range_is_refused(quaestor: Run, command: str, delta: str) -> None:
    options = [] if command in {"epsilon", "explain"} else ["--epsilon", "1"]
    release = "PureDP(epsilon=?)" if command == "calibrate" else ONE
    run = quaestor(command, *options, "--delta", delta, "--json", release)
    assert run.status == 2
    assert (run.error["code"], run.error["field"]) == ("invalid_parameter", "delta")
    assert run.error["valid"] == "a number in [0, 1]"


@pytest.mark.parametrize("epsilon", NOT_AN_EPSILON, ids=short)
@pytest.mark.parametrize("command", ["delta", "explain", "calibrate", "count"])
def test_an_epsilon_outside_its_range_is_refused(quaestor: Run, command: str, epsilon: str) -> None:
    options = [] if command in {"delta", "explain"} else ["--delta", "1e-6"]
    release = "PureDP(epsilon=?)" if command == "calibrate" else ONE
    run = quaestor(command, *options, "--epsilon", epsilon, "--json", release)
    assert run.status == 2
    assert (run.error["code"], run.error["field"]) == ("invalid_parameter", "epsilon")
    assert run.error["valid"].startswith("a number in [0, ")


@pytest.mark.parametrize(("line", "words"), LINES, ids=short)
def test_a_command_line_that_makes_no_sense_is_refused(
    quaestor: Run, line: tuple[str, ...], words: str
) -> None:
    run = quaestor(*line)
    assert (run.status, run.out) == (2, "")
    assert run.err.startswith("quaestor: ")
    assert words in run.err


@pytest.mark.parametrize(("line", "words"), LINES, ids=short)
def test_programs_get_the_same_refusal_as_json(
    quaestor: Run, line: tuple[str, ...], words: str
) -> None:
    run = quaestor(*line, "--json")
    assert run.status == 2
    assert run.error["code"] in {"invalid_parameter", "invalid_expression"}
    assert words in run.error["message"]


@pytest.mark.parametrize("line", USAGE, ids=short)
def test_a_wrong_usage_is_refused(quaestor: Run, line: tuple[str, ...]) -> None:
    run = quaestor(*line)
    assert (run.status, run.out) == (2, "")
    assert run.err != ""


@pytest.mark.parametrize("line", USAGE, ids=short)
def test_programs_get_a_wrong_usage_as_json_too(quaestor: Run, line: tuple[str, ...]) -> None:
    run = quaestor(*line[:1], "--json", *line[1:])
    assert run.status == 2
    assert run.error["message"] != ""


def test_no_arguments_show_the_help(quaestor: Run) -> None:
    run = quaestor()
    assert run.status in {0, 2}
    assert "epsilon" in run.out + run.err


# Files.


def test_a_missing_folder_is_named(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # long values are cut in messages
    for options in (["--figure", "1"], [ONE]):
        run = quaestor("region", "-o", "missing/x.svg", "--json", *options)
        assert run.status == 2
        assert "missing/x.svg" in run.error["message"]


def test_a_file_is_no_folder(quaestor: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    run = quaestor("region", "-o", str(tmp_path / "file" / "x.svg"), ONE)
    assert run.status == 2
    assert run.err.startswith("quaestor: ")


def test_a_folder_is_no_file(quaestor: Run, tmp_path: Path) -> None:
    (tmp_path / "x.svg").mkdir()
    run = quaestor("region", "-o", str(tmp_path / "x.svg"), ONE)
    assert run.status == 2
    assert run.err.startswith("quaestor: ")


def test_a_name_that_no_file_can_have_is_refused(quaestor: Run, tmp_path: Path) -> None:
    run = quaestor("region", "-o", str(tmp_path / ("x" * 5000 + ".svg")), ONE)
    assert run.status == 2
    assert run.err.startswith("quaestor: ")


def test_a_folder_without_permission_is_named(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_figure: Any, out: Path, **_options: Any) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(out))

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", refuse)  # root may write anywhere
    monkeypatch.chdir(tmp_path)  # long paths are cut short in messages
    out = Path("x.svg")
    run = quaestor("region", "-o", str(out), "--json", ONE)
    assert run.status == 2
    assert str(out) in run.error["message"]


def test_the_demo_refuses_a_file_for_a_folder(
    quaestor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # long values are cut in messages
    for out in ("file", "file/below"):
        for story in ((), ("--accounting",)):
            run = quaestor("demo", *story, "--out", out)
            assert run.status == 2
            assert out in run.err


def test_a_refused_drawing_leaves_no_file_behind(quaestor: Run, tmp_path: Path) -> None:
    out = tmp_path / "x.svg"
    assert quaestor("region", "-o", str(out), ONE, "PureDP(epsilon=-1)").status == 2
    assert not out.exists()


# Strange, but true.


@pytest.mark.parametrize(
    ("delta", "release", "epsilon"),
    [
        ("1", ONE, 0.0),
        ("1", "ApproxDP(epsilon=1, delta=1)", 0.0),
        ("0", ONE, 1.0),
        ("-0", ONE, 1.0),
        ("0", "PureDP(epsilon=0)", 0.0),
        ("0", "PureDP(epsilon=-0.0)", 0.0),
        ("0", f"{ONE} * 1000000000000000", 1e15),
        ("0", "PureDP(epsilon=1000000) * 1000000000000000", 1e21),
        ("0", "PureDP(epsilon=1_000.5)", 1000.5),
        ("0", " \t\nPureDP ( epsilon = 1 ) * 2 ", 2.0),
        ("0", f"Repeated(release={ONE}, count=3) * 2", 6.0),
        ("0", "PureDP(epsilon=5e-324)", 5e-324),
        ("0", " + ".join(["PureDP(epsilon=1)"] * 200), 200.0),
        ("1e-6", "ApproxDP(epsilon=1, delta=1)", math.inf),
        ("0.5", "ApproxDP(epsilon=0, delta=0.5)", 0.0),
        ("0.4999999999999999", "ApproxDP(epsilon=0, delta=0.5)", math.inf),
        ("0", "ApproxDP(epsilon=1, delta=5e-324)", math.inf),
    ],
    ids=short,
)
def test_epsilon_is_right_at_the_limits(
    quaestor: Run, delta: str, release: str, epsilon: float
) -> None:
    answer = quaestor("epsilon", "--delta", delta, "--json", release).json
    wanted = "Infinity" if epsilon == math.inf else epsilon
    assert answer["epsilon"] == {"lower": wanted, "upper": wanted}


@pytest.mark.parametrize(
    ("epsilon", "release", "delta"),
    [
        ("1", ONE, 0.0),
        ("1e400", ONE, 0.0),
        ("1e308", "ApproxDP(epsilon=1, delta=0.25)", 0.25),
        ("30", "PureDP(epsilon=1) * 30", 0.0),
        ("0", "PureDP(epsilon=0)", 0.0),
        ("0", "ApproxDP(epsilon=1000000, delta=1) * 1000000000000000", 1.0),
        ("3", "ApproxDP(epsilon=1, delta=0.5) * 2", 0.75),
    ],
    ids=short,
)
def test_delta_is_right_at_the_limits(
    quaestor: Run, epsilon: str, release: str, delta: float
) -> None:
    answer = quaestor("delta", "--epsilon", epsilon, "--json", release).json
    assert answer["delta"]["lower"] <= delta <= answer["delta"]["upper"]
    assert answer["delta"]["upper"] - answer["delta"]["lower"] <= 4e-16


@pytest.mark.parametrize(
    "line",
    [
        ("count", "-e", "1", "-d", "1", ONE),
        ("count", "-e", "1", "-d", "1e-6", "PureDP(epsilon=0)"),
        ("count", "-e", "1", "-d", "1e-6", "PureDP(epsilon=0) * 5"),
        ("count", "-e", "1", "-d", "1e-6", "PureDP(epsilon=1e-300) * 1000000000000000"),
        ("calibrate", "-e", "1", "-d", "1", "PureDP(epsilon=?)"),
        ("calibrate", "-e", "1000000", "-d", "0", "PureDP(epsilon=?)"),
        ("calibrate", "-e", "0", "-d", "0", "PureDP(epsilon=?)"),
        ("calibrate", "-e", "1", "-d", "1e-6", "PureDP(epsilon=?)", "PureDP(epsilon=2)"),
        ("calibrate", "-e", "1", "-d", "1e-6", "PureDP(epsilon=?) + ApproxDP(epsilon=0, delta=1)"),
    ],
    ids=short,
)
def test_a_target_that_nothing_or_everything_meets_is_out_of_reach(
    quaestor: Run, line: tuple[str, ...]
) -> None:
    run = quaestor(*line, "--json")
    assert run.status == 1
    assert run.error["code"] == "target_out_of_reach"


@pytest.mark.parametrize(
    "line",
    [
        ("epsilon", "-d", "1e-6", f"{ONE} * 1000000000"),
        ("epsilon", "-d", "0.9999999999999999", "PureDP(epsilon=40) * 1000000000000"),
        ("epsilon", "-d", "5e-324", "PureDP(epsilon=5e-324) * 1000000000000"),
        ("region", " + ".join(f"PureDP(epsilon={0.01 + i * 0.00314159})" for i in range(30))),
    ],
    ids=short,
)
def test_an_absurd_question_is_answered_in_seconds_and_little_memory(line: tuple[str, ...]) -> None:
    run = run_process(*line, "--json", cpu_seconds=15)
    assert run.json


def test_json_is_an_option_and_not_just_a_word_on_the_line(quaestor: Run) -> None:
    run = quaestor("epsilon", "-d", "1e-6", "--", "--json")
    assert run.status == 2
    assert run.err.startswith("quaestor: column 1: ")


def test_a_file_without_its_mark_is_told_how_to_be_given() -> None:
    for text in ("rel.csv", "Year.CSV * 3"):
        run = run_process("epsilon", "--delta", "1e-6", text)
        assert run.status == 2
        assert f"a curve in a file as @{text}" in run.err
