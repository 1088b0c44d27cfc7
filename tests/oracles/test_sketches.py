"""The oracles of sketches agree with other ways to the same numbers."""

from __future__ import annotations

import pytest
from mpmath import mp, mpf

from tests.oracles import sketches
from tests.oracles.losses import gaussian_delta

DIGITS = mpf(10) ** -12


def test_integrals_of_graph_densities_are_incomplete_gamma_functions() -> None:
    rows, b, epsilon = 96, mpf(2) / 40, mpf(1)
    half = mpf(rows) / 2
    for wider in (True, False):
        found = sketches.graph_delta(rows=rows, excess=2 / 40, at=1, wider=wider)
        place = (half * mp.log(1 + b) + (epsilon if wider else -epsilon)) / b
        ends = [(place, mp.inf), (place * (1 + b), mp.inf)]
        if not wider:
            ends = [(0, place * (1 + b)), (0, place)]
        near, far = (mp.gammainc(half, low, high, regularized=True) for low, high in ends)
        truth = near - mp.exp(epsilon) * far
        assert abs(found - truth) <= DIGITS * truth


@pytest.mark.parametrize(("rows", "weight", "at"), [(20, 8, 1), (9, 3, 2)])
def test_a_matrix_sketch_is_gaussian_noise_of_a_random_size(
    rows: int, weight: int, at: int
) -> None:
    """The square of mu is chi-square over the square of the weight, and the size is told."""

    def share(t: mpf) -> mpf:
        density = (
            (mpf(rows) / 2 - 1) * mp.log(t)
            - t / 2
            - mpf(rows) / 2 * mp.log(2)
            - mp.loggamma(mpf(rows) / 2)
        )
        return mp.exp(density) * gaussian_delta(mu=mp.sqrt(t) / weight, at=at)

    truth = mp.quad(share, [mpf(10) ** -9, 0.5, 2, 5, 10, 20, 40, 80, 160, 400])
    found = sketches.matrix_delta(rows=rows, weight=weight, at=at)
    assert abs(found - truth) <= mpf(10) ** -8 * truth
