r"""Randomized responses: the worst case of black boxes, any number of them at once.

The log-moment of one is :math:`\log\cosh((s+\tfrac12)\varepsilon) - \log\cosh(\varepsilon/2)`, a
smooth function of epsilon. So thousands of different ones are added up through a polynomial that
interpolates it at some thirty epsilons: with the sums of the Chebyshev polynomials over all
epsilons, which do not depend on s, each s costs thirty evaluations. If a function is bounded by B
on the Bernstein ellipse with parameter rho, interpolation at m Chebyshev points errs by at most
:math:`4B\rho^{1-m}/(\rho-1)` [Trefethen, Approximation Theory and Approximation Practice, Theorem
8.2]; and :math:`|\log\cosh w| \le \max(|x|, -\log\cos y) + |y|` for :math:`w = x+iy` in the strip
:math:`|y| < \pi/2`.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Self

import numpy as np

from quaestor.accounting.loss.engine.exponential_sums import as_nats
from quaestor.accounting.loss.laws.finite import FiniteLoss
from quaestor.accounting.loss.laws.law import (
    Lattice,
    Law,
    OneOfMany,
    Values,
    least_one_minus_cosine,
    representatives,
)
from quaestor.accounting.numerics.complexes import UNIT, expm1, log1p, summed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.numerics.bounds import Bounds
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["Response", "Responses"]

_GROUPS = 64  # of like epsilons, for the decay
_FEW = 20  # epsilons whose sums are listed
_WITNESSES = 256  # epsilons treated alone, for the decay
_CHUNK = 1 << 20  # elements treated at once, to bound memory
_POINTS = 32  # of interpolation
_MANY = 3 * _POINTS  # epsilons from which interpolation pays
_STRIP = 1.4  # below pi/2
_LARGE = 300.0  # an epsilon whose lies are e^-300 and less
_RHOS = np.array([12.0, 8.0, 6.0, 5.0, 4.0, 3.3, 2.8])


class Response(OneOfMany):
    """The loss of one randomized response: plus or minus epsilon."""

    def __init__(self, epsilon: float, *, infinite: Bounds = Law.infinite) -> None:
        self.epsilon = self.largest = epsilon
        self.infinite = infinite

    def listed(self) -> FiniteLoss:
        """Truth, lie, and what is told by a failure, the same in both worlds."""
        told = self.infinite
        if told.upper >= 1.0:
            nothing = np.zeros(0)
            return FiniteLoss(nothing, nothing, nothing, infinite=told, opposite=told)
        truth = math.log1p(-self.infinite.upper) - math.log1p(math.exp(-self.epsilon))
        first = np.array([truth, truth - self.epsilon])
        losses = np.array([self.epsilon, -self.epsilon])
        return FiniteLoss(losses, first, first[::-1].copy(), infinite=told, opposite=told)

    @classmethod
    def together(cls, laws: Sequence[tuple[Self, int]]) -> list[tuple[Law, int]]:
        """All in one array, equal ones counted."""
        counts: Counter[float] = Counter()
        for law, count in laws:
            counts[law.epsilon] += count
        del counts[0.0]
        if not counts:
            return []
        arrays = (np.array(list(column), np.float64) for column in (counts, counts.values()))
        return [(Responses(*arrays), 1)]


class Responses(Law):
    r"""The sum of independent losses :math:`\pm\varepsilon_i`, each with its count.

    :math:`\log M(s) = s\varepsilon + \log(1 + \ell(e^{-2s\varepsilon} - 1))` with
    :math:`\ell = 1/(1+e^\varepsilon)`, the probability of a lie, which neither overflows nor
    cancels for a real part of s from -1/2 on; and M(s) = M(-1 - s). From epsilon = 300 on, where
    :math:`\ell` would soon underflow, :math:`\ell e^{-2s\varepsilon}` is written as
    :math:`e^{-(1+2s)\varepsilon}`, which is the same up to a factor :math:`1 + e^{-300}`.
    """

    def __init__(self, epsilons: Floats, counts: Floats) -> None:
        order = np.argsort(epsilons)
        self.epsilons, self.counts = epsilons[order], counts[order]
        self.largest = math.fsum(epsilons * counts)
        self._few = representatives(self.epsilons, self.counts)
        self._polynomial = _Interpolation(self) if epsilons.size > _MANY else None
        if epsilons.size == 1:
            epsilon = float(epsilons[0])
            self.lattice = Lattice(epsilon * float(counts[0]), 2 * epsilon)

    def few_values(self, count: int) -> list[Values] | None:
        """Truth and lie of each."""
        if self.epsilons.size > _FEW:
            return None
        listed = []
        for epsilon, times in zip(self.epsilons, self.counts, strict=True):
            truth = -math.log1p(math.exp(-float(epsilon)))
            losses, logs = np.array([epsilon, -epsilon]), np.array([truth, truth - epsilon])
            listed.append(Values(losses, logs, int(times) * count))
        return listed

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        values, errors = np.zeros(s.shape, np.complex128), np.zeros(s.shape)
        left = np.arange(s.size)
        if self._polynomial is not None:
            doubt = self._polynomial.doubt(s)
            good = doubt < 1e-9
            values[good], errors[good] = self._polynomial.log_moment(s[good])
            errors[good] += doubt[good]
            left = left[~good]
        step = max(_CHUNK // self.epsilons.size, 1)
        for start in range(0, left.size, step):
            part = left[start : start + step]
            each, doubts = _log_moments(s[part], self.epsilons)
            values[part], errors[part] = summed(each, doubts, self.counts)
        return values, errors

    def rough_log_moments(self, thetas: Floats) -> Floats:
        """Of a few of the losses, which stand for the others."""
        few, counts = self._few
        epsilons = self.epsilons[few]
        size = np.abs(np.outer(thetas + 0.5, epsilons))
        rise = size + np.log1p(np.exp(-2 * size)) - epsilons / 2 - np.log1p(np.exp(-epsilons))
        values: Floats = rise @ counts
        return values

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        size = self.epsilons.size if self._polynomial is None else _POINTS
        return float(count * size)

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """Each response by its two atoms: all of them in groups of like epsilons, or some alone.

        A group knows its epsilons only within its ends, which says little for fast oscillation.
        """
        stride = -(-self.epsilons.size // _WITNESSES)
        some, counts = self.epsilons[::stride], self.counts[::stride]
        alone = _decays(theta, some, some, low, high) @ counts
        if stride == 1:
            return alone
        count = min(self.epsilons.size, _GROUPS)
        starts = np.linspace(0, self.epsilons.size, count + 1).astype(int)[:-1]
        stops = np.append(starts[1:], self.epsilons.size)
        least, most = self.epsilons[starts], self.epsilons[stops - 1]
        counts = np.add.reduceat(self.counts, starts)
        return np.maximum(alone, _decays(theta, least, most, low, high) @ counts)


class _Interpolation:
    """The sum over many epsilons as a weighted sum over few."""

    def __init__(self, law: Responses) -> None:
        low, high = float(law.epsilons[0]), float(law.epsilons[-1])
        self.middle, self.radius = (high + low) / 2, max((high - low) / 2, 1e-6 * high)
        angles = math.pi * (np.arange(_POINTS) + 0.5) / _POINTS
        self.points = self.middle + self.radius * np.cos(angles)
        places = np.clip((law.epsilons - self.middle) / self.radius, -1.0, 1.0)
        sums = np.zeros(_POINTS)
        step = _CHUNK // _POINTS
        for start in range(0, places.size, step):
            part = slice(start, start + step)
            basis = np.polynomial.chebyshev.chebvander(places[part], _POINTS - 1)
            sums += law.counts[part] @ basis
        cosines = np.cos(np.outer(angles, np.arange(_POINTS)))
        scale = np.full(_POINTS, 2.0 / _POINTS)
        scale[0] /= 2
        self.weights = cosines @ (scale * sums)
        self.total = float(np.sum(law.counts))
        # a place, a basis and a weight are off by some units in the last place, times the degree
        self.blur = 64 * _POINTS * UNIT * self.total

    def doubt(self, s: Complexes) -> Floats:
        """What interpolation can miss at each s: infinite where no ellipse fits into the strip."""
        wide = self.middle + self.radius * (_RHOS + 1 / _RHOS) / 2
        tall = self.radius * (_RHOS - 1 / _RHOS) / 2
        slope = np.abs(s.real + 0.5)[:, None]
        turn = slope * tall + np.abs(s.imag)[:, None] * wide
        bound = (np.abs(s) + 1.0)[:, None] * (wide + tall) + 8.0
        missed = 4 * bound * _RHOS ** (1.0 - _POINTS) / (_RHOS - 1) * self.total
        fits = (turn < _STRIP) & (tall < _STRIP)
        least: Floats = np.min(np.where(fits, missed, np.inf), axis=1)
        return least

    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        values, errors = _log_moments(s, self.points)
        largest = np.max(np.abs(values), axis=1, initial=0.0)
        value, error = summed(values, errors, self.weights)
        return value, error + self.blur * largest


def _decays(theta: float, least: Floats, most: Floats, low: Floats, high: Floats) -> Floats:
    """The decay of every response with an epsilon from ``least`` to ``most``; a row for a block."""
    tilt = abs(theta + 0.5) * most
    # twice the product of the tilted probabilities, which beyond 350 says nothing
    apart = np.where(tilt < 350.0, 0.5 / np.cosh(np.minimum(tilt, 350.0)) ** 2, 0.0)
    gain = least_one_minus_cosine(np.outer(low, 2 * least), np.outer(high, 2 * most))
    falls: Floats = -0.5 * np.log1p(-np.minimum(apart * gain * 0.999, 1 - 1e-12))
    return falls


def _log_moments(s: Complexes, epsilons: Floats) -> tuple[Complexes, Floats]:
    """A row for each s, a column for each epsilon."""
    if s.size == 0:
        return np.empty((0, epsilons.size), np.complex128), np.empty((0, epsilons.size))
    s = np.asarray(np.where(s.real >= -0.5, s, -1 - s), np.complex128)
    z = np.multiply.outer(s, epsilons)
    if float(np.max(epsilons)) <= _LARGE:
        lie = 1 / (1 + np.exp(epsilons))
        grown = expm1(-2 * z)
        inner = lie * grown
        size = lie * (np.abs(grown) * 16 + np.abs(z) * np.abs(grown + 1) * 8) * UNIT
    else:
        large = epsilons > _LARGE
        lie = 1 / (1 + np.exp(np.minimum(epsilons, _LARGE)))
        turned = np.exp(np.where(large, -epsilons - 2 * z, -1.0))
        grown = expm1(np.where(large, -1.0, -2 * z))
        inner = np.where(large, turned - np.exp(-epsilons), lie * grown)
        less = lie * (np.abs(grown) * 16 + np.abs(z) * np.abs(grown + 1) * 8)
        more = np.abs(turned) * (16 + 8 * (np.abs(z) + epsilons)) + 16 * np.exp(-epsilons)
        size = np.where(large, more, less) * UNIT
    errors = as_nats(size, np.abs(1 + inner)) + 4 * UNIT * np.abs(z)
    return z + log1p(np.asarray(inner, np.complex128)), errors
