"""The bins that units are counted in: geometric, and the same whatever the data are."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from quaestor.curator.language.expressions import Kind

__all__ = ["count_edges", "mid_points", "value_edges"]

_STEPS: Final = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
_COUNT_STEPS: Final = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
_SMALLEST_POWER, _LARGEST_POWER = -6, 12
_MOST: Final = 10**6


@cache
def value_edges(kind: Kind) -> tuple[float, ...]:
    """Where bins of numbers end: 0, and 1, 1.5, 2, 3, 5, 7 times powers of ten, either way.

    Reals from 1e-6 to 1e12, whole numbers from 1 on. Magnitudes below the first count as zero.

    >>> value_edges("integer")[-4:]
    (300000000000.0, 500000000000.0, 700000000000.0, 1000000000000.0)
    """
    whole = kind == "integer"
    first = 0 if whole else _SMALLEST_POWER
    sizes = [
        float(f"{step}e{power}")
        for power in range(first, _LARGEST_POWER)
        for step in _STEPS
        if not whole or step * 10**power == int(step * 10**power)
    ]
    sizes.append(float(f"1e{_LARGEST_POWER}"))
    return (*(-size for size in reversed(sizes)), 0.0, *sizes)


@cache
def count_edges() -> tuple[float, ...]:
    """Where bins of counts end: each whole number to ten, then about ten a decade, to a million.

    >>> [int(edge) for edge in count_edges()[:14]]
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25]
    """
    found = set(range(1, 11))
    size = 10
    while size < _MOST:
        found.update(int(step * size) for step in _COUNT_STEPS)
        size *= 10
    found.add(_MOST)
    return tuple(float(each) for each in sorted(found))


def mid_points(edges: tuple[float, ...]) -> tuple[float, ...]:
    """What stands for the values of each bin: the mean of its ends; beyond the last, that edge."""
    inside = [(a + b) / 2 for a, b in pairwise(edges)]
    return (edges[0], *inside, edges[-1])
