"""Optimal selection of groups: its probabilities, its privacy, and its draws."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import pytest
from mpmath import exp, floor, log, mp, mpf

import quaestor as q
from quaestor.accounting.numerics.balls import working_precision
from quaestor.errors import InvalidParameter
from quaestor.mechanisms import OptimalSelection, PartitionSelection

mp.dps = 60
CASES = [
    (0.01, 1e-6),
    (0.1, 1e-3),
    (0.1, 1e-8),
    (1.0, 1e-6),
    (1.0, 0.2),
    (3.0, 1e-12),
    (40.0, 0.25),
]


def inside(value: mpf, selection: OptimalSelection, count: int) -> bool:
    """Whether the ball of a probability has a value of 60 digits in it, and is narrow."""
    with working_precision(160):
        ball = selection.chance(count)
        middle, radius = ball.mid().str(50, radius=False), float(ball.rad())
    return abs(mpf(middle) - value) <= radius + mpf(10) ** -45 and radius < 1e-30


def recursion(epsilon: float, delta: float, most: int) -> list[mpf]:
    """The probabilities by their definition, one after another."""
    grows, d, found = exp(mpf(epsilon)), mpf(delta), [mpf(0)]
    for _ in range(most):
        last = found[-1]
        found.append(min(grows * last + d, 1 - (1 - last - d) / grows, mpf(1)))
    return found


def closed_form(epsilon: float, delta: float, count: int) -> mpf:
    """Desfontaines, Voss, Gipson, Mandayam 2022, Theorem 1, as it is printed."""
    e, d = mpf(epsilon), mpf(delta)
    first = 1 + floor(log((exp(e) + 2 * d - 1) / ((exp(e) + 1) * d)) / e)
    if count <= first:
        return (exp(count * e) - 1) / (exp(e) - 1) * d
    before = (exp(first * e) - 1) / (exp(e) - 1) * d
    later = count - first
    risen = (1 - exp(-later * e)) * (1 + d / (exp(e) - 1)) + exp(-later * e) * before
    return min(risen, mpf(1))


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_probabilities_are_those_of_the_recursion_and_of_the_paper(
    epsilon: float, delta: float
) -> None:
    selection = OptimalSelection(epsilon=epsilon, delta=delta)
    most = selection.certain + 3
    chances = recursion(epsilon, delta, most)
    rng = random.Random(7)
    near = {0, 1, 2, selection.turn - 1, selection.turn, selection.turn + 1, most - 4, most - 3}
    for count in sorted(near | set(rng.sample(range(most), min(most, 40)))):
        assert inside(chances[count], selection, count)
        assert abs(chances[count] - closed_form(epsilon, delta, count)) < mpf(10) ** -40
    assert chances[selection.certain] == 1 > chances[selection.certain - 1]
    assert chances[selection.likely] >= 0.5 > chances[selection.likely - 1]


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_neighbouring_counts_are_within_what_is_stated_and_use_it_up(
    epsilon: float, delta: float
) -> None:
    selection = OptimalSelection(epsilon=epsilon, delta=delta)
    grows = exp(mpf(epsilon))
    slack = grows * mpf(10) ** -45
    with working_precision(250):
        found = [
            mpf(selection.chance(n).mid().str(60, radius=False))
            for n in range(selection.certain + 2)
        ]
    for fewer, more in pairwise(found):
        gaps = [more - grows * fewer, fewer - grows * more]
        gaps += [(1 - fewer) - grows * (1 - more), (1 - more) - grows * (1 - fewer)]
        assert max(gaps) <= mpf(delta) + slack
        if more < 1:  # no selection shows it more often
            assert abs(max(gaps) - mpf(delta)) < slack


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0])
def test_groups_are_shown_more_often_than_by_a_threshold(epsilon: float) -> None:
    for delta in (1e-4, 1e-8):
        best = OptimalSelection(epsilon=epsilon, delta=delta)
        threshold = PartitionSelection.with_delta(scale=1 / epsilon, delta=delta)
        ratio = exp(-mpf(epsilon))
        for people in range(1, 3 * threshold.threshold, max(1, threshold.threshold // 20)):
            missing = threshold.threshold - people
            reached = (
                ratio**missing / (1 + ratio)
                if missing > 0
                else 1 - ratio ** (1 - missing) / (1 + ratio)
            )
            assert float(best.chance(people)) >= float(reached) * (1 - 1e-12)
        assert best.likely <= threshold.threshold


def test_what_is_open_is_between_two_numbers_of_people() -> None:
    for epsilon, delta in CASES:
        selection = OptimalSelection(epsilon=epsilon, delta=delta)
        ends = selection.interval(confidence=0.9)
        chances = recursion(epsilon, delta, selection.certain)
        at_most, at_least = int(ends.lower), int(ends.upper)
        assert chances[at_most] < 0.1 <= chances[at_most + 1] or at_most == 0
        assert chances[at_least] >= 0.9 > chances[at_least - 1]


def test_what_it_costs_is_one_release_a_group() -> None:
    loss = OptimalSelection(epsilon=0.5, delta=1e-6, contributions=4).loss
    assert loss == q.ApproxDP(epsilon=0.5, delta=1e-6) * 4


def test_groups_are_shown_as_often_as_they_should_be() -> None:
    # four standard errors: a false alarm in 16,000 runs for each of them
    times = 4000
    selection = OptimalSelection(epsilon=0.7, delta=0.02)
    for people in (1, 2, 3, 5, 8):
        chance = float(selection.chance(people))
        shown = len(selection.release(dict.fromkeys(range(times), people)))
        assert abs(shown - times * chance) <= 4 * math.sqrt(times * chance * (1 - chance)) + 1
    assert len(selection.release(dict.fromkeys(range(times), selection.certain))) == times


def test_groups_come_in_the_order_of_their_names() -> None:
    selection = OptimalSelection(epsilon=1.0, delta=1e-6)
    assert selection.release({"b": 900, "a": 500, "c": 2**61}) == ["a", "b", "c"]
    assert selection.release({}) == []


@pytest.mark.parametrize("wrong", [{"a": 0}, {"a": -1}, {"a": 1.5}, {"a": "x"}, [1], {"a": 2**62}])
def test_counts_that_are_none_are_refused_without_a_word_of_them(wrong: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        OptimalSelection(epsilon=1.0, delta=1e-6).release(wrong)  # type: ignore[arg-type]
    assert "1.5" not in str(caught.value)


def test_the_turn_is_where_the_second_bound_becomes_the_smaller_one() -> None:
    for epsilon, delta in CASES:
        turn = OptimalSelection(epsilon=epsilon, delta=delta).turn
        limit = (1 - mpf(delta)) / (1 + exp(mpf(epsilon)))
        chances = recursion(epsilon, delta, turn)
        assert chances[turn] >= limit
        assert turn == 1 or chances[turn - 1] < limit
        assert Fraction(turn) > 0
