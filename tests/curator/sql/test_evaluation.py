"""The meaning of expressions: NULL, the edges of numbers, texts and dates."""

from __future__ import annotations

import random
import re

import duckdb
import pytest

from quaestor.curator.language.evaluation import evaluate, matches
from quaestor.curator.language.expressions import (
    Aggregated,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Keyed,
    Kind,
    Like,
    Logic,
    Member,
    Not,
    Value,
)

NULL = Constant(None, "real")


def number(value: float) -> Constant:
    return Constant(value, "integer" if isinstance(value, int) else "real")


def text(value: str) -> Constant:
    return Constant(value, "text")


def date(value: str) -> Constant:
    return Constant(value, "date")


T, F, N = (Constant(value, "boolean") for value in (True, False, None))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (Arithmetic("+", number(2), number(3)), 5),
        (Arithmetic("+", number(2), NULL), None),
        (Arithmetic("/", number(1), number(0)), None),
        (Arithmetic("/", number(1), number(2.0**-41)), None),
        (Arithmetic("/", number(1), number(-(2.0**-40))), -(2.0**40)),
        (Arithmetic("/", number(7), number(2)), 3.5),
        (Arithmetic("%", number(-7), number(3)), -1),
        (Arithmetic("%", number(7), number(-3)), 1),
        (Arithmetic("%", number(7), number(0)), None),
        (Arithmetic("*", number(1e200), number(1e200)), None),
        (Arithmetic("*", number(2**52), number(4)), 2.0**54),
        (Arithmetic("*", number(10**300), number(10**300)), None),
        (Comparison("<", number(1), NULL), None),
        (Comparison("=", text("a"), text("A")), False),
        (Comparison("<", text("Z"), text("a")), True),
        (Comparison(">=", date("2020-02-01"), date("2019-12-31")), True),
        (Logic("and", (T, N)), None),
        (Logic("and", (F, N)), False),
        (Logic("or", (T, N)), True),
        (Logic("or", (F, N)), None),
        (Not(N), None),
        (IsNull(NULL), True),
        (Member(number(1), (number(1), number(2))), True),
        (Member(NULL, (number(1),)), None),
        (Like(text("a%"), "a\\%"), False),
        (Case(((N, number(1)),), number(2)), 2),
        (Case(((F, number(1)), (T, number(3))), number(2)), 3),
        (Cast(text("12"), "integer"), 12),
        (Cast(text(" 1.5 "), "real"), 1.5),
        (Cast(text("1e2"), "integer"), 100),
        (Cast(text("1e-30"), "real"), 0.0),
        (Cast(text("123-45-6789"), "integer"), None),
        (Cast(text(""), "real"), None),
        (Cast(text("1e999"), "real"), None),
        (Cast(text("inf"), "real"), None),
        (Cast(text("nan"), "real"), None),
        (Cast(text("0x1F"), "integer"), None),
        (Cast(text("1\n"), "integer"), None),
        (Cast(text("٣"), "integer"), None),
        (Cast(text("9" * 40), "integer"), 2**53),
        (Cast(text("-9e30"), "real"), -(2.0**53)),
        (Cast(text("2020-02-29"), "date"), "2020-02-29"),
        (Cast(text("2021-02-29"), "date"), None),
        (Cast(text("20200229"), "date"), None),
        (Cast(text("True"), "boolean"), True),
        (Cast(text("yes"), "boolean"), None),
        (Cast(T, "text"), "true"),
        (Cast(T, "integer"), 1),
        (Cast(number(2.5), "integer"), 3),
        (Cast(number(-2.5), "integer"), -2),
        (Cast(number(0), "boolean"), False),
        (Cast(number(17), "text"), "17"),
        (Cast(date("2020-01-02"), "text"), "2020-01-02"),
        (Call("round", (number(-0.5),)), 0),
        (Call("floor", (number(-0.5),)), -1),
        (Call("ceil", (number(-0.5),)), 0),
        (Call("sqrt", (number(-1),)), None),
        (Call("ln", (number(0),)), None),
        (Call("log10", (number(1000),)), 3.0),
        (Call("exp", (number(0),)), 1.0),
        (Call("least", (NULL, number(3), number(2))), 2),
        (Call("greatest", (NULL, NULL)), None),
        (Call("coalesce", (NULL, number(3))), 3),
        (Call("nullif", (number(3), number(3))), None),
        (Call("clamp", (NULL, number(0), number(1))), None),
        (Call("clamp", (number(9), number(0), number(1))), 1),
        (Call("upper", (text("straße é"),)), "STRAßE é"),
        (Call("lower", (text("ÀBC"),)), "Àbc"),
        (Call("length", (text("é\U0001f600"),)), 2),
        (Call("substring", (text("Rome"), number(2), number(2))), "om"),
        (Call("dow", (date("2026-11-15"),)), 0),
        (Call("quarter", (date("2026-11-15"),)), 4),
        (Call("first_of_month", (date("2026-11-15"),)), "2026-11-01"),
        (Call("first_of_year", (date("2026-11-15"),)), "2026-01-01"),
    ],
    ids=repr,
)
def test_the_edges_have_the_stated_values(expression: Expression, value: Value) -> None:
    found = evaluate(expression)
    assert found == value
    assert type(found) is type(value)


def test_released_values_that_are_no_numbers_are_null() -> None:
    for released in (float("nan"), float("inf"), None):
        assert evaluate(Aggregated(0), aggregates=[released]) is None
    assert evaluate(Keyed(1), keys=["a", "b"]) == "b"
    assert evaluate(Column("x"), columns={"x": 3}) == 3


ALPHABET = "ab%_.*\\\n"


def test_patterns_match_as_regular_expressions_would() -> None:
    chance = random.Random(1)
    for _ in range(5_000):
        word = "".join(chance.choices("ab.\n\\*", k=chance.randint(0, 6)))
        pattern = "".join(chance.choices(ALPHABET, k=chance.randint(0, 6)))
        signs = {"%": "(.|\n)*", "_": "(.|\n)"}
        regular = "".join(signs.get(sign, re.escape(sign)) for sign in pattern)
        assert matches(word, pattern) == bool(re.fullmatch(regular, word)), (word, pattern)


def test_a_pattern_of_many_wildcards_is_matched_at_once() -> None:
    assert not matches("a" * 2_000, "%a" * 400 + "b")


CASTS: list[tuple[Kind, str]] = [("integer", "BIGINT"), ("real", "DOUBLE"), ("date", "DATE")]


@pytest.mark.parametrize(("kind", "name"), CASTS)
def test_texts_that_we_take_for_numbers_and_dates_duckdb_takes_too(kind: Kind, name: str) -> None:
    chance, connection = random.Random(2), duckdb.connect()
    words = ["".join(chance.choices("0123459-+.e ", k=chance.randint(1, 10))) for _ in range(3_000)]
    words += [
        f"20{a}{b}-{c}{d}-{e}1"
        for a in "02"
        for b in "19"
        for c in "01"
        for d in "129"
        for e in "23"
    ]
    taken = [word for word in words if evaluate(Cast(text(word), kind)) is not None]
    assert len(taken) > 20
    for word in taken:
        (theirs,) = connection.execute(f"SELECT TRY_CAST(? AS {name})", [word]).fetchone() or (
            None,
        )
        ours = evaluate(Cast(text(word), kind))
        if kind == "date":
            assert str(theirs) == ours
        elif kind == "real":
            assert min(max(theirs, -(2.0**53)), 2.0**53) == pytest.approx(ours, abs=2.0**-40)
