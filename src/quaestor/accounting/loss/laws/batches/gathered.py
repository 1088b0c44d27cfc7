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

_GROUPS = 24
_LARGEST_ROUNDING = 1e-4  # of tilted weights, where their decay is still believed


class GatheredLoss(FiniteLoss):
    """Atoms in rising order of their losses, each with a small share of the mass."""

    decays_quickly = False

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        r"""By groups of neighbours, which say where their atoms are, and how much they weigh.

        As for atoms, :math:`|M(\theta+it)/M(\theta)|^2 = 1 - E[1-\cos(t(L-L'))]`, where every pair
        of groups contributes at least its least :math:`1-\cos`.
        """
        order = np.argsort(self.losses, kind="stable")
        losses, logs = self.losses[order], self.log_masses[order]
        exponents = theta * losses + logs
        size = float(np.max(np.abs(theta * losses) + np.abs(logs)))
        if 32 * UNIT * size + 4 * self.doubt + 4 * abs(theta) * self.blur > _LARGEST_ROUNDING:
            return np.zeros(low.shape)
        weights = np.exp(exponents - np.max(exponents))
        weights = weights / np.sum(weights)
        group = np.minimum((np.cumsum(weights) * _GROUPS).astype(int), _GROUPS - 1)
        firsts = np.unique(group, return_index=True)[1]
        lasts = np.append(firsts[1:], losses.size) - 1
        shares = np.add.reduceat(weights, firsts) * 0.999
        i, j = np.triu_indices(firsts.size, k=1)
        blur = self.blur + 8 * UNIT * float(np.max(np.abs(losses)))
        nearest = np.maximum(losses[firsts][j] - losses[lasts][i] - 2 * blur, 0.0)
        furthest = losses[lasts][j] - losses[firsts][i] + 2 * blur
        gain = least_one_minus_cosine(np.outer(low, nearest), np.outer(high, furthest))
        total = gain @ (2 * shares[i] * shares[j])
        falls: Floats = -0.5 * np.log1p(-np.minimum(total * 0.999, 1 - 1e-12))
        return falls
