"""Complementary totals: what one unit can move, and how far figures made of them are off."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from quaestor.curator.aggregates.aggregate_kind import stepped
from quaestor.curator.aggregates.complementary import Complements
from quaestor.curator.aggregates.noise_sums import laplace_sum_reach
from quaestor.curator.kernel.draws import NoisyMeasure
from quaestor.curator.kernel.measures import JointTotals, RowCount, Total, Units
from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.expressions import (
    Aggregated,
    Arithmetic,
    Call,
    Cast,
    Comparison,
    Constant,
    IsNull,
    Not,
)
from quaestor.curator.language.query import Filtered, Output, Scan
from quaestor.curator.pricing.editions import SECOND
from quaestor.curator.pricing.offers import measures_of, offer
from quaestor.curator.pricing.shared_numbers import surely_there
from quaestor.errors import InvalidParameter
from quaestor.mechanisms import Geometric
from tests.curator.pricing.tables import X, aggregate, exact, query, release
from tests.mechanisms.sources import seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.curator.language.query import Query

TWO = Constant(2, "integer")
TOTAL = Output(name="ratio", expression=Arithmetic("/", Aggregated(0), Aggregated(1)))


def contribution(measure: JointTotals, values: Sequence[float | None]) -> tuple[int, ...]:
    """What a unit with these values adds, before the kernel cuts it to the joint bound."""
    found = []
    for total in measure.totals:
        held = [evaluate(total.operand, columns={"x": value}) for value in values]
        steps = [math.floor(float(v) / total.step + 0.5) for v in held if v is not None]
        found.append(sum(min(max(step, total.low), total.high) for step in steps))
    return tuple(found)


@pytest.mark.parametrize("absent", [True, False])
@pytest.mark.parametrize(("low", "high"), [(0, 3), (-2, 1), (5, 7)])
def test_a_unit_moves_all_totals_by_the_bound_and_no_more(
    low: int,
    high: int,
    absent: bool,  # noqa: FBT001
) -> None:
    whole = stepped(X, low=float(low), high=float(high), step=1.0)
    made = Complements(asked=whole, rows=2, absent=absent)
    measure, width = made.measure, made.steps
    assert measure.bound == 2 * width
    values: list[float | None] = [None, *map(float, range(low, high + 1))]
    for number in (1, 2):
        for own in combinations_with_replacement(range(len(values)), number):
            held = [values[at] for at in own]
            counted = len(held) if absent else sum(value is not None for value in held)
            # neither more nor less: nothing that was priced is wasted
            assert sum(contribution(measure, held)) == counted * width


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize(("bound", "grain"), [(5, 2), (7, 3), (9, 4), (4, 1)])
def test_totals_that_are_rounded_to_grains_move_by_what_is_stated(
    parts: int, bound: int, grain: int
) -> None:
    """All totals, and all moves of them within the joint bound."""
    stated = (bound + parts * (grain - 1)) // grain
    farthest = 0
    moves = [move for move in product(range(bound + 1), repeat=parts) if sum(move) <= bound]
    for start in product(range(grain), repeat=parts):
        for move in moves:
            ends = [(x + d + grain // 2) // grain for x, d in zip(start, move, strict=True)]
            starts = [(x + grain // 2) // grain for x in start]
            farthest = max(farthest, sum(a - b for a, b in zip(ends, starts, strict=True)))
    assert farthest == stated
    totals = tuple(Total(operand=X, low=0, high=9, step=1.0, rows=1) for _ in range(parts))
    measure = JointTotals(totals=totals, bound=bound)
    NoisyMeasure(
        measure=measure,
        mechanism=Geometric(scale=4.0, sensitivity=stated),
        spread=1,
        grain=grain,
    )
    if stated > 1:
        with pytest.raises(InvalidParameter, match="less noise"):
            NoisyMeasure(
                measure=measure,
                mechanism=Geometric(scale=4.0, sensitivity=stated - 1),
                spread=1,
                grain=grain,
            )


@pytest.mark.parametrize("times", [(1.0,), (1.0, 1.0), (1.0, 1.0, 1.0), (3.0, -1.0), (0.0, 2.0)])
@pytest.mark.parametrize("risk", [0.05, 0.3])
def test_sums_of_noises_reach_as_far_as_is_stated(times: tuple[float, ...], risk: float) -> None:
    reach = laplace_sum_reach(times, risk=risk)
    drawn = np.random.default_rng(5).laplace(size=(len(times), 400_000))
    missed = float(np.mean(np.abs(np.array(times) @ drawn) > reach))
    spread = 5 * math.sqrt(risk / 400_000)
    assert risk * 0.985 - spread < missed < risk + spread


def test_means_sums_and_counts_of_one_operand_are_one_measure() -> None:
    counted = aggregate("count", operand=X)
    for asked in (
        query(aggregate("mean"), aggregate("sum"), counted, aggregate("count")),
        query(aggregate("sum"), aggregate("count")),
        query(aggregate("sum"), counted),
    ):
        [measure] = measures_of(asked).measures
        assert isinstance(measure, JointTotals)
        [draw] = offer(asked, epsilon=1.0).draws
        assert draw.epsilon is not None
        assert Fraction(99999, 100000) < draw.epsilon <= 1
        assert JointTotals not in map(type, measures_of(asked, noise="gaussian").measures)
        assert JointTotals not in map(type, measures_of(asked, edition=SECOND).measures)
    assert len(measures_of(query(aggregate("sum"), aggregate("count"))).measures[0].totals) == 3  # type: ignore[attr-defined]
    for apart in (
        query(aggregate("sum")),
        query(aggregate("mean", low=3.0, high=3.0)),
    ):
        assert JointTotals not in map(type, measures_of(apart).measures)
    private = measures_of(query(aggregate("mean"), aggregate("count"), keys=None)).measures
    assert [type(each) for each in private] == [Units, JointTotals]
    ranked = measures_of(query(aggregate("count"), aggregate("mean"), keys=range(9), top=2))
    assert [type(each) for each in ranked.measures] == [RowCount, JointTotals]


@pytest.mark.parametrize(
    ("condition", "operand", "sure"),
    [
        (Not(IsNull(X)), X, True),
        (
            Comparison(">", X, Constant(3, "integer")),
            Arithmetic("*", X, Constant(2, "integer")),
            True,
        ),
        (IsNull(X), X, False),
        (IsNull(X), Call("coalesce", (X, TWO)), True),
        (Not(IsNull(X)), Arithmetic("/", X, X), False),
        (Not(IsNull(X)), Cast(X, "integer"), False),  # a text need not be a number
    ],
)
def test_rows_without_a_value_are_not_counted_where_there_are_none(
    condition: Any,
    operand: Any,
    sure: bool,  # noqa: FBT001
) -> None:
    rows = Filtered(Scan("t"), condition)
    assert surely_there(operand, rows) is sure
    asked = replace(query(aggregate("mean", operand=operand), aggregate("count")), rows=rows)
    [measure] = measures_of(asked).measures
    assert isinstance(measure, JointTotals)
    assert len(measure.totals) == (2 if sure else 3)


def released(asked: Query, table: list[dict[str, Any]], groups: int, **terms: Any) -> Any:
    """One answer for so many groups of the same rows."""
    offered = offer(asked, **terms)
    rows = [row | {"u": (g, row["u"]), "k": g} for g in range(groups) for row in table]
    return release(asked, offered, exact(asked, offered.measuring.measures, rows))


def off(values: Sequence[Any], truth: float) -> float:
    """The root of the mean squared error."""
    return math.sqrt(statistics.fmean((float(value) - truth) ** 2 for value in values))


@pytest.mark.parametrize("mean", [8, 50, 95])
@pytest.mark.parametrize("people", [20, 120])
def test_intervals_hold_and_errors_are_smaller_than_before(
    monkeypatch: pytest.MonkeyPatch, mean: int, people: int
) -> None:
    seed(monkeypatch, 23)
    coins, groups = random.Random(mean), 200
    table: list[dict[str, Any]] = [
        {"u": u, "x": None if u % 10 == 0 else min(max(mean + coins.randint(-8, 8), 0), 100)}
        for u in range(people)
    ]
    data = [row["x"] for row in table if row["x"] is not None]
    bounds = {"low": 0.0, "high": 100.0}
    aggregates = [aggregate("mean", **bounds), aggregate("count"), aggregate("sum", **bounds)]
    asked = query(*aggregates, aggregate("count", operand=X), keys=range(groups))
    truths = [statistics.fmean(data), people, sum(data), len(data)]
    now = released(asked, table, groups, epsilon=1.0)
    before = released(asked, table, groups, epsilon=1.0, edition=SECOND)
    for place, truth in enumerate(truths):
        column = now.column(f"a{place}")
        inside = [a <= truth <= b for a, b in zip(column.lower, column.upper, strict=True)]
        assert sum(inside) >= 0.91 * groups  # 0.95 but for 2.6 deviations
        errors, then = (off(each.column(f"a{place}").values, truth) for each in (now, before))
        assert errors < 0.9 * then
        stated = statistics.median(float(each) for each in column.standard_errors)
        if people > 100:
            assert 0.8 * stated < errors < 1.25 * stated


def test_a_sum_by_a_count_is_as_good_as_a_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 24)
    groups = 200
    table = [{"u": u, "x": 20 + u % 9} for u in range(120)]
    truth = statistics.fmean(row["x"] for row in table)
    bounds = {"low": 0.0, "high": 100.0}
    asked = query(
        aggregate("sum", **bounds), aggregate("count"), keys=range(groups), outputs=(TOTAL,)
    )

    def error(**terms: Any) -> float:
        column = released(asked, table, groups, epsilon=1.0, **terms).column("ratio")
        inside = [a <= truth <= b for a, b in zip(column.lower, column.upper, strict=True)]
        assert sum(inside) >= 0.9 * groups
        return off(column.values, truth)

    assert error() < error(edition=SECOND) / 1.6
    assert Fraction(99999, 100000) < (offer(asked, epsilon=1.0).epsilon or 0) <= 1
