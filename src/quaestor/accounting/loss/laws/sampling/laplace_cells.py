r"""Cells of Laplace noise on a random part of the people, merged and split in closed form.

The place l is the loss of the noise itself, without the person: atoms of mass 1/2 at -e and
:math:`e^{-e}/2` at e, and the density :math:`e^{-(l+e)/2}/4` between; with the person it is
:math:`e^l` times that. Of a cell of length D from l on,

* merged, the ratio is that of its middle, :math:`l + D/2`: the means of :math:`e^{x/2}` and of
  :math:`e^{-x/2}` over [0, D] have the ratio :math:`e^{D/2}`. And so it is for w, which is linear
  in the ratio. Its mass is :math:`e^{-(l+e)/2}(1-e^{-D/2})/2`;
* split, its ends have :math:`2e^{-(l+D+e)/2}\sinh^2(D/4)/(1-e^{-D})` and
  :math:`2e^{-(l+e)/2}\sinh^2(D/4)/(e^D-1)`: no sampling rate is left in them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.laws.lattices.bracket import Bracket
from quaestor.accounting.loss.laws.mixture import log_mixture, log_mixture_size
from quaestor.accounting.numerics.atoms import Atoms
from quaestor.accounting.numerics.complexes import UNIT

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["laplace_bracket"]


def laplace_bracket(epsilon: float, rate: float, gap: float, *, removing: bool) -> Bracket:
    """A bracket of cells that are about ``gap`` of the loss long, or shorter."""
    edges = _edges(epsilon, rate, gap)
    lengths = np.diff(edges)
    heights = np.exp(-(edges + epsilon) / 2)
    bow = 2 * np.sinh(lengths / 4) ** 2
    lower_ends = bow * heights[1:] / -np.expm1(-lengths)
    upper_ends = bow * heights[:-1] / np.expm1(lengths)
    atoms = np.array([0.5, math.exp(-epsilon) / 2])
    split = np.append(lower_ends, 0.0) + np.concatenate(([0.0], upper_ends))
    split[[0, -1]] += atoms
    merged = heights[:-1] * -np.expm1(-lengths / 2) / 2
    middles = edges[:-1] + lengths / 2
    places = np.concatenate((edges[:1], middles, edges[-1:]))
    masses = np.concatenate((atoms[:1], merged, atoms[1:]))
    return Bracket(
        less=_sampled(places, masses, epsilon, rate, removing=removing),
        more=_sampled(edges, split, epsilon, rate, removing=removing),
        lost=0.0,
    )


def _edges(epsilon: float, rate: float, gap: float) -> Floats:
    """From -e to e, so that the loss rises by the gap or less: any edges are sound."""
    low, high = log_mixture(np.array([-epsilon, epsilon]), rate)
    count = max(math.ceil((high - low) / gap), 2)
    losses = low + (high - low) / count * np.arange(1, count)
    odds = np.maximum(np.expm1(losses) / rate, math.expm1(-epsilon))
    inside = np.clip(np.log1p(odds), -epsilon, epsilon)
    return np.unique(np.concatenate(([-epsilon], inside, [epsilon])))


def _sampled(
    places: Floats, masses: Floats, epsilon: float, rate: float, *, removing: bool
) -> Atoms:
    """Atoms with their losses: of the two worlds the one with w times the mass when removing.

    Places and e itself are off by some units of e. So a mass is off by a share of some units of
    1 + e, and a loss by these times its slope.
    """
    ratios = log_mixture(places, rate)
    sizes = log_mixture_size(places, rate, ratios, np.full(places.shape, 2 * epsilon))
    blur = 32 * UNIT * float(np.max(sizes))
    error = UNIT * (128 + 32 * epsilon)
    if removing:
        error += 2 * blur
        return Atoms(losses=ratios, masses=masses * np.exp(ratios), blur=blur, error=error)
    return Atoms(losses=-ratios, masses=masses, blur=blur, error=error)
