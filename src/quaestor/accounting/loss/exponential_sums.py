r"""Sums of :math:`m\,e^{sL}` over many places, on one vertical line.

For real losses only :math:`e^{itL}` depends on t, and with half the angle a
:math:`e^{itL} - 1 = -2\sin^2 a + 2i\sin a\cos a`: one sine and one cosine a place, and no
cancellation where losses are small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.complexes import UNIT, log1p

if TYPE_CHECKING:
    from quaestor.accounting.loss.complexes import Complexes, Floats

__all__ = ["ExponentialSums", "as_nats"]

_FAR = 30.0  # exponents beyond which M - 1 says no more than M
_CHUNK = 1 << 19  # elements treated at once, to bound memory


class ExponentialSums:
    r"""The log-moments of several laws with finitely many places each: a row of places for each.

    The rounding error of a term :math:`m\,(e^{sL}-1)` is that of its mass (which carries the size
    of its logarithm), that of the sine and cosine, and that of the angle, :math:`|s||L|` units. As
    :math:`|e^{sL}-1| \le |s||L|\max(1, e^{\theta L})`, two real sums at theta bound all of it.
    """

    def __init__(self, losses: Floats, log_masses: Floats, theta: float) -> None:
        self.losses = losses
        exponents = theta * losses
        size = 1 + np.abs(log_masses) / 32
        self.far = float(np.max(np.abs(exponents))) > _FAR
        if self.far:
            self.top = np.max(log_masses + exponents, axis=1)
            self.weights = np.exp(log_masses + exponents - self.top[:, None])
            self.constant = self.moment = np.sum(self.weights, axis=1)
            self.flat = np.sum(self.weights * (size + np.abs(exponents) / 8), axis=1)
            self.steep = np.sum(self.weights * np.abs(losses), axis=1)
            self.unit = np.exp(np.minimum(-self.top, 700.0))
        else:
            masses, rise = np.exp(log_masses), np.expm1(exponents)
            self.weights = masses * (rise + 1)
            self.constant = np.sum(masses * rise, axis=1)
            self.moment = 1 + self.constant
            self.flat = np.sum(masses * size * (rise + 2), axis=1)
            at_most = masses * size * np.abs(losses) * np.maximum(rise + 1, 1.0)
            self.steep = np.sum(at_most, axis=1)
            self.unit = np.ones(self.constant.shape)

    def at_theta(self) -> Floats:
        """The log-moments at theta itself."""
        values: Floats = self.top + np.log(self.moment) if self.far else np.log1p(self.constant)
        return values

    def log_moments(self, s: Complexes, *, left_out: float = 0.0) -> tuple[Complexes, Floats]:
        """A row for each s, a column for each law; and the error of each, in nats.

        ``left_out`` is what the places leave out of the moments at theta and at 0, as a share.
        """
        values = np.empty((s.size, self.constant.size), np.complex128)
        errors = np.empty(values.shape)
        step = max(_CHUNK // self.losses.size, 1)
        for start in range(0, s.size, step):
            part = slice(start, start + step)
            values[part], errors[part] = self._some(s[part], left_out)
        return values, errors

    def _some(self, s: Complexes, left_out: float) -> tuple[Complexes, Floats]:
        halves = s.imag[:, None, None] / 2 * self.losses
        sine, cosine = np.sin(halves), np.cos(halves)
        sums = np.empty((s.size, self.constant.size), np.complex128)
        # numpy adds along the last axis in pairs: so many terms err by some thirty units at most
        sums.real = self.constant - 2 * np.sum(sine * sine * self.weights, axis=2)
        sums.imag = 2 * np.sum(sine * cosine * self.weights, axis=2)
        size = np.abs(s)[:, None]
        missing = left_out * (self.moment + self.unit)
        if self.far:
            rounding = 128 * self.flat + 16 * size * self.steep
            values = self.top + np.log(np.where(sums == 0, 1e-300, sums))
            doubt = as_nats(UNIT * rounding + missing, np.abs(sums))
            return values, doubt + 8 * UNIT * np.abs(self.top)
        rounding = np.minimum(112 * size * self.steep, 96 * self.flat + 16 * size * self.steep)
        return log1p(sums), as_nats(UNIT * rounding + missing, np.abs(1 + sums))


def as_nats(doubt: Floats, size: Floats) -> Floats:
    """The doubt about something of this size, as an error of its logarithm: see ``log_moment``."""
    share = np.minimum(doubt / np.maximum(size, 1e-300), 1e300)
    return np.log1p(share)
