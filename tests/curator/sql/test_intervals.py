"""Static analysis against points: whatever a row holds, the value lies where the analysis says."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.analysis.facts import ValueFacts, declared_facts, grain_of
from quaestor.curator.analysis.intervals import INTERVALS
from quaestor.curator.analysis.possible_values import narrowed, possible_values
from quaestor.curator.analysis.static_analysis import Analysis
from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.expressions import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Logic,
    Member,
    Not,
)
from quaestor.curator.language.functions import FUNCTIONS, NUMBERS
from quaestor.errors import RefusedQuery
from tests.curator.sql.hospital import TABLES, random_rows

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Value

VISITS = TABLES["visits"]
SCHEMA = {
    column.name: declared_facts(column, unit=column.name == "patient") for column in VISITS.columns
}
NAMES = [name for name, facts in SCHEMA.items() if facts.number and name != "patient"]
EXPRESSIONS = 3_000
_ENDS = (Constant(-30_000, "integer"), Constant(30_000.0, "real"))


class Random:
    """Expressions that are numbers, and conditions, at random."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def number(self, depth: int) -> Expression:
        """A number."""
        chance = self.chance
        if depth == 0 or chance.random() < 0.2:
            if chance.random() < 0.6:
                return Column(chance.choice(NAMES))
            whole = chance.random() < 0.5
            value = chance.choice([0, 1, -2, 7, 50]) if whole else chance.uniform(-9, 9)
            return Constant(value, "integer" if whole else "real")
        a, b = self.number(depth - 1), self.number(depth - 1)
        return chance.choice(
            [
                Arithmetic(chance.choice("+-*/%"), a, b),  # type: ignore[arg-type]
                Arithmetic(chance.choice("+-*/"), a, b),  # type: ignore[arg-type]
                Call(chance.choice(["abs", "sign", "floor", "ceil", "round", "sqrt"]), (a,)),
                Call(chance.choice(["ln", "log10", "exp"]), (a,)),
                Call(chance.choice(["least", "greatest", "coalesce", "nullif"]), (a, b)),
                Call("clamp", (a, Constant(-3, "integer"), Constant(7.5, "real"))),
                Case(((self.condition(depth - 1), a),), b),
                Case(((self.condition(depth - 1), a),), Constant(None, "real")),
                Case(((IsNull(a), a),), b),
                Cast(a, chance.choice(["integer", "real"])),
                Cast(self.condition(depth - 1), "integer"),
                Cast(Column("city"), "real"),
                Call(
                    chance.choice(["year", "month", "day", "quarter", "dow", "week", "doy"]),
                    (self.date(depth - 1),),
                ),
                Call("days_between", (self.date(depth - 1), self.date(depth - 1))),
                Call("length", (Column("city"),)),
            ]
        )

    def date(self, depth: int) -> Expression:
        """A date."""
        chance = self.chance
        if depth <= 0 or chance.random() < 0.4:
            return Column("day")
        inner = self.date(depth - 1)
        if chance.random() < 0.5:
            unit = chance.choice(["week", "month", "quarter", "year"])
            return Call(f"first_of_{unit}", (inner,))
        count = Call("floor", (Call("clamp", (self.number(depth - 1), *_ENDS)),))
        return Call(chance.choice(["add_days", "add_months"]), (inner, count))

    def condition(self, depth: int) -> Expression:
        """True, false or NULL."""
        chance = self.chance
        if depth == 0:
            return Column("smoker")
        a, b = self.number(depth - 1), self.number(depth - 1)
        simple = Column(chance.choice(NAMES))
        constant = Constant(chance.choice([0, 1, 3, 40, 60]), "integer")
        return chance.choice(
            [
                Comparison(chance.choice(["<", "<=", "=", ">", ">=", "<>"]), simple, constant),
                Comparison(chance.choice(["<", "<=", "=", ">", ">=", "<>"]), constant, simple),
                Comparison(chance.choice(["<", ">"]), a, b),
                Logic(
                    chance.choice(["and", "and", "or"]),
                    (self.condition(depth - 1), self.condition(depth - 1)),
                ),
                Not(self.condition(depth - 1)),
                Not(IsNull(simple)),
                Member(simple, (constant, Constant(41, "integer"), Constant(2, "integer"))),
                Comparison("=", Column("sex"), Constant(chance.choice(["F", "M"]), "text")),
                Member(Column("city"), (Constant("Rome", "text"), Constant("Oslo", "text"))),
                Column("smoker"),
            ]
        )


def points(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows in the box, with its corners more often than chance would have it."""
    rows = random_rows(VISITS, chance, count)
    for row in rows:
        for name in NAMES:
            facts = SCHEMA[name]
            if facts.bounded and chance.random() < 0.3:
                end = chance.choice([facts.low, facts.high])
                row[name] = int(end) if facts.kind == "integer" else end
    return rows


def assert_inside(value: Value, facts: ValueFacts) -> None:
    if value is None:
        assert facts.nullable
        return
    assert isinstance(value, int | float)
    assert facts.low <= value <= facts.high
    assert abs(value) <= facts.most * (1 + 1e-12)
    assert value == 0 or grain_of(value) >= facts.grain
    assert facts.kind == "real" or value == math.floor(value)


def test_every_value_lies_in_its_interval() -> None:
    made, chance = Random(1), random.Random(2)
    analysed = 0
    for _ in range(EXPRESSIONS):
        expression = made.number(3)
        try:
            facts = Analysis(SCHEMA).facts(expression)
        except RefusedQuery:
            continue
        analysed += 1
        assert facts.kind in NUMBERS
        for row in points(chance, 12):
            assert_inside(evaluate(expression, columns=row), facts)
    assert analysed > EXPRESSIONS / 4


def test_what_a_condition_leaves_lies_where_it_says() -> None:
    made, chance = Random(3), random.Random(4)
    kept = 0
    for _ in range(EXPRESSIONS):
        condition = made.condition(3)
        try:
            Analysis(SCHEMA).facts(condition)
        except RefusedQuery:
            continue
        left = narrowed(SCHEMA, condition)
        for row in points(chance, 8):
            if evaluate(condition, columns=row) is not True:
                continue
            kept += 1
            for name, facts in left.items():
                if facts.number:
                    assert_inside(row[name], facts)
                if row[name] is None:
                    assert facts.nullable
                before = SCHEMA[name].keys
                shown = before is None or row[name] in before
                assert not shown or facts.keys is None or row[name] in facts.keys
    assert kept > EXPRESSIONS


def test_possible_values_are_all_there_are() -> None:
    made, chance = Random(5), random.Random(6)
    found = 0
    for _ in range(EXPRESSIONS):
        expression = (
            Call("floor", (made.number(2),)) if chance.random() < 0.7 else made.condition(2)
        )
        analysis = Analysis(SCHEMA)
        try:
            values = possible_values(expression, analysis)
        except RefusedQuery:
            continue
        if values is None:
            continue
        found += 1
        assert len(set(values)) == len(values)
        for row in points(chance, 8):
            assert row["sex"] is None or evaluate(expression, columns=row) in values
    assert found > EXPRESSIONS / 10


def test_narrower_bounds_are_never_wider() -> None:
    made = Random(9)
    for _ in range(500):
        condition = made.condition(2)
        try:
            Analysis(SCHEMA).facts(condition)
        except RefusedQuery:
            continue
        for name, facts in narrowed(SCHEMA, condition).items():
            before = SCHEMA[name]
            assert before.low <= facts.low <= facts.high <= before.high
            assert facts.most <= before.most


def test_every_function_of_numbers_has_an_interval() -> None:
    numbers = {
        name
        for name, function in FUNCTIONS.items()
        if function.gives in NUMBERS or (function.gives is None and "real" in function.takes[0])
    }
    assert numbers == set(INTERVALS)


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        (Arithmetic("+", Column("age"), Column("change")), -50, 170),
        (Arithmetic("*", Column("change"), Column("change")), 0, 2500),
        (Arithmetic("-", Column("age"), Constant(20, "integer")), -20, 100),
        (Arithmetic("/", Column("age"), Constant(-2, "integer")), -60, 0),
        (Arithmetic("%", Column("age"), Constant(7, "integer")), 0, 6),
        (Call("abs", (Column("change"),)), 0, 50),
        (Call("clamp", (Column("weight"), Constant(3, "integer"), Constant(9, "integer"))), 3, 9),
        (Call("least", (Column("age"), Constant(9, "integer"))), 0, 9),
        (Call("greatest", (Column("age"), Constant(9, "integer"))), 9, 120),
        (Call("floor", (Arithmetic("/", Column("age"), Constant(10, "integer")),)), 0, 12),
        (Case(((Column("smoker"), Constant(3, "integer")),), Column("change")), -50, 50),
    ],
)
def test_intervals_that_can_be_seen_by_eye(expression: Expression, low: float, high: float) -> None:
    facts = Analysis(SCHEMA).facts(expression)
    assert (facts.low, facts.high) == (low, high)
