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
_EXPONENTS = 1000  # of powers of two that are floats
_USUAL_EXPONENTS = 64  # of entries whose squares are far from the ends of floats
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
    size = max(-float(np.min(columns)), float(np.max(columns)))
    exponent = math.frexp(size)[1]  # squares of tiny entries vanish
    exponent = exponent if abs(exponent) > _USUAL_EXPONENTS else 0
    scaled = _scaled(columns, -exponent) if exponent else columns
    if participation.most == 1:
        lower, upper = _longest_square(scaled)
        return _rooted(lower, upper, exponent, terms=1)
    count = columns.shape[1]
    fitting = Participation(
        min(participation.most, -(-count // participation.separation)),
        participation.separation,
        participation.periodic,
    )
    lower, upper = _largest_sum(_Products.of(scaled), fitting)
    return _rooted(lower, upper, exponent, terms=fitting.most)


class _Products(NamedTuple):
    """The inner products of all columns, and how they are rounded."""

    nominal: Floats
    most: Floats  # their sizes, with what rounding adds where some are negative
    doubt: Floats | None  # how much that is; None where nothing is negative
    units: float  # how much of a product that is where nothing is

    @classmethod
    def of(cls, columns: Floats) -> _Products:
        """By one matrix product, and another one of the sizes where some entry is negative."""
        nominal = columns.T @ columns
        units = 4 * (columns.shape[0] + 2) * _UNIT
        if not float(np.min(columns)) < 0.0:
            return cls(nominal, nominal, None, units)
        absolute = np.abs(columns)
        sizes = absolute.T @ absolute
        doubt = units * sizes + _TINY
        doubt[sizes == 0.0] = 0.0  # nothing was added up
        return cls(nominal, np.abs(nominal) + doubt, doubt, 0.0)

    def rounded(self, lower: float, upper: float, terms: int) -> tuple[float, float]:
        """Sums of so many terms squared, with what rounding did to products that add up."""
        if self.doubt is not None:
            return lower, upper
        tiny = terms**2 * _TINY
        return lower * (1 - self.units) - tiny, upper * (1 + self.units) + tiny


def _scaled(columns: Floats, exponent: int) -> Floats:
    """Times a power of two: exactly, but for what underflows."""
    if abs(exponent) < _EXPONENTS:
        return columns * 2.0**exponent
    return np.ldexp(columns, exponent)


def _longest_square(columns: Floats) -> tuple[float, float]:
    """Enclose the largest sum of squares of a column."""
    longest = float(np.max(np.einsum("ij,ij->j", columns, columns)))
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


def _largest_sum(products: _Products, fitting: Participation) -> tuple[float, float]:
    """Enclose the largest sum of sizes over all patterns: from below by some that are allowed."""
    most, count = products.most, products.most.shape[0]
    if not fitting.periodic and _how_many(count, fitting) <= _LISTED:
        sums = {pattern: _sum_of(most, pattern) for pattern in _patterns(count, fitting)}
        lower = max(_attained(products, pattern) for pattern in sums)
        worst = max(sums, key=lambda pattern: sums[pattern])
        upper = sums[worst]
    else:
        in_turn = _period_sums(most, fitting)
        first = int(np.argmax(in_turn))
        worst, upper = _period(first, count, fitting), float(in_turn[first])
        attained = in_turn
        if products.doubt is not None:
            attained = _period_sums(products.nominal - products.doubt, fitting)
        lower = float(np.max(attained - 2 * (fitting.most + 1) ** 2 * _UNIT * in_turn))
        if not fitting.periodic:
            upper, charged = _with_worst_companions(most, fitting)
            lower = max(lower, _attained(products, charged))
            if _sum_of(most, charged) > in_turn[first]:
                worst = charged
    if products.doubt is not None:
        lower = max(lower, _signed_sum(products, products.doubt, worst))
    return products.rounded(lower, upper, fitting.most)


def _sum_of(square: Floats, pattern: tuple[int, ...]) -> float:
    return float(np.sum(square[np.ix_(pattern, pattern)]))


def _attained(products: _Products, pattern: tuple[int, ...]) -> float:
    """What equal changes attain at least."""
    most = _sum_of(products.most, pattern)
    attained = most
    if products.doubt is not None:
        attained = _sum_of(products.nominal, pattern) - _sum_of(products.doubt, pattern)
    return attained - 4 * (len(pattern) + 1) ** 2 * _UNIT * most


def _signed_sum(products: _Products, doubt: Floats, pattern: tuple[int, ...]) -> float:
    """What changes of either sign attain, each sign chosen after those before it."""
    inner = products.nominal[np.ix_(pattern, pattern)]
    signs = np.ones(len(pattern))
    for place in range(1, len(pattern)):
        signs[place] = 1.0 if inner[place, :place] @ signs[:place] >= 0.0 else -1.0
    rounding = 4 * (len(pattern) + 1) ** 2 * _UNIT * _sum_of(products.most, pattern)
    return float(signs @ inner @ signs) - _sum_of(doubt, pattern) - rounding


def _period(first: int, count: int, fitting: Participation) -> tuple[int, ...]:
    """The steps from the first one on, each ``separation`` after the one before."""
    reach = fitting.most * fitting.separation
    return tuple(range(first, min(first + reach, count), fitting.separation))


def _period_sums(square: Floats, fitting: Participation) -> Floats:
    """The sum over the pattern of each first step, pair after pair, for all at once."""
    count, apart = square.shape[0], fitting.separation
    sums = np.zeros(count)
    for ahead in range(1 - fitting.most, fitting.most):
        entries = np.diagonal(square, ahead * apart)  # of pairs that are so far apart
        for place in range(fitting.most - abs(ahead)):
            pairs = entries[place * apart :]
            sums[: pairs.size] += pairs
    return sums


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
    before, after = _row_sums(most, times, apart)
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


def _row_sums(most: Floats, times: int, apart: int) -> tuple[Floats, Floats]:
    """The largest sum of each row over at most 0, 1, ... steps that end ``apart`` before it.

    And of those that begin ``apart`` after it: the same from the other end. Step after step, for
    all rows and numbers at once: the best of so many steps up to this one is the best without it,
    or it and the best of one step fewer that ended ``apart`` before it.
    """
    count = most.shape[0]
    found = np.zeros((times, 2, count))
    if _far_apart_meet(most, apart):
        entries = np.stack((most.T, most[::-1, ::-1].T), axis=1)
        past = np.zeros((apart, times, 2, count))  # the best of the last steps, in turn
        for step in range(count - apart):
            rows = slice(step + apart, count)  # others are too near
            now, last = past[step % apart], past[(step - 1) % apart]
            longer = now[:-1, :, rows] + entries[step, :, rows]
            np.maximum(last[1:, :, rows], longer, out=now[1:, :, rows])
            found[:, :, step + apart] = now[:, :, step + apart]
    return found[:, 0], found[:, 1, ::-1]


def _far_apart_meet(most: Floats, apart: int) -> bool:
    """Whether some columns that are so far apart have a product."""
    filled, places = most != 0.0, np.arange(most.shape[0])
    first = np.where(filled.any(axis=1), filled.argmax(axis=1), places)
    last = np.where(filled.any(axis=1), places[-1] - filled[:, ::-1].argmax(axis=1), places)
    return bool(np.any(places - first >= apart) or np.any(last - places >= apart))


def _shifted(values: Floats, by: int) -> Floats:
    moved: Floats = np.zeros_like(values)
    moved[by:] = values[: values.size - by]
    return moved
