r"""The losses of Johnson-Lindenstrauss sketches, which compare Gaussians of different covariance.

One row alone gives a factor of the moment function; r independent rows give its r-th power.

*Graph.* N(0, 1 + b) against N(0, 1) has the loss :math:`-\tfrac12\ln(1+b) + \tfrac b2\chi^2_1`, and
turned round :math:`\tfrac12\ln(1+b) - \tfrac{b}{2(1+b)}\chi^2_1`. Hence

.. math:: M(s) = \bigl((1+b)^s(1-bs)\bigr)^{-r/2}, \qquad
    M(s) = \bigl((1+b)^{-s}(1+\tfrac{b}{1+b}s)\bigr)^{-r/2}.

*Matrix.* N(0, I) against N(0, diag(e^g, e^-g)) with :math:`4\sinh^2(g/2) = k` has the loss
:math:`\tfrac12(e^g-1)y^2 - \tfrac12(1-e^{-g})x^2`, hence, since both the product and the difference
of :math:`e^g-1` and :math:`1-e^{-g}` are k,

.. math:: M(s) = \bigl(1 - k\,s(s+1)\bigr)^{-r/2}.

That is Gaussian noise with a random :math:`\mu^2 = k\chi^2_r` which is told. It is the same both
ways.

All of them are infinite from some :math:`\theta` on. Their moduli fall along a vertical line for
good, for the real parts of the linear and quadratic factors stay positive.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quaestor.accounting.loss.laws.law import Law
from quaestor.accounting.numerics.chi_square import MOST_DEGREES, chi_square_tails
from quaestor.accounting.numerics.complexes import UNIT, log1p

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.closed_form import Curve
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["GraphSketchLoss", "MatrixSketchLoss"]


def _logarithm(z: Complexes) -> tuple[Complexes, Floats]:
    """``log(1 + z)`` where 1 + z has a positive real part, and a bound on the error.

    z itself, a product of a few rounded numbers, is off by at most 16 u times its size m. Where m
    is below 1/2, the square of the size of 1 + z, less 1, is off by at most 4 u (m (2 + m) + m^2),
    relative to a square of at least 1/4; elsewhere the size is off by 2 u and its logarithm by as
    much again, and then m is at least a third of the size of 1 + z. Beyond the pole there is no
    moment, and so close to it that rounding might have crossed it, none is claimed: the value is
    then arbitrary, and its error infinite.
    """
    inside = 1 + z.real > 1e-10 * (1 + np.abs(z.real))
    safe = np.where(inside, z, 0.0)
    value = log1p(np.asarray(safe, np.complex128))
    error = UNIT * (48 * np.abs(safe) / np.maximum(np.abs(1 + safe), 1e-300) + 8 * np.abs(value))
    return value, np.where(inside, error, math.inf)


def _rough(values: Complexes, errors: Floats) -> Floats:
    """Estimates, infinite where there is no moment."""
    return np.where(np.isfinite(errors), values.real, math.inf)


class GraphSketchLoss(Law):
    """``rows`` copies of N(0, 1 + 2 sensitivity/weight) against N(0, 1), or turned round."""

    def __init__(self, *, rows: int, sensitivity: float, weight: float, wider: bool) -> None:
        self.rows, self.sensitivity, self.weight, self.wider = rows, sensitivity, weight, wider
        excess = 2 * sensitivity / weight
        self._log = math.log1p(excess)
        self._slope = -excess if wider else excess / (1 + excess)
        if not wider:
            self.largest = rows / 2 * self._log * (1 + 1e-12)

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        inner, error = _logarithm(np.asarray(self._slope * s, np.complex128))
        line = s * (self._log if self.wider else -self._log)
        errors = self.rows / 2 * (error + 8 * UNIT * (np.abs(line) + np.abs(inner)))
        return -self.rows / 2 * (line + inner), errors

    def curve(self, count: int) -> Curve | None:
        r"""By the sum of squares, of as many rows as all have together.

        With :math:`t_\pm = (\tfrac r2\ln(1+b) \pm \varepsilon)/b` and the regularised incomplete
        gamma functions P and Q, for the wider Gaussian first :math:`Q(\tfrac r2, t_+) -
        e^\varepsilon Q(\tfrac r2, (1+b)t_+)`; for the narrower first :math:`P(\tfrac r2, (1+b)t_-)
        - e^\varepsilon P(\tfrac r2, t_-)`, and 0 where :math:`t_- \le 0`.
        """
        rows = self.rows * count
        return partial(self._delta, rows) if rows <= MOST_DEGREES else None

    def _delta(self, rows: int, epsilon: arb) -> arb:
        excess = 2 * arb(self.sensitivity) / arb(self.weight)
        middle, odds = arb(rows) / 2 * excess.log1p(), epsilon.exp()
        if self.wider:
            place = (middle + epsilon) / excess
            far = chi_square_tails(rows, place * (1 + excess))[1]
            return chi_square_tails(rows, place)[1] - odds * far
        place = (middle - epsilon) / excess
        far = chi_square_tails(rows, place * (1 + excess))[0]
        return far - odds * chi_square_tails(rows, place)[0]

    def rough_log_moments(self, thetas: Floats) -> Floats:
        return _rough(*self._log_moment(np.asarray(thetas, np.complex128)))

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:  # noqa: ARG002
        r"""With :math:`c = b/(1-b\theta)`: :math:`|1-ict|^{-r/2}`, which falls in t."""
        scale = self._slope / (1 + self._slope * theta)
        return 0.999 * self.rows / 4 * np.log1p((scale * low) ** 2)


class MatrixSketchLoss(Law):
    """``rows`` copies of N(0, I) against N(0, diag(e^g, e^-g)); ``spread`` is 4 sinh(g/2)^2."""

    def __init__(self, *, rows: int, spread: float) -> None:
        self.rows, self.spread = rows, spread

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        inner, error = _logarithm(np.asarray(-self.spread * (s * (s + 1)), np.complex128))
        return -self.rows / 2 * inner, self.rows / 2 * (error + 4 * UNIT * np.abs(inner))

    def rough_log_moments(self, thetas: Floats) -> Floats:
        return _rough(*self._log_moment(np.asarray(thetas, np.complex128)))

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:  # noqa: ARG002
        r"""By :math:`|1-ks(s+1)|^2 = (c+kt^2)^2 + k^2t^2(2\theta+1)^2`, which rises in t."""
        k, square = self.spread, low**2
        c = 1 - k * theta * (theta + 1)
        rise = (2 * c * k * square + (k * square) ** 2 + square * (k * (2 * theta + 1)) ** 2) / c**2
        return 0.999 * self.rows / 4 * np.log1p(rise)
