"""The little language of releases: its grammar, its columns, and that nothing else gets in."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quaestor import ApproxDP, InvalidExpression, InvalidParameter, PureDP, Release, parse_release
from quaestor.accounting.expressions import parse_releases, parse_templates
from quaestor.accounting.releases import RELEASES

HALF = PureDP(epsilon=0.5)
MARKS = [*"=(),*+?-_. \n'é", "9" * 400]
NUMBERS = ["0", "1", "0.5", "1e-8", "1e400", "nan", "inf"]
FIELDS = ["epsilon", "delta", "release", "count"]
PIECES = st.sampled_from([*RELEASES, *FIELDS, *NUMBERS, *MARKS])


def parsed(text: str) -> tuple[Release, ...] | InvalidExpression:
    """What the text says, or what is wrong with it; nothing else may happen."""
    try:
        return parse_releases(text)
    except InvalidExpression as error:
        return error


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("PureDP(epsilon=0.5)", HALF),
        ("PureDP(epsilon=.5)", HALF),
        ("PureDP(epsilon=5e-1)", HALF),
        ("PureDP(epsilon=5E-1)", HALF),
        ("PureDP(epsilon=0.05e+1)", HALF),
        ("PureDP(epsilon=00.50)", HALF),
        (" PureDP ( epsilon = 0.5 ) ", HALF),
        ("\tPureDP\n(\r\nepsilon\n=\n0.5\n)\n", HALF),
        ("PureDP(epsilon=0)", PureDP(epsilon=0.0)),
        ("PureDP(epsilon=-0)", PureDP(epsilon=0.0)),
        ("PureDP(epsilon=2.)", PureDP(epsilon=2.0)),
        ("PureDP(epsilon=1_000)", PureDP(epsilon=1000.0)),
        ("PureDP(epsilon=1_000.25)", PureDP(epsilon=1000.25)),
        ("ApproxDP(epsilon=1, delta=0.25)", ApproxDP(epsilon=1.0, delta=0.25)),
        ("ApproxDP(delta=0.25, epsilon=1)", ApproxDP(epsilon=1.0, delta=0.25)),
        ("PureDP(epsilon=0.5) * 3", HALF * 3),
        ("PureDP(epsilon=0.5)*3", HALF * 3),
        ("3 * PureDP(epsilon=0.5)", HALF * 3),
        ("3*PureDP(epsilon=0.5)", HALF * 3),
        ("PureDP(epsilon=0.5) * 1", HALF),
        ("1 * PureDP(epsilon=0.5)", HALF),
        ("PureDP(epsilon=0.5) * 10_000", HALF * 10_000),
        ("1_000_000 * PureDP(epsilon=0.5)", HALF * 1_000_000),
        ("PureDP(epsilon=0.5) * 003", HALF * 3),
        ("PureDP(epsilon=0.5) * 1000000000000000", HALF * 10**15),
        ("Repeated(release=PureDP(epsilon=0.5), count=3)", HALF * 3),
        ("Repeated(count=3, release=PureDP(epsilon=0.5)) * 2", HALF * 6),
    ],
)
def test_an_expression_is_read_as_it_is_meant(text: str, release: Release) -> None:
    assert parse_release(text) == release
    assert parse_releases(text) == (release,)


def test_a_sum_is_several_releases_in_their_order() -> None:
    text = "PureDP(epsilon=0.5) + 2 * ApproxDP(epsilon=1, delta=0.25)+PureDP(epsilon=0.5) * 3"
    assert parse_releases(text) == (HALF, ApproxDP(epsilon=1.0, delta=0.25) * 2, HALF * 3)


def test_a_sum_is_not_one_release() -> None:
    with pytest.raises(InvalidExpression, match="expected one release, not a sum"):
        parse_release("PureDP(epsilon=0.5) + PureDP(epsilon=0.5)")


@given(st.lists(st.sampled_from([HALF, HALF * 2, ApproxDP(epsilon=1.0, delta=0.5)]), min_size=1))
def test_what_is_joined_with_plus_is_read_apart(releases: list[Release]) -> None:
    assert parse_releases(" + ".join(map(str, releases))) == tuple(releases)


@pytest.mark.parametrize(
    "number",
    ["1__0", "1_", "_1", "1_.5", "1._5", "1.5_", "1e1_", "1e", "1e+", ".", "-", "- 1", "1 0"],
)
def test_a_number_that_python_would_not_read_is_refused(number: str) -> None:
    with pytest.raises(InvalidExpression):
        parse_release(f"PureDP(epsilon={number})")


@given(st.floats(0, 1e6))
def test_a_float_is_read_back_to_the_last_bit(value: float) -> None:
    assert parse_release(f"PureDP(epsilon={value!r})") == PureDP(epsilon=value)


@given(st.integers(1, 10**15))
def test_a_count_is_read_with_or_without_underscores(count: int) -> None:
    for written in (str(count), f"{count:_}"):
        assert parse_release(f"PureDP(epsilon=0.5) * {written}") == HALF * count


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "expected a release such as PureDP(epsilon=0.1), found the end"),
        ("PureDP", 7, "expected '(', found the end"),
        ("PureDP(epsilon 0.5)", 16, "expected '=', found '0.5'"),
        ("PureDP(epsilon=)", 16, "expected a number for epsilon, found ')'"),
        ("PureDP(epsilon=0.5 delta=1)", 20, "expected ',' or ')', found 'delta'"),
        ("PureDP(epsilon=-1)", 8, "epsilon must be a number in [0, 1e+06], got -1"),
        ("PureDP(epsilon=0.5) * 2.5", 23, "count must be a whole number, got '2.5'"),
        ("PureDP(epsilon=0.5) extra", 21, "unexpected 'extra' after the release"),
        ("PureDP(epsilon=0.5) $", 21, "unexpected '$'"),
        ("PureDP(epsilon=0.5) + Gausian(sigma=1)", 23, "unknown release 'Gausian'"),
        ("ApproxDP(epsilon=0.5, delta=2)", 23, "delta must be a number in [0, 1], got 2"),
        ("PureDP(epsilon=0.5, epsilon=1)", 21, "epsilon is given twice"),
        ("PureDP(epsilon=?)", 16, "'?' is only for calibrate"),
    ],
)
def test_an_error_carries_its_column_and_its_problem(text: str, column: int, problem: str) -> None:
    with pytest.raises(InvalidExpression) as refused:
        parse_releases(text)
    error = refused.value
    assert error.column == column
    assert error.problem.startswith(problem)
    assert error.text == text
    assert str(error).startswith(f"column {column}: {problem}")
    assert error.fields() == {"column": column, "problem": error.problem}
    assert isinstance(error, InvalidParameter)


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_pointer_stands_under_the_problem_however_long_the_text(
    before: int, after: int
) -> None:
    text = " " * before + "$" + " " * after + "x"
    with pytest.raises(InvalidExpression) as refused:
        parse_releases(text)
    _, window, pointer = str(refused.value).split("\n")
    assert window[pointer.index("^")] == "$"
    assert len(window) <= 90


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
@example("PureDP(epsilon=" + "9" * 400 + ")")
@example("PureDP(epsilon=0.5) * " + "9" * 4000)
@example("Repeated(release=" * 200)
@example("\x1c")
@example("\x85PureDP(epsilon=0.5)\x1f")
@example("PureDP(epsilon=١)")
@example("PureDP(epsilon=²)")
@example("\udcff")
def test_any_text_is_a_release_or_an_error_with_a_column_inside_it(text: str) -> None:
    found = parsed(text)
    if isinstance(found, InvalidExpression):
        assert 1 <= found.column <= len(text) + 1
        assert found.problem != ""
    else:
        assert len(found) >= 1
        assert parse_releases(" + ".join(map(str, found))) == found


@given(st.sampled_from([str(HALF * 3), "ApproxDP(epsilon=1, delta=0.25)"]), st.data())
def test_a_character_more_or_less_never_crashes(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    added = data.draw(st.text(max_size=1))
    removed = data.draw(st.integers(0, 3))
    changed = text[:place] + added + text[place + removed :]
    found = parsed(changed)
    if isinstance(found, InvalidExpression):
        assert 1 <= found.column <= len(changed) + 1


@pytest.mark.parametrize("text", [None, 5, 0.5, b"PureDP(epsilon=1)", ["PureDP(epsilon=1)"], HALF])
def test_what_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(InvalidParameter):
        parse_releases(text)  # type: ignore[arg-type]


# Templates, for calibrate.


def test_a_template_knows_its_unknown_and_builds_releases_from_values() -> None:
    first, second = parse_templates("ApproxDP(epsilon=1, delta=?) * 3 + PureDP(epsilon=0.5)")
    assert (first.unknown, second.unknown) == ("delta", None)
    assert first.build(0.25) == ApproxDP(epsilon=1.0, delta=0.25) * 3
    assert second.build(0.25) == second.build() == HALF


def test_an_unknown_may_stand_inside_another_release() -> None:
    (template,) = parse_templates("Repeated(release=PureDP(epsilon=?), count=3)")
    assert template.unknown == "epsilon"
    assert template.build(0.5) == HALF * 3


def test_a_value_outside_the_range_is_the_fault_of_the_value() -> None:
    (template,) = parse_templates("PureDP(epsilon=?)")
    with pytest.raises(InvalidParameter) as refused:
        template.build(-1.0)
    assert not isinstance(refused.value, InvalidExpression)
    assert refused.value.field == "epsilon"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("ApproxDP(epsilon=?, delta=5)", {21}),
        ("ApproxDP(epsilon=?)", {1}),
        ("PureDP(sigma=?)", {8, 14}),  # the wrong name, or the place of its value
        ("PureDP(epsilon=?, sigma=1)", {19}),
    ],
)
def test_what_is_wrong_beside_the_unknown_is_the_fault_of_the_expression(
    text: str, columns: set[int]
) -> None:
    with pytest.raises(InvalidExpression) as refused:
        parse_templates(text)[0].build(0.5)
    assert refused.value.column in columns


@pytest.mark.parametrize(
    ("text", "column"),
    [("ApproxDP(epsilon=?, delta=?)", 27), ("PureDP(epsilon=?) + PureDP(epsilon=?)", 36)],
)
def test_two_unknowns_are_one_too_many(text: str, column: int) -> None:
    with pytest.raises(InvalidExpression, match="only one") as refused:
        parse_templates(text)
    assert refused.value.column == column
