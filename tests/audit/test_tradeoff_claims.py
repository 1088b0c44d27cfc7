"""Claims that are trade-off curves: their straight pieces are points that must all be true."""

from __future__ import annotations

import math

import numpy as np
import pytest

from quaestor import GaussianDP, InvalidParameter, mechanisms
from quaestor.audit import audit_sequentially, claim_of_tradeoff


def test_the_pieces_of_a_curve_are_its_points() -> None:
    corners = [(0.0, 0.9), (0.1, 0.5), (0.5, 0.1), (0.9, 0.0)]
    (flat, steep) = claim_of_tradeoff(corners).points
    assert flat == pytest.approx((0.0, 0.4))
    assert steep == pytest.approx((math.log(4), 0.1))


def test_a_curve_claims_the_same_for_both_orders() -> None:
    steep_only = claim_of_tradeoff([(0.0, 0.8), (0.1, 0.0)])
    turned = claim_of_tradeoff([(0.0, 0.1), (0.8, 0.0)])
    np.testing.assert_allclose(steep_only.points, turned.points)
    assert steep_only.points[0] == pytest.approx((math.log(8), 0.2))


def test_corners_above_the_hull_claim_nothing() -> None:
    plain = claim_of_tradeoff([(0.25, 0.25)])
    assert claim_of_tradeoff([(0.25, 0.25), (0.2, 0.9), (0.25, 0.8)]).points == plain.points
    with pytest.raises(InvalidParameter, match="forbids"):
        claim_of_tradeoff([(0.0, 0.0)])
    with pytest.raises(InvalidParameter):
        claim_of_tradeoff([(0.0, 1.5)])


def test_a_curve_is_refuted_and_a_true_one_is_not() -> None:
    noise = mechanisms.Gaussian(sigma=1.0)
    corners = [(0.05, 0.9), (0.2, 0.75), (0.45, 0.45), (0.75, 0.2), (0.9, 0.05)]
    false = audit_sequentially(
        noise, neighbours=(0.0, 1.0), claim=claim_of_tradeoff(corners), runs=20_000
    )
    assert false.violated  # the curve of sigma = 1 passes through (0.31, 0.31)
    true = audit_sequentially(
        noise,
        neighbours=(0.0, 1.0),
        claim=GaussianDP(mu=1.001),
        runs=3000,
        confidence=1 - 1e-6,
    )
    assert not true.violated
