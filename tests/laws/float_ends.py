"""Releases drawn up to the ends of floats, each with the oracle that knows it.

Ratios, rates, epsilons and orders are drawn uniformly in their logarithms, some from where people
work and some from everything that a float can say. Values that a release refuses by its documented
range are drawn again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from quaestor import (
    ApproxDP,
    BoundedRange,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    InvalidParameter,
    Laplace,
    PoissonSampled,
    ProbabilityVectors,
    PureDP,
    RandomizedResponse,
    SampledWithoutReplacement,
    Staircase,
)
from tests.oracles import outcomes as few
from tests.oracles import shifts
from tests.oracles.balls import ball, precisely

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from flint import arb

    from quaestor import Release
    from tests.oracles.outcomes import Outcomes
    from tests.oracles.shifts import Profile

TINY = 5e-324
LARGEST_EPSILON = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A release, and what it does in two worlds: few outcomes, or a profile for each direction.

    ``largest`` is its largest finite loss, as an exact number, where that is known.
    """

    release: Release
    outcomes: Callable[[], Outcomes] | None = None
    profile: Callable[[bool], Profile] | None = None
    largest: Fraction | None = None
    typical: float = 1.0


Draw: TypeAlias = "Callable[[random.Random], Known]"


# ------------------------------------------------------------------------- numbers


def spread(rng: random.Random, low: float, high: float) -> float:
    """A number whose logarithm is uniform; the ends may be the ends of floats."""
    exponent = rng.uniform(math.log2(low), math.log2(high))
    whole = math.floor(exponent)
    number = math.ldexp(2.0 ** (exponent - whole), whole)
    return min(max(number, low), high)


def size(rng: random.Random) -> float:
    """A ratio of sensitivity to noise: mostly a sane one, often an extreme one."""
    kind = rng.random()
    if kind < 0.5:
        return spread(rng, 1e-3, 1e2)
    if kind < 0.75:
        return spread(rng, 1e-18, 1e5)
    return spread(rng, 1e-300, 1e300)


def probability(rng: random.Random) -> float:
    """A rate or a delta: 1, close to it, ordinary, tiny, or the least float."""
    kind = rng.random()
    if kind < 0.5:
        return spread(rng, 1e-4, 1.0)
    if kind < 0.6:
        return 1.0 - spread(rng, 2.0**-53, 0.1)
    if kind < 0.7:
        return rng.choice([1.0, TINY, 1e-300, 0.5, 1 - 2**-53])
    return spread(rng, TINY, 1.0)


def small_epsilon(rng: random.Random) -> float:
    """An epsilon that a release may have."""
    kind = rng.random()
    if kind < 0.6:
        return spread(rng, 1e-3, 20.0)
    if kind < 0.8:
        return spread(rng, 1e-18, LARGEST_EPSILON)
    return spread(rng, 1e-300, LARGEST_EPSILON)


def question(rng: random.Random, known: Sequence[Known]) -> float:
    """An epsilon to ask about: 0, at and beside the largest loss, at a typical one, anywhere."""
    kind = rng.random()
    if kind < 0.08:
        return 0.0
    largest = [one.largest for one in known]
    if kind < 0.35 and None not in largest:
        whole = sum((loss for loss in largest if loss is not None), Fraction(0))
        try:
            nearest = float(whole)
        except OverflowError:
            nearest = 1e300
        if nearest <= 1e300:
            return rng.choice(
                [
                    nearest,
                    math.nextafter(nearest, 0.0),
                    math.nextafter(nearest, math.inf),
                    nearest * (1 - 1e-12),
                    nearest * (1 + 1e-9),
                    nearest * rng.random(),
                    nearest * 2,
                ]
            )
    if kind < 0.75:
        typical = math.fsum(min(one.typical, 1e300) for one in known)
        return min(typical, 1e300) * rng.choice([spread(rng, 1e-3, 10.0), 1.0, rng.random() * 3])
    if kind < 0.9:
        return spread(rng, 1e-6, 100.0)
    return spread(rng, TINY, 1e12)


# ------------------------------------------------------------------------- releases


def noise(rng: random.Random) -> tuple[float, float]:
    """A scale and a sensitivity, of any ratio; often the sensitivity is 1."""
    ratio = size(rng)
    if rng.random() < 0.6:
        return 1 / ratio, 1.0
    scale = spread(rng, 1e-5, 1e5)
    return scale, min(max(scale * ratio, 1e-300), 1e300)


def ratio_of(sensitivity: float, scale: float) -> Callable[[], arb]:
    return lambda: ball(sensitivity) / ball(scale)


def drawn_gaussian(rng: random.Random) -> Known:
    sigma, sensitivity = noise(rng)
    return known_gaussian(Gaussian(sigma=sigma, sensitivity=sensitivity))


def known_gaussian(release: Gaussian) -> Known:
    mu = ratio_of(release.sensitivity, release.sigma)
    size_ = release.sensitivity / release.sigma
    return Known(
        release=release,
        profile=lambda _: shifts.gaussian(mu()),
        typical=size_ if size_ < 1 else min(size_, 1e150) ** 2,
    )


def drawn_gaussian_dp(rng: random.Random) -> Known:
    return known_gaussian_dp(GaussianDP(mu=size(rng)))


def known_gaussian_dp(release: GaussianDP) -> Known:
    mu = release.mu
    return Known(
        release=release,
        profile=lambda _: shifts.gaussian(ball(mu)),
        typical=mu if mu < 1 else min(mu, 1e150) ** 2,
    )


def drawn_laplace(rng: random.Random) -> Known:
    scale, sensitivity = noise(rng)
    return known_laplace(Laplace(scale=scale, sensitivity=sensitivity))


def known_laplace(release: Laplace) -> Known:
    shift = ratio_of(release.sensitivity, release.scale)
    return Known(
        release=release,
        profile=lambda _: shifts.laplace(shift()),
        largest=Fraction(release.sensitivity) / Fraction(release.scale),
        typical=release.sensitivity / release.scale,
    )


def drawn_range(rng: random.Random) -> Known:
    epsilon = small_epsilon(rng)
    release = (
        BoundedRange(epsilon=epsilon)
        if rng.random() < 0.5
        else ExponentialMechanism(epsilon=epsilon, sensitivity=spread(rng, 1e-5, 1e5))
    )
    return Known(
        release=release,
        profile=lambda _: shifts.bounded_range(ball(epsilon)),
        largest=Fraction(epsilon),
        typical=epsilon,
    )


def drawn_response(rng: random.Random) -> Known:
    epsilon = small_epsilon(rng)
    categories = rng.choice([2, 2, 2, 3, 5, 1000, 10**9])
    return Known(
        release=RandomizedResponse(epsilon=epsilon, categories=categories),
        outcomes=lambda: few.randomized_response(epsilon, categories),
        largest=Fraction(epsilon),
        typical=epsilon,
    )


def drawn_black_box(rng: random.Random) -> Known:
    epsilon, delta = small_epsilon(rng), rng.choice([0.0, 0.0, probability(rng)])
    release = ApproxDP(epsilon=epsilon, delta=delta) if delta else PureDP(epsilon=epsilon)
    return Known(
        release=release,
        outcomes=lambda: few.failing_response(epsilon, delta),
        largest=Fraction(epsilon),
        typical=epsilon,
    )


def drawn_staircase(rng: random.Random) -> Known:
    epsilon = small_epsilon(rng)
    gamma = rng.choice([None, rng.random(), 0.5, spread(rng, 1e-9, 0.5)])
    return Known(
        release=Staircase(epsilon=epsilon, gamma=gamma),
        outcomes=lambda: few.staircase(epsilon, gamma),
        largest=Fraction(epsilon),
        typical=epsilon,
    )


def drawn_geometric(rng: random.Random) -> Known:
    sensitivity = rng.choice([1, 1, 2, 3, 10, 40, 200, 2000])
    scale = sensitivity / size(rng)
    if not 0 < scale < math.inf:
        scale = 1.0
    return Known(
        release=Geometric(scale=scale, sensitivity=sensitivity),
        outcomes=lambda: few.geometric(scale, sensitivity),
        largest=sensitivity / Fraction(scale),
        typical=sensitivity / scale,
    )


def drawn_discrete_gaussian(rng: random.Random) -> Known:
    sigma = spread(rng, 0.05, 8.0)
    sensitivity = rng.choice([1, 1, 2, 3, 10, 40, 200, 100_000])
    loss = sensitivity / sigma
    return Known(
        release=DiscreteGaussian(sigma=sigma, sensitivity=sensitivity),
        outcomes=lambda: few.discrete_gaussian(sigma, sensitivity),
        typical=loss * loss,
    )


def drawn_vectors(rng: random.Random) -> Known:
    """Multiples of 2^-52 that sum to exactly one, from one such multiple up; often zeros."""
    length = rng.choice([2, 2, 3, 5])
    both = []
    for _ in range(2):
        entries = [rng.choice([0, round(spread(rng, 1, 2**49))]) for _ in range(length - 1)]
        entries.insert(rng.randrange(length), 2**52 - sum(entries))
        both.append([entry / 2**52 for entry in entries])
    first, second = both
    ratios = [abs(math.log(p / q)) for p, q in zip(first, second, strict=True) if p > 0 < q]
    return Known(
        release=ProbabilityVectors(p=tuple(first), q=tuple(second)),
        outcomes=lambda: few.vectors(first, second),
        typical=max(ratios, default=1.0),
    )


FINITE: dict[str, Draw] = {
    "responses": drawn_response,
    "black boxes": drawn_black_box,
    "staircases": drawn_staircase,
    "geometric noise": drawn_geometric,
    "discrete Gaussian noise": drawn_discrete_gaussian,
}
CONTINUOUS: dict[str, Draw] = {
    "Gaussian noise": drawn_gaussian,
    "Gaussian DP": drawn_gaussian_dp,
    "Laplace noise": drawn_laplace,
}


def drawn_sampled(rng: random.Random) -> Known:
    rate = probability(rng)
    inner = rng.choice([*FINITE.values(), *CONTINUOUS.values()])(rng)
    return known_sampled(inner, rate)


def known_sampled(inner: Known, rate: float) -> Known:
    release = PoissonSampled(release=inner.release, rate=rate)
    typical = min(inner.typical, max(rate * inner.typical, inner.typical + math.log(rate)))
    outcomes = inner.outcomes
    if outcomes is not None:
        return Known(
            release=release, outcomes=lambda: few.sampled(outcomes(), rate), typical=typical
        )
    assert inner.profile is not None
    if isinstance(inner.release, Laplace):
        shift = ratio_of(inner.release.sensitivity, inner.release.scale)
        return Known(
            release=release,
            profile=lambda removing: shifts.sampled_laplace(shift(), rate, removing=removing),
            typical=typical,
        )
    if isinstance(inner.release, GaussianDP):
        mu = ratio_of(inner.release.mu, 1.0)
    else:
        assert isinstance(inner.release, Gaussian)
        mu = ratio_of(inner.release.sensitivity, inner.release.sigma)
    return Known(
        release=release,
        profile=lambda removing: shifts.sampled_gaussian(mu(), rate, removing=removing),
        typical=typical,
    )


def drawn_without_replacement(rng: random.Random) -> Known:
    inner = rng.choice(list(FINITE.values()))(rng)
    population = rng.choice([1, 2, 10, 1000, 10**6, 10**12])
    sample = rng.choice([1, population, rng.randint(1, population)])
    outcomes, part = inner.outcomes, Fraction(sample, population)
    assert outcomes is not None
    typical = min(inner.typical, max(part * inner.typical, inner.typical + math.log(part)))
    return Known(
        release=SampledWithoutReplacement(
            release=inner.release, sample=sample, population=population
        ),
        outcomes=lambda: few.sampled_without_replacement(outcomes(), part),
        typical=float(typical),
    )


SINGLE: dict[str, Draw] = {
    **FINITE,
    **CONTINUOUS,
    "ranges": drawn_range,
    "vectors": drawn_vectors,
    "Poisson samples": drawn_sampled,
    "samples without replacement": drawn_without_replacement,
}


def drawn(draw: Draw, rng: random.Random) -> Known:
    """One that the release's own documented range allows."""
    while True:
        try:
            return draw(rng)
        except InvalidParameter:
            continue


# ------------------------------------------------------------------------- truth


def true_delta(known: Sequence[Known], at: float) -> arb:
    """The larger of both directions, for few outcomes and at most one profile."""
    first, second = (_direction(known, at, removing=removing) for removing in (True, False))
    return first.max(second)


def _direction(known: Sequence[Known], at: float, *, removing: bool) -> arb:
    def compute() -> arb:
        parts = [one.outcomes() for one in known if one.outcomes is not None]
        listed = few.product(parts if removing else [few.turned(part) for part in parts])
        profiles = [one.profile(removing) for one in known if one.profile is not None]
        if not profiles:
            return few.hockey_stick(listed, at)
        (profile,) = profiles
        return shifts.summed(listed, profile, at)

    return precisely(compute)
