"""Every kind of release, walked in logarithms to the ends of floats, through every public answer.

What may come out is an interval with ordered ends inside its range, or an error of ours that is no
admission of a fault. What the intervals are worth is tested elsewhere.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

from quaestor import (
    ApproxDP,
    BoundedRange,
    Bounds,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    InconsistentAnswers,
    Laplace,
    PureDP,
    QuaestorError,
    RandomizedResponse,
    Release,
    ZeroConcentratedDP,
    calibrate,
    compose,
    largest_count,
)
from quaestor.accounting.filters import basic_filter, default_filter
from tests.cases import some

if TYPE_CHECKING:
    from collections.abc import Callable

EPSILONS = (0.0, 5e-324, 1e-300, 1e-9, 1.0, 50.0, 800.0, 1e20, 1e308, math.inf)
DELTAS = (0.0, 5e-324, 1e-320, 1e-300, 1e-100, 1e-6, 0.5, 1 - 2.0**-53, 1.0)
COUNTS = (1, 2, 1000, 10**9, 10**15)


def anywhere(rng: random.Random, low: float, high: float) -> float:
    """One of the ends, or anything between them."""
    between = math.exp(rng.uniform(math.log(low), math.log(high)))
    return min(max(rng.choice([low, high, between, between]), low), high)


KINDS: dict[str, Callable[[random.Random], Release]] = {
    "PureDP": lambda rng: PureDP(epsilon=rng.choice([0.0, anywhere(rng, 5e-324, 1e6)])),
    "ApproxDP": lambda rng: ApproxDP(
        epsilon=rng.choice([0.0, anywhere(rng, 5e-324, 1e6)]), delta=rng.choice(DELTAS)
    ),
    "GaussianDP": lambda rng: GaussianDP(mu=rng.choice([0.0, anywhere(rng, 5e-324, 1e150)])),
    "Gaussian": lambda rng: Gaussian(
        sigma=anywhere(rng, 1e-150, 1e150), sensitivity=anywhere(rng, 1e-150, 1e150)
    ),
    "ZeroConcentratedDP": lambda rng: ZeroConcentratedDP(
        rho=rng.choice([0.0, anywhere(rng, 1e-150, 1e100)])
    ),
    "Laplace, alone": lambda rng: Laplace(
        scale=anywhere(rng, 1e-150, 1e150), sensitivity=anywhere(rng, 1e-150, 1e150)
    ),
    "RandomizedResponse, alone": lambda rng: RandomizedResponse(
        epsilon=anywhere(rng, 1e-150, 700.0), categories=rng.choice([2, 3, 10**15])
    ),
    "BoundedRange, alone": lambda rng: BoundedRange(epsilon=anywhere(rng, 1e-150, 700.0)),
    "ExponentialMechanism, alone": lambda rng: ExponentialMechanism(
        epsilon=anywhere(rng, 1e-140, 700.0), sensitivity=anywhere(rng, 1e-150, 1e150)
    ),
}


def release_of(kind: str, rng: random.Random) -> Release:
    release = KINDS[kind](rng)
    return release if "alone" in kind else release * rng.choice(COUNTS)


def sane(bounds: Bounds, *, most: float = math.inf) -> None:
    assert isinstance(bounds, Bounds)
    assert 0.0 <= bounds.lower <= bounds.upper <= most


def asked(question: Callable[[], object]) -> None:
    """Ours, or nothing; and never that two answers exclude each other."""
    try:
        question()
    except InconsistentAnswers:
        raise
    except QuaestorError:
        pass


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", some(range(8), 1))
def test_compositions_answer_everything(kind: str, seed: int) -> None:
    rng = random.Random(f"{kind} {seed}")
    spent = compose(release_of(kind, rng))
    for epsilon in EPSILONS:
        asked(lambda at=epsilon: sane(spent.delta_bounds(epsilon=at), most=1.0))  # type: ignore[misc]
    for delta in DELTAS:
        asked(lambda at=delta: sane(spent.epsilon_bounds(delta=at)))  # type: ignore[misc]
    asked(lambda: sane(spent.advantage(), most=1.0))


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if "Range" not in kind and "Exp" not in kind]
)
@pytest.mark.parametrize("seed", some(range(3), 1))
def test_regions_and_searches_answer_everything(kind: str, seed: int) -> None:
    rng = random.Random(f"{kind} {seed} more")
    release = release_of(kind, rng)
    region = compose(release).tradeoff()
    for alarm in (0.0, 5e-324, 0.3, 1.0):
        asked(
            lambda at=alarm: sane(region.false_negative_bounds(false_positive=at), most=1.0)  # type: ignore[misc]
        )
    for prior in (5e-324, 0.5, 1 - 2.0**-53):
        asked(lambda at=prior: sane(region.bayes_error_bounds(prior=at), most=0.5))  # type: ignore[misc]
        asked(lambda at=prior: sane(region.posterior_bounds(prior=at), most=1.0))  # type: ignore[misc]
    epsilon, delta = rng.choice(EPSILONS[:-2]), rng.choice(DELTAS)
    asked(lambda: largest_count(release, epsilon=epsilon, delta=delta))
    asked(lambda: calibrate(lambda x: PureDP(epsilon=x) * 3, epsilon=epsilon, delta=delta))
    asked(lambda: calibrate(lambda x: Gaussian(sigma=x), epsilon=epsilon, delta=delta))
    for make in (basic_filter, default_filter):
        asked(lambda make=make: _metered(make(epsilon=min(epsilon, 1e6), delta=delta), release))  # type: ignore[misc]


def _metered(filter_: object, release: Release) -> None:
    for meter in filter_.meters:  # type: ignore[attr-defined]
        cost = meter.cost([release])
        assert cost is None or cost >= 0
