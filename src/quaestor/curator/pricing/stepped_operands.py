"""Operands in whole steps, and centred on the middle of their bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from quaestor.curator.language.expressions import Arithmetic, Constant, Expression
from quaestor.errors import InvalidParameter

__all__ = ["MOST_STEPS", "Stepped", "centred", "squared", "stepped"]

MOST_STEPS = 2**24  # from 0 to a value: so no sum of 2^38 rows leaves 63 bits
_CLOSE = Fraction(1, 10**6)  # a bound that is a decimal fraction is a multiple but for rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """An operand less its ``centre``, from ``low`` to ``high`` whole steps."""

    operand: Expression
    low: int
    high: int
    step: float
    centre: float = 0.0

    @property
    def reach(self) -> int:
        """The most steps that a value is from 0."""
        return max(abs(self.low), abs(self.high))


def stepped(operand: Expression, *, low: float, high: float, step: float) -> Stepped:
    """The operand as it is, its bounds moved outwards to whole steps.

    >>> from quaestor.curator.language.expressions import Column
    >>> counted = stepped(Column("age"), low=0.0, high=12.25, step=0.5)
    >>> counted.low, counted.high
    (0, 25)
    """
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise InvalidParameter("bounds", (low, high), "two finite numbers in order")
    if not (math.isfinite(step) and step > 0):
        raise InvalidParameter("step", step, "a positive number")
    first, last = Fraction(low) / Fraction(step), Fraction(high) / Fraction(step)
    lowest = round(first) if abs(first - round(first)) < _CLOSE else math.floor(first)
    highest = round(last) if abs(last - round(last)) < _CLOSE else math.ceil(last)
    if max(abs(lowest), abs(highest)) > MOST_STEPS:
        raise InvalidParameter(
            "step", step, f"coarser: the bounds may be {MOST_STEPS} steps from 0 at most"
        )
    return Stepped(operand=operand, low=lowest, high=highest, step=step)


def centred(whole: Stepped) -> Stepped:
    """The operand less the middle of its bounds.

    If the middle lies between two steps, steps are halved, unless they would be too many; then
    the middle is rounded down to a step.

    >>> from quaestor.curator.language.expressions import Column
    >>> flag = centred(stepped(Column("smoker"), low=0.0, high=1.0, step=1.0))
    >>> flag.centre, flag.low, flag.high, flag.step
    (0.5, -1, 1, 0.5)
    """
    twice, width = whole.low + whole.high, whole.high - whole.low
    if twice % 2 and width <= MOST_STEPS:
        step, middle, factor = whole.step / 2, twice, 2
    else:
        step, middle, factor = whole.step, twice // 2, 1
    centre = middle * step
    operand = whole.operand
    if centre:
        operand = Arithmetic("-", operand, Constant(centre, "real"))
    return Stepped(
        operand=operand,
        low=whole.low * factor - middle,
        high=whole.high * factor - middle,
        step=step,
        centre=centre,
    )


def squared(middle: Stepped) -> Stepped:
    """The square of a centred operand, centred itself.

    Its step is the square of the operand's, doubled until bounds of 2^24 steps hold it.
    """
    largest, step = middle.reach**2, middle.step**2
    doublings = max(0, (largest - 1).bit_length() - MOST_STEPS.bit_length() + 1)
    product = Arithmetic("*", middle.operand, middle.operand)
    high = -(-largest // 2**doublings)
    return centred(Stepped(operand=product, low=0, high=high, step=step * 2**doublings))
