r"""Laplace noise on a random part of the people: moments by panels of Gauss-Legendre quadrature.

The place l is the loss of the noise itself, without the person: atoms of mass 1/2 at -e and
:math:`e^{-e}/2` at e, and the density :math:`\omega = e^{-(l+e)/2}/4` between, where e is shift
over scale. With :math:`w = 1-q+qe^l`, removing the person has the loss :math:`\log w` and weighs
each place by w, adding has :math:`-\log w`; and
:math:`M(s) - 1 = \int \omega(l)\,(e^{sL(l)} - 1)\,dl` plus the atoms.

On the Bernstein ellipse with parameter rho around a panel, a rule of N nodes errs by at most
:math:`\tfrac{64}{15}hB\rho^{-2N}/(1-\rho^{-2})` (see :mod:`quaestor.accounting.numerics.binomial`),
where h is half the panel's length and B bounds the integrand there: its largest real value, times
what leaving the real axis by y adds. The argument of :math:`1-q+qe^{l+iy}` is at most y, so that
:math:`|e^{sL}|` grows by at most :math:`e^{|t|y}`; and :math:`|w|^2 = |w_{real}|^2 -
4q(1-q)e^l\sin^2(y/2)` says how far it can shrink.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quaestor.accounting.loss.engine.exponential_sums import ExponentialSums
from quaestor.accounting.loss.laws.closed_form import blurred, laplace_delta, sampled
from quaestor.accounting.loss.laws.law import Law, decay_of_atoms
from quaestor.accounting.loss.laws.mixture import in_blocks, log_mixture, log_mixture_size
from quaestor.accounting.loss.laws.sampling.laplace_cells import laplace_bracket
from quaestor.accounting.numerics.certified_arithmetic import certified_arithmetic
from quaestor.accounting.numerics.complexes import UNIT
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.closed_form import Curve
    from quaestor.accounting.loss.laws.lattices.bracket import Bracket
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["SampledLaplaceLoss"]

_NATS = 39.0  # what quadrature leaves out: e^-39, below 1e-16
_RHOS = tuple(1.5 * 1.15**i for i in range(18))
_PANELS_PER_UNIT = (0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0)
_LARGEST_RULE = 500
_LARGEST_EPSILON = 1e5  # beyond which there are too many panels
_LEAST_EPSILON, _LARGEST_BRACKET, _LEAST_RATE = 1e-8, 100.0, 1e-18  # where brackets are known
_MOST_GAPS = 1 << 17  # between the atoms
_NEAR = 30.0  # exponents up to which M - 1 is summed by itself
_FASTEST = 3000.0  # oscillations beyond which no rule follows
_CHUNK = 1 << 19  # elements treated at once, to bound memory


class _Plan(NamedTuple):
    """So many panels, each with a rule of so many nodes, and the ellipse that bounds its error."""

    panels: int
    rho: float
    size: int


@lru_cache(maxsize=128)
def _rule(size: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(size)
    return nodes, weights


class SampledLaplaceLoss(Law):
    """Laplace noise of shift over scale ``epsilon``, each person in with probability ``rate``."""

    def __init__(self, *, epsilon: float, rate: float, removing: bool) -> None:
        self.epsilon, self.rate, self.removing = epsilon, rate, removing
        with certified_arithmetic():
            ratios = log_mixture(np.array([-epsilon, epsilon]), rate)
        self.largest = float(abs(ratios[1 if removing else 0])) * (1 + 1e-13)
        logs = np.array([-math.log(2), -math.log(2) - epsilon])
        self._ends = np.array([-epsilon, epsilon])
        if _LEAST_EPSILON < epsilon < _LARGEST_BRACKET and rate > _LEAST_RATE:
            self.span = float(ratios[1] - ratios[0])
            self.least_gap = self.span / _MOST_GAPS
        self.atoms = (ratios, logs + ratios) if removing else (-ratios, logs)

    def curve(self, count: int) -> Curve | None:
        plain = partial(laplace_delta, blurred(self.epsilon))
        return sampled(plain, self.rate, removing=self.removing) if count == 1 else None

    def bracket(self, gap: float, lost: float) -> Bracket:  # noqa: ARG002
        return laplace_bracket(self.epsilon, self.rate, gap, removing=self.removing)

    def _log_ratio(self, x: Floats) -> Floats:
        return log_mixture(x, self.rate)

    def _loss(self, x: Floats) -> Floats:
        return self._log_ratio(x) if self.removing else -self._log_ratio(x)

    def _log_density(self, x: Floats) -> Floats:
        plain: Floats = -(x + self.epsilon) / 2 - math.log(4)
        return plain + self._log_ratio(x) if self.removing else plain

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        return in_blocks(self._block, s)

    def _block(self, s: Complexes) -> tuple[Complexes, Floats]:
        theta, fastest = float(s[0].real), float(np.max(np.abs(s.imag)))
        plan = self._plan(theta, fastest)
        x, weights = self._places(plan.panels, plan.size)
        ratios = np.concatenate((self._log_ratio(x), self._log_ratio(self._ends)))
        x = np.concatenate((x, self._ends))
        losses = ratios if self.removing else -ratios
        plain = np.concatenate((np.log(weights) - math.log(4), [-math.log(2)] * 2))
        plain[:-2] -= (x[:-2] + self.epsilon) / 2
        plain[-1] -= self.epsilon
        logs = plain + ratios if self.removing else plain
        # the places are off by some units of epsilon, and so is what is computed from them
        sizes = log_mixture_size(x, self.rate, ratios, np.full(x.shape, 2 * self.epsilon))
        mass_sizes = np.abs(plain) + np.abs(ratios) + 2 * self.epsilon
        log_moment = self._rough_log_moment(theta)
        left_out = 2 * self._missed(plan, theta, fastest, log_moment) + 4 * math.exp(-_NATS)
        sums = ExponentialSums(
            losses[None, :],
            logs[None, :],
            theta,
            loss_sizes=sizes[None, :],
            mass_sizes=mass_sizes[None, :],
        )
        values, errors = sums.log_moments(s, left_out=left_out)
        return values[:, 0], errors[:, 0]

    def _places(self, panels: int, size: int) -> tuple[Floats, Floats]:
        nodes, weights = _rule(size)
        edges = np.linspace(-self.epsilon, self.epsilon, panels + 1)
        middles, half = (edges[1:] + edges[:-1]) / 2, self.epsilon / panels
        x = (middles[:, None] + half * nodes[None, :]).ravel()
        return x, np.tile(weights * half, panels)

    def _off_axis(self, height: float, beyond: float, theta: float, fastest: float) -> float:
        """By how many nats the integrand can grow at a distance ``height`` from the axis.

        On an ellipse that reaches ``beyond`` the last place: that far w is asked how it can dip.
        """
        if height >= 2.6:
            return math.inf
        dip = 0.0 if self.removing else _deepest_dip(self.rate, self.epsilon + beyond)
        dip *= math.sin(height / 2) ** 2
        return fastest * height - abs(theta) / 2 * math.log1p(-dip)

    def _longer(self, beyond: float, theta: float) -> float:
        """By how many nats the integrand can grow from the last place to ``beyond`` it.

        Its exponent is -l/2 and a power of w; log w has the slope q e^l/w, which rises with l.
        """
        odds = self.epsilon + beyond + math.log(self.rate) - math.log1p(-self.rate)
        slope = 1 / (1 + math.exp(min(-odds, 700.0)))
        return beyond * (0.5 + (abs(theta) + 1) * slope)

    def _plan(self, theta: float, fastest: float) -> _Plan:
        """The number of panels, the ellipse and the rule that together need the fewest nodes."""
        best = (math.inf, _Plan(1, _RHOS[0], 64))
        if self.epsilon > _LARGEST_EPSILON:
            raise BeyondFloats("the integrand is too long to integrate")
        for panels in {max(round(2 * self.epsilon * scale), 1) for scale in _PANELS_PER_UNIT}:
            half = self.epsilon / panels
            for rho in _RHOS:
                height, beyond = half * (rho - 1 / rho) / 2, half * ((rho + 1 / rho) / 2 - 1)
                nats = self._off_axis(height, beyond, theta, fastest) + _NATS + 3
                nats += self._longer(beyond, theta)
                if math.isinf(nats):
                    break
                size = math.ceil(nats / (2 * math.log(rho)))
                if size <= _LARGEST_RULE:
                    best = min(best, (panels * size, _Plan(panels, rho, size)))
        if best[0] > _CHUNK:
            raise BeyondFloats("the integrand is too steep to integrate")
        return best[1]

    def _missed(self, plan: _Plan, theta: float, fastest: float, log_moment: float) -> float:
        """The bound on what the rule leaves out, summed over the panels, relative to the moment."""
        half = self.epsilon / plan.panels
        height = half * (plan.rho - 1 / plan.rho) / 2
        beyond = half * ((plan.rho + 1 / plan.rho) / 2 - 1)
        # the integrand's logarithm has a slope of at most |theta| + 1.5: looked at that finely
        per_panel = min(max(math.ceil(2 * half * (abs(theta) + 2.5)), 16), 1 << 14)
        step = 2 * half / per_panel
        margin = math.ceil(beyond / step)
        count = plan.panels * per_panel + 2 * margin + 1
        x = -self.epsilon + step * (np.arange(count, dtype=np.float64) - margin)
        real = self._log_density(x) + theta * self._loss(x)
        exponents = real + (abs(theta) + 2.5) * step - log_moment
        heights = np.exp(np.minimum(exponents, 690.0))  # more than that says nothing anyhow
        reach = 2 * margin + per_panel + 1
        windows = np.lib.stride_tricks.sliding_window_view(heights, reach)[::per_panel]
        largest = float(np.sum(np.max(windows, axis=1)))
        grown = self._off_axis(height, beyond, theta, fastest)
        exponent = grown - 2 * plan.size * math.log(plan.rho)
        if not (exponent < 690.0 and float(np.max(exponents)) < 690.0):
            raise BeyondFloats("the rule's error is beyond floats")
        return 64 / 15 * half * largest * math.exp(exponent) / (1 - plan.rho**-2)

    def work(self, count: int, step: float) -> float:
        fastest = count * step
        if fastest > _FASTEST:
            return math.inf
        return count * (100.0 + 1.4 * self.epsilon * fastest)

    @cached_property
    def _coarse(self) -> tuple[Floats, Floats]:
        """The losses and log-masses of a coarse rule, which is asked again and again."""
        x, weights = self._places(max(round(self.epsilon), 2), 12)
        losses = np.concatenate((self._loss(x), self.atoms[0]))
        return losses, np.concatenate((np.log(weights) + self._log_density(x), self.atoms[1]))

    def rough_log_moments(self, thetas: Floats) -> Floats:
        """By a coarse rule, in real numbers."""
        if self.epsilon > _LARGEST_EPSILON:
            return np.full(thetas.shape, math.inf)
        losses, logs = self._coarse
        near = np.abs(thetas) * np.max(np.abs(losses)) <= _NEAR
        values = np.zeros(thetas.shape)
        if bool(np.any(near)):
            rises = np.where(near[:, None], np.outer(thetas, losses), 0.0)
            values = np.log1p(np.expm1(rises) @ np.exp(logs))
        for i in np.flatnonzero(~near):  # one at a time: there may be a million places
            exponents = thetas[i] * losses + logs
            top = np.max(exponents)
            values[i] = top + np.log(np.sum(np.exp(exponents - top)))
        return values

    def _rough_log_moment(self, theta: float) -> float:
        return float(self.rough_log_moments(np.array([theta]))[0])

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """By the two atoms, or by cells of the density of L, which is at least its ends'."""
        places = np.linspace(-self.epsilon, self.epsilon, 1025)
        ratio = self._log_ratio(places)
        losses = ratio if self.removing else -ratio
        log_moment = self._rough_log_moment(theta) + 0.001  # for the rough rule's own error
        # the density of L times e^(theta L): d(place)/dL = (1 - q + q e^l)/(q e^l)
        log_slope = math.log(self.rate) + places - ratio
        heights = self._log_density(places) + theta * losses - log_slope - log_moment
        blur = 32 * UNIT * (self.epsilon + abs(math.log(self.rate)))
        atoms = np.exp(np.minimum(self.atoms[1] + theta * self.atoms[0] - log_moment, 0.0))
        best = decay_of_atoms(self.atoms[0], atoms * 0.999, low, high, blur=blur)
        for cells in (1, 2, 4, 8, 16, 32, 64):
            ends = np.linspace(0, 1024, cells + 1).astype(int)
            lengths = np.maximum(np.abs(np.diff(losses[ends])) - 2 * blur, 0.0)
            least = np.minimum.reduceat(heights, ends[:-1])
            least = np.minimum(least, heights[ends[1:]])
            least = least - 8 * self.epsilon / 1024 * (abs(theta) + 2)
            with np.errstate(divide="ignore"):  # a cell without length has no weight
                logs = np.where(lengths > 0.0, least + np.log(lengths), -math.inf)
            weights = np.exp(np.minimum(logs, 0.0)) * 0.99
            turns = np.maximum(np.outer(low, lengths), 2.0)
            gain = (1 - 2 / turns) @ weights
            best = np.maximum(best, -np.log1p(-np.minimum(gain, 1 - 1e-12)))
        return best


def _deepest_dip(rate: float, largest: float) -> float:
    """The largest 4q(1 - q)e^l/(1 - q + qe^l)^2 for l up to ``largest``."""
    ratio = math.exp(min(largest + math.log(rate) - math.log1p(-rate), 0.0))
    return 4 * ratio / (1 + ratio) ** 2
