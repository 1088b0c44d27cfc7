"""Intervals: where a result lies, given where its operands lie.

Floating-point addition, multiplication and division are monotone in each operand, rounding
included, so that results lie between those of the corners. Casts are here too: which there are, and
what to do about numbers without bounds.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from quaestor.curator.analysis.facts import (
    LARGEST,
    SMALLEST_GRAIN,
    ValueFacts,
    article,
    number_facts,
)
from quaestor.curator.language.expressions import Column, spell
from quaestor.curator.language.functions import NUMBERS, SMALLEST_DIVISOR, rounded
from quaestor.errors import RefusedQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quaestor.curator.language.expressions import Cast, Expression, Kind

__all__ = ["INTERVALS", "Interval", "arithmetic", "bounds_remedy", "cast_facts"]

_SLACK = 2.0**-20
_LEAST_LOGARITHM = -750.0


class Interval(NamedTuple):
    """From low to high, and the size that nothing exceeds."""

    low: float
    high: float
    most: float


def _between(low: float, high: float, most: float = math.inf) -> Interval:
    return Interval(low, high, min(most, max(abs(low), abs(high))))


def _corners(
    left: ValueFacts, right: ValueFacts, operation: Callable[[float, float], float]
) -> Interval:
    pairs = product((left.low, left.high), (right.low, right.high))
    ends = [operation(a, b) for a, b in pairs]
    ends = [0.0 if math.isnan(end) else end for end in ends]  # infinity times zero
    return Interval(min(ends), max(ends), 0.0)


def arithmetic(operator: str, left: ValueFacts, right: ValueFacts) -> Interval:
    """Where ``left operator right`` lies."""
    match operator:
        case "+":
            most = left.most + right.most
            return _between(left.low + right.low, left.high + right.high, most)
        case "-":
            most = left.most + right.most
            return _between(left.low - right.high, left.high - right.low, most)
        case "*":
            found = _corners(left, right, lambda a, b: a * b)
            return _between(found.low, found.high, left.most * right.most)
        case "/":
            return _quotient(left, right)
        case _:
            return _remainder(left, right)


def _quotient(left: ValueFacts, right: ValueFacts) -> Interval:
    if right.low < SMALLEST_DIVISOR and right.high > -SMALLEST_DIVISOR:
        most = left.most / SMALLEST_DIVISOR
        return Interval(-math.inf, math.inf, most if most <= LARGEST else math.inf)
    found = _corners(left, right, lambda a, b: a / b)
    nearest = min(abs(right.low), abs(right.high))
    return _between(found.low, found.high, left.most / nearest)


def _remainder(left: ValueFacts, right: ValueFacts) -> Interval:
    """With the sign of the dividend; smaller than the divisor and not larger than the dividend."""
    most = min(left.most, max(right.most - 1.0, 0.0))
    return Interval(
        0.0 if left.low >= 0 else -most, 0.0 if left.high <= 0 else most, min(left.most, right.most)
    )


def _monotone(operation: Callable[[float], float]) -> Callable[[Sequence[ValueFacts]], Interval]:
    def rule(arguments: Sequence[ValueFacts]) -> Interval:
        (of,) = arguments
        low = operation(of.low) if math.isfinite(of.low) else of.low
        high = operation(of.high) if math.isfinite(of.high) else of.high
        return _between(low, high, of.most + 1.0)

    return rule


def _absolute(arguments: Sequence[ValueFacts]) -> Interval:
    (of,) = arguments
    nearest = 0.0 if of.low <= 0 <= of.high else min(abs(of.low), abs(of.high))
    return Interval(nearest, max(abs(of.low), abs(of.high)), of.most)


def _square_root(arguments: Sequence[ValueFacts]) -> Interval:
    (of,) = arguments
    return _wider(
        math.sqrt(max(of.low, 0.0)),
        math.sqrt(max(of.high, 0.0)),
        math.sqrt(of.most) + 1.0,
    )


def _logarithm(arguments: Sequence[ValueFacts]) -> Interval:
    (of,) = arguments
    low = math.log(of.low) if of.low > 0 else -math.inf
    high = math.log(of.high) if of.high > 0 else 0.0
    return _wider(min(low, high), high, -_LEAST_LOGARITHM)


def _logarithm_10(arguments: Sequence[ValueFacts]) -> Interval:
    (of,) = arguments
    low = math.log10(of.low) if of.low > 0 else -math.inf
    high = math.log10(of.high) if of.high > 0 else 0.0
    return _wider(min(low, high), high, -_LEAST_LOGARITHM)


def _exponential(arguments: Sequence[ValueFacts]) -> Interval:
    (of,) = arguments
    low, high = (math.exp(min(max(end, -64.0), 64.0)) for end in (of.low, of.high))
    return _wider(low, high, math.exp(min(of.high, of.most, 64.0)) * (1 + _SLACK))


def _wider(low: float, high: float, most: float) -> Interval:
    """By the rounding of logarithms and powers, and by the last bits in which engines differ."""
    low = low - _SLACK * (1 + abs(low)) if math.isfinite(low) else low
    high = high + _SLACK * (1 + abs(high)) if math.isfinite(high) else high
    return _between(low, high, most)


def _clamp(arguments: Sequence[ValueFacts]) -> Interval:
    of, low, high = arguments
    return _between(min(max(of.low, low.low), high.high), max(min(of.high, high.high), low.low))


def _least(arguments: Sequence[ValueFacts]) -> Interval:
    """NULL is passed over: only an argument that is never NULL is an upper bound for sure."""
    low = min(of.low for of in arguments)
    sure = [of.high for of in arguments if not of.nullable]
    high = min(sure) if sure else max(of.high for of in arguments)
    return _between(low, high, max(of.most for of in arguments))


def _greatest(arguments: Sequence[ValueFacts]) -> Interval:
    high = max(of.high for of in arguments)
    sure = [of.low for of in arguments if not of.nullable]
    low = max(sure) if sure else min(of.low for of in arguments)
    return _between(low, high, max(of.most for of in arguments))


def _any_of(arguments: Sequence[ValueFacts]) -> Interval:
    return _between(
        min(of.low for of in arguments),
        max(of.high for of in arguments),
        max(of.most for of in arguments),
    )


def _known(
    low: float, high: float, most: float | None = None
) -> Callable[[Sequence[ValueFacts]], Interval]:
    size = max(abs(low), abs(high)) if most is None else most
    return lambda _: Interval(low, high, size)


INTERVALS: dict[str, Callable[[Sequence[ValueFacts]], Interval]] = {
    "abs": _absolute,
    "sign": _known(-1.0, 1.0),
    "floor": _monotone(math.floor),
    "ceil": _monotone(math.ceil),
    "round": _monotone(rounded),
    "sqrt": _square_root,
    "ln": _logarithm,
    "log10": _logarithm_10,
    "exp": _exponential,
    "clamp": _clamp,
    "least": _least,
    "greatest": _greatest,
    "coalesce": _any_of,
    "nullif": lambda arguments: _any_of(arguments[:1]),
    "length": _known(0.0, math.inf, 1e10),
    "year": _known(-math.inf, math.inf, 9999.0),
    "quarter": _known(1.0, 4.0),
    "dow": _known(0.0, 6.0),
    "month": _known(1.0, 12.0),
    "day": _known(1.0, 31.0),
    "hour": _known(0.0, 23.0),
    "minute": _known(0.0, 59.0),
    "second": _known(0.0, 59.0),
    "week": _known(1.0, 53.0),
    "doy": _known(1.0, 366.0),
    "days_between": _known(-math.inf, math.inf, 3_652_058.0),
}
"""For each function that gives a number: where it lies."""


_CASTS: frozenset[tuple[Kind, Kind]] = frozenset(
    {
        ("integer", "real"),
        ("real", "integer"),
        ("boolean", "integer"),
        ("boolean", "real"),
        ("integer", "boolean"),
        ("real", "boolean"),
        ("text", "integer"),
        ("text", "real"),
        ("text", "date"),
        ("text", "timestamp"),
        ("text", "boolean"),
        ("boolean", "text"),
        ("integer", "text"),
        ("date", "text"),
    }
)


def bounds_remedy(expression: Expression) -> str:
    """What to do about an expression without bounds."""
    text = spell(expression)
    if isinstance(expression, Column):
        return f"declare low and high of column {text}, or write CLAMP({text}, 0, 100)"
    return f"write CLAMP({text}, 0, 100), with your own bounds"


def cast_facts(of: Cast, inner: ValueFacts) -> ValueFacts:
    """What is known of a cast, given what is known of its operand."""
    if inner.kind == of.kind:
        return replace(inner, unit=False)
    if (inner.kind, of.kind) not in _CASTS:
        remedies = {
            "text": "round it to a whole number first, as in ROUND(x)",
            "timestamp": "declare the column as a timestamp in the catalog",
            "date": "declare the column as a date in the catalog, or write DATE '2026-01-31'",
            "boolean": f"compare it: {spell(of.operand)} >= DATE '2026-01-31'",
        }
        raise RefusedQuery(
            (
                f"casting {article(inner.kind)} to {article(of.kind)} gives different results "
                "on different databases"
            ),
            remedy=remedies.get(of.kind, f"write YEAR({spell(of.operand)})"),
        )
    if of.kind not in NUMBERS:
        return ValueFacts(kind=of.kind, nullable=inner.nullable or inner.kind == "text")
    if inner.kind == "boolean":
        return number_facts(of.kind, 0.0, 1.0, grain=0, nullable=inner.nullable)
    if inner.kind == "text":
        grain = 0 if of.kind == "integer" else SMALLEST_GRAIN
        return ValueFacts(kind=of.kind, grain=grain)
    if of.kind == "real":
        return replace(inner, kind="real", keys=None, step=None, unit=False)
    if not inner.most <= LARGEST:
        raise RefusedQuery(
            (f"{spell(of.operand)} has no known bounds, and may be too large for a whole number"),
            remedy=bounds_remedy(of.operand),
        )
    (low, high, most) = INTERVALS["round"]([inner])
    return ValueFacts(kind="integer", low=low, high=high, most=most, nullable=inner.nullable)
