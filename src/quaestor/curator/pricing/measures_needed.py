"""Which measures a query takes: as few as its aggregates can share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.curator.aggregates import Deviation, Linear, Mean, Rank
from quaestor.curator.kernel.measurement import CellKey, Cells, code_of
from quaestor.curator.kernel.measures import Chosen, Distinct, Histogram, Rows, Total, Units
from quaestor.curator.pricing.stepped_operands import Stepped, centred, squared, stepped
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from quaestor.curator.aggregates import Recipe
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.expressions import Expression
    from quaestor.curator.language.query import Aggregate, Query

__all__ = ["Measuring", "cells_of", "combinations_of", "measures_of", "spread_of"]

_SHARED = {"mean", "variance", "stddev"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """What the engine has to compute for a query, and what becomes of it.

    ``recipes`` are those of the query's aggregates, in their order. ``selects`` says that the
    groups are private, and chosen by their number of units.
    """

    measures: tuple[Measure, ...]
    recipes: tuple[Recipe, ...]
    selects: bool


def measures_of(query: Query) -> Measuring:
    """The measures that the aggregates of a query share, each once, and the aggregates' recipes.

    =================  ==============================================================
    count              rows (of those with an operand, if it has one)
    units, distinct    units; different values
    sum                total; next to a mean of the same operand those of the mean
    mean               total of the operand less the middle of its bounds, and rows
    variance, stddev   those of the mean, and the total of the centred square
    quantile           histogram
    private keys       units
    =================  ==============================================================
    """
    centres = {_same(each) for each in query.aggregates if each.function in _SHARED}
    recipes = tuple(
        _recipe(aggregate, query.contribution.rows, shared=_same(aggregate) in centres)
        for aggregate in query.aggregates
    )
    selects = any(key.values is None for key in query.keys)
    taken: dict[Measure, None] = {Units(): None} if selects else {}
    for recipe in recipes:
        for measure in recipe.measures:
            taken[measure.histogram if isinstance(measure, Chosen) else measure] = None
    return Measuring(measures=tuple(taken), recipes=recipes, selects=selects)


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


def _same(aggregate: Aggregate) -> tuple[object, ...]:
    return (aggregate.operand, aggregate.low, aggregate.high, aggregate.step)


def _recipe(aggregate: Aggregate, rows: int, *, shared: bool) -> Recipe:
    if aggregate.function == "count":
        counted = Rows(rows=rows, operand=aggregate.operand)
        return Linear(aggregate=aggregate, terms=((counted, 1.0),), largest=rows, least=0.0)
    if aggregate.function == "units":
        return Linear(aggregate=aggregate, terms=((Units(), 1.0),), largest=1.0, least=0.0)
    operand = aggregate.operand
    if operand is None:
        raise InvalidParameter(aggregate.function, None, "given an operand")
    if aggregate.function == "distinct":
        different = Distinct(operand=operand, rows=rows)
        return Linear(aggregate=aggregate, terms=((different, 1.0),), largest=rows, least=0.0)
    whole = stepped(operand, low=aggregate.low, high=aggregate.high, step=aggregate.step)
    if aggregate.function == "sum" and shared:
        return _shared_sum(aggregate, whole, rows)
    return _OF_NUMBERS[aggregate.function](aggregate, whole, rows)


def _sum(aggregate: Aggregate, whole: Stepped, rows: int) -> Recipe:
    total = _total(whole, rows)
    return _bounded(aggregate, ((total, whole.step),), whole, rows)


def _shared_sum(aggregate: Aggregate, whole: Stepped, rows: int) -> Recipe:
    middle = centred(whole)
    terms: tuple[tuple[Measure, float], ...] = ((_total(middle, rows), middle.step),)
    if middle.centre:
        terms += ((_rows(whole.operand, rows), middle.centre),)
    return _bounded(aggregate, terms, whole, rows)


def _bounded(
    aggregate: Aggregate, terms: tuple[tuple[Measure, float], ...], whole: Stepped, rows: int
) -> Recipe:
    inf = float("inf")
    return Linear(
        aggregate=aggregate,
        terms=terms,
        largest=rows * whole.reach * whole.step,
        least=0.0 if whole.low >= 0 else -inf,
        most=0.0 if whole.high <= 0 else inf,
    )


def _mean(aggregate: Aggregate, whole: Stepped, rows: int) -> Recipe:
    middle = centred(whole)
    return Mean(
        aggregate=aggregate,
        total=_total(middle, rows),
        rows=_rows(whole.operand, rows),
        centre=middle.centre,
        half=middle.reach * middle.step,
    )


def _deviation(aggregate: Aggregate, whole: Stepped, rows: int) -> Recipe:
    middle = centred(whole)
    square = squared(middle)
    return Deviation(
        aggregate=aggregate,
        total=_total(middle, rows),
        square=_total(square, rows),
        rows=_rows(whole.operand, rows),
        square_centre=square.centre,
        half=middle.reach * middle.step,
        root=aggregate.function == "stddev",
    )


def _rank(aggregate: Aggregate, whole: Stepped, rows: int) -> Recipe:
    histogram = Histogram(
        operand=whole.operand, low=whole.low, high=whole.high, step=whole.step, rows=rows
    )
    chosen = Chosen(histogram=histogram, probability=aggregate.probability)
    return Rank(aggregate=aggregate, chosen=chosen)


_OF_NUMBERS: dict[str, Callable[[Aggregate, Stepped, int], Recipe]] = {
    "sum": _sum,
    "mean": _mean,
    "variance": _deviation,
    "stddev": _deviation,
    "quantile": _rank,
}


def _total(whole: Stepped, rows: int) -> Total:
    return Total(operand=whole.operand, low=whole.low, high=whole.high, step=whole.step, rows=rows)


def _rows(operand: Expression, rows: int) -> Rows:
    return Rows(rows=rows, operand=operand)
