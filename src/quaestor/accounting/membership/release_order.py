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

from quaestor.accounting.releases import Release, counts_of
from quaestor.accounting.releases.black_box import BlackBox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Kind", "covers", "kind_of", "kind_outdoes", "outdoes", "ranked"]

T = TypeVar("T")
Kind = tuple[tuple[Release, int], ...]
"""What was released of one database: different releases, each with its count."""


def kind_of(releases: Iterable[Release]) -> Kind:
    """The releases of one database, equal ones counted together, in an order of their own."""
    return tuple(sorted(counts_of(releases).items(), key=lambda entry: str(entry[0])))


@lru_cache(maxsize=65536)
def outdoes(a: Release, b: Release) -> bool:
    """Whether a tells at least as much as b; see :meth:`.Release.outdoes`."""
    return a.outdoes(b)


def _merged_gaussians(kind: Kind) -> tuple[Fraction, list[tuple[Release, int]]]:
    """All Gaussians of a database are one: the sum of their mu squared, and what is left."""
    square, rest = Fraction(0), []
    for release, count in kind:
        mu = release.known_mu()
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
    boxed = any(isinstance(release, BlackBox) for release, _ in kind)
    return math.fsum(release.rough_size() * count for release, count in kind), boxed
