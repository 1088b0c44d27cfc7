"""The loss of Laplace noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.complexes import UNIT, expm1, log1p
from quaestor.accounting.loss.law import Law, decay_of_atoms

if TYPE_CHECKING:
    from quaestor.accounting.loss.complexes import Complexes, Floats

__all__ = ["LaplaceLoss"]


class LaplaceLoss(Law):
    r"""Atoms 1/2 at e = shift/scale and e^-e/2 at -e, and the density e^((l - e)/2)/4 between.

    :math:`M(s) = e^{-e/2}(\cosh ae + \sinh(ae)/2a)` with :math:`a = s + 1/2`, hence
    :math:`\log M = se + \log(1 + \tfrac{s}{2a}(e^{-2ae} - 1))`.
    """

    def __init__(self, epsilon: float) -> None:
        self.epsilon = self.largest = epsilon

    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        a, e = s + 0.5, self.epsilon
        ahead = a.real >= 0
        a = np.where(ahead, a, -a)  # M is even in a
        a = np.where(np.abs(a) < 1e-9, 1e-9, a)
        half = a - 0.5
        grown = expm1(-2 * a * e)
        inner = half / (2 * a) * grown
        values = half * e + log1p(inner)
        size = np.abs(half / a) * (np.abs(grown) * 16 + np.abs(a * e) * np.abs(grown + 1) * 8)
        relative = UNIT * size / np.maximum(np.abs(1 + inner), 1e-300)
        errors = np.log1p(relative) + 4 * UNIT * np.abs(half * e)
        return values, errors

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """By the two atoms, or by cells of the density: one uniform on a length l loses sinc(tl/2).

        Under the tilt the density is proportional to e^(al), with a = theta + 1/2.
        """
        e, a = self.epsilon, theta + 0.5
        top = abs(a) * e
        ends = np.exp(np.array([-a * e, a * e]) - top) / 2
        inside = (math.exp(a * e - top) - math.exp(-a * e - top)) / (4 * a) if a else e / 2
        total = float(np.sum(ends)) + inside
        atoms = decay_of_atoms(np.array([-e, e]), ends / total * 0.999, low, high)
        best = np.zeros(low.shape)
        for cells in (1, 2, 4, 8, 16, 32):
            edges = np.linspace(-e, e, cells + 1)
            length = 2 * e / cells
            least = np.minimum(np.exp(a * edges[:-1] - top), np.exp(a * edges[1:] - top)) / 4
            weight = float(np.sum(least)) * length / total * 0.999
            best = np.maximum(best, weight * (1 - np.minimum(2 / (low * length), 1.0)))
        return np.maximum(atoms, -np.log1p(-np.minimum(best, 1 - 1e-12)))
