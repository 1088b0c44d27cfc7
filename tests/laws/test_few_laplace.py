"""Few Laplace releases, and releases of few values beside them: in closed form, against integrals.

The oracle conditions on one release after another: delta of the others, at epsilon less its loss,
is integrated over the loss with many digits, piece by piece between the kinks.
"""

from __future__ import annotations

import math
import random
from functools import lru_cache
from itertools import pairwise

import pytest
from mpmath import exp, expm1, log, mp, mpf, quad

from quaestor import (
    Bounds,
    Geometric,
    Laplace,
    ProbabilityVectors,
    PureDP,
    RandomizedResponse,
    Release,
    Staircase,
    compose,
)
from quaestor.accounting.loss.engine import loss_profile
from quaestor.accounting.loss.engine.laplace_sums import LaplaceSum


@lru_cache(maxsize=4096)
def oracle(shifts: tuple[float, ...], epsilon: mpf) -> mpf:
    """Delta of Laplace releases with these shifts, by its definition."""
    first, rest = mpf(shifts[0]), shifts[1:]
    if not rest:
        inside = max(min(epsilon, first), -first)
        return max(-expm1(min(epsilon, inside)), -expm1((inside - first) / 2) * (epsilon < first))
    total = (oracle(rest, epsilon - first) + exp(-first) * oracle(rest, epsilon + first)) / 2
    kinks = {mpf(0)}
    for shift in rest:
        kinks = {kink + side * mpf(shift) for kink in kinks for side in (-1, 1)}
    inside = (min(max(epsilon - kink, -first), first) for kink in kinks)
    for low, high in pairwise(sorted({-first, first, *inside})):
        total += quad(
            lambda loss: exp((loss - first) / 2) / 4 * oracle(rest, epsilon - loss), [low, high]
        )
    return total


def noise(shifts: tuple[float, ...]) -> list[Release]:
    return [Laplace(scale=1.0, sensitivity=shift) for shift in shifts]


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0, 1.7, 1.999, 2 - 1e-9])
def test_two_alike_contain_the_integral(epsilon: float) -> None:
    bounds = compose(Laplace(scale=1.0) * 2).delta_bounds(epsilon=epsilon)
    assert oracle((1.0, 1.0), mpf(epsilon)) in bounds
    assert bounds.relative_width <= 1e-14 / (2 - epsilon)


def test_the_golden_number_of_two_is_inside() -> None:
    assert mpf("0.24183667535920822049") in compose(Laplace(scale=1.0) * 2).delta_bounds(epsilon=1)


@pytest.mark.parametrize("seed", range(12))
def test_different_ones_contain_the_integral(seed: int) -> None:
    rng = random.Random(f"few laplace {seed}")
    shifts = tuple(math.exp(rng.uniform(-4.0, 2.0)) for _ in range(2 + (seed == 0)))
    mp.dps = 20
    epsilon = rng.uniform(0.0, 1.05) * sum(shifts)
    bounds = compose(*noise(shifts)).delta_bounds(epsilon=epsilon)
    true = oracle(shifts, mpf(epsilon))
    assert bounds.lower <= true * (1 + mpf(10) ** -15)
    assert true * (1 - mpf(10) ** -15) <= bounds.upper
    assert bounds.width <= 1e-13


VALUES: list[tuple[Release, list[tuple[float, mpf]]]] = [
    (PureDP(epsilon=0.5), [(0.5, 1 / (1 + exp(mpf(-0.5)))), (-0.5, 1 / (1 + exp(mpf(0.5))))]),
    (
        Geometric(scale=4.0),
        [(0.25, 1 / (1 + exp(mpf(-0.25)))), (-0.25, 1 / (1 + exp(mpf(0.25))))],
    ),
    (
        RandomizedResponse(epsilon=1.0, categories=3),
        [
            (1.0, exp(mpf(1)) / (exp(mpf(1)) + 2)),
            (0.0, 1 / (exp(mpf(1)) + 2)),
            (-1.0, 1 / (exp(mpf(1)) + 2)),
        ],
    ),
]


@pytest.mark.parametrize(("release", "values"), VALUES, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.75, 1.2])
def test_releases_of_few_values_beside_them_are_summed_over(
    release: Release, values: list[tuple[float, mpf]], epsilon: float
) -> None:
    bounds = compose(Laplace(scale=1.0, sensitivity=0.7), release).delta_bounds(epsilon=epsilon)
    true = sum(mass * oracle((0.7,), mpf(epsilon) - mpf(loss)) for loss, mass in values)
    assert true in bounds
    assert bounds.width <= 1e-14


@pytest.mark.parametrize("seed", range(30))
def test_lines_through_the_same_losses_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(f"laplace by lines {seed}")
    releases = [
        Laplace(scale=math.exp(rng.uniform(-1.0, 3.0))) * rng.choice([1, 2, 3, 8, 20])
        for _ in range(rng.choice([1, 1, 2]))
    ]
    more: list[Release] = [PureDP(epsilon=0.2) * 3, Staircase(epsilon=0.4), Geometric(scale=3.0)]
    releases += rng.sample(more, rng.choice([0, 0, 1, 2]))
    delta = 10 ** rng.uniform(-8.0, -2.0)
    closed = compose(*releases).epsilon_bounds(delta=delta)
    monkeypatch.setattr(loss_profile, "few_laplace", lambda _: None)
    lines = compose(*releases).epsilon_bounds(delta=delta)
    assert lines.overlaps(closed)
    assert closed.upper <= lines.upper * (1 + 1e-14)
    assert closed.lower >= lines.lower * (1 - 1e-14)


@pytest.mark.parametrize("count", [2, 5, 20, 40])
@pytest.mark.parametrize("delta", [1e-6, 1e-12, 1e-40, 1e-200])
def test_epsilon_is_narrow_down_to_the_largest_loss(count: int, delta: float) -> None:
    bounds = compose(Laplace(scale=2.0) * count).epsilon_bounds(delta=delta)
    # a shift is known within 1e-15 of itself: smaller deltas are nearer to the end than that
    assert bounds.relative_width <= (1e-13 if delta >= 1e-12 else 1e-11)
    assert bounds.upper <= count / 2


@pytest.mark.parametrize("shift", [1e-280, 1e-100, 1e-8, 50.0, 700.0, 1e6])
def test_the_ends_of_floats_are_answered(shift: float) -> None:
    exact = LaplaceSum(((shift, 2),))
    for share in (-1.5, -1.0, -0.3, 0.0, 0.5, 1.0, 1.5):
        epsilon = 2 * shift * share
        bounds = exact.delta(epsilon)
        mp.dps = 700
        true = max(-expm1(mpf(epsilon)), mpf(0)) if abs(share) >= 1 else two(shift, epsilon)
        assert true in bounds
        assert bounds.relative_width <= 4e-16 or bounds.upper <= 1e-300
        mp.dps = 60


def two(shift: float, epsilon: float) -> mpf:
    r"""Two equal ones by hand, with u up to the largest loss and v up to 0.

    :math:`1 - e^{-u/2} (4 + u - 2\,[v > 0]\,v) / 4`.
    """
    u, v = 2 * mpf(shift) - mpf(epsilon), -mpf(epsilon)
    return 1 - exp(-u / 2) * (4 + u - 2 * max(v, mpf(0))) / 4


def test_two_by_hand_are_the_integral() -> None:
    for epsilon in (-0.7, 0.2, 1.5):
        assert abs(two(1.0, epsilon) - oracle((1.0, 1.0), mpf(epsilon))) < mpf(10) ** -40


def test_a_third_of_a_shift_is_enclosed_where_floats_round_it() -> None:
    third = compose(Laplace(scale=3.0) * 2).delta_bounds(epsilon=0.5)
    u = mpf(2) / 3 - mpf("0.5")
    assert 1 - exp(-u / 2) * (4 + u) / 4 in third


def test_no_delta_is_left_at_the_largest_loss() -> None:
    assert compose(Laplace(scale=2.0) * 4).delta_bounds(epsilon=2.0) == Bounds.exactly(0.0)


RARE = (3.363498326936413e-160, 4.6463560652300613e-156, 5.864262864346981e-162)
LOG_ODDS = (2.66, 1.13, 2.67)


@pytest.mark.parametrize("epsilon", [2.5, 4.9, 5.365640201898107, 6.0])
def test_masses_of_which_floats_have_few_digits_are_enclosed(epsilon: float) -> None:
    others = tuple(mass / math.exp(odds) for mass, odds in zip(RARE, LOG_ODDS, strict=True))
    release = ProbabilityVectors(p=(*RARE, 1.0), q=(*others, 1.0))
    bounds = compose(Laplace(scale=1.0), release * 2).delta_bounds(epsilon=epsilon)
    listed = [(log(mpf(p) / mpf(q)), mpf(p)) for p, q in zip(RARE, others, strict=True)]
    listed.append((mpf(0), mpf(1)))
    true = sum(
        p * q * oracle((1.0,), mpf(epsilon) - first - second)
        for first, p in listed
        for second, q in listed
    )
    assert true in bounds
    assert bounds.width <= 1e-9 * bounds.upper + 1e-319
