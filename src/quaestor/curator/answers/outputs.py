"""From released figures to an answer: aggregates, outputs, HAVING, ORDER BY, LIMIT.

Everything here is computed of what the kernel drew, and of the question: no exact figure is seen.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.aggregates.recipe import Noised, Scatter, approximate_reach
from quaestor.curator.answers.answer import Answer, AnswerColumn
from quaestor.curator.answers.released_groups import (
    GroupTotals,
    ReleasedGroups,
    by_row,
    delta_errors,
    floats,
    numbers,
    values_by_row,
)
from quaestor.curator.answers.share_intervals import total_interval
from quaestor.curator.answers.whole_error_notes import whole_notes
from quaestor.curator.answers.whole_intervals import has_whole, whole_ends
from quaestor.curator.kernel.draws import NoisyTop, NoisyUnits, ShownGroups
from quaestor.curator.language.evaluation import evaluate
from quaestor.curator.language.expressions import Aggregated, Keyed, nodes
from quaestor.curator.questions.block_reach import blocks_in_words
from quaestor.curator.questions.plan import has_totals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.recipe import Estimates, Recipe
    from quaestor.curator.aggregates.whole_error import Missing
    from quaestor.curator.kernel.figures import Released
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.expressions import Expression, Kind, Value
    from quaestor.curator.language.query import Output, Query
    from quaestor.curator.pricing.offers import Offer

    Group = tuple[Value, ...]

__all__ = ["ReleasedGroups", "answer_of", "columns_of", "values_of"]


def columns_of(query: Query, released: ReleasedGroups) -> tuple[AnswerColumn, ...]:
    """All outputs, of the rows that HAVING keeps, in the order wanted, up to the limit."""
    estimates = released.estimates()
    totals = GroupTotals.of(query, released.groups, by_row(estimates, len(released.groups)))
    rows = _rows(query, totals)
    columns = []
    for output in query.outputs:
        if isinstance(output.expression, Aggregated):
            recipe = released.recipes[output.expression.place]
            column = _figure(output, recipe, estimates[output.expression.place])
            whole = released.whole(output.expression.place)
            if whole is not None:
                ends = map(_tuple, whole)
                column = replace(column, whole_lower=next(ends), whole_upper=next(ends))
        else:
            column = _with_whole(
                _computed(query, output, released, totals), output, released, totals
            )
        columns.append(_taken(column, rows))
    return tuple(columns)


def _rows(query: Query, totals: GroupTotals) -> Sequence[int]:
    """Which rows are in the answer, in order; rows without a value to sort by are last."""
    rows, groups, figures = totals.kept, totals.groups, totals.figures
    order = query.order
    if query.top is not None and not order:
        order = ((Aggregated(query.top.place), True),)
    for by, descending in reversed(order):
        expression = totals.rewritten(by)
        values = {row: evaluate(expression, groups[row], figures[row]) for row in rows}
        known = sorted(
            (row for row in rows if values[row] is not None),
            key=values.__getitem__,  # type: ignore[arg-type]  # of one kind, and none is None
            reverse=descending,
        )
        rows = known + [row for row in rows if values[row] is None]
    limit = query.limit
    if limit is None and query.top is not None:
        limit = query.top.count
    return rows if limit is None else rows[:limit]


def _figure(output: Output, recipe: Recipe, estimates: Estimates) -> AnswerColumn:
    size = estimates.values.size
    unknown = (None,) * size
    return AnswerColumn(
        name=output.name,
        kind="integer" if recipe.whole else "real",
        values=numbers(estimates.values),
        standard_errors=unknown if estimates.errors is None else _tuple(estimates.errors),
        lower=None if estimates.lower is None else _tuple(estimates.lower),
        upper=None if estimates.upper is None else _tuple(estimates.upper),
        approximate=estimates.approximate,
    )


def _tuple(numbers: NDArray[np.float64]) -> tuple[float | None, ...]:
    finite = np.isfinite(numbers)
    if finite.all():
        return tuple(numbers.tolist())
    return tuple(
        number if known else None
        for number, known in zip(numbers.tolist(), finite.tolist(), strict=True)
    )


def _computed(
    query: Query, output: Output, released: ReleasedGroups, totals: GroupTotals
) -> AnswerColumn:
    """An expression of keys and aggregates; without aggregates it is a key itself."""
    values = values_by_row(totals.rewritten(output.expression), released.groups, totals.figures)
    places = {node.place for node in nodes(output.expression) if isinstance(node, Aggregated)}
    if not places:
        return AnswerColumn(name=output.name, kind=_key_kind(query, output, values), values=values)
    used = [
        measure
        for measure in released.noised
        if any(measure in released.recipes[place].measures for place in places)
    ]
    scatters = [released.noised[measure].scatter for measure in used]
    times = approximate_reach(scatters, confidence=released.confidence)
    if has_totals(output.expression):
        found = total_interval(output.expression, released, used, totals, times)
        spread, low, high = map(_tuple, found)
        return AnswerColumn(
            name=output.name,
            kind=_kind_of(values),
            values=values,
            standard_errors=spread,
            lower=low,
            upper=high,
            approximate=True,
        )
    errors = delta_errors(output.expression, released, used, values)

    def end(sign: int) -> tuple[float | None, ...]:
        return tuple(
            None if error is None else value + sign * times * error
            for value, error in zip(floats(values).tolist(), errors, strict=True)
        )

    return AnswerColumn(
        name=output.name,
        kind=_kind_of(values),
        values=values,
        standard_errors=errors,
        lower=end(-1),
        upper=end(1),
        approximate=True,
    )


def _with_whole(
    column: AnswerColumn, output: Output, released: ReleasedGroups, totals: GroupTotals
) -> AnswerColumn:
    """With the interval of the whole error, if there is one: that of noise if nothing is cut."""
    if column.lower is None or not released.missing:
        return column
    if not has_whole(output.expression, released.missing):
        return column
    places = {node.place for node in nodes(output.expression) if isinstance(node, Aggregated)}
    if not released.cut(places):
        return replace(column, whole_lower=column.lower, whole_upper=column.upper)
    ends = whole_ends(output.expression, released, totals)
    if ends is None:
        return column
    low, high = map(_tuple, ends)
    return replace(column, whole_lower=low, whole_upper=high)


def _key_kind(query: Query, output: Output, values: tuple[Value, ...]) -> Kind:
    if isinstance(output.expression, Keyed):
        return query.keys[output.expression.place].kind
    return _kind_of(values)


def _kind_of(values: tuple[Value, ...]) -> Kind:
    held = [value for value in values if value is not None]
    if held and all(isinstance(value, bool) for value in held):
        return "boolean"
    if held and all(isinstance(value, str) for value in held):
        return "text"
    return "real"


def _taken(column: AnswerColumn, rows: Sequence[int]) -> AnswerColumn:
    if rows == range(len(column.values)):
        return column

    def some(values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return None if values is None else tuple(values[row] for row in rows)

    return replace(
        column,
        values=tuple(column.values[row] for row in rows),
        standard_errors=some(column.standard_errors),
        lower=some(column.lower),
        upper=some(column.upper),
        whole_lower=some(column.whole_lower),
        whole_upper=some(column.whole_upper),
    )


def answer_of(query: Query, offer: Offer, released: Released, *, sql: str | None = None) -> Answer:
    """The answer that released figures make."""
    shown = _shown(query, offer, released)
    return Answer(
        dataset=query.dataset,
        columns=columns_of(query, shown),
        confidence=offer.confidence,
        releases=offer.releases,
        notes=(
            *_notes(offer),
            *_notes_on_totals(query, offer),
            *whole_notes(query, offer, shown),
            *(key.note for key in query.keys if key.note),
        ),
        sql=sql,
    )


def values_of(
    expression: Expression, query: Query, offer: Offer, released: Released
) -> list[Value]:
    """An expression of released figures, in the rows of the answer."""
    shown = _shown(query, offer, released)
    figures = by_row(shown.estimates(), len(shown.groups))
    totals = GroupTotals.of(query, shown.groups, figures, extra=(expression,))
    values = values_by_row(totals.rewritten(expression), shown.groups, totals.figures)
    return [values[row] for row in _rows(query, totals)]


def _shown(query: Query, offer: Offer, released: Released) -> ReleasedGroups:
    groups, order = _groups(query, released)
    noised = {
        draw.measure: Noised(
            values=figures[..., order] if draw.measure.by_cell else figures, scatter=Scatter(draw)
        )
        for draw, figures in released.figures.items()
    }
    return ReleasedGroups(
        groups=groups,
        noised=noised,
        recipes=offer.measuring.recipes,
        confidence=offer.confidence,
        missing=_missing(offer, noised, len(groups)),
    )


def _missing(
    offer: Offer, noised: Mapping[Measure, Noised], groups: int
) -> tuple[tuple[Missing, ...] | None, ...]:
    if offer.whole is None:
        return ()
    return tuple(
        None if cuts is None else tuple(cut.missing(noised, groups) for cut in cuts)
        for cuts in offer.whole.cuts
    )


def _groups(query: Query, released: Released) -> tuple[list[Group], Any]:
    """The keys of the groups that are shown, and their order among the released ones.

    Keys that are declared come as places in their list.
    """
    if released.groups is None:
        declared: list[Group] = list(product(*(key.values or () for key in query.keys)))
        shown = [declared[place] for place in released.places.tolist()]
        return shown, np.arange(len(shown))
    named: list[Group] = released.groups
    if not named:
        return [], np.arange(0)
    columns: list[list[Value]] = [[group[at] for group in named] for at in range(len(query.keys))]
    if any(key.values is not None for key in query.keys):
        columns = [
            column if key.values is None else [key.values[int(place or 0)] for place in column]
            for key, column in zip(query.keys, columns, strict=True)
        ]
        named = list(zip(*columns, strict=True))
    order = np.lexsort([_places(column) for column in reversed(columns)])
    if (order[1:] > order[:-1]).all():
        return named, order
    return [named[at] for at in order.tolist()], order


def _places(column: Sequence[Value]) -> NDArray[Any]:
    """Numbers that are in the order of the values of a key: an order of the values alone."""
    kinds = set(map(type, column))
    if kinds == {int} and max(map(abs, column)) < 2**63:  # type: ignore[arg-type]
        return np.array(column, np.int64)
    known: list[Value] = sorted(set(column), key=str if kinds == {str} else _sortable)
    places = {value: place for place, value in enumerate(known)}
    return np.fromiter(map(places.__getitem__, column), np.intp, len(column))


def _sortable(value: Value) -> tuple[bool, bool, Any]:
    """Numbers in their order, then texts, then NULL: an order of the groups' names alone."""
    if value is None:
        return (True, False, 0)
    return (False, isinstance(value, str), value)


def _notes_on_totals(query: Query, offer: Offer) -> Iterator[str]:
    """What the totals of an answer are of."""
    names = [each.name for each in query.outputs if has_totals(each.expression)]
    if not names:
        return
    private = isinstance(offer.choice, NoisyUnits | ShownGroups)
    groups = "are shown" if private else "HAVING keeps"
    yield f"{', '.join(names)}: totals cover only the groups that {groups}"


def _notes(offer: Offer) -> tuple[str, ...]:
    notes = []
    if isinstance(offer.choice, NoisyUnits):
        notes.append(
            "only groups with a noisy count of at least "
            f"{offer.choice.mechanism.threshold} people are shown"
        )
    if isinstance(offer.choice, ShownGroups):
        chosen = offer.choice.mechanism
        notes.append(
            f"groups are shown by chance: half of those of {chosen.likely} people, and all of "
            f"{chosen.certain} or more; to see smaller ones, spend more or declare keys"
        )
    if isinstance(offer.choice, NoisyTop):
        notes.append("the groups were chosen by the exponential mechanism")
    if offer.measurement.blocks is not None:
        notes.append(blocks_in_words(offer.measurement.blocks))
    notes += [
        f"{expected.name}: {expected.words}"
        for expected in offer.expected
        if expected.standard_error is None
    ]
    return tuple(notes)
