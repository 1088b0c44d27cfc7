"""From the changes of an account to its balance after each: all meters, and the odometer."""

from __future__ import annotations

import gc
import math
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from quaestor.ledger import stored_text as texts
from quaestor.ledger.account_limits import EVERYBODY
from quaestor.ledger.price import Request
from quaestor.ledger.theory import heaviest, odometer
from quaestor.ledger.totals.balance_history import BalanceHistory, BalancePoint
from quaestor.ledger.totals.odometer import KnownCosts, PricedLists
from quaestor.ledger.totals.running_totals import MeterColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

    from quaestor.accounting.filters import Odometer
    from quaestor.accounting.filters.base import Meter
    from quaestor.ledger.account_limits import AccountLimits
    from quaestor.ledger.policies.base import Limit

__all__ = ["balance_history"]

_MARGIN = 1e-7  # far more than what floats do to a sum by which orders are compared


Change = tuple[str, int, str, str, str, str, str, str]
"""What was charged or given back, as the store tells it: ``statements.CHANGES``."""


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without searches for garbage: hundreds of thousands of rows are made, and all are kept."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_uncollected()
def balance_history(
    limits: AccountLimits,
    changes: Iterable[Change],
    *,
    analyst: str,
    costs: KnownCosts,
    block: str = "",
) -> BalanceHistory:
    """The balance that this analyst may see, after every change of it: see ``shown_to``.

    With a block of time it is that block's, after every change of that.
    """
    definition, holder = limits.definition, limits.shown_to(analyst)
    own = None if holder == EVERYBODY else definition.quota(holder)
    limit = limits.limit(holder)
    made = _Made(changes, holder, block)
    kept = _Kept(limits, made, costs)
    target = definition if own is None else own
    if limit.filter is not None:
        meters = limit.filter.meters
        names = tuple(meter.key for meter in meters)
        columns = [kept.column(meter) for meter in meters]
        spent = [column.floats() for column in columns]
        highest = [meter.limit for meter in meters]
        used = _used(columns, spent, highest, must=len(limit.filter.every))
    else:
        names = ("slots",)
        columns = [MeterColumn([_taken(limit, r) for r in made.requests], made.kinds, made.signs)]
        spent = [column.floats() for column in columns]
        slots = sum(b.limit for d in definition.datasets for b in limit.balances({}, d))
        used = columns[0].shares(Fraction(slots), at=range(len(made.kinds)))
    readings = kept.readings(odometer(delta=target.delta))
    facts = (made.numbers, made.names, made.times, made.datasets)
    rows = zip(*facts, readings, used, zip(*spent, strict=True), strict=True)
    return BalanceHistory(
        account=definition.name,
        analyst=None if own is None else holder,
        epsilon=target.epsilon,
        delta=target.delta,
        meters=names,
        points=tuple(map(BalancePoint._make, rows)),
        block=block,
    )


def _taken(limit: Limit, request: Request) -> Fraction:
    return sum((taken or Fraction(0) for taken in limit.costs(request).values()), Fraction(0))


def _used(
    columns: Sequence[MeterColumn],
    spent: Sequence[list[float | None]],
    limits: Sequence[Fraction],
    *,
    must: int,
) -> list[float]:
    """The fullest of those that must hold, and the emptiest of those of which one must.

    Floats find the one; it is asked exactly.
    """
    import numpy as np

    count = len(spent[0])
    with np.errstate(all="ignore"):
        rough = np.array(
            [
                np.array([math.inf if v is None else v for v in column]) / (float(most) or 5e-324)
                for column, most in zip(spent, limits, strict=True)
            ]
        ).reshape(len(spent), count)
    places = np.arange(count)
    which = np.argmax(rough[:must], axis=0)
    if len(rough) > must:
        best = must + np.argmin(rough[must:], axis=0)
        which = np.where(rough[which, places] > rough[best, places], which, best)
    used = np.ones(count)
    for row, (column, most) in enumerate(zip(columns, limits, strict=True)):
        at = np.flatnonzero((which == row) & np.isfinite(rough[row]))
        used[at] = column.shares(most, at=at.tolist())
    return used.tolist()


class _Made:
    """The changes of somebody's balance: each different request once, and columns beside."""

    def __init__(self, changes: Iterable[Change], holder: str, block: str = "") -> None:
        kinds: dict[tuple[str, str, str, bool], int] = {}
        charged: dict[int, int] = {}  # where in the columns each entry was charged
        self.kinds: list[int] = []
        self.signs: list[int] = []
        self.numbers: list[int] = []
        self.names: list[str] = []
        self.times: list[str] = []
        self.datasets: list[str] = []
        count = 0
        for kind, entry, time, analyst, dataset, query, releases, statement in changes:
            if kind == "void":
                if entry not in charged:
                    continue  # somebody else's, or in other blocks
                place = charged[entry]
                which, number, where = self.kinds[place], self.numbers[place], self.datasets[place]
                name, sign = "void", -1
            else:
                if holder not in (EVERYBODY, analyst):
                    continue
                said, blocks = texts.parts_of(statement)
                count += 1
                if block and block not in blocks:
                    continue
                number, where = (entry if holder == EVERYBODY else count), dataset
                realised = kind == "imported" and not said
                which = kinds.setdefault((dataset, query, releases, realised), len(kinds))
                charged[entry] = len(self.kinds)
                name, sign = ("imported" if kind == "imported" else "charged"), 1
            self.kinds.append(which)
            self.signs.append(sign)
            self.numbers.append(number)
            self.names.append(name)
            self.times.append(time)
            self.datasets.append(where)
        self.requests = tuple(
            Request(
                releases=texts.releases_from_text(text),
                dataset=dataset,
                query=query,
                realised=realised,
            )
            for dataset, query, text, realised in kinds
        )


class _Kept:
    """Columns of meters, each made once."""

    def __init__(self, limits: AccountLimits, made: _Made, costs: KnownCosts) -> None:
        self._definition, self._made = limits.definition, made
        lists = tuple(dict.fromkeys((each.releases, each.realised) for each in made.requests))
        neighbours = limits.definition.neighbours
        self._lists = PricedLists(lists, neighbours=neighbours, costs=costs)
        self._columns: dict[str, MeterColumn] = {}
        self._steps: tuple[Any, Any] | None = None

    def costs(self, meter: Meter) -> list[Fraction | None]:
        """What each different request uses."""
        used = self._lists.costs(meter)
        return [used[request.releases, request.realised] for request in self._made.requests]

    def column(self, meter: Meter) -> MeterColumn:
        """What the meter shows after every change: of the worst that one person can be in."""
        if meter.key not in self._columns:
            self._columns[meter.key] = self._made_column(meter)
        return self._columns[meter.key]

    def _made_column(self, meter: Meter) -> MeterColumn:
        made, definition = self._made, self._definition
        costs = self.costs(meter)
        column = MeterColumn(costs, made.kinds, made.signs)
        if definition.membership is not None:
            weights = dict.fromkeys(definition.datasets, Fraction(0))
            totals = []
            for kind, sign in zip(made.kinds, made.signs, strict=True):
                weights[made.requests[kind].dataset] += sign * (costs[kind] or 0)
                totals.append(
                    heaviest(
                        weights,
                        membership=definition.membership,
                        neighbours=definition.neighbours,
                    )
                )
            column.replaced(totals)
        return column

    def readings(self, chosen: Odometer) -> list[float]:
        """What the odometer reads after every change.

        Floats find the orders that can be the least at each place; those are asked exactly.
        """
        epsilons, deltas, *_ = chosen.meters
        best = [math.inf if v is None else v for v in self.column(epsilons).floats()]
        if chosen.rounds and best:
            self._lower(best, chosen)
        told = self.column(deltas).above(Fraction(chosen.reserved))
        return [math.inf if bad else value for value, bad in zip(best, told, strict=True)]

    def _lower(self, best: list[float], chosen: Odometer) -> None:
        import numpy as np

        rough = np.array([self._rough(m, nats) for m, nats in chosen.rounds])
        least = np.minimum(np.min(rough, axis=0), np.array(best)) * (1 + _MARGIN)
        for row, (meter, nats) in zip(rough, chosen.rounds, strict=True):
            places = np.flatnonzero((row <= least) & np.isfinite(row)).tolist()
            if not places:
                continue
            order = Fraction(meter.order)
            exact = self.column(meter).readings(nats=nats, order=order, at=places)
            for place, value in zip(places, exact, strict=True):
                best[place] = min(best[place], value)

    def _rough(self, meter: Meter, nats: Fraction) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """About what the order says after every change; infinity where it says nothing."""
        import numpy as np

        order = float(Fraction(meter.order))  # type: ignore[attr-defined]  # of a moment
        if self._definition.membership is not None:
            values = [math.inf if v is None else v for v in self.column(meter).floats()]
            return (np.array(values) + float(nats)) / order
        costs = self.costs(meter)
        if self._steps is None:
            self._steps = np.array(self._made.kinds), np.array(self._made.signs, np.float64)
        kinds, signs = self._steps
        sizes = np.array([0.0 if cost is None else float(cost) for cost in costs])
        lost = np.array([cost is None for cost in costs])
        totals = np.cumsum(sizes[kinds] * signs)
        useless = np.cumsum(np.where(lost[kinds], signs, 0.0)) > 0
        return np.where(useless, math.inf, (totals + float(nats)) / order)
