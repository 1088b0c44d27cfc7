"""Losses with finitely many values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.exponential_sums import ExponentialSums
from quaestor.accounting.loss.law import Lattice, Law, decay_of_atoms

if TYPE_CHECKING:
    from quaestor.accounting.bounds import Bounds
    from quaestor.accounting.loss.complexes import Complexes, Floats

__all__ = ["FiniteLoss"]

_MOST_ATOMS = 32


class FiniteLoss(Law):
    """Atoms ``(loss, mass)``; the law is the masses divided by their sum.

    Losses and masses may be off by a few units in the last place each; by more than that, ``blur``
    says how far a loss can be off, and ``error`` by which share a mass.
    """

    def __init__(  # noqa: PLR0913  # what is known of a law with atoms
        self,
        losses: Floats,
        masses: Floats,
        *,
        infinite: Bounds = Law.infinite,
        lattice: Lattice | None = None,
        blur: float = 0.0,
        error: float = 0.0,
    ) -> None:
        kept = masses > 0.0
        self.losses, self.masses = losses[kept], masses[kept] / np.sum(masses[kept])
        self.infinite, self.lattice = infinite, lattice
        self.blur, self.error = blur, error
        self.largest = float(np.max(self.losses)) + blur

    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        sums = ExponentialSums(self.losses[None, :], np.log(self.masses)[None, :], float(s[0].real))
        values, errors = sums.log_moments(s)
        summing = np.log2(self.losses.size + 1) / 8 + 1
        return values[:, 0], errors[:, 0] * summing + self.blur * np.abs(s) + self.error

    def rough_log_moments(self, thetas: Floats) -> Floats:
        exponents = np.outer(thetas, self.losses)
        top = np.max(exponents, axis=1)
        sums = np.expm1(exponents - top[:, None]) @ self.masses
        values: Floats = top + np.log1p(np.maximum(sums, -1 + 1e-15))
        return values

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return float(count * self.losses.size)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        exponents = theta * self.losses
        weights = self.masses * np.exp(exponents - np.max(exponents))
        weights /= np.sum(weights)
        heaviest = np.argsort(-weights)[:_MOST_ATOMS]
        return decay_of_atoms(self.losses[heaviest], weights[heaviest] * 0.999, low, high)
