"""Totals with a joint bound: their noise loses no more than that of one total that moves by all."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest

from quaestor import Geometric, Laplace, PureDP
from quaestor.accounting.filters import MomentMeter
from quaestor.curator.kernel.draws import NoisyMeasure
from quaestor.curator.kernel.measures import JointTotals, RowCount, Total
from quaestor.curator.language.expressions import Column
from quaestor.curator.pricing.editions import THIRD
from quaestor.curator.pricing.offers import offer
from quaestor.errors import InvalidParameter
from quaestor.mechanisms import DiscreteGaussian
from quaestor.mechanisms import Geometric as GeometricNoise
from tests.curator.pricing.tables import aggregate, query

Pair = list[tuple[Fraction, Fraction]]


def pair_of(move: int, ratio: Fraction) -> Pair:
    """Both probabilities of where the noise falls, the outer tails as one outcome each.

    By the definition: weights ratio^|x| and ratio^|x - move|, summed over each tail.
    """
    norm = (1 - ratio) / (1 + ratio)
    tail = ratio / (1 - ratio)  # all beyond a point, in units of its weight
    inside = [(norm * ratio**x, norm * ratio ** (move - x)) for x in range(move + 1)]
    first = inside[0][0] * (1 + tail), inside[0][1] * (1 + tail)
    if not move:
        return [(Fraction(1), Fraction(1))]
    last = inside[-1][0] * (1 + tail), inside[-1][1] * (1 + tail)
    return [first, *inside[1:-1], last]


def delta_of(pairs: list[Pair], odds: Fraction) -> Fraction:
    """The hockey-stick of a product of pairs, by its definition: all outcomes, one by one."""
    total = Fraction(0)
    for outcomes in product(*pairs):
        p = q = Fraction(1)
        for a, b in outcomes:
            p, q = p * a, q * b
        total += max(p - odds * q, Fraction(0))
    return total


def odds_to_try(moves: list[int], ratio: Fraction, rng: random.Random) -> list[Fraction]:
    """The corners of both curves, and some in between."""
    whole = sum(moves)
    corners = [ratio ** (2 * x - whole) for x in range(whole + 1)]
    between = [Fraction(rng.randrange(1, 400), 100) for _ in range(4)]
    return [*corners, *between]


def test_several_moves_lose_no_more_than_their_sum() -> None:
    rng = random.Random(18)
    for _ in range(60):
        moves = [rng.randrange(5) for _ in range(rng.choice((2, 2, 3)))]
        ratio = Fraction(rng.randrange(1, 40), 40)
        if ratio == 1:
            continue
        apart = [pair_of(move, ratio) for move in moves]
        together = [pair_of(sum(moves), ratio)]
        for odds in odds_to_try(moves, ratio, rng):
            assert delta_of(apart, odds) <= delta_of(together, odds)


def test_a_smaller_sum_would_not_cover() -> None:
    # so the test above can fail: two moves of 2 lose more than one of 2
    ratio = Fraction(1, 2)
    apart = [pair_of(2, ratio)] * 2
    assert delta_of(apart, Fraction(1)) > delta_of([pair_of(2, ratio)], Fraction(1))


def joint(rows: int = 1) -> JointTotals:
    totals = tuple(
        Total(operand=Column(name), low=0, high=100, step=1.0, rows=rows) for name in "ab"
    )
    return JointTotals(totals=totals, bound=100 * rows)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("order", [4.0, 23.53, 188.3])
def test_they_take_less_of_a_moment_than_pure_dp(epsilon: float, order: float) -> None:
    noise = GeometricNoise(scale=100 / epsilon, sensitivity=100)
    before = NoisyMeasure(measure=joint(), mechanism=noise, spread=1)
    now = NoisyMeasure(measure=joint(), mechanism=noise, spread=1, as_one=True)
    assert isinstance(before.one, PureDP)
    assert isinstance(now.one, Geometric | Laplace)
    meter = MomentMeter(order=order, limit=Fraction(1))
    taken = meter.cost_of_one(now.one)
    pure = meter.cost_of_one(before.one)
    assert taken is not None
    assert pure is not None
    assert taken < pure


def test_only_totals_with_a_joint_bound_are_charged_so() -> None:
    noise = GeometricNoise(scale=100.0, sensitivity=100)
    with pytest.raises(InvalidParameter, match="as_one"):
        NoisyMeasure(measure=RowCount(rows=100), mechanism=noise, spread=1, as_one=True)
    wide = DiscreteGaussian(sigma=100.0, sensitivity=100, coordinates=2)
    with pytest.raises(InvalidParameter, match="as_one"):
        NoisyMeasure(measure=joint(), mechanism=wide, spread=1, as_one=True)
    with pytest.raises(InvalidParameter, match="as_one"):
        NoisyMeasure(measure=joint(), mechanism=noise, spread=1, as_one=1)  # type: ignore[arg-type]


def test_the_price_in_epsilon_stays_within_what_was_asked() -> None:
    asked = query(aggregate("mean"))
    for epsilon in (0.001, 0.03, 0.7, 1.0, 3.0, 40.0):
        made = offer(asked, epsilon=epsilon)
        assert made.epsilon is not None
        assert made.epsilon <= Fraction(epsilon)
        assert made.epsilon >= Fraction(epsilon) * Fraction(998, 1000)
        before = offer(asked, epsilon=epsilon, edition=THIRD)
        (now,), (then,) = made.draws, before.draws
        assert isinstance(now, NoisyMeasure)
        assert isinstance(then, NoisyMeasure)
        assert now.as_one
        assert not then.as_one
        assert isinstance(then.one, PureDP)
