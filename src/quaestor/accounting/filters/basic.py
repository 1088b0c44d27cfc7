"""The basic filter: epsilons and deltas add up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from quaestor.accounting.filters.base import Filter
from quaestor.accounting.filters.meter import Meter
from quaestor.accounting.releases import ApproxDP, PureDP

if TYPE_CHECKING:
    from quaestor.accounting.releases import Release

__all__ = ["DeltaMeter", "EpsilonMeter", "basic_filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonMeter(Meter):
    """Adds epsilons up."""

    name: ClassVar[str] = "epsilon"
    limit: Fraction

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The release's epsilon, exactly."""
        match release:
            case PureDP() | ApproxDP():
                return Fraction(release.epsilon)
            case _:
                return None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaMeter(Meter):
    """Adds deltas up."""

    name: ClassVar[str] = "delta"
    limit: Fraction

    def cost_of_one(self, release: Release) -> Fraction | None:
        """The release's delta, exactly."""
        match release:
            case PureDP():
                return Fraction(0)
            case ApproxDP():
                return Fraction(release.delta)
            case _:
                return None


def basic_filter(*, epsilon: float, delta: float) -> Filter:
    """Epsilons and deltas add up, whatever is chosen and when.

    >>> basic_filter(epsilon=1.0, delta=1e-6).kind
    'basic'
    """
    return Filter(
        kind="basic",
        epsilon=epsilon,
        delta=delta,
        every=(EpsilonMeter(limit=Fraction(epsilon)), DeltaMeter(limit=Fraction(delta))),
    )
