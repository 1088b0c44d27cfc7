"""The whole error of expressions of released figures: an interval made of those of their parts.

All parts hold at once with the answer's confidence: each has an equal share of the risk, and where
figures are added up over groups, each of them in every group. Given that, interval arithmetic loses
nothing that could be true. It does not know which noise parts have in common, so that it is wider
than it need be; of a share it knows that the figure is a part of its total.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quaestor.curator.answers.released_groups import floats, values_by_row
from quaestor.curator.answers.share_intervals import never_negative, quotient_of
from quaestor.curator.language.expressions import (
    Aggregated,
    Arithmetic,
    Call,
    Cast,
    Constant,
    GroupTotal,
    Keyed,
    children,
    nodes,
)
from quaestor.curator.questions.plan import has_totals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from quaestor.curator.aggregates.whole_error import Ends
    from quaestor.curator.answers.released_groups import GroupTotals, ReleasedGroups
    from quaestor.curator.language.expressions import Expression

__all__ = ["has_whole", "whole_ends"]

_RISING = frozenset({"round", "floor", "ceil", "sqrt", "ln", "log10", "exp"})


def has_whole(expression: Expression, cuts: Sequence[Any]) -> bool:
    """Whether an expression has an interval, given what is known to be cut of each aggregate."""
    match expression:
        case Aggregated():
            return cuts[expression.place] is not None
        case Constant() | Keyed():
            return True
        case Arithmetic(operator=operator):
            known = operator in {"+", "-", "*", "/"}
        case Cast(kind=kind):
            known = kind == "real"
        case Call(function=name, arguments=(_, *rest)):
            zero = name == "nullif" and rest == [Constant(0, "integer")]
            known = zero or (name in _RISING and all(isinstance(x, Constant) for x in rest))
        case _:
            known = isinstance(expression, GroupTotal)
    return known and all(has_whole(each, cuts) for each in children(expression))


def whole_ends(
    expression: Expression, released: ReleasedGroups, totals: GroupTotals
) -> Ends | None:
    """Both ends in every group; infinite where a divisor might be 0. None: there is no interval.

    Guarantee:
        In a group it holds with at least the answer's confidence, for every unit within the outer
        limits.
    """
    if not released.missing or not has_whole(expression, released.missing):
        return None
    places = {node.place for node in nodes(expression) if isinstance(node, Aggregated)}
    looks = len(places) * (len(released.groups) if has_totals(expression) else 1)
    confidence = 1 - (1 - released.confidence) / max(looks, 1)
    parts = {place: released.whole(place, confidence=confidence) for place in places}
    if not places or any(ends is None for ends in parts.values()):
        return None
    known = {place: ends for place, ends in parts.items() if ends is not None}
    arithmetic = _Intervals(known, released, totals)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        return arithmetic.share(expression) or arithmetic.of(expression)


class _Intervals:
    """Interval arithmetic over the groups of an answer."""

    def __init__(
        self, parts: Mapping[int, Ends], released: ReleasedGroups, totals: GroupTotals
    ) -> None:
        self.parts, self.released, self.totals = parts, released, totals

    def share(self, expression: Expression) -> Ends | None:
        """A figure by the total of which it is a part: a / (a + rest), times a factor.

        It rises with the figure and falls with the rest. Where the rest might be none, or all, it
        is what a share can be.
        """
        quotient = quotient_of(expression)
        if quotient is None:
            return None
        factor, above, below = quotient
        if not (
            isinstance(below, GroupTotal)
            and below.operand == above
            and never_negative(above, self.released)
        ):
            return None
        kept = np.zeros(len(self.released.groups), bool)
        kept[list(self.totals.kept)] = True
        (low, high), (all_low, all_high) = self.of(above), self.of(below)
        if np.any(low < 0):  # under outer limits
            return None
        few, many = np.maximum(all_low - low * kept, 0.0), np.maximum(all_high - high * kept, 0.0)
        least = np.where(low + many > 0, low / (low + many), 0.0)
        most = np.where(high + few > 0, high / (high + few), 1.0)
        ends = factor * np.where(low > 0, least, 0.0), factor * np.where(few > 0, most, 1.0)
        return np.minimum(*ends), np.maximum(*ends)

    def of(self, expression: Expression) -> Ends:  # noqa: PLR0911  # one line a way to write it
        """Where an expression is, given where its parts are."""
        size = len(self.released.groups)
        match expression:
            case Aggregated():
                return self.parts[expression.place]
            case Constant():
                return _known(floats([expression.value]) * np.ones(size))
            case Keyed():
                return _known(floats(group[expression.place] for group in self.released.groups))
            case GroupTotal():
                low, high = (
                    floats(self.totals.summed(expression, list(end)))
                    for end in self.of(expression.operand)
                )
                return low, high
            case Arithmetic():
                return _arithmetic(
                    expression.operator, self.of(expression.left), self.of(expression.right)
                )
            case Call(function=name, arguments=(operand, *rest)) if name in _RISING:
                call = Call(name, (Aggregated(0), *rest))
                low, high = (
                    floats(values_by_row(call, self.released.groups, [[x] for x in end]))
                    for end in self.of(operand)
                )
                return np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)
            case _:
                return self.of(children(expression)[0])


def _known(values: NDArray[np.float64]) -> Ends:
    """Just these; anything where there is none."""
    missing = np.isnan(values)
    return np.where(missing, -np.inf, values), np.where(missing, np.inf, values)


def _arithmetic(operator: str, left: Ends, right: Ends) -> Ends:
    """The least and the most of both sides' ends; a product of nothing and all is nothing."""
    if operator == "+":
        return left[0] + right[0], left[1] + right[1]
    if operator == "-":
        return left[0] - right[1], left[1] - right[0]
    if operator == "/":
        zero = (right[0] <= 0) & (right[1] >= 0)
        low, high = _arithmetic("*", left, (1 / right[1], 1 / right[0]))
        return np.where(zero, -np.inf, low), np.where(zero, np.inf, high)
    products = [a * b for a in left for b in right]
    corners = [np.where(np.isnan(each), 0.0, each) for each in products]
    return np.minimum.reduce(corners), np.maximum.reduce(corners)
