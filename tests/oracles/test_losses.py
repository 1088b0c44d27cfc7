"""The oracles of mechanisms agree with the recorded digits, and with each other."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from mpmath import mp  # type: ignore[import-untyped, unused-ignore]

from tests.oracles import losses
from tests.oracles.composition import brute_force_delta, homogeneous_delta
from tests.vectors import load

if TYPE_CHECKING:
    from mpmath import mpf

DIGITS = 30
CASES = [pytest.param(case, id=case["id"]) for case in load("privacy_loss")]


def close(one: mpf, other: mpf) -> bool:
    """Whether two numbers agree to thirty significant digits."""
    with mp.workdps(60):
        return bool(abs(one - other) <= abs(other) * mp.mpf(10) ** -DIGITS)


def by_definition(case: dict[str, Any]) -> mpf:
    """Ask the oracle that fits the kind of the case."""
    given = {name: Fraction(text) for name, text in case["parameters"].items()}
    at, count = Fraction(case["at"]), case["count"]
    match case["kind"]:
        case "GaussianDP":
            return losses.gaussian_delta(mu=given["mu"], at=at)
        case "PoissonSampledGaussian":
            return losses.sampled_gaussian_delta(
                mu=1 / given["sigma"],
                rate=given["rate"],
                at=at,
                removing=case["direction"] == "remove",
            )
        case "Laplace":
            fold = losses.laplace_delta if count == 1 else losses.twofold_laplace_delta
            return fold(shift=1 / given["scale"], at=at)
        case "Staircase":
            return losses.pair_delta(losses.staircase(**given), count=count, at=at)
        case _:
            pair = losses.discrete_gaussian(sigma=given["sigma"], sensitivity=1)
            return losses.pair_delta(pair, count=count, at=at)


@pytest.mark.parametrize("case", CASES)
def test_oracles_agree_with_the_recorded_digits(case: dict[str, Any]) -> None:
    with mp.workdps(60):
        recorded = mp.mpf(case["expected"])
    assert close(by_definition(case), recorded)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("at", [0.0, 0.3, 1.1])
def test_two_categories_are_the_worst_black_box(count: int, at: float) -> None:
    pair = losses.randomized_response(epsilon=0.7, categories=2)
    expected = homogeneous_delta(epsilon=0.7, delta=0.0, count=count, at=at)
    assert close(losses.pair_delta(pair, count=count, at=at), expected)


def test_a_failing_response_is_the_worst_black_box_that_may_fail() -> None:
    pair = losses.failing_response(epsilon=0.7, delta=0.125)
    expected = brute_force_delta(steps=[(0.7, 0.125)] * 3, at=0.5)
    assert close(losses.worst_delta(pair, count=3, at=0.5), expected)


@pytest.mark.parametrize("removing", [True, False])
def test_sampling_everybody_is_no_sampling(removing: bool) -> None:  # noqa: FBT001
    gaussian = losses.sampled_gaussian_delta(mu=0.75, rate=1, at=0.5, removing=removing)
    assert close(gaussian, losses.gaussian_delta(mu=0.75, at=0.5))
    laplace = losses.sampled_laplace_delta(shift=0.75, rate=1, at=0.5, removing=removing)
    assert close(laplace, losses.laplace_delta(shift=0.75, at=0.5))


def test_a_concentrated_release_may_cost_more_than_its_gaussian() -> None:
    with mp.workdps(60):
        mu = mp.sqrt(mp.mpf("0.2"))
    gaussian = losses.gaussian_delta(mu=mu, at=2)
    assert gaussian < losses.concentrated_delta(rho=Fraction("0.1"), at=2) < 10 * gaussian
