"""What is claimed of a target: one point (epsilon, delta), or the whole curve of a release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from quaestor.accounting.compose import Composition, compose
from quaestor.accounting.releases import (
    ApproxDP,
    PrivacyProfile,
    PureDP,
    Release,
    ReleaseSum,
)
from quaestor.accounting.releases.base import LARGEST_EPSILON, check_count, check_real
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.base import Mechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Claim", "claim_about", "claim_of_tradeoff"]

_DELTAS = (0.0, 1e-6, 1e-4, 1e-2, 0.1)


@dataclass(frozen=True, slots=True)
class Claim:
    """Points (epsilon, delta) that must all be true, and the accountant's word for them.

    >>> Claim.of(epsilon=1.0, delta=0.0).points
    ((1.0, 0.0),)
    """

    points: tuple[tuple[float, float], ...]
    composition: Composition

    @classmethod
    def of(
        cls,
        promise: Release | ReleaseSum | Composition | Claim | None = None,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
    ) -> Self:
        """One point, or several of the curve of a release or a composition.

        With a release and a ``delta``, the accountant's epsilon there is the only point.
        """
        if isinstance(promise, cls):
            return promise
        if isinstance(promise, PureDP | ApproxDP) and delta is None and epsilon is None:
            epsilon, delta, promise = promise.epsilon, getattr(promise, "delta", 0.0), None
        if isinstance(promise, Release | ReleaseSum):
            promise = compose(promise)
        if isinstance(promise, Composition) and epsilon is None:
            return cls(_points(promise, delta), promise)
        if promise is not None or epsilon is None:
            raise InvalidParameter("claim", promise, "a release, a composition, or an epsilon")
        largest = check_real("epsilon", epsilon, low=0.0, high=LARGEST_EPSILON)
        at = check_real("delta", 0.0 if delta is None else delta, low=0.0, high=1.0)
        return cls(((largest, at),), compose(ApproxDP(epsilon=largest, delta=at)))


def claim_of_tradeoff(corners: Sequence[tuple[float, float]]) -> Claim:
    r"""The claim that no test lies below a curve of straight pieces.

    ``corners`` are pairs (false positives, false negatives). The lower convex hull of the curve,
    together with (0, 1) and (1, 0) where it does not reach them, is claimed for both orders of the
    two databases: each straight piece :math:`\beta = c - s\alpha` is a point (ln s, 1 - c) if s is
    at least 1, and :math:`(-\ln s, 1 - c/s)` of the two worlds exchanged otherwise. A curve that
    is not straight between its corners promises less than this: give it corners on its tangents.

    >>> claim_of_tradeoff([(0.0, 1.0), (0.25, 0.25), (1.0, 0.0)]).points
    ((1.0986122886681098, 0.0),)
    """
    hull = _lower_hull(corners)
    points: dict[float, float] = {}
    for (a, b), (c, d) in pairwise(hull):
        slope = (b - d) / (c - a)
        if slope <= 0:
            continue
        height = b + slope * a
        delta = 1 - height if slope >= 1 else 1 - height / slope
        epsilon = abs(math.log(slope))
        points[epsilon] = min(max(delta, 0.0), points.get(epsilon, 1.0))
    kept = tuple((epsilon, delta) for epsilon, delta in sorted(points.items()) if delta < 1.0)
    if not kept:
        raise InvalidParameter("tradeoff", len(corners), "a curve that forbids something")
    told = PrivacyProfile(epsilons=tuple(e for e, _ in kept), deltas=tuple(d for _, d in kept))
    return Claim(kept, compose(told))


def _lower_hull(corners: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    given = [
        (
            check_real("false_positive", alarm, low=0.0, high=1.0),
            check_real("false_negative", missed, low=0.0, high=1.0),
        )
        for alarm, missed in corners
    ]
    hull: list[tuple[float, float]] = []
    for point in sorted({*given, (0.0, 1.0), (1.0, 0.0)}):
        if hull and hull[-1][0] == point[0]:
            continue  # the lower one came first
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _turns_up(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    """Whether the middle point lies on or above the line through the others."""
    across, up = last[0] - first[0], last[1] - first[1]
    return (middle[1] - first[1]) * across >= up * (middle[0] - first[0])


def claim_about(
    target: Any, claim: Release | ReleaseSum | Composition | Claim | None, rounds: int
) -> Claim:
    """The claim that is given, or that of a mechanism of ours, about all rounds."""
    if claim is None and isinstance(target, Mechanism):
        claim = target.loss * check_count("rounds", rounds)
    return Claim.of(claim)


def _points(promise: Composition, delta: float | None) -> tuple[tuple[float, float], ...]:
    asked = _DELTAS if delta is None else (check_real("delta", delta, low=0.0, high=1.0),)
    points = [(promise.epsilon(delta=at), at) for at in asked]
    if delta is None:
        points.append((0.0, promise.delta(epsilon=0.0)))
    finite = tuple(point for point in points if math.isfinite(point[0]) and point[1] < 1.0)
    if not finite:
        raise InvalidParameter("claim", delta, "a delta at which some epsilon is finite")
    return finite
