"""Budgets are divided as well as they can be, by search; and never overdrawn, exactly."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from quaestor.accounting.releases import Repeated
from quaestor.curator.aggregates.recipe import Scatter
from quaestor.curator.kernel.draws import (
    Draw,
    NoisyMeasure,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.pricing.budget_shares import shares
from quaestor.curator.pricing.editions import SECOND
from quaestor.curator.pricing.offers import measures_of, offer
from quaestor.curator.pricing.priced_parts import parts_of
from tests.curator.pricing.tables import aggregate, query

if TYPE_CHECKING:
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.budget_shares import Noise

NUMBERS = ("count", "units", "distinct", "sum", "mean", "variance", "stddev", "quantile")


def criterion(asked: Query, draws: list[Draw]) -> float:
    """The sum of squared errors, each in units of the most that one unit can move, as documented.

    Written out from the aggregates' formulas: with T, Q and N the noise of totals, squares and
    rows, each by its sensitivity.
    """

    def unit_variance(draw: Draw) -> float:
        error = Scatter(draw).standard_error
        if isinstance(draw, NoisyReach):  # a choice by ranks, as that of a quantile
            error = 2 * 2**0.5 * draw.one.sensitivity / draw.mechanism.epsilon
        return (error / draw.measure.sensitivity) ** 2

    by_kind: dict[str, float] = {}
    for draw in draws:
        name = type(draw.measure).__name__
        if isinstance(draw, NoisyTop):
            name = "Top"
        if name == "Total" and "Total" in by_kind:
            name = "Square"
        by_kind[name] = unit_variance(draw)
    total = by_kind.get("Top", 0.0)
    for each in asked.aggregates:
        n, t, s = (by_kind.get(name, 0.0) for name in ("RowCount", "Total", "Square"))
        # the mean is uniform: a third; the square has half the range: a quarter
        total += {
            "count": n,
            "units": by_kind.get("Units", 0.0),
            "sum": t,
            "mean": t + n / 3,
            "variance": s / 4 + 4 * t / 3 + 4 * n / 9,
            "quantile": by_kind.get("Chosen", 0.0) + by_kind.get("Reach", 0.0) / 27,
        }[each.function]
    if any(key.values is None for key in asked.keys):
        total += by_kind["Units"]
    return total


CASES = [
    query(aggregate("count"), aggregate("sum"), groups=3, keys=range(5)),
    query(aggregate("mean"), rows=4),
    query(aggregate("variance")),
    query(aggregate("count", operand=aggregate("mean").operand), aggregate("mean"), rows=2),
    query(aggregate("count"), keys=None, groups=2, rows=2),
    query(aggregate("sum"), aggregate("quantile", probability=0.9), rows=3),
    query(aggregate("count"), keys=range(20), top=3, groups=2),
]


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("asked", CASES, ids=range(len(CASES)))
def test_no_other_division_is_better(asked: Query, noise: Noise) -> None:
    budget = Fraction(1, 100) if noise == "geometric" else Fraction(1, 10_000)
    measuring = measures_of(asked, noise=noise, edition=SECOND)  # where nothing is joint
    parts = parts_of(asked, measuring, noise=noise, delta=1e-6)
    assert len(parts) >= 2
    ours = shares([part.weight for part in parts], noise=noise)

    def value(division: Any) -> float:
        return criterion(
            asked, [part.draw(budget * s) for part, s in zip(parts, division, strict=True)]
        )

    best = value(ours)
    steps = 24
    grid = (
        [(Fraction(i, steps), Fraction(steps - i, steps)) for i in range(1, steps)]
        if len(parts) == 2
        else [
            (Fraction(i, steps), Fraction(j, steps), Fraction(steps - i - j, steps))
            for i in range(1, steps)
            for j in range(1, steps - i)
        ]
    )
    found = min(map(value, grid))
    assert best <= found * (1 + 1e-3)
    assert found <= best * 1.05  # the grid comes close: both speak of the same thing


def test_shares_never_pass_one() -> None:
    coins = random.Random(1)
    for _ in range(500):
        weights = [coins.lognormvariate(0, 3) for _ in range(coins.randint(1, 9))]
        for noise in ("geometric", "gaussian"):
            divided = shares(weights, noise=noise)
            assert sum(divided) <= 1
            assert sum(divided) > 1 - 1e-9


def random_query(coins: random.Random) -> Query:
    aggregates = [
        aggregate(
            coins.choice(NUMBERS),
            low=float(coins.choice([0, -7, -1000, 3])),
            high=float(coins.choice([4, 100, 2**20 + 1])),
            step=coins.choice([1.0, 0.5, 0.125]),
            probability=coins.random(),
        )
        for _ in range(coins.randint(1, 5))
    ]
    keys: Any = coins.choice(["none", None, range(coins.randint(1, 40))])
    top = coins.randint(1, 5) if coins.random() < 0.3 and not isinstance(keys, str) else None
    if top:
        aggregates[0] = aggregate(coins.choice(["count", "units"]))
    return query(
        *aggregates,
        keys=keys,
        rows=coins.choice([1, 2, 7, 100, 513]),
        groups=coins.choice([1, 3, 10, 1000]),
        top=top,
    )


def exact_epsilon(release: Any) -> Fraction:
    """From the stated parameters of the descriptions alone."""
    kind = type(release).__name__
    if kind in {"Geometric", "Laplace"}:
        return Fraction(release.sensitivity) / Fraction(release.scale)
    if kind == "ExponentialMechanism":
        return Fraction(release.epsilon) / (2 if release.monotonic else 1)
    assert kind in {"PureDP", "ApproxDP"}
    return Fraction(release.epsilon)


def exact_rho(release: Any) -> Fraction:
    kind = type(release).__name__
    if kind == "DiscreteGaussian":
        return Fraction(release.sensitivity) ** 2 / (2 * Fraction(release.sigma) ** 2)
    if kind == "ExponentialMechanism":
        return exact_epsilon(release) ** 2 / 8
    return exact_epsilon(release) ** 2 / 2


@pytest.mark.parametrize("seed", range(4))
def test_no_query_costs_more_than_was_asked_exactly(seed: int) -> None:
    coins = random.Random(seed)
    for _ in range(600):
        asked = random_query(coins)
        budget = 10 ** coins.uniform(-3, 1)
        delta = 10 ** coins.uniform(-12, -3)
        name = coins.choice(["epsilon", "rho"])
        terms: dict[str, Any] = {name: budget}
        offered = offer(asked, delta=delta, **terms)
        total, deltas = Fraction(0), Fraction(0)
        for release in offered.releases:
            one, count = (
                (release.release, release.count) if isinstance(release, Repeated) else (release, 1)
            )
            total += count * (exact_epsilon(one) if name == "epsilon" else exact_rho(one))
            deltas += count * Fraction(getattr(one, "delta", 0))
        assert total <= Fraction(budget)
        assert total == (offered.epsilon if name == "epsilon" else offered.rho)
        assert total >= Fraction(budget) * Fraction(998, 1000)  # and hardly less
        assert deltas == offered.delta <= Fraction(delta)
        if any(key.values is None for key in asked.keys):
            assert isinstance(offered.choice, NoisyUnits | ShownGroups)
        for draw in offered.draws:
            if isinstance(draw, NoisyMeasure):
                moved = -(-draw.measure.sensitivity // draw.grain)
                assert draw.mechanism.sensitivity >= moved
