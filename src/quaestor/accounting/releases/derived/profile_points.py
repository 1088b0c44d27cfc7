"""A release that is known by points of its privacy profile, and a group of people who change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.releases.base import (
    LARGEST_EPSILON,
    Release,
    check_count,
    remembered,
)
from quaestor.accounting.releases.derived.gaussian_mixture import numbers
from quaestor.accounting.releases.opinion import MARGIN, Opinion, without_ceiling
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from quaestor.accounting.loss.laws.law import Law
    from quaestor.accounting.releases.loss_ends import LossEnd
    from quaestor.accounting.releases.opinion import Curve

__all__ = ["GroupPrivacy", "PrivacyProfile"]

_MOST_POINTS = 5000
_LARGEST_GROUP = 1000
_DELTAS = tuple(10.0**-tenth for tenth in range(14))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyProfile(Release):
    r"""Any release that is (``epsilons[i]``, ``deltas[i]``)-DP for every i.

    Guarantee:
        All of these at once, and what follows from them: the worst such release has the trade-off
        :math:`\max_i f_{\varepsilon_i,\delta_i}` [Kairouz, Oh, Viswanath, Theorem 2.1 for each i],
        a curve of straight pieces, which one pair of worlds has exactly.

    >>> from quaestor.accounting.compose import compose
    >>> points = PrivacyProfile(epsilons=(0.5, 1.0), deltas=(1e-2, 1e-4))
    >>> round(compose(points).delta(epsilon=1.0), 12)
    0.0001
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]

    losses_are_listed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        epsilons = numbers("epsilons", self.epsilons, low=0.0, high=LARGEST_EPSILON)
        deltas = numbers("deltas", self.deltas, low=0.0, high=1.0)
        if len(epsilons) != len(deltas):
            raise InvalidParameter("deltas", len(deltas), f"as long as epsilons: {len(epsilons)}")
        if len(epsilons) > _MOST_POINTS:
            raise InvalidParameter("epsilons", len(epsilons), f"at most {_MOST_POINTS} points")
        object.__setattr__(self, "epsilons", epsilons)
        object.__setattr__(self, "deltas", deltas)

    def losses(self) -> tuple[Law, ...]:
        """One loss, the same in both directions."""
        from quaestor.accounting.loss.laws.detection_curve import detection_loss

        return (detection_loss(self.epsilons, self.deltas),)

    def with_record_replaced(self) -> Release:
        """Two changes."""
        return GroupPrivacy(release=self, size=2)

    # From the parameters alone.

    @remembered
    def opinion(self) -> Opinion:
        """From above: each point alone, as a black box."""
        points = tuple(zip(self.epsilons, self.deltas, strict=True))

        def curve(at: float) -> Curve:
            best = 1.0
            for epsilon, delta in points:
                rest = -math.expm1(at - epsilon) / (1 + math.exp(-epsilon)) if at < epsilon else 0.0
                best = min(best, delta + (1 - delta) * rest)
            return 0.0, min(best * (1 + MARGIN) + 5e-324, 1.0)

        tells = min(self.deltas) > 0.0
        return Opinion(curve, None, math.inf, tells=tells)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPrivacy(Release):
    r"""A release, for ``size`` people who come, go or change together.

    Guarantee:
        If one change is no easier to see than the curve R of detections, ``size`` of them are no
        easier than R applied ``size`` times [Dong, Roth, Su 2022, Theorem 2.14]. Noise whose shift
        grows with the group is counted so, exactly (``release.with_group``); of everything else R
        is known at some points of its profile, and taken as the largest curve through these.

    >>> from quaestor.accounting.compose import compose
    >>> from quaestor.accounting.releases import Laplace
    >>> compose(GroupPrivacy(release=Laplace(scale=4.0), size=3)).epsilon(delta=0.0)
    0.75
    """

    release: Release
    size: int

    bracketed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        if not isinstance(self.release, Release) or self.release.counted()[1] > 1:
            raise InvalidParameter("release", self.release, "a single release, without a count")
        size = check_count("size", self.size, largest=_LARGEST_GROUP)
        object.__setattr__(self, "size", size)

    @property
    def neighbours(self) -> str | None:  # type: ignore[override]  # a fact of the kind elsewhere
        """The release's."""
        return self.release.neighbours

    @property
    def counts_people(self) -> bool:  # type: ignore[override]  # a fact of the kind elsewhere
        """The release's."""
        return self.release.counts_people

    def losses(self) -> tuple[Law, ...]:
        """More than is lost: what the points of the profile allow."""
        exact = self.release.with_group(self.size)
        if exact is not None:
            return exact.losses()
        from quaestor.accounting.loss.laws.detection_curve import detection_loss

        return (detection_loss(*_points(self.release), changes=self.size),)

    def least_losses(self) -> tuple[Law, ...]:
        """Less than is lost: one change alone, where more is not known."""
        exact = self.release.with_group(self.size)
        return (self.release if exact is None else exact).least_losses()

    # From the parameters alone.

    def loss_ends(self) -> tuple[LossEnd, ...] | None:
        """Those of the noise."""
        exact = self.release.with_group(self.size)
        return None if exact is None else exact.loss_ends()

    @remembered
    def opinion(self) -> Opinion | None:
        """That of the noise; of others one change, from below."""
        exact = self.release.with_group(self.size)
        if exact is not None:
            return exact.opinion()
        known = self.release.opinion()
        if known is None:
            return None
        return Opinion(without_ceiling(known.curve), None, math.inf, tells=known.tells)


@remembered
def _points(release: Release) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Epsilons and deltas that are true of a release, spread over its profile."""
    from quaestor.accounting.loss.engine.loss_profile import LossProfile

    profiles = [LossProfile([(law, 1)]) for law in release.losses()]
    wanted = {0.0}
    for delta in _DELTAS:
        wanted |= {profile.epsilon_bounds(delta=delta).upper for profile in profiles}
    largest = [law.largest for law in release.losses()]
    wanted |= {each for each in largest if math.isfinite(each)}
    ends = sorted(each for each in wanted if math.isfinite(each) and each <= LARGEST_EPSILON)
    epsilons = sorted({*ends, *((a + b) / 2 for a, b in pairwise(ends))})
    deltas = [max(p.delta_bounds(epsilon=at).upper for p in profiles) for at in epsilons]
    return tuple(epsilons), tuple(deltas)
