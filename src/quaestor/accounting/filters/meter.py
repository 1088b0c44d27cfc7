"""A meter: a resource that releases use up, added up exactly, with a limit fixed in advance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quaestor.accounting.releases import Release

__all__ = ["Meter"]


class Meter(ABC):
    """Something that every release uses some of.

    Costs are exact fractions that are never below the true cost, and the limit is never above the
    true limit; sums of costs are exact, so that nothing drifts however long the history is.
    """

    __slots__ = ()

    name: ClassVar[str]
    """What it is called in tables and refusals, such as ``epsilon`` or ``rho``."""

    limit: Fraction
    """How much there is in all."""

    @property
    def key(self) -> str:
        """What tells this meter's totals from those of others; the limit has no part in it."""
        return self.name

    @property
    def words(self) -> str:
        """What it counts, as half a sentence."""
        return self.name

    @abstractmethod
    def cost_of_one(self, release: Release) -> Fraction | None:
        """What one release (never a repeated one) uses; None if no amount would do."""

    def costs_of(self, releases: Sequence[Release]) -> list[Fraction | None]:
        """What each of many releases (never repeated ones) uses: the same, and sometimes sooner."""
        return [self.cost_of_one(release) for release in releases]

    def cost(self, releases: Iterable[Release]) -> Fraction | None:
        """What these releases use together; None if no amount would do."""
        total = Fraction(0)
        for release in releases:
            single, count = release.counted()
            one = self.cost_of_one(single)
            if one is None:
                return None
            total += one * count
        return total
