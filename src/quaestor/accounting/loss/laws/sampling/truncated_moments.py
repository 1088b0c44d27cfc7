"""Moments of several losses without their rarest outcomes, and how fast they fall off: at once.

See :mod:`quaestor.accounting.loss.laws.sampling.truncated_gaussian`. All arrays have a row for each
loss; all losses are of one direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from quaestor.accounting.loss.engine.exponential_sums import as_nats
from quaestor.accounting.loss.laws.sampling.noise_panels import NoisePanels
from quaestor.accounting.loss.laws.sampling.sampled_noise import SampledNoise
from quaestor.accounting.loss.laws.sampling.tilted_cells import FINER, TiltedCells, normal_masses
from quaestor.accounting.numerics.complexes import UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.laws.sampling.truncated_gaussian import TruncatedSampledGaussian
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["TiltedLosses", "log_moments"]

_LOOKS, _FURTHER = 32, 16  # places at which the density is looked at, and between them
_FEW = 8  # points for which no transform is worth while
_UNSEEN = 75.0  # nats below the largest term, from where on nothing is summed
_MANY = 1 << 17  # points of all lattices together, to bound memory
_LARGEST_DENSITY = 600.0  # logarithm, beyond which none is known
_TOPS = 257  # places at which the largest exponent is looked for


@dataclass(frozen=True, slots=True)
class _Truncated:
    """Some truncated losses, a row for each."""

    noise: SampledNoise[Floats]
    low: Floats
    high: Floats
    removing: bool

    @classmethod
    def of(cls, laws: Sequence[TruncatedSampledGaussian]) -> Self:
        mus, rates = ([getattr(law.noise, name) for law in laws] for name in ("mu", "rate"))
        noise = SampledNoise(np.array(mus)[:, None], np.array(rates)[:, None])
        low, high = ([getattr(law, name) for law in laws] for name in ("low", "high"))
        return cls(noise, np.array(low)[:, None], np.array(high)[:, None], laws[0].removing)

    def power(self, theta: float) -> float:
        """The power p of w whose integral is the moment."""
        return theta + 1 if self.removing else -theta

    def even(self, count: int) -> Floats:
        """So many places between the ends of each."""
        places: Floats = self.low + (self.high - self.low) * np.linspace(0.0, 1.0, count)
        return places

    def tops(self, power: float) -> Floats:
        """The largest exponents, roughly."""
        x = self.even(_TOPS)
        tops: Floats = np.max(power * self.noise.losses(x) - x * x / 2, axis=1, keepdims=True)
        return tops

    def seen(self, power: float, tops: Floats) -> tuple[Floats, Floats]:
        """Up to where to sum, and what is beyond relative to e^top: w^p falls if p is negative."""
        none = np.zeros(tops.shape)
        if power >= 0.0:
            return self.high, none
        losses, last = (tops - _UNSEEN) / power, self.noise.losses(self.high)
        short = losses < last
        x = self.noise.places(np.where(short, losses, last))
        x = np.where(short, np.clip(x, np.minimum(self.low + 0.1, self.high), self.high), self.high)
        beyond = power * self.noise.losses(x) * (1 - 1e-9) - tops
        return x, np.where(short, np.exp(np.minimum(beyond, 600.0)) * (1 + 1e-9), none)


def log_moments(laws: Sequence[TruncatedSampledGaussian], s: Complexes) -> tuple[Complexes, Floats]:
    """The log-moments on a vertical line, and their errors."""
    several = max(_MANY // (8 * s.size), 1)
    parts = [
        _log_moments(_Truncated.of(laws[start : start + several]), s)
        for start in range(0, len(laws), several)
    ]
    return np.concatenate([values for values, _ in parts]), np.concatenate(
        [off for _, off in parts]
    )


def _log_moments(losses: _Truncated, s: Complexes) -> tuple[Complexes, Floats]:
    power, t = losses.power(float(s[0].real)), np.abs(s.imag)
    step = float(t[-1]) / max(s.size - 1, 1)
    even = s.size > _FEW and bool(np.all(np.abs(t - step * np.arange(s.size)) <= 8 * UNIT * t))
    tops = losses.tops(power)
    high, unseen = losses.seen(power, tops)
    noise = SampledNoise(losses.noise.mu[:, 0], losses.noise.rate[:, 0])
    speed = float(np.max(t)) + abs(power)
    panels = NoisePanels.of(noise, losses.low[:, 0], high[:, 0], speed=speed)
    values, size, doubt, turning = panels.moments(power, t, tops[:, 0], even=even)
    if not losses.removing:  # p = -s: the loss turns the other way
        values = np.conj(values)
    if bool(np.any(s.imag < 0)):
        values = np.where(s.imag < 0, np.conj(values), values)
    off = doubt + unseen + 4 * UNIT * size[:, None]
    off = off + turning[:, None] * (t * (1 + 1e-9)) + 1e-300
    sizes = np.abs(values)
    dark = sizes < off  # then |J| < 2 off, and off itself is 3 off from it
    seen = np.where(dark, off, values)
    logs = np.asarray(tops + np.log(seen), np.complex128)
    doubts = as_nats(np.where(dark, 3 * off, off), np.where(dark, off, sizes))
    return logs, doubts + 8 * UNIT * (np.abs(tops) + 1)


@dataclass(frozen=True, slots=True)
class TiltedLosses:
    """Losses when tilted by theta: cells, and above each look the share and density of each."""

    cells: TiltedCells
    shares: Floats
    densities: Floats  # logarithms

    @classmethod
    def of(cls, laws: Sequence[TruncatedSampledGaussian], theta: float, *, cells: int) -> Self:
        """What the decay along the line through theta is computed from."""
        losses = _Truncated.of(laws)
        power = losses.power(theta)
        values, errors = log_moments(laws, np.array([complex(theta)]))
        least, most = values.real - errors, values.real + errors
        start = np.maximum(losses.low, -8.0)
        edges = start + (losses.high - start) * np.linspace(0.0, 1.0, FINER * cells + 1)
        logs = losses.noise.losses(edges)
        blur = 32 * UNIT * np.max(losses.noise.sizes(edges, logs), axis=1, keepdims=True)
        joined = TiltedCells.of(edges, logs, most[:, 0], power=power, removing=losses.removing)
        apart = replace(joined, low=joined.low - blur, high=joined.high + blur)
        looks = losses.even(_FURTHER * _LOOKS + 1)
        at = losses.noise.losses(looks)
        densities = _largest_densities(losses, power, looks, at) - least
        densities = np.where(densities < _LARGEST_DENSITY, densities, np.inf)
        return cls(apart, _shares(power, looks, at, most), densities)

    def falls(self, low: Floats, high: Floats) -> Floats:
        """Lower bounds on the fall for all t in each [low, high].

        By pairs of cells, by the largest density, and by the moment of what is above each look,
        which is at most V/|t| (see below), that of all else being at most its moment at theta.
        """
        best = self.cells.decay(low, high)
        best = np.maximum(best, np.log(low) - math.log(4) - self.densities[:, :1])
        left, turned = np.zeros(best.shape), 4 / low
        for share, density in zip(self.shares.T, np.exp(self.densities.T), strict=True):
            left = np.maximum(left, share[:, None] - turned * density[:, None])
        falls: Floats = np.maximum(best, -np.log1p(-np.minimum(left * 0.999, 1 - 1e-12)))
        return falls


def _shares(power: float, looks: Floats, losses: Floats, log_moments: Floats) -> Floats:
    """At least the shares of the moment at theta that are above each of the looks."""
    ends = power * losses - log_moments
    heights = np.minimum(np.minimum(ends[:, 1:], ends[:, :-1]), 690.0)
    masses = normal_masses(looks) * np.exp(heights) * 0.999
    shares: Floats = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1][:, ::_FURTHER]
    return shares


def _largest_densities(losses: _Truncated, power: float, x: Floats, at: Floats) -> Floats:
    r"""The logarithms of bounds on the density f of the tilted loss, above each of the looks.

    Its total variation V, ends included, is at most 4 times its largest value: in x its logarithm
    is :math:`-x^2/2 + (p+1)\log w - \mu x` and a constant, whose slope is 0 where a straight line
    meets a sigmoid, in three places at most, of which two are maxima.
    """
    noise = losses.noise
    slants = np.minimum(noise.slants(at[:, 1:]) * (1 + 1e-9) + 1e-12, 1.0)
    logs = -x * x / 2 + (power + 1) * at - noise.ratios(x)
    logs = logs - np.log(noise.mu * noise.rate) - math.log(2 * math.pi) / 2
    sizes = x * x + abs(power + 1) * noise.sizes(x, at) + noise.mu * (np.abs(x) + noise.mu)
    logs = logs + 64 * UNIT * (sizes + 1) + 1e-9
    steepest = np.maximum(np.abs(x[:, 1:]), np.abs(x[:, :-1])) + noise.mu
    steepest = steepest + abs(power + 1) * noise.mu * slants
    between = np.maximum(logs[:, 1:], logs[:, :-1]) + steepest * (x[:, 1:2] - x[:, :1]) / 2
    above: Floats = np.maximum.accumulate(between[:, ::-1], axis=1)[:, ::-1][:, ::_FURTHER]
    return above
