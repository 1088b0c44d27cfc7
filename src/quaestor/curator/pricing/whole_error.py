"""The share of a price that pays for the whole error, and what is drawn for it.

What limits cut of one unit can be many times what counts of it, so that its noise is wide whatever
is paid: a tenth of the price, and the figures themselves are a ninth less accurate for it. Where
nothing can be cut it costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.curator.pricing.budget_shares import measure_weight, shares
from quaestor.curator.pricing.priced_parts import Part, additive, spread_of

if TYPE_CHECKING:
    from quaestor.curator.kernel.draws import Draw
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.budget_shares import Noise
    from quaestor.curator.questions.outer_plan import OuterPlan

__all__ = ["WHOLE_SHARE", "WholeError", "whole_error_of"]

WHOLE_SHARE = Fraction(1, 10)
"""The share of a price that pays for the whole error, where something can be cut."""
_BEYOND_SHARE = Fraction(1, 10)
"""Of that share, what pays for the number of units beyond the outer limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeError:
    """What is drawn for the whole error of a question."""

    plan: OuterPlan
    parts: tuple[Part, ...]
    beyond: Part

    def draws(self, budget: Fraction, noise: Noise) -> tuple[Draw, ...]:
        """Everything, for a budget that is never exceeded."""
        cut = budget * (1 - _BEYOND_SHARE)
        divided = shares([part.weight for part in self.parts], noise=noise)
        drawn = [part.draw(cut * share) for part, share in zip(self.parts, divided, strict=True)]
        return (*drawn, self.beyond.draw(budget * _BEYOND_SHARE))


def whole_error_of(query: Query, plan: OuterPlan, *, noise: Noise) -> WholeError | None:
    """What is to be drawn; None where nothing can be cut, or nothing is known of it."""
    weights: dict[Measure, float] = {}
    for cut in plan.all_cuts:
        scale = max(cut.inner.sensitivity, 1)
        for measure in cut.measures:
            weights.setdefault(measure, (measure.sensitivity / scale) ** 2)
    if not weights:
        return None
    spread = spread_of(query)

    def part(measure: Measure, weight: float) -> Part:
        cells = spread if measure.by_cell else 1
        return additive(measure, measure_weight(weight, spread=cells, noise=noise), cells, noise)

    return WholeError(
        plan=plan,
        parts=tuple(part(measure, weight) for measure, weight in weights.items()),
        beyond=part(plan.beyond, 1.0),
    )
