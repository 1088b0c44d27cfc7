"""Answers up to the ends of floats lie around what oracles say.

Every family of laws draws cases by number, so that a case can be had again. The ordinary suite runs
the first few, and grids that reach the ends; the slow one runs as many as QUAESTOR_CASES says, by
default 100,000. Families that take long for each case have a share of that.
"""

from __future__ import annotations

import math
import os
import random
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest

from quaestor import (
    DiscreteGaussian,
    Gaussian,
    GaussianDP,
    Geometric,
    Laplace,
    PoissonSampled,
    PureDP,
    RandomizedResponse,
)
from tests.laws.float_compositions import drawn_composition, drawn_many, drawn_with_noise
from tests.laws.float_ends import (
    CONTINUOUS,
    FINITE,
    SINGLE,
    TINY,
    Known,
    drawn,
    drawn_sampled,
    drawn_vectors,
    known_gaussian,
    known_gaussian_dp,
    known_laplace,
    known_sampled,
    probability,
    question,
    spread,
)
from tests.laws.float_faults import delta_fault, epsilon_fault, moment_fault, tradeoff_fault
from tests.oracles import outcomes as few

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from quaestor import Release

CASES = int(os.environ.get("QUAESTOR_CASES", "100000"))
SHOWN = 12


class Family(NamedTuple):
    """How one case is judged, how many the ordinary suite runs, and the slow one's share."""

    judge: Callable[[random.Random], str]
    few: int
    share: float = 1.0


def some_delta(rng: random.Random) -> float:
    """A delta or a false positive rate to ask about."""
    usual = spread(rng, 1e-12, 1.0)
    return rng.choice([0.0, TINY, 1e-300, 1.0, probability(rng), usual, usual])


def single_delta(name: str) -> Callable[[random.Random], str]:
    def judge(rng: random.Random) -> str:
        known = [drawn(SINGLE[name], rng)]
        return delta_fault(known, question(rng, known))

    return judge


def single_epsilon(name: str) -> Callable[[random.Random], str]:
    return lambda rng: epsilon_fault([drawn(SINGLE[name], rng)], some_delta(rng))


def a_moment(rng: random.Random) -> str:
    """Of releases whose losses are all finite: otherwise a moment is of what was not told."""
    kinds = [*FINITE.values(), *CONTINUOUS.values(), drawn_sampled, drawn_vectors]
    known = drawn(rng.choice(kinds), rng)
    if known.outcomes is not None and any(few.NEVER in pair for pair in known.outcomes()):
        return ""
    order = spread(rng, 1e-9, 1e6) if rng.random() < 0.5 else spread(rng, 0.1, 300.0)
    inner = known.release.release if isinstance(known.release, PoissonSampled) else None
    if isinstance(inner, Gaussian | GaussianDP):
        order = float(round(spread(rng, 1, 300)))
    if isinstance(inner, Laplace):  # an integral, which takes long where its integrand is steep
        order = spread(rng, 1e-2, 300.0)
        if not 1e-3 < inner.sensitivity / inner.scale < 100:
            return ""
    return moment_fault(known, order)


def a_tradeoff(rng: random.Random) -> str:
    known = drawn(rng.choice([*FINITE.values(), drawn_vectors, drawn_sampled]), rng)
    return "" if known.outcomes is None else tradeoff_fault([known], some_delta(rng))


def many_delta(rng: random.Random) -> str:
    known = [drawn_many(rng)]
    return delta_fault(known, question(rng, known))


def composed_delta(rng: random.Random) -> str:
    known = drawn_composition(rng)
    return delta_fault(known, question(rng, known))


def noisy_delta(rng: random.Random) -> str:
    known = drawn_with_noise(rng)
    return delta_fault(known, question(rng, known))


def composed_epsilon(rng: random.Random) -> str:
    known = [drawn_many(rng)] if rng.random() < 0.5 else drawn_composition(rng)
    return epsilon_fault(known, some_delta(rng))


SHARES = {"discrete Gaussian noise": 0.05, "ranges": 0.2, "samples without replacement": 0.2}

FAMILIES = {
    **{
        f"delta of {name}": Family(
            single_delta(name), 8 if name in SHARES else 30, SHARES.get(name, 1)
        )
        for name in SINGLE
    },
    **{
        f"epsilon of {name}": Family(single_epsilon(name), 5, SHARES.get(name, 1) / 4)
        for name in SINGLE
    },
    "moments": Family(a_moment, 150),
    "trade-offs": Family(a_tradeoff, 20, 0.1),
    "delta of many": Family(many_delta, 40, 0.4),
    "delta of compositions": Family(composed_delta, 2, 0.02),
    "delta of compositions with continuous noise": Family(noisy_delta, 0, 0.005),
    "epsilon of compositions": Family(composed_epsilon, 2, 0.02),
}
"""The parts of the slow suite's cases that take about ten minutes each on two cores."""


def faults(name: str, numbers: Iterable[int]) -> list[str]:
    """What is wrong with these cases of a family; an exception that is not ours is wrong, too."""
    found = []
    for number in numbers:
        try:
            fault = FAMILIES[name].judge(random.Random(f"{name} {number}"))
        except Exception as error:  # noqa: BLE001 - the list of faults is to be whole
            fault = f"raises {error!r}"
        if fault:
            found.append(f"case {number}: {fault}")
    return found


def assert_none(found: list[str], asked: int) -> None:
    shown = "\n".join(found[:SHOWN])
    assert not found, f"{len(found)} of {asked} cases are wrong:\n{shown}"


@pytest.mark.parametrize("name", [name for name in FAMILIES if FAMILIES[name].few])
def test_a_few_random_cases_stay_inside(name: str) -> None:
    cases = FAMILIES[name].few
    assert_none(faults(name, range(cases)), cases)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_very_many_random_cases_stay_inside(name: str) -> None:
    cases = math.ceil(CASES * FAMILIES[name].share)
    assert_none(faults(name, range(cases)), cases)


# ------------------------------------------------------------------------- grids

EXPONENTS = (-300, -162, -100, -17, -8, -3, 0, 1, 2, 5, 16, 100, 300)
RATES = (TINY, 1e-300, 1e-100, 1e-16, 0.01, 0.5, 1 - 2**-53, 1.0)
QUESTIONS = (0.0, TINY, 1e-300, 1e-100, 1e-16, 1e-3, 1.0, 36.0, 710.0, 1e6)


def continuous(kind: str, exponent: int) -> Known:
    """Noise of a ratio of 10^exponent, of which scale and sensitivity have half each."""
    scale, sensitivity = float(f"1e{-(exponent // 2)}"), float(f"1e{exponent - exponent // 2}")
    if kind == "Gaussian":
        return known_gaussian(Gaussian(sigma=scale, sensitivity=sensitivity))
    if kind == "GaussianDP":
        return known_gaussian_dp(GaussianDP(mu=float(f"1e{min(exponent, 150)}")))
    return known_laplace(Laplace(scale=scale, sensitivity=sensitivity))


@pytest.mark.parametrize("kind", ["Gaussian", "GaussianDP", "Laplace"])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_noise_of_any_ratio_stays_inside_at_any_epsilon(kind: str, exponent: int) -> None:
    known = continuous(kind, exponent)
    found = [delta_fault([known], at) for at in QUESTIONS]
    assert_none([fault for fault in found if fault], len(found))


@pytest.mark.parametrize("kind", ["Gaussian", "GaussianDP", "Laplace"])
@pytest.mark.parametrize("rate", RATES)
def test_sampled_noise_of_any_ratio_stays_inside_at_any_epsilon(kind: str, rate: float) -> None:
    found = []
    for place, exponent in enumerate(EXPONENTS):
        known = known_sampled(continuous(kind, exponent), rate)
        asked = QUESTIONS[place % 10 :: 10] if kind == "Laplace" else QUESTIONS  # the rest is slow
        found += [delta_fault([known], at) for at in asked]
    assert_none([fault for fault in found if fault], len(found))


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
def test_sampled_laplace_of_any_ratio_stays_inside_at_every_epsilon(rate: float) -> None:
    found = []
    for exponent in EXPONENTS:
        known = known_sampled(continuous("Laplace", exponent), rate)
        found += [delta_fault([known], at) for at in QUESTIONS]
    assert_none([fault for fault in found if fault], len(found))


def lattices() -> dict[str, Known]:
    """Integer noise from far more of it than the sensitivity to far less, and responses."""
    known: list[Known] = []
    for sensitivity in (1, 2, 8, 40):
        for ratio in (0.1, 0.7, 3.0, 30.0, 80.0, 800.0, 1e5):
            size, scale = sensitivity, sensitivity / ratio
            known.append(
                Known(
                    release=Geometric(scale=scale, sensitivity=size),
                    outcomes=partial(few.geometric, scale, size),
                )
            )
            if 0.05 <= scale <= 10:
                known.append(
                    Known(
                        release=DiscreteGaussian(sigma=scale, sensitivity=size),
                        outcomes=partial(few.discrete_gaussian, scale, size),
                    )
                )
    for epsilon in (1e-300, 1e-100, 1e-17, 1e-7, 0.1, 5.0, 40.0, 700.0, 800.0, 1e6):
        releases: list[Release] = [PureDP(epsilon=epsilon)]
        if 1e-150 <= epsilon <= 700:
            releases.append(RandomizedResponse(epsilon=epsilon))
        known += [
            Known(release=release, outcomes=partial(few.randomized_response, epsilon))
            for release in releases
        ]
    return {str(one.release): one for one in known}


@pytest.mark.parametrize("known", [pytest.param(k, id=name) for name, k in lattices().items()])
def test_sampled_lattices_of_any_ratio_stay_inside(known: Known) -> None:
    found = [
        delta_fault([known_sampled(known, rate)], at) for rate in RATES for at in (0.0, 1.0, 710.0)
    ]
    assert_none([fault for fault in found if fault], len(found))
