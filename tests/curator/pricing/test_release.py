"""Released figures: the noise is the one that was offered, and intervals hold as they say."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import exp, mpf

from quaestor.curator.kernel.measures import JointTotals, RowCount, Total, Units
from quaestor.curator.language.expressions import Aggregated, Arithmetic
from quaestor.curator.language.query import Output
from quaestor.curator.pricing.editions import SECOND
from quaestor.curator.pricing.offers import offer
from tests.curator.pricing.tables import Exact, aggregate, constant, exact, query, release
from tests.mechanisms.laws import chi_square, discrete_gaussian, discrete_laplace, normalised
from tests.mechanisms.sources import seed

if TYPE_CHECKING:
    from quaestor.curator.answers.answer import Answer
    from quaestor.curator.language.query import Query

ACCEPT, REJECT = 1e-4, 1e-6
GROUPS = 20_000
FACTORS = (1.0, 1.3, 1 / 1.3)


def by_group(
    asked: Query, numbers: dict[Any, int], *, delta: float | None = None, **terms: Any
) -> Answer:
    offered = offer(asked, delta=delta, **terms)
    return release(asked, offered, constant(offered, GROUPS, numbers))


def test_counts_carry_the_noise_of_their_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 11)
    answer = by_group(
        query(aggregate("count"), keys=range(GROUPS), rows=2), {RowCount: 70}, epsilon=0.5
    )
    noise = np.array(answer.column("a0").values) - 70
    for factor in FACTORS:
        chance = chi_square(noise, discrete_laplace(2 / 0.5 * factor, 400))
        assert chance > ACCEPT if factor == 1.0 else chance < REJECT


def test_sums_carry_the_noise_of_their_bounds_rows_and_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed(monkeypatch, 12)
    asked = query(
        aggregate("sum", low=-1.0, high=2.5, step=0.5), keys=range(GROUPS), rows=2, groups=3
    )
    answer = by_group(asked, {Total: 100}, epsilon=1.5)
    noise = np.array(answer.column("a0").values) / 0.5 - 100
    # two rows of five steps each, in three groups that share an epsilon of 1.5
    for factor in FACTORS:
        chance = chi_square(noise.astype(np.int64), discrete_laplace(10 / 0.5 * factor, 1000))
        assert chance > ACCEPT if factor == 1.0 else chance < REJECT


def test_gaussian_noise_has_the_deviation_of_its_rho(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 13)
    asked = query(aggregate("count"), keys=range(GROUPS), rows=3, groups=2)
    answer = by_group(asked, {RowCount: 0}, rho=0.25)
    sigma = 3 / (2 * 0.125) ** 0.5
    for factor in FACTORS:
        law = discrete_gaussian(sigma * factor, 200)
        chance = chi_square(np.array(answer.column("a0").values), law)
        assert chance > ACCEPT if factor == 1.0 else chance < REJECT


def test_means_carry_the_noise_of_half_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 14)
    asked = query(aggregate("mean", low=0.0, high=20.0), keys=range(GROUPS))
    rows = 10**7
    answer = by_group(asked, {RowCount: rows, Total: 0}, epsilon=1.0, edition=SECOND)
    noise = np.rint((np.array(answer.column("a0").values) - 10.0) * rows).astype(np.int64)
    # shares of the total and the rows are as 1 and (1/3)^(1/3)
    share = 1 / (1 + (1 / 3) ** (1 / 3))
    for factor in FACTORS:
        chance = chi_square(noise, discrete_laplace(10 / share * factor, 1600))
        assert chance > ACCEPT if factor == 1.0 else chance < REJECT


def test_groups_are_shown_with_the_noisy_number_of_their_units(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed(monkeypatch, 15)
    asked = query(aggregate("units"), keys=None, groups=2)
    answer = by_group(asked, {Units: 1000}, epsilon=1.0, delta=1e-6)
    assert len(answer) == GROUPS
    assert answer.column("a0").approximate  # only those that pass are seen
    noise = np.array(answer.column("a0").values) - 1000
    for factor in FACTORS:
        chance = chi_square(noise, discrete_laplace(2.0 * factor, 300))
        assert chance > ACCEPT if factor == 1.0 else chance < REJECT


def test_private_groups_are_shown_from_their_threshold_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 16)
    asked = query(aggregate("count"), keys=None)
    offered = offer(asked, epsilon=1.0, delta=1e-3)
    threshold = offered.choice.mechanism.threshold  # type: ignore[union-attr]
    scale = offered.choice.mechanism.scale  # type: ignore[union-attr]
    lone = release(asked, offered, constant(offered, GROUPS, {Units: 1, RowCount: 1}))
    assert len(lone) <= GROUPS * 1e-3 + 5 * (GROUPS * 1e-3) ** 0.5
    at = release(asked, offered, constant(offered, GROUPS, {Units: threshold}))
    law = discrete_laplace(scale, 200)
    shown = float(sum(weight for x, weight in law.items() if x >= 0))
    assert len(at) / GROUPS == pytest.approx(shown, abs=0.02)
    assert str(threshold) in at.notes[0]


def test_quantiles_are_chosen_by_rank_in_each_group(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 17)
    groups, rows, epsilon = 6000, 2, 1.5
    asked = query(aggregate("quantile", high=8.0, probability=0.25), keys=range(groups), rows=rows)
    offered = offer(asked, epsilon=epsilon, quantile_intervals=False)
    [histogram] = offered.measuring.measures
    counts = {1: 4, 2: 1, 6: 5}
    data = [1] * 4 + [2] + [6] * 5
    answer = release(
        asked,
        offered,
        Exact([(g,) for g in range(groups)], {}, [9] * groups, {histogram: [counts] * groups}),  # type: ignore[dict-item]
    )

    def behind(y: int) -> mpf:
        below, not_above = sum(x < y for x in data), sum(x <= y for x in data)
        return max(below - mpf(2.5), mpf(2.5) - not_above)

    drawn = np.array(answer.column("a0").values).astype(np.int64)
    for factor in FACTORS:
        rate = epsilon * factor / (2 * rows * 0.75)
        law = normalised({y: exp(-rate * behind(y)) for y in range(9)})
        chance = chi_square(drawn, law)
        assert chance > ACCEPT if factor == 1.0 else chance < REJECT
    assert answer.column("a0").standard_errors == (None,) * groups
    assert answer.column("a0").lower is None


@pytest.mark.parametrize("terms", [{"epsilon": 1.0}, {"rho": 0.3}], ids=["epsilon", "rho"])
@pytest.mark.parametrize("probability", [0.05, 0.5, 0.9])
def test_intervals_of_quantiles_are_in_values_and_hold(
    monkeypatch: pytest.MonkeyPatch, terms: dict[str, Any], probability: float
) -> None:
    seed(monkeypatch, 24)
    coins = random.Random(9)
    skewed = [min(int(coins.lognormvariate(3, 1)), 400) for _ in range(800)]
    tables = {
        "skewed": skewed,
        "few": skewed[:7],
        "one": [17],
        "ties": [20] * 300 + [21] * 300,
        "far apart": [3] * 61 + [390] * 61,
        "at a bound": [400] * 90,
    }
    groups = 150
    asked = query(
        aggregate("quantile", high=400.0, probability=probability), keys=range(groups), rows=1
    )
    offered = offer(asked, **terms)
    [histogram] = offered.measuring.measures
    for name, data in tables.items():
        counts = dict(Counter(data))
        table = Exact(
            [(g,) for g in range(groups)],
            {},
            [1] * groups,
            {histogram: [counts] * groups},  # type: ignore[dict-item]
        )
        column = release(asked, offered, table).column("a0")
        assert not column.approximate
        lower, upper = np.array(column.lower, float), np.array(column.upper, float)
        for method in ("inverted_cdf", "linear", "weibull"):
            truth = np.quantile(data, probability, method=method)
            held = np.mean((lower <= truth) & (truth <= upper))
            assert held >= 0.95 - 4 * (0.95 * 0.05 / groups) ** 0.5, (name, method)
    empty = Exact([(0,)], {}, [0], {histogram: [{}]})  # type: ignore[dict-item]
    column = release(asked, offered, empty).column("a0")
    whole = (np.array(column.lower) == 0.0) & (np.array(column.upper) == 400.0)
    assert np.mean(whole) >= 0.8


def test_the_largest_groups_are_chosen_in_proportion_to_their_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed(monkeypatch, 18)
    scores = [3, 8, 10, 9]
    asked = query(aggregate("count"), keys=range(4), top=1)
    offered = offer(asked, epsilon=1.0)
    epsilon = offered.choice.mechanism.epsilon  # type: ignore[union-attr]
    [measure] = offered.measuring.measures
    table = Exact([(g,) for g in range(4)], {measure: scores}, scores)
    drawn = [release(asked, offered, table).column("k").values[0] for _ in range(4000)]
    for factor in FACTORS:
        law = normalised(
            {g: exp(mpf(epsilon) * factor * score / 2) for g, score in enumerate(scores)}
        )
        chance = chi_square(drawn, law)  # type: ignore[arg-type]
        assert chance > ACCEPT if factor == 1.0 else chance < REJECT


@pytest.mark.parametrize("terms", [{"epsilon": 2.0}, {"rho": 0.3}], ids=["epsilon", "rho"])
def test_intervals_hold_the_truth_as_often_as_they_say(
    monkeypatch: pytest.MonkeyPatch, terms: dict[str, Any]
) -> None:
    seed(monkeypatch, 19)
    coins = random.Random(3)
    groups, people = 3000, 3000
    table: list[dict[str, Any]] = [
        {"u": u, "k": 0, "x": min(90, int(coins.gammavariate(3, 10)))} for u in range(people)
    ]
    data = [row["x"] for row in table]
    names = ("count", "sum", "mean", "variance", "stddev")
    bounds = {"low": 0.0, "high": 90.0}
    share = Output(name="share", expression=Arithmetic("/", Aggregated(1), Aggregated(0)))
    asked = query(*(aggregate(name, **bounds) for name in names), keys=range(groups))
    asked = query(*asked.aggregates, keys=range(groups), outputs=(*asked.outputs, share), rows=1)
    offered = offer(asked, **terms)
    one = exact(query(*asked.aggregates, keys=[0]), offered.measuring.measures, table)
    everywhere = Exact(
        [(g,) for g in range(groups)],
        {
            measure: [each * groups for each in values]
            if isinstance(measure, JointTotals)
            else values * groups
            for measure, values in one.values.items()
        },
        one.units * groups,
    )
    answer = release(asked, offered, everywhere)
    truth = {
        "a0": people,
        "a1": sum(data),
        "a2": statistics.fmean(data),
        "a3": statistics.variance(data),
        "a4": statistics.stdev(data),
        "share": statistics.fmean(data),
    }
    spread = 4 * (0.95 * 0.05 / groups) ** 0.5
    for name, value in truth.items():
        column = answer.column(name)
        assert column.lower is not None
        assert column.upper is not None
        assert column.standard_errors is not None
        held = np.mean((np.array(column.lower) <= value) & (value <= np.array(column.upper)))
        assert held >= 0.95 - spread, name
        assert held <= (0.985 if name != "a1" else 1.0), name  # and are no wider than needed
        assert column.approximate == (name not in {"a0", "a1"})
        errors = np.array(column.values, float) - value
        stated = float(np.median(np.array(column.standard_errors, float)))
        assert float(np.sqrt(np.mean(errors**2))) == pytest.approx(stated, rel=0.06), name


def test_means_of_hardly_any_rows_say_that_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed(monkeypatch, 20)
    functions = ("mean", "variance", "stddev")
    asked = query(*map(aggregate, functions), keys=range(GROUPS))
    answer = by_group(asked, {RowCount: 1, Total: 0}, epsilon=0.1)
    for name, low, high in (("a0", 0.0, 10.0), ("a1", 0.0, 50.0), ("a2", 0.0, 50**0.5)):
        column = answer.column(name)
        figures = np.array(column.values, float)
        assert np.all((low <= figures) & (figures <= high))
        wide = (np.array(column.lower) == low) & (np.array(column.upper) == high)
        assert np.mean(wide) > 0.9


def test_counts_may_be_below_zero_and_their_intervals_are_not() -> None:
    answer = by_group(query(aggregate("count"), keys=range(GROUPS)), {RowCount: 0}, epsilon=0.2)
    column = answer.column("a0")
    assert column.lower is not None
    assert column.upper is not None
    assert np.mean(np.array(column.values, float) < 0) > 0.3
    assert min(float(end or 0) for end in column.lower) == 0.0
    assert min(float(end or 0) for end in column.upper) >= 0.0


@pytest.mark.parametrize("terms", [{"epsilon": 1.0}, {"rho": 0.5}], ids=["epsilon", "rho"])
def test_huge_sums_are_rounded_by_less_than_their_noise_and_intervals_know(
    monkeypatch: pytest.MonkeyPatch, terms: dict[str, Any]
) -> None:
    seed(monkeypatch, 23)
    asked = query(aggregate("sum", high=2.0**24 - 1), keys=range(GROUPS), rows=100)
    offered = offer(asked, **terms)
    [draw] = offered.draws
    grain = draw.grain  # type: ignore[attr-defined]
    assert grain > 1
    truth = 10**15 + 12_345
    answer = release(asked, offered, constant(offered, GROUPS, {Total: truth}))
    column = answer.column("a0")
    noise = np.array(column.values, float) - truth
    assert all(value % grain == 0 for value in column.values)
    sensitivity = 100 * (2**24 - 1)
    assert np.std(noise) == pytest.approx(
        2**0.5 * sensitivity if "epsilon" in terms else sensitivity, rel=0.03
    )
    held = (np.array(column.lower, float) <= truth) & (truth <= np.array(column.upper, float))
    assert np.mean(held) == pytest.approx(0.95, abs=0.008)
