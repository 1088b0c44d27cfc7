"""Brackets of a composed delta by brute force: losses rounded down and up to a lattice, convolved.

Shares nothing with the engine: cell masses come from ``erfc``, and the sums from a plain Fourier
transform of the zero-padded masses. Rounding every loss down can only lower delta; up, raise it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

FLOATS = 2e-13  # what erfc, the transform and the sums can be off by

_erfc = np.frompyfunc(math.erfc, 1, 1)


def normal_tail(x: np.ndarray) -> np.ndarray:
    values: np.ndarray = np.asarray(_erfc(np.asarray(x) / math.sqrt(2)), np.float64) / 2
    return values


def _normal_masses(edges: np.ndarray) -> np.ndarray:
    """The masses between rising edges, from the nearer tail."""
    above, below = normal_tail(edges), normal_tail(-edges)
    masses: np.ndarray = np.where(edges[:-1] > 0, above[:-1] - above[1:], below[1:] - below[:-1])
    return masses


@dataclass(frozen=True)
class SampledGaussianCells:
    """The losses of one sampled Gaussian, between multiples of a gap."""

    mu: float
    rate: float
    removing: bool

    def beyond(self, loss: float) -> float:
        """The probability of a larger log-ratio than this, in the world with more of them."""
        place = math.log1p(math.expm1(loss) / self.rate) / self.mu + self.mu / 2
        tails = normal_tail(np.array([place, place - self.mu]))
        return float((1 - self.rate) * tails[0] + self.rate * tails[1])

    def most(self, chance: float) -> float:
        """A log-ratio that is passed with no more than this probability."""
        low, high = 0.0, 60.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if self.beyond(middle) > chance else (low, middle)
        return high

    def masses(self, gap: float, most: float) -> tuple[int, np.ndarray, float]:
        """The index of the first cell, the masses of the cells, and the mass beyond ``most``."""
        first = math.floor(math.log1p(-self.rate) / gap)
        last = math.ceil(most / gap)
        ratios = gap * np.arange(first, last + 1)
        inner = np.expm1(ratios) / self.rate
        inside = inner > -1
        places = np.where(inside, np.log1p(np.where(inside, inner, 0.0)) / self.mu, -80.0)
        edges = np.maximum(places + self.mu / 2, -40.0)
        masses, beyond = _normal_masses(edges), float(normal_tail(edges[-1:])[0])
        if self.removing:
            masses = (1 - self.rate) * masses + self.rate * _normal_masses(edges - self.mu)
            far = float(normal_tail(edges[-1:] - self.mu)[0])
            return first, masses, (1 - self.rate) * beyond + self.rate * far
        return -last, masses[::-1], beyond  # those beyond lose less than any other


@dataclass(frozen=True)
class SampledLaplaceCells:
    """The losses of one sampled Laplace release, between multiples of a gap: all are bounded."""

    scale: float
    rate: float
    removing: bool

    @property
    def most(self) -> float:
        """The largest log-ratio there is."""
        return math.log1p(self.rate * math.expm1(1 / self.scale))

    def masses(self, gap: float, most: float) -> tuple[int, np.ndarray, float]:
        """The same, from the distribution of the noise's own log-ratio in either world."""
        largest = 1 / self.scale
        first = math.floor(math.log1p(self.rate * math.expm1(-largest)) / gap)
        last = math.ceil(most / gap) + 1
        inner = np.expm1(gap * np.arange(first, last + 1)) / self.rate
        edges = np.log1p(np.maximum(inner, math.expm1(-largest) * (1 + 1e-12)))
        inside = np.clip(edges, -largest, largest)
        # at most l, atoms included: 1 - e^(-(l + e)/2)/2 without the person, e^((l - e)/2)/2 with
        without = 1 - np.exp(-(inside + largest) / 2) / 2
        changed = np.exp((inside - largest) / 2) / 2
        for edge in (without, changed):
            edge[edges < -largest] = 0.0
            edge[edges >= largest] = 1.0
            edge[0] = 0.0
        masses = np.diff(without)
        if self.removing:
            return first, (1 - self.rate) * masses + self.rate * np.diff(changed), 0.0
        return -last, masses[::-1], 0.0


Masses = Callable[[float, float], tuple[int, np.ndarray, float]]


def brackets(
    masses: Masses, count: int, epsilon: float, *, gap: float, most: float
) -> tuple[float, float]:
    """Delta of ``count`` such losses at epsilon, from below and from above."""
    return brackets_of([(masses, count)], epsilon, gap=gap, most=most)


def brackets_of(
    parts: Sequence[tuple[Masses, int]], epsilon: float, *, gap: float, most: float
) -> tuple[float, float]:
    """The same of several kinds of losses, each so many times."""
    listed = [(masses(gap, most), count) for masses, count in parts]
    cells = sum(count * (each.size + 2) for (_, each, _), count in listed)
    size = 1 << math.ceil(math.log2(cells))
    product = np.ones(size // 2 + 1, np.complex128)
    for (_, each, _), count in listed:
        product = product * np.fft.rfft(each, size) ** count
    sums = np.fft.irfft(product, size)
    first = sum(start * count for (start, _, _), count in listed)
    beyond = sum(far * count for (_, _, far), count in listed)
    down = gap * (first + np.arange(size))
    up = down + gap * sum(count for _, count in parts)
    lower = float(np.sum(sums * -np.expm1(np.minimum(epsilon - down, 0.0))))
    upper = float(np.sum(sums * -np.expm1(np.minimum(epsilon - up, 0.0))))
    return lower - FLOATS, upper + beyond + FLOATS  # what is beyond counts in full, or not
