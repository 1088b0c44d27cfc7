"""One run of several releases together, as a single law that is never below what they lose."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from quaestor.accounting.releases.base import LARGEST_EPSILON, Release, counts_of
from quaestor.accounting.releases.release_sum import each_release

if TYPE_CHECKING:
    from quaestor.accounting.loss.engine.loss_profile import LossProfile
    from quaestor.accounting.loss.laws.finite import FiniteLoss
    from quaestor.accounting.releases.release_sum import ReleaseSum

__all__ = ["directions", "law_of_run", "places", "singles", "worst"]

_POINTS = 256
_QUICK_SHARE = 1e-16  # of the delta at 0: below it the moment bound is enough
_LEAST_SHARE = 1e-30  # of the delta at 0: where the curve is cut, and the rest is told


def singles(run: Release | ReleaseSum) -> tuple[tuple[Release, int], ...]:
    """The single releases of a run, each with its count."""
    return tuple(counts_of(each_release((run,))).items())


@lru_cache(maxsize=256)
def law_of_run(run: Release | ReleaseSum) -> FiniteLoss:
    """The worst law, the same in both directions, with some points of the run's profile.

    Its curve is never below that of the run, and touches it at the points.
    """
    from quaestor.accounting.loss.laws.detection_curve import detection_loss

    profiles = [profile.shared() for profile in directions(run)]
    epsilons = places(profiles)
    least = worst(profiles, 0.0, 0.0) * _QUICK_SHARE
    return detection_loss(epsilons, [worst(profiles, at, least) for at in epsilons])


def worst(profiles: list[LossProfile], epsilon: float, least: float) -> float:
    """The larger delta; of a lesser one, or of less than ``least``, a quick bound is enough."""
    worst = least
    for each in profiles:
        worst = max(worst, each.delta_or_less(epsilon=epsilon, least=worst).upper)
    return worst if worst > least else max(_quick(each, epsilon) for each in profiles)


def _quick(profile: LossProfile, epsilon: float) -> float:
    """The moment bound; beyond the largest loss only what is told."""
    if not profile.product.terms or epsilon >= profile.product.largest():
        return profile.delta_bounds(epsilon=epsilon).upper
    return profile.at_most(epsilon=epsilon)


def directions(run: Release | ReleaseSum) -> list[LossProfile]:
    """The profile of a run: one, or one for removing and one for adding a person."""
    from quaestor.accounting.loss.engine.loss_profile import LossProfile

    laws = [(single.losses(), count) for single, count in singles(run)]
    ways = max(len(each) for each, _ in laws)
    return [
        LossProfile([(each[min(way, len(each) - 1)], count) for each, count in laws])
        for way in range(ways)
    ]


def places(profiles: list[LossProfile]) -> list[float]:
    """Evenly apart up to where next to nothing is left, and the largest loss."""
    largest = max(each.product.largest() if each.product.terms else 0.0 for each in profiles)
    reach = 0.0
    for each in profiles:
        told = each.delta_bounds(epsilon=math.inf).upper
        least = told + each.delta_bounds(epsilon=0.0).upper * _LEAST_SHARE
        if 0.0 < least < 1.0:
            reach = max(reach, each.product.typical_epsilon(least - told))
    reach = min(reach, largest, LARGEST_EPSILON)
    places = {reach * i / _POINTS for i in range(_POINTS + 1)}
    return sorted({*places, *([largest] if largest <= LARGEST_EPSILON else [])})
