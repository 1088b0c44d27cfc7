"""The balance after every entry: for pictures, and for whoever asks when a budget was used.

Everything is in columns. Totals are exact whole numbers over one denominator for each meter; they
become floats, rounded up, at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.accounting.filters.rounding import ratio_at_least

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["BalanceHistory", "BalancePoint", "Column", "thinned"]


class BalancePoint(NamedTuple):
    """How an account, or an analyst's quota, stood after one change."""

    number: int
    """The entry or, in the history of an analyst's quota, which of the own charges it was."""
    kind: str
    """``charged``, ``imported``, or ``void``: given back."""
    time: str
    dataset: str
    epsilon: float
    """What was lost so far at most, except with probability delta: the odometer's reading."""
    used: float
    """The share of the budget that is gone, rounded up."""
    spent: tuple[float | None, ...]
    """What all datasets together have used of each meter, rounded up; None where it is of no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceHistory:
    """All changes of a balance, in their order.

    ``epsilon`` and ``delta`` are the budget: of the account or, with an ``analyst``, of the quota.
    Readings hold together: with probability 1 - ``delta`` none of them was ever too small.
    """

    account: str
    analyst: str | None
    epsilon: float
    delta: float
    meters: tuple[str, ...]
    points: tuple[BalancePoint, ...]

    def __iter__(self) -> Iterator[BalancePoint]:
        """The points."""
        return iter(self.points)

    def __len__(self) -> int:
        """How many changes there were."""
        return len(self.points)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "account": self.account,
            "analyst": self.analyst,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "meters": list(self.meters),
            "points": [
                {**point._asdict(), "spent": list(point.spent)} for point in self.points
            ],
        }


def thinned(history: BalanceHistory, *, most: int) -> BalanceHistory:
    """At most so many points, and at least two, that draw the same picture.

    Points are left out evenly; the first and the last stay, and each stretch keeps the one with
    the largest epsilon, so that nothing looks smaller than it was.
    """
    points, kept = history.points, max(most, 2)
    if len(points) <= kept:
        return history
    inner = points[1:-1]
    cuts = [place * len(inner) // (kept - 2) for place in range(kept - 1)] if kept > 2 else []
    chosen = [
        max(inner[low:high], key=lambda point: point.epsilon)
        for low, high in zip(cuts, cuts[1:], strict=False)
    ]
    return BalanceHistory(
        account=history.account,
        analyst=history.analyst,
        epsilon=history.epsilon,
        delta=history.delta,
        meters=history.meters,
        points=(points[0], *chosen, points[-1]),
    )


class Column:
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
        below = self.below
        return self._where_useful([_up(total, below) for total in self._sums])

    def shares(self, limit: Fraction) -> list[float | None]:
        """The share of a limit that is gone, rounded up; 1 at most."""
        if not limit:
            return self._where_useful([0.0 if not total else 1.0 for total in self._sums])
        below, above = self.below * limit.numerator, limit.denominator
        return self._where_useful([min(_up(n * above, below), 1.0) for n in self._sums])

    def readings(self, *, nats: Fraction, order: Fraction) -> list[float | None]:
        """The totals with ``nats`` added, divided by ``order``, rounded up."""
        above = nats.denominator * order.denominator
        more = nats.numerator * self.below * order.denominator
        below = self.below * nats.denominator * order.numerator
        return self._where_useful([_up(n * above + more, below) for n in self._sums])

    def above(self, limit: Fraction) -> list[bool]:
        """Where it is above a limit, or of no use."""
        most = limit.numerator * self.below // limit.denominator
        useful = self._useful
        if useful is None:
            return [total > most for total in self._sums]
        return [not good or n > most for n, good in zip(self._sums, useful, strict=True)]

    def _where_useful(self, values: list[float]) -> list[float | None]:
        if self._useful is None:
            return list(values)
        return [v if good else None for v, good in zip(values, self._useful, strict=True)]


def _up(numerator: int, denominator: int) -> float:
    value = ratio_at_least(numerator, denominator)
    return math.inf if value is None else value
