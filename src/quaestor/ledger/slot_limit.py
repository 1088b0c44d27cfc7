"""A plan as a limit: declared slots, of which each can be taken once."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from quaestor.errors import NotPlanned
from quaestor.ledger.limits import Limit
from quaestor.ledger.policies.kinds import Planned, counted
from quaestor.ledger.price import Balance, Reading
from quaestor.ledger.totals.amounts import added

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.policies.kinds import Dashboard
    from quaestor.ledger.request import Request
    from quaestor.ledger.totals.amounts import Totals

__all__ = ["SlotLimit"]

_MOST_SHOWN = 5
_REALISED = "imported without a statement"
"""The meter of histories that an older ledger took for slots; no plan has any of it."""


class _Slot(NamedTuple):
    """One kind of slot: its meter, how often it was declared, and what it is in words."""

    meter: str
    limit: Fraction
    title: str


class SlotLimit(Limit):
    """The slots of a plan, or the queries of a dashboard. Only what was declared can be taken."""

    __slots__ = ("_account", "_policy", "_slots")

    def __init__(self, definition: AccountDefinition, policy: Planned | Dashboard) -> None:
        """Count what is declared, in an order that depends on the declaration alone."""
        self._account, self._policy = definition.name, policy
        self._slots: dict[str, dict[str, _Slot]] = {name: {} for name in definition.datasets}
        if isinstance(policy, Planned):
            for dataset, releases in policy.releases.items():
                for release, count in counted(releases).items():
                    meter = release.to_json()
                    title = f"slots of {release}"
                    self._slots[dataset][meter] = _Slot(meter, Fraction(count), title)
        else:
            for query, (dataset, _) in policy.queries.items():
                self._slots[dataset][query] = _Slot(query, Fraction(1), f"query {query}")

    def costs(self, request: Request) -> Totals:
        """One for each slot that is taken.

        Raises:
            NotPlanned: something of the request was not declared.
        """
        if request.realised:
            return {_REALISED: Fraction(1)}
        taken = self._taken(request)
        slots = self._slots[request.dataset]
        for meter in taken:
            if meter not in slots:
                raise NotPlanned(self._account, asked=self._asked(request), left=self._declared())
        return dict(taken)

    def _taken(self, request: Request) -> dict[str, Fraction]:
        if isinstance(self._policy, Planned):
            counts = counted(request.releases)
            return {release.to_json(): Fraction(count) for release, count in counts.items()}
        declared = self._policy.queries.get(request.query)
        if declared is None or counted(declared[1]) != counted(request.releases):
            raise NotPlanned(self._account, asked=self._asked(request), left=self._declared())
        return {request.query: Fraction(1)}

    def _asked(self, request: Request) -> str:
        listed = ", ".join(map(str, request.releases))
        named = f" for query {request.query!r}" if request.query else ""
        return f"{listed} on dataset {request.dataset!r}{named}"

    def _declared(self) -> str:
        """What the plan has, in words; the beginning of it where it is long."""
        listed = [
            f"{slot.title} on {dataset!r} ({slot.limit})"
            for dataset, slots in self._slots.items()
            for slot in slots.values()
        ]
        more = f" and {len(listed) - _MOST_SHOWN} more" if len(listed) > _MOST_SHOWN else ""
        return f"it declares {', '.join(listed[:_MOST_SHOWN])}{more}"

    def after(self, spent: Mapping[str, Totals], request: Request) -> Totals | None:
        """The slots that are taken afterwards, if all that are asked for are free."""
        if any(_REALISED in totals for totals in spent.values()):
            return None  # the plan has no promise left to keep, on any dataset
        costs, taken = self.costs(request), spent.get(request.dataset, {})
        slots = self._slots[request.dataset]
        after = added(taken, costs)
        free = all(
            meter in slots and (total or 0) <= slots[meter].limit for meter, total in after.items()
        )
        return after if free else None

    def holds(self, spent: Mapping[str, Totals]) -> bool:
        """Whether nothing was taken but declared slots, each as often as declared."""
        return all(
            total is not None and meter in slots and 0 <= total <= slots[meter].limit
            for dataset, slots in self._slots.items()
            for meter, total in spent.get(dataset, {}).items()
        )

    def excess(self, spent: Mapping[str, Totals]) -> str:
        """Slots that were taken too often, and histories that were taken for slots."""
        over = [
            f"the history imported on {dataset!r} is a list that was realised, and no plan is "
            "known to have been fixed before it"
            if meter == _REALISED
            else f"{slots[meter].title if meter in slots else meter} on {dataset!r}"
            for dataset, slots in self._slots.items()
            for meter, total in spent.get(dataset, {}).items()
            if total is None or meter not in slots or not 0 <= total <= slots[meter].limit
        ]
        return "; ".join(over)

    def readings(self, spent: Mapping[str, Totals], request: Request) -> tuple[Reading, ...]:
        """The slots that the request takes."""
        return tuple(
            Reading(
                meter=balance.meter,
                analyst=None,
                requested=cost,
                remaining=balance.remaining,
                limit=balance.limit,
            )
            for meter, cost in self.costs(request).items()
            for balance in (self._balance(spent, request.dataset, meter),)
        )

    def short(self, readings: tuple[Reading, ...]) -> Reading | None:
        """The first slot that is not free."""
        return next((reading for reading in readings if not reading.fits), None)

    def times(self, spent: Mapping[str, Totals], request: Request) -> int:
        """As often as its scarcest slot."""
        return min(
            (reading.remaining or Fraction(0)) // (reading.requested or Fraction(1))
            for reading in self.readings(spent, request)
        )

    def balances(self, spent: Mapping[str, Totals], dataset: str) -> tuple[Balance, ...]:
        """Every slot of one dataset."""
        return tuple(self._balance(spent, dataset, meter) for meter in self._slots[dataset])

    def _balance(self, spent: Mapping[str, Totals], dataset: str, meter: str) -> Balance:
        slot = self._slots[dataset][meter]
        taken = spent.get(dataset, {}).get(meter) or Fraction(0)
        return Balance(
            meter=slot.title,
            dataset=dataset,
            analyst=None,
            spent=taken,
            remaining=max(Fraction(0), slot.limit - taken),
            limit=slot.limit,
        )
