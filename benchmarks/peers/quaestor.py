"""Quaestor itself. A composition remembers its answers, so every call makes a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import quaestor as q
from benchmarks.mechanisms import (
    BlackBox,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    SampledGaussian,
    SampledLaplace,
)
from benchmarks.peers import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.case import Group
    from benchmarks.mechanisms import Mechanism
    from benchmarks.peers import Peer

__all__ = ["PEER", "one_more", "within"]


class Quaestor:
    """Optimal composition, certified at both ends; as usual, or within a relative width."""

    def __init__(self, *, width: float | None = None) -> None:
        self._width = width

    def epsilon(self, groups: Sequence[Group], *, delta: float) -> Answer:
        """Both ends of the least epsilon."""
        return _answer(_composed(groups).epsilon_bounds(delta=delta, width=self._width))

    def delta(self, groups: Sequence[Group], *, epsilon: float) -> Answer:
        """Both ends of the least delta."""
        return _answer(_composed(groups).delta_bounds(epsilon=epsilon, width=self._width))


def within(width: float) -> Peer:
    """The same, asked for no more than a relative width."""
    return Quaestor(width=width)


def one_more(groups: Sequence[Group], *, delta: float) -> Callable[[], Answer]:
    """Compose and price the history now; the call prices a release that it has not yet seen."""
    history = _composed(groups)
    history.epsilon_bounds(delta=delta)
    asked = 0

    def price() -> Answer:
        nonlocal asked
        asked += 1
        release = q.Laplace(scale=30.0 + asked / 7)
        return _answer(history.then(release).epsilon_bounds(delta=delta))

    return price


def _answer(bounds: q.Bounds) -> Answer:
    return Answer(lower=bounds.lower, upper=bounds.upper)


def _composed(groups: Sequence[Group]) -> q.Composition:
    return q.compose(*(_release(each.mechanism) * each.count for each in groups))


def _release(mechanism: Mechanism) -> q.Release:  # noqa: PLR0911  # one for each kind
    match mechanism:
        case BlackBox(epsilon=epsilon, delta=delta):
            return q.ApproxDP(epsilon=epsilon, delta=delta)
        case Gaussian(sigma=sigma):
            return q.Gaussian(sigma=sigma)
        case Laplace(scale=scale):
            return q.Laplace(scale=scale)
        case Geometric(scale=scale):
            return q.Geometric(scale=scale)
        case DiscreteGaussian(sigma=sigma):
            return q.DiscreteGaussian(sigma=sigma)
        case SampledGaussian(sigma=sigma, rate=rate):
            return q.PoissonSampled(release=q.Gaussian(sigma=sigma), rate=rate)
        case SampledLaplace(scale=scale, rate=rate):
            return q.PoissonSampled(release=q.Laplace(scale=scale), rate=rate)
        case Exponential(epsilon=epsilon):
            return q.BoundedRange(epsilon=epsilon)


PEER: Peer = Quaestor()
