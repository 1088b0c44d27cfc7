"""Intervals of shares: of figures divided by their totals over groups.

A share is a quotient of two noisy figures, of which one is a part of the other. Noise of different
groups is independent: that of a group itself moves both, that of the others the total alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from quaestor.curator.aggregates.linearised import Linearised, ratio_interval
from quaestor.curator.aggregates.recipe import Linear
from quaestor.curator.answers.released_groups import (
    by_row,
    floats,
    moved_by,
    noise_parts,
    values_by_row,
)
from quaestor.curator.language.expressions import (
    Aggregated,
    Arithmetic,
    Call,
    Cast,
    Constant,
    GroupTotal,
    nodes,
)
from quaestor.curator.questions.plan import has_totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from quaestor.curator.answers.released_groups import GroupTotals, ReleasedGroups
    from quaestor.curator.kernel.measures import Measure
    from quaestor.curator.language.expressions import Expression

__all__ = ["never_negative", "quotient_of", "total_interval"]


def _linearised(
    expression: Expression,
    released: ReleasedGroups,
    used: Sequence[Measure],
    totals: GroupTotals,
) -> Linearised:
    """The values, and how far noise moves them: that of each group itself, and that of the rest."""
    rewritten, size = totals.rewritten(expression), len(totals.groups)
    inner = set(nodes(expression))
    mine = [total for total in totals.totals if total in inner]
    places = [totals.first + totals.totals.index(total) for total in mine]
    kept = np.zeros(size, bool)
    kept[list(totals.kept)] = True
    moves_of = [
        (measure, part) for measure in used for part in noise_parts(released.noised[measure].values)
    ]
    own = np.zeros((len(moves_of), size))
    inside = np.zeros((len(mine), len(moves_of), size))
    for at, (measure, part) in enumerate(moves_of):
        noised = released.noised[measure]
        error, step = moved_by(measure, released)
        ends = []
        for sign in (1, -1):
            moved = replace(noised, values=noised.values + sign * step * part)
            there = replace(released, noised={**released.noised, measure: moved})
            rows = by_row(there.estimates(), size)
            whole = [
                row + held[totals.first :] for row, held in zip(rows, totals.figures, strict=True)
            ]
            ends.append(
                [floats(values_by_row(rewritten, totals.groups, whole))]
                + [floats(values_by_row(total.operand, totals.groups, rows)) for total in mine]
            )
        halves = [(up - down) / 2 * (error / step) for up, down in zip(*ends, strict=True)]
        own[at], inside[:, at] = halves[0], np.reshape(halves[1:], (len(mine), size))
    rest = np.zeros((len(moves_of), size))
    for total, place, moves in zip(mine, places, inside, strict=True):
        squares = np.nan_to_num(moves, nan=0.0) ** 2 * kept
        all_of = np.array([floats(totals.summed(total, list(each))) for each in squares])
        all_of = np.nan_to_num(all_of, nan=0.0)
        slope = _slope(rewritten, totals, place, np.sqrt(all_of.sum(axis=0)))
        own = own + slope * np.nan_to_num(moves, nan=0.0) * kept
        rest = rest + np.abs(slope) * np.sqrt(np.maximum(all_of - squares, 0.0))
    values = floats(values_by_row(rewritten, totals.groups, totals.figures))
    return Linearised(values, np.concatenate([own, rest]))


def _slope(
    rewritten: Expression, totals: GroupTotals, place: int, errors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """By how much the expression moves with a total, about its released value."""
    steps = np.maximum(errors, 1e-9)
    ends = []
    for sign in (1, -1):
        rows = [list(row) for row in totals.figures]
        for row, step in zip(rows, steps.tolist(), strict=True):
            row[place] = None if row[place] is None else row[place] + sign * step
        ends.append(floats(values_by_row(rewritten, totals.groups, rows)))
    slope: NDArray[np.float64] = (ends[0] - ends[1]) / (2 * steps)
    return slope


def total_interval(
    expression: Expression,
    released: ReleasedGroups,
    used: Sequence[Measure],
    totals: GroupTotals,
    times: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Standard errors and both ends of an interval, for an output that takes totals over groups.

    Of a quotient the interval is Fieller's, which holds also where the total is not much larger
    than its noise. That of the share of what is never negative is cut to what a share can be, and
    is all of that where the total might be 0. An interval that is not known is NaN.
    """
    whole = _linearised(expression, released, used, totals)
    errors = np.where(np.isfinite(whole.values), whole.error, np.nan)
    quotient = quotient_of(expression)
    if quotient is None:
        return errors, whole.values - times * errors, whole.values + times * errors
    factor, above, below = quotient
    one, other = (_linearised(each, released, used, totals) for each in (above, below))
    sign = np.where(other.values < 0, -1.0, 1.0)
    ends = [factor * end for end in ratio_interval(one * sign, other * sign, times)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    if below == GroupTotal(above, _by(below)) and never_negative(above, released):
        low = np.clip(low, min(factor, 0.0), max(factor, 0.0))
        high = np.clip(high, min(factor, 0.0), max(factor, 0.0))
    known = np.isfinite(whole.values)
    return (
        errors,
        np.where(known & np.isfinite(low), low, np.nan),
        np.where(known & np.isfinite(high), high, np.nan),
    )


def _by(expression: Expression) -> tuple[int, ...]:
    return expression.by if isinstance(expression, GroupTotal) else ()


def never_negative(expression: Expression, released: ReleasedGroups) -> bool:
    """Whether a figure is 0 at least, before noise."""
    if not isinstance(expression, Aggregated):
        return False
    recipe = released.recipes[expression.place]
    return isinstance(recipe, Linear) and recipe.least >= 0


def quotient_of(  # noqa: PLR0911  # one line a way to write it
    expression: Expression,
) -> tuple[float, Expression, Expression] | None:
    """A factor, a figure, and the total that it is divided by, where that is what it is."""
    match expression:
        case Arithmetic(operator="/", left=left, right=right):
            times, total = _factored(right)
            if has_totals(total) and not has_totals(left):
                factor, figure = _factored(left)
                return factor / times, figure, total
            inner = quotient_of(left)
            if inner is None or isinstance(total, GroupTotal) or has_totals(right):
                return None
            number = _number(right)
            return None if not number else (inner[0] / number, *inner[1:])
        case Arithmetic(operator="*", left=left, right=right):
            for number, other in ((_number(left), right), (_number(right), left)):
                inner = None if number is None else quotient_of(other)
                if number is not None and inner is not None:
                    return (number * inner[0], *inner[1:])
            return None
        case Cast(operand=operand, kind="real") | Call(function="round", arguments=(operand, *_)):
            return quotient_of(operand)
        case _:
            return None


def _factored(expression: Expression) -> tuple[float, Expression]:
    """A number, not 0, times the rest."""
    match expression:
        case Arithmetic(operator="*", left=left, right=right):
            for number, other in ((_number(left), right), (_number(right), left)):
                if number:
                    times, rest = _factored(other)
                    return number * times, rest
        case Arithmetic(operator="/", left=left, right=right):
            number = _number(right)
            if number:
                times, rest = _factored(left)
                return times / number, rest
        case Cast(operand=operand, kind="real"):
            return _factored(operand)
        case Call(function="nullif", arguments=(operand, Constant(value=0))):
            return _factored(operand)
        case _:
            pass
    return 1.0, expression


def _number(expression: Expression) -> float | None:
    value = expression.value if isinstance(expression, Constant) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
