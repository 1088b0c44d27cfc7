"""Mechanisms that break their claims, each in a way that was, or could well be, made in earnest.

Each stands beside its repaired twin, which differs in nothing but the mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quaestor import PureDP
from quaestor.audit import Ints, Rows, Timed, Vectorised, search
from quaestor.mechanisms import Laplace

__all__ = ["GALLERY", "SPACE", "Broken"]

_COINS = np.random.default_rng(20)


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A broken target, its twin, and what is claimed of both."""

    broken: Any
    repaired: Any
    neighbours: tuple[Any, Any]
    epsilon: float = 1.0
    runs: int = 12_000
    rounds: int = 1

    @property
    def claim(self) -> PureDP:
        """What is said of it, wrongly."""
        return PureDP(epsilon=self.epsilon)


def noisy(value: float, scale: float) -> float:
    """Laplace noise that is sound: whatever is found is not the noise's fault."""
    return Laplace(scale=scale).release(float(value))


def noisy_array(values: Any, scale: float) -> Any:
    """The same for an array."""
    return Laplace(scale=scale, coordinates=1).release(np.asarray(values, np.float64))


def half_the_noise(value: float) -> float:
    """Noise of scale 1/2 where epsilon = 1 needs 1."""
    return noisy(value, 0.5)


def enough_noise(value: float) -> float:
    return noisy(value, 1.0)


def clipped(rows: list[float]) -> float:
    return float(np.clip(rows, 0, 10).sum())


def clipped_sum(rows: list[float]) -> float:
    """A sum of rows clipped to [0, 10], with noise for it."""
    return noisy(clipped(rows), 10.0)


def sensitivity_forgotten_in_one_branch(rows: list[float]) -> float:
    """Short lists take a path on which the noise is for a count."""
    return noisy(clipped(rows), 1.0 if len(rows) <= 3 else 10.0)


def float_laplace(value: float, count: int) -> Any:
    """Laplace noise as numpy draws it, added to a float [Mironov 2012]."""
    return value + _COINS.laplace(size=count)


def grid_laplace(value: float, count: int) -> Any:
    return noisy_array(np.full(count, value), 1.0)


def sparse_vector_without_noise_on_queries(queries: list[float]) -> tuple[bool, ...]:
    """Algorithm 5 of Lyu, Su, Li 2017: noise on the threshold only, answers without end."""
    threshold = noisy(0.0, 2.0)
    return tuple(query >= threshold for query in queries)


def sparse_vector(queries: list[float]) -> tuple[bool, ...]:
    """Their Algorithm 1, which stops at the first query above the threshold."""
    threshold, told = noisy(0.0, 2.0), []
    for query in queries:
        told.append(noisy(query, 4.0) >= threshold)
        if told[-1]:
            break
    return tuple(told)


def seeded_noise(value: float) -> float:
    """The generator is made anew, from the same seed, for each answer."""
    return value + round(np.random.default_rng(7).laplace(scale=1.0), 3)


def same_noise_twice(counts: tuple[float, float], size: int) -> Any:
    """One draw of noise for two figures, of which one person may change both."""
    noise = noisy_array(np.zeros(size), 1.0)
    return np.stack([counts[0] + noise, counts[1] + noise], axis=1)


def noise_for_each(counts: tuple[float, float], size: int) -> Any:
    return np.stack([noisy_array(np.full(size, count), 1.0) for count in counts], axis=1)


def whole_budget(value: float, count: int) -> Any:
    """Each of four rounds spends what all together were to spend."""
    return noisy_array(np.full(count, value), 1.0)


def split_budget(value: float, count: int) -> Any:
    return noisy_array(np.full(count, value), 4.0)


def clipped_after_noise(rows: list[float]) -> float:
    """The sum is clipped to [0, 10] when the noise is already in it."""
    return float(np.clip(noisy(sum(rows), 10.0), 0, 10))


def missing_keys(groups: dict[str, int]) -> dict[str, float]:
    """Noisy counts of the groups that have somebody in them."""
    return {name: noisy(count, 1.0) for name, count in groups.items() if count}


def all_keys(groups: dict[str, int]) -> dict[str, float]:
    return {name: noisy(count, 1.0) for name, count in groups.items()}


def error_on_rare_data(rows: list[float]) -> float:
    """An unusual row ends in an error."""
    if max(rows) > 1000:
        raise OverflowError
    return clipped_sum(rows)


def slower_for_one(rows: list[float]) -> float:
    """The answer is private; the time it takes is not."""
    if 99.0 in rows:
        sum(i * i for i in range(3000))
    return 0.0


def as_fast_for_all(rows: list[float]) -> float:
    del rows
    return 0.0


def bounded_noise(value: int, count: int) -> Any:
    """Uniform noise of a bounded size has no finite epsilon."""
    return value + _COINS.integers(-10, 11, size=count)


LONG, SHORT = [1.0, 2.0, 10.0], [1.0, 2.0]
SPACE = search(Rows(Ints(0, 10), most=5), runs=5000)

GALLERY = {
    "half the noise": Broken(broken=half_the_noise, repaired=enough_noise, neighbours=(0.0, 1.0)),
    "sensitivity forgotten in one branch": Broken(
        broken=sensitivity_forgotten_in_one_branch, repaired=clipped_sum, neighbours=(LONG, SHORT)
    ),
    "float Laplace": Broken(
        broken=Vectorised(float_laplace), repaired=Vectorised(grid_laplace), neighbours=(0.0, 1.0)
    ),
    "sparse vector": Broken(
        broken=sparse_vector_without_noise_on_queries,
        repaired=sparse_vector,
        neighbours=([0.0, 1.0], [1.0, 0.0]),
    ),
    "seeded noise": Broken(
        broken=seeded_noise, repaired=enough_noise, neighbours=(0.0, 1.0), runs=4000
    ),
    "same noise twice": Broken(
        broken=Vectorised(same_noise_twice),
        repaired=Vectorised(noise_for_each),
        neighbours=((10.0, 5.0), (11.0, 5.0)),
        epsilon=2.0,
    ),
    "budget not split": Broken(
        broken=Vectorised(whole_budget),
        repaired=Vectorised(split_budget),
        neighbours=(0.0, 1.0),
        rounds=4,
    ),
    "clipped after noise": Broken(
        broken=clipped_after_noise, repaired=clipped_sum, neighbours=([1.0, 50.0], [1.0])
    ),
    "missing keys": Broken(
        broken=missing_keys, repaired=all_keys, neighbours=({"a": 5, "b": 1}, {"a": 5, "b": 0})
    ),
    "error on rare data": Broken(
        broken=error_on_rare_data, repaired=clipped_sum, neighbours=([1.0, 2000.0], [1.0])
    ),
    "slower for one": Broken(
        broken=Timed(slower_for_one), repaired=Timed(as_fast_for_all), neighbours=([99.0], [1.0])
    ),
    "bounded noise": Broken(
        broken=Vectorised(bounded_noise), repaired=Vectorised(grid_laplace), neighbours=(0, 1)
    ),
}
