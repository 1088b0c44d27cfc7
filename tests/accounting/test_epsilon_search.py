"""The search for the least epsilon, held against halving a curve's own upper and lower ends."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

from quaestor.accounting.curves.epsilon_search import least_epsilon, step_out
from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable


class Curve:
    """A decreasing curve that is known to a relative width only; counts what it is asked."""

    def __init__(self, *, height: float, order: float, bend: float, width: float) -> None:
        self.height, self.order, self.bend, self.width = height, order, bend, width
        self.asked = 0

    def __call__(self, epsilon: float) -> Bounds:
        """What is known of it at ``epsilon``."""
        self.asked += 1
        nats = -self.order * epsilon * (1 + self.bend * epsilon * self.order)
        value = self.height * math.exp(max(nats, -745.0))
        return Bounds(lower=value * (1 - self.width), upper=min(value * (1 + self.width), 1.0))


def random_curve(draws: random.Random) -> Curve:
    return Curve(
        height=draws.choice([1.0, draws.uniform(0.01, 1.0)]),
        order=10 ** draws.uniform(-8, 8),
        bend=draws.choice([0.0, 10 ** draws.uniform(-3, 0)]),
        width=draws.choice([0.0, 10 ** draws.uniform(-15, -0.5)]),
    )


def halved(curve: Callable[[float], Bounds], target: Bounds, largest: float) -> tuple[float, float]:
    """The slow way: the largest float that surely fails, the least that surely fits, about."""
    ends = []
    for fits in (
        lambda said: not said.lower > target.upper,
        lambda said: said.upper <= target.lower,
    ):
        low, high = 0.0, largest
        for _ in range(3000):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            low, high = (low, middle) if fits(curve(middle)) else (middle, high)
        ends.append((low, high))
    return ends[0][0], ends[1][1]


@pytest.mark.parametrize("seed", range(100))
def test_the_ends_are_certified_and_as_close_as_halving_comes(seed: int) -> None:
    draws = random.Random(seed)
    curve = random_curve(draws)
    delta = curve.height * 10 ** draws.uniform(-12, -0.5)
    target = Bounds(lower=delta, upper=delta * (1 + draws.choice([0.0, 1e-12])))
    largest = draws.choice([math.inf, 1000.0 / curve.order])
    truth = halved(curve, target, 1000.0 / curve.order)
    curve.asked = 0
    found = least_epsilon(
        curve,
        target=target,
        guess=truth[1] * 10 ** draws.uniform(-0.5, 0.5),
        largest=largest,
        stride=draws.choice([0.01, 0.25]),
        order=draws.choice([0.0, curve.order, 10 * curve.order]),
    )
    assert curve.asked <= 40
    assert curve(found.upper).upper <= target.lower
    assert found.lower == 0.0 or curve(found.lower).lower > target.upper
    assert found.lower <= truth[1]
    assert truth[0] <= found.upper
    slack = 0.1 * (truth[1] - truth[0]) + 64 * math.ulp(truth[1])
    assert found.upper <= truth[1] + slack
    assert found.lower >= truth[0] - slack


@pytest.mark.parametrize("guess", [1e-300, 1e-6, 1.0, 1e6, math.inf])
def test_a_bad_guess_is_survived(guess: float) -> None:
    curve = Curve(height=1.0, order=3.0, bend=0.1, width=1e-9)
    found = least_epsilon(curve, target=Bounds.exactly(1e-6), guess=guess, largest=math.inf)
    assert found.upper == math.inf or curve(found.upper).upper <= 1e-6
    assert found.lower == 0.0 or curve(found.lower).lower > 1e-6


def test_a_curve_that_starts_below_the_target_needs_nothing() -> None:
    curve = Curve(height=1e-7, order=3.0, bend=0.0, width=1e-9)
    for guess in (1e-9, 1.0, 1e3):
        found = least_epsilon(curve, target=Bounds.exactly(1e-6), guess=guess, largest=math.inf)
        assert found == Bounds.exactly(0.0)


def test_a_curve_that_knows_nothing_leaves_all_open() -> None:
    found = least_epsilon(
        lambda _: Bounds(lower=0.0, upper=1.0),
        target=Bounds.exactly(1e-6),
        guess=1.0,
        largest=7.0,
    )
    assert found == Bounds(lower=0.0, upper=7.0)


def test_a_jump_is_enclosed() -> None:
    """Delta falls at one place from far above the target to nothing."""
    found = least_epsilon(
        lambda epsilon: Bounds.exactly(0.25 if epsilon < 2.5 else 0.0),
        target=Bounds.exactly(1e-6),
        guess=1.0,
        largest=100.0,
    )
    assert 2.5 in found
    assert found.relative_width <= 1e-12


@pytest.mark.parametrize(("before", "after"), [(1e3, 1.0), (1.0, 1e3), (50.0, 0.1), (3.0, 3.0)])
@pytest.mark.parametrize("ways", [0.0, 1e-13, -1e-13])
def test_a_bend_at_the_target_leaves_no_more_open_than_halving(
    before: float, after: float, ways: float
) -> None:
    """Losses that are few: the curve bends at each, and there it is known less well."""

    def curve(epsilon: float) -> Bounds:
        beyond = epsilon - 0.5
        nats = -(after if beyond > 0.0 else before) * beyond
        value = 1e-6 * math.exp(max(min(nats, 13.0), -700.0))
        doubt = 3e-11 if abs(beyond) < 1e-14 else 1e-12
        return Bounds(lower=value * (1 - doubt), upper=value * (1 + doubt))

    target = Bounds.exactly(1e-6 * (1 + ways))
    low, high = halved(curve, target, 3.0)
    found = least_epsilon(curve, target=target, guess=0.7, largest=math.inf)
    slack = 0.1 * (high - low) + 1e-14
    assert low - slack <= found.lower <= found.upper <= high + slack


@pytest.mark.parametrize("target", [1e-20, 1e-300, 5e-324])
def test_the_largest_loss_is_enclosed_narrowly(target: float) -> None:
    """Next to it delta is known to be more than nothing, until rounding hides that."""

    def curve(epsilon: float) -> Bounds:
        value = max(-math.expm1(epsilon - 2.0), 0.0)
        return Bounds(lower=max(value - 1e-16, 0.0), upper=value + 1e-16 if value else 0.0)

    found = least_epsilon(curve, target=Bounds.exactly(target), guess=1.0, largest=2.0)
    assert 2.0 in found
    assert found.relative_width <= 1e-9


@pytest.mark.parametrize("target", [5e-324, 1e-310, 1e-300])
def test_targets_at_the_end_of_floats(target: float) -> None:
    curve = Curve(height=1.0, order=1.0, bend=0.0, width=1e-12)
    found = least_epsilon(curve, target=Bounds.exactly(target), guess=500.0, largest=math.inf)
    assert found.upper == math.inf or curve(found.upper).upper <= target
    assert found.lower == 0.0 or curve(found.lower).lower > target
    assert found.lower > 600.0


def test_stepping_out_encloses_the_root() -> None:
    curve = Curve(height=1.0, order=2.0, bend=0.05, width=1e-10)
    low, high = step_out(curve, Bounds.exactly(1e-6), 4.2, math.inf)
    assert curve(low).lower > 1e-6 >= curve(high).upper
