"""An account's arithmetic: what a request uses, whether it fits, and what would. No store here."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from quaestor.accounting.releases import counts_of
from quaestor.errors import UnknownAnalyst
from quaestor.ledger.amounts import Totals, added
from quaestor.ledger.policies.open import FilterLimit
from quaestor.ledger.price import MANY, Price
from quaestor.ledger.theory import fitting_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.policies.base import Limit, Policy
    from quaestor.ledger.price import Balance, Request

__all__ = ["EVERYBODY", "AccountLimits", "Balances"]

EVERYBODY = "*"
"""Whose totals the account's own are: those of all analysts together."""

Balances = dict[tuple[str, str], Totals]
"""Totals by dataset and analyst; the account's own under :data:`EVERYBODY`."""


class AccountLimits:
    """The limits of one account: its own, and the quota of each analyst who has one."""

    __slots__ = ("_own", "_quotas", "definition")

    def __init__(self, definition: AccountDefinition) -> None:
        """Make the account's own limit; those of analysts are made when they are needed."""
        self.definition = definition
        self._own = definition.policy.limit(definition)
        self._quotas: dict[str, FilterLimit] = {}

    def holders(self, analyst: str) -> tuple[str, ...]:
        """Whose totals a charge of this analyst adds to."""
        return (EVERYBODY, *self.seen_by(analyst)) if self.definition.shares else (EVERYBODY,)

    def seen_by(self, analyst: str) -> tuple[str, ...]:
        """The same as ``shown_to``, and the groups that the analyst is in."""
        groups = (each.holder for each in self.definition.groups_of(analyst))
        return (self.shown_to(analyst), *groups)

    def shown_to(self, analyst: str) -> str:
        """Whose totals this analyst may see: where there are quotas, the analyst's own only.

        Without a name it is the owner who looks, at the totals of all.
        """
        return analyst if self.definition.shares and analyst else EVERYBODY

    def quota_named(self, analyst: str) -> str | None:
        """Whose quota it is that is shown to this analyst; None if it is the account's total."""
        return analyst if self.shown_to(analyst) != EVERYBODY else None

    def limit(self, holder: str) -> Limit:
        """The limit on somebody's totals.

        Raises:
            UnknownAnalyst: the account has quotas, and none for this analyst.
        """
        if holder == EVERYBODY:
            return self._own
        known = self._quotas.get(holder)
        for group in self.definition.groups:
            if known is None and group.holder == holder and group.filter is not None:
                known = FilterLimit(self.definition, group.filter, analyst=group.title)
                self._quotas[holder] = known
        if known is None:
            quota = self.definition.quota(holder)
            if quota is None or quota.filter is None:
                names = [each.analyst for each in self.definition.shares]
                near = get_close_matches(holder, names, n=1)
                raise UnknownAnalyst(
                    holder, account=self.definition.name, near=near[0] if near else None
                )
            known = self._quotas[holder] = FilterLimit(
                self.definition, quota.filter, analyst=holder
            )
        return known

    def costs(self, request: Request) -> dict[str, Totals]:
        """What the request uses, by holder and meter."""
        return {
            holder: self.limit(holder).costs(request) for holder in self.holders(request.analyst)
        }

    def check(self, request: Request) -> None:
        """See that the request could be charged at all, however much is left.

        Raises:
            NotPlanned: the account's plan does not declare it.
            UnknownAnalyst: the account has quotas, and none for this analyst.
        """
        self._own.costs(request)
        self.limit(self.shown_to(request.analyst))

    def after(self, balances: Balances, request: Request) -> Balances | None:
        """The totals that the request changes, as they are afterwards; None if it does not fit."""
        return self._after(balances, request, self.holders(request.analyst))

    def after_in_quota(self, balances: Balances, request: Request) -> Balances | None:
        """The same by what the analyst may see: the own quota, and those of the own groups."""
        return self._after(balances, request, self.seen_by(request.analyst))

    def _after(
        self, balances: Balances, request: Request, holders: tuple[str, ...]
    ) -> Balances | None:
        changed: Balances = {}
        for holder in holders:
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

    def overdrawn(self, balances: Balances) -> str | None:
        """What was charged beyond the account's own limit, in words; None if it holds."""
        spent = self._spent(balances, EVERYBODY)
        if self._own.holds(spent):
            return None
        return f"by today's prices it is overdrawn: {self._own.excess(spent)}"

    def _spent(self, balances: Balances, holder: str) -> Mapping[str, Totals]:
        return {
            dataset: balances[dataset, holder]
            for dataset in self.definition.datasets
            if (dataset, holder) in balances
        }

    def balances(self, balances: Balances, dataset: str, analyst: str) -> tuple[Balance, ...]:
        """How the meters that an analyst may see stand on a dataset; without a name, the total."""
        holders = self.seen_by(analyst)
        return tuple(b for each in holders for b in self.balances_of(balances, dataset, each))

    def balances_of(self, balances: Balances, dataset: str, holder: str) -> tuple[Balance, ...]:
        """How somebody's meters stand on a dataset."""
        return self.limit(holder).balances(self._spent(balances, holder), dataset)

    def price(self, balances: Balances, request: Request) -> Price:
        """What the meters that the analyst may see say about the request, and what would fit."""
        holder = self.shown_to(request.analyst)
        seen = [(self.limit(h), self._spent(balances, h)) for h in self.seen_by(request.analyst)]
        read = [limit.readings(spent, request) for limit, spent in seen]
        full = next(
            (k for k, each in enumerate(seen) if each[0].after(each[1], request) is None), None
        )
        unit = _unit(request, self.definition.policy)
        short = None if full is None else seen[full][0].short(read[full]) or read[full][0]
        return Price(
            account=self.definition.name,
            releases=request.releases,
            fits=full is None,
            readings=tuple(reading for each in read for reading in each),
            left=min(MANY, *(limit.times(spent, unit) for limit, spent in seen)),
            short=short,
            would_fit=None if full is None else self._fitting(seen, request),
            quota_of=None if holder == EVERYBODY else holder,
        )

    def _fitting(
        self, seen: Sequence[tuple[Limit, Mapping[str, Totals]]], request: Request
    ) -> str | None:
        """The most revealing version of what is asked that fits, where it is all of one kind."""
        kinds = counts_of(request.releases)
        if not self.definition.policy.chosen_freely or len(kinds) != 1:
            return None
        ((release, count),) = kinds.items()

        def fits(other: Release) -> bool:
            asked = _with(request, other * count)
            return all(limit.after(spent, asked) is not None for limit, spent in seen)

        found = fitting_version(release, fits)
        return None if found is None else str(found * count)


def _with(request: Request, release: Release) -> Request:
    return replace(request, releases=(release,))


def _unit(request: Request, policy: Policy) -> Request:
    """What is counted in a refusal: the single release, or the whole list where it is mixed."""
    kinds = counts_of(request.releases)
    if len(kinds) > 1 or policy.by_query:
        return request
    (single,) = kinds
    return _with(request, single)
