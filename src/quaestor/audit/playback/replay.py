"""Neighbours with identical randomness: what differs then is due to the data alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.accounting.releases.base import check_count
from quaestor.audit.facts import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Replay", "distance_of", "replay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What replaying showed.

    ``largest_difference`` is the largest L1 distance of two outputs: with noise that is added, the
    sensitivity that was really used. ``other_path`` counts the seeds for which the two runs drew a
    different amount of randomness: the control flow depends on the data. ``other_shape`` counts
    those whose outputs cannot be subtracted from each other.

    >>> same = Replay(times=100, largest_difference=0.0, other_path=0, other_shape=0)
    >>> same.other_path
    0
    """

    times: int
    largest_difference: float
    other_path: int
    other_shape: int

    def problems(self, *, sensitivity: float) -> tuple[str, ...]:
        """What is wrong, in words, if the sensitivity should be this."""
        found = []
        if self.largest_difference > sensitivity * (1 + 1e-9):
            found.append(
                f"outputs differ by {self.largest_difference:g} where the sensitivity "
                f"is said to be {sensitivity:g}"
            )
        if self.other_path:
            found.append(f"the data decide how much noise is drawn ({self.other_path} times)")
        if self.other_shape:
            found.append(f"the data decide the form of the output ({self.other_shape} times)")
        return tuple(found)


def replay(
    target: Callable[[Any, np.random.Generator], Any],
    *,
    neighbours: tuple[Any, Any],
    times: int = 100,
    seed: int = 0,
) -> Replay:
    """Call ``target(database, generator)`` on both neighbours with equal generators.

    >>> def leaky(rows, coins):
    ...     return sum(rows) + coins.laplace(scale=1.0)
    >>> seen = replay(leaky, neighbours=([1, 2, 50], [1, 2]))
    >>> seen.problems(sensitivity=1.0)
    ('outputs differ by 50 where the sensitivity is said to be 1',)
    """
    largest, paths, shapes = 0.0, 0, 0
    for i in range(check_count("times", times, largest=10**7)):
        generators = [np.random.default_rng((seed, i)) for _ in range(2)]
        outputs = [target(x, g) for x, g in zip(neighbours, generators, strict=True)]
        states = [generator.bit_generator.state for generator in generators]
        paths += states[0] != states[1]
        distance = distance_of(*outputs)
        if distance is None:
            shapes += 1
        else:
            largest = max(largest, distance)
    return Replay(times=times, largest_difference=largest, other_path=paths, other_shape=shapes)


def distance_of(first: Any, second: Any) -> float | None:
    """The L1 distance of two outputs; 0 for equal ones that are no numbers, None for others."""
    if isinstance(first, dict) and isinstance(second, dict):
        if first.keys() != second.keys():
            return None
        first, second = list(first.values()), [second[key] for key in first]
    try:
        one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    except (TypeError, ValueError):
        return _distance_of_parts(first, second)
    if one.shape != two.shape:
        return None
    with np.errstate(invalid="ignore"):
        gaps = np.abs(one - two)
    apart = np.where(np.isnan(one) & np.isnan(two) | (one == two), 0.0, gaps)
    return float(np.sum(np.nan_to_num(apart, nan=np.inf, posinf=np.inf)))


def _distance_of_parts(first: Any, second: Any) -> float | None:
    """Of sequences part by part; all else is equal or not."""
    if not (isinstance(first, list | tuple) and isinstance(second, list | tuple)):
        return 0.0 if type(first) is type(second) and text_of(first) == text_of(second) else None
    if len(first) != len(second):
        return None
    parts = [distance_of(one, two) for one, two in zip(first, second, strict=True)]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
