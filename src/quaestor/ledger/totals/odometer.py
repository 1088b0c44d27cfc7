"""What an account has lost so far: a reading that is valid at every time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from quaestor.ledger.amounts import ExactSum
from quaestor.ledger.theory import (
    heaviest,
    misfit,
    odometer,
    realised_cost,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from quaestor.accounting.filters.base import Meter
    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.price import Request

__all__ = ["KnownCosts", "OdometerReading", "PricedLists", "read_odometer"]

_MOST_KNOWN = 1 << 20  # costs that are remembered: some hundred bytes each


@dataclass(frozen=True, slots=True, kw_only=True)
class OdometerReading:
    """With probability 1 - ``delta`` nothing that was ever charged has lost more than ``epsilon``.

    ``epsilon`` is infinite where some release is known in no way that an odometer can add up.

    >>> OdometerReading(epsilon=0.5, delta=1e-6).epsilon
    0.5
    """

    epsilon: float
    delta: float


PricedList = tuple[tuple["Release", ...], bool]
"""Releases of one charge, and whether it is a history that was realised before the account."""


class KnownCosts:
    """Costs of releases by meter, each computed once; safe to be used by several threads."""

    __slots__ = ("_count", "_known", "_lock")

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[str, dict[Release, Fraction | None]] = {}
        self._count, self._lock = 0, Lock()

    def of(self, meter: Meter, releases: Iterable[Release]) -> Mapping[Release, Fraction | None]:
        """The costs of these single releases, perhaps among others."""
        with self._lock:
            known = self._known.setdefault(meter.key, {})
            missing = [release for release in dict.fromkeys(releases) if release not in known]
            if self._count + len(missing) > _MOST_KNOWN:
                self._known, self._count = {meter.key: known}, len(known)
            costs = dict(zip(missing, meter.costs_of(missing), strict=True))
            if len(known) + len(missing) > _MOST_KNOWN:
                return {**known, **costs}
            known.update(costs)
            self._count += len(missing)
            return known


def read_odometer(
    definition: AccountDefinition,
    charged: Iterable[tuple[Request, int]],
    *,
    delta: float,
    costs: KnownCosts | None = None,
) -> OdometerReading:
    """Read what these charges, each with how often it was made, have lost together.

    Args:
        definition: the account's, for its datasets and which worlds are compared.
        charged: the charges.
        delta: the probability that any reading is ever too small.
        costs: where costs are remembered from one reading to the next.
    """
    counts: dict[str, Counter[PricedList]] = {dataset: Counter() for dataset in definition.datasets}
    for request, count in charged:
        counts[request.dataset][request.releases, request.realised] += count
    lists = dict.fromkeys(listed for counter in counts.values() for listed in counter)
    priced = PricedLists(
        tuple(lists),
        neighbours=definition.neighbours,
        costs=KnownCosts() if costs is None else costs,
    )

    def total(meter: Meter) -> Fraction | None:
        used = priced.costs(meter)
        weights = {dataset: _sum(used, counter) for dataset, counter in counts.items()}
        return _across(definition, weights)

    reading = odometer(delta=delta).reading_of(total)
    return OdometerReading(epsilon=reading.epsilon, delta=reading.delta)


def _sum(
    used: Mapping[PricedList, Fraction | None], counts: Counter[PricedList]
) -> Fraction | None:
    total = ExactSum()
    for listed, count in counts.items():
        cost = used[listed]
        if cost is None:
            return None
        total.add(cost, count)
    return total.value()


class PricedLists:
    """Lists of releases, and what each costs where worlds differ in one way.

    What :func:`quaestor.ledger.theory.cost` says of each (of a list that was realised,
    :func:`quaestor.ledger.theory.realised_cost`), with the costs of all releases asked for at once.
    """

    __slots__ = ("_asked", "_costs", "_counted", "_neighbours", "_replaced")

    def __init__(self, asked: Sequence[PricedList], *, neighbours: str, costs: KnownCosts) -> None:
        """Count the single releases of every list."""
        self._asked, self._costs, self._neighbours = asked, costs, neighbours
        lists = {listed for listed, realised in asked if not realised and misfit(listed) is None}
        self._counted = {listed: _singles(listed) for listed in lists}
        self._replaced = (
            {listed: _singles(each.with_record_replaced() for each in listed) for listed in lists}
            if neighbours == "replace_record"
            else None
        )

    def costs(self, meter: Meter) -> dict[PricedList, Fraction | None]:
        """What each list uses of a meter; None if no amount would do."""
        known = self._chosen(meter)
        return {
            (listed, realised): realised_cost(meter, listed, neighbours=self._neighbours)
            if realised
            else known.get(listed)
            for listed, realised in self._asked
        }

    def _chosen(self, meter: Meter) -> dict[tuple[Release, ...], Fraction | None]:
        """What each list uses that was charged one by one, or fixed before it began."""
        once = self._each(meter, self._counted)
        if self._replaced is None:
            return once
        twice = self._each(meter, self._replaced)
        return {listed: _larger(twice[listed], cost) for listed, cost in once.items()}

    def _each(
        self, meter: Meter, lists: Mapping[tuple[Release, ...], Sequence[tuple[Release, int]]]
    ) -> dict[tuple[Release, ...], Fraction | None]:
        singles = (release for counted in lists.values() for release, _ in counted)
        known = self._costs.of(meter, singles)
        return {listed: _together(known, counted) for listed, counted in lists.items()}


def _singles(releases: Iterable[Release]) -> tuple[tuple[Release, int], ...]:
    return tuple(release.counted() for release in releases)


def _together(
    known: Mapping[Release, Fraction | None], counted: Sequence[tuple[Release, int]]
) -> Fraction | None:
    if len(counted) == 1 and counted[0][1] == 1:
        return known[counted[0][0]]
    total = ExactSum()
    for release, count in counted:
        cost = known[release]
        if cost is None:
            return None
        total.add(cost, count)
    return total.value()


def _larger(twice: Fraction | None, once: Fraction | None) -> Fraction | None:
    return None if twice is None or once is None else max(twice, 2 * once)


def _across(definition: AccountDefinition, weights: dict[str, Fraction | None]) -> Fraction | None:
    known = {name: weight for name, weight in weights.items() if weight is not None}
    if len(known) < len(weights):
        return None
    return heaviest(known, membership=definition.membership, neighbours=definition.neighbours)
