"""What is declared in advance: slots that are counted, and theorems that are asked once.

Shared by the policies ``planned`` and ``dashboard``.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from quaestor.accounting.compose import compose, compose_nonadaptive
from quaestor.accounting.membership import compose_across
from quaestor.errors import NotPlanned, TargetOutOfReach
from quaestor.ledger.amounts import added
from quaestor.ledger.policies.base import Limit, Policy
from quaestor.ledger.price import Balance, MeterReading
from quaestor.ledger.theory import refuse_misfits, refuse_mixed_directions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quaestor.accounting.releases import Release
    from quaestor.ledger.amounts import Totals
    from quaestor.ledger.policies.base import Terms
    from quaestor.ledger.price import Request

__all__ = ["Declared", "Slot", "SlotLimit"]

_MOST_SHOWN = 5
_REALISED = "imported without a statement"
"""The meter of histories that an older ledger took for slots; no plan has any of it."""


class _Composed(Protocol):
    def epsilon(self, *, delta: float) -> float: ...

    def delta(self, *, epsilon: float) -> float: ...


class Declared(Policy):
    """A policy that declares everything in advance.

    Theorem:
        What is declared is fixed before the first answer, so that optimal composition holds for
        it (for a dashboard, whose queries are fixed by their digests, non-adaptive composition),
        and every history within its slots is a part of it. Of several sound answers the best
        counts.
    """

    __slots__ = ()

    composition: ClassVar[str] = "Optimal composition of releases that were declared in advance"

    @abstractmethod
    def declared(self) -> Iterator[tuple[str, tuple[Release, ...]]]:
        """What is declared, with its dataset."""

    @abstractmethod
    def slots(self) -> Iterator[tuple[str, Slot]]:
        """What can be taken, with its dataset."""

    @abstractmethod
    def taken(self, request: Request) -> dict[str, Fraction] | None:
        """The slots that a request takes, by meter; None if none was declared for it."""

    def datasets(self) -> Iterator[str]:
        """Those of what is declared."""
        return (dataset for dataset, _ in self.declared())

    def expected_releases(self) -> tuple[Release, ...]:
        """All that is declared."""
        return tuple(release for _, listed in self.declared() for release in listed)

    def limit(self, terms: Terms) -> Limit:
        """Its slots."""
        return SlotLimit(terms, self)

    def check_new(self, terms: Terms) -> None:
        """Refuse what loses more than the account's target."""
        self.check_again(terms)

    def check_again(self, terms: Terms) -> None:
        """Refuse what loses more than the account's target."""
        together = list(self.expected_releases())
        refuse_misfits("policy", together)
        refuse_mixed_directions(together)
        epsilon, delta = terms.epsilon, terms.delta
        for composed in self._sound(terms):
            if composed.epsilon(delta=delta) <= epsilon or composed.delta(epsilon=epsilon) <= delta:
                return
        needed = self.planned_epsilon(terms)
        raise TargetOutOfReach(
            f"the releases of account {terms.name!r} need epsilon {needed:.7g} at delta "
            f"{delta:g}, more than its epsilon {epsilon:.7g}: remove releases, add noise, "
            "or raise epsilon"
        )

    def planned_epsilon(self, terms: Terms) -> float:
        """What all of it loses, by the best theorem that is sound."""
        return min(composed.epsilon(delta=terms.delta) for composed in self._sound(terms))

    def _sound(self, terms: Terms) -> Iterator[_Composed]:
        """Every composition of what is declared that is sound for this account.

        ``compose`` takes the person to be removed in all releases, or added in all. Whoever moves
        from one dataset to another is removed here and added there: where that matters to a
        release, only ``compose_across`` looks at it.
        """
        by_dataset: dict[str, list[Release]] = {dataset: [] for dataset in terms.datasets}
        for dataset, releases in self.declared():
            by_dataset[dataset].extend(releases)
        together = [release for releases in by_dataset.values() for release in releases]
        in_place = terms.neighbours == "replace_record"
        moved = (
            terms.neighbours == "replace"
            and len(by_dataset) > 1
            and any(release.counted()[0].directed for release in together)
        )
        if in_place or moved or (terms.membership is not None and len(by_dataset) > 1):
            yield compose_across(
                by_dataset, membership=terms.membership, neighbours=terms.neighbours
            )
        if not in_place and not moved:
            # as if everybody were everywhere: no two memberships differ in more
            yield (compose_nonadaptive if self.nothing_chosen else compose)(*together)


class Slot(NamedTuple):
    """One kind of slot: its meter, how often it was declared, and what it is in words."""

    meter: str
    limit: Fraction
    title: str


class SlotLimit(Limit):
    """Slots, of which each can be taken as often as declared, and nothing else at all."""

    __slots__ = ("_account", "_policy", "_slots")

    def __init__(self, terms: Terms, policy: Declared) -> None:
        """Count what is declared, in an order that depends on the declaration alone."""
        self._account, self._policy = terms.name, policy
        self._slots: dict[str, dict[str, Slot]] = {name: {} for name in terms.datasets}
        for dataset, slot in policy.slots():
            self._slots[dataset][slot.meter] = slot

    def costs(self, request: Request) -> Totals:
        """One for each slot that is taken.

        Raises:
            NotPlanned: something of the request was not declared.
        """
        if request.realised:
            return {_REALISED: Fraction(1)}
        taken = self._policy.taken(request)
        slots = self._slots[request.dataset]
        if taken is None or not taken.keys() <= slots.keys():
            raise NotPlanned(self._account, asked=self._asked(request), left=self._declared())
        return dict(taken)

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
            (f"the history imported on {dataset!r} was not planned in advance, as far as is known")
            if meter == _REALISED
            else f"{slots[meter].title if meter in slots else meter} on {dataset!r}"
            for dataset, slots in self._slots.items()
            for meter, total in spent.get(dataset, {}).items()
            if total is None or meter not in slots or not 0 <= total <= slots[meter].limit
        ]
        return "; ".join(over)

    def readings(self, spent: Mapping[str, Totals], request: Request) -> tuple[MeterReading, ...]:
        """The slots that the request takes."""
        return tuple(
            MeterReading(
                meter=balance.meter,
                analyst=None,
                requested=cost,
                remaining=balance.remaining,
                limit=balance.limit,
            )
            for meter, cost in self.costs(request).items()
            for balance in (self._balance(spent, request.dataset, meter),)
        )

    def short(self, readings: tuple[MeterReading, ...]) -> MeterReading | None:
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
