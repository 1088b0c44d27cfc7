"""Exact amounts: totals of meters, their text in the store, and floats on the safe side."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ExactSum",
    "Totals",
    "above",
    "added",
    "below",
    "subtracted",
    "totals_from_text",
    "totals_to_text",
]

_ZERO = Fraction(0)

Totals = dict[str, Fraction | None]
"""What was used of each meter; None where no amount would do, absent where nothing was used."""


class ExactSum:
    """A sum of many fractions, exactly; common divisors are looked for at the end only.

    >>> total = ExactSum()
    >>> total.add(Fraction(1, 2), 3)
    >>> total.add(Fraction(1, 4), 1)
    >>> total.value()
    Fraction(7, 4)
    """

    __slots__ = ("_numerators",)

    def __init__(self) -> None:
        """Nothing so far."""
        self._numerators: dict[int, int] = {}

    def add(self, amount: Fraction, count: int) -> None:
        """Add an amount so many times."""
        below = amount.denominator
        self._numerators[below] = self._numerators.get(below, 0) + amount.numerator * count

    def value(self) -> Fraction:
        """The sum."""
        return sum((Fraction(n, d) for d, n in self._numerators.items()), _ZERO)


def added(totals: Mapping[str, Fraction | None], costs: Mapping[str, Fraction | None]) -> Totals:
    """The totals after one more charge."""
    after = dict(totals)
    for meter, cost in costs.items():
        if cost is None:
            after[meter] = None
        elif cost:
            before = after.get(meter, _ZERO)
            after[meter] = None if before is None else before + cost
    return after


def subtracted(
    totals: Mapping[str, Fraction | None], costs: Mapping[str, Fraction | None]
) -> Totals | None:
    """The totals without that charge; None where they cannot be had from totals alone."""
    after = dict(totals)
    for meter, cost in costs.items():
        before = after.get(meter, Fraction(0))
        if before is None or cost is None:
            return None
        after[meter] = before - cost
    return {meter: total for meter, total in after.items() if total}


def totals_to_text(totals: Mapping[str, Fraction | None]) -> str:
    """One text for each state: meters in order, zeros left out, fractions written out.

    >>> totals_to_text({"b": Fraction(1, 2), "a": None, "c": Fraction(0)})
    '{"a":null,"b":"1/2"}'
    """
    written = (
        f"{quoted(meter)}:null" if total is None else f'{quoted(meter)}:"{total}"'
        for meter, total in sorted(totals.items())
        if total is None or total
    )
    return f"{{{','.join(written)}}}"


def totals_from_text(text: str) -> Totals:
    """Read back what :func:`totals_to_text` wrote; anything else is a TypeError or ValueError."""
    read = json.loads(text)
    if not isinstance(read, dict):
        raise TypeError(text)
    return {
        str(meter): None if total is None else _fraction(total) for meter, total in read.items()
    }


def _fraction(text: object) -> Fraction:
    if not isinstance(text, str):
        raise TypeError(text)
    return Fraction(text)


def above(exact: Fraction) -> float:
    """The smallest float that is not below."""
    value = _nearest(exact)
    return (
        value if value == math.inf or Fraction(value) >= exact else math.nextafter(value, math.inf)
    )


def below(exact: Fraction) -> float:
    """The largest float that is not above."""
    return 0.0 - above(-exact)  # no negative zero


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -1.7976931348623157e308
