"""Different black boxes: every exact way agrees with enumeration, and brackets contain it."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

from quaestor import ApproxDP, PureDP, compose
from quaestor.accounting.theorems import (
    THEOREMS,
    heterogeneous,
    optimal_heterogeneous,
    privacy_loss,
)
from quaestor.accounting.theorems.black_boxes import BlackBoxes
from quaestor.errors import TheoremDoesNotApply
from tests.oracles.composition import brute_force_delta, grouped_delta, subset_delta

if TYPE_CHECKING:
    from quaestor.accounting.theorems.black_box_profile import BlackBoxProfile

Step = tuple[float, float]


def random_steps(rng: random.Random, count: int) -> list[Step]:
    """Different epsilons over four orders of magnitude, some of them twice."""
    epsilons = [math.exp(rng.uniform(math.log(1e-3), math.log(4))) for _ in range(count)]
    epsilons[-1] = rng.choice(epsilons)
    return [(e, rng.choice([0.0, 10 ** rng.uniform(-9, -2)])) for e in epsilons]


def boxes_of(steps: list[Step]) -> BlackBoxes:
    """The steps as a history."""
    return BlackBoxes.of([ApproxDP(epsilon=e, delta=d) for e, d in steps])


def every_exact_way(boxes: BlackBoxes) -> list[BlackBoxProfile]:
    """All algorithms that can treat these boxes exactly."""
    largest = max(boxes.responses, key=lambda group: group[1])
    others = [group for group in boxes.responses if group != largest]
    halves = heterogeneous._split(boxes.responses)
    assert halves is not None
    ways: list[BlackBoxProfile] = [
        heterogeneous._OneLargeGroup(boxes, largest, others),
        heterogeneous._MeetInTheMiddle(boxes, *halves),
    ]
    lattice = heterogeneous._common_lattice(boxes.responses)
    if lattice is not None:
        ways.append(heterogeneous._Lattice(boxes, lattice))
    return ways


@pytest.mark.parametrize("seed", range(60))
def test_every_exact_way_contains_the_enumeration(seed: int) -> None:
    rng = random.Random(seed)
    steps = random_steps(rng, rng.randint(2, 9))
    total = sum(epsilon for epsilon, _ in steps)
    for _ in range(4):
        at = rng.choice([0.0, rng.uniform(0, total), total * rng.uniform(0.9, 1.0)])
        truth = subset_delta(steps=steps, at=at)
        for way in every_exact_way(boxes_of(steps)):
            bounds = way.delta_bounds(epsilon=at)
            assert truth in bounds
            assert bounds.relative_width <= 1e-9 or bounds.upper < 1e-280


@pytest.mark.parametrize("seed", range(10))
def test_the_answer_is_that_of_the_four_outcome_mechanisms_themselves(seed: int) -> None:
    rng = random.Random(seed)
    steps = random_steps(rng, rng.randint(2, 5))
    at = rng.uniform(0, sum(epsilon for epsilon, _ in steps))
    releases = [ApproxDP(epsilon=e, delta=d) for e, d in steps]
    assert brute_force_delta(steps=steps, at=at) in compose(*releases).delta_bounds(
        epsilon=at
    ).widened(ulps=1)


@pytest.mark.parametrize("seed", range(12))
def test_decimals_on_a_lattice_contain_the_enumeration(seed: int) -> None:
    rng = random.Random(seed)
    groups = [(rng.randint(1, 60) / 100, 0.0, rng.randint(1, 3)) for _ in range(5)]
    steps = [(e, d) for e, d, count in groups for _ in range(count)]
    at = rng.uniform(0, sum(e for e, _ in steps))
    lattice = heterogeneous._common_lattice(boxes_of(steps).responses)
    assert lattice is not None
    bounds = heterogeneous._Lattice(boxes_of(steps), lattice).delta_bounds(epsilon=at)
    assert grouped_delta(groups=groups, at=at) in bounds
    assert bounds.relative_width <= 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_the_privacy_loss_engine_contains_the_enumeration(seed: int) -> None:
    rng = random.Random(seed)
    steps = random_steps(rng, rng.randint(2, 9))
    at = rng.uniform(0, sum(epsilon for epsilon, _ in steps))
    bounds = privacy_loss([ApproxDP(epsilon=e, delta=d) for e, d in steps]).delta_bounds(epsilon=at)
    assert subset_delta(steps=steps, at=at) in bounds


def test_the_engine_overlaps_the_exact_answer_for_forty_releases() -> None:
    rng = random.Random(7)
    releases = [PureDP(epsilon=rng.uniform(0.01, 0.5)) for _ in range(40)]
    exact, engine = optimal_heterogeneous(releases), privacy_loss(releases)
    for at in (0.5, 3.0, 6.0):
        assert exact.delta_bounds(epsilon=at).relative_width <= 1e-9
        assert exact.delta_bounds(epsilon=at).overlaps(engine.delta_bounds(epsilon=at))
        assert engine.delta_bounds(epsilon=at).relative_width <= 1e-3
    narrow = exact.epsilon_bounds(delta=1e-6)
    assert narrow.relative_width <= 1e-9
    assert narrow.overlaps(engine.epsilon_bounds(delta=1e-6))


def test_beyond_enumeration_the_engine_answers() -> None:
    releases = [PureDP(epsilon=0.01 + 0.19 * math.sqrt(i) / 32) for i in range(1, 1001)]
    spent = compose(*releases)
    bounds = spent.epsilon_bounds(delta=1e-6)
    assert bounds.relative_width < 1e-5
    assert spent.explain(delta=1e-6).best.bounds == bounds


def test_equal_releases_cost_the_same_written_apart_or_together() -> None:
    together = compose(PureDP(epsilon=0.3) * 5, ApproxDP(epsilon=0.7, delta=1e-7) * 2)
    apart = compose(
        *[ApproxDP(epsilon=0.7, delta=1e-7)] * 2, *[PureDP(epsilon=0.3)] * 4, PureDP(epsilon=0.3)
    )
    assert together.delta_bounds(epsilon=1.0) == apart.delta_bounds(epsilon=1.0)


@pytest.mark.parametrize("seed", range(40))
def test_no_theorem_promises_less_than_the_optimum(seed: int) -> None:
    rng = random.Random(seed)
    if seed % 2:
        steps = random_steps(rng, rng.randint(2, 7))
    else:
        steps = [(rng.uniform(0.01, 3), rng.choice([0.0, 1e-5]))] * rng.randint(1, 7)
    releases = [ApproxDP(epsilon=e, delta=d) for e, d in steps]
    at = rng.uniform(0, 1.2 * sum(epsilon for epsilon, _ in steps))
    truth = subset_delta(steps=steps, at=at)
    for theorem in THEOREMS:
        try:
            promised = theorem.profile(releases).delta_bounds(epsilon=at)
        except TheoremDoesNotApply:
            continue
        assert promised.upper >= truth, theorem.name


def test_millions_of_different_releases_still_get_a_sound_answer() -> None:
    releases = [PureDP(epsilon=1e-4 * math.sqrt(i)) * 10**6 for i in range(2, 12)]
    spent = compose(*releases)
    bounds = spent.epsilon_bounds(delta=1e-6)
    assert 0 < bounds.lower < bounds.upper < math.inf
    assert spent.delta_bounds(epsilon=bounds.upper).lower <= 1e-6
    assert spent.delta_bounds(epsilon=bounds.lower).upper >= 1e-6
