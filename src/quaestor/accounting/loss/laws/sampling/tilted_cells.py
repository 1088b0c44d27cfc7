r"""How fast a moment falls off along a vertical line, by cells of the tilted loss.

With two independent copies of the tilted loss, :math:`|M(\theta+it)/M(\theta)|^2 =
1 - E[1-\cos(t(L-L'))]`, and every pair of cells contributes at least its least :math:`1-\cos`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from quaestor.accounting.loss.laws.law import least_one_minus_cosine

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["FINER", "TiltedCells", "normal_masses"]

FINER = 16  # cells of the noise that are joined into one, about
_CHUNK = 1 << 18  # pairs and blocks treated at once, to bound memory


@dataclass(frozen=True, slots=True)
class TiltedCells:
    """Lower bounds on the masses of cells of some tilted losses, and their ends: a row for each."""

    shares: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(
        cls, edges: Floats, logs: Floats, log_moments: Floats, *, power: float, removing: bool
    ) -> Self:
        """The cells between edges of standard normal noise, where log w is ``logs``.

        Over a cell w^p, which is monotone in x, is at least its lesser end's, and the bell has its
        exact mass. Cells are joined until each has about an equal share of the tilted spread.
        """
        fine = edges.size - 1
        masses = normal_masses(edges)
        ends = power * logs
        heights = np.minimum(ends[:, :-1], ends[:, 1:]) - log_moments[:, None]
        shares = np.exp(np.minimum(heights, 700.0)) * masses * 0.999
        losses = logs if removing else -logs[:, ::-1]
        shares = shares if removing else shares[:, ::-1]
        middle = (losses[:, 1:] + losses[:, :-1]) / 2
        weight = shares * np.abs(middle - np.sum(shares * middle, axis=1, keepdims=True))
        levels = np.cumsum(np.sum(weight / np.maximum(np.sum(weight, 1), 1e-300)[:, None], axis=0))
        count = fine // FINER
        cuts = np.searchsorted(levels, levels[-1] * np.arange(1, count) / count)
        starts = np.unique(np.concatenate(([0], cuts + 1)))
        starts = starts[starts < fine]
        stops = np.append(starts[1:], fine)
        return cls(np.add.reduceat(shares, starts, axis=1), losses[:, starts], losses[:, stops])

    def decay(self, low: Floats, high: Floats) -> Floats:
        """What the cells of each loss certify for all t in each [low, high]: a row for each."""
        i, j = np.triu_indices(self.shares.shape[1], k=1)
        falls = np.empty((self.shares.shape[0], low.size))
        some = max(_CHUNK // max(low.size * i.size, 1), 1)
        for start in range(0, falls.shape[0], some):
            part = slice(start, start + some)
            shares, low_ends, high_ends = self.shares[part], self.low[part], self.high[part]
            least = np.maximum(low_ends[:, j] - high_ends[:, i], 0.0)
            most = high_ends[:, j] - low_ends[:, i]
            gain = least_one_minus_cosine(
                low[None, :, None] * least[:, None], high[None, :, None] * most[:, None]
            )
            gain = (gain @ (2 * shares[:, i] * shares[:, j])[:, :, None])[..., 0]
            falls[part] = -0.5 * np.log1p(-np.minimum(gain * 0.999, 1 - 1e-12))
        return falls


def normal_masses(edges: Floats) -> Floats:
    """The standard normal masses between rising edges, from the nearer tail."""
    below, above = (
        np.array([math.erfc(x) / 2 for x in sign * edges / math.sqrt(2)]) for sign in (-1, 1)
    )
    masses: Floats = np.where(edges[:-1] > 0, above[:-1] - above[1:], below[1:] - below[:-1])
    return masses
