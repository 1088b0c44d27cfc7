r"""How far one person can move the answers of a matrix mechanism.

A person takes part in some steps; the pattern of these steps picks columns of the strategy matrix
C. With a change of length at most 1 in each step the answers move by :math:`\sum_jC_{i_j}u_j`, of
square at most :math:`\sum_{j,l}|\langle C_{i_j}, C_{i_l}\rangle|`, which is attained by equal
changes where the inner products of the pattern's columns are not negative. The lower end is what
some changes attain that differ in their signs only.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["Participation", "pattern_sensitivity", "root_bounds"]

_UNIT = 2.0**-53
_TINY = 1e-300  # more than all products that underflow
_LISTED = 5000  # patterns, each with its sum


class Participation(NamedTuple):
    """In how many steps a person takes part at most, and how far apart they are.

    Two of the steps are at least ``separation`` apart; with ``periodic`` exactly that from one to
    the next, as where each epoch has the same order.
    """

    most: int = 1
    separation: int = 1
    periodic: bool = False


def pattern_sensitivity(columns: Floats, participation: Participation) -> Bounds:
    """Enclose the largest change over all patterns, for a matrix that is given in full.

    The upper end is exact where it is attained: for one participation, for columns that do not
    meet, for non-negative inner products with a fixed period or with few patterns. Otherwise each
    column is charged for its own worst companions: sound, and mostly a few percent too much.
    """
    exponent = math.frexp(float(np.max(np.abs(columns))))[1]  # squares of tiny entries vanish
    scaled = np.ldexp(columns, -exponent)
    if participation.most == 1:
        lower, upper = _longest_square(scaled)
        return _rooted(lower, upper, exponent, terms=1)
    products = scaled.T @ scaled
    sizes = np.abs(scaled).T @ np.abs(scaled)
    doubt = 4 * (columns.shape[0] + 2) * _UNIT * sizes + _TINY
    doubt[sizes == 0.0] = 0.0  # nothing was added up
    most = np.abs(products) + doubt
    count = products.shape[0]
    fitting = Participation(
        min(participation.most, -(-count // participation.separation)),
        participation.separation,
        participation.periodic,
    )
    upper = _largest_sum(most, fitting)
    samples = list(_samples(most, fitting))
    least = products - doubt
    lower = max(_sum_of(least, pattern) for pattern in samples)
    if bool(np.any(products < 0.0)):
        worst = max(samples, key=lambda pattern: _sum_of(most, pattern))
        lower = max(lower, _signed_sum(products, doubt, worst))
    return _rooted(lower, upper, exponent, terms=fitting.most)


def _longest_square(columns: Floats) -> tuple[float, float]:
    """Enclose the largest sum of squares of a column."""
    longest = float(np.max(np.sum(columns**2, axis=0)))
    doubt = 4 * (columns.shape[0] + 2) * _UNIT * longest + _TINY
    return longest - doubt, longest + doubt


def _rooted(lower: float, upper: float, exponent: int, *, terms: int) -> Bounds:
    """The root of a sum of so many columns' products, as large as they were before scaling."""
    slack = 8 * (terms + 2) ** 2 * _UNIT
    unit = root_bounds(max(lower, 0.0) * (1 - slack), upper * (1 + slack))
    return Bounds(
        lower=math.nextafter(math.ldexp(unit.lower, exponent), 0.0),
        upper=math.nextafter(math.ldexp(unit.upper, exponent), math.inf),
    )


def root_bounds(low: float, high: float) -> Bounds:
    """Enclose the root of a number between two ends."""
    ends = math.nextafter(math.sqrt(low), 0.0), math.nextafter(math.sqrt(high), math.inf)
    return Bounds(lower=min(ends), upper=ends[1])


def _largest_sum(most: Floats, fitting: Participation) -> float:
    count = most.shape[0]
    if fitting.periodic:
        return max(_sum_of(most, pattern) for pattern in _periods(count, fitting))
    if _how_many(count, fitting) <= _LISTED:
        return max(_sum_of(most, pattern) for pattern in _patterns(count, fitting))
    return _with_worst_companions(most, fitting)[0]


def _sum_of(square: Floats, pattern: tuple[int, ...]) -> float:
    return float(np.sum(square[np.ix_(pattern, pattern)]))


def _signed_sum(products: Floats, doubt: Floats, pattern: tuple[int, ...]) -> float:
    """What changes of either sign attain, each sign chosen after those before it."""
    inner = products[np.ix_(pattern, pattern)]
    signs = np.ones(len(pattern))
    for place in range(1, len(pattern)):
        signs[place] = 1.0 if inner[place, :place] @ signs[:place] >= 0.0 else -1.0
    return float(signs @ inner @ signs) - _sum_of(doubt, pattern)


def _periods(count: int, fitting: Participation) -> Iterator[tuple[int, ...]]:
    reach = fitting.most * fitting.separation
    for first in range(count):
        yield tuple(range(first, min(first + reach, count), fitting.separation))


def _samples(most: Floats, fitting: Participation) -> Iterator[tuple[int, ...]]:
    """Patterns that are allowed: all where they are few, otherwise those that promise most."""
    count = most.shape[0]
    if fitting.periodic:
        yield from _periods(count, fitting)
    elif _how_many(count, fitting) <= _LISTED:
        yield from _patterns(count, fitting)
    else:
        yield from _periods(count, fitting)
        yield _with_worst_companions(most, fitting)[1]


def _how_many(count: int, fitting: Participation) -> int:
    return sum(
        math.comb(max(count - (size - 1) * (fitting.separation - 1), 0), size)
        for size in range(1, fitting.most + 1)
    )


def _patterns(count: int, fitting: Participation) -> Iterator[tuple[int, ...]]:
    """Every pattern: steps without the gaps that they must have, and then the gaps."""
    gap = fitting.separation - 1
    for size in range(1, fitting.most + 1):
        for chosen in itertools.combinations(range(count - (size - 1) * gap), size):
            yield tuple(step + place * gap for place, step in enumerate(chosen))


def _with_worst_companions(most: Floats, fitting: Participation) -> tuple[float, tuple[int, ...]]:
    """Charge every participation for the worst ones before and after it, by their numbers.

    The j-th of k participations meets at most j - 1 before and k - j after it. The largest sum of
    a row over so many separated steps is a dynamic programme, and so is the largest sum of charges.
    With it, the pattern that is charged most.
    """
    times, apart = fitting.most, fitting.separation
    before = _row_sums(most, times, apart)
    after = [row_sums[::-1] for row_sums in _row_sums(most[::-1, ::-1], times, apart)]
    best: list[Floats] = []
    for place in range(times):
        charges = np.diagonal(most) + before[place] + after[times - 1 - place]
        if place:
            charges = charges + _shifted(np.maximum.accumulate(best[-1]), apart)
        best.append(charges)
    places = max(range(times), key=lambda place: float(np.max(best[place])))
    pattern = [int(np.argmax(best[places]))]
    for place in range(places - 1, -1, -1):
        if pattern[-1] < apart:
            break
        pattern.append(int(np.argmax(best[place][: pattern[-1] - apart + 1])))
    return float(np.max(best[places])), tuple(reversed(pattern))


def _row_sums(most: Floats, times: int, apart: int) -> list[Floats]:
    """The largest sum of each row over at most 0, 1, ... steps that end ``apart`` before it."""
    count = most.shape[0]
    rows = np.arange(count)
    within = np.zeros_like(most)
    found = [np.zeros(count)]
    for _ in range(times - 1):
        longer = most.copy()
        longer[:, apart:] += within[:, :-apart] if apart < count else 0.0
        within = np.maximum.accumulate(longer, axis=1)
        ends = np.maximum(rows - apart, 0)
        found.append(np.where(rows >= apart, within[rows, ends], 0.0))
    return found


def _shifted(values: Floats, by: int) -> Floats:
    moved: Floats = np.zeros_like(values)
    moved[by:] = values[: values.size - by]
    return moved
