"""Numbers from outside for the adaptive composition of bounded-range releases."""

from __future__ import annotations

import pytest
from mpmath import mpf  # type: ignore[import-untyped, unused-ignore]

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.ranges import AdaptiveRange
from tests.oracles import adaptive_range as oracle

TWO_RELEASES = [(0.0, "0.30336549648318225910"), (0.5, "0.15245190679866558650")]
"""Two releases of range 1, optimised over all t with 50 digits, truncated."""


@pytest.mark.parametrize(("at", "delta"), TWO_RELEASES)
def test_two_releases(at: float, delta: str) -> None:
    bounds = AdaptiveRange([(1.0, 2)]).delta_bounds(epsilon=at)
    assert mpf(delta) in bounds
    assert bounds.relative_width <= 1e-5


@pytest.mark.parametrize(("at", "delta"), TWO_RELEASES)
def test_the_oracle_finds_the_same(at: float, delta: str) -> None:
    truth = oracle.adaptive_delta(ranges=(mpf(1), mpf(1)), at=mpf(at))
    assert abs(truth - mpf(delta)) < mpf(10) ** -15


def test_one_release() -> None:
    bounds = AdaptiveRange([(1.0, 1)]).delta_bounds(epsilon=0.0)
    assert bounds.lower <= mpf("0.24491866240370913")
    assert mpf("0.24491866240370912") <= bounds.upper
    assert bounds.relative_width <= 1e-15


@pytest.mark.parametrize(
    ("range_", "count", "same_strategy", "lower", "upper"),
    [
        (0.1, 10, 0.628637, 0.634152, 0.634205),
        (0.1, 100, 2.246026, 2.250636, 2.251502),
        (1.0, 20, 12.021459, 12.082743, 12.082992),
        (1.0, 50, 21.774426, 21.861299, 21.863075),
    ],
)
def test_brackets_of_another_method_overlap(
    range_: float, count: int, same_strategy: float, lower: float, upper: float
) -> None:
    """Epsilon at a delta of 1e-6, to six decimals.

    The bracket comes from a lattice without symmetry, maximised within every pair of cells; the
    other number is the exact optimum (Dong, Durfee, Rogers, Theorem 2) of analysts who do not
    adapt.
    """
    bounds = AdaptiveRange([(range_, count)]).epsilon_bounds(delta=1e-6)
    assert bounds.overlaps(Bounds(lower=lower - 1e-6, upper=upper + 1e-6))
    assert same_strategy - 1e-6 < bounds.lower


@pytest.mark.parametrize(
    ("range_", "count", "at", "delta"),
    [(1.0, 4, 1.0, "0.14525376743492268009"), (0.5, 10, 2.0, "0.00388457285356193642")],
)
def test_adapting_never_helps_the_curator(range_: float, count: int, at: float, delta: str) -> None:
    """The optimum of analysts who do not adapt (Theorem 2), with 20 digits, is exceeded."""
    assert mpf(delta) <= AdaptiveRange([(range_, count)]).delta_bounds(epsilon=at).upper
