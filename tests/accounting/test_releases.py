"""Releases are values, and go through JSON and through expressions without loss."""

import copy
import dataclasses
import json
import math
import pickle
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from quaestor import (
    ApproxDP,
    ContinualCounting,
    DiscreteGaussianVector,
    Gaussian,
    InvalidParameter,
    MatrixMechanism,
    PureDP,
    RandomAllocation,
    Release,
    Repeated,
    SampledWithReplacement,
    ShuffledEpoch,
    parse_release,
    release_from_json,
)
from quaestor.accounting.releases import RELEASES, counts_of
from quaestor.accounting.releases.base import LARGEST_COUNT, LARGEST_EPSILON, check_count

Field = dataclasses.Field[Any]

NOT_A_NUMBER: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, -1.0, -5e-324, 1e300, 10**400, -(10**400)),
    *(True, False, None, "0.1", b"0.1", 1j, [0.5], (0.5,), {}, np.array([0.5, 0.5]), np.nan),
    *(Fraction(-1, 3), Fraction(10**400), np.float64("nan"), np.bool_(True)),  # noqa: FBT003
)
NOT_A_COUNT: tuple[Any, ...] = (
    *(0, -3, 1.5, 3.0, 1e3, math.nan, math.inf, True, False, None, "3", b"3", 1j, [3]),
    *(10**15 + 1, 10**30, 10**5000, -(10**5000), Fraction(3), np.float64(3), np.int64(0)),
    *(np.array([2, 3]), np.bool_(True)),  # noqa: FBT003
)


def fields_of(kind: type[Release]) -> tuple[Field, ...]:
    return dataclasses.fields(kind)  # type: ignore[arg-type]  # every registered one is a dataclass


def values_of(field: Field) -> st.SearchStrategy[Any]:
    """Values that the field may take; a release that refuses them for its own reasons is let go."""
    if field.name in {"delta", "rate", "gamma"}:
        return st.floats(0.0, 1.0) if field.type == "float" else st.none() | st.floats(0.0, 1.0)
    if field.name == "count":
        return st.integers(1, LARGEST_COUNT)
    kinds = {
        "float": st.floats(0.05, 700.0) | st.floats(0.0, LARGEST_EPSILON),
        "float | None": st.none() | st.floats(0.05, 2.0),
        "bool": st.booleans(),
        "int": st.integers(2, 1000),
        "Release": singles(),
        "Release | ReleaseSum": singles(),
        "Sequence[Sequence[float]] | NDArray[np.float64]": st.just(((1.0, 0.0), (0.5, 1.0))),
        "str": st.sampled_from(["identity", "square_root"]),
        "int | None": st.none(),
        "tuple[float, ...]": st.tuples(*[st.integers(0, 512)] * 2).map(
            lambda parts: (parts[0] / 1024, parts[1] / 1024, 1 - sum(parts) / 1024)
        ),
    }
    return kinds[str(field.type)]


@st.composite
def of_kind(draw: st.DrawFn, kind: type[Release]) -> Release:
    """Every release of one kind."""
    try:
        return kind(**{field.name: draw(values_of(field)) for field in fields_of(kind)})
    except InvalidParameter:
        reject()


def singles() -> st.SearchStrategy[Release]:
    """Every registered release but those that hold another one."""
    return st.one_of(
        [
            of_kind(kind)
            for kind in RELEASES.values()
            if all(field.name != "release" for field in fields_of(kind))
        ]
    )


releases = st.one_of([of_kind(kind) for kind in RELEASES.values()])
KINDS = [pytest.param(kind, id=name) for name, kind in RELEASES.items()]
NUMERIC_FIELDS = [
    pytest.param(kind, field.name, id=f"{name}.{field.name}")
    for name, kind in RELEASES.items()
    for field in fields_of(kind)
    if field.type == "float"
]
# Where the ratio of noise and shift has limits of its own, both are moved to the ends.
OF_LIMITED_RATIO: dict[Any, set[str]] = {
    kind: {"sigma", "sensitivity"}
    for kind in (MatrixMechanism, ContinualCounting, RandomAllocation, ShuffledEpoch)
}


def example(kind: type[Release], **changed: Any) -> Release:
    """A release of this kind with plain parameters, but for those that are given."""
    plain: dict[str, Any] = {"float": 0.5, "int": 3, "population": 8, "bool": False}
    plain |= {"Release": PureDP(epsilon=0.5), "tuple[float, ...]": (0.25, 0.75)}
    plain |= {"orders": (2.0, 3.0), "mean": 2.0, "shape": None}
    plain |= {"Release | ReleaseSum": PureDP(epsilon=0.5)}
    plain |= {"matrix": ((1.0, 0.0), (0.5, 1.0)), "str": "square_root"}
    if kind is SampledWithReplacement:
        plain |= {"release": Gaussian(sigma=0.5)}
    if kind is DiscreteGaussianVector:  # of whole numbers
        plain |= {"sigma": 8.0, "sensitivity": 2.0}
    parameters = {
        field.name: plain.get(field.name, plain.get(str(field.type))) for field in fields_of(kind)
    }
    return kind(**(parameters | changed))


def valid_range(kind: type[Release], field: str) -> tuple[float, float]:
    """The range that a refusal says is valid."""
    with pytest.raises(InvalidParameter) as refused:
        example(kind, **{field: math.nan})
    told = re.fullmatch(r"a number in \[(\S+), (\S+)\]", refused.value.valid)
    assert told is not None
    return float(told[1]), float(told[2])


# Values.


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_registered_under_its_own_name(kind: type[Release]) -> None:
    assert RELEASES[kind.__name__] is kind
    assert isinstance(example(kind), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_frozen(kind: type[Release]) -> None:
    release = example(kind)
    for field in fields_of(kind):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(release, field.name, 0.125)
    with pytest.raises((AttributeError, TypeError)):
        release.surprise = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_takes_its_parameters_by_name_only(kind: type[Release]) -> None:
    with pytest.raises(TypeError):
        kind(0.5)  # type: ignore[call-arg]


@given(releases)
def test_releases_with_equal_parameters_are_equal_and_hash_alike(release: Release) -> None:
    twin = copy.deepcopy(release)
    assert twin == release
    assert hash(twin) == hash(release)
    assert len({twin, release}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_releases_with_different_parameters_differ(kind: type[Release]) -> None:
    for field in fields_of(kind):
        if field.type in {"float", "int"}:
            assert example(kind, **{field.name: 1 if field.type == "float" else 4}) != example(kind)


def test_releases_of_different_kinds_differ_even_if_they_promise_the_same() -> None:
    pure: Release = PureDP(epsilon=0.5)
    approximate: Release = ApproxDP(epsilon=0.5, delta=0.0)
    assert pure != approximate


def test_there_is_no_negative_zero() -> None:
    release = ApproxDP(epsilon=-0.0, delta=-0.0)
    assert str(release) == "ApproxDP(epsilon=0.0, delta=0.0)"


@given(releases)
def test_a_release_survives_pickling(release: Release) -> None:
    assert pickle.loads(pickle.dumps(release)) == release  # noqa: S301  # our own bytes


# Counts.


@given(singles(), st.integers(2, LARGEST_COUNT))
def test_a_count_may_stand_on_either_side(release: Release, count: int) -> None:
    assert count * release == release * count == Repeated(release=release, count=count)


@given(releases)
def test_a_count_of_one_changes_nothing(release: Release) -> None:
    assert release * 1 == 1 * release == release


@given(singles(), st.integers(1, 10**7), st.integers(1, 10**7))
def test_counts_of_counts_multiply(release: Release, inner: int, outer: int) -> None:
    assert (release * inner) * outer == release * (inner * outer)


def test_counts_of_counts_stay_within_the_largest_count() -> None:
    many = PureDP(epsilon=0.5) * LARGEST_COUNT
    assert many * 1 == many
    with pytest.raises(InvalidParameter, match="count must be a whole number from 1 to "):
        many * 2


@given(st.lists(releases, max_size=6))
def test_equal_releases_are_counted_together(history: list[Release]) -> None:
    counts = counts_of(history)
    assert all(single.counted() == (single, 1) for single in counts)
    for single, count in counts.items():
        assert count == sum(each.counted()[1] for each in history if each.counted()[0] == single)
    assert counts.total() == sum(each.counted()[1] for each in history)


def test_a_repeated_release_is_not_repeated_by_hand() -> None:
    with pytest.raises(InvalidParameter, match="release must be"):
        Repeated(release=PureDP(epsilon=0.5) * 2, count=3)


@pytest.mark.parametrize("count", [np.int64(3), np.uint8(3), np.int32(3)])
def test_a_count_may_come_from_numpy(count: Any) -> None:
    for release in (PureDP(epsilon=0.5) * count, count * PureDP(epsilon=0.5)):
        assert release == PureDP(epsilon=0.5) * 3
        assert json.loads(release.to_json())["count"] == 3


@pytest.mark.parametrize("count", NOT_A_COUNT, ids=lambda count: f"{type(count).__name__}")
def test_what_is_no_count_is_refused(count: Any) -> None:
    with pytest.raises(InvalidParameter) as refused:
        PureDP(epsilon=0.5) * count
    assert refused.value.field == "count"
    assert refused.value.value is count
    assert refused.value.valid.startswith("a whole number from 1 to ")
    assert str(refused.value).startswith(f"count must be {refused.value.valid}, got ")
    json.dumps(refused.value.fields(), allow_nan=False)


@pytest.mark.parametrize("largest", [2, 149, 150, 99_999, LARGEST_COUNT])
def test_a_refused_count_tells_its_largest_value_exactly(largest: int) -> None:
    assert check_count("sample", largest, largest=largest) == largest
    with pytest.raises(InvalidParameter) as refused:
        check_count("sample", largest + 1, largest=largest)
    told = re.fullmatch(r"a whole number from 1 to (\S+)", refused.value.valid)
    assert told is not None
    assert float(told[1].replace(",", "").replace("_", "")) == largest


# Parameters.


@pytest.mark.parametrize("value", NOT_A_NUMBER, ids=lambda value: f"{type(value).__name__}")
@pytest.mark.parametrize(("kind", "field"), NUMERIC_FIELDS)
def test_a_refusal_names_the_field_the_value_and_the_range(
    kind: type[Release], field: str, value: Any
) -> None:
    with pytest.raises(InvalidParameter) as refused:
        example(kind, **{field: value})
    assert refused.value.field == field
    assert refused.value.value is value
    assert re.fullmatch(r"a number in \[\S+, \S+\]", refused.value.valid)
    assert str(refused.value).startswith(f"{field} must be {refused.value.valid}, got ")
    json.dumps(refused.value.fields(), allow_nan=False)


@pytest.mark.parametrize(("kind", "field"), NUMERIC_FIELDS)
def test_the_range_that_a_refusal_tells_is_the_real_one(kind: type[Release], field: str) -> None:
    low, high = valid_range(kind, field)
    for end, beyond in ((low, -math.inf), (high, math.inf)):
        other = dict.fromkeys(OF_LIMITED_RATIO.get(kind, set()) - {field}, end)
        assert getattr(example(kind, **{field: end}, **other), field) == end
        with pytest.raises(InvalidParameter) as refused:
            example(kind, **{field: math.nextafter(end, beyond)}, **other)
        assert refused.value.field == field


def test_a_long_value_is_cut_short_in_the_message() -> None:
    with pytest.raises(InvalidParameter) as refused:
        PureDP(epsilon="x" * 10_000)  # type: ignore[arg-type]
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(("kind", "field"), NUMERIC_FIELDS)
@pytest.mark.parametrize(
    "value",
    [1, Fraction(1, 2), np.float64(0.5), np.float32(0.5), np.float16(0.5), np.int64(1)],
    ids=lambda value: f"{type(value).__name__}",
)
def test_any_real_number_becomes_a_plain_float(kind: type[Release], field: str, value: Any) -> None:
    if valid_range(kind, field)[0] > value:
        value = value * 2
    release = example(kind, **{field: value})
    assert type(getattr(release, field)) is float
    assert getattr(release, field) == value
    assert release == example(kind, **{field: float(value)})
    assert release_from_json(release.to_json()) == release
    assert parse_release(str(release)) == release


@given(st.fractions(0, 1))
def test_an_exact_fraction_is_taken_exactly_or_refused(value: Fraction) -> None:
    if Fraction(float(value)) == value:
        assert PureDP(epsilon=value).epsilon == value  # type: ignore[arg-type]
    else:
        with pytest.raises(InvalidParameter, match="that a float can hold"):
            PureDP(epsilon=value)  # type: ignore[arg-type]


def test_a_positive_fraction_below_all_floats_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="that a float can hold"):
        PureDP(epsilon=Fraction(1, 10**400))  # type: ignore[arg-type]


# JSON.


@given(releases)
def test_a_release_goes_through_json_without_loss(release: Release) -> None:
    assert release_from_json(release.to_json()) == release
    assert json.loads(release.to_json())["type"] == type(release).__name__


@given(releases)
def test_a_release_goes_through_its_expression_without_loss(release: Release) -> None:
    assert parse_release(str(release)) == release


@given(releases)
def test_the_representation_of_a_release_is_python(release: Release) -> None:
    assert eval(repr(release), dict(RELEASES)) == release  # noqa: S307  # our own text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "null",
        "5",
        "[]",
        '"PureDP"',
        "{}",
        '{"type": null}',
        '{"type": []}',
        '{"type": "Unheard"}',
        '{"type": "Release"}',
        '{"type": "PureDP"}',
        '{"epsilon": 1}',
        '{"type": "PureDP", "epsilon": null}',
        '{"type": "PureDP", "epsilon": true}',
        '{"type": "PureDP", "epsilon": "1"}',
        '{"type": "PureDP", "epsilon": [1]}',
        '{"type": "PureDP", "epsilon": {}}',
        '{"type": "PureDP", "epsilon": NaN}',
        '{"type": "PureDP", "epsilon": Infinity}',
        '{"type": "PureDP", "epsilon": 1e400}',
        '{"type": "PureDP", "epsilon": -1}',
        '{"type": "PureDP", "epsilon": ' + "9" * 400 + "}",
        '{"type": "PureDP", "epsilon": ' + "9" * 5000 + "}",
        '{"type": "PureDP", "epsilon": 1, "epsilon": 2}',
        '{"type": "PureDP", "epsilon": 1, "delta": 0}',
        '{"type": "PureDP", "epsilon": 1, "": 0}',
        '{"type": "PureDP", "epsilon": 1} {}',
        '{"type": "PureDP", "epsilon": {"type": "PureDP", "epsilon": 1}}',
        '{"type": "Repeated", "release": 5, "count": 2}',
        '{"type": "Repeated", "release": {"type": "PureDP", "epsilon": 1}, "count": 2.0}',
        '{"type": "Repeated", "release": {"type": "PureDP", "epsilon": 1}, "count": 0}',
        '{"type": "Repeated", "release": {"type": "PureDP", "epsilon": 1}}',
        '{"type": "Repeated", "count": 2, "release": ' * 600 + "1" + "}" * 600,
        '{"type": "Repeated", "count": 2, "release": ' * 100_000,
        "[" * 100_000,
        None,
        5,
        b"\xff\xfe{",
    ],
    ids=lambda text: str(text)[:60],
)
def test_json_that_is_no_release_is_refused(text: Any) -> None:
    with pytest.raises(InvalidParameter):
        release_from_json(text)
