"""The loss of Gaussian noise, which is itself Gaussian."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np

from quaestor.accounting.loss.laws.closed_form import blurred
from quaestor.accounting.loss.laws.law import Law
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.accounting.numerics.gaussian_tails import gaussian_delta
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.laws.closed_form import Curve
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["GaussianLoss"]

_UNDERFLOW = 1e-300  # what the square of mu can lose of it


class GaussianLoss(Law):
    r"""N(mu^2/2, mu^2): :math:`\log M(s) = \mu^2 s(s+1)/2`."""

    def __init__(self, mu: float) -> None:
        self.mu = mu
        self.gaussian_variance = mu * mu

    @classmethod
    def together(cls, laws: Sequence[tuple[Self, int]]) -> list[tuple[Law, int]]:
        """One Gaussian; its variance is summed exactly, so that many round no worse than one.

        In units of the largest mu: the square of a very small one would be no number at all.
        """
        pairs = [(law.mu, count) for law, count in laws if law.mu > 0.0]
        largest = max((mu for mu, _ in pairs), default=0.0)
        if largest == 0.0:
            return []
        if math.isinf(largest):
            return [(GaussianLoss(largest), 1)]
        variance = math.fsum((mu / largest) ** 2 * count for mu, count in pairs)
        return [(GaussianLoss(largest * math.sqrt(variance)), 1)]

    def curve(self, count: int) -> Curve | None:
        return partial(gaussian_delta, blurred(self.mu)) if count == 1 else None

    def rough_log_moments(self, thetas: Floats) -> Floats:
        return self.mu * self.mu / 2 * (thetas * (thetas + 1))

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        if not self.mu * self.mu < 1e300:
            raise BeyondFloats("the variance of a Gaussian loss is beyond floats")
        values = self.mu * self.mu / 2 * (s * (s + 1))
        return values, 12 * UNIT * np.abs(values) + _UNDERFLOW * (1 + np.abs(s)) ** 2

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:  # noqa: ARG002
        return 0.999 * np.minimum(self.mu * low, 1e100) ** 2 / 2


class ConcentratedLoss(GaussianLoss):
    """A loss of which only this is known: its real moments are at most those of the Gaussian."""

    known_by_moments_only = True
