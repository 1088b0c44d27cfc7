"""Compositions drawn up to the ends of floats, of which an oracle can list all outcomes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quaestor import Gaussian, GaussianDP, Laplace
from tests.laws.float_ends import (
    CONTINUOUS,
    Known,
    drawn,
    drawn_black_box,
    drawn_discrete_gaussian,
    drawn_geometric,
    drawn_response,
    drawn_sampled,
    drawn_staircase,
    drawn_vectors,
    drawn_without_replacement,
    ratio_of,
    spread,
)
from tests.oracles import outcomes as few
from tests.oracles import shifts
from tests.oracles.balls import ball

if TYPE_CHECKING:
    import random

__all__ = ["drawn_composition", "drawn_many", "drawn_with_noise", "times"]

_MOST_OUTCOMES = 2000
_PARTS = (
    drawn_response,
    drawn_black_box,
    drawn_staircase,
    drawn_geometric,
    drawn_discrete_gaussian,
    drawn_vectors,
    drawn_sampled,
    drawn_without_replacement,
)


def times(known: Known, count: int) -> Known:
    """The same release ``count`` times; a profile only where it is closed under that."""
    if count == 1:
        return known
    release, outcomes = known.release * count, known.outcomes
    largest = None if known.largest is None else known.largest * count
    if outcomes is not None:
        return Known(
            release=release,
            outcomes=lambda: few.repeated(outcomes(), count),
            largest=largest,
            typical=known.typical * math.sqrt(count),
        )
    inner = known.release
    if isinstance(inner, Laplace):
        shift = ratio_of(inner.sensitivity, inner.scale)
        return Known(
            release=release,
            profile=lambda _: shifts.laplaces([shift()] * count),
            largest=largest,
            typical=known.typical * math.sqrt(count),
        )
    assert isinstance(inner, Gaussian | GaussianDP)
    mu = (
        ratio_of(inner.sensitivity, inner.sigma)
        if isinstance(inner, Gaussian)
        else ratio_of(inner.mu, 1.0)
    )
    size = float(mu().mid()) * math.sqrt(count)
    return Known(
        release=release,
        profile=lambda _: shifts.gaussian(mu() * ball(count).sqrt()),
        typical=size if size < 1 else min(size, 1e150) ** 2,
    )


def drawn_many(rng: random.Random) -> Known:
    """Many equal releases: Gaussians by their closed form, two outcomes by the binomial law."""
    kind = rng.random()
    if kind < 0.35:
        one = drawn(rng.choice([CONTINUOUS["Gaussian noise"], CONTINUOUS["Gaussian DP"]]), rng)
        return times(one, round(spread(rng, 1, 1e15)))
    if kind < 0.45:
        return times(drawn(CONTINUOUS["Laplace noise"], rng), rng.randint(1, 4))
    while True:
        one = drawn(rng.choice(_PARTS), rng)
        if (of_one := _outcomes(one)) and len(of_one) <= 2:
            return times(one, round(spread(rng, 1, 400)))


def _outcomes(known: Known) -> few.Outcomes:
    """What may happen; nothing where digits do not suffice to say: with more it may be more."""
    found = known.outcomes() if known.outcomes is not None else []
    return [] if any(p is few.UNDECIDED for p, _ in found) else found


def drawn_composition(rng: random.Random) -> list[Known]:
    """Up to three groups of few outcomes."""
    groups: list[Known] = []
    room = _MOST_OUTCOMES
    for _ in range(rng.choice([2, 2, 3, 4])):
        one = drawn(rng.choice(_PARTS), rng)
        if not (each := len(_outcomes(one))) or each > room:
            continue
        count = rng.choice([1, 1, 2, 3, 5])
        while count > 1 and math.comb(count + each - 1, count) > room:
            count -= 1
        groups.append(times(one, count))
        room //= math.comb(count + each - 1, count)
    return about_the_same(groups) or [drawn(drawn_response, rng)]


def about_the_same(groups: list[Known]) -> list[Known]:
    """Those that are about the neighbours of the last that states some: others are refused."""
    stated = [_neighbours(one) for one in groups]
    last = next((each for each in reversed(stated) if each is not None), None)
    return [one for one, each in zip(groups, stated, strict=True) if each in {None, last}]


def _neighbours(one: Known) -> str | None:
    release = one.release
    return getattr(getattr(release, "release", release), "neighbours", None) or getattr(
        release, "neighbours", None
    )


def drawn_with_noise(rng: random.Random) -> list[Known]:
    """Few outcomes, and continuous noise beside them, sampled or repeated."""
    groups = about_the_same([*drawn_composition(rng), _continuous(rng)])
    rng.shuffle(groups)
    return groups


def _continuous(rng: random.Random) -> Known:
    kind = rng.random()
    if kind < 0.4:
        while True:
            if (one := drawn(drawn_sampled, rng)).profile is not None:
                return one
    if kind < 0.7:
        return times(drawn(CONTINUOUS["Gaussian noise"], rng), rng.choice([1, 2, 100]))
    return times(drawn(CONTINUOUS["Laplace noise"], rng), rng.randint(1, 3))
