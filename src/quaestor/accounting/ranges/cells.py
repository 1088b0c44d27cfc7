r"""Ranges as whole numbers of cells: exactly if all are equal, and nearly so if they differ.

A release of a smaller range is also one of a larger range. So whatever is computed for ranges that
are a little too large is an upper bound, and for ranges a little too small a lower bound. Three
simplifications follow, each of which only costs accuracy:

- ranges that are nearly alike are one kind, of the largest or the smallest of them;
- the cells are a little too wide for the upper bound, and a little too narrow for the lower one;
- *crumbs*, tiny ranges of sum c, are left out below, and above they only move epsilon: one more
  release of range c turns f(a) into at most :math:`f(a e^{-c})`. Proof: a chord over a whose ends
  have the ratio :math:`e^c` begins at :math:`a e^{-c}` or later, and f decreases; if the crumb is
  not the next release, the same is true by induction, since a step commutes with scaling a.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RangeCells", "fitted_cells", "table_work"]

_OVERHEAD = 1000.0  # so many chords could be compared while numpy prepares to compare any


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeCells:
    """Kinds of ranges: ``counts[i]`` releases of ``sizes[i]`` cells, and what was left out.

    ``sizes[i] * wide`` is at least, and ``sizes[i] * narrow`` at most, each range of the kind.
    """

    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    narrow: Fraction
    wide: Fraction
    crumbs: Fraction

    def work(self, reach: float) -> float:
        """About how many chords are compared for a table up to the epsilon ``reach``."""
        return table_work(self.sizes, self.counts, nodes=reach / float(self.wide) + 1)


def table_work(sizes: Sequence[int | Fraction], counts: Sequence[int], *, nodes: float) -> float:
    """About how many chords are compared over so many nodes, for all multisets of the kinds."""
    multisets = math.prod(float(count + 1) for count in counts)
    return sum(
        (_chords(size) + 4) * (multisets * count / (count + 1) * nodes + sum(counts) * _OVERHEAD)
        for size, count in zip(sizes, counts, strict=True)
    )


def _chords(size: int | Fraction) -> int:
    """Over a node; twice as many if a range is no whole number of cells."""
    return math.floor(size) if size == int(size) else 2 * math.floor(size) + 2


@dataclass(slots=True)
class _Kind:
    largest: float
    smallest: float
    count: int


def fitted_cells(
    ranges: Sequence[tuple[float, int]], *, cells: int, alike: float, negligible: float
) -> RangeCells:
    """A lattice with ``cells`` to twice as many in the largest range, for decreasing ranges.

    Ranges that differ by less than the factor ``1 + alike`` become one kind; ``negligible`` is what
    the crumbs may sum up to.
    """
    whole = list(ranges)
    crumbs = Fraction(0)
    while len(whole) > 1 and crumbs + Fraction(whole[-1][0]) * whole[-1][1] <= negligible:
        range_, count = whole.pop()
        crumbs += Fraction(range_) * count
    kinds: list[_Kind] = []
    for range_, count in whole:
        if kinds and kinds[-1].largest <= range_ * (1 + alike):
            kinds[-1].smallest = range_
            kinds[-1].count += count
        else:
            kinds.append(_Kind(range_, range_, count))
    sizes = min(
        (_sizes(kinds, each) for each in range(cells, 2 * cells)),
        key=lambda sizes: _misfit(kinds, sizes),
    )
    return RangeCells(
        sizes=sizes,
        counts=tuple(kind.count for kind in kinds),
        narrow=min(Fraction(k.smallest) / size for k, size in zip(kinds, sizes, strict=True)),
        wide=max(Fraction(k.largest) / size for k, size in zip(kinds, sizes, strict=True)),
        crumbs=crumbs,
    )


def _sizes(kinds: Sequence[_Kind], cells: int) -> tuple[int, ...]:
    return tuple(max(1, round(kind.largest / kinds[0].largest * cells)) for kind in kinds)


def _misfit(kinds: Sequence[_Kind], sizes: tuple[int, ...]) -> float:
    """By what factor the widest cell that is needed exceeds the narrowest."""
    widths = [kind.largest / size for kind, size in zip(kinds, sizes, strict=True)]
    return max(widths) / min(widths)
