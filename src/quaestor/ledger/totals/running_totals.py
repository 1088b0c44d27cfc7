"""Running totals: what a meter shows after every one of many changes, exactly.

Everything is in columns. Totals are whole numbers over one denominator for each meter; they become
floats, rounded up, at the end.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from quaestor.accounting.numerics.balls import ratio_at_least

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MeterColumn"]

_MOST_BITS = 900  # up to which floats are far from their ends


class MeterColumn:
    """What one meter shows after every change: exact, as whole numbers over one denominator.

    Args:
        costs: what each kind of charge uses; None if no amount would do.
        kinds: the kind of every change.
        signs: 1 for a charge, -1 for one that is given back.
    """

    __slots__ = ("_sums", "_useful", "below")

    def __init__(
        self, costs: Sequence[Fraction | None], kinds: Sequence[int], signs: Sequence[int]
    ) -> None:
        """Add everything up."""
        known = [cost for cost in costs if cost is not None]
        self.below = math.lcm(*(cost.denominator for cost in known))
        whole = [
            0 if cost is None else cost.numerator * (self.below // cost.denominator)
            for cost in costs
        ]
        steps = [whole[kind] * sign for kind, sign in zip(kinds, signs, strict=True)]
        self._sums = list(accumulate(steps))
        self._useful: list[bool] | None = None
        if len(known) < len(costs):
            useless = [int(cost is None) for cost in costs]
            counts = accumulate(useless[k] * s for k, s in zip(kinds, signs, strict=True))
            self._useful = [count == 0 for count in counts]

    def floats(self) -> list[float | None]:
        """Rounded up; None while there is a charge of which the meter says nothing."""
        if not any(self._sums):
            return self._where_useful([0.0] * len(self._sums))
        bits = self.below.bit_length() - 1
        if self.below != 1 << bits or not _MOST_BITS > bits > self._largest_bits() - _MOST_BITS:
            return self._where_useful([_up(total, self.below) for total in self._sums])
        nearest = zip(map(float, self._sums), self._sums, strict=True)
        ups = [near if near >= total else math.nextafter(near, math.inf) for near, total in nearest]
        part = math.ldexp(1.0, -bits)  # a power of two: to multiply by it rounds nothing
        return self._where_useful([value * part for value in ups])

    def _largest_bits(self) -> int:
        high, low = max(self._sums), min(self._sums)
        return max(high, -low).bit_length()

    def shares(self, limit: Fraction, *, at: Sequence[int]) -> list[float]:
        """The share of a limit that is gone, rounded up, 1 at most: at some places."""
        sums = self._sums
        if not limit:
            return [1.0 if sums[place] else 0.0 for place in at]
        below, above = self.below * limit.numerator, limit.denominator
        return [
            1.0 if part >= below else _up(part, below)
            for part in map(above.__mul__, map(sums.__getitem__, at))
        ]

    def readings(self, *, nats: Fraction, order: Fraction, at: Sequence[int]) -> list[float]:
        """The totals with ``nats`` added, divided by ``order``, rounded up: at some places."""
        above = nats.denominator * order.denominator
        more = nats.numerator * self.below * order.denominator
        below = self.below * nats.denominator * order.numerator
        sums = self._sums
        return [_up(sums[place] * above + more, below) for place in at]

    def above(self, limit: Fraction) -> list[bool]:
        """Where it is above a limit, or of no use."""
        most = limit.numerator * self.below // limit.denominator
        useful = self._useful
        if useful is None:
            return [total > most for total in self._sums]
        return [not good or n > most for n, good in zip(self._sums, useful, strict=True)]

    def replaced(self, totals: Sequence[Fraction]) -> None:
        """Show these totals instead, rounded up where they are no multiples of the denominator."""
        below = self.below
        self._sums = [-(-t.numerator * below // t.denominator) for t in totals]

    def total(self, place: int) -> Fraction:
        """The exact total after one change."""
        return Fraction(self._sums[place], self.below)

    def _where_useful(self, values: list[float]) -> list[float | None]:
        if self._useful is None:
            return list(values)
        return [v if good else None for v, good in zip(values, self._useful, strict=True)]


def _up(numerator: int, denominator: int) -> float:
    value = ratio_at_least(numerator, denominator)
    return math.inf if value is None else value
