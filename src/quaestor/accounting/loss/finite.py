"""Losses with finitely many values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.complexes import UNIT, expm1, log1p
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
        exponents = float(s[0].real) * self.losses
        far = float(np.max(np.abs(exponents))) > 30.0
        values, errors = np.empty(s.shape, np.complex128), np.empty(s.shape)
        step = max((1 << 20) // self.losses.size, 1)
        for start in range(0, s.size, step):
            part = slice(start, start + step)
            some = self._large(s[part], exponents) if far else self._small(s[part])
            values[part], errors[part] = some
        return values, errors + self.blur * np.abs(s) + self.error

    def _small(self, s: Complexes) -> tuple[Complexes, Floats]:
        """By M - 1, which keeps the accuracy of small losses."""
        z = np.multiply.outer(s, self.losses)
        grown = expm1(z)
        inner = grown @ self.masses
        sizes = (np.abs(grown) * 24 + np.abs(z) * np.abs(grown + 1) * 16) @ self.masses
        summing = np.log2(self.losses.size + 1) + 4
        relative = UNIT * sizes * summing / np.maximum(np.abs(1 + inner), 1e-300)
        return log1p(inner), np.log1p(relative)

    def _large(self, s: Complexes, exponents: Floats) -> tuple[Complexes, Floats]:
        """By M relative to its largest term, which cannot overflow."""
        weights = np.log(self.masses) + exponents
        top = float(np.max(weights))
        weights = np.exp(weights - top)
        angles = np.multiply.outer(s.imag, self.losses)
        inner = np.asarray(np.exp(1j * angles) @ weights, np.complex128)
        sizes = (32 + 16 * np.abs(exponents) + 16 * np.abs(angles)) @ weights
        summing = np.log2(self.losses.size + 1) + 4
        relative = UNIT * sizes * summing / np.maximum(np.abs(inner), 1e-300)
        safe = np.asarray(np.where(inner == 0, 1e-300, inner), np.complex128)
        values: Complexes = np.asarray(top + np.log(safe), np.complex128)
        return values, np.log1p(relative) + 8 * UNIT * abs(top)

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return float(count * self.losses.size)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        exponents = theta * self.losses
        weights = self.masses * np.exp(exponents - np.max(exponents))
        weights /= np.sum(weights)
        heaviest = np.argsort(-weights)[:_MOST_ATOMS]
        return decay_of_atoms(self.losses[heaviest], weights[heaviest] * 0.999, low, high)
