"""The loss of Gaussian noise, which is itself Gaussian."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.complexes import UNIT
from quaestor.accounting.loss.law import Law

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.complexes import Complexes, Floats

__all__ = ["GaussianLoss"]


class GaussianLoss(Law):
    r"""N(mu^2/2, mu^2): :math:`\log M(s) = \mu^2 s(s+1)/2`."""

    def __init__(self, mu: float) -> None:
        self.mu = mu

    @classmethod
    def together(cls, laws: Sequence[tuple[Law, int]]) -> list[tuple[Law, int]]:
        """One Gaussian; its variance is summed exactly, so that many round no worse than one."""
        variances = (law.mu * law.mu * count for law, count in laws if isinstance(law, cls))
        variance = math.fsum(variances)
        return [(GaussianLoss(math.sqrt(variance)), 1)] if variance > 0.0 else []

    def rough_log_moments(self, thetas: Floats) -> Floats:
        return self.mu * self.mu / 2 * (thetas * (thetas + 1))

    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        values = self.mu * self.mu / 2 * (s * (s + 1))
        return values, 12 * UNIT * np.abs(values)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:  # noqa: ARG002
        return 0.999 * (self.mu * low) ** 2 / 2


class ConcentratedLoss(GaussianLoss):
    """A loss of which only this is known: its real moments are at most those of the Gaussian."""

    known_by_moments_only = True
