"""What every release is at worst: a bounded loss, and a probability of telling everything."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from quaestor.accounting.curve_end import end_of
from quaestor.accounting.numerics.safe_fractions import at_least
from quaestor.accounting.releases import (
    ApproxDP,
    BoundedRange,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    Laplace,
    PureDP,
    RandomizedResponse,
    Staircase,
    ZeroConcentratedDP,
)

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["CACHED", "Loss", "pure_loss"]

CACHED = 1 << 15  # different releases whose costs are remembered
_NONE = Fraction(0)
_DOUBT = Fraction(1) + Fraction(1, 2**40)  # more than what floats did to a law's largest loss


class Loss(NamedTuple):
    """The release is ``(epsilon, delta)``-DP; an epsilon of None says that there is no such bound.

    The delta is a probability that everything is told. Apart from it, the loss is finite: of
    moments and of Gaussian guarantees one may ask even where there is no epsilon.
    """

    epsilon: Fraction | None
    delta: Fraction


@lru_cache(maxsize=CACHED)
def pure_loss(release: Release) -> Loss:  # noqa: PLR0911  # a case for each kind
    """The largest finite loss and the probability of an infinite one, both rounded up.

    >>> from quaestor.accounting.releases import Laplace
    >>> pure_loss(Laplace(scale=4.0)).epsilon
    Fraction(1, 4)
    """
    nothing = Fraction(0)
    match release:
        case PureDP() | Staircase() | RandomizedResponse():
            return Loss(Fraction(release.epsilon), nothing)
        case ApproxDP():
            return Loss(Fraction(release.epsilon), Fraction(release.delta))
        case BoundedRange() | ExponentialMechanism():
            return Loss(Fraction(release.range_epsilon), nothing)
        case Laplace() | Geometric():
            return Loss(at_least(Fraction(release.sensitivity) / Fraction(release.scale)), nothing)
        case Gaussian() | DiscreteGaussian():
            return Loss(None, nothing)
        case GaussianDP():
            return Loss(None if release.mu else nothing, nothing)
        case ZeroConcentratedDP():
            return Loss(None if release.rho else nothing, nothing)
        case _:
            return _of_laws(release)


def _of_laws(release: Release) -> Loss:
    """From the release's parameters where its end is known, or else from its laws."""
    ends = end_of(release)
    if ends is not None:
        _ = release.losses()  # refuses what is not known when sampled
        told = max(end.told[1] for end in ends)
        bounds = [end.largest for end in ends]
        if any(largest is None for largest in bounds):
            return Loss(None, at_least(told) or _NONE)
        longest = max(largest[1] for largest in bounds if largest is not None)
        return Loss(at_least(max(longest, Fraction(0))), at_least(told) or _NONE)
    laws = release.losses()
    delta = max(Fraction(law.infinite.upper) for law in laws)
    largest = max(law.largest for law in laws)
    if not math.isfinite(largest):
        return Loss(None, delta)
    return Loss(at_least(max(Fraction(largest), Fraction(0)) * _DOUBT), delta)
