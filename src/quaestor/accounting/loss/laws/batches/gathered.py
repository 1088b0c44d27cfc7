"""A loss that has a density, gathered into many atoms that lie close together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.loss.laws.law import least_one_minus_cosine
from quaestor.accounting.numerics.complexes import UNIT

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Floats

__all__ = ["GatheredLoss"]

_GROUPS = 12
_SHORT = 1.0  # how far the mean of e^(itL) may move within a block that is looked into
_SPACING = 0.04  # and between two points of it
_LARGEST_ROUNDING = 1e-4  # of tilted weights, where their decay is still believed


class GatheredLoss(FiniteLoss):
    """Atoms in rising order of their losses, each with a small share of the mass."""

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        r"""By points within short blocks, and by groups of neighbours for long ones.

        Between two points the tilted law's mean of :math:`e^{it(L-c)}` moves by at most
        :math:`E|L-c|` times their distance.
        """
        exponents = theta * self.losses + self.log_masses
        size = float(np.max(np.abs(theta * self.losses) + np.abs(self.log_masses)))
        if 32 * UNIT * size + 4 * self.doubt + 4 * abs(theta) * self.blur > _LARGEST_ROUNDING:
            return np.zeros(low.shape)
        weights = np.exp(exponents - np.max(exponents))
        weights = weights / np.sum(weights)
        blur = self.blur + 8 * UNIT * float(np.max(np.abs(self.losses)))
        falls = np.zeros(low.shape)
        mean = float(weights @ self.losses)
        deviation = float(weights @ np.abs(self.losses - mean)) * 1.01 + blur
        short = (high - low) * deviation < _SHORT
        if bool(np.any(short)):
            spacing = _SPACING / deviation
            most = _largest(self.losses - mean, weights, (low[short], high[short]), spacing)
            most = most + _SPACING / 2 + 2 * high[short] * blur + 4 * _LARGEST_ROUNDING
            falls[short] = -np.log(np.minimum(most, 1.0))
        long = ~short
        falls[long] = _by_groups(self.losses, weights, low[long], high[long], blur=blur)
        return falls


def _largest(
    losses: Floats, weights: Floats, blocks: tuple[Floats, Floats], spacing: float
) -> Floats:
    r"""The largest size of the mean of :math:`e^{itL}` at even points around each block of t.

    Each point is the product of a coarse and of a fine angle.
    """
    start = float(np.min(blocks[0]))
    first = np.floor((blocks[0] - start) / spacing).astype(int)
    beyond = np.ceil((blocks[1] - start) / spacing).astype(int) + 1
    side = int(np.sqrt(float(np.max(beyond)))) + 1
    fine = np.exp(1j * np.outer(spacing * np.arange(side), losses))
    coarse = np.exp(1j * np.outer(start + spacing * side * np.arange(side + 1), losses)) * weights
    sizes = np.abs(coarse @ fine.T).ravel()
    largest: Floats = np.maximum.reduceat(sizes, np.column_stack((first, beyond)).ravel())[::2]
    return largest


def _by_groups(
    losses: Floats, weights: Floats, low: Floats, high: Floats, *, blur: float
) -> Floats:
    r"""As for atoms: :math:`|M(\theta+it)/M(\theta)|^2 = 1 - E[1-\cos(t(L-L'))]`.

    Every pair of groups contributes at least its least :math:`1-\cos`.
    """
    order = np.argsort(losses, kind="stable")
    losses, weights = losses[order], weights[order]
    group = np.minimum((np.cumsum(weights) * _GROUPS).astype(int), _GROUPS - 1)
    firsts = np.unique(group, return_index=True)[1]
    lasts = np.append(firsts[1:], losses.size) - 1
    shares = np.add.reduceat(weights, firsts) * 0.999
    i, j = np.triu_indices(firsts.size, k=1)
    nearest = np.maximum(losses[firsts][j] - losses[lasts][i] - 2 * blur, 0.0)
    furthest = losses[lasts][j] - losses[firsts][i] + 2 * blur
    gain = least_one_minus_cosine(np.outer(low, nearest), np.outer(high, furthest))
    total = gain @ (2 * shares[i] * shares[j])
    falls: Floats = -0.5 * np.log1p(-np.minimum(total * 0.999, 1 - 1e-12))
    return falls
