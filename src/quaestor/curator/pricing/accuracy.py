"""A wanted accuracy, and the least budget that reaches it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.curator.aggregates.recipe import Scatter
from quaestor.curator.language.expressions import Aggregated
from quaestor.curator.pricing.budget_shares import Noise, least_real, roots
from quaestor.errors import InvalidParameter, TargetOutOfReach

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quaestor.curator.aggregates.recipe import Recipe
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.offers import Measuring
    from quaestor.curator.pricing.priced_parts import Part

__all__ = ["Accuracy", "budgets_for"]

_ABOUT = (
    "the name of an output that is a count or a sum, because the error of others "
    "depends on the data"
)
_LEAST, _MOST = 1e-9, 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Within so much of the truth, with this probability, in each group.

    ``of`` names the output that is meant; None means every output that is a count or a sum. Without
    a ``noise`` it is that which takes less of the account.

    >>> Accuracy(within=50.0).confidence
    0.95
    """

    within: float
    confidence: float = 0.95
    of: str | None = None
    noise: Noise | None = None

    def __post_init__(self) -> None:
        """Check the range of every parameter."""
        if not (math.isfinite(self.within) and self.within > 0):
            raise InvalidParameter("within", self.within, "a positive number")
        if not 0.0 < self.confidence < 1.0:
            raise InvalidParameter("confidence", self.confidence, "a number between 0 and 1")
        if self.noise not in {None, "geometric", "gaussian"}:
            raise InvalidParameter("noise", self.noise, "geometric or gaussian")

    @property
    def drawn(self) -> Noise:
        """The noise, geometric where nobody chose it."""
        return self.noise or "geometric"


def budgets_for(
    query: Query, measuring: Measuring, parts: Sequence[Part], accuracy: Accuracy
) -> list[Fraction]:
    """The least budget of each part with which the outputs that are meant are accurate enough.

    The parts that these outputs do not use get what they would have beside them in an optimal
    division of a budget.
    """
    proportions = roots([part.weight for part in parts], noise=accuracy.drawn)
    needed: dict[Measure, float] = {}
    levels = []
    for recipe in _meant(query, measuring, accuracy.of):
        used = {
            part.measure: (part, proportion)
            for part, proportion in zip(parts, proportions, strict=True)
            if part.figure and part.measure in recipe.measures
        }
        level = _least_level(recipe, used, accuracy)
        levels.append(level)
        for measure, (_, proportion) in used.items():
            needed[measure] = max(needed.get(measure, 0.0), level * proportion)
    return [
        Fraction(
            needed[part.measure]
            if part.figure and part.measure in needed
            else max(levels) * proportion
        )
        for part, proportion in zip(parts, proportions, strict=True)
    ]


def _least_level(
    recipe: Recipe, used: Mapping[Measure, tuple[Part, float]], accuracy: Accuracy
) -> float:
    """What each part's proportion is to be multiplied by."""

    def enough(level: float) -> bool:
        try:
            scatters = {
                measure: Scatter(part.draw(Fraction(level * proportion)))
                for measure, (part, proportion) in used.items()
            }
        except TargetOutOfReach:  # so little that no mechanism draws such noise
            return False
        return recipe.reach(scatters, confidence=accuracy.confidence) <= accuracy.within

    largest = max(proportion for _, proportion in used.values())
    level = least_real(enough, low=_LEAST / largest, high=_MOST / largest)
    if level is None:
        raise TargetOutOfReach(
            f"no amount of noise keeps this query within {accuracy.within:g}: ask for less accuracy"
        )
    return level


def _meant(query: Query, measuring: Measuring, name: str | None) -> list[Recipe]:
    found = []
    for output in query.outputs:
        if name is not None and output.name != name:
            continue
        if not isinstance(output.expression, Aggregated):
            continue
        recipe = measuring.recipes[output.expression.place]
        if recipe.error_known:
            found.append(recipe)
    if not found:
        raise InvalidParameter("accuracy", name, _ABOUT)
    return found
