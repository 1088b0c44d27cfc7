"""How much worse tuned limits are than the best ones in hindsight, by simulation.

For each kind of data: histograms are drawn as the kernel would, limits are chosen by them, and the
root-mean-square error of a sum under these limits (clipping, and noise of the question's epsilon)
is set against that of the best limits of the same grid, chosen with all the data in view.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.limits.choices import Aim, choose_bounds, choose_cap
from quaestor.curator.limits.grids import count_edges, value_edges
from quaestor.curator.limits.histograms import UnitHistogram
from quaestor.mechanisms import Geometric

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["CASES", "Case", "Regret", "regret_of"]


@dataclass(frozen=True)
class Case:
    """Data of some kind: values (one a unit), or rows a unit."""

    name: str
    units: int
    made: Callable[[np.random.Generator, int], NDArray[Any]]
    counts: bool = False


@dataclass(frozen=True)
class Regret:
    """The error with tuned limits and with the best ones, over many repetitions."""

    name: str
    tune_epsilon: float
    tuned: float
    best: float
    unbounded: float
    """The error if bounds were a hundred times the largest value, as careful owners guess."""

    @property
    def ratio(self) -> float:
        """How many times worse."""
        return self.tuned / self.best


def _zipf(draws: np.random.Generator, n: int) -> NDArray[np.float64]:
    return np.minimum(draws.zipf(1.8, n), 100_000).astype(np.float64)


CASES = (
    Case("lognormal(3, 1), 300 units", 300, lambda d, n: d.lognormal(3, 1, n)),
    Case("lognormal(3, 1), 10,000 units", 10_000, lambda d, n: d.lognormal(3, 1, n)),
    Case("lognormal(3, 2), 10,000 units", 10_000, lambda d, n: d.lognormal(3, 2, n)),
    Case("normal(-50, 10), 1,000 units", 1_000, lambda d, n: d.normal(-50, 10, n)),
    Case("uniform to 1, 1,000 units", 1_000, lambda d, n: d.uniform(0, 1, n)),
    Case("all 42, 1,000 units", 1_000, lambda _, n: np.full(n, 42.0)),
    Case(
        "one in 100 has a million, 5,000 units",
        5_000,
        lambda d, n: np.where(d.random(n) < 0.01, 1e6, 10.0),
    ),
    Case("lognormal(3, 1), 30 units", 30, lambda d, n: d.lognormal(3, 1, n)),
    Case("zipf rows, 2,000 units", 2_000, _zipf, counts=True),
    Case("one row each, 1,000 units", 1_000, lambda _, n: np.ones(n), counts=True),
    Case("poisson(5) rows, 500 units", 500, lambda d, n: 1.0 + d.poisson(5, n), counts=True),
)


def regret_of(
    case: Case, *, tune_epsilon: float, epsilon: float = 1.0, times: int = 60, seed: int = 1
) -> Regret:
    """Play it so many times: other data and other noise each time."""
    draws = np.random.default_rng(seed)
    edges = count_edges() if case.counts else value_edges("real")
    aim = Aim(epsilon=epsilon)
    tuned, best, far = [], [], []
    for _ in range(times):
        data = case.made(draws, case.units)
        exact, _ = np.histogram(data, bins=[-np.inf, *np.nextafter(edges, np.inf), np.inf])
        noisy = Geometric(scale=1 / tune_epsilon, sensitivity=1).release(exact.astype(np.int64))
        histogram = UnitHistogram(edges=edges, counts=tuple(noisy.tolist()), scale=1 / tune_epsilon)
        if case.counts:
            cap = choose_cap(histogram, aim)
            tuned.append(_squared(data, 0.0, cap.most, epsilon))
            best.append(min(_squared(data, 0.0, edge, epsilon) for edge in edges[:40]))
        else:
            bounds = choose_bounds(histogram, aim)
            tuned.append(_squared(data, bounds.low, bounds.high, epsilon))
            best.append(_best(data, edges, epsilon))
        far.append(_squared(data, -100 * np.max(np.abs(data)), 100 * np.max(np.abs(data)), epsilon))
    root = [math.sqrt(float(np.mean(each))) for each in (tuned, best, far)]
    return Regret(case.name, tune_epsilon, *root)


def _squared(data: NDArray[np.float64], low: float, high: float, epsilon: float) -> float:
    cut = float(np.sum(data) - np.sum(np.clip(data, low, high)))
    return cut**2 + 2 * (max(abs(low), abs(high)) / epsilon) ** 2


def _best(data: NDArray[np.float64], edges: tuple[float, ...], epsilon: float) -> float:
    signs = np.unique(np.sign(data))
    lows = [edge for edge in edges if edge <= 0] if -1 in signs else [0.0]
    highs = [edge for edge in edges if edge >= 0] if 1 in signs else [0.0]
    if len(lows) > 1 and len(highs) > 1:
        return min(_squared(data, -size, size, epsilon) for size in highs)
    return min(_squared(data, low, high, epsilon) for low in lows for high in highs)
