"""The best of a random number of runs, from the definition, in as many digits as one likes."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import mpmath as mp  # type: ignore[import-untyped, unused-ignore]

if TYPE_CHECKING:
    from collections.abc import Sequence

DIGITS = 50


@lru_cache
def stopping_chance(mean: float, shape: float) -> mp.mpf:
    """The gamma of the truncated negative binomial distribution of this mean."""
    with mp.workdps(DIGITS):
        if mean == 1:
            return mp.mpf(1)

        eta, low, high = mp.mpf(shape), mp.mpf(-100), mp.mpf(100)  # the log of its odds
        for _ in range(200):
            middle = (low + high) / 2
            gamma = 1 / (1 + mp.exp(middle))
            if shape == 0:
                found = (1 - 1 / gamma) / mp.log(gamma)
            else:
                found = eta * (1 - gamma) / (gamma * (1 - gamma**eta))
            low, high = (middle, high) if found < mean else (low, middle)
        return 1 / (1 + mp.exp(high))


def chance_of_runs(count: int, mean: float, shape: float | None) -> mp.mpf:
    """The probability of exactly so many runs."""
    with mp.workdps(DIGITS):
        if shape is None:
            return mp.exp(-mp.mpf(mean)) * mp.mpf(mean) ** count / mp.factorial(count)
        if count == 0:
            return mp.mpf(0)
        gamma = stopping_chance(mean, shape)
        if gamma == 1:
            return mp.mpf(count == 1)
        if shape == 0:
            return -((1 - gamma) ** count) / (count * mp.log(gamma))
        rising = mp.rf(mp.mpf(shape), count) / mp.factorial(count)
        return (1 - gamma) ** count * rising / (gamma ** -mp.mpf(shape) - 1)


def none_better(chance: mp.mpf, mean: float, shape: float | None) -> mp.mpf:
    """``E[chance^K]``: that every run does no better than what one run does with ``chance``."""
    with mp.workdps(DIGITS):
        if shape is None:
            return mp.exp(mp.mpf(mean) * (chance - 1))
        gamma = stopping_chance(mean, shape)
        if gamma == 1:
            return chance
        kept = 1 - (1 - gamma) * chance
        if shape == 0:
            return mp.log(kept) / mp.log(gamma)
        eta = mp.mpf(shape)
        return (kept**-eta - 1) / (gamma**-eta - 1)


def best_of(masses: Sequence[mp.mpf], mean: float, shape: float | None) -> list[mp.mpf]:
    """The law of the best run, where outcomes are listed from the worst to the best."""
    with mp.workdps(DIGITS):
        below = [mp.mpf(0)]
        for mass in masses:
            below.append(below[-1] + mass)
        reached = [none_better(chance / below[-1], mean, shape) for chance in below]
        return [reached[0], *(b - a for a, b in pairwise(reached))]


def delta(first: Sequence[mp.mpf], second: Sequence[mp.mpf], at: float) -> mp.mpf:
    """The hockey-stick divergence of two laws."""
    with mp.workdps(DIGITS):
        odds = mp.exp(mp.mpf(at))
        terms = (p - odds * q for p, q in zip(first, second, strict=True))
        return mp.fsum(term for term in terms if term > 0)
