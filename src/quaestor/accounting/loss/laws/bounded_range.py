"""The loss of a bounded-range release, of which nothing but the range is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.engine.exponential_sums import as_nats
from quaestor.accounting.loss.laws.closed_form import blurred
from quaestor.accounting.loss.laws.law import Law
from quaestor.accounting.numerics.balls import ZERO
from quaestor.accounting.numerics.complexes import UNIT, expm1

if TYPE_CHECKING:
    from flint import arb

    from quaestor.accounting.loss.laws.closed_form import Curve
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["BoundedRangeLoss"]

# log(sinh(z)/z) = sum of c_j z^(2j), with c_j = -(-1)^j zeta(2j)/(j pi^(2j)); 20 of them.
_SERIES = (
    *(1 / 6, -1 / 180, 1 / 2835),
    *(
        -((-1) ** j)
        * sum(float(n) ** (-2 * j) for n in range(200, 0, -1))
        / (j * math.pi ** (2 * j))
        for j in range(4, 21)
    ),
)


class BoundedRangeLoss(Law):
    r"""The density :math:`e^{(l-e)/2}/(2(1-e^{-e}))` on [-e, e]: no atoms, the same both ways.

    Its profile is the largest one of the class at every epsilon, :math:`\delta(\varepsilon) =
    (1-e^{(\varepsilon-e)/2})^2/(1-e^{-e})` [Dong, Durfee, Rogers 2020, Theorem 2 for k = 1, solved
    for t]; the density is :math:`\delta''-\delta'`. With :math:`a = s + 1/2`,

    .. math:: M(s) = \frac{\sinh(ae)/a}{2\sinh(e/2)} = e^{se}\,
              \frac{1-e^{-2ae}}{2a\,(1-e^{-e})},

    and near s = 0 the difference of two logarithms of sinh(z)/z is a power series in which
    :math:`(ae)^2 - (e/2)^2 = s(s+1)e^2` factors out, so that nothing cancels.
    """

    def __init__(self, epsilon: float) -> None:
        self.epsilon = self.largest = epsilon

    def curve(self, count: int) -> Curve | None:
        if count != 1:
            return None
        spread = blurred(self.epsilon)

        def delta(epsilon: arb) -> arb:
            below = (-((epsilon - spread) / 2).expm1()).max(ZERO)
            return below * below / -(-spread).expm1()

        return delta

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        e, a = self.epsilon, s + 0.5
        s = np.where(a.real >= 0, s, -1 - s)  # M is even in a
        far, errors = self._closed(s)
        square = (s + 0.5) ** 2 * (e * e)
        near = (np.abs(square) <= 1.0) & (e <= 2.0)
        if not bool(np.any(near)):
            return far, errors
        step = s * (s + 1) * (e * e)
        series = step * _mean_slope(np.where(near, square, 0.0), e * e / 4)
        small = 64 * UNIT * np.abs(s) * (np.abs(s) + 1) * (e * e)
        return np.where(near, series, far), np.where(near, small, errors)

    def _closed(self, s: Complexes) -> tuple[Complexes, Floats]:
        """The quotient, at a place at least 1e-9/e away from its removable pole a = 0.

        A place that is nearer is moved there, s and a together. M is even in a, and its logarithm
        changes by at most (ae)^2: less than 1e-18.
        """
        e, twice = self.epsilon, 2 * s + 1
        closest = 1e-9 / max(e, 1e-9)
        at_pole = np.abs(twice) < closest
        twice = np.where(at_pole, closest, twice)
        s = np.where(at_pole, (twice - 1) / 2, s)
        grown = expm1(-twice * e)
        inside = grown / (twice * math.expm1(-e))
        values = s * e + np.log(np.where(inside == 0, 1e-300, inside))
        bent = np.abs(twice * e) * np.abs(grown + 1)
        ends = 4 * np.abs(s * e) + 4 * np.abs(values)
        errors = UNIT * (64 + ends) + 1e-18 * at_pole + as_nats(16 * UNIT * bent, np.abs(grown))
        return values, errors

    def rough_log_moments(self, thetas: Floats) -> Floats:
        e, a = self.epsilon, np.maximum(np.abs(thetas + 0.5), 1e-9)
        rise = np.log(np.expm1(-2 * a * e) / (2 * a * math.expm1(-e)))
        values: Floats = (a - 0.5) * e + rise
        return values

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        r"""Exactly, or by the variance of the tilted law.

        With x = te and y = ae at t = 0, :math:`|M(\theta+it)/M(\theta)|^2 = (1+\sin^2x/\sinh^2y)/
        (1+x^2/y^2)`. For two copies of the tilted loss, whose difference D is at most 2e, it is
        also :math:`1-E[1-\cos tD]`, and :math:`1-\cos z \ge \frac{z^2}{2}(1-\frac{z^2}{12})`, and
        at least :math:`2z^2/\pi^2` for z up to pi.
        """
        e = self.epsilon
        y = max(abs(theta + 0.5) * e, 1e-6)
        steep = math.sinh(min(y, 300.0)) ** 2  # less than it is from there on, which is safe
        rise = np.log1p(np.minimum(high * e, 1.0) ** 2 / steep)
        exact = (np.log1p((low * e / y) ** 2) - rise) / 2 - 1e-9
        variance = 1 / 3 - y * y / 15 if y < 0.5 else 1 / (y * y) - 1 / steep
        apart = 2 * e * high
        share = np.maximum(1 - apart**2 / 12, np.where(apart <= math.pi, 4 / math.pi**2, 0.0))
        gain = np.clip(share, 0.0, None) * (low * e) ** 2 * variance * 0.999
        spread = -np.log1p(-np.minimum(gain, 1 - 1e-12)) / 2
        return np.maximum(np.maximum(exact, spread), 0.0)


def _mean_slope(one: Complexes, other: float) -> Complexes:
    """(f(one) - f(other)) / (one - other) for f(y) = log(sinh(z)/z), y = z^2, by its series.

    For arguments of at most 1 the terms fall by more than 9: twenty leave out less than 1e-19.
    """
    total = np.zeros(one.shape, np.complex128)
    mixed = np.zeros(one.shape, np.complex128)  # one^(j-1) + one^(j-2) other + ... + other^(j-1)
    power = 1.0
    for coefficient in _SERIES:
        mixed = mixed * one + power
        power *= other
        total += coefficient * mixed
    return total
