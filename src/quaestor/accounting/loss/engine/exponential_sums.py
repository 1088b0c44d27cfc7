r"""Sums of :math:`m\,e^{sL}` over many places, on one vertical line.

For real losses only :math:`e^{itL}` depends on t, and with half the angle a
:math:`e^{itL} - 1 = -2\sin^2 a + 2i\sin a\cos a`: one sine and one cosine a place, and no
cancellation where losses are small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.numerics.complexes import UNIT, log1p

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["ExponentialSums", "as_nats"]

_FAR = 30.0  # exponents beyond which M - 1 says no more than M
_CHUNK = 1 << 19  # elements treated at once, to bound memory


class ExponentialSums:
    r"""The log-moments of several laws with finitely many places each: a row of places for each.

    The rounding error of a term :math:`m\,(e^{sL}-1)` is that of its mass (which carries the size
    of its logarithm), that of the sine and cosine, and that of the angle, :math:`|s||L|` units. As
    :math:`|e^{sL}-1| \le |s||L|\max(1, e^{\theta L})`, two real sums at theta bound all of it.

    ``loss_sizes`` and ``mass_sizes`` say from how large numbers each loss and each log-mass was
    computed, if larger than they are: 16 and 8 units of these are charged. numpy adds along the
    last axis in pairs, in blocks of 128 with eight sums each: n terms err by at most 19 units and
    log2(n/128) more, below 40 for any array that fits into memory.
    """

    def __init__(
        self,
        losses: Floats,
        log_masses: Floats,
        theta: float,
        *,
        loss_sizes: Floats | None = None,
        mass_sizes: Floats | None = None,
    ) -> None:
        self.losses = losses
        exponents = theta * losses
        loss_sizes = np.abs(losses) if loss_sizes is None else loss_sizes
        size = 1 + (np.abs(log_masses) if mass_sizes is None else mass_sizes) / 16
        self.far = float(np.max(np.abs(exponents))) > _FAR
        if self.far:
            self.top = np.max(log_masses + exponents, axis=1)
            self.weights = np.exp(log_masses + exponents - self.top[:, None])
            self.constant = self.moment = np.sum(self.weights, axis=1)
            self.flat = np.sum(self.weights * size, axis=1)
            self.steep = np.sum(self.weights * loss_sizes, axis=1)
        else:
            masses, rise = np.exp(log_masses), np.expm1(exponents)
            self.weights = masses * (rise + 1)
            self.constant = np.sum(masses * rise, axis=1)
            self.moment = 1 + self.constant
            self.flat = np.sum(masses * size * (rise + 2), axis=1)
            at_most = masses * size * loss_sizes * np.maximum(rise + 1, 1.0)
            self.steep = np.sum(at_most, axis=1)

    def at_theta(self) -> Floats:
        """The log-moments at theta itself."""
        values: Floats = self.top + np.log(self.moment) if self.far else np.log1p(self.constant)
        return values

    def log_moments(
        self, s: Complexes, *, left_out: Floats | float = 0.0
    ) -> tuple[Complexes, Floats]:
        """A row for each s, a column for each law; and the error of each, in nats.

        ``left_out`` is by which share of the moments at theta and at 0 the sums can be off for
        other reasons than rounding: at every s, or at each. Beside ``|M(s)|``, which may be much
        less than the moment at theta, it weighs more than beside that.
        """
        shares = np.broadcast_to(np.asarray(left_out, np.float64), s.shape)
        values = np.empty((s.size, self.constant.size), np.complex128)
        errors = np.empty(values.shape)
        step = max(_CHUNK // self.losses.size, 1)
        for start in range(0, s.size, step):
            part = slice(start, start + step)
            values[part], errors[part] = self._some(s[part], shares[part, None])
        return values, errors

    def _some(self, s: Complexes, shares: Floats) -> tuple[Complexes, Floats]:
        halves = s.imag[:, None, None] / 2 * self.losses
        sine, cosine = np.sin(halves), np.cos(halves)
        sums = np.empty((s.size, self.constant.size), np.complex128)
        sums.real = self.constant - 2 * np.sum(sine * sine * self.weights, axis=2)
        sums.imag = 2 * np.sum(sine * cosine * self.weights, axis=2)
        size = np.abs(s)[:, None]
        if self.far:
            rounding = 128 * self.flat + 16 * size * self.steep
            values = self.top + np.log(np.where(sums == 0, 1e-300, sums))
            doubt = as_nats(UNIT * rounding + shares * self.moment, np.abs(sums))
            return values, doubt + 8 * UNIT * np.abs(self.top)
        rounding = np.minimum(112 * size * self.steep, 96 * self.flat + 16 * size * self.steep)
        missing = shares * (self.moment + 1.0)
        return log1p(sums), as_nats(UNIT * rounding + missing, np.abs(1 + sums))


def as_nats(doubt: Floats, size: Floats) -> Floats:
    """The doubt about something of this size, as an error of its logarithm: see ``log_moment``.

    Infinite where the doubt is so much larger that floats do not hold the ratio.
    """
    least = np.maximum(size, 1e-300)
    known = ((doubt <= 1e6) | (least >= 1e-6)) & (doubt < 1e300)
    share = np.where(known, doubt, 0.0) / np.where(known, least, 1.0)
    nats: Floats = np.where(known, np.log1p(share), np.inf)
    return nats
