"""The parts of a query that cost something, and how each is drawn out of its budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.accounting import releases
from quaestor.curator.kernel.draws import (
    NoisyMeasure,
    NoisyQuantile,
    NoisyReach,
    NoisyTop,
    NoisyUnits,
    ShownGroups,
)
from quaestor.curator.kernel.measures import (
    Chosen,
    JointTotals,
    Measure,
    Reach,
    UnitBins,
    Units,
    ValueCounts,
)
from quaestor.curator.pricing.budget_shares import (
    few_digits_down,
    few_digits_up,
    float_below,
    measure_weight,
    quantile_weight,
    selection_weight,
    top_weight,
)
from quaestor.curator.pricing.editions import LATEST, THIRD
from quaestor.errors import InvalidParameter, TargetOutOfReach
from quaestor.mechanisms import (
    CountedQuantile,
    DiscreteGaussian,
    Geometric,
    OptimalSelection,
    PartitionSelection,
    QuantileReach,
    TopK,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.kernel.draws import Draw
    from quaestor.curator.language.query import Query, TopGroups
    from quaestor.curator.pricing.budget_shares import Noise
    from quaestor.curator.pricing.offers import Measuring

__all__ = ["Part", "additive", "combinations_of", "noisy_bins", "parts_of", "spread_of"]

_MOST_GRAINS = 2**16  # in a sensitivity; the mechanisms take 100,000
_LARGEST_SCALE, _LARGEST_SIGMA = 2.0**40, 1e9
_SMALLEST_SCALE, _SMALLEST_SIGMA = 2.0**-10, 0.05
_LARGEST_CHOICE, _SMALLEST_CHOICE = 700.0, 1e-100
_SMALLEST_SELECTION, _LARGEST_DELTA = 2e-9, Fraction(1, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Something that is drawn; ``draw`` makes the most accurate that a budget allows.

    The budget is an epsilon for geometric noise, a rho for Gaussian noise. ``chooses`` says that
    it is a choice of groups, ``figure`` that aggregates use what is released.
    """

    measure: Measure
    weight: float
    draw: Callable[[Fraction], Draw]
    chooses: bool = False
    figure: bool = True


def parts_of(  # noqa: PLR0913  # what is asked, and how it is priced
    query: Query,
    measuring: Measuring,
    *,
    noise: Noise,
    delta: float | None,
    confidence: float = 0.95,
    edition: int = LATEST,
) -> tuple[Part, ...]:
    """All parts of a query, each with its weight: a choice of groups first.

    Intervals that are measured for themselves are of that confidence.

    The largest groups are chosen among declared ones only: of private groups those that are shown
    have noisy figures already, by which they are sorted for nothing.
    """
    spread = spread_of(query)
    weights: dict[Measure, float] = {}
    for recipe in measuring.recipes:
        for measure, weight in zip(recipe.measures, recipe.weights, strict=True):
            weights[measure] = weights.get(measure, 0.0) + weight
    parts: list[Part] = []
    if measuring.selects:
        if delta is None or not 0.0 < delta < 1.0:
            valid = "between 0 and 1, and given: the groups of this query are private"
            raise InvalidParameter("delta", delta, valid)
        counted = edition <= THIRD or Units() in weights
        weight = weights.pop(Units(), 0.0)
        parts.append(
            _selection(weight, spread, noise, delta) if counted else _shown(spread, noise, delta)
        )
    elif query.top is not None and query.top.count < (combinations_of(query) or 0):
        parts.append(_top(query.top, measuring, noise))
    for measure, weight in weights.items():
        if isinstance(measure, Chosen):
            parts.append(_quantile(measure, weight, spread, noise))
        elif isinstance(measure, Reach):
            parts.append(_reach(measure, weight, spread, noise, confidence))
        else:
            weighed = measure_weight(weight, spread=spread, noise=noise)
            parts.append(additive(measure, weighed, spread, noise, edition=edition))
    if not parts:
        raise InvalidParameter(
            "query", 0, "a question with at least one aggregate, or with private keys"
        )
    return tuple(parts)


def combinations_of(query: Query) -> int | None:
    """How many groups there are; None if that is private."""
    number = 1
    for key in query.keys:
        if key.values is None:
            return None
        number *= len(key.values)
    return number


def spread_of(query: Query) -> int:
    """In how many of the groups that are measured one unit may be, at most."""
    limits = [query.contribution.groups]
    declared = combinations_of(query)
    if declared is not None:
        limits.append(declared)
        if query.top is not None:
            limits.append(query.top.count)
    return max(min(limits), 1)


def additive(
    measure: Measure, weight: float, spread: int, noise: Noise, *, edition: int = LATEST
) -> Part:
    """A measure with noise, of so many groups of a unit."""
    if noise == "gaussian":
        return Part(measure=measure, weight=weight, draw=_gaussian(measure, spread))
    as_one = edition > THIRD and _totals(measure) > 1
    return Part(measure=measure, weight=weight, draw=_geometric(measure, spread, as_one=as_one))


def _totals(measure: Measure) -> int:
    """How many numbers share the measure's bound."""
    return len(measure.totals) if isinstance(measure, JointTotals) else 1


def _grains(measure: Measure) -> tuple[int, int]:
    """How many steps are a grain, and by how many grains one unit moves the measure."""
    largest = max(measure.sensitivity, 1)
    grain = -(-largest // _MOST_GRAINS)
    return grain, (largest + _totals(measure) * (grain - 1)) // grain


def _geometric(
    measure: Measure, spread: int, *, as_one: bool = False
) -> Callable[[Fraction], Draw]:
    grain, moved = _grains(measure)

    def drawn(scale: float) -> NoisyMeasure:
        noisy = Geometric(scale=scale, sensitivity=moved)
        return NoisyMeasure(
            measure=measure, mechanism=noisy, spread=spread, grain=grain, as_one=as_one
        )

    def draw(budget: Fraction) -> Draw:
        epsilon = float_below(budget / spread)
        start = _checked_scale(moved / epsilon if epsilon else math.inf, _LARGEST_SCALE)
        start = max(start, _SMALLEST_SCALE)
        if isinstance(drawn(start).one, releases.Laplace):  # its sensitivity is 1/4b larger
            start = (moved + math.sqrt(moved**2 + epsilon)) / (2 * epsilon)

        allowed = spread * Fraction(epsilon)
        tried: list[NoisyMeasure] = []

        def holds(scale: float) -> bool:
            tried.append(drawn(scale))
            return (tried[-1].epsilon or 0) <= allowed

        few_digits_up(start, holds)
        return tried[-1]  # the first that holds ends the search

    return draw


def noisy_bins(measure: UnitBins, epsilon: Fraction) -> NoisyMeasure:
    """A histogram of units with the least geometric noise that an epsilon buys."""
    drawn = _geometric(measure, 1)(epsilon)
    assert isinstance(drawn, NoisyMeasure)  # noqa: S101  # by its definition
    return drawn


def _gaussian(measure: Measure, spread: int) -> Callable[[Fraction], Draw]:
    grain, moved = _grains(measure)

    def drawn(sigma: float) -> NoisyMeasure:
        noisy = DiscreteGaussian(sigma=sigma, sensitivity=moved, coordinates=_totals(measure))
        return NoisyMeasure(measure=measure, mechanism=noisy, spread=spread, grain=grain)

    def draw(budget: Fraction) -> Draw:
        rho = float_below(budget / spread)
        start = _checked_scale(moved / math.sqrt(2 * rho) if rho else math.inf, _LARGEST_SIGMA)

        def holds(sigma: float) -> bool:
            return drawn(sigma).rho <= spread * Fraction(rho)

        return drawn(few_digits_up(max(start, _SMALLEST_SIGMA), holds))

    return draw


def _shown(spread: int, noise: Noise, delta: float) -> Part:
    """Private groups whose numbers of units nobody wants."""
    each = float_below(min(Fraction(delta) / spread, _LARGEST_DELTA))

    def drawn(epsilon: float) -> ShownGroups:
        chosen = OptimalSelection(epsilon=epsilon, delta=each, contributions=spread)
        return ShownGroups(measure=Units(), mechanism=chosen)

    def draw(budget: Fraction) -> Draw:
        part = float_below(budget / spread)
        epsilon = part if noise == "geometric" else math.sqrt(2 * part)

        def holds(epsilon: float) -> bool:
            made = drawn(epsilon)
            return (made.epsilon if noise == "geometric" else made.rho) <= budget

        start = min(epsilon, _LARGEST_CHOICE)
        if start < _SMALLEST_SELECTION:
            raise _out_of_reach()
        return drawn(few_digits_down(start, holds))

    return Part(
        measure=Units(),
        weight=selection_weight(0.0, spread=spread, noise=noise),
        draw=draw,
        chooses=True,
    )


def _selection(weight: float, spread: int, noise: Noise, delta: float) -> Part:
    def drawn(scale: float) -> NoisyUnits:
        chosen = PartitionSelection.with_delta(scale=scale, delta=delta, contributions=spread)
        draw = NoisyUnits(measure=Units(), mechanism=chosen)
        while draw.delta > Fraction(delta):  # floats may have rounded it down
            chosen = PartitionSelection(
                scale=scale, threshold=chosen.threshold + 1, contributions=spread
            )
            draw = NoisyUnits(measure=Units(), mechanism=chosen)
        return draw

    def draw(budget: Fraction) -> Draw:
        each = budget / spread
        epsilon = float_below(each) if noise == "geometric" else math.sqrt(2 * float_below(each))
        start = _checked_scale(1 / epsilon if epsilon else math.inf, _LARGEST_SCALE)

        def holds(scale: float) -> bool:
            made = drawn(scale)
            return (made.epsilon if noise == "geometric" else made.rho) <= budget

        return drawn(few_digits_up(max(start, _SMALLEST_SCALE), holds))

    return Part(
        measure=Units(),
        weight=selection_weight(weight, spread=spread, noise=noise),
        draw=draw,
        chooses=True,
    )


def _top(top: TopGroups, measuring: Measuring, noise: Noise) -> Part:
    recipe = measuring.recipes[top.place]
    measure = recipe.alone
    if measure is None:
        raise InvalidParameter("top", recipe.aggregate.function, "by a count or a sum")
    grows = measure.grows
    sensitivity = float(max(measure.sensitivity, 1))

    def drawn(epsilon: float) -> NoisyTop:
        chosen = TopK(epsilon=epsilon, count=top.count, sensitivity=sensitivity, monotonic=grows)
        return NoisyTop(measure=measure, mechanism=chosen)

    return Part(
        measure=measure,
        weight=top_weight(count=top.count, monotonic=grows, noise=noise),
        draw=_choosing(drawn, count=top.count, factor=2 if grows else 1, noise=noise),
        chooses=True,
        figure=False,
    )


def _quantile(measure: Chosen, weight: float, spread: int, noise: Noise) -> Part:
    histogram = measure.histogram

    def drawn(epsilon: float) -> NoisyQuantile:
        chosen = CountedQuantile(
            probability=measure.probability,
            epsilon=epsilon,
            signed=measure.signed,
            **_domain(histogram),
        )
        return NoisyQuantile(measure=measure, mechanism=chosen, spread=spread)

    return Part(
        measure=measure,
        weight=quantile_weight(weight, measure.probability, spread=spread, noise=noise),
        draw=_choosing(drawn, count=spread, factor=1, noise=noise),
    )


def _reach(measure: Reach, weight: float, spread: int, noise: Noise, confidence: float) -> Part:
    histogram, probability = measure.histogram, measure.chosen.probability

    def drawn(epsilon: float) -> NoisyReach:
        chosen = QuantileReach(
            probability=probability,
            epsilon=epsilon,
            confidence=confidence,
            **_domain(histogram),
        )
        return NoisyReach(measure=measure, mechanism=chosen, spread=spread)

    return Part(
        measure=measure,
        weight=quantile_weight(weight, probability, spread=spread, noise=noise),
        draw=_choosing(drawn, count=spread, factor=1, noise=noise),
    )


def _domain(histogram: ValueCounts) -> dict[str, int]:
    return {"low": histogram.low, "high": histogram.high, "rows": histogram.rows}


def _choosing(
    drawn: Callable[[float], Draw], *, count: int, factor: int, noise: Noise
) -> Callable[[Fraction], Draw]:
    """The largest epsilon of ``count`` choices, each with that range over ``factor``."""

    def draw(budget: Fraction) -> Draw:
        each = float_below(budget / count)
        span = each if noise == "geometric" else math.sqrt(8 * each)

        def holds(epsilon: float) -> bool:
            made = drawn(epsilon)
            return (made.epsilon or 0 if noise == "geometric" else made.rho) <= budget

        start = min(factor * span, _LARGEST_CHOICE)
        if start < _SMALLEST_CHOICE:
            raise _out_of_reach()
        return drawn(few_digits_down(start, holds))

    return draw


def _checked_scale(scale: float, largest: float) -> float:
    if not scale < largest / 2:
        raise _out_of_reach()
    return scale


def _out_of_reach() -> TargetOutOfReach:
    return TargetOutOfReach(
        "the epsilon is too small for the number of parts of this query: raise it, "
        "ask for fewer aggregates, or limit one person to fewer groups (--groups)"
    )
