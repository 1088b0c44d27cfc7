"""Discrete Gaussian noise on several whole numbers with a joint L2 sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from quaestor.accounting.releases.base import Strength, check_count, check_real, remembered
from quaestor.accounting.releases.derived.bounded_shift import OfBoundedMu
from quaestor.errors import InvalidParameter

__all__ = ["LARGEST_DISTANCE", "DiscreteGaussianVector"]

_WIDTHS = [Fraction(eighths, 8) for eighths in range(5, 25)]  # of the noise that is taken apart
_LARGEST_SLACK = 0.07
LARGEST_DISTANCE = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianVector(OfBoundedMu):
    r"""Discrete Gaussian noise on whole numbers of which a person changes several.

    ``sensitivity`` is the L2 sensitivity of all of them together; a person changes at most
    ``coordinates`` of them.

    Guarantee:
        It is :math:`\mu`-Gaussian-DP with :math:`\mu = \Delta/\sqrt{\sigma^2-\tau^2} + 3\eta`,
        where :math:`\eta = c\log\frac{1+\theta}{1-\theta}`, c is the number of coordinates, and
        :math:`\theta = 2\sum_{k\ge1}e^{-2\pi^2\tau^2k^2}`, for every :math:`\tau < \sigma` with
        :math:`\eta \le 0.07`; the best of some is taken. From sigma 20 on that is within a
        thousandth of continuous noise. It is :math:`\Delta^2/2\sigma^2`-zero-concentrated, too
        [Canonne, Kamath, Steinke 2020].

        Proof: (1) Take noise :math:`N(v, s^2)` with :math:`s^2 = \sigma^2-\tau^2` on each number v,
        and draw a whole number x near its result z with weights :math:`e^{-(x-z)^2/2\tau^2}`. By
        Poisson summation the weights add up to :math:`\tau\sqrt{2\pi}`, up to a factor between
        :math:`1-\theta` and :math:`1+\theta`. So x has a probability proportional to
        :math:`e^{-(x-v)^2/2\sigma^2}` up to such factors: that of discrete noise, up to
        :math:`e^{\pm\eta/c}`. Numbers that do not change have the same law in both worlds.
        (2) If :math:`p' \le e^\eta p` and :math:`1-p' \ge e^{-\eta}(1-p)`, then
        :math:`\Phi^{-1}(p') \le \Phi^{-1}(p)+\eta/0.7`. Up to p = 1/2 the first is enough, as the
        derivative of :math:`\log\Phi` is above 0.73 up to 0.1; from there on the second, likewise.
        (3) For any set S let its probabilities without the person be a (noise) and a' (drawn), and
        with the person b and b'. Then :math:`\Phi^{-1}(b) \le \Phi^{-1}(b')+\eta/0.7 \le
        \Phi^{-1}(a')+\Delta/s+\eta/0.7 \le \Phi^{-1}(a)+\Delta/s+2\eta/0.7`.

        The lower end is that of a change which occurs, a vector of whole numbers; there noise
        :math:`N(0, \tau^2)` is added, with the same proof for
        :math:`\sqrt{\sigma^2+\tau^2}` and :math:`\theta` at
        :math:`\sigma\tau/\sqrt{\sigma^2+\tau^2}`.

    >>> from quaestor import Gaussian, compose
    >>> noisy = DiscreteGaussianVector(sigma=50.0, sensitivity=50.0, coordinates=8)
    >>> discrete, continuous = (
    ...     compose(each).epsilon(delta=1e-6) for each in (noisy, Gaussian(sigma=1.0))
    ... )
    >>> continuous <= discrete <= 1.001 * continuous
    True
    """

    sigma: float
    sensitivity: float
    coordinates: int

    strength: ClassVar[Strength | None] = Strength("sigma", more_tells_more=False)

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        object.__setattr__(self, "sigma", check_real("sigma", self.sigma, low=1.0, high=1e9))
        high = LARGEST_DISTANCE
        sensitivity = check_real("sensitivity", self.sensitivity, low=1.0, high=high)
        object.__setattr__(self, "sensitivity", sensitivity)
        count = check_count("coordinates", self.coordinates, largest=10**9)
        object.__setattr__(self, "coordinates", count)
        if not self._choices():
            valid = f"larger for {count} coordinates, or ZeroConcentratedDP"
            raise InvalidParameter("sigma", self.sigma, valid)

    @remembered
    def known_mu(self) -> Fraction:
        """The least that a choice of tau proves, rounded up."""
        least = min(self._choices())
        near = float(least)
        return Fraction(near if near >= least else math.nextafter(near, math.inf))

    def _choices(self) -> list[Fraction]:
        square, moved = Fraction(self.sigma) ** 2, Fraction(self.sensitivity)
        found = []
        for width in _WIDTHS:
            slack = _slack(width, self.coordinates)
            if width * width < square and slack is not None:
                found.append(moved / _root(square - width * width) + 3 * slack)
        return found

    @remembered
    def least_mu(self) -> Fraction:
        """What a vector of whole numbers is certain to attain."""
        square, changed = _whole_square(self.sensitivity, self.coordinates)
        noise = Fraction(self.sigma) ** 2
        found = [Fraction(0)]
        for width in _WIDTHS:
            added = width * width
            slack = _slack(_root(noise * added / (noise + added)), changed)
            if slack is not None:
                attained = _root(Fraction(square)) / (_root(noise + added) + _UNIT)
                found.append(attained - 3 * slack)
        return max(found)

    @remembered
    def concentrated_rho(self) -> Fraction | None:
        """That of every number, added up."""
        from quaestor.accounting.numerics.balls import at_least

        return at_least((Fraction(self.sensitivity) / Fraction(self.sigma)) ** 2 / 2)


_UNIT = Fraction(1, 1 << 128)


def _root(square: Fraction) -> Fraction:
    """The root, rounded down by at most 2^-128."""
    return Fraction(math.isqrt((square.numerator << 256) // square.denominator), 1 << 128)


def _slack(width: Fraction, changed: int) -> Fraction | None:
    r"""At least :math:`\eta`, rounded up; None where it is too large for the theorem.

    The terms of :math:`\theta` after the first are below a millionth of it, and
    :math:`\log\frac{1+\theta}{1-\theta} \le 2.01\theta` up to 0.1.
    """
    if width < _WIDTHS[0]:
        return None
    theta = 2.01 * math.exp(-19.739 * float(width) ** 2 * (1 - 1e-12))
    slack = changed * 2.02 * theta
    return Fraction(slack) if slack <= _LARGEST_SLACK else None


def _whole_square(sensitivity: float, coordinates: int) -> tuple[int, int]:
    """The square of a vector of whole numbers that is no longer, and how many it changes."""
    limit, square, changed = math.floor(Fraction(sensitivity) ** 2), 0, 0
    while changed < coordinates and square < limit:
        square += math.isqrt(limit - square) ** 2
        changed += 1
    return square, changed
