r"""Losses that are smooth functions of a place x: moments by panels of Gauss-Legendre quadrature.

:math:`M(s) - 1 = \int \omega(x)\,(e^{sL(x)} - 1)\,dx` over finitely many panels, plus atoms. On the
Bernstein ellipse with parameter rho around a panel, a rule of N nodes errs by at most
:math:`\tfrac{64}{15}wB\rho^{-2N}/(1-\rho^{-2})` (see :mod:`quaestor.accounting.binomial`), where B
bounds the integrand there: its largest real value, times what leaving the real axis by v adds. For
the sampled losses here :math:`L = \pm\log(1-q+qe^{l})`, and the argument of
:math:`1-q+qe^{l+iy}` is at most y, so that :math:`|e^{sL}|` grows by at most :math:`e^{|t|y}`
(and :math:`|w|^2 = |w_{real}|^2 - 4q(1-q)e^l\sin^2(y/2)` says how far it can shrink).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.loss.complexes import UNIT, expm1, log1p
from quaestor.accounting.loss.law import Law, decay_of_atoms

if TYPE_CHECKING:
    from quaestor.accounting.loss.complexes import Complexes, Floats

__all__ = ["QuadratureLoss", "SampledGaussianLoss", "SampledLaplaceLoss"]

_NATS = 39.0  # what quadrature and truncation leave out: e^-39, below 1e-16
_RHOS = tuple(1.5 * 1.15**i for i in range(18))
_PANELS_PER_UNIT = (0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0)
_LARGEST_RULE = 500
_FASTEST = 3000.0  # oscillations beyond which no rule follows on the real axis
_CHUNK = 1 << 19  # elements treated at once, to bound memory


@lru_cache(maxsize=128)
def _rule(size: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(size)
    return nodes, weights


class QuadratureLoss(Law):
    """A loss L(x) with x of density omega on panels, and atoms beside."""

    speed: float  # |Im of the inner loss l| grows by this much per unit of Im x
    gaussian: bool  # whether omega falls off like a Gaussian, which grows off the real axis
    atoms: tuple[Floats, Floats]  # losses, masses

    @abstractmethod
    def window(self, theta: float) -> tuple[float, float]:
        """Where the integrand tilted by theta is not below e^-39 of its integral."""

    @abstractmethod
    def loss(self, x: Complexes) -> Complexes:
        """L(x), on and near the real axis."""

    @abstractmethod
    def log_density(self, x: Complexes) -> Complexes:
        """Log omega(x), on and near the real axis."""

    def log_moment(self, s: Complexes) -> tuple[Complexes, Floats]:
        values, errors = np.empty(s.shape, np.complex128), np.empty(s.shape)
        start = 0
        while start < s.size:  # faster oscillation wants finer rules: treat blocks of t alike
            reach = max(float(abs(s[start].imag)) * 2, 8.0)
            stop = int(np.searchsorted(np.abs(s.imag), reach, side="right"))
            stop = max(stop, start + 1)
            part = slice(start, stop)
            values[part], errors[part] = self._block(s[part])
            start = stop
        return values, errors

    def _block(self, s: Complexes) -> tuple[Complexes, Floats]:
        theta, fastest = float(s[0].real), float(np.max(np.abs(s.imag)))
        low, high = self.window(theta)
        shift = self.shift(fastest)
        panels, rho, size = self._plan(high - low, theta, fastest, shift)
        x, weights = _places(low, high, panels, size)
        places = _complex(x, shift)
        losses = np.concatenate((self.loss(places), self.atoms[0].astype(np.complex128)))
        logs = np.concatenate((self.log_density(places) + np.log(weights), np.log(self.atoms[1])))
        log_moment = self.rough_log_moment(theta)
        missed = 2 * self._missed(low, high, panels, rho, size, theta, fastest, shift, log_moment)
        left_out = missed + 4 * math.exp(-_NATS) * (1 + abs(shift))
        far = float(np.max(np.abs(theta * losses.real))) > 30.0
        values, errors = np.empty(s.shape, np.complex128), np.empty(s.shape)
        step = max(_CHUNK // losses.size, 1)
        for start in range(0, s.size, step):
            part = slice(start, start + step)
            some = _large(s[part], losses, logs) if far else _small(s[part], losses, logs)
            values[part], relative = some
            short = np.exp(np.minimum(log_moment - values[part].real, 700.0))
            if not far:
                short = short + 1 / np.maximum(np.exp(values[part].real), 1e-300)
            errors[part] = np.log1p(relative + left_out * short)
        return values, errors

    def shift(self, fastest: float) -> float:  # noqa: ARG002
        """How far off the real axis to integrate, where fast oscillation becomes decay."""
        return 0.0

    @abstractmethod
    def dip(self, theta: float) -> float:
        """How much |w|^2 can fall off the real axis where w stands in a denominator, at most."""

    def _off_axis(self, height: float, theta: float, fastest: float, shift: float) -> float:
        """By how many nats the integrand can grow at a distance ``height`` from the line."""
        if shift and height > abs(shift):
            return math.inf  # beyond the real axis the oscillation would grow
        total = height + abs(shift)
        angle = total * self.speed
        if angle >= 2.6:
            return math.inf
        growth = 0.0 if shift else fastest * angle
        dip = self.dip(theta) * math.sin(angle / 2) ** 2
        growth -= abs(theta) / 2 * math.log1p(-dip)
        return growth + (total**2 / 2 if self.gaussian else 0.0)

    def _plan(
        self, length: float, theta: float, fastest: float, shift: float
    ) -> tuple[int, float, int]:
        """The number of panels, the ellipse and the rule that together need the fewest nodes."""
        best = (math.inf, 1, _RHOS[0], 64)
        for panels in {max(round(length * scale), 1) for scale in _PANELS_PER_UNIT}:
            half = length / panels / 2
            for rho in _RHOS:
                height, beyond = half * (rho - 1 / rho) / 2, half * ((rho + 1 / rho) / 2 - 1)
                steep = 3.0 if self.gaussian else 0.5
                nats = self._off_axis(height, theta, fastest, shift) + beyond * steep + _NATS + 3
                if math.isinf(nats):
                    break
                size = math.ceil(nats / (2 * math.log(rho)))
                if size <= _LARGEST_RULE:
                    best = min(best, (panels * size, panels, rho, size))
        if best[0] > _CHUNK:
            raise OverflowError("the integrand is too steep to integrate")
        return best[1], best[2], best[3]

    def _missed(  # noqa: PLR0913  # a formula of nine letters
        self,
        low: float,
        high: float,
        panels: int,
        rho: float,
        size: int,
        theta: float,
        fastest: float,
        shift: float,
        log_moment: float,
    ) -> float:
        """The bound on what the rule leaves out, summed over the panels, relative to the moment."""
        half = (high - low) / panels / 2
        height, beyond = half * (rho - 1 / rho) / 2, half * ((rho + 1 / rho) / 2 - 1)
        per_panel = 16
        step = 2 * half / per_panel
        margin = math.ceil(beyond / step)
        x = low + step * np.arange(-margin, panels * per_panel + margin + 1, dtype=np.float64)
        steepness = (abs(theta) + 2) * self.speed + (np.abs(x) if self.gaussian else 0.5)
        places = _complex(x)
        real = self.log_density(places).real + theta * self.loss(places).real
        heights = np.exp(real + steepness * step - log_moment)
        reach = 2 * margin + per_panel + 1
        windows = np.lib.stride_tricks.sliding_window_view(heights, reach)[::per_panel]
        largest = float(np.sum(np.max(windows, axis=1)))
        exponent = self._off_axis(height, theta, fastest, shift) - 2 * size * math.log(rho)
        return 64 / 15 * half * largest * math.exp(exponent) / (1 - rho**-2)

    def work(self, count: int, step: float) -> float:
        low, high = self.window(0.0)
        fastest = 0.0 if self.shift(1e9) else count * step
        if fastest * self.speed > _FASTEST:
            return math.inf
        return count * (400.0 + 0.7 * (high - low) * self.speed * fastest)

    def rough_log_moment(self, theta: float) -> float:
        """By a coarse rule, in real numbers."""
        low, high = self.window(theta)
        x, weights = _places(low, high, max(round((high - low) / 2), 2), 12)
        losses = np.concatenate((self.loss(_complex(x)).real, self.atoms[0]))
        densities = np.exp(self.log_density(_complex(x)).real)
        masses = np.concatenate((weights * densities, self.atoms[1]))
        return float(np.log1p(np.expm1(theta * losses) @ masses))


def _small(s: Complexes, losses: Complexes, logs: Complexes) -> tuple[Complexes, Floats]:
    """The log-moment by M - 1, which keeps the accuracy of small losses, and its relative error."""
    masses = np.exp(logs)
    z = np.multiply.outer(s, losses)
    grown = expm1(z)
    inner = grown @ masses
    sizes = (np.abs(grown) * 48 + np.abs(z) * np.abs(grown + 1) * 8) @ np.abs(masses)
    return log1p(inner), UNIT * sizes / np.maximum(np.abs(1 + inner), 1e-300)


def _large(s: Complexes, losses: Complexes, logs: Complexes) -> tuple[Complexes, Floats]:
    """The log-moment relative to its largest term, which cannot overflow."""
    exponents = logs + np.multiply.outer(s, losses)
    top = float(np.max(exponents.real))
    terms = np.exp(exponents - top)
    inner = np.asarray(np.sum(terms, axis=1), np.complex128)
    sizes = np.sum(np.abs(terms) * (64 + 8 * np.abs(exponents)), axis=1)
    safe = np.asarray(np.where(inner == 0, 1e-300, inner), np.complex128)
    values = np.asarray(top + np.log(safe), np.complex128)
    return values, UNIT * (sizes / np.maximum(np.abs(inner), 1e-300) + 8 * abs(top))


def _complex(x: Floats, shift: float = 0.0) -> Complexes:
    return np.asarray(x + 1j * shift, np.complex128)


def _places(low: float, high: float, panels: int, size: int) -> tuple[Floats, Floats]:
    nodes, weights = _rule(size)
    edges = np.linspace(low, high, panels + 1)
    middles, half = (edges[1:] + edges[:-1]) / 2, (high - low) / panels / 2
    x = (middles[:, None] + half * nodes[None, :]).ravel()
    return x, np.tile(weights * half, panels)


def _deepest_dip(rate: float, largest: float) -> float:
    """The largest 4q(1 - q)e^l/(1 - q + qe^l)^2 for l up to ``largest``."""
    place = min(largest, math.log((1 - rate) / rate))
    ratio = rate * math.exp(place) / (1 - rate)
    return 4 * ratio / (1 + ratio) ** 2


class SampledGaussianLoss(QuadratureLoss):
    """Gaussian noise of shift over sigma ``mu``, each person in the data with probability ``rate``.

    With w = 1 - q + q e^l and l = mu x - mu^2/2, x standard normal without the person: removing the
    person compares w phi with phi (the loss is log w), adding compares phi with w phi (-log w).
    """

    gaussian = True
    atoms = (np.empty(0), np.empty(0))

    def __init__(self, *, mu: float, rate: float, removing: bool) -> None:
        self.mu, self.rate, self.removing, self.speed = mu, rate, removing, mu
        self.largest = math.inf if removing else -math.log1p(-rate)

    def _log_ratio(self, x: Complexes) -> Complexes:
        exponent = self.mu * (x - self.mu / 2)
        large = exponent.real > 30.0
        near = log1p(self.rate * expm1(np.where(large, 0.0, exponent)))
        back = np.exp(np.asarray(np.where(large, -exponent, -30.0), np.complex128))
        far = np.asarray(exponent + math.log(self.rate), np.complex128)
        far += log1p(np.asarray((1 - self.rate) / self.rate * back, np.complex128))
        return np.where(large, far, near)

    def dip(self, theta: float) -> float:
        if self.removing:
            return 0.0
        high = self.window(theta)[1] + 2 / max(self.mu, 1.0)
        return _deepest_dip(self.rate, self.mu * (high - self.mu / 2))

    def shift(self, fastest: float) -> float:
        if fastest * self.mu < 12.0:
            return 0.0
        size = min(1.2 / self.mu, 2.5)
        return size if self.removing else -size

    def window(self, theta: float) -> tuple[float, float]:
        power = theta + 1 if self.removing else -theta
        if power <= 0:
            reach = math.sqrt(2 * (_NATS + 6 - power * -math.log1p(-self.rate)))
            return -reach, reach
        reach = math.sqrt(2 * (_NATS + 6 + power * math.log(2)))
        return -reach, power * self.mu + reach

    def loss(self, x: Complexes) -> Complexes:
        return self._log_ratio(x) if self.removing else -self._log_ratio(x)

    def log_density(self, x: Complexes) -> Complexes:
        plain: Complexes = -(x**2) / 2 - math.log(2 * math.pi) / 2
        return plain + self._log_ratio(x) if self.removing else plain

    def rough_log_moment(self, theta: float) -> float:
        """By the trapezoidal rule, in real numbers."""
        low, high = self.window(theta)
        x = np.linspace(low, high, max(round(4 * (high - low)), 40))
        power = theta + 1 if self.removing else -theta
        logs = np.logaddexp(
            math.log1p(-self.rate), math.log(self.rate) + self.mu * (x - self.mu / 2)
        )
        gap = (x[1] - x[0]) / math.sqrt(2 * math.pi)
        if float(np.max(np.abs(theta * logs))) > 30.0:
            exponents = power * logs - x**2 / 2
            top = float(np.max(exponents))
            return top + math.log(gap * float(np.sum(np.exp(exponents - top))))
        bell = np.exp(-(x**2) / 2 + (logs if self.removing else 0.0))
        rise = np.expm1((power - 1 if self.removing else power) * logs)
        return float(np.log1p(gap * (bell @ rise)))

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:  # noqa: ARG002
        r"""Move the integral over x off the real axis, by b, to where e^(itL) falls.

        There :math:`|e^{sL}| = |w|^{\theta}e^{-t|\arg w|}`, and the integrand is positive and
        falls in t. It is summed on a grid with the largest value of each cell.
        """
        power = theta + 1 if self.removing else -theta
        left, right = self.window(theta)
        x = np.linspace(left, right, 251)
        step = x[1] - x[0]
        log_moment = self.rough_log_moment(theta)
        best = np.zeros(low.shape)
        for angle in (0.3, 1.2, 2.0):
            shift = angle / self.mu
            if shift**2 / 2 > 60.0:
                continue
            w = 1 - self.rate + self.rate * np.exp(self.mu * (x - self.mu / 2) + 1j * angle)
            size = -(x**2) / 2 + shift**2 / 2 - math.log(2 * math.pi) / 2 - log_moment
            size = size + power * np.log(np.abs(w))
            turn = np.angle(w)
            largest = np.maximum(size[1:], size[:-1])
            cells = np.exp(largest[None, :] - np.outer(low, turn[:-1]))  # turn rises with x
            # between grid points the logarithm bends by at most its second derivative
            bend = math.exp(min(step**2 * (1 + (abs(power) + 1) * self.mu**2), 700.0))
            bound = np.sum(cells, axis=1) * step * bend + 2 * math.exp(-_NATS)
            best = np.maximum(best, -np.log(np.maximum(bound * 1.01, 1e-300)))
        return best


class SampledLaplaceLoss(QuadratureLoss):
    """Laplace noise of shift over scale ``epsilon``, each person in with probability ``rate``.

    The place is the loss l of the noise itself, without the person: atoms of mass 1/2 at -epsilon
    and e^-epsilon/2 at epsilon, and the density e^(-(l + epsilon)/2)/4 between.
    """

    gaussian = False
    speed = 1.0

    def __init__(self, *, epsilon: float, rate: float, removing: bool) -> None:
        self.epsilon, self.rate, self.removing = epsilon, rate, removing
        self.largest = math.log1p(rate * math.expm1(epsilon if removing else -epsilon))
        self.largest = abs(self.largest)
        ends = np.array([-epsilon, epsilon])
        ratio = self._log_ratio(_complex(ends)).real
        masses = np.array([0.5, 0.5 * math.exp(-epsilon)])
        self.atoms = (ratio, masses * np.exp(ratio)) if removing else (-ratio, masses)

    def _log_ratio(self, x: Complexes) -> Complexes:
        return log1p(self.rate * expm1(x))

    def window(self, theta: float) -> tuple[float, float]:  # noqa: ARG002
        return -self.epsilon, self.epsilon

    def dip(self, theta: float) -> float:  # noqa: ARG002
        return 0.0 if self.removing else _deepest_dip(self.rate, self.epsilon + 1.0)

    def loss(self, x: Complexes) -> Complexes:
        return self._log_ratio(x) if self.removing else -self._log_ratio(x)

    def log_density(self, x: Complexes) -> Complexes:
        plain: Complexes = -(x + self.epsilon) / 2 - math.log(4)
        return plain + self._log_ratio(x) if self.removing else plain

    def decay(self, theta: float, low: Floats, high: Floats) -> Floats:
        """By the two atoms, or by cells of the density of L, which is at least its ends'."""
        places = np.linspace(-self.epsilon, self.epsilon, 1025)
        ratio = self._log_ratio(_complex(places)).real
        losses = ratio if self.removing else -ratio
        # the density of L times e^(theta L): d(place)/dL = (1 - q + q e^l)/(q e^l)
        log_slope = math.log(self.rate) + places - ratio
        heights = self.log_density(_complex(places)).real + theta * losses - log_slope
        moment = math.exp(self.rough_log_moment(theta))
        atoms = self.atoms[1] * np.exp(theta * self.atoms[0]) / moment * 0.999
        best = decay_of_atoms(self.atoms[0], atoms, low, high)
        for cells in (1, 2, 4, 8, 16, 32, 64):
            ends = np.linspace(0, 1024, cells + 1).astype(int)
            lengths = np.abs(np.diff(losses[ends]))
            least = np.minimum.reduceat(heights, ends[:-1])
            least = np.minimum(least, heights[ends[1:]]) - 8 * self.epsilon / 1024 * (
                abs(theta) + 2
            )
            weights = np.exp(least) * lengths / moment * 0.99
            gain = (1 - np.minimum(2 / np.outer(low, lengths), 1.0)) @ weights
            best = np.maximum(best, -np.log1p(-np.minimum(gain, 1 - 1e-12)))
        return best
