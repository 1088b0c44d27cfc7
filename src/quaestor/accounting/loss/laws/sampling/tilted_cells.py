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

        Edges may be the same for all losses, or a row for each. Over a cell w^p, which is monotone
        in x, is at least its lesser end's, and the bell has at least the mass that is known of it.
        Cells are joined until each has about an equal share of the tilted spread.
        """
        fine = edges.shape[-1] - 1
        ends = power * logs
        heights = np.minimum(ends[:, :-1], ends[:, 1:]) - log_moments[:, None]
        shares = np.exp(np.minimum(heights, 700.0)) * normal_masses(edges) * 0.999
        losses = logs if removing else -logs[:, ::-1]
        shares = shares if removing else shares[:, ::-1]
        middle = (losses[:, 1:] + losses[:, :-1]) / 2
        weight = shares * np.abs(middle - np.sum(shares * middle, axis=1, keepdims=True))
        levels = np.cumsum(weight, axis=1)
        count = fine // FINER
        wanted = levels[:, -1:] * (np.arange(1, count) / count)
        cuts = np.sum(levels[:, None, :] < wanted[:, :, None], axis=2) + 1
        number = logs.shape[0]
        starts = np.concatenate((np.zeros((number, 1), np.intp), np.minimum(cuts, fine)), axis=1)
        stops = np.concatenate((starts[:, 1:], np.full((number, 1), fine)), axis=1)
        sums = np.concatenate((np.zeros((number, 1)), np.cumsum(shares, axis=1)), axis=1)
        joined = np.diff(np.take_along_axis(sums, np.append(starts, stops[:, -1:], axis=1), axis=1))
        rounding = 1e-13 * sums[:, -1:]
        return cls(
            np.maximum(joined - rounding, 0.0),
            np.take_along_axis(losses, starts, axis=1),
            np.take_along_axis(losses, stops, axis=1),
        )

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
    r"""At least the standard normal masses between rising edges, nearly all of them.

    Around the middle m of a cell of half length h, :math:`\int e^{-my-y^2/2}\,dy` is by Jensen's
    inequality at least :math:`e^{-h^2/2}\int\cosh(my)\,dy = 2he^{-h^2/2}\sinh(mh)/(mh)`.
    """
    middles, halves = (edges[..., 1:] + edges[..., :-1]) / 2, np.diff(edges) / 2
    angles = np.maximum(np.abs(middles) * halves, 1e-4)
    grown = np.where(angles > 1e-4, np.sinh(np.minimum(angles, 300.0)) / angles, 1.0)
    logs = -(middles**2 + halves**2) / 2
    masses: Floats = np.exp(logs) * grown * halves * (math.sqrt(2 / math.pi) * (1 - 1e-9))
    return masses
