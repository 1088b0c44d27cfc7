r"""Gaussian noise on a random part of the people: moments by the trapezoidal rule.

With :math:`w(x) = 1-q+qe^{l}`, :math:`l = \mu x-\mu^2/2` and x standard normal without the person,
removing the person compares :math:`w\varphi` with :math:`\varphi` (the loss is :math:`\log w`) and
adding compares :math:`\varphi` with :math:`w\varphi` (the loss is :math:`-\log w`):

.. math:: M(s) = \int\varphi(x)\,w(x)^{p}\,dx, \qquad p = s+1 \text{ or } p = -s .

The integrand is analytic around the real axis, so that a rule with a step of about half a unit
already has sixteen digits. What each part of the error is:

*The rule* [Trefethen, Weideman 2014, Theorem 5.1]. If :math:`\int|f(x+iy)|\,dx \le B` for
:math:`|y| \le d`, then the rule with step h errs by at most :math:`2B/(e^{2\pi d/h}-1)`. Here
:math:`|\varphi(x+iy)| = \varphi(x)e^{y^2/2}`; :math:`|\arg w| \le \mu|y|`, so that
:math:`|w^{it}| \le e^{|t|\mu|y|}`; :math:`|w(x+iy)| \le w(x)`, and
:math:`|w(x+iy)| \ge w(x)\cos(\mu y/2)`. Hence :math:`B \le M(\theta)\,e^{d^2/2+|t|\mu d}`, times
:math:`\cos(\mu d/2)^{-\theta}` for adding.

*Fast oscillation.* For large t the line of x is moved off the axis by b, to where
:math:`|w^{it}|` falls; between 0 and 2b it does not grow, so d = b and the factor of t drops out.

*Truncation.* :math:`w^p \le 2^p((1-q)^p + q^pe^{pl})`, two Gaussian bells, each below M when
integrated; beyond the window they have less than :math:`e^{-39}` of it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from quaestor.accounting.loss.engine.exponential_sums import ExponentialSums, as_nats
from quaestor.accounting.loss.laws.closed_form import blurred, sampled
from quaestor.accounting.loss.laws.law import Law, OneOfMany, representatives
from quaestor.accounting.loss.laws.mixture import (
    complex_log_mixture,
    in_blocks,
    log_mixture,
    log_mixture_size,
)
from quaestor.accounting.loss.laws.sampling.tilted_cells import FINER, TiltedCells
from quaestor.accounting.loss.laws.sampling.truncated_gaussian import TruncatedSampledGaussian
from quaestor.accounting.loss.laws.sampling.truncated_losses import TruncatedLosses
from quaestor.accounting.numerics.certified_arithmetic import rough_arithmetic
from quaestor.accounting.numerics.complexes import UNIT, summed
from quaestor.accounting.numerics.gaussian_tails import gaussian_delta
from quaestor.errors import BeyondFloats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.laws.closed_form import Curve
    from quaestor.accounting.numerics.complexes import Complexes, Floats

__all__ = ["SampledGaussianLoss", "SampledGaussianLosses"]

_NATS = 39.0  # what the rule and truncation leave out: e^-39, below 1e-16
_LEFT_OUT = 8 * math.exp(-_NATS)
_INVISIBLE = -80.0  # nats below M(theta), far less than what is left out
_CHUNK = 1 << 19  # elements treated at once, to bound memory
_FAR = 30.0  # exponents beyond which M - 1 says no more than M
_STEEPER = 1.25  # more than |q e^l/w| grows off the axis: 1/cos(0.6), for mu b up to 1.2
_SLOW = 12.0  # nats of growth from which the line of x is moved
_MOST_NODES = 200_000
_LEAST_MU, _LARGEST_MU, _LEAST_RATE = 1e-8, 100.0, 1e-18  # whose rare outcomes are worth a look
_NEARLY_ALL, _SMALL_MU = 1 - 1e-12, 1.0  # beyond them lines through all outcomes are quick
_WIDE = 10.0  # a mu beyond which the variance of a loss says no more
_MOST_DIFFERENT = 1024  # laws of which each costs a transform


class SampledGaussianLoss(OneOfMany):
    """Gaussian noise of shift over sigma ``mu``, each person in with probability ``rate``."""

    def __init__(self, *, mu: float, rate: float, removing: bool) -> None:
        self.mu, self.rate, self.removing = mu, rate, removing
        self.largest = math.inf if removing else -math.log1p(-rate)

    @classmethod
    def together(cls, laws: Sequence[tuple[Self, int]]) -> list[tuple[Law, int]]:
        """Those of one direction and of like mu in one: a common rule serves them."""
        alike: defaultdict[tuple[bool, int], list[tuple[float, float, int]]] = defaultdict(list)
        for law, count in laws:
            octave = math.frexp(law.mu)[1]
            alike[law.removing, octave].append((law.mu, law.rate, count))
        return [
            (SampledGaussianLosses(*map(np.array, zip(*group, strict=True)), removing=removing), 1)
            for (removing, _), group in alike.items()
        ]


class _Rule(NamedTuple):
    """Places x (perhaps on a line beside the axis) and the step between them."""

    places: Floats
    step: float
    shift: float


class SampledGaussianLosses(Law):
    """The sum of several such losses in one direction, each with its count."""

    def __init__(self, mus: Floats, rates: Floats, counts: Floats, *, removing: bool) -> None:
        self.mus, self.rates, self.counts, self.removing = mus, rates, counts, removing
        with rough_arithmetic():  # more than floats hold is infinite
            most = float(np.sum(-np.log1p(-rates) * counts)) * (1 + 1e-13)
        self.largest, self.least = (math.inf, -most) if removing else (most, -math.inf)
        self.different = mus.size
        with rough_arithmetic():  # to choose by: about the variances of the losses
            variances = np.maximum(rates, 1e-150) ** 2 * np.expm1(np.minimum(mus, _WIDE) ** 2)
            self._few = representatives(variances, counts, variances)
        self._tilted: tuple[float, TiltedCells] | None = None
        self.decays_quickly = mus.size <= 4
        self.can_be_truncated = bool(
            mus.size <= _MOST_DIFFERENT
            and np.min(mus) > _LEAST_MU
            and np.max(mus) < _LARGEST_MU
            and np.min(rates) > _LEAST_RATE
            and (np.max(rates) < _NEARLY_ALL or np.max(mus) < _SMALL_MU)
        )

    def curve(self, count: int) -> Curve | None:
        if count != 1 or list(self.counts) != [1.0]:
            return None
        plain = partial(gaussian_delta, blurred(float(self.mus[0])))
        return sampled(plain, float(self.rates[0]), removing=self.removing)

    def reversed_loss(self) -> Law:
        """Adding a person instead of removing one, or the other way round."""
        return SampledGaussianLosses(self.mus, self.rates, self.counts, removing=not self.removing)

    def truncated(self, lost: float, above: float) -> Sequence[tuple[Law, int]]:
        """Each loss by itself, and then all together."""
        each = lost / float(np.sum(self.counts))
        places = zip(self.mus.tolist(), self.rates.tolist(), self.counts.tolist(), strict=True)
        parts = [
            (
                TruncatedSampledGaussian(
                    mu=mu, rate=rate, removing=self.removing, lost=each, above=above
                ),
                int(count),
            )
            for mu, rate, count in places
        ]
        return [(TruncatedLosses(parts), 1)]

    def _power(self, theta: float) -> float:
        return theta + 1 if self.removing else -theta

    def _window(self, theta: float) -> tuple[float, float]:
        """Where the integrand, for this theta and for 0, is not below e^-45 of its integral."""
        powers = self._power(theta), self._power(0.0)
        nats = _NATS + 6 + max(*powers, 0.0) * math.log(2)
        if powers[0] < 0:
            nats += powers[0] * (float(np.min(np.log1p(-self.rates))) - 0.2)
        reach = math.sqrt(2 * nats)
        return -reach, max(*powers, 0.0) * float(np.max(self.mus)) + reach

    def _rule(self, theta: float, fastest: float) -> _Rule:
        """The coarsest rule that is good to 39 nats for all t up to ``fastest``."""
        mu, nats = float(np.max(self.mus)), _NATS + 3
        adding = 0.0 if self.removing else max(theta, 0.0)
        shift = min(1.2 / mu, 2.5) if fastest * mu > _SLOW else 0.0
        if shift:
            growth = 2 * shift**2 - adding * math.log(math.cos(mu * shift))
            step = 2 * math.pi * shift / (nats + growth)
        else:
            d = np.linspace(0.02, 1.0, 50) * min(3.0 / mu, 10.0)
            growths = d * d / 2 + fastest * mu * d - adding * np.log(np.cos(mu * d / 2))
            step = float(np.max(2 * math.pi * d / (nats + growths)))
        low, high = self._window(theta)
        size = (high - low) / step + 2
        if not size < _MOST_NODES:
            raise BeyondFloats("the integrand is too steep to integrate")
        places = np.asarray(low + step * np.arange(math.ceil(size)), np.float64)
        return _Rule(places, step, shift if self.removing else -shift)

    def _exponents(self, x: Floats) -> Floats:
        """The noise's own log-ratio l, a row for each loss."""
        return self.mus[:, None] * (x - self.mus[:, None] / 2)

    def _log_ratios(self, x: Floats) -> Floats:
        """The logarithm of w, a row for each loss."""
        return log_mixture(self._exponents(x), self.rates[:, None])

    def _log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        return in_blocks(self._block, s)

    def _block(self, s: Complexes) -> tuple[Complexes, Floats]:
        theta, fastest = float(s[0].real), float(np.max(np.abs(s.imag)))
        rule = self._rule(theta, fastest)
        if rule.shift:
            each, doubt = self._beside(rule, theta, s)
        else:
            each, doubt = self._sums(rule, theta).log_moments(s, left_out=_LEFT_OUT)
        return summed(each, doubt, self.counts)

    def _sums(self, rule: _Rule, theta: float) -> ExponentialSums:
        """The sums of a rule on the real axis.

        For a large mu, x^2/2 and log w are large and nearly the same, and so are mu x and mu^2/2:
        what is charged are units of these, and not of their differences.
        """
        exponents, rates = self._exponents(rule.places), self.rates[:, None]
        logs = log_mixture(exponents, rates)
        squares = rule.places**2 / 2
        log_masses = math.log(rule.step / math.sqrt(2 * math.pi)) - squares
        mus = self.mus[:, None]
        sizes = log_mixture_size(exponents, rates, logs, mus * (np.abs(rule.places) + mus))
        mass_sizes = squares + 1 + (sizes if self.removing else np.zeros_like(logs))
        return ExponentialSums(
            logs if self.removing else -logs,
            log_masses + logs if self.removing else np.broadcast_to(log_masses, logs.shape),
            theta,
            loss_sizes=sizes,
            mass_sizes=mass_sizes,
        )

    def _at_theta(self, theta: float) -> Floats:
        """The log-moment of each loss on the real axis, good to all but a few digits."""
        rule = self._rule(theta, 0.0)
        logs = self._log_ratios(rule.places)
        bells = math.log(rule.step / math.sqrt(2 * math.pi)) - rule.places**2 / 2
        exponents = bells + self._power(theta) * logs
        top = np.max(exponents, axis=1)
        values: Floats = top + np.log(np.sum(np.exp(exponents - top[:, None]), axis=1))
        return values

    def _beside(self, rule: _Rule, theta: float, s: Complexes) -> tuple[Complexes, Floats]:
        """The sums of a rule beside the axis, where the loss is complex."""
        places = np.asarray(rule.places + 1j * rule.shift, np.complex128)
        mus, rates = self.mus[:, None], self.rates[:, None]
        exponents = mus * (places - mus / 2)
        ratios = complex_log_mixture(exponents, rates)
        losses = ratios if self.removing else -ratios
        logs = math.log(rule.step / math.sqrt(2 * math.pi)) - places**2 / 2 + 0 * ratios
        logs = logs + ratios if self.removing else logs
        log_moment = self._at_theta(theta)
        # the ingredients of a loss and of a log-mass, before they cancel; here slopes may pass 1
        real = log_mixture(exponents.real, rates)
        slopes = np.exp(np.minimum(np.log(rates) + exponents.real - real, 0.0)) * _STEEPER
        sizes = np.abs(ratios) + slopes * (mus * (np.abs(places) + mus) + np.abs(np.log(rates)))
        mass_sizes = np.abs(places) ** 2 / 2 + (sizes if self.removing else 0.0)
        values, errors = np.empty((2, s.size, self.mus.size), np.complex128)
        step = max(_CHUNK // losses.size, 1)
        for start in range(0, s.size, step):
            part = slice(start, start + step)
            exponents = logs + s[part, None, None] * losses
            # below what the rule leaves out, nothing is to be seen
            top = np.maximum(np.max(exponents.real, axis=(0, 2)), log_moment + _INVISIBLE)
            terms = np.exp(exponents - top[:, None])
            sums = np.sum(terms, axis=2)
            weights = np.abs(terms)
            doubt = UNIT * np.sum(weights * (128 + 8 * mass_sizes), axis=2)
            doubt += UNIT * np.abs(s[part, None]) * np.sum(weights * (16 * sizes), axis=2)
            doubt += _LEFT_OUT * np.exp(np.minimum(log_moment - top, 700.0))
            unseen = np.abs(sums) < doubt  # then |M| < 2 doubt, and doubt itself is 3 doubt off
            sums, doubt = np.where(unseen, doubt, sums), np.where(unseen, 3 * doubt, doubt)
            values[part] = top + np.log(sums)
            errors[part] = as_nats(doubt, np.abs(sums)) + 8 * UNIT * np.abs(top)
        return values, errors.real

    def rough_log_moments(self, thetas: Floats) -> Floats:
        """Of a few of the losses, which stand for the others: two bells, and what lies between."""
        few, counts = self._few
        mus, rates = self.mus[few, None, None], self.rates[few, None, None]
        powers = (thetas + 1 if self.removing else -thetas)[:, None]
        centres = np.maximum(powers, self._power(0.0)) * mus
        even = np.linspace(0.0, 1.0, 96)
        apart = even * 18.0 - 9.0 + np.where(np.arange(96) % 2 == 0, 0.0, centres)
        x = np.where(centres > 40.0, apart, (centres + 18.0) * even - 9.0)
        steps = np.where(centres > 40.0, 18.0 / 47.5, (centres + 18.0) / 95.0)[..., 0]
        steps = steps / math.sqrt(2 * math.pi)
        logs = np.logaddexp(np.log1p(-rates), np.log(rates) + mus * (x - mus / 2))
        rises = (logs if self.removing else -logs) * thetas[:, None]
        bells = self._power(0.0) * logs - x * x / 2
        top = np.max(bells + rises, axis=-1)
        far = top + np.log(np.sum(np.exp(bells + rises - top[..., None]), axis=-1) * steps)
        near = np.log1p(np.sum(np.exp(bells) * np.expm1(rises), axis=-1) * steps)
        values: Floats = counts @ np.where(np.max(np.abs(rises), axis=-1) > _FAR, far, near)
        return values

    def work(self, count: int, step: float) -> float:  # noqa: ARG002
        return 40.0 * count * self.mus.size

    def effort(self, theta: float, count: int, step: float) -> float:
        """The places of every rule, times its points: see ``in_blocks``."""
        total, start, reach = 0.0, 0, 8.0
        while start < count:
            stop = min(max(math.floor(reach / step) + 1, start + 1), count)
            try:
                places = self._rule(theta, (stop - 1) * step).places.size
            except BeyondFloats:
                return math.inf
            total += float(places * (stop - start))
            start, reach = stop, 2 * stop * step
        return total * self.mus.size

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """Each loss by pairs of cells, and by moving the line of x where that is stronger."""
        if self._tilted is None or self._tilted[0] != theta:  # asked more than once about a line
            self._tilted = theta, _cells(self, theta, 14 if self.mus.size <= 4 else 8)
        falls = self._tilted[1].decay(low, high)
        fast = low * np.max(self.mus) > 1.0
        for i in self._few[0].tolist() if bool(np.any(fast)) else ():
            fast = low * self.mus[i] > 1.0
            falls[i, fast] = np.maximum(falls[i, fast], _decay_beside(self, i, theta, low[fast]))
        total: Floats = self.counts @ falls
        return total


def _cells(law: SampledGaussianLosses, theta: float, count: int) -> TiltedCells:
    """Cells of the tilted losses, evenly between the quantiles that matter."""
    low, high = law._window(theta)
    edges = np.linspace(max(low, -7.0), high - abs(low) + 7.0, FINER * count + 1)
    return TiltedCells.of(
        edges,
        law._log_ratios(edges),
        law._at_theta(theta),
        power=law._power(theta),
        removing=law.removing,
    )


def _decay_beside(law: SampledGaussianLosses, i: int, theta: float, low: Floats) -> Floats:
    r"""Move the integral over x off the real axis, by b, to where e^(itL) falls.

    There :math:`|e^{sL}| = |w|^{\theta}e^{-t|\arg w|}`, and the integrand is positive and falls in
    t. It is summed on a grid with the largest value of each cell.
    """
    mu, rate = float(law.mus[i]), float(law.rates[i])
    one = SampledGaussianLosses(
        law.mus[i : i + 1], law.rates[i : i + 1], np.ones(1), removing=law.removing
    )
    power = law._power(theta)
    x = np.linspace(*one._window(theta), 161)
    step = x[1] - x[0]
    log_moment = float(one._at_theta(theta)[0])
    best = np.zeros(low.shape)
    for angle in (1.2, 2.0):
        shift = angle / mu
        if shift * shift / 2 > 60.0 or mu * (float(np.max(np.abs(x))) + mu) > 690.0:
            continue
        w = 1 - rate + rate * np.exp(mu * (x - mu / 2) + 1j * angle)
        size = -(x**2) / 2 + shift**2 / 2 - math.log(2 * math.pi) / 2 - log_moment
        size = size + power * np.log(np.abs(w))
        turn = np.angle(w)
        largest = np.maximum(size[1:], size[:-1])
        # turn rises with x; what is above e^50 of the moment certifies nothing
        exponents = np.minimum(largest[None, :] - np.outer(low, turn[:-1]), 50.0)
        # between grid points the logarithm bends by at most its second derivative
        bend = math.exp(min(step**2 * (1 + (abs(power) + 1) * mu**2), 600.0))
        bound = np.sum(np.exp(exponents), axis=1) * step * bend + 2 * math.exp(-_NATS)
        best = np.maximum(best, -np.log(np.maximum(bound * 1.01, 1e-300)))
    return best
