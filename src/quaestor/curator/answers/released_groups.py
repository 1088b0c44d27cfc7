"""The groups that an answer shows, with what was released of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.curator.aggregates.recipe import Estimates, Noised, Recipe
    from quaestor.curator.aggregates.whole_error import Ends, Missing
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.expressions import Value

__all__ = ["ReleasedGroups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedGroups:
    """The groups that are shown, and the released measures of each."""

    groups: Sequence[tuple[Value, ...]]
    noised: Mapping[Measure, Noised]
    recipes: tuple[Recipe, ...]
    confidence: float
    missing: tuple[tuple[Missing, ...] | None, ...] = ()
    """Of each aggregate, what it lacks under outer limits, if that was asked."""

    def whole(self, place: int) -> Ends | None:
        """The interval of an aggregate that covers what limits cut too."""
        lack = self.missing[place] if self.missing else None
        if lack is None:
            return None
        recipe, confidence = self.recipes[place], self.confidence
        return recipe.whole_interval(self.noised, lack, confidence=confidence)

    def estimates(self) -> list[Estimates]:
        """Every aggregate of every group."""
        return [r.estimates(self.noised, confidence=self.confidence) for r in self.recipes]
