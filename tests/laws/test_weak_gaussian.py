"""A Gaussian too weak to smooth a lattice: what it hides must not be lost with what it cannot."""

from __future__ import annotations

import pytest

from quaestor import Gaussian, PureDP, compose


@pytest.mark.parametrize("count", [40, 1000, 20_000])
@pytest.mark.parametrize("sigma", [30.0, 1e3, 1e5, 1e8])
def test_one_more_weak_gaussian_never_costs_less(count: int, sigma: float) -> None:
    alone = compose(PureDP(epsilon=0.1) * count)
    together = compose(PureDP(epsilon=0.1) * count, Gaussian(sigma=sigma))
    for delta in (0.3, 1e-3, 1e-6, 1e-12):
        at = alone.epsilon(delta=delta)
        assert together.delta_bounds(epsilon=at).upper >= alone.delta_bounds(epsilon=at).lower
