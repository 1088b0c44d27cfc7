r"""Gaussian noise on a random part of the people, without its rarest outcomes.

At a large order the moment of the loss :math:`L = \log(1-q+qe^{\mu x-\mu^2/2})` is made by outcomes
so rare that no delta of interest sees them: at order 17 and :math:`\mu = 1` by those near x = 18. A
line through such a moment says nothing about a delta of 1e-5. So x stays within ``low`` and
``high``, and what lies outside is accounted for apart
(:mod:`quaestor.accounting.loss.engine.set_aside`): as lost, or, where its loss is so large that no
other can make up for it, in closed form.

Removing a person takes :math:`J(p) = \int\varphi w^p\,dx` at p = s + 1, adding one at p = -s. The
moments are wanted at many evenly spaced s of one line, and x is treated in two parts: where the
loss hardly depends on x (:mod:`quaestor.accounting.loss.laws.sampling.noise_panels`), and where the
loss itself is the better variable (:mod:`quaestor.accounting.loss.laws.sampling.loss_cells`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from flint import arb

from quaestor.accounting.loss.engine.exponential_sums import as_nats
from quaestor.accounting.loss.laws.closed_form import blurred
from quaestor.accounting.loss.laws.law import Large, Law
from quaestor.accounting.loss.laws.sampling.loss_cells import LossCells
from quaestor.accounting.loss.laws.sampling.noise_panels import NoisePanels, panel_places
from quaestor.accounting.loss.laws.sampling.sampled_noise import SampledNoise
from quaestor.accounting.loss.laws.sampling.tilted_cells import FINER, TiltedCells, normal_masses
from quaestor.accounting.numerics.balls import working_precision
from quaestor.accounting.numerics.complexes import UNIT

if TYPE_CHECKING:
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["TruncatedSampledGaussian"]

_CELLS = 14
_LOOKS, _FURTHER = 32, 16  # places at which the density is looked at, and between them
_FEW = 8  # points for which no transform is worth while
_UNSEEN = 75.0  # nats below the largest term, from where on nothing is summed


class _Tilt(NamedTuple):
    """Cells of the loss when tilted by theta, and above each look its share and log-density."""

    theta: float
    cells: TiltedCells
    shares: Floats
    densities: Floats


class TruncatedSampledGaussian(Law):
    """Gaussian noise of shift over sigma ``mu``, sampled at ``rate``, for x in [low, high]."""

    decays_quickly = False

    def __init__(
        self, *, mu: float, rate: float, removing: bool, lost: float, above: float = math.inf
    ) -> None:
        """Lose at most about ``lost`` of the probability; set aside what loses more than ``above``.

        Only when removing a person losses have no upper limit.
        """
        self.noise, self.removing = SampledNoise(mu, rate), removing
        self._tilted: _Tilt | None = None
        self.low, self.high = _limits(mu, rate if removing else 0.0, lost)
        share = rate if removing else 0.0
        lost_above = True
        if removing and above < self.noise.loss(self.high):
            self.high, lost_above = self.noise.place(above), False
            self.large = self._large()
        self.lost = (1 - share) * _outside(self.low, self.high, above=lost_above)
        self.lost += share * _outside(self.low - mu, self.high - mu, above=lost_above)
        self.lost *= 1 + 1e-9
        ends = self.noise.losses(np.array([self.low, self.high]))
        self.largest = max(float(ends[1] if removing else -ends[0]), 0.0) * (1 + 1e-9) + 1e-300

    def _large(self) -> Large:
        """What is above ``high``, in both worlds."""
        at = np.array([self.high])
        loss = self.noise.losses(at)
        least = float((loss - 64 * UNIT * self.noise.sizes(at, loss))[0])
        rate = self.noise.rate
        with working_precision(128):
            root, mu = arb(2).sqrt(), blurred(self.noise.mu)
            without = (arb(self.high) / root).erfc() / 2
            changed = ((self.high - mu) / root).erfc() / 2
            first = (1 - arb(rate)) * without + rate * changed
            return Large(least, (-first).log1p(), (-without).log1p())

    def _power(self, theta: float) -> float:
        return theta + 1 if self.removing else -theta

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """By pairs of cells, and by the largest density: of one loss little, of many enough."""
        if self._tilted is None or self._tilted.theta != theta:  # asked often about one line
            self._tilted = self._tilt(theta)
        _, cells, shares, densities = self._tilted
        best: Floats = cells.decay(low, high)[0]
        best = np.maximum(best, np.log(low) - math.log(4) - densities[0])
        for share, density in zip(shares, densities, strict=True):
            turned = np.exp(np.minimum(math.log(4) + density - np.log(low), 0.0))
            left = np.minimum(share - turned, 1 - 1e-12)
            best = np.maximum(best, -np.log1p(-np.maximum(left * 0.999, 0.0)))
        return best

    def _tilt(self, theta: float) -> _Tilt:
        """What the decay along the line through theta is computed from."""
        values, errors = self.nominal_log_moment(np.array([complex(theta)]))
        edges = np.linspace(max(self.low, -8.0), self.high, FINER * _CELLS + 1)
        logs = self.noise.losses(edges)
        blur = 32 * UNIT * np.max(self.noise.sizes(edges, logs))
        cells = TiltedCells.of(
            edges,
            logs[None, :],
            np.asarray(values.real + errors),
            power=self._power(theta),
            removing=self.removing,
        )
        apart = replace(cells, low=cells.low - blur, high=cells.high + blur)
        least, most = values.real[0] - errors[0], values.real[0] + errors[0]
        densities = self._largest_densities(theta) - float(least)
        return _Tilt(theta, apart, self._shares(theta, float(most)), densities)

    def _shares(self, theta: float, log_moment: float) -> Floats:
        """At least the shares of the moment at theta that are above each of the looks."""
        edges = self._looks
        ends = self._power(theta) * self.noise.losses(edges) - log_moment
        heights = np.minimum(np.minimum(ends[1:], ends[:-1]), 690.0)
        masses = self._masses * np.exp(heights) * 0.999
        shares: Floats = np.cumsum(masses[::-1])[::-1][::_FURTHER]
        return shares

    @cached_property
    def _masses(self) -> Floats:
        return normal_masses(self._looks)

    @property
    def _looks(self) -> Floats:
        return np.linspace(self.low, self.high, _FURTHER * _LOOKS + 1)

    def _largest_densities(self, theta: float) -> Floats:
        r"""The logarithms of bounds on the density f of the tilted loss, above each of the looks.

        Its total variation V, ends included, is at most 4 times its largest value: in x its
        logarithm is :math:`-x^2/2 + (p+1)\log w - \mu x` and a constant, whose slope is 0 where a
        straight line meets a sigmoid, in three places at most, of which two are maxima. And the
        moment of what is above is at most :math:`V/|t|`, that of all else at most its moment at
        theta.
        """
        mu, power, x = self.noise.mu, self._power(theta), self._looks
        losses = self.noise.losses(x)
        slants = np.minimum(self.noise.slants(losses[1:]) * (1 + 1e-9) + 1e-12, 1.0)
        logs = -x * x / 2 + (power + 1) * losses - self.noise.ratios(x)
        logs = logs - math.log(mu * self.noise.rate) - math.log(2 * math.pi) / 2
        sizes = x * x + abs(power + 1) * self.noise.sizes(x, losses) + mu * (np.abs(x) + mu)
        logs = logs + 64 * UNIT * (sizes + 1) + 1e-9
        steepest = np.maximum(np.abs(x[1:]), np.abs(x[:-1])) + abs(power + 1) * mu * slants + mu
        between = np.maximum(logs[1:], logs[:-1]) + steepest * (x[1] - x[0]) / 2
        above: Floats = np.maximum.accumulate(between[::-1])[::-1][::_FURTHER]
        return above

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return 300.0 * count

    @cached_property
    def _rough(self) -> tuple[Floats, Floats]:
        x, logs = panel_places(np.linspace(self.low, self.high, 81), 4)
        losses = self.noise.losses(x)
        return (losses, logs + losses) if self.removing else (-losses, logs)

    def rough_log_moments(self, thetas: Floats) -> Floats:
        """On 320 places."""
        losses, logs = self._rough
        exponents = logs + thetas[:, None] * losses
        top = np.max(exponents, axis=1)
        values: Floats = top + np.log(np.sum(np.exp(exponents - top[:, None]), axis=1))
        return values

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        power, t = self._power(float(s[0].real)), np.abs(s.imag)
        step = float(t[-1]) / max(s.size - 1, 1)
        even = s.size > _FEW and bool(np.all(np.abs(t - step * np.arange(s.size)) <= 8 * UNIT * t))
        top = self._top(power)
        high, unseen = self._seen(power, top)
        cells = None
        if even:
            cells = LossCells.up_to(self.noise, self.low, high, count=s.size, step=step)
        end = high if cells is None else cells.start
        panels = NoisePanels(noise=self.noise, low=self.low, high=end)
        values, size, doubt, turning = panels.moments(power, t, top, even=even)
        if cells is not None:
            rest = cells.moments(power, s.size, top)
            values, size = np.asarray(values + rest.values), size + rest.size
            doubt, turning = doubt + rest.doubt, turning + rest.turning
        if not self.removing:  # p = -s: the loss turns the other way
            values = np.conj(values)
        values = np.where(s.imag < 0, np.conj(values), values)
        off = doubt + unseen + 4 * UNIT * size + turning * t * (1 + 1e-9) + 1e-300
        dark = np.abs(values) < off  # then |J| < 2 off, and off itself is 3 off from it
        seen = np.where(dark, np.asarray(off, np.complex128), values)
        logs = np.asarray(top + np.log(seen), np.complex128)
        doubts = as_nats(np.where(dark, 3 * off, off), np.abs(seen))
        return logs, doubts + 8 * UNIT * (abs(top) + 1)

    def _top(self, power: float) -> float:
        """The largest exponent, roughly."""
        x = np.linspace(self.low, self.high, 257)
        return float(np.max(power * self.noise.losses(x) - x * x / 2))

    def _seen(self, power: float, top: float) -> tuple[float, float]:
        """Up to where to sum, and what is beyond, relative to e^top: w^p falls if p is negative."""
        if power >= 0.0:
            return self.high, 0.0
        loss = (top - _UNSEEN) / power
        if not loss < self.noise.loss(self.high):
            return self.high, 0.0
        x = min(self.noise.place(loss), self.high)
        beyond = power * self.noise.loss(x) * (1 - 1e-9) - top
        return x, math.exp(min(beyond, 600.0)) * (1 + 1e-9)


def _outside(low: float, high: float, *, above: bool) -> float:
    below = math.erfc(-low / math.sqrt(2)) / 2
    return below + math.erfc(high / math.sqrt(2)) / 2 if above else below


def _limits(mu: float, rate: float, lost: float) -> tuple[float, float]:
    """Where half of ``lost`` is left out on either side, roughly."""
    half = max(lost, 1e-302) / 2

    def above(x: float) -> float:
        rare = rate * math.erfc((x - mu) / math.sqrt(2)) if rate else 0.0
        return ((1 - rate) * math.erfc(x / math.sqrt(2)) + rare) / 2

    low, high = 0.0, 40.0 + mu
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) > half else (low, middle)
    top = high
    low, high = 0.0, 40.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) / 2 > half else (low, middle)
    return -high, top
