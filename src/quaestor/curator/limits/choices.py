r"""Bounds and caps that balance what they cut against the noise that they bring.

For a sum or a mean whose noise is :math:`w r g/\varepsilon` (w the reach of the bounds, r rows in
each of g groups), and a histogram of units, the squared error of a choice is estimated as

.. math:: \text{cut}^2 + \text{noise}^2,

where *cut* is what clipping takes from all units together, by the histogram. All is post-processing
of released figures: it may be wrong, and loses nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from quaestor.curator.limits.histograms import UnitHistogram

__all__ = ["Aim", "ChosenBounds", "ChosenCap", "choose_bounds", "choose_cap"]

_NOISE: Final = math.sqrt(2.0)
"""The standard deviation of Laplace noise of scale 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What limits are to be good for: questions of this epsilon, by so many cells in all.

    ``centred`` says that noise goes with the distance of the bounds (means and variances), not
    with the larger of them (sums).
    """

    epsilon: float
    cells: int = 1
    centred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenBounds:
    """Bounds, and the shares of units that are thought to be outside."""

    low: float
    high: float
    below: float
    above: float
    sure: bool
    """Whether the histogram shows anybody at all; else the bounds are a guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCap:
    """A cap, and the share of units that are thought to have more."""

    most: int
    above: float
    sure: bool


def choose_bounds(
    histogram: UnitHistogram,
    aim: Aim,
    *,
    rows: int = 1,
    groups: int = 1,
    each: float | None = None,
) -> ChosenBounds:
    """Bounds at edges of the histogram, with the least estimated error.

    ``rows`` and ``groups`` are what noise grows with, ``each`` how many rows units have on average.
    """
    edges = np.array(histogram.edges)
    counts, values = histogram.estimate(), histogram.values
    reach = histogram.reach()
    if reach is None:  # nobody is surely there: the smallest bounds that hold nothing
        return ChosenBounds(low=0.0, high=float(edges[edges > 0][0]), below=0, above=0, sure=False)
    first, last = max(reach[0] - 1, 0), min(reach[1], len(edges) - 1)
    near = edges[first : last + 1]
    lows = near if aim.centred else np.unique(np.append(near[near <= 0.0], 0.0))
    highs = near if aim.centred else np.unique(np.append(near[near >= 0.0], 0.0))
    over = np.array([max(0.0, np.sum(counts * np.maximum(values - high, 0.0))) for high in highs])
    under = np.array([max(0.0, np.sum(counts * np.maximum(low - values, 0.0))) for low in lows])
    mean = float(rows) if each is None else each
    cut = mean * (over[None, :] + under[:, None]) / aim.cells  # they do not make up for each other
    if aim.centred:
        wide = (highs[None, :] - lows[:, None]) / 2
    else:
        wide = np.maximum(np.abs(highs)[None, :], np.abs(lows)[:, None])
    noise = _NOISE * wide * rows * groups / aim.epsilon
    error = cut**2 + noise**2
    error[~(lows[:, None] < highs[None, :])] = math.inf
    if not np.isfinite(error).any():  # one bin holds everybody: its own ends
        low, high = float(edges[max(reach[0] - 1, 0)]), float(edges[min(reach[1], len(edges) - 1)])
        high = high if low < high else float(edges[edges > low][0])
    else:
        at = np.unravel_index(int(np.argmin(error)), error.shape)
        low, high = float(lows[at[0]]), float(highs[at[1]])
    every = max(float(np.sum(counts)), 1.0)
    return ChosenBounds(
        low=low,
        high=high,
        below=max(0.0, float(np.sum(counts[values < low]))) / every,
        above=max(0.0, float(np.sum(counts[values > high]))) / every,
        sure=True,
    )


def choose_cap(histogram: UnitHistogram, aim: Aim, *, beside: int = 1) -> ChosenCap:
    """A cap at an edge of the histogram: ``beside`` is what noise grows with as well."""
    counts = histogram.estimate()
    reach = histogram.reach()
    if reach is None:
        return ChosenCap(most=1, above=0.0, sure=False)
    edges = np.array(histogram.edges)
    caps = edges[: min(reach[1], len(edges) - 1) + 1]
    upper = np.append(edges, edges[-1])
    lost = [max(0.0, np.sum(counts * np.maximum(upper - cap, 0.0))) for cap in caps]
    cut = np.array(lost) / aim.cells
    noise = _NOISE * caps * beside / aim.epsilon
    best = int(caps[int(np.argmin(cut**2 + noise**2))])
    every = max(float(np.sum(counts)), 1.0)
    above = max(0.0, float(np.sum(counts[upper > best]))) / every
    return ChosenCap(most=best, above=above, sure=True)
