r"""Finitely many privacy losses with their probabilities, summed in float64 with a stated error.

The hockey-stick curve of atoms :math:`(l_j, p_j)` is :math:`\delta(c) = \sum_j p_j
(1-e^{c-l_j})_+`. With losses sorted downwards and :math:`W_j = \sum_{i \le j} p_i e^{l_j-l_i}`,

.. math:: \delta(c) = D_j + (1-e^{c-l_j})\,W_j \quad (l_{j+1} \le c < l_j), \qquad
          D_{j+1} = D_j + (1-e^{l_{j+1}-l_j})\,W_j .

Everything is a sum of positive terms, so the error is relative and small at any delta. Losses
that are themselves rounded, by at most ``blur``, are accounted for by moving c: every term is
monotone in its loss, hence the true curve at c lies between the computed one at c + blur and at
c - blur.

The float64 error model: the four operations err by at most u = 2^-53 relative, ``exp`` and
``expm1`` of numpy by at most 4u; a running sum of n positive terms by at most n u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.numerics.bounds import Bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["UNIT", "AtomCurve", "Atoms"]

UNIT = 2.0**-53
_BLOCK = 256.0  # span of losses within which e^(difference) cannot overflow
_UNDERFLOW = 1e-290  # more than all mass that underflow can lose, a million million times over


@dataclass(frozen=True, slots=True, kw_only=True)
class Atoms:
    """Losses and masses, with bounds on what rounding did to each.

    Attributes:
        losses: the privacy loss of every atom, each within ``blur`` of the true one.
        masses: its probability under the first hypothesis, each within a factor 1 +- ``error``.
    """

    losses: Floats
    masses: Floats
    blur: float
    error: float

    def __matmul__(self, other: Atoms) -> Atoms:
        """The product of two independent sets: losses add, masses multiply."""
        reach = float(np.abs(self.losses).max() + np.abs(other.losses).max())
        return Atoms(
            losses=np.add.outer(self.losses, other.losses).ravel(),
            masses=np.multiply.outer(self.masses, other.masses).ravel(),
            blur=self.blur + other.blur + reach * UNIT,
            error=(self.error + other.error) * (1 + 1e-9) + 2 * UNIT,
        )


class AtomCurve:
    """The curve of a set of atoms, ready to be evaluated at many points."""

    def __init__(self, atoms: Atoms) -> None:
        """Sort the atoms and sum them up once."""
        order = np.argsort(-atoms.losses, kind="stable")
        losses, masses = atoms.losses[order], atoms.masses[order]
        self.losses, self.blur = losses, atoms.blur
        self._ascending = -losses
        self._weights = np.empty_like(masses)
        carried, start, blocks = 0.0, 0, 0
        while start < losses.size:
            top = losses[start]
            stop = int(np.searchsorted(self._ascending, _BLOCK - top, side="right"))
            block = slice(start, stop)
            sums = carried + np.cumsum(masses[block] * np.exp(top - losses[block]))
            self._weights[block] = sums * np.exp(losses[block] - top)
            if stop < losses.size:
                carried = float(self._weights[stop - 1] * np.exp(losses[stop] - losses[stop - 1]))
            start, blocks = stop, blocks + 1
        falls = -np.expm1(np.diff(losses)) * self._weights[:-1]
        self._deltas = np.concatenate(([0.0], np.cumsum(falls)))
        self.error = atoms.error + UNIT * (2.0 * losses.size + (2 * _BLOCK + 16) * (blocks + 1))

    def values(self, points: Floats) -> Floats:
        """The computed curve at ``points``: within the relative ``error`` of that of the atoms."""
        above = np.searchsorted(self._ascending, -points, side="left")
        at = np.maximum(above - 1, 0)
        gaps = -np.expm1(np.minimum(points - self.losses[at], 0.0))
        return np.where(above > 0, self._deltas[at] + gaps * self._weights[at], 0.0)

    def bounds(self, point: float) -> Bounds:
        """Enclose the true curve at ``point``."""
        return mixture_bounds(np.zeros(1), np.ones(1), self, point, blur=0.0, error=0.0)


def mixture_bounds(  # noqa: PLR0913  # one sum, and what is known of each of its factors
    losses: Floats, masses: Floats, curve: AtomCurve, point: float, *, blur: float, error: float
) -> Bounds:
    """Enclose ``sum(masses * curve(point - losses))``, the curve of a product of two sets."""
    reach = abs(point) + float(np.abs(losses).max()) + float(np.abs(curve.losses).max())
    shift = blur + curve.blur + 4 * UNIT * reach
    slack = 1.001 * (error + curve.error) + 256 * UNIT
    upper = float(np.sum(masses * curve.values((point - shift) - losses)))
    lower = float(np.sum(masses * curve.values((point + shift) - losses)))
    return Bounds(
        lower=min(max(lower * (1 - slack) - _UNDERFLOW, 0.0), 1.0),
        upper=min(upper * (1 + slack) + _UNDERFLOW, 1.0),
    )
