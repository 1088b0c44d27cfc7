"""What the releases with correlated noise share: Gaussians whose shift a strategy decides."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases.base import (
    Strength,
    check_count,
    check_real,
    positive,
    remembered,
)
from quaestor.accounting.releases.derived.bounded_shift import OfBoundedMu
from quaestor.accounting.releases.gaussian import Gaussian
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.releases.base import Release
    from quaestor.accounting.releases.derived.participation import Participation
    from quaestor.accounting.releases.derived.strategies import CountingError

__all__ = ["CorrelatedNoise"]

_LARGEST_RATIO = 1e60
_LEAST_MU = Fraction(1, 2**900)  # far below it floats have fewer bits
_KEPT_BITS = 40  # the order in which floats were added up does not show in a price


class CorrelatedNoise(OfBoundedMu):
    """Gaussian noise of deviation ``sigma`` on Cx, where a person changes some rows of x."""

    __slots__ = ()

    sigma: float
    participations: int
    separation: int
    periodic: bool
    sensitivity: float

    strength: ClassVar[Strength | None] = Strength("sigma", more_tells_more=False)

    def _check_participation(self) -> None:
        positive(self, "sigma", "sensitivity")
        for name in ("participations", "separation"):
            object.__setattr__(self, name, check_count(name, getattr(self, name)))
        if self.sensitivity / self.sigma > _LARGEST_RATIO:
            valid = f"at least 1/{_LARGEST_RATIO:g} of the sensitivity"
            raise InvalidParameter("sigma", self.sigma, valid)
        if not isinstance(self.periodic, bool):
            raise InvalidParameter("periodic", self.periodic, "True or False")

    def _participation(self) -> Participation:
        from quaestor.accounting.releases.derived.participation import Participation

        return Participation(self.participations, self.separation, self.periodic)

    def sensitivity_bounds(self) -> Bounds:
        """Enclose how far one person moves Cx; the upper end is what is counted.

        >>> from quaestor import MatrixMechanism
        >>> shifted = MatrixMechanism(sigma=1.0, matrix=[[3, 0], [4, 1]])
        >>> 5.0 in shifted.sensitivity_bounds()
        True
        """
        unit, scale = self._unit_sensitivity(), self.sensitivity
        return Bounds(lower=unit.lower * scale, upper=unit.upper * scale).widened(ulps=1)

    def _unit_sensitivity(self) -> Bounds:
        raise NotImplementedError

    def counting_error(self) -> CountingError:
        """The standard deviation of running totals that are computed from the release, about."""
        raise NotImplementedError

    @remembered
    def known_mu(self) -> Fraction:
        """Sensitivity by sigma, rounded up to 40 bits."""
        exact = Fraction(self._unit_sensitivity().upper) * Fraction(self.sensitivity)
        mantissa, exponent = math.frexp(max(exact / Fraction(self.sigma), _LEAST_MU))
        whole = math.ceil(math.ldexp(mantissa, _KEPT_BITS)) + 1
        return Fraction(math.ldexp(whole, exponent - _KEPT_BITS))

    @remembered
    def least_mu(self) -> Fraction:
        """What some pattern of participation moves, by sigma."""
        attained = Fraction(self._unit_sensitivity().lower) * Fraction(self.sensitivity)
        return attained / Fraction(self.sigma)

    # With a sample.

    def _column(self) -> tuple[float, int]:
        """The norm of the longest column, rounded up, and the number of steps.

        Raises:
            InvalidParameter: columns that are ``separation`` apart meet.
        """
        raise NotImplementedError

    def cyclic_poisson(self, *, rate: float) -> Release:
        r"""The same with cyclic Poisson sampling: everybody has a turn every ``separation`` steps.

        The people are divided beforehand into ``separation`` groups, whatever their data. Step i
        takes a Poisson sample of this ``rate`` of group i mod ``separation``.

        Theorem:
            If columns of C that are b apart have no row in common and C is lower triangular, the
            release is dominated by :math:`\lceil n/b\rceil` Poisson-sampled Gaussians whose
            sensitivity is the longest column [Choquette-Choo et al. 2023, arXiv 2306.08153].
            Proof: the person is in the j-th step of the group with probability q, independently,
            and then moves the rows of that column, which no other of the group's columns has.
            Given the outputs so far all else is the same in both worlds, so the ratio of the
            densities is :math:`\prod_j(1-q+q\,e^{\langle c_jw_j\rangle-|c_j|^2/2})` with noise
            :math:`w_j` along the direction of the change, which is chosen before the first of the
            column's rows: independent Gaussians. A shorter change is the longest one and more
            noise.

        Intervals enclose what these Gaussians lose: the upper end holds for the release, the lower
        end need not.

        >>> from quaestor import ContinualCounting
        >>> steps = ContinualCounting(
        ...     sigma=4.0, steps=100, strategy="square_root", bands=2, separation=2
        ... )
        >>> steps.cyclic_poisson(rate=0.1).count
        50
        """
        from quaestor.accounting.releases.sampled import PoissonSampled

        chance = check_real("rate", rate, low=0.0, high=1.0)
        norm, steps = self._column()
        length = math.nextafter(norm * self.sensitivity, math.inf)
        each = PoissonSampled(release=Gaussian(sigma=self.sigma, sensitivity=length), rate=chance)
        return each * -(-steps // self.separation)
