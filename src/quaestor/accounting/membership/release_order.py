"""Which release, and which database, is certainly at least as revealing as which other.

``outdoes(a, b)`` is true only if b's pair is a post-processing of a's, by one channel that maps
"with the person" to "with" and "without" to "without". So it survives products, whatever else is
released, and holds for adding and removing alike. Where it is false, nothing is said.

Numbers are compared as the fractions that they exactly are.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from quaestor.accounting.releases import (
    ApproxDP,
    BoundedRange,
    ExponentialMechanism,
    Gaussian,
    GaussianDP,
    Geometric,
    Laplace,
    PoissonSampled,
    PureDP,
    RandomizedResponse,
    Release,
    Staircase,
    ZeroConcentratedDP,
    counts_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Kind", "covers", "kind_of", "kind_outdoes", "outdoes", "ranked", "rough_size"]

T = TypeVar("T")
Kind = tuple[tuple[Release, int], ...]
"""What was released of one database: different releases, each with its count."""


def kind_of(releases: Iterable[Release]) -> Kind:
    """The releases of one database, equal ones counted together, in an order of their own."""
    return tuple(sorted(counts_of(releases).items(), key=lambda entry: str(entry[0])))


def _pure(release: Release) -> Fraction | None:
    """The epsilon of a release that is epsilon-DP; None if it is not, or not known."""
    match release:
        case PureDP() | Staircase() | RandomizedResponse():
            return Fraction(release.epsilon)
        case ApproxDP(delta=0.0):
            return Fraction(release.epsilon)
        case BoundedRange() | ExponentialMechanism():
            return Fraction(release.range_epsilon)
        case Laplace() | Geometric():
            return Fraction(release.sensitivity) / Fraction(release.scale)
    return None


def _mu(release: Release) -> Fraction | None:
    match release:
        case Gaussian():
            return Fraction(release.sensitivity) / Fraction(release.sigma)
        case GaussianDP():
            return Fraction(release.mu)
    return None


@lru_cache(maxsize=65536)
def outdoes(a: Release, b: Release) -> bool:
    """Whether a tells at least as much as b.

    Black boxes by their parameters (randomized response loses by lying more often), bounded range
    by its length: whatever has the shorter one has the longer one too. Larger noise of
    one kind is smaller noise and then more: Gaussians, and Laplace and geometric noise too, are
    self-decomposable. A smaller sample is a sample of the sample.

    >>> outdoes(ApproxDP(epsilon=1.0, delta=1e-6), PureDP(epsilon=0.5))
    True
    >>> outdoes(ApproxDP(epsilon=1.0, delta=0.0), ApproxDP(epsilon=0.5, delta=1e-6))
    False
    """
    if isinstance(a, PureDP | ApproxDP) and isinstance(b, PureDP | ApproxDP):
        deltas = getattr(a, "delta", 0.0), getattr(b, "delta", 0.0)
        return a.epsilon >= b.epsilon and deltas[0] >= deltas[1]
    if a == b or _pure(b) == 0:
        return True
    mu_a, mu_b = _mu(a), _mu(b)
    if mu_a is not None and mu_b is not None:
        return mu_a >= mu_b
    return _same_sort_outdoes(a, b)


def _same_sort_outdoes(a: Release, b: Release) -> bool:
    match a, b:
        case ((PureDP() | ApproxDP()), _):
            pure = _pure(b)
            more = pure is not None and a.epsilon >= pure
        case (BoundedRange() | ExponentialMechanism(), BoundedRange() | ExponentialMechanism()):
            more = a.range_epsilon >= b.range_epsilon
        case (Laplace(), Laplace()):
            more = (_pure(a) or 0) >= (_pure(b) or 0)
        case (Geometric(), Geometric()):
            more = a.sensitivity == b.sensitivity and a.scale <= b.scale
        case (RandomizedResponse(), RandomizedResponse()):
            more = a.categories == b.categories and a.epsilon >= b.epsilon
        case (ZeroConcentratedDP(), ZeroConcentratedDP()):
            more = a.rho >= b.rho
        case (PoissonSampled(), PoissonSampled()):
            more = a.rate >= b.rate and outdoes(a.release, b.release)
        case _:
            more = False
    return more


def _merged_gaussians(kind: Kind) -> tuple[Fraction, list[tuple[Release, int]]]:
    """All Gaussians of a database are one: the sum of their mu squared, and what is left."""
    square, rest = Fraction(0), []
    for release, count in kind:
        mu = _mu(release)
        if mu is None:
            rest.append((release, count))
        else:
            square += mu * mu * count
    return square, rest


@lru_cache(maxsize=65536)
def kind_outdoes(a: Kind, b: Kind) -> bool:
    """Whether each release of b has one of a to itself that tells at least as much."""
    if len(a) == len(b) == 1 and a[0][1] >= b[0][1] and outdoes(a[0][0], b[0][0]):
        return True
    (square_a, rest_a), (square_b, rest_b) = _merged_gaussians(a), _merged_gaussians(b)
    return square_a >= square_b and covers(rest_a, rest_b, outdoes)


def covers(
    have: Sequence[tuple[T, int]],
    need: Sequence[tuple[T, int]],
    better: Callable[[T, T], bool],
) -> bool:
    """Give every needed thing one that is better and not yet given; false if that got stuck.

    What both have goes to itself (exchanging shows that nothing is lost by that); then each takes
    the least of those that would do, as far as that is known.
    """
    left = dict(have)
    if sum(left.values()) < sum(count for _, count in need):
        return False
    wanting: list[tuple[T, int]] = []
    for thing, count in need:
        same = min(left.get(thing, 0), count)
        if same:
            left[thing] -= same
        if count > same:
            wanting.append((thing, count - same))
    for thing, count in wanting:
        able = [other for other, spare in left.items() if spare and better(other, thing)]
        able.sort(key=lambda one: sum(better(one, other) for other in left))
        for other in able:
            taken = min(left[other], count)
            left[other] -= taken
            count -= taken  # noqa: PLW2901  # what is still needed
        if count:
            return False
    return True


def ranked(kinds: Sequence[Kind]) -> list[int] | None:
    """The places of the kinds from most to least revealing; None if some pair is incomparable.

    They are sorted by a number that never falls where one kind outdoes another; then it is enough
    to compare neighbours, for ``kind_outdoes`` carries over from one to the next.
    """
    order = sorted(range(len(kinds)), key=lambda i: _size(kinds[i]), reverse=True)
    neighbours = pairwise(kinds[i] for i in order)
    return order if all(kind_outdoes(a, b) for a, b in neighbours) else None


def _size(kind: Kind) -> tuple[float, bool]:
    boxed = any(isinstance(release, PureDP | ApproxDP) for release, _ in kind)
    return math.fsum(rough_size(release) * count for release, count in kind), boxed


def rough_size(release: Release) -> float:
    """A number that is never less for a release that outdoes another."""
    if isinstance(release, PureDP | ApproxDP):
        return release.epsilon + getattr(release, "delta", 0.0)
    pure, mu = _pure(release), _mu(release)
    if pure is not None:
        return float(pure)
    if mu is not None:
        return float(mu * mu)
    match release:
        case ZeroConcentratedDP():
            return release.rho
        case PoissonSampled():
            return release.rate * rough_size(release.release)
    return 0.0
