"""Brackets of a composed delta by brute force: losses rounded down and up to a lattice, convolved.

Shares nothing with the engine: cell masses come from ``erfc``, and the sums from a plain Fourier
transform of the zero-padded masses. Rounding every loss down can only lower delta; up, raise it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

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


def sampled_laplace_masses(
    epsilon: float, rate: float, *, removing: bool
) -> Callable[[float, float], tuple[int, np.ndarray, float]]:
    """The same for Laplace noise of shift over scale ``epsilon``; an atom lies in its cell."""

    def masses(gap: float, most: float) -> tuple[int, np.ndarray, float]:  # noqa: ARG001
        first = math.floor(math.log1p(rate * math.expm1(-epsilon)) / gap)
        last = math.floor(math.log1p(rate * math.expm1(epsilon)) / gap) + 1
        inner = np.expm1(gap * np.arange(first, last + 1)) / rate
        inside = inner > -1
        noise = np.where(inside, np.log1p(np.where(inside, inner, 0.0)), -math.inf)
        # l = epsilon: noise beyond the shift; l = -epsilon: noise below 0
        without = np.where(noise >= epsilon, 1.0, 1 - np.exp(-(noise + epsilon) / 2) / 2)
        without = np.where(noise < -epsilon, 0.0, without)
        masses = np.diff(np.where(noise >= epsilon, 1.0, without))
        if removing:
            shifted = np.where(noise >= epsilon, 1.0, np.exp((noise - epsilon) / 2) / 2)
            shifted = np.where(noise < -epsilon, 0.0, shifted)
            masses = (1 - rate) * masses + rate * np.diff(shifted)
            return first, masses, 0.0
        return -last, masses[::-1], 0.0

    return masses


def brackets(
    masses: Callable[[float, float], tuple[int, np.ndarray, float]],
    count: int,
    epsilon: float,
    *,
    gap: float,
    most: float,
) -> tuple[float, float]:
    """Delta of ``count`` such losses at epsilon, from below and from above."""
    first, cells, beyond = masses(gap, most)
    size = 1 << math.ceil(math.log2(count * (cells.size + 2)))
    sums = np.fft.irfft(np.fft.rfft(cells, size) ** count, size)
    down = gap * (first * count + np.arange(size))
    lower = float(np.sum(sums * -np.expm1(np.minimum(epsilon - down, 0.0))))
    up = down + gap * count
    gains = -np.expm1(np.minimum(epsilon - up, 0.0))
    upper = float(np.sum(sums * gains))
    return lower - FLOATS, upper + count * beyond + FLOATS  # what is beyond counts in full, or not
