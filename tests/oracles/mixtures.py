"""Mixtures of Gaussians, and sampling by listing every sample: slowly, from the definitions."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import TypeAlias

from mpmath import mp, mpf  # type: ignore[import-untyped, unused-ignore]

from tests.oracles.composition import Number, rounded

Centres: TypeAlias = dict[Fraction, Fraction]
"""The probability of every centre."""


def density(mixture: Centres, x: mpf) -> mpf:
    """Of bells of deviation 1 around the centres."""
    bells = (
        rounded(weight) * mp.exp(-((x - rounded(centre)) ** 2) / 2)
        for centre, weight in mixture.items()
    )
    return mp.fsum(bells) / mp.sqrt(2 * mp.pi)


def monotone_delta(above: Centres, below: Centres, *, at: Number) -> mpf:
    """The hockey stick where the ratio rises with x: the tails from where it is e^at."""
    with mp.workdps(60):
        epsilon = rounded(at)

        def beyond(x: mpf) -> mpf:
            return mp.log(density(above, x)) - mp.log(density(below, x)) - epsilon

        low, high = mpf(-8), mpf(8)
        while beyond(high) < 0:
            high *= 2
            if high > 10**9:
                return mpf(0)
        while beyond(low) > 0:
            low *= 2
            if low < -(10**9):
                break
        for _ in range(230):
            middle = (low + high) / 2
            low, high = (middle, high) if beyond(middle) < 0 else (low, middle)
        return _tail(above, low) - mp.exp(epsilon) * _tail(below, low)


def _tail(mixture: Centres, x: mpf) -> mpf:
    tails = (
        rounded(weight) * mp.erfc((x - rounded(centre)) / mp.sqrt(2)) / 2
        for centre, weight in mixture.items()
    )
    return mp.fsum(tails)


def hockey_stick(first: Centres, second: Centres, *, at: float, steps: int = 4000) -> float:
    """Any two mixtures on the line, by a midpoint rule: good to the square of its step."""
    import numpy as np

    centres = [float(c) for c in (*first, *second)]
    x = np.linspace(min(centres) - 9.0, max(centres) + 9.0, steps + 1)
    x = (x[1:] + x[:-1]) / 2

    def values(mixture: Centres) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        bells = [float(w) * np.exp(-((x - float(c)) ** 2) / 2) for c, w in mixture.items()]
        total: np.ndarray[tuple[int], np.dtype[np.float64]] = np.sum(bells, axis=0) / 2.0
        return total * math.sqrt(2 / math.pi)

    gain = np.maximum(values(first) - np.exp(at) * values(second), 0.0)
    return float(np.sum(gain) * (x[1] - x[0]))


def truncated_sums(values: Sequence[Fraction], *, rate: Fraction, batch: int) -> Centres:
    """The sum over a Poisson sample, of which a random part is kept where it is too large."""
    found: defaultdict[Fraction, Fraction] = defaultdict(Fraction)
    people = range(len(values))
    for size in range(len(values) + 1):
        chance = rate**size * (1 - rate) ** (len(values) - size)
        for sample in combinations(people, size):
            kept = min(size, batch)
            for part in combinations(sample, kept):
                found[sum((values[i] for i in part), Fraction(0))] += chance / comb(size, kept)
    return dict(found)


def fixed_size_sums(values: Sequence[Fraction], *, sample: int, repeated: bool) -> Centres:
    """The sum over a sample of fixed size, with or without repetition."""
    people = range(len(values))
    draws: Iterator[tuple[int, ...]] = (
        product(people, repeat=sample) if repeated else combinations(people, sample)
    )
    found: defaultdict[Fraction, Fraction] = defaultdict(Fraction)
    total = 0
    for draw in draws:
        found[sum((values[i] for i in draw), Fraction(0))] += Fraction(1)
        total += 1
    return {centre: weight / total for centre, weight in found.items()}
