"""Descriptions of geometric noise on sums: never below the truth, and hardly above it."""

from __future__ import annotations

import pytest
from mpmath import exp, mp, mpf

from quaestor import Geometric, Laplace, compose, mechanisms
from quaestor.mechanisms.kinds.geometric import geometric_loss, laplace_above

mp.dps = 30


def discrete_delta(epsilon: mpf, scale: float, sensitivity: int) -> mpf:
    """The hockey-stick of two shifted copies, summed from the definition."""
    b, reach = mpf(scale), int(sensitivity + 80 * scale)
    norm = (1 - exp(-1 / b)) / (1 + exp(-1 / b))
    total = mpf(0)
    for x in range(-int(80 * scale), reach):
        p, q = exp(-abs(x - sensitivity) / b), exp(-abs(x) / b)
        total += max(p - exp(epsilon) * q, 0)
    return total * norm


@pytest.mark.parametrize(("scale", "sensitivity"), [(0.4, 1), (2.0, 3), (5.0, 17), (30.0, 20)])
def test_laplace_covers_geometric_noise_at_every_epsilon(scale: float, sensitivity: int) -> None:
    above = laplace_above(Geometric(scale=scale, sensitivity=sensitivity))
    assert above.scale == scale
    largest = mpf(above.sensitivity) / mpf(above.scale)
    for tenth in range(12):
        epsilon = largest * tenth / 10
        covered = max(1 - exp((epsilon - largest) / 2), mpf(0))
        assert discrete_delta(epsilon, scale, sensitivity) <= covered + mpf(10) ** -20


def test_the_sensitivity_itself_would_not_cover() -> None:
    # so the quarter of an inverse scale is needed, and the test above can fail
    scale, sensitivity = 2.0, 5
    epsilon = mpf(0)
    assert discrete_delta(epsilon, scale, sensitivity) > 1 - exp(-mpf(sensitivity) / scale / 2)


@pytest.mark.parametrize("sensitivity", [1, 2, 8, 64, 65, 1000, 50_000])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
def test_descriptions_cost_a_thousandth_more_at_most(sensitivity: int, epsilon: float) -> None:
    scale = sensitivity / epsilon
    described = geometric_loss(mechanisms.Geometric(scale=scale, sensitivity=sensitivity))
    assert isinstance(described, Geometric | Laplace)
    cost = described.sensitivity / described.scale
    assert epsilon * (1 - 1e-12) <= cost <= epsilon * 1.001
    if sensitivity > 64:
        assert isinstance(described, Laplace)  # those are priced at once
    if sensitivity == 1:
        assert isinstance(described, Geometric)


def test_both_descriptions_agree_in_composition() -> None:
    exact = Geometric(scale=40.0, sensitivity=20)
    ours = compose(laplace_above(exact) * 5).epsilon_bounds(delta=1e-4)
    truth = compose(exact * 5).epsilon_bounds(delta=1e-4)
    assert truth.lower <= ours.upper <= truth.upper * 1.001
