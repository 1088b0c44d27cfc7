r"""One mixture of Gaussians against another, the first one's centres all above the second one's.

With x the outcome in units of the noise, :math:`A(x) = \sum p_i e^{a_ix-a_i^2/2}` and B likewise
with the centres :math:`b_j \le a_i`, the loss :math:`L = \log A - \log B` rises with x, and

.. math:: M(s) = \int\varphi(x)\,A(x)^{s+1}B(x)^{-s}\,dx .

The trapezoidal rule, as for one sampled Gaussian (:mod:`.sampled_gaussian`), with these bounds. Let
:math:`w_A, w_B` be the spreads of the centres and D the largest :math:`a_i - b_j`.

*The rule* [Trefethen, Weideman 2014, Theorem 5.1]. At x + iy the terms of A have phases within an
arc of :math:`w_A|y|`, so that :math:`A(x)\cos(w_Ay/2) \le |A(x+iy)| \le A(x)`; and
:math:`0 \le \arg A - \arg B \le Dy` for y > 0. Hence :math:`\int|f(x+iy)|dx \le
M(\theta)\,e^{y^2/2+|t|D|y|}`, times :math:`\cos(w_By/2)^{-\theta}` for a positive theta.

*Fast oscillation.* On a line beside the axis :math:`|e^{itL}| = e^{-t(\arg A-\arg B)}` does not
grow, and the factor of t drops out.

*Truncation.* Powers above 1 are convex, and :math:`B \ge q_je^{b_jx-b_j^2/2}` for every j; so for a
positive theta :math:`A^{\theta+1}B^{-\theta}` is at most :math:`q_j^{-\theta}\sum p_ie^{(\theta+1)
(a_ix-a_i^2/2)-\theta(b_jx-b_j^2/2)}`, bells of mass :math:`e^{\theta(\theta+1)(a_i-b_j)^2/2}`
around :math:`(\theta+1)a_i-\theta b_j`. Below -1 the two change places. Between -1 and 0 it is at
most :math:`(\theta+1)A-\theta B`. And M is at least 1 outside of that interval.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from flint import arb, ctx

from quaestor.accounting.loss.engine.exponential_sums import ExponentialSums, as_nats
from quaestor.accounting.loss.laws.closed_form import blurred
from quaestor.accounting.loss.laws.law import Law, least_one_minus_cosine
from quaestor.accounting.loss.laws.mixture import in_blocks
from quaestor.accounting.numerics.balls import between
from quaestor.accounting.numerics.complexes import UNIT, expm1, log1p
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.laws.closed_form import Curve
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["Bells", "GaussianMixtureLoss"]

_NATS = 39.0  # what the rule and truncation leave out: e^-39, below 1e-16
_LEFT_OUT = 8 * math.exp(-_NATS)
_CHUNK = 1 << 19  # elements treated at once, to bound memory
_FAR = 30.0  # exponents beyond which M - 1 says no more than M
_SLOW = 12.0  # nats of growth from which the line of x is moved
_MOST_NODES = 200_000
_LARGEST = 700.0  # exponents of which floats hold the exponential
_CANCELS = -0.5  # where 1 + x has fewer digits than x
_CELLS = 224
_ENOUGH = 128  # bits


class Bells(NamedTuple):
    """A mixture of normal bells of deviation 1: centres, and weights that sum to 1."""

    centres: Floats
    weights: Floats

    @classmethod
    def of(cls, centres: Sequence[float], weights: Sequence[float]) -> Bells:
        """Those of positive weight; equal ones are added up."""
        together: dict[float, float] = {}
        for centre, weight in zip(centres, weights, strict=True):
            if weight > 0.0:
                together[centre] = together.get(centre, 0.0) + weight
        total = math.fsum(together.values())
        places = sorted(together)
        shares = np.array([together[place] / total for place in places])
        return cls(np.array(places), shares)

    @property
    def spread(self) -> float:
        """How far apart its centres are."""
        return float(self.centres[-1] - self.centres[0])

    def mirrored(self) -> Bells:
        """The same around the negatives of the centres."""
        return Bells(-self.centres[::-1], self.weights[::-1])

    def exponents(self, x: Floats | Complexes) -> Floats | Complexes:
        """The log-ratio of each bell to the one around 0, a row for each."""
        return self.centres[:, None] * (x - self.centres[:, None] / 2)

    def log_ratio(self, x: Floats) -> tuple[Floats, Floats]:
        """The log-ratio of the mixture to the bell around 0, and the size of its ingredients."""
        exponents = np.real(self.exponents(x))
        logs = np.log(self.weights)[:, None]
        near = self.weights @ np.expm1(np.minimum(exponents, _LARGEST))
        top = np.max(exponents + logs, axis=0)
        terms = np.exp(exponents + logs - top)
        far = top + np.log(np.sum(terms, axis=0))
        sums = (near < _CANCELS) | (np.max(exponents, axis=0) > _LARGEST)
        values = np.where(sums, far, np.log1p(np.where(sums, 0.0, near)))
        centres = np.abs(self.centres[:, None])
        sizes = centres * (np.abs(x) + centres) + np.where(exponents == 0.0, 0.0, np.abs(logs))
        shares = np.exp(np.minimum(exponents + logs - values, 0.0))
        size = np.sum(shares * sizes, axis=0) * (1 + self.weights.size / 8) + sums
        return values, np.abs(values) + size

    def log_ratio_at(self, place: float) -> float:
        """The same at one place, roughly."""
        pairs = zip(self.centres.tolist(), self.weights.tolist(), strict=True)
        logs = [math.log(weight) + centre * (place - centre / 2) for centre, weight in pairs]
        top: float = max(logs)
        return top + math.log(math.fsum(math.exp(each - top) for each in logs))

    def complex_log_ratio(self, x: Complexes) -> tuple[Complexes, Floats]:
        """The same beside the axis, where phases differ by at most 1.2."""
        exponents = np.asarray(self.exponents(x), np.complex128)
        logs = np.log(self.weights)[:, None]
        turn = float(np.max(np.abs(self.centres))) * float(np.max(np.abs(x.imag)))
        grown = expm1(np.where(exponents.real > _LARGEST, 0.0, exponents))
        near = np.asarray(self.weights @ grown, np.complex128)
        first = np.argmax(exponents.real + logs, axis=0)
        columns = np.arange(x.size)
        top = exponents[first, columns] + logs[first, 0]
        terms = np.exp(exponents + logs - top)
        far = top + np.log(np.sum(terms, axis=0))
        sums = (near.real < _CANCELS) | (np.max(exponents.real, axis=0) > _LARGEST) | (turn > 1.5)
        values = np.where(sums, far, log1p(np.where(sums, 0.0, near)))
        centres = np.abs(self.centres[:, None])
        sizes = centres * (np.abs(x) + centres) + np.where(exponents == 0.0, 0.0, np.abs(logs))
        shares = np.exp(np.minimum(exponents.real + logs - values.real, 1.0))
        size = np.sum(shares * sizes, axis=0) * (1 + self.weights.size / 8) + sums
        return values, np.abs(values) + 2 * size

    def density_and_tail(self, place: arb) -> tuple[arb, arb]:
        """The log of the ratio to the bell around 0 there, and the mass above."""
        root = arb(2).sqrt()
        ratio, tail = arb(0), arb(0)
        total = sum((arb(float(weight)) for weight in self.weights), arb(0))
        for centre, weight in zip(self.centres, self.weights, strict=True):
            share, at = arb(float(weight)) / total, blurred(float(centre))
            ratio += share * (at * (place - at / 2)).exp()
            tail += share * ((place - at) / root).erfc() / 2
        return ratio.log(), tail


class _Places(NamedTuple):
    """Places x (perhaps on a line beside the axis) and the step between them."""

    places: Floats
    step: float
    shift: float


class GaussianMixtureLoss(Law):
    """The loss of outcomes that are distributed as ``above``, held against ``below``.

    Every centre of ``above`` is at least as large as every centre of ``below``.
    """

    def __init__(self, above: Bells, below: Bells) -> None:
        self.above, self.below = above, below
        self.reach = float(above.centres[-1] - below.centres[0])
        self.largest = math.inf
        if above.centres[-1] == below.centres[-1]:  # the ratio of their weights, and no more
            self.largest = float(math.log(above.weights[-1] / below.weights[-1])) + 1e-13
        self.decays_quickly = False
        self._known: dict[float, arb] = {}

    def curve(self, count: int) -> Curve | None:
        return self._at_some_precision if count == 1 else None

    def _at_some_precision(self, epsilon: arb) -> arb:
        """More bits than the centres have do not help."""
        at = float(epsilon.mid())
        if ctx.prec <= _ENOUGH or at not in self._known:
            self._known = {at: self._curve(epsilon)}
        return self._known[at]

    def _curve(self, epsilon: arb) -> arb:
        r"""The tails from about where the loss is epsilon, and what the true place can add.

        Within w of it the loss is within 2wD of epsilon; so the tails there are too small by at
        most :math:`2w(e^{2wD}-1)e^\varepsilon` times the density below.
        """
        place, apart = self._crossing(epsilon)
        (_, mine), (_, other) = (each.density_and_tail(place) for each in (self.above, self.below))
        reached = mine - epsilon.exp() * other
        around = between(place - apart, place + apart)
        bell = (-around * around / 2 + self.below.density_and_tail(around)[0] + epsilon).exp()
        missed = 2 * apart * (2 * apart * self.reach).expm1() * bell
        return between(reached, reached + missed.upper()).max(arb(0))

    def _crossing(self, epsilon: arb) -> tuple[arb, arb]:
        """A place, and how far at most the loss is epsilon from there."""
        target = float(epsilon.mid())
        low, high = -1.0, 1.0
        while self._loss_at(low) > target and low > -1e12:
            low *= 2
        while self._loss_at(high) < target and high < 1e12:
            high *= 2
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if self._loss_at(middle) < target else (low, middle)
        place, apart = arb((low + high) / 2), arb(2) ** -32 * (1 + abs(high))
        for _ in range(10):
            if self._beyond(place - apart, epsilon) < 0 < self._beyond(place + apart, epsilon):
                return place, apart
            apart = apart * 16
        return place, arb(2) * (1 + abs(place)) * 1e12  # nowhere, or not known: nothing is certain

    def _beyond(self, place: arb, epsilon: arb) -> arb:
        first, second = (each.density_and_tail(place)[0] for each in (self.above, self.below))
        return first - second - epsilon

    def _loss_at(self, place: float) -> float:
        return self.above.log_ratio_at(place) - self.below.log_ratio_at(place)

    def _window(self, theta: float) -> tuple[float, float]:
        """Where the integrand, for this theta and for 0, is not below e^-45 of its integral."""
        nats, ends = 0.0, [*self.above.centres[[0, -1]], *self.below.centres[[0, -1]]]
        if not -1.0 <= theta <= 0.0:
            whole, other = (self.above, self.below) if theta > 0.0 else (self.below, self.above)
            order = theta if theta > 0.0 else -1 - theta
            apart = np.max(np.abs(whole.centres[:, None] - other.centres), axis=0)
            each = order * -np.log(other.weights) + order * (order + 1) * apart**2 / 2
            best = int(np.argmin(each))
            nats = float(each[best])
            ends += list((order + 1) * whole.centres[[0, -1]] - order * other.centres[best])
        around = math.sqrt(2 * (_NATS + 6 + nats))
        return float(min(ends)) - around, float(max(ends)) + around

    def _shrinks(self, theta: float, y: Floats | float) -> Floats:
        """The nats by which a mixture in the denominator can be less, off the axis by y."""
        below = max(theta, 0.0) * -np.log(np.cos(self.below.spread * np.asarray(y) / 2))
        above = max(-theta - 1, 0.0) * -np.log(np.cos(self.above.spread * np.asarray(y) / 2))
        return np.asarray(below + above, np.float64)

    def _rule(self, theta: float, fastest: float) -> _Places:
        """The coarsest rule that is good to 39 nats for all t up to ``fastest``."""
        nats, spread = _NATS + 3, max(self.above.spread, self.below.spread, 1e-9)
        shift = min(1.2 / spread, 2.5) if fastest * self.reach > _SLOW else 0.0
        if shift:
            growth = 2 * shift**2 + float(self._shrinks(theta, 2 * shift))
            step = 2 * math.pi * shift / (nats + growth)
        else:
            d = np.linspace(0.02, 1.0, 50) * min(3.0 / spread, 10.0)
            growths = d * d / 2 + fastest * self.reach * d + self._shrinks(theta, d)
            step = float(np.max(2 * math.pi * d / (nats + growths)))
        low, high = self._window(theta)
        size = (high - low) / step + 2
        if not size < _MOST_NODES:
            raise BeyondFloats("the integrand is too steep to integrate")
        places = np.asarray(low + step * np.arange(math.ceil(size)), np.float64)
        return _Places(places, step, shift)

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        return in_blocks(self._block, s)

    def _block(self, s: Complexes) -> tuple[Complexes, Floats]:
        theta, fastest = float(s[0].real), float(np.max(np.abs(s.imag)))
        rule = self._rule(theta, fastest)
        if rule.shift:
            return self._beside(rule, theta, s)
        (first, size), (second, other) = (
            each.log_ratio(rule.places) for each in (self.above, self.below)
        )
        squares = rule.places**2 / 2
        sums = ExponentialSums(
            (first - second)[None, :],
            (math.log(rule.step / math.sqrt(2 * math.pi)) - squares + first)[None, :],
            theta,
            loss_sizes=(size + other)[None, :],
            mass_sizes=(squares + 1 + size)[None, :],
        )
        values, errors = sums.log_moments(s, left_out=_LEFT_OUT)
        return values[:, 0], errors[:, 0]

    def _at_theta(self, theta: float) -> float:
        """The log-moment on the real axis, good to all but a few digits."""
        rule = self._rule(theta, 0.0)
        exponents = self._log_integrand(theta, rule.places)
        top = float(np.max(exponents))
        return top + math.log(float(np.sum(np.exp(exponents - top))) * rule.step)

    def _log_integrand(self, theta: float, x: Floats) -> Floats:
        first, second = self.above.log_ratio(x)[0], self.below.log_ratio(x)[0]
        values: Floats = (theta + 1) * first - theta * second - x * x / 2
        return values - math.log(2 * math.pi) / 2

    def _beside(self, rule: _Places, theta: float, s: Complexes) -> tuple[Complexes, Floats]:
        """The sums of a rule beside the axis, on the side where e^(itL) falls."""
        places = np.asarray(rule.places + 1j * rule.shift, np.complex128)
        (first, size), (second, other) = (
            each.complex_log_ratio(places) for each in (self.above, self.below)
        )
        losses, squares = first - second, places**2 / 2
        logs = math.log(rule.step / math.sqrt(2 * math.pi)) - squares + first
        sizes, mass_sizes = size + other, np.abs(squares) + 1 + size
        log_moment = self._at_theta(theta)
        values, errors = np.empty(s.shape, np.complex128), np.empty(s.shape)
        step = max(_CHUNK // losses.size, 1)
        for start in range(0, s.size, step):
            part = slice(start, start + step)
            exponents = logs + s[part, None] * losses
            top = float(np.max(exponents.real))
            terms = np.exp(exponents - top)
            sums, weights = np.sum(terms, axis=1), np.abs(terms)
            doubt = UNIT * np.sum(weights * (128 + 8 * mass_sizes), axis=1)
            doubt += UNIT * np.abs(s[part]) * np.sum(weights * (16 * sizes), axis=1)
            doubt += _LEFT_OUT * math.exp(min(log_moment - top, 700.0))
            values[part] = top + np.log(np.where(sums == 0, 1e-300, sums))
            errors[part] = as_nats(doubt, np.abs(sums)) + 8 * UNIT * abs(top)
        return values, errors

    def rough_log_moments(self, thetas: Floats) -> Floats:
        """Even places, and every other one of them around the furthest bell where that is far."""
        even = np.linspace(0.0, 1.0, 192)
        values = np.empty(thetas.shape)
        for i, theta in enumerate(thetas):
            low = min(float(self.below.centres[0]), float(self.above.centres[0])) - 9.0
            high = float(self.above.centres[-1]) + max(theta, 0.0) * self.reach + 9.0
            if high - low > 60.0:
                around = np.where(np.arange(192) % 2 == 0, low, high - 18.0)
                x, step = around + 18.0 * even, 18.0 / 95.5
            else:
                x, step = low + (high - low) * even, (high - low) / 191.0
            first, second = self.above.log_ratio(x)[0], self.below.log_ratio(x)[0]
            bells, rises = first - x * x / 2, theta * (first - second)
            step /= math.sqrt(2 * math.pi)
            if float(np.max(np.abs(rises))) > _FAR:
                top = float(np.max(bells + rises))
                values[i] = top + math.log(float(np.sum(np.exp(bells + rises - top))) * step)
            else:
                values[i] = math.log1p(float(np.sum(np.exp(bells) * np.expm1(rises))) * step)
        return values

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return 60.0 * count

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """By pairs of cells, and by moving the line of x where that is stronger."""
        shares, ends = self._cells(theta)
        i, j = np.triu_indices(shares.size, k=1)
        least, most = np.maximum(ends[j] - ends[i + 1], 0.0), ends[j + 1] - ends[i]
        falls = np.zeros(low.shape)
        step = max(_CHUNK // i.size, 1)
        for start in range(0, low.size, step):
            part = slice(start, start + step)
            gain = least_one_minus_cosine(np.outer(low[part], least), np.outer(high[part], most))
            gain = gain @ (2 * shares[i] * shares[j])
            falls[part] = -0.5 * np.log1p(-np.minimum(gain * 0.999, 1 - 1e-12))
        fast = low * self.reach > 1.0
        if bool(np.any(fast)):
            falls[fast] = np.maximum(falls[fast], self._decay_beside(theta, low[fast]))
        return falls

    def _cells(self, theta: float) -> tuple[Floats, Floats]:
        """Cells of the tilted loss: lower bounds on their masses, and their ends.

        Over a cell the slope of the log-integrand, without its bell, lies between two numbers; so
        it is nowhere below where the two steepest lines through the ends meet.
        """
        low, high = self._window(theta)
        edges = np.linspace(low, high, _CELLS + 1)
        first, second = self.above.log_ratio(edges)[0], self.below.log_ratio(edges)[0]
        heights = (theta + 1) * first - theta * second
        slopes = [
            (theta + 1) * a - theta * b
            for a in self.above.centres[[0, -1]]
            for b in self.below.centres[[0, -1]]
        ]
        floor = _lowest(heights, float(edges[1] - edges[0]), min(slopes), max(slopes))
        below, above = (
            np.array([math.erfc(x) / 2 for x in sign * edges / math.sqrt(2)]) for sign in (-1, 1)
        )
        masses = np.where(edges[:-1] > 0, above[:-1] - above[1:], below[1:] - below[:-1])
        shares = np.exp(np.minimum(floor - self._at_theta(theta), 700.0)) * masses * 0.999
        shares = shares / max(float(np.sum(shares)), 1.0)
        losses = np.maximum.accumulate(first - second)
        # join cells until each has about an equal share of the tilted spread
        middle = (losses[1:] + losses[:-1]) / 2
        weight = np.cumsum(shares * np.abs(middle - np.sum(shares * middle)))
        cuts = np.searchsorted(weight, weight[-1] * np.arange(1, 24) / 24)
        starts = np.unique(np.concatenate(([0], np.minimum(cuts + 1, _CELLS - 1))))
        return np.add.reduceat(shares, starts), losses[np.append(starts, _CELLS)]

    def _decay_beside(self, theta: float, low: Floats) -> Floats:
        r"""Move the integral over x off the real axis, by b, to where e^(itL) falls.

        The integrand is summed on a grid with the largest value of each cell. There, with
        :math:`\kappa = 1/\cos(wb/2)`, the second derivative of log A is at most
        :math:`w^2\kappa^2/2`: a mean of squares of at most w/2 less the square of a mean, under
        complex weights of size at most kappa.
        """
        window = self._window(theta)
        x = np.linspace(*window, 1025)
        step = x[1] - x[0]
        shift = min(1.2 / max(self.above.spread, self.below.spread, 1e-9), 2.5)
        places = np.asarray(x + 1j * shift, np.complex128)
        first, second = (each.complex_log_ratio(places)[0] for each in (self.above, self.below))
        size = (theta + 1) * first.real - theta * second.real - x * x / 2 + shift**2 / 2
        size = size - math.log(2 * math.pi) / 2 - self._at_theta(theta)
        turn = np.maximum((first - second).imag, 0.0)
        bends = [
            (each.spread / math.cos(each.spread * shift / 2)) ** 2 / 2
            for each in (self.above, self.below)
        ]
        bend = step**2 / 8 * (1 + abs(theta + 1) * bends[0] + abs(theta) * bends[1])
        slack = step**2 / 8 * (bends[0] + bends[1])
        largest = np.maximum(size[1:], size[:-1]) + bend
        least = np.maximum(np.minimum(turn[1:], turn[:-1]) - slack, 0.0)
        falls = np.zeros(low.shape)
        block = max(_CHUNK // x.size, 1)
        for start in range(0, low.size, block):
            part = slice(start, start + block)
            exponents = np.minimum(largest - np.outer(low[part], least), 50.0)
            bound = np.sum(np.exp(exponents), axis=1) * step + 2 * math.exp(-_NATS)
            falls[part] = -np.log(np.maximum(bound * 1.01, 1e-300))
        return np.maximum(falls, 0.0)


def _lowest(heights: Floats, width: float, flattest: float, steepest: float) -> Floats:
    """The least that a function can be over each cell, whose slope is between these two."""
    left, right = heights[:-1], heights[1:]
    if flattest >= 0.0:
        return left
    if steepest <= 0.0:
        return right
    meets = (steepest * width - (right - left)) / (steepest - flattest)
    lowest: Floats = left + flattest * np.clip(meets, 0.0, width)
    return lowest
