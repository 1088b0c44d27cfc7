"""What is found by searching keeps its promise: calibration, counts and filters, by the oracles.

Targets and releases are drawn up to where a search could take an error or an underflow for a yes.
"""

from __future__ import annotations

import math
import os
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from quaestor import (
    DiscreteGaussian,
    Gaussian,
    Geometric,
    Laplace,
    PureDP,
    QuaestorError,
    TargetOutOfReach,
    calibrate_bounds,
    largest_count,
)
from quaestor.accounting import filters
from tests.laws.float_compositions import times
from tests.laws.float_ends import (
    Known,
    drawn,
    drawn_black_box,
    drawn_discrete_gaussian,
    drawn_gaussian,
    drawn_geometric,
    drawn_laplace,
    drawn_response,
    known_gaussian,
    known_laplace,
    known_sampled,
    probability,
    spread,
    true_delta,
)
from tests.oracles import outcomes as few
from tests.oracles.balls import ball

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = max(1, int(os.environ.get("QUAESTOR_CASES", "100000")) // 100)
MOST = 300  # counts beyond this are judged as so many


def target(rng: random.Random) -> tuple[float, float]:
    """An epsilon and a delta to keep."""
    return spread(rng, 1e-3, 30.0), rng.choice([1e-6, spread(rng, 1e-12, 0.5)])


# ------------------------------------------------------------------------- calibration


def geometric(scale: float, sensitivity: int) -> Known:
    return Known(
        release=Geometric(scale=scale, sensitivity=sensitivity),
        outcomes=lambda: few.geometric(scale, sensitivity),
    )


def discrete(sigma: float, sensitivity: int) -> Known:
    return Known(
        release=DiscreteGaussian(sigma=sigma, sensitivity=sensitivity),
        outcomes=lambda: few.discrete_gaussian(sigma, sensitivity),
    )


def response(epsilon: float) -> Known:
    return Known(release=PureDP(epsilon=epsilon), outcomes=lambda: few.randomized_response(epsilon))


def a_dial(rng: random.Random) -> Callable[[float], Known]:
    """A release with one parameter to find; sampled, half the time."""
    sensitivity, count = rng.choice([1, 3, 40]), rng.choice([1, 1, 2])
    size = spread(rng, 1e-3, 1e3)
    plain: Callable[[float], Known] = rng.choice(
        [
            lambda scale: known_gaussian(Gaussian(sigma=scale, sensitivity=size)),
            lambda scale: known_laplace(Laplace(scale=scale, sensitivity=size)),
            lambda scale: geometric(scale, sensitivity),
            lambda scale: discrete(scale, sensitivity),
            response,
        ]
    )
    if rng.random() < 0.5:
        closed = isinstance(plain(1.0).release, Gaussian | Laplace | PureDP)
        return (lambda value: times(plain(value), count)) if closed else plain
    rate = max(probability(rng), 1e-12)
    return lambda value: known_sampled(plain(value), rate)


def calibration_fault(rng: random.Random) -> str:
    """The end that fits does so in truth, and the other end does not."""
    dial, (epsilon, delta) = a_dial(rng), target(rng)
    try:
        found = calibrate_bounds(lambda value: dial(value).release, epsilon=epsilon, delta=delta)
    except TargetOutOfReach:
        return ""
    rising = isinstance(dial(1.0).release, PureDP) or "PureDP" in str(dial(1.0).release)
    fits, fails = (found.lower, found.upper) if rising else (found.upper, found.lower)
    what = f"{dial(fits).release} for ({epsilon!r}, {delta!r})"
    if "DiscreteGaussian" in what and fits > 200:
        return ""  # too many outcomes to list
    if true_delta([dial(fits)], epsilon) > ball(delta):
        return f"{what}: delta is {true_delta([dial(fits)], epsilon).str(10)}"
    if 0 < fails < math.inf and true_delta([dial(fails)], epsilon) < ball(delta) * ball(0.999):
        return (
            f"{what}: {fails!r} would fit with delta {true_delta([dial(fails)], epsilon).str(10)}"
        )
    return ""


# ------------------------------------------------------------------------- counts and filters


def a_use(rng: random.Random) -> Known:
    """A release with two outcomes, or a Gaussian: of which any number has a simple law."""
    draws = [drawn_response, drawn_black_box, drawn_gaussian, drawn_geometric, drawn_laplace]
    known = drawn(rng.choice([*draws, drawn_discrete_gaussian]), rng)
    if rng.random() < 0.5:
        known = known_sampled(known, max(probability(rng), 1e-9))
    return known


def count_fault(known: Known, count: int, epsilon: float, delta: float, by: str) -> str:
    """``count`` of them keep the target in truth, or as many as the oracle can list."""
    if count == 0:
        return ""
    simple = isinstance(known.release, Gaussian) or (
        known.outcomes is not None and len(known.outcomes()) <= 2
    )
    judged = min(count, MOST if simple else 1)
    reached = true_delta([times(known, judged)], epsilon)
    if reached > ball(delta):
        return (
            f"{by} for ({epsilon!r}, {delta!r}) lets {count} of {known.release} through, and "
            f"{judged} have delta {reached.str(10)}"
        )
    return ""


def largest_count_fault(rng: random.Random) -> str:
    known, (epsilon, delta) = a_use(rng), target(rng)
    count = largest_count(known.release, epsilon=epsilon, delta=delta)
    if count == 0 and true_delta([known], epsilon) < ball(delta) * ball(0.999):
        return f"largest_count for ({epsilon!r}, {delta!r}) refuses {known.release}, which fits"
    return count_fault(known, count, epsilon, delta, "largest_count")


def filter_fault(rng: random.Random) -> str:
    known, (epsilon, delta) = a_use(rng), target(rng)
    makers = [
        filters.basic_filter,
        filters.default_filter,
        filters.concentrated_filter,
        filters.gaussian_filter,
        filters.whitehouse_filter,
        filters.range_filter,
        lambda **promise: filters.best_filter(**promise, expected=[known.release]),
    ]
    filter_ = rng.choice(makers)(epsilon=epsilon, delta=delta)
    nothing = dict.fromkeys(filter_.meters, Fraction(0))
    count = filters.remaining_count(filter_, nothing, known.release)
    return count_fault(known, count, epsilon, delta, f"the {filter_.kind} filter")


JUDGES = {
    "calibration": (calibration_fault, 6),
    "largest counts": (largest_count_fault, 2),
    "filters": (filter_fault, 60),
}


def faults(name: str, cases: int) -> list[str]:
    """What is wrong with so many cases; refusals by errors of our own promise nothing."""
    found = []
    for number in range(cases):
        try:
            fault = JUDGES[name][0](random.Random(f"{name} {number}"))
        except QuaestorError:
            continue
        except Exception as error:  # noqa: BLE001 - the list of faults is to be whole
            fault = f"raises {error!r}"
        if fault:
            found.append(f"case {number}: {fault}")
    return found


@pytest.mark.parametrize("name", JUDGES)
def test_a_few_searches_keep_their_promise(name: str) -> None:
    found = faults(name, JUDGES[name][1])
    assert not found, "\n".join(found[:12])


@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGES)
def test_many_searches_keep_their_promise(name: str) -> None:
    found = faults(name, CASES)
    assert not found, "\n".join(found[:12])
