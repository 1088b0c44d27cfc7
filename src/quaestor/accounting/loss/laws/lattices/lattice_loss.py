"""Many atoms on a lattice, whose moments on a whole line are one Fourier transform."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.engine.exponential_sums import as_nats
from quaestor.accounting.loss.laws.law import Law
from quaestor.accounting.numerics.complexes import UNIT

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Lattice
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["LatticeLoss"]

_FEW = 8  # points for which no transform is worth while
_GROUPS = 256  # of atoms, in estimates
_NOTHING = -1e4  # the logarithm of no mass
_OFF = 1e-9  # of a node: how far it may be from where the transform has one


class LatticeLoss(Law):
    """Masses at ``lattice.offset`` and on, one gap apart; ``lost`` is what they lack at most."""

    by_transform = True
    lattice: Lattice

    def __init__(
        self, lattice: Lattice, masses: Floats, *, blur: float, doubt: float, lost: float
    ) -> None:
        self.lattice, self.masses = lattice, masses
        self.blur, self.doubt, self.lost = blur, doubt, lost
        self.losses = lattice.offset + lattice.gap * np.arange(masses.size)
        there = masses > 0.0
        self._logs = np.where(there, np.log(np.where(there, masses, 1.0)), _NOTHING)
        self.largest = max(float(self.losses[-1]), 0.0) * (1 + 1e-12) + blur

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        theta, t = float(s[0].real), s.imag
        exponents = theta * self.losses + self._logs
        top = float(np.max(exponents))
        heights = np.exp(exponents - top)
        steps = np.arange(self.masses.size)
        ways = self.lattice.gap * steps
        total = float(np.sum(heights))
        units = 64 + 8 * abs(top)
        flat = float(np.sum(heights * (np.abs(theta * self.losses) + np.abs(self._logs))))
        if s.size <= _FEW:
            sums = np.exp(1j * np.outer(t, ways)) @ heights
            units += self.masses.size
        else:
            size = self._size(t)
            rows = -(-steps.size // size)
            folded = np.zeros(rows * size)
            folded[: steps.size] = heights
            sums = np.conj(np.fft.rfft(folded.reshape(rows, size).sum(axis=0))[: s.size])
            units += 8 * (math.log2(size) + 4) + rows
        # every angle is off by some units of itself, as its node is
        turning = 16 * UNIT * (float(np.sum(heights * ways)) + abs(self.lattice.offset) * total)
        off = UNIT * (units * total + 8 * flat) + turning * np.abs(t) + 1e-300
        dark = np.abs(sums) < off  # then |M| < 2 off, and off itself is 3 off from it
        seen = np.where(dark, np.asarray(off, np.complex128), sums)
        values = top + np.log(seen) + 1j * t * self.lattice.offset
        doubts = as_nats(np.where(dark, 3 * off, off), np.abs(seen))
        return np.asarray(values, np.complex128), doubts + 8 * UNIT * (abs(top) + 1)

    def _size(self, t: Floats) -> int:
        """The size of the transform that has these points."""
        step = float(t[-1]) / (t.size - 1)
        size = round(2 * math.pi / (step * self.lattice.gap))
        exact = 2 * math.pi / (size * self.lattice.gap) * np.arange(t.size)
        if t.size > size // 2 + 1 or bool(np.any(np.abs(t - exact) > 8 * UNIT * exact)):
            raise ValueError("the points of the line are not those of a transform")
        return size

    @cached_property
    def _rough(self) -> tuple[Floats, Floats]:
        """The masses of groups of neighbours, each at its mean loss."""
        starts = np.arange(0, self.masses.size, max(self.masses.size // _GROUPS, 1))
        masses = np.add.reduceat(self.masses, starts)
        there = masses > 0.0
        means = np.add.reduceat(self.masses * self.losses, starts)[there] / masses[there]
        return means, np.log(masses[there])

    def rough_log_moments(self, thetas: Floats) -> Floats:
        losses, logs = self._rough
        exponents = np.outer(thetas, losses) + logs
        top = np.max(exponents, axis=1)
        values: Floats = top + np.log(np.sum(np.exp(exponents - top[:, None]), axis=1))
        return values

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return float(count)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:  # noqa: ARG002
        """Nothing: the whole period is summed."""
        return np.zeros(low.shape)
