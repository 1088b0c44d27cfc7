r"""Moments over noise whose loss is the better variable: cells of the loss and Fourier transforms.

The cells have one length h, and every cell the same m places, so that the sum over the cells is one
Fourier transform a place:

.. math:: J = \sum_g e^{it(l_0+u_gh)} \sum_j F(l_0 + jh + u_gh)\,e^{itjh}, \qquad
    F(l) = \varphi(x(l))\,x'(l)\,e^{pl} .

Nothing is rounded to the lattice. A rule of m places errs by at most what
:mod:`quaestor.accounting.loss.laws.sampling.noise_panels` says, with a bound on the disc of radius
R around the middle c of a cell: :math:`|x'(l)|` is largest at the real end c - R of the disc, so
that x moves by no more than x(c) - x(c - R).

The transform rounds each of its sums, on the way of every term, by some units of the sum of sizes
for each factor 2 of its length [Higham 2002, section 24.1, with sums in place of norms].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from quaestor.accounting.loss.laws.sampling.noise_panels import legendre_rule
from quaestor.accounting.loss.laws.sampling.sampled_noise import ROOT, MomentSum
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.accounting.numerics.transform_sizes import smooth_size
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.sampling.sampled_noise import SampledNoise
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["LossCells"]

_PLACES = 10
_RHOS = (8.0, 11.0, 15.0)
_LONGEST = 0.1  # of x
_CELLS_TO_THE_END = 10.0  # between the least loss and the first cell
_MOST = 1 << 20
_CERTAIN = 1e-9  # of the sizes from which a slant is computed: less may be less than nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCells:
    """So many cells of one length from a loss on, and the size of their transform.

    ``end`` is the noise at which the last one ends.
    """

    noise: SampledNoise
    loss: float
    length: float
    number: int
    size: int
    end: float

    @classmethod
    def up_to(
        cls, noise: SampledNoise, low: float, high: float, *, count: int, step: float
    ) -> Self | None:
        """Cells for so many points, up to ``high``; None if there are none above ``low``."""
        period = 2 * math.pi / step
        least = max(2 * count, period / (noise.mu * _LONGEST))
        if not least < _MOST:
            raise BeyondFloats("the losses are too far apart for a transform")
        size = smooth_size(math.ceil(least))
        length = period / size
        slant = max(length / (_LONGEST * noise.mu), -math.expm1(-_CELLS_TO_THE_END * length))
        if not slant < 1.0:
            return None
        odds = math.log1p(-noise.rate) - math.log(noise.rate)
        odds += math.log(slant) - math.log1p(-slant)
        x = max(odds / noise.mu + noise.mu / 2, low)  # where the loss has that slope
        if not x < high - _LONGEST:
            return None
        last = noise.loss(high)
        number = math.floor((last - noise.loss(x)) / length)
        if number < 1:
            return None
        if number > 4 * _MOST // _PLACES:
            raise BeyondFloats("the losses are too far apart for a transform")
        start = last - number * length  # so that the last one ends there
        return cls(noise=noise, loss=start, length=length, number=number, size=size, end=high)

    @property
    def start(self) -> float:
        """The noise at which the first cell begins."""
        return self.noise.place(self.loss)

    def moments(self, power: float, count: int, top: float) -> MomentSum:
        """The integral of the density times w^(power + it) at the points."""
        nodes, weights = legendre_rule(_PLACES)
        shares = (1 + nodes) / 2
        mu = self.noise.mu
        starts = self.loss + self.length * np.arange(self.number)
        logs = np.log(weights / 2 * self.length / (ROOT * mu))
        frequencies = 2 * math.pi / self.size * np.arange(count) / self.length
        values, size, flat, reach = np.zeros(count, np.complex128), 0.0, 0.0, 0.0
        rows = -(-self.number // self.size)
        rounds = 96 + 8 * (math.log2(self.size) + 4) + rows + 8 * abs(top)
        for share, log_weight in zip(shares, logs, strict=True):
            losses = starts + share * self.length
            slants, x = self.noise.slants(losses), self.noise.places(losses)
            heights = np.exp(log_weight + power * losses - x * x / 2 - top) / slants
            off = self.noise.units(losses, slants)
            units = rounds + 8 * (x * x + abs(power) * np.abs(losses) + off)
            units += 8 * np.abs(x) * (np.abs(x) + mu + off / mu)
            flat += float(np.sum(heights * units))
            size += float(np.sum(heights))
            reach += float(np.sum(heights * np.abs(losses)))
            values += self._transform(heights, count) * np.exp(
                1j * frequencies * (self.loss + share * self.length)
            )
        turning = 16 * UNIT * ((abs(self.loss) + self.length) * size + reach)
        left_out = self._left_out(power, float(frequencies[-1]), top)
        joints = self.noise.joint(power, self.loss, self.start, top)
        joints += self.noise.joint(power, self.noise.loss(self.end), self.end, top)
        return MomentSum(values, size, left_out + UNIT * (flat + joints), turning)

    def _transform(self, heights: Floats, count: int) -> Complexes:
        """The sums of heights times e^(itjh) at the points, which have the period of the size."""
        folded = np.zeros(-(-self.number // self.size) * self.size)
        folded[: self.number] = heights
        sums = np.fft.rfft(folded.reshape(-1, self.size).sum(axis=0))[:count]
        return np.asarray(np.conj(sums), np.complex128)

    def _left_out(self, power: float, fastest: float, top: float) -> float:
        half, mu, rate = self.length / 2, self.noise.mu, self.noise.rate
        middles: Floats = self.loss + self.length * (np.arange(self.number, dtype=np.float64) + 0.5)
        x = self.noise.places(middles)
        best = np.full(middles.shape, np.inf)
        for rho in _RHOS:
            radius = half * (rho + 1 / rho) / 2
            ends: Floats = middles - radius
            slants = self.noise.slants(ends)
            fits = slants > _CERTAIN * (rate + np.abs(np.expm1(-ends)))
            ends, slants = np.where(fits, ends, middles), np.where(fits, slants, 1.0)
            moved = (x - self.noise.places(ends)) * (1 + 1e-6)
            nats = power * middles - x * x / 2 + np.abs(x) * moved + moved**2 / 2 - top
            nats = nats - np.log(slants) + (abs(power) + fastest) * radius
            nats = nats + (2 - 2 * _PLACES) * math.log(rho) - math.log(rho * rho - 1)
            best = np.where(fits, np.minimum(best, nats), best)
        known = np.exp(np.minimum(best, 600.0))
        return float(np.sum(known)) * half * 64 / 15 / (ROOT * mu) * 1.001
