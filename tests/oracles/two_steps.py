"""Delta of two releases of Gaussian noise on samples, by quadrature in plain floats."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

__all__ = ["Sampled", "two_steps"]

_erfc = np.frompyfunc(math.erfc, 1, 1)


class Sampled(NamedTuple):
    """Gaussian noise of shift over sigma ``mu``, each person in with probability ``rate``."""

    mu: float
    rate: float


def two_steps(epsilon: float, first: Sampled, second: Sampled, *, removing: bool) -> float:
    """The first one's noise is integrated out, on 48,000 places."""
    mu, rate = first
    nodes, weights = np.polynomial.legendre.leggauss(8)
    panels, low, high = 6000, -11.0, 11.0 + mu
    half = (high - low) / panels / 2
    middles = low + half * (2 * np.arange(panels) + 1)
    x = (middles[:, None] + half * nodes).ravel()
    losses = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
    masses = np.tile(weights * half, panels) * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    if removing:
        left = _single(epsilon - losses, second, removing=True)
        return float(np.sum(masses * np.exp(losses) * left))
    return float(np.sum(masses * _single(epsilon + losses, second, removing=False)))


def _single(epsilons: np.ndarray, step: Sampled, *, removing: bool) -> np.ndarray:
    """Delta of one release at epsilons of either sign: the test "the loss exceeds epsilon"."""
    mu, rate = step
    odds = np.exp(epsilons if removing else -epsilons)
    inner = (odds - 1 + rate) / rate
    inside = inner > 0
    place = np.where(inside, np.log(np.where(inside, inner, 1.0)) / mu + mu / 2, -40.0)
    side = 1.0 if removing else -1.0
    without = _tail(side * place)
    mixed = (1 - rate) * without + rate * _tail(side * (place - mu))
    if removing:
        return np.asarray(mixed - odds * without)
    return np.where(inside, without - mixed / odds, 0.0)


def _tail(x: np.ndarray) -> np.ndarray:
    values: np.ndarray = np.asarray(_erfc(x / math.sqrt(2)), np.float64) / 2
    return values
