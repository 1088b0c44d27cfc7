"""Log-moments of many releases at one order: the values of ``log_moment_of``, many at a time.

An odometer adds up thousands of different releases at several orders. Nothing here is another
bound: what is computed quickly comes out as it does alone.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting.filters.concentrated import rho_of
from quaestor.accounting.filters.moments import log_moment_of
from quaestor.accounting.numerics.safe_fractions import ratio_at_least
from quaestor.accounting.releases import (
    DiscreteGaussian,
    Gaussian,
    GaussianDP,
    ZeroConcentratedDP,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.releases import Release

__all__ = ["log_moments_of"]


def log_moments_of(releases: Sequence[Release], order: float) -> list[Fraction | None]:
    """The log-moment of each release: see :func:`.moments.log_moment_of`."""
    factor = Fraction(order) * (Fraction(order) + 1)
    found: list[Fraction | None] = []
    for release in releases:
        match release:
            case Gaussian() | GaussianDP() | ZeroConcentratedDP() | DiscreteGaussian():
                cost = _by_rho(release, factor)
                found.append(None if cost is None else Fraction(cost))
            case _:
                found.append(log_moment_of(release, order))
    return found


def _by_rho(release: Release, factor: Fraction) -> float | None:
    """What the release's rho says."""
    rho = rho_of(release)
    if rho is None:
        return None
    above, below = factor.numerator * rho.numerator, factor.denominator * rho.denominator
    return ratio_at_least(above, below)
