"""An account's arithmetic: what a request uses, whether it fits, and what would. No store here."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from quaestor.errors import UnknownAnalyst
from quaestor.ledger.amounts import Totals, added
from quaestor.ledger.filter_limit import MANY, FilterLimit
from quaestor.ledger.policies import Dashboard, Open, counted
from quaestor.ledger.price import Price
from quaestor.ledger.request import Request
from quaestor.ledger.slot_limit import SlotLimit
from quaestor.ledger.theory import fitting_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.limits import Limit
    from quaestor.ledger.policies import Policy
    from quaestor.ledger.price import Balance

__all__ = ["EVERYBODY", "Balances", "Book"]

EVERYBODY = "*"
"""Whose totals the account's own are: those of all analysts together."""

Balances = dict[tuple[str, str], Totals]
"""Totals by dataset and analyst; the account's own under :data:`EVERYBODY`."""


class Book:
    """The limits of one account: its own, and one for each analyst who has a share."""

    __slots__ = ("_own", "_shares", "definition")

    def __init__(self, definition: AccountDefinition) -> None:
        """Make the account's own limit; those of analysts are made when they are needed."""
        self.definition = definition
        policy = definition.policy
        if isinstance(policy, Open):
            if policy.filter is None:
                raise ValueError(policy)  # a definition chooses one
            self._own: Limit = FilterLimit(definition, policy.filter)
        else:
            self._own = SlotLimit(definition, policy)
        self._shares: dict[str, FilterLimit] = {}

    def holders(self, analyst: str) -> tuple[str, ...]:
        """Whose totals a charge of this analyst adds to."""
        return (EVERYBODY, analyst) if self.definition.shares else (EVERYBODY,)

    def limit(self, holder: str) -> Limit:
        """The limit on somebody's totals.

        Raises:
            UnknownAnalyst: the account has shares, and none for this analyst.
        """
        if holder == EVERYBODY:
            return self._own
        known = self._shares.get(holder)
        if known is None:
            share = self.definition.share(holder)
            if share is None or share.filter is None:
                names = [each.analyst for each in self.definition.shares]
                near = get_close_matches(holder, names, n=1)
                raise UnknownAnalyst(
                    holder, account=self.definition.name, near=near[0] if near else None
                )
            known = self._shares[holder] = FilterLimit(
                self.definition, share.filter, analyst=holder
            )
        return known

    def costs(self, request: Request) -> dict[str, Totals]:
        """What the request uses, by holder and meter."""
        return {
            holder: self.limit(holder).costs(request) for holder in self.holders(request.analyst)
        }

    def after(self, balances: Balances, request: Request) -> Balances | None:
        """The totals that the request changes, as they are afterwards; None if it does not fit."""
        changed: Balances = {}
        for holder in self.holders(request.analyst):
            totals = self.limit(holder).after(self._spent(balances, holder), request)
            if totals is None:
                return None
            changed[request.dataset, holder] = totals
        return changed

    def totals(self, history: Iterable[tuple[Request, int]]) -> Balances:
        """A whole history priced again: requests, and how often each was charged."""
        balances: Balances = {}
        for request, count in history:
            for holder, costs in self.costs(request).items():
                many = {m: None if cost is None else cost * count for m, cost in costs.items()}
                place = (request.dataset, holder)
                balances[place] = added(balances.get(place, {}), many)
        return {
            place: kept
            for place, totals in balances.items()
            if (kept := {m: t for m, t in totals.items() if t is None or t})
        }

    def beyond(self, balances: Balances) -> str | None:
        """Whose limit does not hold of these totals, if anybody's."""
        for holder in dict.fromkeys(holder for _, holder in balances):
            if not self.limit(holder).holds(self._spent(balances, holder)):
                return holder
        return None

    def _spent(self, balances: Balances, holder: str) -> Mapping[str, Totals]:
        return {
            dataset: balances[dataset, holder]
            for dataset in self.definition.datasets
            if (dataset, holder) in balances
        }

    def balances(self, balances: Balances, dataset: str, analyst: str) -> tuple[Balance, ...]:
        """How the account's own meters stand on a dataset, and those of the analyst's share."""
        holders = self.holders(analyst) if analyst else (EVERYBODY,)
        return tuple(
            balance
            for holder in holders
            for balance in self.limit(holder).balances(self._spent(balances, holder), dataset)
        )

    def price(self, balances: Balances, request: Request) -> Price:
        """What every meter says about the request, and what would fit if it does not."""
        limits = [
            (limit, self._spent(balances, holder))
            for holder in self.holders(request.analyst)
            for limit in (self.limit(holder),)
        ]
        read = [(limit, limit.readings(spent, request)) for limit, spent in limits]
        short = next((found for limit, readings in read if (found := limit.short(readings))), None)
        fits = self.after(balances, request) is not None
        if not fits and short is None:
            short = read[0][1][0]
        unit = _unit(request, self.definition.policy)
        return Price(
            account=self.definition.name,
            releases=request.releases,
            fits=fits,
            readings=tuple(reading for _, readings in read for reading in readings),
            left=min(MANY, *(limit.times(spent, unit) for limit, spent in limits)),
            short=None if fits else short,
            would_fit=None if fits else self._fitting(balances, request),
        )

    def _fitting(self, balances: Balances, request: Request) -> str | None:
        """The most revealing version of what is asked that fits, where it is all of one kind."""
        kinds = counted(request.releases)
        if not isinstance(self.definition.policy, Open) or len(kinds) != 1:
            return None
        ((release, count),) = kinds.items()

        def fits(other: Release) -> bool:
            return self.after(balances, _with(request, other * count)) is not None

        found = fitting_version(release, fits)
        return None if found is None else str(found * count)


def _with(request: Request, release: Release) -> Request:
    return Request(
        releases=(release,), dataset=request.dataset, analyst=request.analyst, query=request.query
    )


def _unit(request: Request, policy: Policy) -> Request:
    """What is counted in a refusal: the single release, or the whole list where it is mixed."""
    kinds = counted(request.releases)
    if len(kinds) > 1 or isinstance(policy, Dashboard):
        return request
    (single,) = kinds
    return _with(request, single)
