"""A filter as a limit: over all charges of an account, or over those of one analyst."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.ledger.limits import Limit
from quaestor.ledger.price import Balance, Reading
from quaestor.ledger.theory import cost, heaviest, realised_cost
from quaestor.ledger.totals.amounts import added, shown_above, shown_below

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.accounting.filters.base import Filter, Meter
    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.request import Request
    from quaestor.ledger.totals.amounts import Totals

__all__ = ["MANY", "FilterLimit"]

MANY = 10**15
"""How many times something fits that uses nothing: as many as a count can be."""

_MOST_KNOWN = 4096
_ZERO = Fraction(0)
_NOTHING: Totals = {}


class FilterLimit(Limit):
    """What a filter allows, given what is known about who is in which dataset.

    Two compared worlds differ in some datasets only; releases of the others look the same in both,
    whatever they are, and lose nothing. So every meter counts the heaviest set of datasets that
    the facts allow two worlds to differ in, and the filter's theorem holds for each such pair.
    """

    __slots__ = ("_alone", "_costs", "_definition", "_meters", "analyst", "filter")

    def __init__(
        self, definition: AccountDefinition, chosen: Filter, *, analyst: str | None = None
    ) -> None:
        """Keep the filter, and whose it is."""
        self._definition, self.filter, self.analyst = definition, chosen, analyst
        listed = chosen.every + chosen.some
        self._meters: tuple[tuple[str, Meter], ...] = tuple(
            (f"{place}:{meter.key}", meter) for place, meter in enumerate(listed)
        )
        self._costs: dict[tuple[tuple[Release, ...], bool], Totals] = {}
        self._alone = len(definition.datasets) == 1 and definition.membership is None

    def costs(self, request: Request) -> Totals:
        """The cost of the releases on every meter; what was asked before is remembered."""
        asked = request.releases, request.realised
        known = self._costs.get(asked)
        if known is None:
            neighbours = self._definition.neighbours
            priced = realised_cost if request.realised else cost
            known = {
                key: priced(meter, request.releases, neighbours=neighbours)
                for key, meter in self._meters
            }
            if len(self._costs) >= _MOST_KNOWN:
                self._costs.clear()
            self._costs[asked] = known
        return known

    def after(self, spent: Mapping[str, Totals], request: Request) -> Totals | None:
        """The totals with the request added, if the filter lets it through."""
        costs, dataset = self.costs(request), request.dataset
        after = added(spent.get(dataset, _NOTHING), costs)
        if self._alone:
            shown = {meter: after.get(key, _ZERO) for key, meter in self._meters}
        else:
            shown = {m: self._total(spent, key, dataset, costs[key]) for key, m in self._meters}
        return after if self.filter.fits(shown) else None

    def holds(self, spent: Mapping[str, Totals]) -> bool:
        """Whether the history itself is within the filter."""
        return self.filter.fits(self._totals(spent))

    def excess(self, spent: Mapping[str, Totals]) -> str:
        """The meters that are over their limits."""
        over = [
            f"{meter.key}: at most {shown_below(meter.limit)}, "
            + (
                "and nothing is known of some of what was charged"
                if total is None
                else f"used {shown_above(total)}"
            )
            for meter, total in self._totals(spent).items()
            if total is None or total > meter.limit
        ]
        return "; ".join(over)

    def _totals(self, spent: Mapping[str, Totals]) -> dict[Meter, Fraction | None]:
        first = self._definition.datasets[0]
        return {meter: self._total(spent, key, first, _ZERO) for key, meter in self._meters}

    def readings(self, spent: Mapping[str, Totals], request: Request) -> tuple[Reading, ...]:
        """Every meter, those that all histories must keep to first."""
        costs = self.costs(request)
        return tuple(
            Reading(
                meter=meter.key,
                analyst=self.analyst,
                requested=costs[key],
                remaining=self._remaining(spent, key, meter, request.dataset),
                limit=meter.limit,
            )
            for key, meter in self._meters
        )

    def short(self, readings: tuple[Reading, ...]) -> Reading | None:
        """A meter that must hold and does not; or the best of those that may, if none does."""
        every, some = self._parted(readings)
        for reading in every:
            if not reading.fits:
                return reading
        if some and not any(reading.fits for reading in some):
            return min(some, key=_excess)
        return None

    def times(self, spent: Mapping[str, Totals], request: Request) -> int:
        """The least of the meters that must hold, with the best of those that may."""
        every, some = self._parted(self.readings(spent, request))
        return min(min(map(_times, every), default=MANY), max(map(_times, some), default=MANY))

    def balances(self, spent: Mapping[str, Totals], dataset: str) -> tuple[Balance, ...]:
        """Every meter on one dataset."""
        return tuple(
            Balance(
                meter=meter.key,
                dataset=dataset,
                analyst=self.analyst,
                spent=spent.get(dataset, {}).get(key, Fraction(0)),
                remaining=self._remaining(spent, key, meter, dataset),
                limit=meter.limit,
            )
            for key, meter in self._meters
        )

    def _parted(self, readings: tuple[Reading, ...]) -> tuple[tuple[Reading, ...], ...]:
        count = len(self.filter.every)
        return readings[:count], readings[count:]

    def _total(
        self, spent: Mapping[str, Totals], key: str, dataset: str, extra: Fraction | None
    ) -> Fraction | None:
        """What the meter shows with ``extra`` on one dataset; None where no amount would do."""
        if extra is None:
            return None
        if self._alone:
            before = spent.get(dataset, _NOTHING).get(key, _ZERO)
            return None if before is None else before + extra
        weights = {}
        for name in self._definition.datasets:
            total = spent.get(name, _NOTHING).get(key, _ZERO)
            if total is None:
                return None
            weights[name] = total
        weights[dataset] += extra
        return heaviest(
            weights,
            membership=self._definition.membership,
            neighbours=self._definition.neighbours,
        )

    def _remaining(
        self, spent: Mapping[str, Totals], key: str, meter: Meter, dataset: str
    ) -> Fraction | None:
        """The most that may be added on one dataset.

        The heaviest total is the larger of what leaves the dataset out, and of b + x with x added
        on it. Adding the whole limit makes the second the larger one, and shows b.
        """
        now = self._total(spent, key, dataset, _ZERO)
        full = self._total(spent, key, dataset, meter.limit)
        if now is None or full is None:
            return None
        return _ZERO if now > meter.limit else max(_ZERO, 2 * meter.limit - full)


def _times(reading: Reading) -> int:
    if reading.requested is None or reading.remaining is None:
        return 0
    return min(MANY, reading.remaining // reading.requested) if reading.requested else MANY


def _excess(reading: Reading) -> Fraction:
    """How far over, as a share of the limit; meters without an answer come last."""
    if reading.difference is None:
        return Fraction(10**30)
    return reading.difference / reading.limit if reading.limit else Fraction(10**29)
