r"""Moments over Gaussian noise on random parts of the people: panels of Gauss-Legendre quadrature.

What a rule of m places leaves out [Trefethen 2013, Theorem 19.3] is at most
:math:`\tfrac{64}{15}aB\rho^{2-2m}/(\rho^2-1)`, a being half the length of the panel and B a bound
of the integrand on the ellipse around its middle c with the half axes
:math:`R = a(\rho+1/\rho)/2` and :math:`S = a(\rho-1/\rho)/2`. There
:math:`|\varphi(c+\xi)| \le \varphi(c)e^{|c||\xi|+|\xi|^2/2}` and
:math:`1-q+qe^{l(c-R)}\cos\mu R \le |w| \le w(c+R)`. With
:math:`z = \frac{q}{1-q}e^l` the argument of w = (1 - q)(1 + z) grows off the real axis by
:math:`\mu\,\mathrm{Re}\frac{z}{1+z}` a unit, which for :math:`|\arg z| \le \pi/2` is at most
:math:`\mu\frac{|z|}{1+|z|}` where :math:`|z| \le 1`, and at most :math:`\mu\frac{|z|^2}{1+|z|^2}`
where it is more. Both grow with :math:`|z|`.

The panels of many laws are computed at once: most of them have few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.laws.mixture import log_mixture
from quaestor.accounting.loss.laws.sampling.even_sums import even_sums
from quaestor.accounting.loss.laws.sampling.sampled_noise import ROOT, MomentSums, SampledNoise
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["NoisePanels", "legendre_rule", "panel_places"]

_LONGEST = 0.8
_ANGLE = 50.0  # radians by which the phase turns within a panel, at most
_PLACES = 32
_RHOS = (3.0, 4.0, 5.0, 8.0)
_AHEAD = 0.6  # of a panel: where the turn within it is bounded, about
_MOST_PLACES = 1 << 20  # of one law


@lru_cache(maxsize=8)
def legendre_rule(size: int) -> tuple[Floats, Floats]:
    """The nodes and weights of a rule on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(size)
    return nodes, weights


def panel_places(edges: Floats, size: int) -> tuple[Floats, Floats]:
    """The places of all panels, and the logarithms of the normal density times their weights."""
    x, logs = _places((edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2, size)
    return x.ravel(), logs.ravel()


def _places(middles: Floats, halves: Floats, size: int) -> tuple[Floats, Floats]:
    """The same, a row for each panel."""
    nodes, weights = legendre_rule(size)
    x = middles[:, None] + halves[:, None] * nodes
    logs = np.log(halves / ROOT)[:, None] + np.log(weights) - x * x / 2
    return x, logs


@dataclass(frozen=True, slots=True)
class NoisePanels:
    """Panels of several laws, those of one after those of another; ``rows`` says whose they are.

    All but ``rows`` has an element for each panel.
    """

    noise: SampledNoise[Floats]
    middles: Floats
    halves: Floats
    rows: NDArray[np.intp]

    @classmethod
    def of(
        cls, noise: SampledNoise[Floats], low: Floats, high: Floats, *, speed: float
    ) -> NoisePanels:
        """Panels between the ends of each law, short enough in x and in the angle of e^(pL).

        ``speed`` is the size of p.
        """
        lengths = _LONGEST / np.maximum(noise.mu, 1.0)
        counts = np.ceil((high - low) / lengths) + 1
        if not float(np.max(counts)) < _MOST_PLACES:
            raise BeyondFloats("the moment is too steep to integrate")
        rows, within = _split(counts)
        steps = ((high - low) / counts)[rows]
        starts = low[rows] + steps * within
        coarse = SampledNoise(noise.mu[rows], noise.rate[rows])
        ahead = coarse.turning_speeds(starts + (1 + _AHEAD) * steps)
        pieces = np.ceil(np.maximum(speed * ahead * steps / _ANGLE, 1.0))
        if not np.max(np.add.reduceat(pieces, _firsts(rows))) < _MOST_PLACES / _PLACES:
            raise BeyondFloats("the loss turns too fast to integrate")
        fine, within = _split(pieces)
        halves = (steps / pieces / 2)[fine]
        middles = starts[fine] + halves * (2 * within + 1)
        rows = rows[fine]
        return cls(SampledNoise(noise.mu[rows], noise.rate[rows]), middles, halves, rows)

    def moments(self, power: float, t: Floats, tops: Floats, *, even: bool) -> MomentSums:
        """The integrals of the densities times w^(power + it), at evenly spaced t or at any.

        A row for each law, relative to e^top.
        """
        x, logs = _places(self.middles, self.halves, _PLACES)
        noise = SampledNoise(self.noise.mu[:, None], self.noise.rate[:, None])
        tops = tops[self.rows]
        losses = noise.losses(x)
        weights = np.exp(logs + (power * losses - tops[:, None]))
        sizes = noise.sizes(x, losses)
        units = 192 + 8 * (x * x + np.abs(logs)) + 32 * abs(power) * sizes
        firsts = _firsts(self.rows)
        left_out = self._left_out(power, float(np.max(t)), tops)
        flat = left_out + UNIT * np.sum(weights * (units + 8 * np.abs(tops[:, None])), axis=1)
        doubt = np.add.reduceat(flat, firsts)[:, None]
        turning = np.add.reduceat(np.sum(weights * sizes, axis=1), firsts) * (32 * UNIT)
        size = np.add.reduceat(np.sum(weights, axis=1), firsts)
        if even:
            step = float(t[-1]) / (t.size - 1)
            sums = even_sums(weights, losses, self.rows, step=step, count=t.size)
            return MomentSums(sums.values, size, doubt + size[:, None] * sums.off, turning)
        values: Complexes = np.empty((firsts.size, t.size), np.complex128)
        for i, each in enumerate(t.tolist()):
            turned = np.sum(weights * np.exp(1j * each * losses), axis=1) if each else size
            values[:, i] = np.add.reduceat(turned, firsts) if each else size
        crowd = int(np.max(np.diff(np.append(firsts, self.rows.size))))
        return MomentSums(values, size, doubt + crowd * UNIT * size[:, None], turning)

    def _left_out(self, power: float, fastest: float, tops: Floats) -> Floats:
        """What the rule of each panel leaves out, at most."""
        noise, middles, halves = self.noise, self.middles, self.halves
        best = np.full(middles.shape, np.inf)
        for rho in _RHOS:
            radius, aside = halves * (rho + 1 / rho) / 2, halves * (rho - 1 / rho) / 2
            fits = noise.mu * radius < 1.5
            above = noise.losses(middles + radius)
            tilted = np.log(np.cos(np.minimum(noise.mu * radius, 1.5)))
            under = log_mixture(noise.ratios(middles - radius) + tilted, noise.rate)
            most = np.maximum(power * above, power * under)
            turn = fastest * aside * noise.turning_speeds(middles + radius)
            nats = most + turn - middles**2 / 2 + np.abs(middles) * radius + radius**2 / 2 - tops
            nats = nats + (2 - 2 * _PLACES) * math.log(rho) - math.log(rho * rho - 1)
            best = np.where(fits, np.minimum(best, nats), best)
        known: Floats = np.exp(np.minimum(best, 600.0)) * halves * (64 / 15 / ROOT * 1.001)
        return known


def _split(counts: Floats) -> tuple[NDArray[np.intp], Floats]:
    """For so many parts of each: of which each part is one, and the how manieth."""
    whole = counts.astype(np.intp)
    rows = np.repeat(np.arange(whole.size), whole)
    within = np.arange(rows.size) - np.repeat(np.cumsum(whole) - whole, whole)
    return rows, within.astype(np.float64)


def _firsts(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the panels of each law begin."""
    return np.flatnonzero(np.diff(rows, prepend=-1))
