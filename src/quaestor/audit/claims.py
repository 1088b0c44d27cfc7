"""What is claimed of a target: one point (epsilon, delta), or the whole curve of a release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

from quaestor.accounting.compose import Composition, compose
from quaestor.accounting.releases import ApproxDP, PureDP, Release, ReleaseSum
from quaestor.accounting.releases.base import LARGEST_EPSILON, check_count, check_real
from quaestor.errors import InvalidParameter
from quaestor.mechanisms.base import Mechanism

__all__ = ["Claim", "claim_about"]

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
