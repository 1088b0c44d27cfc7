r"""Sums of independent likelihood ratios, on grids that are as fine as they are near.

A grid has 2n places a step apart from its start, then n places two steps apart, n that are four
apart, and so on: like floats, whose places are as far apart as their size allows. Mass between two
places goes to both of them, so that its mean stays. Of the law of a ratio in the second world that
is a spread, which makes a pair of worlds that dominates the given one; of an outcome that is only
known by its place it is a channel, which makes a pair that the given one dominates.

Nothing is ever subtracted, so that every mass has its relative accuracy: a convolution of N places
adds at most N units to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["UNIT", "RatioSum", "scattered", "sum_of"]

UNIT = 2.0**-53
_NODES = 1024  # n: places of a block
_NEGLIGIBLE = 1e-45  # mass that is given up at either end, each time
_VANISHING = 1e-100  # an atom without weight, whose products are still floats
_LOW, _BULK = 1e-16, 1e-3  # masses below and above the part that is resolved evenly
_RELATIVE = 64  # steps to the least value that matters

Blocks = list["Floats"]


@dataclass(frozen=True, slots=True)
class RatioSum:
    """Atoms of a sum of ``terms`` ratios, in rising order of its ``values``.

    ``second`` has their masses in the second world, where all terms are alike. ``first`` has those
    in the first world, in which a random one of the terms differs, or is None where the value of an
    atom says it: the mean of its ratios. ``lost`` is at most what either world has outside of the
    atoms, ``error`` the share by which a mass may be off, and ``blur`` the share of a value.
    """

    values: Floats
    second: Floats
    first: Floats | None
    terms: int
    lost: float
    error: float
    blur: float


def sum_of(single: RatioSum, terms: int) -> RatioSum:
    """So many independent terms, of which one differs in the first world."""
    total = single
    for bit in bin(terms)[3:]:
        total = _added(total, total)
        if bit == "1":
            total = _added(total, single)
    return total


def scattered(values: Floats, masses: Floats, places: Floats) -> Floats:
    """Masses at values, divided among the places beside each so that means stay."""
    after = np.clip(np.searchsorted(places, values, side="right"), 1, places.size - 1)
    low, high = places[after - 1], places[after]
    share = np.clip((values - low) / (high - low), 0.0, 1.0)
    above = np.bincount(after, masses * share, places.size)
    below = np.bincount(after - 1, masses * (1.0 - share), places.size)
    return np.asarray(above + below, np.float64)


def _added(one: RatioSum, other: RatioSum) -> RatioSum:
    step = min(_step(one), _step(other)) if one.terms != other.terms else _step(one)
    mine = _on_grid(one, step)
    theirs = mine if other is one else _on_grid(other, step)
    second, first = _convolved(mine[0], theirs[0]), None
    if one.first is not None:
        first = _convolved(mine[1], theirs[0])
        if other is not one:
            share = one.terms / (one.terms + other.terms)
            turned = _convolved(mine[0], theirs[1])
            first = [share * a + (1 - share) * b for a, b in zip(first, turned, strict=True)]
    start = float(one.values[0] + other.values[0])
    return _pruned(
        RatioSum(
            start + step * _places(len(second)),
            _listed(second),
            None if first is None else _listed(first),
            one.terms + other.terms,
            one.lost + other.lost,
            one.error + other.error + (6 * _NODES + 64) * UNIT,
            max(one.blur, other.blur) + 32 * UNIT,
        )
    )


def _step(law: RatioSum) -> float:
    """Fine enough for the bulk, and for the least values that matter."""
    below = np.cumsum(law.second)
    last = law.values.size - 1
    low = float(law.values[min(int(np.searchsorted(below, _LOW)), last)])
    high = float(law.values[min(int(np.searchsorted(below, 1.0 - _BULK)), last)])
    even = (high - float(law.values[0])) / (2 * _NODES)
    return max(min(even, low / _RELATIVE), float(law.values[-1]) * 2.0**-400)


def _places(blocks: int) -> Floats:
    """The places of a grid, in steps from its start."""
    outer = [2.0**block * np.arange(_NODES, 2 * _NODES) for block in range(1, blocks)]
    return np.concatenate([np.arange(2.0 * _NODES), *outer])


def _listed(blocks: Blocks) -> Floats:
    return np.concatenate([blocks[0], *(block[_NODES:] for block in blocks[1:])])


def _on_grid(law: RatioSum, step: float) -> list[Blocks]:
    """The masses of each world in blocks; those after the first are empty below their middle."""
    away = (law.values - law.values[0]) / step
    count = 2 + max(0, int(np.ceil(np.log2(max(float(away[-1]), 1.0) / (2 * _NODES)))) + 1)
    places = _places(count)
    worlds = []
    for masses in (law.second,) if law.first is None else (law.second, law.first):
        flat = scattered(away, masses, places)
        blocks = [flat[: 2 * _NODES]]
        for block in range(1, count):
            full = np.zeros(2 * _NODES)
            full[_NODES:] = flat[(block + 1) * _NODES : (block + 2) * _NODES]
            blocks.append(full)
        worlds.append(blocks)
    return worlds


def _convolved(one: Blocks, other: Blocks) -> Blocks:
    """Each pair of blocks at the step of the coarser one; what is too far goes to the next."""
    count = max(len(one), len(other))
    one, other = _padded(one, count), _padded(other, count)
    found = [np.zeros(2 * _NODES) for _ in range(count + 1)]
    low_one = low_other = np.zeros(1)
    for block, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        both = np.zeros(4 * _NODES)
        for a, b in ((mine, theirs), (low_one, theirs), (mine, low_other)):
            _add_product(both, a, b)
        found[block] += both[: 2 * _NODES]
        both[: 2 * _NODES] = 0.0
        found[block + 1] += _coarser(both)[: 2 * _NODES]
        low_one, low_other = _coarser(_joined(low_one, mine)), _coarser(_joined(low_other, theirs))
    return found


def _padded(blocks: Blocks, count: int) -> Blocks:
    return blocks + [np.zeros(2 * _NODES)] * (count - len(blocks))


def _joined(low: Floats, block: Floats) -> Floats:
    total = block.copy()
    total[: low.size] += low
    return total


def _add_product(total: Floats, one: Floats, other: Floats) -> None:
    ends = []
    for masses in (one, other):
        filled = np.flatnonzero(masses)
        if not filled.size:
            return
        ends.append((int(filled[0]), int(filled[-1]) + 1))
    (a, b), (c, d) = ends
    product = np.convolve(one[a:b], other[c:d])
    total[a + c : a + c + product.size] += product


def _coarser(masses: Floats) -> Floats:
    """Twice the step: every other place goes half to either side."""
    found = np.zeros(masses.size // 2 + 1)
    even, odd = masses[0::2], masses[1::2] / 2
    found[: even.size] += even
    found[: odd.size] += odd
    found[1 : odd.size + 1] += odd
    return found


def _pruned(law: RatioSum) -> RatioSum:
    """Without atoms that weigh nothing in either world, and without what is far out."""
    first = law.values / law.terms * law.second if law.first is None else law.first
    heavier = np.maximum(first, law.second)
    keep = (np.cumsum(heavier) > _NEGLIGIBLE) & (np.cumsum(heavier[::-1])[::-1] > _NEGLIGIBLE)
    keep &= heavier > _VANISHING
    return RatioSum(
        law.values[keep],
        law.second[keep],
        None if law.first is None else law.first[keep],
        law.terms,
        law.lost + 2 * _NEGLIGIBLE + heavier.size * _VANISHING,
        law.error,
        law.blur,
    )
