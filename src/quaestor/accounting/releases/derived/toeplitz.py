"""Correlated noise: the matrix mechanism with a banded or Toeplitz strategy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from quaestor.accounting.releases.base import Strength, check_count, positive, remembered
from quaestor.accounting.releases.derived.bounded_shift import OfBoundedMu
from quaestor.accounting.releases.derived.gaussian_mixture import numbers
from quaestor.errors import InvalidParameter

__all__ = ["ToeplitzMechanism"]

_LARGEST_COEFFICIENT = 1e75
_MOST_COEFFICIENTS = 1024
_MOST_PARTICIPATIONS = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class ToeplitzMechanism(OfBoundedMu):
    r"""Gaussian noise on every row of Cx: DP-FTRL and continual counting with a matrix C.

    C is lower triangular with ``coefficients`` down each column, and x has a row for every step.
    A person changes at most ``participations`` rows, each by at most ``sensitivity`` in L2, and
    any two of them at least ``separation`` steps apart.

    Guarantee:
        Gaussian noise on a query of L2 sensitivity :math:`\Delta\sqrt{k\,r(0) +
        2\sum_{t<k}(k-t)\max_{d\ge tb}r(d)}` with :math:`r(d) = \sum_m|c_mc_{m+d}|`.
        Proof: the change is :math:`\sum_jCe_{i_j}u_j`, of square at most
        :math:`\sum_{j,l}|\langle Ce_{i_j}, Ce_{i_l}\rangle||u_j||u_l|`; columns that are d apart
        have an inner product of at most r(d), and the j-th and l-th participation are at least
        :math:`|j - l| b` apart. It is attained by falling coefficients of one sign, where C is long
        enough. Adaptive inputs are covered, as for every Gaussian [Denisov et al. 2022, Theorem
        2.1].

    >>> from quaestor import compose
    >>> bands = (1.0, 0.5)
    >>> banded = ToeplitzMechanism(sigma=8.0, coefficients=bands, participations=4, separation=2)
    >>> round(compose(banded).mu().upper, 6)  # columns do not meet: the root of 4 * 1.25, by 8
    0.279508
    """

    sigma: float
    coefficients: tuple[float, ...]
    participations: int = 1
    separation: int = 1
    sensitivity: float = 1.0

    strength: ClassVar[Strength | None] = Strength("sigma", more_tells_more=False)

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        positive(self, "sigma", "sensitivity")
        largest = _LARGEST_COEFFICIENT
        found = numbers("coefficients", self.coefficients, low=-largest, high=largest)
        if len(found) > _MOST_COEFFICIENTS or not any(found):
            valid = f"at most {_MOST_COEFFICIENTS} numbers, not all of them 0"
            raise InvalidParameter("coefficients", len(found), valid)
        object.__setattr__(self, "coefficients", found)
        most = _MOST_PARTICIPATIONS
        times = check_count("participations", self.participations, largest=most)
        object.__setattr__(self, "participations", times)
        object.__setattr__(self, "separation", check_count("separation", self.separation))

    @remembered
    def known_mu(self) -> Fraction:
        """Sensitivity by sigma, rounded up."""
        root = _root(self._square() * self._scale() ** 2) + Fraction(1, 1 << 128)
        return Fraction(math.nextafter(float(root), math.inf))

    @remembered
    def least_mu(self) -> Fraction:
        """What equal or alternating changes of one period move, or one change, by sigma."""
        return _root(self._attained_square() * self._scale() ** 2)

    def _scale(self) -> Fraction:
        return Fraction(self.sensitivity) / Fraction(self.sigma)

    def _attained_square(self) -> Fraction:
        """A square that changes of norm 1 attain, if C is long enough."""
        entries = [Fraction(each) for each in self.coefficients]
        own = _meets(entries, 0)
        found = [own]
        for sign in (1, -1):
            total = self.participations * own
            for times in range(1, self.participations):
                if times * self.separation >= len(entries):
                    break
                meets = _meets(entries, times * self.separation)
                total += 2 * (self.participations - times) * sign**times * meets
            found.append(total)
        return max(found)

    def _square(self) -> Fraction:
        """The square of the sensitivity for changes of norm 1."""
        sizes = [abs(Fraction(each)) for each in self.coefficients]
        furthest = Fraction(0)
        most: dict[int, Fraction] = {}
        for apart in range(len(sizes) - 1, -1, -1):
            furthest = max(furthest, _meets(sizes, apart))
            most[apart] = furthest
        total = self.participations * most[0]
        for times in range(1, self.participations):
            apart = times * self.separation
            if apart >= len(sizes):
                break
            total += 2 * (self.participations - times) * most[apart]
        return total


def _meets(entries: list[Fraction], apart: int) -> Fraction:
    """The inner product of two columns."""
    return sum((a * b for a, b in zip(entries, entries[apart:], strict=False)), Fraction(0))


def _root(square: Fraction) -> Fraction:
    """The root, rounded down by at most 2^-128."""
    return Fraction(math.isqrt((square.numerator << 256) // square.denominator), 1 << 128)
