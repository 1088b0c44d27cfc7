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

from quaestor.accounting.loss.engine.exponential_sums import as_nats
from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.loss.laws.law import Lattice, Law
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["DiscreteGaussianLoss", "finite_discrete_gaussian"]

_LARGEST_SIGMA = 5_000.0  # beyond this there are too many atoms to list
_LEFT_OUT = Bounds(lower=0.0, upper=1e-300)


class DiscreteGaussianLoss(Law):
    """Discrete Gaussian noise of parameter sigma (at least 1/2), shifted by ``shift``."""

    def __init__(self, *, sigma: float, shift: int) -> None:
        self.sigma, self.shift = sigma, shift
        gap = shift / sigma**2
        self.lattice = Lattice(-shift * gap / 2, gap)
        self._width = 2 * (math.pi * sigma) ** 2

    def listed(self) -> FiniteLoss:
        if self.sigma > _LARGEST_SIGMA:
            raise InvalidParameter("sigma", self.sigma, f"at most {_LARGEST_SIGMA:g} when sampled")
        return finite_discrete_gaussian(sigma=self.sigma, shift=self.shift)

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        r"""Near the real axis as above; elsewhere moved there by whole periods.

        The place moved to is off by eight units of s, if it was moved, and four of itself. That
        moves the Gaussian's exponent by its slope, :math:`d^2|s+1/2|/\sigma^2`, and the m-th
        term of theta by :math:`2\pi md` times itself; both are charged.
        """
        d, variance = self.shift, self.sigma**2
        period = 2 * np.pi * variance / d
        turns = np.round(s.imag / period)  # |M| has this period: bring s near the real axis
        near = s - 1j * turns * period
        moved = 8 * np.where(turns == 0.0, 0.0, np.abs(s)) + 4 * np.abs(near)
        theta = np.ones(s.shape, np.complex128)
        size, slope = np.ones(s.shape), np.zeros(s.shape)
        for m in range(1, 8):
            exponent = -self._width * m * m + 2 * math.pi * m * d * np.abs(near.imag)
            angle = 2 * np.pi * m * d * near.real
            half = np.exp(exponent)
            other = np.exp(-self._width * m * m - 2 * math.pi * m * d * np.abs(near.imag))
            # 2 cos(a + ib) e^(-w) = e^(-w)((e^b + e^-b) cos a - i (e^b - e^-b) sin a)
            theta.real += (half + other) * np.cos(angle)
            theta.imag -= np.sign(near.imag) * (half - other) * np.sin(angle)
            size += (half + other) * (1 + self._width * m * m / 4)
            slope += 2 * math.pi * m * d * (half + other)
        at_zero = 1 + 2 * sum(math.exp(-self._width * m * m) for m in range(1, 8))
        gaussian = d * d / (2 * variance) * (near * (near + 1))
        # moving s by a period multiplies M by e^(i period offset), offset the losses' own
        phase = 1j * turns * period * (-d * d / (2 * variance))
        values = gaussian + np.log(np.where(theta == 0, 1e-300, theta) / at_zero) + phase
        scale = np.abs(gaussian) + np.abs(s) * d * d / variance + 1
        scale += d * d / variance * np.abs(near + 0.5) * np.where(turns == 0.0, 0.0, np.abs(s))
        doubt = UNIT * (32 * size + 2 * moved * slope)
        return values, 32 * UNIT * scale + as_nats(doubt, np.abs(theta))

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
    """The same law as atoms: all but e^-750 of it, around either centre.

    Beyond a reach r of its centre a copy has at most 2e^(-r^2/2 sigma^2)(1 + sigma) of the
    weights, whose sum is at least 1: with r^2 = 1500 sigma^2 less than 1e-320 for any sigma that is
    listed. So what is left out, in either world, is below the least float that one has to add.
    """
    reach = math.ceil(sigma * math.sqrt(2 * 750.0))
    if shift > 2 * reach:
        around = np.arange(-reach, reach + 1, dtype=np.float64)
        places = np.concatenate((around, around + shift))
    else:
        places = np.arange(-reach, shift + reach + 1, dtype=np.float64)
    weights = np.exp(-(np.arange(1.0, reach + 1.0) ** 2) / (2 * sigma**2))
    log_total = math.log1p(2 * math.fsum(weights))
    first = -(places**2) / (2 * sigma**2) - log_total
    second = -((places - shift) ** 2) / (2 * sigma**2) - log_total
    gap = shift / sigma**2
    return FiniteLoss(
        gap * (shift - 2 * places) / 2,
        first,
        second,
        infinite=_LEFT_OUT,
        opposite=_LEFT_OUT,
        lattice=Lattice(gap * shift / 2, gap),
    )
