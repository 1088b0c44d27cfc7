"""Two-sided geometric noise, which is discrete Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from flint import arb

from quaestor.accounting import releases
from quaestor.accounting.numerics.balls import outward, rational, working_precision
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import check_real
from quaestor.mechanisms.base import WholeNoise, check_confidence
from quaestor.mechanisms.samplers.noise import LARGEST_SCALE, Noise, laplace_noise

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["Geometric", "geometric_loss", "laplace_above", "laplace_error", "laplace_reach"]

_BITS = 128
_WIDEST = 64  # the largest sensitivity with a description of its own: more are slow to compose
_LITTLE = 250  # scale times sensitivity from which the continuous law costs a thousandth at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometric(WholeNoise):
    r"""Discrete Laplace noise, :math:`P(x) \propto e^{-|x|/b}`, on whole numbers.

    ``sensitivity`` is the L1 sensitivity of what is released, number or array. The noise has
    exactly this law (:mod:`quaestor.mechanisms.samplers.noise` says why), and the values are whole,
    so that nothing is rounded.

    >>> counting = Geometric(scale=20.0)
    >>> print(counting.loss)
    Geometric(scale=20.0, sensitivity=1)
    >>> counting.interval(confidence=0.95)
    Bounds(lower=-60.0, upper=60.0)
    """

    description = releases.Geometric

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        described = self.loss
        object.__setattr__(self, "scale", described.scale)
        object.__setattr__(self, "sensitivity", described.sensitivity)
        check_real("scale", self.scale, low=0.0, high=LARGEST_SCALE)

    @property
    def loss(self) -> releases.Geometric:
        """What one release costs."""
        return releases.Geometric(scale=self.scale, sensitivity=self.sensitivity)

    @property
    def standard_error(self) -> float:
        """The standard deviation of the noise."""
        return laplace_error(self.scale)

    def interval(self, *, confidence: float) -> Bounds:
        """Where ``released - value`` lies with at least this probability; the least such."""
        missing = check_confidence(confidence)
        with working_precision(_BITS):
            factor = 2 / (1 + (-1 / arb(self.scale)).exp())  # P(|X| > t) = factor * exp(-(t+1)/b)
            reach = float(laplace_reach(self.scale, missing, factor) - 1)
        return Bounds(lower=0.0 - reach, upper=reach)

    def for_counts(self) -> Geometric:
        """The same noise in proportion to a sensitivity of 1."""
        return replace(self, scale=self.scale * (1 / self.sensitivity), sensitivity=1)

    def _noise(self) -> Noise:
        return laplace_noise(self.scale)


def laplace_error(scale: float) -> float:
    r"""The standard deviation of discrete Laplace noise, :math:`1/(\sqrt2\sinh(1/2b))`."""
    with working_precision(_BITS):
        return outward(1 / (arb(2).sqrt() * (1 / (2 * arb(scale))).sinh())).upper


def laplace_reach(scale: float, missing: Fraction, factor: arb) -> int:
    """The least t from 1 on with ``factor * exp(-t/scale)`` at most ``missing``, in balls."""
    b, limit = arb(scale), rational(missing)
    guess = float(b * (factor / limit).log())
    reach = max(1, math.floor(guess * (1 - 1e-12)) - 1)
    while not factor * (-reach / b).exp() <= limit:
        reach += 1
    return reach


@lru_cache(maxsize=4096)
def geometric_loss(mechanism: Geometric) -> Release:
    """A description of geometric noise.

    Its own, which is exact, where that matters; else that of :func:`laplace_above`. Composing
    thirty geometric releases of sensitivity 64 takes seconds, of 1000 minutes; as many Laplace
    releases take less than a tenth of a second.
    """
    described = mechanism.loss
    few = described.sensitivity <= _WIDEST
    near = Fraction(described.scale) * described.sensitivity < _LITTLE
    if described.sensitivity == 1 or (few and near):
        return described
    return laplace_above(described)


def laplace_above(release: releases.Geometric) -> releases.Laplace:
    r"""A Laplace release that is at least as easy to see through as a geometric one.

    Theorem:
        Discrete Laplace noise of scale b and sensitivity :math:`\Delta` loses at most what Laplace
        noise of scale b loses with the sensitivity :math:`\Delta + 1/4b`, at every epsilon. Proof:
        with :math:`r = e^{-1/b}`, the best test sees whether the outcome is at least t, t from 0
        to :math:`\Delta`, and

        .. math:: \delta(\varepsilon) = \max_t 1 - \frac{r^{\Delta-t+1} + e^\varepsilon r^t}{1+r}
           \le 1 - \frac{2 r^{(\Delta+1)/2} e^{\varepsilon/2}}{1+r}
           = 1 - \frac{e^{(\varepsilon - \Delta/b)/2}}{\cosh(1/2b)}

        (of two positive numbers the sum is at least twice the root of the product) for
        :math:`\varepsilon \le \Delta/b`, and 0 beyond. The Laplace release with sensitivity S has
        :math:`1 - e^{(\varepsilon - S/b)/2}`, which is no less if :math:`S \ge \Delta + 2b \ln
        \cosh(1/2b)`; and :math:`\ln\cosh x \le x^2/2`. Both are symmetric, so that this is the
        whole curve, and what is worse alone is worse in any composition [Blackwell].

    >>> laplace_above(releases.Geometric(scale=1024.0, sensitivity=100))
    Laplace(scale=1024.0, sensitivity=100.000244140625)
    """
    exact = release.sensitivity + 1 / (4 * Fraction(release.scale))
    nearest = float(exact)
    sensitivity = nearest if nearest >= exact else math.nextafter(nearest, math.inf)
    return releases.Laplace(scale=release.scale, sensitivity=sensitivity)
