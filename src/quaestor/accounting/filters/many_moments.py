"""Log-moments of many releases at one order: the values of ``log_moment_of``, many at a time.

An odometer adds up thousands of different releases at several orders. Nothing here is another
bound: what is computed together comes out as it does alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from quaestor.accounting.filters.concentrated import rho_of
from quaestor.accounting.filters.moments import by_epsilon, log_moment_of
from quaestor.accounting.filters.pure import CACHED, pure_loss
from quaestor.accounting.filters.rounding import ratio_at_least
from quaestor.accounting.loss.finite import FiniteLoss, log_moments_at
from quaestor.accounting.loss.laplace import LaplaceLosses
from quaestor.accounting.releases import (
    DiscreteGaussian,
    Gaussian,
    GaussianDP,
    Geometric,
    Laplace,
    ZeroConcentratedDP,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.loss.complexes import Floats
    from quaestor.accounting.releases import Release

__all__ = ["log_moments_of"]

_CHUNK = 1 << 14  # releases treated at once, to bound memory
_DOUBT_BITS = 50  # log_moment_of adds one part in 2**50 to what floats have computed
_DOUBT = (1 << _DOUBT_BITS) + 1
_MARGIN = 1e-12  # far more than what floats do to a quick estimate


def log_moments_of(releases: Sequence[Release], order: float) -> list[Fraction | None]:
    """The log-moment of each release: see :func:`.moments.log_moment_of`."""
    found: list[Fraction | None] = [None] * len(releases)
    laplace: list[int] = []
    geometric: list[int] = []
    factor = Fraction(order) * (Fraction(order) + 1)
    for place, release in enumerate(releases):
        match release:
            case Gaussian() | GaussianDP() | ZeroConcentratedDP() | DiscreteGaussian():
                cost = _by_rho(release, factor)
                found[place] = None if cost is None else Fraction(cost)
            case Laplace():
                laplace.append(place)
            case Geometric():
                geometric.append(place)
            case _:
                found[place] = log_moment_of(release, order)
    for places, moments in ((laplace, _of_laplace), (geometric, _of_geometric)):
        for start in range(0, len(places), _CHUNK):
            some = places[start : start + _CHUNK]
            listed = [releases[place] for place in some]
            with np.errstate(all="ignore"):
                values, errors = moments(listed, order)
            costs = _least(listed, order, factor, _rounded(values, errors))
            for place, least in zip(some, costs, strict=True):
                found[place] = least
    return found


def _of_laplace(releases: Sequence[Release], order: float) -> tuple[Floats, Floats]:
    sizes = np.array([release.losses()[0].largest for release in releases])
    laws = LaplaceLosses(sizes, np.ones(sizes.shape))
    values, errors = laws.log_moments(np.array([complex(order)]))
    return values.real[0], errors[0]


def _of_geometric(releases: Sequence[Release], order: float) -> tuple[Floats, Floats]:
    return log_moments_at([_finite(release) for release in releases], order)


@lru_cache(maxsize=CACHED)
def _finite(release: Release) -> FiniteLoss:
    (law,) = release.losses()
    assert isinstance(law, FiniteLoss)  # noqa: S101  # of geometric noise
    return law


def _rounded(values: Floats, errors: Floats) -> list[float | None]:
    """The sum of both and a little more, rounded up; None where floats have not got it."""
    rounded: list[float | None] = []
    for nats, doubt in zip(values.tolist(), errors.tolist(), strict=True):
        if not (math.isfinite(nats) and math.isfinite(doubt)):
            rounded.append(None)
            continue
        above, below = nats.as_integer_ratio()
        more, parts = doubt.as_integer_ratio()
        total = (above * parts + more * below) * _DOUBT
        rounded.append(ratio_at_least(max(total, 0), (below * parts) << _DOUBT_BITS))
    return rounded


def _least(
    releases: Sequence[Release], order: float, factor: Fraction, laws: Sequence[float | None]
) -> list[Fraction | None]:
    """The least of what the law, the epsilon and the rho say of each.

    The epsilon is asked exactly only where a quick estimate cannot tell that it says more.
    """
    losses = np.array([float(pure_loss(release).epsilon or 0) for release in releases])
    with np.errstate(all="ignore"):
        steady = order * losses - np.log1p(np.exp(-losses))
        responses = steady + np.log1p(np.exp(-losses - 2 * order * losses))
        least = responses - _MARGIN * (1 + order * losses)
    costs: list[Fraction | None] = []
    for release, law, response in zip(releases, laws, least.tolist(), strict=True):
        by_rho = _by_rho(release, factor)
        known = [Fraction(cost) for cost in (law, by_rho) if cost is not None]
        if law is None or not law < response:
            exact = by_epsilon(release, order)
            known += [] if exact is None else [exact]
        costs.append(min(known, default=None))
    return costs


def _by_rho(release: Release, factor: Fraction) -> float | None:
    """What the release's rho says."""
    rho = rho_of(release)
    if rho is None:
        return None
    above, below = factor.numerator * rho.numerator, factor.denominator * rho.denominator
    return ratio_at_least(above, below)
