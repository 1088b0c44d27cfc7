"""Variances of complementary totals: what one unit can move, and that their intervals hold."""

from __future__ import annotations

import math
import random
import statistics
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from quaestor.curator.aggregates.aggregate_kind import stepped
from quaestor.curator.aggregates.complementary import Complements
from quaestor.curator.aggregates.complementary_sums import count_of_totals, sum_of_totals
from quaestor.curator.aggregates.recipe import Noised, Scatter
from quaestor.curator.kernel.measures import JointTotals
from quaestor.curator.pricing.editions import THIRD
from quaestor.curator.pricing.offers import measures_of, offer
from tests.curator.pricing.tables import Exact, X, aggregate, exact, query, release
from tests.curator.pricing.test_complementary import contribution, off
from tests.mechanisms.sources import seed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Query

GROUPS = 2000
BOUNDS = {"low": 0.0, "high": 100.0}
SAMPLES: dict[str, Callable[[random.Random], int]] = {
    "gamma": lambda coins: min(int(coins.gammavariate(2.0, 12.0)), 100),
    "middle": lambda coins: round(min(max(coins.gauss(50.0, 8.0), 0.0), 100.0)),
    "constant": lambda coins: 40 + coins.randint(0, 0),
    "low": lambda coins: coins.randint(0, 0),
    "high": lambda coins: 100 - 3 * (coins.random() < 0.1),
    "ends": lambda coins: coins.choice((0, 100)),
}


def many(asked: Query, data: Sequence[Any], **terms: Any) -> Answer:
    """One answer for very many groups of the same rows, one row a unit."""
    offered = offer(asked, **terms)
    table = [{"u": u, "k": 0, "x": x} for u, x in enumerate(data)]
    one = exact(query(*asked.aggregates, keys=[0]), offered.measuring.measures, table)
    values = {
        measure: [each * GROUPS for each in held]
        if isinstance(measure, JointTotals)
        else held * GROUPS
        for measure, held in one.values.items()
    }
    everywhere = Exact([(g,) for g in range(GROUPS)], values, one.units * GROUPS)
    return release(asked, offered, everywhere)


@pytest.mark.parametrize("absent", [True, False])
@pytest.mark.parametrize(("low", "high", "step"), [(0, 3, 1.0), (-2, 1, 1.0), (50, 70, 0.1)])
def test_a_unit_moves_all_totals_by_the_bound_and_no_more(
    low: int,
    high: int,
    step: float,
    absent: bool,  # noqa: FBT001
) -> None:
    """Rounding to steps may take or add one in each total; the kernel cuts what is too much."""
    whole = stepped(X, low=low * step, high=high * step, step=step)
    made = Complements(asked=whole, rows=2, absent=absent, squares=True)
    measure = made.measure
    assert measure.bound == 2 * made.steps
    values: list[float | None] = [None, *(each * step for each in range(low, high + 1))]
    for number in (1, 2):
        for own in combinations_with_replacement(values, number):
            counted = number if absent else sum(value is not None for value in own)
            assert abs(sum(contribution(measure, own)) - counted * made.steps) <= 3 * number


@pytest.mark.parametrize("seed_of", range(40))
def test_figures_of_exact_totals_are_those_of_the_rows(seed_of: int) -> None:
    """Without noise, against sums and variances in fractions; within what steps may move."""
    coins = random.Random(seed_of)
    step = coins.choice([1.0, 0.5, 2.0**-10, 0.01])
    low, high = sorted(coins.sample(range(-3000, 3000), 2))
    rows = coins.choice([1, 3, 200])
    whole = stepped(X, low=low * step, high=high * step, step=step)
    totals = Complements(asked=whole, rows=rows, absent=bool(coins.getrandbits(1)), squares=True)
    data = [coins.randint(low, high) for _ in range(coins.randint(2, 20))]
    held = contribution(totals.measure, [each * step for each in data])
    asked = query(aggregate("variance", low=low * step, high=high * step, step=step), rows=rows)
    [draw] = offer(asked, epsilon=1.0).draws
    noised: dict[Measure, Noised] = {
        totals.measure: Noised(values=np.array(held)[:, None], scatter=Scatter(draw)),
    }
    loose = len(data) * 4 * totals.loose * (1 + 1e-6) + 1e-9
    count = count_of_totals(aggregate("count", operand=X), totals)
    assert count.estimates(noised, confidence=0.95).values[0] == len(data)
    total = sum_of_totals(aggregate("sum"), totals).estimates(noised, confidence=0.95)
    assert abs(total.values[0] - sum(data) * step) <= loose * (totals.width + abs(totals.low)) + 1
    from quaestor.curator.aggregates.complementary_ratios import (
        ComplementaryMean,
        ComplementaryVariance,
    )

    mean = ComplementaryMean(aggregate=aggregate("mean"), totals=totals)
    found = mean.estimates(noised, confidence=0.95).values[0]
    assert abs(found - statistics.fmean(data) * step) <= loose * totals.width
    for population in (True, False):
        recipe = ComplementaryVariance(
            aggregate=aggregate("variance"), totals=totals, population=population
        )
        truth = (statistics.pvariance if population else statistics.variance)(map(Fraction, data))
        estimates = recipe.estimates(noised, confidence=0.95)
        exact_one = float(truth) * step**2
        assert abs(estimates.values[0] - exact_one) <= 8 * loose * totals.width**2
        assert estimates.lower is not None
        assert estimates.upper is not None
        assert estimates.lower[0] <= exact_one <= estimates.upper[0]


def test_variances_share_their_totals_with_means_sums_and_counts() -> None:
    functions = ("variance", "stddev_of_all", "mean", "sum", "count")
    asked = query(*map(aggregate, functions), aggregate("count", operand=X))
    [draw] = offer(asked, epsilon=1.0).draws
    assert isinstance(draw.measure, JointTotals)
    assert len(draw.measure.totals) == 4
    assert 0.999 < (draw.epsilon or 0) <= 1
    other: dict[str, Any]
    for other in ({"edition": THIRD}, {"noise": "gaussian"}):
        apart = measures_of(query(aggregate("variance")), **other)
        assert JointTotals not in map(type, apart.measures)
        assert len(apart.measures) == 3


@pytest.mark.parametrize("function", ["variance", "stddev", "variance_of_all"])
@pytest.mark.parametrize("kind", list(SAMPLES))
@pytest.mark.parametrize("people", [2, 12, 40, 300])
def test_intervals_hold_and_errors_are_smaller_than_before(
    monkeypatch: pytest.MonkeyPatch, kind: str, people: int, function: str
) -> None:
    seed(monkeypatch, 41)
    coins = random.Random(people)
    data = [SAMPLES[kind](coins) for _ in range(people)]
    asked = query(aggregate(function, **BOUNDS), keys=range(GROUPS))
    column = many(asked, data, epsilon=1.0).column("a0")
    truth = statistics.pvariance(data) if "of_all" in function else statistics.variance(data)
    truth = math.sqrt(truth) if function == "stddev" else truth
    lower, upper = (np.array(end, float) for end in (column.lower, column.upper))
    held = np.mean((lower - 1e-6 <= truth) & (truth <= upper + 1e-6))
    assert held >= 0.95 - 4 * (0.95 * 0.05 / GROUPS) ** 0.5
    assert np.all(np.isfinite(upper))
    if people == 300 and function == "variance":
        before = many(asked, data, epsilon=1.0, edition=THIRD).column("a0")
        assert off(column.values, truth) < off(before.values, truth) / 1.15


@pytest.mark.parametrize("function", ["variance", "stddev_of_all"])
def test_of_nobody_all_is_possible(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    seed(monkeypatch, 42)
    asked = query(aggregate(function, **BOUNDS), keys=range(GROUPS))
    column = many(asked, [], epsilon=1.0).column("a0")
    most = {"variance": 5000.0, "stddev_of_all": 50.0}[function]
    whole = (np.array(column.lower) == 0.0) & (np.array(column.upper) == most)
    assert np.mean(whole) >= 0.95


def test_the_interval_of_gaussian_noise_holds_values_at_both_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their sample variance is larger than any population's: by n / (n - 1), which is noisy."""
    seed(monkeypatch, 43)
    data = [0, 100] * 150
    asked = query(aggregate("variance", **BOUNDS), keys=range(GROUPS))
    column = many(asked, data, rho=0.5).column("a0")
    truth = statistics.variance(data)
    lower, upper = (np.array(end, float) for end in (column.lower, column.upper))
    assert np.mean((lower <= truth) & (truth <= upper)) >= 0.93


def test_no_person_makes_an_interval_too_narrow_by_rounding() -> None:
    """Ten million people over their cap, each rounded down in every total: the ends hold that."""
    asked = query(aggregate("count"), aggregate("mean", high=1.0), rows=1)
    offered = offer(asked, epsilon=1000.0)
    [draw] = offered.draws
    recipe = offered.measuring.recipes[0]
    people, totals = 10_000_000, recipe.totals  # type: ignore[attr-defined]
    share = totals.steps // 3  # of each third, and one step less in each
    held = np.array([[(share - 1) * people], [(totals.steps - share - 1) * people], [0]])
    found = recipe.estimates(
        {draw.measure: Noised(values=held, scatter=Scatter(draw))}, confidence=0.95
    )
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower[0] <= people <= found.upper[0]
    assert found.upper[0] - found.lower[0] < 6
