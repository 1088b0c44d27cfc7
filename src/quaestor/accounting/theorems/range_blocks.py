r"""Blocks of bounded-range releases: the laws that bound the game of a block from either side.

From above, a block is a table of its game, through all multisets of what is left
(:mod:`quaestor.accounting.ranges.adaptive_curves`). Beyond some hundred equal releases it is a
table of the last ones with the same law for each of the others
(:mod:`quaestor.accounting.ranges.steady_steps`).

From below, it is the tests that an analyst attains in the same game
(:mod:`quaestor.accounting.ranges.attained_tests`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from quaestor.accounting.loss.laws.bounded_range import BoundedRangeLoss
from quaestor.accounting.ranges.adaptive_curves import Above
from quaestor.accounting.ranges.attained_tests import AttainedTests, sides_of
from quaestor.accounting.ranges.cells import table_work
from quaestor.accounting.ranges.convex_curve import GameCurve
from quaestor.accounting.ranges.steady_steps import last_releases, steady_steps
from quaestor.accounting.theorems.range_laws import attained_loss, curve_loss, three_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.laws.law import Law

__all__ = ["Block", "Group", "Size", "block_above", "block_below", "groups_of"]

Group: TypeAlias = tuple[tuple[float, int], ...]
"""Ranges with their counts, the largest range first."""

_LEAKS = 10.0  # so many nats above its end a table may leak
_LARGEST_DEVIATION = 7.0  # of the losses of a base: beyond this 1 - delta is lost in floats
_MOST_WORK, _LITTLE_WORK = 5e8, 2e7  # chords compared for a table: a second, and less
_MOST_CELLS = 192
_FEWEST_CELLS = 4  # in the smallest range of a block


class Size(NamedTuple):
    """How finely the game is followed: cells in a range, releases in a base, and its lattice.

    The base of steady steps has ``parts`` nodes in each jump, other blocks about so many ``atoms``.
    """

    cells: int
    base: int
    parts: int = 8
    atoms: int = 600


class Block(NamedTuple):
    """The laws of one block with their counts, and what must be added to delta."""

    laws: tuple[tuple[Law, int], ...]
    leak: float


def groups_of(ranges: Sequence[tuple[float, int]], size: Size) -> list[Group]:
    """Decreasing ranges in blocks, each as large as its game can be followed to its end."""
    groups: list[Group] = []
    last: Group = ()
    for kind in ranges:
        if _is_long(kind[1], size):
            groups.append((kind,))
        elif last and not _is_feasible((*last, kind), size.cells):
            groups.append(last)
            last = (kind,)
        else:
            last = (*last, kind)
    return [*groups, last] if last else groups


def _is_long(count: int, size: Size) -> bool:
    return count > size.base + size.base // 4


@lru_cache(maxsize=128)
def block_above(group: Group, size: Size, depth: float, order: float) -> Block:
    """Laws of which no analyst exceeds the product in the game of this block."""
    (range_, count), *others = group
    if count == 1 and not others:
        return Block(((BoundedRangeLoss(range_), 1),), 0.0)
    if not others and (steady := _steady(range_, count, size, depth, order)) is not None:
        return steady
    if _is_long(count, size):
        return _repeated(range_, count, size, depth, order)
    lattice = _lattice(group, _cells(group, size.cells))
    heights = Above(*lattice, _reach(group, depth)).heights
    curve = GameCurve(cell=lattice.cell, heights=heights)
    whole = curve_loss(curve.every(max(len(heights) // size.atoms, 1)))
    if whole is None:
        return Block(tuple((BoundedRangeLoss(each), times) for each, times in group), 0.0)
    return Block(((whole, 1),), 0.0)


@lru_cache(maxsize=128)
def block_below(group: Group, size: Size, depth: float) -> Law | None:
    """A law that an analyst attains who plays this block last; None where floats know none."""
    (range_, count), *others = group
    if count == 1 and not others:
        return BoundedRangeLoss(range_)
    lattice = _lattice(group, _cells(group, size.cells))
    game = AttainedTests(*lattice, _reach(group, depth))
    stride = max(game.tests.shape[1] // size.atoms, 1)
    sides = sides_of(game.tests[:, ::stride], float(lattice.cell * stride))
    return None if sides is None else attained_loss(sides)


def _base(range_: float, size: Size) -> int:
    return max(min(size.base, math.floor((2 * _LARGEST_DEVIATION / range_) ** 2)), 1)


def _steady(range_: float, count: int, size: Size, depth: float, order: float) -> Block | None:
    """A table of the last releases, and one law for each of the others; None if there are none."""
    base = _base(range_, size)
    if count <= base + base // 4:
        return None
    steady = steady_steps(
        _last_releases(range_, base, size.cells, depth),
        size.cells,
        order=order,
        least=math.exp(_LEAKS - depth),
    )
    if steady is None:
        return None
    further = count - base
    stride = steady.jump // size.parts
    nodes = steady.base.at_every_node(int(steady.base.nodes[-1]))
    start = curve_loss(GameCurve(cell=steady.base.cell, heights=nodes).every(stride))
    if start is None:
        return None
    step = three_values(float(steady.base.cell * stride), size.parts, steady.chance)
    return Block(((start, 1), (step, further)), further * steady.leak)


def _repeated(range_: float, count: int, size: Size, depth: float, order: float) -> Block:
    """As many tables of a base as there are, and one of the rest."""
    times, rest = divmod(count, _base(range_, size))
    each = block_above(((range_, _base(range_, size)),), size, depth, order)
    laws = [(law, number * times) for law, number in each.laws]
    if rest:
        laws += block_above(((range_, rest),), size, depth, order).laws
    return Block(tuple(laws), 0.0)


@lru_cache(maxsize=64)
def _last_releases(range_: float, count: int, cells: int, depth: float) -> GameCurve:
    reach = _reach(((range_, count),), depth)
    return last_releases(range_, count, cells=cells, reach=reach)


def _reach(group: Group, depth: float) -> float:
    """Where delta is about e to the minus ``depth``; only accuracy depends on it."""
    deviation = math.hypot(*(each * math.sqrt(count) / 2 for each, count in group))
    reach = deviation * deviation / 2 + deviation * math.sqrt(2 * depth)
    return min(reach, sum(each * count for each, count in group))


class _CellLattice(NamedTuple):
    """Of each kind how many cells its range has, and how many releases there are."""

    sizes: tuple[Fraction, ...]
    counts: tuple[int, ...]
    cell: Fraction


def _lattice(group: Group, cells: int) -> _CellLattice:
    """A lattice with so many cells in the largest range, and as many as there are in the others."""
    cell = Fraction(group[0][0]) / cells
    sizes = tuple(Fraction(each) / cell for each, _ in group)
    return _CellLattice(sizes, tuple(count for _, count in group), cell)


def _work(group: Group, cells: int) -> float:
    sizes, counts, cell = _lattice(group, cells)
    return table_work(sizes, counts, nodes=_reach(group, 50.0) / float(cell) + 1)


def _is_feasible(group: Group, cells: int) -> bool:
    few = group[-1][0] * cells >= _FEWEST_CELLS * group[0][0]
    return few and _work(group, cells) <= _MOST_WORK


def _cells(group: Group, cells: int) -> int:
    """So many, or more where they cost little."""
    while cells < _MOST_CELLS and _work(group, 2 * cells) <= _LITTLE_WORK:
        cells *= 2
    return cells
