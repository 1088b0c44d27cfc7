"""Every recorded number lies inside the returned bounds, and the bounds are narrow."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from quaestor import compose
from quaestor.accounting.theorems import (
    advanced,
    closed_form_heterogeneous,
    closed_form_homogeneous,
    total_variation,
)
from tests.vectors import load
from tests.vectors.decimals import Side, float_beside, releases_beside

WIDTH = Fraction(1, 10**9)
SIDES: tuple[tuple[Side, Side], ...] = (("below", "above"), ("above", "below"))


def cases(name: str) -> pytest.MarkDecorator:
    """Parametrise a test over the cases of one vector file, named by their ids."""
    return pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in load(name)])


@cases("optimal_homogeneous")
def test_bounds_contain_the_recorded_delta(case: dict[str, Any]) -> None:
    parameters = [case["epsilon"]], [case["delta"]], [case["count"]]
    low = compose(*releases_beside(*parameters, "below")).delta_bounds(
        epsilon=float_beside(case["at"], "above")
    )
    high = compose(*releases_beside(*parameters, "above")).delta_bounds(
        epsilon=float_beside(case["at"], "below")
    )
    truth = Fraction(case["expected"])
    assert low.lower <= truth <= high.upper
    assert Fraction(high.upper) - Fraction(low.lower) <= WIDTH * truth or truth == 0
    nearest = compose(*releases_beside(*parameters, "nearest")).delta_bounds(
        epsilon=float_beside(case["at"], "nearest")
    )
    assert nearest.relative_width <= WIDTH


@cases("optimal_homogeneous_inverse")
def test_bounds_contain_the_recorded_epsilon(case: dict[str, Any]) -> None:
    parameters = [case["epsilon"]], [case["delta"]], [case["count"]]
    low = compose(*releases_beside(*parameters, "below")).epsilon_bounds(
        delta=float_beside(case["target"], "above")
    )
    high = compose(*releases_beside(*parameters, "above")).epsilon_bounds(
        delta=float_beside(case["target"], "below")
    )
    truth = Fraction(case["expected"])
    printed = Fraction(0)
    if "digits" in case:  # the source rounds: its last digit may be off by one
        places = len(case["expected"].partition(".")[2])
        printed = Fraction(1, 10**places)
    assert low.lower <= truth + printed
    assert high.upper >= truth - printed
    assert Fraction(high.upper) - Fraction(low.lower) <= WIDTH * truth


@cases("optimal_heterogeneous")
def test_bounds_contain_the_recorded_heterogeneous_delta(case: dict[str, Any]) -> None:
    parameters = case["epsilons"], case["deltas"], case["counts"]
    low = compose(*releases_beside(*parameters, "below")).delta_bounds(
        epsilon=float_beside(case["at"], "above")
    )
    high = compose(*releases_beside(*parameters, "above")).delta_bounds(
        epsilon=float_beside(case["at"], "below")
    )
    truth = Fraction(case["expected"])
    assert low.lower <= truth <= high.upper
    assert Fraction(high.upper) - Fraction(low.lower) <= WIDTH * truth


@cases("advanced")
def test_advanced_composition_gives_the_recorded_epsilon(case: dict[str, Any]) -> None:
    low, high = (
        advanced(releases_beside([case["epsilon"]], ["0"], [case["count"]], side)).epsilon_bounds(
            delta=float_beside(case["slack"], other)
        )
        for side, other in SIDES
    )
    assert low.lower <= Fraction(case["expected"]) <= high.upper
    assert high.upper - low.lower <= 1e-14 * high.upper


@cases("closed_form")
def test_closed_forms_give_the_recorded_epsilon(case: dict[str, Any]) -> None:
    theorems = [closed_form_heterogeneous]
    if len(case["epsilons"]) == 1:
        theorems.append(closed_form_homogeneous)
    zeros = ["0"] * len(case["epsilons"])
    for theorem in theorems:
        low, high = (
            theorem(releases_beside(case["epsilons"], zeros, case["counts"], side)).epsilon_bounds(
                delta=float_beside(case["slack"], other)
            )
            for side, other in SIDES
        )
        assert low.lower <= Fraction(case["expected"]) <= high.upper
        assert high.upper - low.lower <= 1e-14 * high.upper


@cases("region")
def test_total_variation_is_the_recorded_one(case: dict[str, Any]) -> None:
    low, high = (
        total_variation(
            epsilon=float_beside(case["epsilon"], side), delta=float_beside(case["delta"], side)
        )
        for side, _ in SIDES
    )
    assert low.lower <= Fraction(case["expected"]) <= high.upper
    assert high.upper - low.lower <= 1e-15
