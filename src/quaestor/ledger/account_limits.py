"""An account's arithmetic: what a request uses, whether it fits, and what would. No store here."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

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

__all__ = ["EVERYBODY", "AccountLimits", "Balances", "place_of", "places_of"]

EVERYBODY = "*"
"""Whose totals the account's own are: those of all analysts together."""

Balances = dict[tuple[str, str], Totals]
"""Totals by dataset and analyst; the account's own under :data:`EVERYBODY`."""


_NO_BLOCKS = ("",)
_APART = "\t"  # no name has one


def place_of(dataset: str, block: str) -> str:
    """Where totals of a dataset are kept: of all of it or, with blocks of time, of one."""
    return f"{dataset}{_APART}{block}" if block else dataset


def places_of(request: Request) -> tuple[str, ...]:
    """Where a request is added."""
    return tuple(place_of(request.dataset, block) for block in request.blocks or _NO_BLOCKS)


def _block(place: str) -> str:
    return place.partition(_APART)[2]


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
            limit = self.limit(holder)
            for block, place in zip(request.blocks or _NO_BLOCKS, places_of(request), strict=True):
                totals = limit.after(self._spent(balances, holder, block), request)
                if totals is None:
                    return None
                changed[place, holder] = totals
        return changed

    def totals(self, history: Iterable[tuple[Request, int]]) -> Balances:
        """A whole history priced again: requests, and how often each was charged."""
        balances: Balances = {}
        for request, count in history:
            self.definition.policy.checked_blocks(request.blocks)
            for holder, costs in self.costs(request).items():
                many = {m: None if cost is None else cost * count for m, cost in costs.items()}
                for where in places_of(request):
                    balances[where, holder] = added(balances.get((where, holder), {}), many)
        return {
            place: kept
            for place, totals in balances.items()
            if (kept := {m: t for m, t in totals.items() if t is None or t})
        }

    def beyond(self, balances: Balances) -> str | None:
        """Whose limit does not hold of these totals, if anybody's."""
        for holder, block in dict.fromkeys((holder, _block(p)) for p, holder in balances):
            if not self.limit(holder).holds(self._spent(balances, holder, block)):
                return holder
        return None

    def overdrawn(self, balances: Balances) -> str | None:
        """What was charged beyond the account's own limit, in words; None if it holds."""
        for block in dict.fromkeys(_block(p) for p, holder in balances if holder == EVERYBODY):
            spent = self._spent(balances, EVERYBODY, block)
            if not self._own.holds(spent):
                where = f" in {block}" if block else ""
                return f"by current accounting it is overdrawn{where}: {self._own.excess(spent)}"
        return None

    def _spent(self, balances: Balances, holder: str, block: str = "") -> Mapping[str, Totals]:
        """Somebody's totals by dataset; of one block of time, where there are blocks."""
        places = {dataset: place_of(dataset, block) for dataset in self.definition.datasets}
        return {
            dataset: balances[place, holder]
            for dataset, place in places.items()
            if (place, holder) in balances
        }

    def balances(
        self, balances: Balances, dataset: str, analyst: str, *, block: str = ""
    ) -> tuple[Balance, ...]:
        """How the meters that an analyst may see stand on a dataset; without a name, the total."""
        return tuple(
            balance
            for holder in self.seen_by(analyst)
            for balance in self.balances_of(balances, dataset, holder, block=block)
        )

    def balances_of(
        self, balances: Balances, dataset: str, holder: str, *, block: str = ""
    ) -> tuple[Balance, ...]:
        """How somebody's meters stand on a dataset, or in a block of it."""
        found = self.limit(holder).balances(self._spent(balances, holder, block), dataset)
        return tuple(replace(each, block=block) for each in found) if block else found

    def price(self, balances: Balances, request: Request) -> Price:
        """What the meters that the analyst may see say about the request, and what would fit."""
        holder = self.shown_to(request.analyst)
        counted = _unit(request, self.definition.policy)
        seen = [self._seen(balances, each, request) for each in self.seen_by(request.analyst)]
        tightest = [each.tightest(request, counted) for each in seen]
        read = [
            each.limit.readings(each.by_block[block], request)
            for each, block in zip(seen, tightest, strict=True)
        ]
        full = dict.fromkeys(block for each in seen for block in each.full(request))
        lacking = next((k for k, each in enumerate(seen) if each.full(request)), None)
        short = None if lacking is None else seen[lacking].limit.short(read[lacking])
        times = {
            block: min(each.times(counted)[block] for each in seen) for block in seen[0].by_block
        }
        return Price(
            account=self.definition.name,
            releases=request.releases,
            fits=not full,
            readings=tuple(reading for each in read for reading in each),
            left=min(MANY, *times.values()),
            short=None if lacking is None else short or read[lacking][0],
            would_fit=self._fitting(seen, request) if full else None,
            quota_of=None if holder == EVERYBODY else holder,
            block=tightest[lacking or 0],
            full=tuple(filter(None, full)),
            paying=tuple(
                f"{block} ({count} of what was asked for)"
                for block, count in times.items()
                if full and block not in full
            ),
        )

    def _seen(self, balances: Balances, holder: str, request: Request) -> _HolderTotals:
        """Somebody's totals in each block that a request is about; without blocks, once."""
        blocks = request.blocks or _NO_BLOCKS
        by_block = {block: self._spent(balances, holder, block) for block in blocks}
        return _HolderTotals(self.limit(holder), by_block)

    def _fitting(self, seen: Sequence[_HolderTotals], request: Request) -> str | None:
        """The most revealing version of what is asked that fits, where it is all of one kind."""
        kinds = counts_of(request.releases)
        if not self.definition.policy.chosen_freely or len(kinds) != 1:
            return None
        ((release, count),) = kinds.items()

        def fits(other: Release) -> bool:
            asked = _with(request, other * count)
            return not any(each.full(asked) for each in seen)

        found = fitting_version(release, fits)
        return None if found is None else str(found * count)


class _HolderTotals(NamedTuple):
    """A limit, and what it has been used by, in each block of time (without blocks, once)."""

    limit: Limit
    by_block: Mapping[str, Mapping[str, Totals]]

    def full(self, request: Request) -> list[str]:
        """The blocks that cannot pay."""
        return [b for b, spent in self.by_block.items() if self.limit.after(spent, request) is None]

    def times(self, counted: Request) -> dict[str, int]:
        """How often each block can pay for something."""
        return {block: self.limit.times(spent, counted) for block, spent in self.by_block.items()}

    def tightest(self, request: Request, counted: Request) -> str:
        """The block with the least left, of those that cannot pay if there are any."""
        times = self.times(counted)
        return min(self.full(request) or times, key=lambda block: times[block])


def _with(request: Request, release: Release) -> Request:
    return replace(request, releases=(release,))


def _unit(request: Request, policy: Policy) -> Request:
    """What is counted in a refusal: the single release, or the whole list where it is mixed."""
    kinds = counts_of(request.releases)
    if len(kinds) > 1 or policy.by_query:
        return request
    (single,) = kinds
    return _with(request, single)
