"""Offers: what a query will cost and how accurate it will be, before anything is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from quaestor.accounting.releases.base import check_real
from quaestor.curator.aggregates import kind_of
from quaestor.curator.aggregates.count import CountKind
from quaestor.curator.aggregates.count_distinct import UnitsKind
from quaestor.curator.aggregates.recipe import Expected, Scatter
from quaestor.curator.kernel.cut_measures import CUT
from quaestor.curator.kernel.draws import NoisyUnits
from quaestor.curator.kernel.measurement import CellKey, Cells, Measurement, code_of
from quaestor.curator.kernel.measures import Chosen, Reach, Units
from quaestor.curator.language.expressions import Aggregated, nodes
from quaestor.curator.language.kept_results import KeptResults
from quaestor.curator.language.query import Aggregate
from quaestor.curator.pricing.accuracy import Accuracy, budgets_for
from quaestor.curator.pricing.budget_shares import shares
from quaestor.curator.pricing.editions import EARLIER, FIRST, LATEST, SECOND, THIRD
from quaestor.curator.pricing.priced_parts import Part, parts_of
from quaestor.curator.pricing.shared_numbers import shared_numbers
from quaestor.curator.pricing.whole_error import WHOLE_SHARE, whole_error_of
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.compose import Composition
    from quaestor.accounting.releases import Release
    from quaestor.curator.aggregates.recipe import Recipe
    from quaestor.curator.kernel.cut_measures import Counted
    from quaestor.curator.kernel.draws import Draw
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.query import Query
    from quaestor.curator.pricing.budget_shares import Noise
    from quaestor.curator.questions.outer_plan import OuterPlan

__all__ = [
    "Accuracy",
    "Measuring",
    "Offer",
    "cells_of",
    "cuts_by_place",
    "measures_of",
    "offer",
    "other_editions",
]

_MEASURING = KeptResults(64)
_LARGEST_BUDGET, _SMALLEST_BUDGET = 1e4, 1e-9


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Exactly what will be drawn for a query, what that costs, and how accurate it will be.

    ``measurement`` is what the kernel draws and charges for.
    """

    measuring: Measuring
    measurement: Measurement
    confidence: float
    noise: Noise
    query: Query | None = field(default=None, repr=False, compare=False)
    """What is asked; None where that is not a query's outputs."""
    whole: OuterPlan | None = None
    """What outer limits make of the question, where its whole error is answered too."""

    @property
    def choice(self) -> Draw | None:
        """What decides which groups are shown, if that is not public."""
        return self.measurement.choice

    @property
    def draws(self) -> tuple[Draw, ...]:
        """What is drawn of every group that is shown."""
        return self.measurement.draws

    @property
    def releases(self) -> tuple[Release, ...]:
        """What will be released, as the ledger stores it."""
        return self.measurement.releases

    @property
    def epsilon(self) -> Fraction | None:
        """The pure epsilon (but for ``delta``), exactly; None if noise is Gaussian."""
        total = Fraction(0)
        for draw in self._all:
            if draw.epsilon is None:
                return None
            total += draw.epsilon
        return total

    @property
    def rho(self) -> Fraction:
        """The rho of zero-concentrated DP (but for ``delta``), exactly."""
        return sum((draw.rho for draw in self._all), Fraction(0))

    @property
    def delta(self) -> Fraction:
        """The probability that private groups betray a unit, exactly; 0 if keys are declared."""
        return sum((draw.delta for draw in self._all), Fraction(0))

    @property
    def whole_draws(self) -> tuple[Draw, ...]:
        """What is drawn for the whole error."""
        return tuple(draw for draw in self.draws if type(draw.measure) in CUT)

    @property
    def whole_price(self) -> Fraction:
        """What the whole error costs: of the epsilon or, with Gaussian noise, of the rho."""
        gaussian = self.noise == "gaussian"
        prices = (draw.rho if gaussian else draw.epsilon for draw in self.whole_draws)
        return sum((each for each in prices if each is not None), Fraction(0))

    @cached_property
    def expected(self) -> tuple[Expected, ...]:
        """How accurate each output that is not a key will be, at ``confidence``."""
        return () if self.query is None else _expected(self.query, self)

    @cached_property
    def composition(self) -> Composition:
        """All of it together, as if it was all that is ever released."""
        from quaestor.accounting.compose import compose

        return compose(*self.releases)

    def epsilon_at(self, *, delta: float) -> float:
        """The epsilon of this query alone at a delta, by optimal composition."""
        return self.composition.epsilon(delta=delta)

    def draw_of(self, measure: Measure) -> Draw:
        """What is drawn for a measure."""
        for draw in self.draws:
            if draw.measure == measure:
                return draw
        if not isinstance(self.choice, NoisyUnits):
            raise KeyError(measure)
        return self.choice  # private groups come with their number of units

    @property
    def _all(self) -> tuple[Draw, ...]:
        return self.measurement.all_draws


def offer(  # noqa: PLR0913  # the ways to say how much, and for what
    query: Query,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    accuracy: Accuracy | None = None,
    delta: float | None = None,
    confidence: float = 0.95,
    edition: int = LATEST,
    quantile_intervals: bool = True,
    outer: OuterPlan | None = None,
) -> Offer:
    """The most accurate answer that a budget buys, or the cheapest of an accuracy.

    Exactly one of these is given: an ``epsilon``, for geometric noise, of which no more is spent;
    a ``rho``, for Gaussian noise, likewise; or the ``accuracy`` of some outputs. ``delta`` is for
    queries whose groups are private, and all of it is theirs. How a budget is divided is told in
    :mod:`quaestor.curator.pricing.budget_shares`. ``edition`` is one of
    :mod:`quaestor.curator.pricing.editions`. Without ``quantile_intervals`` quantiles have none,
    and what those would cost goes to the rest. With
    ``outer`` a share of it pays for the whole error; an accuracy costs as much more.
    """
    given = [each for each in (epsilon, rho, accuracy) if each is not None]
    if len(given) != 1:
        raise InvalidParameter("budget", len(given), "one of epsilon, rho and accuracy")
    if not 0.0 < confidence < 1.0:
        raise InvalidParameter("confidence", confidence, "a number between 0 and 1")
    noise: Noise = "gaussian" if rho is not None else "geometric"
    if accuracy is not None:
        noise = accuracy.drawn
    measuring = measures_of(
        query, edition=edition, quantile_intervals=quantile_intervals, noise=noise
    )
    parts = parts_of(
        query, measuring, noise=noise, delta=delta, confidence=confidence, edition=edition
    )
    whole = None if outer is None else whole_error_of(query, outer, noise=noise)
    share = Fraction(0) if whole is None else WHOLE_SHARE
    if accuracy is not None:
        budgets = budgets_for(query, measuring, parts, accuracy)
        rest = sum(budgets, Fraction(0)) * share / (1 - share)
    else:
        name, value = ("epsilon", epsilon) if rho is None else ("rho", rho)
        budget = Fraction(check_real(name, value, low=_SMALLEST_BUDGET, high=_LARGEST_BUDGET))
        budgets = _divided(parts, budget * (1 - share), noise)
        rest = budget * share
    drawn = [part.draw(each) for part, each in zip(parts, budgets, strict=True)]
    if whole is not None:
        drawn += whole.draws(rest, noise)
    chooses = parts[0].chooses
    measurement = Measurement(
        dataset=query.dataset,
        rows=query.rows,
        cells=cells_of(query),
        choice=cast("Any", drawn[0] if chooses else None),
        draws=cast("Any", tuple(drawn[1:] if chooses else drawn)),
        outer_groups=None if whole is None else whole.plan.caps.groups,
    )
    return Offer(
        measuring=measuring,
        measurement=measurement,
        confidence=confidence,
        noise=noise,
        query=query,
        whole=outer,
    )


def _divided(parts: Sequence[Part], budget: Fraction, noise: Noise) -> list[Fraction]:
    weights = [part.weight for part in parts]
    return [budget * share for share in shares(weights, noise=noise)]


def _expected(query: Query, made: Offer) -> tuple[Expected, ...]:
    foretold = []
    for output in query.outputs:
        if not any(isinstance(node, Aggregated) for node in nodes(output.expression)):
            continue
        if not isinstance(output.expression, Aggregated):
            words = "follows from the released figures; its error is estimated with the answer"
            foretold.append(
                Expected(name=output.name, standard_error=None, half_width=None, words=words)
            )
            continue
        recipe = made.measuring.recipes[output.expression.place]
        scatters = {measure: Scatter(made.draw_of(measure)) for measure in recipe.measures}
        foretold.append(recipe.expected(output.name, scatters, confidence=made.confidence))
    return tuple(foretold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """What the engine has to compute for a query, and what becomes of it.

    ``recipes`` are those of the query's aggregates, in their order. ``selects`` says that the
    groups are private, and chosen by their number of units.
    """

    measures: tuple[Measure, ...]
    recipes: tuple[Recipe, ...]
    selects: bool


def measures_of(
    query: Query,
    *,
    edition: int = LATEST,
    quantile_intervals: bool = True,
    noise: Noise = "geometric",
) -> Measuring:
    """The measures that the aggregates of a query share, each once, and the aggregates' recipes.

    A sum next to a mean of the same operand takes the measures of the mean. Private groups take
    their units, and where one row of a unit counts, so do their rows: they are paid for once. With
    geometric noise means, sums and counts share totals
    (:mod:`quaestor.curator.pricing.shared_numbers`).
    """
    if edition not in {LATEST, *EARLIER}:
        raise InvalidParameter("edition", edition, f"one from {FIRST} to {LATEST}")
    said = (edition, quantile_intervals, noise)
    return _MEASURING.or_made(query, said, lambda: _measures_of(query, *said))


def _measures_of(query: Query, edition: int, quantile_intervals: bool, noise: Noise) -> Measuring:  # noqa: FBT001
    centres = {_same(each) for each in query.aggregates if kind_of(each.function).centres}
    selects = any(key.values is None for key in query.keys)
    units = selects or any(each.function == UnitsKind.name for each in query.aggregates)
    shares_units = edition != FIRST and units and query.contribution.rows == 1
    shared: dict[int, Recipe] = {}
    if edition >= THIRD and noise == "geometric":
        shared = shared_numbers(query, counts_rows=not shares_units, edition=edition)

    def recipe_for(place: int, each: Aggregate) -> Recipe:
        if place in shared:
            return shared[place]
        kind = kind_of(each.function)
        ranked = query.top is not None and query.top.place == place  # scores are of few steps
        if shares_units and not ranked and each == Aggregate(function=CountKind.name):
            kind = kind_of(UnitsKind.name)  # a unit has one row: to count either is the same
        ways = {FIRST: kind.first_recipe, SECOND: kind.second_recipe}
        made = ways.get(FIRST if ranked else edition, kind.recipe)
        recipe = made(each, query.contribution.rows, centred=_same(each) in centres)
        return recipe if quantile_intervals else kind.without_interval(recipe)

    recipes = tuple(recipe_for(*each) for each in enumerate(query.aggregates))
    taken: dict[Measure, None] = {Units(): None} if selects else {}
    for recipe in recipes:
        for measure in recipe.measures:
            taken[measure.histogram if isinstance(measure, Chosen | Reach) else measure] = None
    return Measuring(measures=tuple(taken), recipes=recipes, selects=selects)


def cuts_by_place(
    query: Query, *, edition: int, noise: Noise
) -> dict[int, tuple[tuple[Counted, float], ...]]:
    """What limits cut of aggregates, where that is not as their kinds say."""
    recipes = measures_of(query, edition=edition, noise=noise).recipes
    return {at: cuts for at, recipe in enumerate(recipes) if (cuts := recipe.cuts) is not None}


def other_editions(query: Query, measuring: Measuring) -> tuple[int, ...]:
    """The earlier editions of pricing that would measure a query otherwise, the last one first."""
    return tuple(each for each in EARLIER if measures_of(query, edition=each) != measuring)


def cells_of(query: Query) -> Cells:
    """The cells of a query: the codes of declared keys, in their order."""
    keys = tuple(
        CellKey(
            expression=key.expression,
            kind=key.kind,
            codes=None
            if key.values is None
            else tuple(code_of(value, key.kind) for value in key.values),
        )
        for key in query.keys
    )
    return Cells(keys=keys, groups=query.contribution.groups)


def _same(aggregate: Aggregate) -> tuple[object, ...]:
    return (aggregate.operand, aggregate.low, aggregate.high, aggregate.step)
