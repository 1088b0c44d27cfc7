"""Which measures a query takes, and that its aggregates are what they say without noise."""

from __future__ import annotations

import random
import statistics
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.curator.aggregates.aggregate_kind import (
    MOST_STEPS,
    centred_steps,
    squared_steps,
    stepped,
)
from quaestor.curator.kernel.measures import (
    Distinct,
    JointTotals,
    RowCount,
    Total,
    Units,
    ValueCounts,
)
from quaestor.curator.language.expressions import Arithmetic, Constant
from quaestor.curator.pricing.editions import THIRD
from quaestor.curator.pricing.offers import measures_of, offer
from quaestor.curator.pricing.priced_parts import combinations_of, spread_of
from quaestor.errors import InvalidParameter
from tests.curator.pricing.tables import X, aggregate, exact, query, release

if TYPE_CHECKING:
    from quaestor.curator.language.query import Aggregate


@pytest.mark.parametrize(
    ("asked", "kinds"),
    [
        (aggregate("count"), [RowCount]),
        (aggregate("count", operand=X), [RowCount]),
        (aggregate("units"), [Units]),
        (aggregate("distinct"), [Distinct]),
        (aggregate("sum"), [Total]),
        (aggregate("mean"), [JointTotals]),
        (aggregate("variance"), [JointTotals]),
        (aggregate("stddev"), [JointTotals]),
        (aggregate("quantile"), [ValueCounts]),
    ],
)
def test_each_aggregate_takes_its_measures(asked: Aggregate, kinds: list[type]) -> None:
    measuring = measures_of(query(asked))
    assert [type(measure) for measure in measuring.measures] == kinds
    assert not measuring.selects


def test_private_keys_take_the_number_of_units_which_then_is_shared() -> None:
    measuring = measures_of(query(aggregate("units"), aggregate("sum"), keys=None))
    assert measuring.selects
    assert [type(measure) for measure in measuring.measures] == [Units, Total]


@pytest.mark.parametrize("private", [True, False])
def test_rows_and_units_are_measured_once_where_they_are_the_same(private: bool) -> None:  # noqa: FBT001
    counts = (aggregate("count"),) if private else (aggregate("count"), aggregate("units"))
    asked = query(*counts, keys=None if private else [1, 2])
    assert measures_of(asked).measures == (Units(),)
    [draw] = offer(asked, epsilon=1.0, delta=1e-6).measurement.all_draws
    assert draw.epsilon == 1
    assert RowCount(rows=1) in measures_of(asked, edition=1).measures
    two = query(*counts, keys=None if private else [1, 2], rows=2)
    assert RowCount(rows=2) in measures_of(two).measures
    some = query(aggregate("count", operand=X), keys=None)
    assert RowCount(rows=1, operand=X) in measures_of(some).measures


def test_aggregates_of_one_operand_share_all_they_can() -> None:
    functions = ("sum", "mean", "variance", "stddev")
    asked = query(aggregate("count", operand=X), *map(aggregate, functions))
    [joint] = measures_of(asked).measures
    assert isinstance(joint, JointTotals)
    measuring = measures_of(asked, edition=THIRD)
    assert [type(measure) for measure in measuring.measures] == [RowCount, Total, Total]
    centred_total = measuring.measures[1]
    assert isinstance(centred_total, Total)
    assert centred_total.operand == Arithmetic("-", X, Constant(5.0, "real"))
    assert (centred_total.low, centred_total.high) == (-5, 5)


def test_two_quantiles_share_their_histogram_and_are_drawn_each() -> None:
    asked = query(aggregate("quantile", probability=0.25), aggregate("quantile"))
    assert len(measures_of(asked).measures) == 1
    assert len(offer(asked, epsilon=1.0).draws) == 4  # each with its interval
    assert len(offer(asked, epsilon=1.0, quantile_intervals=False).draws) == 2
    assert len(offer(asked, epsilon=1.0, edition=1).draws) == 2


@pytest.mark.parametrize("seed", range(50))
def test_centring_halves_what_one_row_can_do_and_loses_nothing(seed: int) -> None:
    coins = random.Random(seed)
    step = coins.choice([1.0, 0.5, 2.0**-10])
    low, high = sorted(coins.randrange(-5000, 5000) for _ in range(2))
    whole = stepped(X, low=low * step, high=high * step, step=step)
    assert (whole.low, whole.high) == (low, high)
    middle = centred_steps(whole)
    # every value of the grid is still one, and no value is farther from the centre than half
    for value in (low, high, coins.randint(low, high)):
        moved = (Fraction(value) * Fraction(step) - Fraction(middle.centre)) / Fraction(middle.step)
        assert moved.denominator == 1
        assert middle.low <= moved <= middle.high
    assert Fraction(middle.reach) * Fraction(middle.step) == Fraction(high - low, 2) * Fraction(
        step
    )


@pytest.mark.parametrize("high", [1.0, 120.0, 5000.0, float(MOST_STEPS)])
def test_no_step_count_passes_its_limit_even_of_squares(high: float) -> None:
    for low in (0.0, -high, 1.0):
        middle = centred_steps(stepped(X, low=low, high=high, step=1.0))
        square = squared_steps(middle)
        assert middle.reach <= MOST_STEPS
        assert square.reach <= MOST_STEPS
        largest = (middle.reach * middle.step) ** 2
        assert square.high * square.step >= largest - square.centre
        assert square.reach * square.step <= largest * 0.5001 + square.step


def test_bounds_that_are_decimal_fractions_are_whole_numbers_of_steps() -> None:
    assert (stepped(X, low=0.3, high=0.7, step=0.1).low) == 3
    for low, high, step in ((1.0, 0.0, 1.0), (0.0, float("inf"), 1.0), (0.0, 1.0, 0.0)):
        with pytest.raises(InvalidParameter):
            stepped(X, low=low, high=high, step=step)
    with pytest.raises(InvalidParameter, match="coarser"):
        stepped(X, low=0.0, high=2.0**25, step=1.0)
    with pytest.raises(InvalidParameter, match="operand"):
        measures_of(query(aggregate("sum", operand=None)))


def test_a_unit_is_in_no_more_groups_than_there_are() -> None:
    count = aggregate("count")
    assert spread_of(query(count, groups=9)) == 1
    assert spread_of(query(count, keys=[1, 2, 3], groups=9)) == 3
    assert spread_of(query(count, keys=[1, 2, 3], groups=2)) == 2
    assert spread_of(query(count, keys=None, groups=9)) == 9
    assert spread_of(query(count, keys=range(50), groups=9, top=4)) == 4
    assert combinations_of(query(count, keys=None)) is None


@pytest.mark.parametrize("noise", ["epsilon", "rho"])
def test_with_hardly_any_noise_answers_are_those_of_the_definitions(noise: str) -> None:
    coins = random.Random(5)
    table = [{"u": u, "x": coins.randint(20, 90)} for u in range(400)] + [
        {"u": u, "x": None} for u in range(400, 420)
    ]
    data: list[Any] = [row["x"] for row in table if row["x"] is not None]
    bounds = {"low": 0.0, "high": 101.0}
    names = ("count", "units", "distinct", "sum", "mean", "variance", "stddev", "quantile")
    for functions in [names, *((name,) for name in names)]:
        asked = query(*(aggregate(name, **bounds) for name in functions))
        terms: dict[str, Any] = {noise: 1e4}
        offered = offer(asked, **terms)
        [row] = release(asked, offered, exact(asked, offered.measuring.measures, table)).rows()
        truth = {
            "count": 420,
            "units": 420,
            "distinct": len(set(data)),
            "sum": sum(data),
            "mean": statistics.fmean(data),
            "variance": statistics.variance(data),
            "stddev": statistics.stdev(data),
            "quantile": statistics.median(data),
        }
        for place, name in enumerate(functions):
            assert row[f"a{place}"] == pytest.approx(truth[name], rel=2e-3, abs=1.0)
            if name in {"mean", "variance", "stddev"}:
                assert row[f"a{place}"] == pytest.approx(truth[name], rel=2e-3)
