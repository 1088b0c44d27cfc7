"""The balance after every entry: for pictures, and for whoever asks when a budget was used."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from quaestor.accounting.numerics.digits import rounded_up
from quaestor.documents.presented import Presented
from quaestor.documents.text_table import TextTable, headed
from quaestor.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BalanceHistory", "BalancePoint", "thinned"]

_MOST_SHOWN = 20
_MOST_DRAWN = 2000


class BalancePoint(NamedTuple):
    """How an account, or an analyst's quota, stood after one change.

    >>> point = BalancePoint(1, "charged", "2026-01-01T00:00:00Z", "patients", 0.25, 0.25, (0.25,))
    >>> point.used
    0.25
    """

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
    """What was used of each meter, rounded up: by all datasets, or those that one person can be in.

    None where a meter is of no use.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceHistory(Presented):
    """All changes of a balance, in their order.

    ``epsilon`` and ``delta`` are the budget: of the account or, with an ``analyst``, of the quota.
    Readings hold together: with probability 1 - ``delta`` none of them was ever too small.

    >>> history = BalanceHistory(
    ...     account="trial", analyst=None, epsilon=1.0, delta=0.0, meters=("epsilon",), points=()
    ... )
    >>> len(history.points)
    0
    """

    account: str
    analyst: str | None
    epsilon: float
    delta: float
    meters: tuple[str, ...]
    points: tuple[BalancePoint, ...]
    block: str = ""
    """The block of time that it is of, where each has a budget of its own."""

    def __iter__(self) -> Iterator[BalancePoint]:
        """The points."""
        return iter(self.points)

    def __len__(self) -> int:
        """How many changes there were."""
        return len(self.points)

    @property
    def whose(self) -> str:
        """The account, or the quota of an analyst, that it is of."""
        quota = f"{self.analyst}'s quota of {self.account}"
        whose = self.account if self.analyst is None else quota
        return f"{whose} in {self.block}" if self.block else whose

    def to_table(self) -> TextTable:
        """The last changes, with the epsilon lost so far and the share of the budget used."""
        rows = [
            [
                str(point.number),
                point.time[:16].replace("T", " "),
                point.kind,
                point.dataset,
                "no finite value" if math.isinf(point.epsilon) else rounded_up(point.epsilon),
                f"{min(math.ceil(point.used * 100), 100 - (point.used < 1))} %",
            ]
            for point in self.points[-_MOST_SHOWN:]
        ]
        earlier = len(self) - len(rows)
        first = "#entry" if self.analyst is None else "#receipt"
        heads = headed(first, "#time (UTC)", "change", "dataset", "#epsilon so far", "#used")
        return TextTable(
            title=f"{self.whose}: epsilon {self.epsilon!r}, delta {self.delta!r}",
            headings=heads,
            rows=rows,
            notes=[f"and {earlier} earlier"] if earlier else [],
        )

    def plot(self, *, of: str = "left", axes: Any = None) -> Any:
        """Draw the burn-down: the share of the budget ``left``, or the ``epsilon`` lost so far.

        Returns matplotlib's axes: those that are given, or new ones.
        """
        from quaestor.figures.burn_down import BudgetCurves
        from quaestor.figures.style import given_or_new

        if of not in {"left", "epsilon"}:
            raise InvalidParameter("of", of, "left or epsilon")
        places = {id(point): place for place, point in enumerate(self, start=1)}
        kept = thinned(self, most=_MOST_DRAWN)
        shown = BudgetCurves(
            used=[point.used for point in kept],
            lost=[point.epsilon for point in kept],
            numbers=[places[id(point)] for point in kept],
            title=self.whose,
            delta=self.delta,
        )
        with given_or_new(axes) as drawn:
            (shown.plot_left if of == "left" else shown.plot_lost)(drawn)
            return drawn

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "account": self.account,
            "analyst": self.analyst,
            "epsilon": self.epsilon,
            "delta": self.delta,
            **({"block": self.block} if self.block else {}),
            "meters": list(self.meters),
            "points": [{**point._asdict(), "spent": list(point.spent)} for point in self.points],
        }


def thinned(history: BalanceHistory, *, most: int) -> BalanceHistory:
    """At most so many points, and at least two, that draw the same picture.

    Points are left out evenly; the first and the last stay, and each stretch keeps the one with
    the largest epsilon, so that nothing looks smaller than it was.

    >>> points = tuple(
    ...     BalancePoint(i, "charged", "2026-01-01T00:00:00Z", "visits", i / 99, i / 99, (i / 99,))
    ...     for i in range(99)
    ... )
    >>> history = BalanceHistory(
    ...     account="trial", analyst=None, epsilon=1.0, delta=0.0, meters=("used",), points=points
    ... )
    >>> len(thinned(history, most=10).points) <= 10
    True
    """
    points, kept = history.points, max(most, 2)
    if len(points) <= kept:
        return history
    inner = points[1:-1]
    cuts = [place * len(inner) // (kept - 2) for place in range(kept - 1)] if kept > 2 else []
    chosen = [
        max(inner[low:high], key=lambda point: point.epsilon)
        for low, high in itertools.pairwise(cuts)
    ]
    return replace(history, points=(points[0], *chosen, points[-1]))
