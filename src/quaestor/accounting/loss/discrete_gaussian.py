r"""The loss of discrete Gaussian noise on the integers.

Two copies of :math:`p(x) \propto e^{-x^2/2\sigma^2}`, shifted by a whole number d, have the loss
:math:`(2dx - d^2)/2\sigma^2` with x from the copy around d. Completing the square,

.. math:: M(s) = e^{d^2 s(s+1)/2\sigma^2}\,\vartheta(ds)/\vartheta(0), \qquad
    \vartheta(w) = 1 + 2\sum_{m \ge 1} e^{-2\pi^2\sigma^2m^2}\cos(2\pi mw),

the Gaussian's own moment function times a theta function that is almost 1 (Poisson summation; the
shift by the whole number d drops out of the cosine).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.bounds import Bounds
from quaestor.accounting.loss.complexes import UNIT
from quaestor.accounting.loss.finite import FiniteLoss
from quaestor.accounting.loss.law import Lattice, Law

if TYPE_CHECKING:
    from quaestor.accounting.loss.complexes import Complexes, Floats

__all__ = ["DiscreteGaussianLoss", "finite_discrete_gaussian"]


class DiscreteGaussianLoss(Law):
    """Discrete Gaussian noise of parameter sigma (at least 1/2), shifted by ``shift``."""

    def __init__(self, *, sigma: float, shift: int) -> None:
        self.sigma, self.shift = sigma, shift
        gap = shift / sigma**2
        self.lattice = Lattice(-shift * gap / 2, gap)
        self._width = 2 * (math.pi * sigma) ** 2

    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        d, variance = self.shift, self.sigma**2
        period = 2 * np.pi * variance / d
        turns = np.round(s.imag / period)  # |M| has this period: bring s near the real axis
        near = s - 1j * turns * period
        theta = np.ones(s.shape, np.complex128)
        size = np.ones(s.shape)
        for m in range(1, 8):
            exponent = -self._width * m * m + 2 * math.pi * m * d * np.abs(near.imag)
            angle = 2 * np.pi * m * d * near.real
            half = np.exp(exponent)
            other = np.exp(-self._width * m * m - 2 * math.pi * m * d * np.abs(near.imag))
            # 2 cos(a + ib) e^(-w) = e^(-w)((e^b + e^-b) cos a - i (e^b - e^-b) sin a)
            theta.real += (half + other) * np.cos(angle)
            theta.imag -= np.sign(near.imag) * (half - other) * np.sin(angle)
            size += half + other
        at_zero = 1 + 2 * sum(math.exp(-self._width * m * m) for m in range(1, 8))
        gaussian = d * d / (2 * variance) * (near * (near + 1))
        # moving s by a period multiplies M by e^(i period offset), offset the losses' own
        phase = 1j * turns * period * (-d * d / (2 * variance))
        values = gaussian + np.log(theta / at_zero) + phase
        scale = np.abs(gaussian) + np.abs(s) * d * d / variance + 1
        relative = 32 * UNIT * size / np.maximum(np.abs(theta), 1e-300) * (1 + np.abs(near))
        errors = 32 * UNIT * scale + np.log1p(relative)
        return values, errors

    def rough_log_moments(self, thetas: Floats) -> Floats:
        d, variance = self.shift, self.sigma**2
        ripple = 2 * math.exp(-self._width) * np.cos(2 * np.pi * d * thetas)
        return d * d / (2 * variance) * (thetas * (thetas + 1)) + np.log1p(ripple)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:  # noqa: ARG002
        """The Gaussian's own decay, less what the theta function can give back.

        The modulus has a period and is even in it, so a block is folded into the first half
        period; one that contains a whole period certifies nothing.
        """
        d, variance = self.shift, self.sigma**2
        period = 2 * np.pi * variance / d
        whole = np.floor(high / period) > np.floor(low / period)
        near, far = low % period, high % period
        least = np.where(whole, 0.0, np.minimum(near, period - far))
        most = np.minimum(np.maximum(np.minimum(near, period - near), least), period / 2)
        most = np.maximum(most, np.minimum(far, period - far))
        extra = sum(
            2 * np.exp(np.minimum(-self._width * m * m + 2 * math.pi * m * d * most, 700.0))
            for m in range(1, 8)
        )
        falls = 0.999 * d * d * least**2 / (2 * variance) - np.log1p(extra)
        clipped: Floats = np.maximum(falls - 4 * math.exp(-self._width), 0.0)
        return clipped


def finite_discrete_gaussian(*, sigma: float, shift: int) -> FiniteLoss:
    """The same law as atoms: all that floats can hold, which is all but e^-700 of it."""
    reach = math.ceil(sigma * math.sqrt(2 * 700)) + shift
    places = np.arange(-reach, reach + 1, dtype=np.float64)
    masses = np.exp(-(places**2) / (2 * sigma**2))
    gap = shift / sigma**2
    losses = gap * places + gap * shift / 2
    infinite = Bounds(lower=0.0, upper=1e-290)
    return FiniteLoss(losses, masses, infinite=infinite, lattice=Lattice(gap * shift / 2, gap))
