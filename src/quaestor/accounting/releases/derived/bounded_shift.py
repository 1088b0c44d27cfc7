"""Gaussian noise whose shift is known between two ends only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import Release, remembered, root_below
from quaestor.accounting.releases.gaussian import GaussianDP, OfMu
from quaestor.accounting.releases.opinion import gaussian_opinion

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.opinion import Opinion

__all__ = ["OfBoundedMu", "ShiftBetween"]

_UP = Fraction(1, 1 << 248)  # more than a root that was rounded down lacks


class OfBoundedMu(OfMu):
    """N(0, 1) against N(mu, 1) for a mu between ``least_mu`` and ``known_mu``.

    The upper ends of answers come from the one, the lower ends from the other.
    """

    __slots__ = ()

    bracketed: ClassVar[bool] = True

    def least_mu(self) -> Fraction:
        """At most the mu that some neighbours attain."""
        raise NotImplementedError

    def _mu(self) -> float:
        return _above(self.known_mu())

    def at_least(self) -> Release:
        """The Gaussian of the least mu."""
        return GaussianDP(mu=_below(self.least_mu()))

    def least_losses(self) -> tuple[Law, ...]:
        """Those of the Gaussian of the least mu."""
        return self.at_least().losses()

    def with_group(self, size: int) -> Release:
        """So many times the shift."""
        least, most = size * self.least_mu(), size * self.known_mu()
        return ShiftBetween(least=_below(least), most=_above(most))

    def with_record_replaced(self) -> Release:
        """Twice the shift."""
        return self.with_group(2)

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion:
        """Two tails: of the largest mu from above, of the least one from below."""
        above, below = gaussian_opinion(self._mu()), gaussian_opinion(_below(self.least_mu()))
        return below._replace(
            curve=lambda at: (below.curve(at)[0], above.curve(at)[1]), rho=above.rho
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftBetween(OfBoundedMu):
    """A mu between two floats; computed, and never described."""

    least: float
    most: float

    @classmethod
    def around(cls, exact: Fraction) -> ShiftBetween:
        """The floats next to it."""
        return cls(least=_below(exact), most=_above(exact))

    @classmethod
    def of_squares(cls, least: Fraction, most: Fraction) -> ShiftBetween:
        """From the squares of both ends."""
        return cls(least=_below(root_below(least)), most=_above(root_below(most) * (1 + _UP)))

    def known_mu(self) -> Fraction:
        """The upper end."""
        return Fraction(self.most)

    def least_mu(self) -> Fraction:
        """The lower end."""
        return Fraction(self.least)


def _below(exact: Fraction) -> float:
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)


def _above(exact: Fraction) -> float:
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)
