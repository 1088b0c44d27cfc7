"""Gaussian noise: on whole numbers, and for real queries on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from flint import arb

from quaestor.accounting import releases
from quaestor.accounting.numerics.balls import rational, working_precision
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import Release, check_count, check_real
from quaestor.accounting.releases.derived.discrete_vector import LARGEST_DISTANCE
from quaestor.mechanisms.base import (
    Coordinates,
    RealNoise,
    WholeNoise,
    check_confidence,
    check_coordinates,
)
from quaestor.mechanisms.grid import check_granularity, finest_grid, steps_across
from quaestor.mechanisms.samplers.noise import Noise, gaussian_noise

__all__ = ["DiscreteGaussian", "Gaussian", "gaussian_error", "gaussian_reach"]

_FINENESS = 10  # bits: steps of 1/1024 of the sensitivity, or finer
_SMALLEST, _LARGEST = 0.05, 1e9  # sigma in steps
_LARGEST_SENSITIVITY = 100_000
_ALL_BUT_GAUSSIAN = 4.0  # sigma in steps, from where on it is worth a try
_CLOSE = Fraction(101, 100)  # of the mu of continuous noise
_BITS = 128
_WIDE = 2.0  # from this sigma on, the variance is sigma^2 to all digits of a float


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian(Coordinates, WholeNoise):
    r"""Discrete Gaussian noise, :math:`P(x) \propto e^{-x^2/2\sigma^2}`, on whole numbers.

    ``sensitivity`` is the L2 sensitivity of what is released. The noise has exactly this law
    (:mod:`quaestor.mechanisms.samplers.noise` says why). Where one person may change one number
    only, the loss is that of two shifted copies; so it is for a sensitivity of 1, as of whole
    numbers only one can then change. Where ``coordinates`` says that it may be more, the release
    is all but Gaussian
    (:class:`~quaestor.accounting.releases.derived.discrete_vector.DiscreteGaussianVector`). For
    a small sigma, where that is not known within 1 %, each coordinate is
    :math:`d_i^2/2\sigma^2`-zero-concentrated DP [Canonne, Kamath, Steinke 2020], which add up to
    :math:`\Delta^2/2\sigma^2`.

    >>> print(DiscreteGaussian(sigma=5.0).loss)
    DiscreteGaussian(sigma=5.0, sensitivity=1)
    >>> print(DiscreteGaussian(sigma=40.0, sensitivity=8, coordinates=3).loss)
    DiscreteGaussianVector(sigma=40.0, sensitivity=8.0, coordinates=3)
    >>> print(DiscreteGaussian(sigma=2.0, sensitivity=8, coordinates=3).loss)
    ZeroConcentratedDP(rho=8.0)
    """

    description = releases.DiscreteGaussian

    sigma: float
    sensitivity: int = 1
    coordinates: int | None = None

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        sigma = check_real("sigma", self.sigma, low=_SMALLEST, high=_LARGEST)
        sensitivity = check_count("sensitivity", self.sensitivity, largest=_LARGEST_SENSITIVITY)
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "coordinates", check_coordinates(self.coordinates))

    @property
    def loss(self) -> Release:
        """What one release costs."""
        if self.coordinates in {None, 1} or self.sensitivity == 1:
            return releases.DiscreteGaussian(sigma=self.sigma, sensitivity=self.sensitivity)
        return _of_several(Fraction(self.sensitivity), self.sigma, self.coordinates or 1)

    @property
    def concentrated_loss(self) -> releases.ZeroConcentratedDP:
        """The same by its rho alone."""
        return _concentrated(Fraction(self.sensitivity), self.sigma)

    @property
    def standard_error(self) -> float:
        """The standard deviation of the noise."""
        return gaussian_error(self.sigma)

    def interval(self, *, confidence: float) -> Bounds:
        """Where ``released - value`` lies with at least this probability."""
        reach = float(gaussian_reach(self.sigma, confidence=confidence))
        return Bounds(lower=0.0 - reach, upper=reach)

    def for_counts(self) -> DiscreteGaussian:
        """The same noise in proportion to a sensitivity of 1."""
        return replace(self, sigma=self.sigma * (1 / self.sensitivity), sensitivity=1)

    def _noise(self) -> Noise:
        return gaussian_noise(self.sigma)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(RealNoise):
    r"""Discrete Gaussian noise on the multiples of a power of two.

    The value is rounded to the nearest multiple of ``granularity``, g (by default a 1024th of the
    sensitivity, or finer, but not below a billionth of sigma); the noise is g times a whole number
    of law :math:`P(x) \propto e^{-x^2g^2/2\sigma^2}`, exactly. ``sensitivity`` is the L2
    sensitivity of what is released.

    Rounding is accounted: one number moves by at most :math:`\lceil\Delta/g\rceil` steps. Of the
    ``coordinates`` entries that one person may change, c of them, each is rounded by at most one
    step more in one world than in the other, so that the L2 distance in steps grows by at most
    :math:`\sqrt c`.

    >>> print(Gaussian(sigma=10.0).loss)
    DiscreteGaussian(sigma=10240.0, sensitivity=1024)
    >>> print(Gaussian(sigma=10.0, coordinates=4).loss)
    DiscreteGaussianVector(sigma=10240.0, sensitivity=1026.0, coordinates=4)
    """

    description = releases.Gaussian

    sigma: float
    sensitivity: float = 1.0
    granularity: float | None = None
    coordinates: int | None = None

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        described = releases.Gaussian(sigma=self.sigma, sensitivity=self.sensitivity)
        object.__setattr__(self, "sigma", described.sigma)
        object.__setattr__(self, "sensitivity", described.sensitivity)
        if self.granularity is not None:
            object.__setattr__(self, "granularity", check_granularity(self.granularity))
        object.__setattr__(self, "coordinates", check_coordinates(self.coordinates))
        check_real("sigma in steps of the granularity", self._sigma, low=_SMALLEST, high=_LARGEST)
        _ = self.loss

    @property
    def step(self) -> float:
        """The granularity, stated or by default."""
        if self.granularity is not None:
            return self.granularity
        least = finest_grid(self.sigma, bits=28)  # sigma is then below 2^29 steps
        return max(finest_grid(self.sensitivity, bits=_FINENESS), least)

    @property
    def loss(self) -> Release:
        """What one release costs: the noise in steps, and the sensitivity after rounding."""
        if self.coordinates in {None, 1}:
            steps = steps_across(self.sensitivity, self.step)
            return releases.DiscreteGaussian(sigma=self._sigma, sensitivity=steps)
        root = math.isqrt((self.coordinates or 1) * 10**12 - 1) + 1  # rounded up, in millionths
        moved = Fraction(self.sensitivity) / Fraction(self.step) + Fraction(root, 10**6)
        return _of_several(moved, self._sigma, self.coordinates or 1)

    @property
    def standard_error(self) -> float:
        """The standard deviation of the noise; rounding adds up to half a step."""
        return gaussian_error(self._sigma) * self.step

    def interval(self, *, confidence: float) -> Bounds:
        """Where ``released - value`` lies with at least this probability, rounding included."""
        return self._with_rounding(gaussian_reach(self._sigma, confidence=confidence))

    def for_counts(self) -> Gaussian:
        """The same noise in proportion to a sensitivity of 1."""
        return Gaussian(sigma=self.sigma * (1 / self.sensitivity))

    @property
    def _sigma(self) -> float:
        return self.sigma / self.step

    def _noise(self) -> Noise:
        return gaussian_noise(self._sigma)


def _of_several(distance: Fraction, sigma: float, coordinates: int) -> Release:
    """Noise on several numbers: all but Gaussian, or known by its rho where sigma is small."""
    if sigma < _ALL_BUT_GAUSSIAN:
        return _concentrated(distance, sigma)
    near = float(distance)
    moved = near if near >= distance else math.nextafter(near, math.inf)
    if moved > LARGEST_DISTANCE:
        return _concentrated(distance, sigma)
    vector = releases.DiscreteGaussianVector(
        sigma=sigma, sensitivity=moved, coordinates=coordinates
    )
    close = vector.known_mu() * Fraction(sigma) <= distance * _CLOSE
    return vector if close else _concentrated(distance, sigma)


def _concentrated(distance: Fraction, sigma: float) -> releases.ZeroConcentratedDP:
    """``distance^2/2 sigma^2``, rounded up."""
    exact = distance**2 / (2 * Fraction(sigma) ** 2)
    rho = float(exact)
    return releases.ZeroConcentratedDP(rho=rho if rho >= exact else math.nextafter(rho, math.inf))


def gaussian_reach(sigma: float, *, confidence: float) -> int:
    r"""A t with :math:`P(|X| > t) \le 1 - c`, the least one or one more.

    Theorem:
        For m from 1 on, :math:`P(X \ge m) \le P(N(0, \sigma^2) \ge m - 1)` [Canonne, Kamath,
        Steinke 2020], so that t suffices where the Gaussian passes t with that probability.
        Proof: the weights fall, so that those from m on add up to at most the integral of
        :math:`e^{-x^2/2\sigma^2}` from m - 1 on, and all together to at least
        :math:`\sqrt{2\pi\sigma^2}`, by Poisson summation, whose other terms are positive.
    """
    missing = check_confidence(confidence)
    with working_precision(_BITS):
        limit, unit = rational(missing), 1 / (arb(sigma) * arb(2).sqrt())
        guess = -NormalDist().inv_cdf(float(missing) / 2) * sigma
        reach = max(0, math.floor(guess * (1 - 1e-9)) - 1)
        while not (reach * unit).erfc() <= limit:
            reach += 1
    return reach


@lru_cache(maxsize=64)
def gaussian_error(sigma: float) -> float:
    """The standard deviation of discrete Gaussian noise: sigma, unless that is small.

    It is never above sigma [Canonne, Kamath, Steinke 2020].
    """
    if sigma >= _WIDE:
        return sigma
    weights = [math.exp(-(x * x) / (2 * sigma * sigma)) for x in range(80)]
    squares = math.fsum(x * x * weight for x, weight in enumerate(weights))
    return min(sigma, math.sqrt(2 * squares / (2 * math.fsum(weights) - 1)))
