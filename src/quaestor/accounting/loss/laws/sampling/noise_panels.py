r"""Moments over noise whose loss hardly depends on it: panels of Gauss-Legendre quadrature.

:math:`e^{ikL\tau}` at all places, for k = aB + b, is a product of two small matrices.

What a rule of m places leaves out [Trefethen 2013, Theorem 19.3] is at most
:math:`\tfrac{64}{15}aB\rho^{2-2m}/(\rho^2-1)`, a being half the length of the panel and B a bound
of the integrand on the disc of radius :math:`R = a(\rho+1/\rho)/2` around its middle c. There
:math:`|\varphi(c+\xi)| \le \varphi(c)e^{|c||\xi|+|\xi|^2/2}`;
:math:`1-q+qe^{l(c-R)}\cos\mu R \le |w| \le w(c+R)`; and the argument of w is at most
:math:`\mu R` and at most :math:`\frac{q}{1-q}e^{l(c+R)}\mu R`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.laws.mixture import log_mixture
from quaestor.accounting.loss.laws.sampling.sampled_noise import ROOT, MomentSum
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.sampling.sampled_noise import SampledNoise
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["NoisePanels", "legendre_rule", "panel_places"]

_LONGEST = 0.4
_ANGLE = 10.0  # radians by which the phase turns within a panel, at most
_PLACES = 20
_RHOS = (3.0, 5.0, 8.0, 12.0)
_MOST_PLACES = 1 << 20
_BLOCK = 1 << 22  # elements of a matrix product at once, to bound memory
_ALONE = 1 << 15  # multiplications of a product that takes one thread: more only wait for others
_TERMS = 32  # that a product adds up in an order of its own: so many units


@lru_cache(maxsize=8)
def legendre_rule(size: int) -> tuple[Floats, Floats]:
    """The nodes and weights of a rule on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(size)
    return nodes, weights


def panel_places(edges: Floats, size: int) -> tuple[Floats, Floats]:
    """The places of all panels, and the logarithms of the normal density times their weights."""
    nodes, weights = legendre_rule(size)
    halves = np.diff(edges)[:, None] / 2
    x = ((edges[1:] + edges[:-1])[:, None] / 2 + halves * nodes).ravel()
    logs = np.log(halves * weights / ROOT).ravel() - x * x / 2
    return x, logs


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePanels:
    """The noise between two places."""

    noise: SampledNoise
    low: float
    high: float

    def moments(self, power: float, t: Floats, top: float, *, even: bool) -> MomentSum:
        """The integral of the density times w^(power + it), at evenly spaced t or at any."""
        if not self.high > self.low:
            return MomentSum(np.zeros(t.shape, np.complex128), 0.0, 0.0, 0.0)
        fastest = float(np.max(t))
        edges = self._edges(power, fastest)
        x, logs = panel_places(edges, _PLACES)
        losses = self.noise.losses(x)
        weights = np.exp(logs + power * losses - top)
        sizes = self.noise.sizes(x, losses)
        left_out = self._left_out(power, fastest, edges, top)
        order = 4 * _TERMS + 2 * math.ceil(x.size / _TERMS)
        units = 64 + order + 8 * (x * x + np.abs(logs)) + 32 * abs(power) * sizes
        return MomentSum(
            _evenly_turned(weights, losses, t) if even else _turned(weights, losses, t),
            float(np.sum(weights)),
            left_out + UNIT * float(np.sum(weights * (units + 8 * abs(top)))),
            UNIT * float(np.sum(weights * (32 * sizes))),
        )

    def _edges(self, power: float, fastest: float) -> Floats:
        """Short enough in x, and in the angle through which e^(itL) turns."""
        length = min(_LONGEST, 1.0 / self.noise.mu)
        count = math.ceil((self.high - self.low) / length) + 1
        if not count < _MOST_PLACES:
            raise BeyondFloats("the moment is too steep to integrate")
        edges = np.linspace(self.low, self.high, count + 1)
        angles = (fastest + abs(power)) * np.diff(self.noise.losses(edges)) / _ANGLE
        pieces = np.ceil(np.maximum(angles, 1.0)).astype(np.int64)
        if not np.sum(pieces) < _MOST_PLACES / _PLACES:
            raise BeyondFloats("the loss turns too fast to integrate")
        starts = np.repeat(edges[:-1], pieces)
        lengths = np.repeat(np.diff(edges) / pieces, pieces)
        first = np.repeat(np.cumsum(pieces) - pieces, pieces)
        inner = starts + lengths * (np.arange(starts.size) - first)
        return np.append(inner, self.high)

    def _left_out(self, power: float, fastest: float, edges: Floats, top: float) -> float:
        mu, rate = self.noise.mu, self.noise.rate
        middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        best = np.full(middles.shape, np.inf)
        for rho in _RHOS:
            radius = halves * (rho + 1 / rho) / 2
            fits = mu * radius < 1.5
            above = self.noise.losses(middles + radius)
            tilted = np.log(np.cos(np.minimum(mu * radius, 1.5)))
            under = log_mixture(self.noise.ratios(middles - radius) + tilted, rate)
            most = np.maximum(power * above, power * under)
            odds = (
                rate / (1 - rate) * np.exp(np.minimum(self.noise.ratios(middles + radius), 700.0))
            )
            turn = fastest * mu * radius * np.minimum(odds, 1.0)
            nats = most + turn - middles**2 / 2 + np.abs(middles) * radius + radius**2 / 2 - top
            nats = nats + (2 - 2 * _PLACES) * math.log(rho) - math.log(rho * rho - 1)
            best = np.where(fits, np.minimum(best, nats), best)
        known = np.exp(np.minimum(best, 600.0)) * halves
        return float(np.sum(known)) * 64 / 15 / ROOT * 1.001


def _turned(weights: Floats, losses: Floats, t: Floats) -> Complexes:
    """The sums of w e^(itL) at any t."""
    values = np.empty(t.shape, np.complex128)
    rows = max(_BLOCK // losses.size, 1)
    for start in range(0, t.size, rows):
        part = slice(start, start + rows)
        values[part] = np.sum(np.exp(1j * np.outer(t[part], losses)) * weights, axis=1)
    return values


def _evenly_turned(weights: Floats, losses: Floats, t: Floats) -> Complexes:
    """The same at evenly spaced t from 0 on, as a product of two matrices, some terms at a time."""
    step = t[-1] / (t.size - 1)
    small = math.ceil(math.sqrt(t.size))
    large = -(-t.size // small)
    inner = np.exp(1j * np.outer(losses, np.arange(small) * step))
    outer = np.exp(1j * np.outer(np.arange(large) * small * step, losses)) * weights
    values: Complexes = np.zeros((large, small), np.complex128)
    rows = max(_ALONE // (_TERMS * small), 1)
    for first in range(0, large, rows):
        block = slice(first, first + rows)
        for start in range(0, losses.size, _TERMS):
            part = slice(start, start + _TERMS)
            values[block] += outer[block, part] @ inner[part]
    return values.ravel()[: t.size]
