"""Recorded numbers about known mechanisms lie inside the bounds, and the bounds are narrow."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from quaestor import (
    Bounds,
    DiscreteGaussian,
    Gaussian,
    GaussianDP,
    Laplace,
    PoissonSampled,
    Release,
    Staircase,
    parse_release,
)
from quaestor.accounting.theorems import privacy_loss
from tests.vectors import load
from tests.vectors.decimals import Side, float_beside

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.accounting.curves.profile import Profile

WIDTH = Fraction(1, 1000)
SLACK = Fraction(1, 10**9)
OPPOSITE: dict[Side, Side] = {"below": "above", "above": "below", "nearest": "nearest"}
DIRECTIONS = ("remove", "add")

Case = dict[str, Any]

# How a kind is built on the side of less cost or more: noise that is larger costs less.
BUILDERS: dict[str, Callable[[dict[str, str], Side], Release]] = {
    "GaussianDP": lambda p, side: GaussianDP(mu=float_beside(p["mu"], side)),
    "Laplace": lambda p, side: Laplace(scale=float_beside(p["scale"], OPPOSITE[side])),
    "DiscreteGaussian": lambda p, side: DiscreteGaussian(
        sigma=float_beside(p["sigma"], OPPOSITE[side])
    ),
    "Staircase": lambda p, side: Staircase(
        epsilon=float_beside(p["epsilon"], side), gamma=float(p["gamma"])
    ),
    "PoissonSampledGaussian": lambda p, side: PoissonSampled(
        release=Gaussian(sigma=float_beside(p["sigma"], OPPOSITE[side])),
        rate=float_beside(p["rate"], side),
    ),
}


def cases(name: str) -> pytest.MarkDecorator:
    """Parametrise a test over the cases of one vector file, named by their ids."""
    return pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in load(name)])


def curve(releases: list[Release], case: Case) -> Profile:
    """The composition's profile, or that of the direction the case names."""
    worst = privacy_loss(releases)
    if "direction" not in case:
        return worst
    return worst._directions[DIRECTIONS.index(case["direction"])]


def on_side(case: Case, side: Side) -> Bounds:
    release = BUILDERS[case["kind"]](case["parameters"], side) * case["count"]
    at = float_beside(case["at"], OPPOSITE[side])
    return curve([release], case).delta_bounds(epsilon=at)


@pytest.mark.parametrize(("name", "number"), [("privacy_loss", 23), ("privacy_loss_brackets", 23)])
def test_no_recorded_case_has_vanished(name: str, number: int) -> None:
    assert len({case["id"] for case in load(name)}) == number


@cases("privacy_loss")
def test_bounds_contain_the_recorded_delta(case: Case) -> None:
    truth = Fraction(case["expected"])
    low, high = on_side(case, "below"), on_side(case, "above")
    assert low.lower <= truth <= high.upper
    assert Fraction(high.upper) - Fraction(low.lower) <= WIDTH * truth + Fraction(1, 10**280)


@cases("privacy_loss_brackets")
def test_bounds_overlap_the_recorded_bracket(case: Case) -> None:
    profile = curve([parse_release(text) for text in case["releases"]], case)
    if "epsilon" in case:
        found = profile.delta_bounds(epsilon=case["epsilon"])
    else:
        found = profile.epsilon_bounds(delta=case["delta"])
    assert found.lower <= Fraction(case["upper"]) * (1 + SLACK)
    assert found.upper >= Fraction(case["lower"]) * (1 - SLACK)
    assert found.relative_width <= WIDTH
