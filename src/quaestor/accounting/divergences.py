"""Compositions as other accountants state them: Renyi divergences, best rho, best mu."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting.numerics.balls import at_least
from quaestor.accounting.numerics.bounds import Bounds
from quaestor.accounting.releases import counts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quaestor.accounting.curves.profile import Profile
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases import Release

__all__ = ["concentrated_bounds", "gaussian_bounds", "renyi_bounds"]

_ORDERS = (1.0001, 1.01, 1.25, 2.0, 4.0, 16.0, 64.0)
_EPSILONS = (0.0, 0.01, 0.1, 0.3, 1.0, 3.0)
_DOWN = 1 - 1e-12


def renyi_bounds(releases: Iterable[Release], *, order: float) -> Bounds:
    """Enclose the Renyi divergence of this order, in the worse direction."""
    power = order - 1.0
    counts = counts_of(releases)
    if any(law.infinite.lower > 0.0 for release in counts for law in release.losses()):
        return Bounds.exactly(math.inf)
    upper, lowers = Fraction(0), [0.0, 0.0]
    unknown = False
    for release, count in counts.items():
        cost = None if release.pure_loss().delta else release.log_moment(power)
        unknown = unknown or cost is None
        upper += count * (cost or 0)
        laws = release.least_losses()
        for way in (0, 1):
            lowers[way] += count * max(_least_log_moment(laws[min(way, len(laws) - 1)], power), 0.0)
    lower = max(lowers) / power * _DOWN
    most = at_least(upper / Fraction(power))
    if unknown or most is None:
        return Bounds(lower=lower, upper=math.inf)
    return Bounds(lower=min(lower, float(most)), upper=float(most))


def _least_log_moment(law: Law, power: float) -> float:
    """At least its log-moment; 0 where only upper bounds are known, or floats end."""
    import numpy as np

    if law.known_by_moments_only and not law.gaussian_variance:
        return 0.0
    try:
        with np.errstate(all="ignore"):
            value, error = law.log_moment(np.array([complex(power)]))
    except (ArithmeticError, ValueError):
        return 0.0
    least = float(value.real[0]) - float(error[0])
    least += math.log1p(-law.infinite.upper) if law.infinite.upper < 1.0 else 0.0
    return least if math.isfinite(least) else 0.0


def concentrated_bounds(releases: Iterable[Release]) -> Bounds:
    """Enclose the least rho with which the releases together are rho-zCDP."""
    counts = counts_of(releases)
    counted = [release * count for release, count in counts.items()]
    lower = max(renyi_bounds(counted, order=order).lower / order * _DOWN for order in _ORDERS)
    total = Fraction(0)
    for release, count in counts.items():
        rho = None if release.pure_loss().delta else release.concentrated_rho()
        if rho is None:
            return Bounds(lower=lower, upper=math.inf)
        total += count * rho
    upper = at_least(total)
    most = math.inf if upper is None else float(upper)
    return Bounds(lower=min(lower, most), upper=most)


def gaussian_bounds(releases: Iterable[Release], profile: Profile) -> Bounds:
    """Enclose the least mu with which the releases together are mu-Gaussian-DP."""
    counts = counts_of(releases)
    lower = max(_mu_at_least(profile, epsilon) for epsilon in _EPSILONS)
    total = Fraction(0)
    for release, count in counts.items():
        square = None if release.pure_loss().delta else release.squared_mu()
        if square is None:
            return Bounds(lower=lower, upper=math.inf)
        total += count * square
    if total == 0:
        return Bounds.exactly(0.0)
    upper = at_least(total)
    most = math.inf if upper is None else math.nextafter(math.sqrt(float(upper)), math.inf)
    return Bounds(lower=min(lower, most), upper=most)


def _mu_at_least(profile: Profile, epsilon: float) -> float:
    """The largest mu whose Gaussian certainly has less delta there than the profile has."""
    from quaestor.accounting.releases.opinion import gaussian_curve

    delta = profile.delta_bounds(epsilon=epsilon).lower
    if not delta > 0.0:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_curve(high, epsilon)[1] < delta and high < 1e6:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_curve(middle, epsilon)[1] < delta else (low, middle)
    return low
