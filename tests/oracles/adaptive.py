"""Analysts who choose releases by what they have seen: the worst of all their strategies.

Paper:
    Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters" (arXiv 1605.08294), Algorithm 2,
    the game in which the parameters, too, are the adversary's choice.

A kind of release is a set of moves, each with two outcomes, of which the adversary picks one: a
black box is randomized response (Kairouz, Oh, Viswanath, Theorem 2.5), a bounded range has a move
for every t (Dong, Durfee, Rogers, Lemma 4.1). The state of the game is the loss so far and how
often each kind was used; the best strategy follows by going backwards. All losses are whole
multiples of ``unit``. Floats: about twelve digits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = tuple[int, ...]

__all__ = ["Kind", "black_box", "bounded_range", "fixed_delta", "worst_chance", "worst_delta"]


class Move(NamedTuple):
    """Two outcomes: the chance of the first in the first world, and both losses in units."""

    chance: float
    up: int
    down: int


class Kind(NamedTuple):
    """What the adversary may do with one release, and the chance that everything is told."""

    moves: tuple[Move, ...]
    told: float
    reach: int


def black_box(size: int, *, unit: float, told: float = 0.0) -> Kind:
    """Any release with an epsilon of ``size`` units and this delta."""
    truth = 1 / (1 + math.exp(-size * unit))
    return Kind((Move(truth, size, -size),), told, size)


def bounded_range(size: int, *, unit: float) -> Kind:
    """Releases with a range of ``size`` units whose losses are whole units."""
    moves = []
    for t in range(size + 1):
        chance = math.expm1((t - size) * unit) / math.expm1(-size * unit)
        moves.append(Move(chance, t, t - size))
    return Kind(tuple(moves), 0.0, size)


def _after(values: Floats, kind: Kind) -> Floats:
    """The best expectation, in the first world, after one release; being told pays one."""
    padded = np.pad(values, kind.reach, mode="edge")  # beyond every loss that can occur

    def moved(by: int) -> Floats:
        return padded[kind.reach + by : kind.reach + by + values.size]

    each = [
        move.chance * moved(move.up) + (1 - move.chance) * moved(move.down) for move in kind.moves
    ]
    best: Floats = kind.told + (1 - kind.told) * np.maximum.reduce(each)
    return best


def _next(counts: Counts, i: int) -> Counts:
    return (*counts[:i], counts[i] + 1, *counts[i + 1 :])


def _reachable(choices: int, allowed: Callable[[Counts], bool]) -> list[Counts]:
    """All numbers of uses that can be reached, those with more uses first."""
    seen: list[Counts] = []
    level = [(0,) * choices]
    while level:
        seen += level
        more = {_next(counts, i): None for counts in level for i in range(choices)}
        level = [counts for counts in more if allowed(counts)]
    return seen[::-1]


def _worst(
    kinds: Sequence[Kind],
    unit: float,
    allowed: Callable[[Counts], bool],
    value_at: Callable[[Counts, Floats, Floats], Floats],
) -> float:
    reachable = _reachable(len(kinds), allowed)
    reach = max(sum(n * k.reach for n, k in zip(c, kinds, strict=True)) for c in reachable)
    losses = np.asarray(np.arange(-reach, reach + 1) * unit, np.float64)
    value: dict[Counts, Floats] = {}
    for counts in reachable:
        best = np.zeros(losses.size)
        for i, kind in enumerate(kinds):
            after = value.get(_next(counts, i))
            if after is not None:
                best = np.maximum(best, _after(after, kind))
        value[counts] = value_at(counts, losses, best)
    return float(value[(0,) * len(kinds)][reach])


def worst_delta(
    kinds: Sequence[Kind], *, unit: float, at: float, allowed: Callable[[Counts], bool]
) -> float:
    """The largest delta at epsilon ``at`` that any strategy reaches within ``allowed`` uses."""

    def value_at(_: Counts, losses: Floats, goes_on: Floats) -> Floats:
        return np.maximum(goes_on, np.maximum(-np.expm1(at - losses), 0.0))

    return _worst(kinds, unit, allowed, value_at)


def worst_chance(
    kinds: Sequence[Kind],
    *,
    unit: float,
    reading: Callable[[Counts], float],
    allowed: Callable[[Counts], bool],
) -> float:
    """The largest chance, over all strategies, that the loss is ever above its reading."""

    def value_at(counts: Counts, losses: Floats, goes_on: Floats) -> Floats:
        return np.where(losses > reading(counts) + 1e-12, 1.0, goes_on)

    return _worst(kinds, unit, allowed, value_at)


def fixed_delta(kinds: Sequence[Kind], counts: Counts, *, unit: float, at: float) -> float:
    """The exact delta at epsilon ``at`` of so many uses of each, fixed in advance."""
    reach = sum(n * kind.reach for n, kind in zip(counts, kinds, strict=True))
    value = np.maximum(-np.expm1(at - np.arange(-reach, reach + 1) * unit), 0.0)
    for n, kind in zip(counts, kinds, strict=True):
        for _ in range(n):
            value = _after(value, kind)
    return float(value[reach])
