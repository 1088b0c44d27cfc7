"""The policy ``open``: anything may be asked until a filter, fixed in advance, says stop."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.accounting.filters.base import Filter
from quaestor.accounting.numerics.digits import rounded_down, rounded_up
from quaestor.errors import InvalidParameter
from quaestor.ledger.amounts import added
from quaestor.ledger.policies.base import Limit, Policy, register, releases_from_dicts
from quaestor.ledger.price import MANY, Balance, MeterReading, checked_releases
from quaestor.ledger.theory import (
    best_filter,
    cost,
    filter_from_dict,
    heaviest,
    realised_cost,
    refuse_misfits,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quaestor.accounting.filters.base import Meter
    from quaestor.accounting.releases import Release
    from quaestor.ledger.amounts import Totals
    from quaestor.ledger.policies.base import Terms
    from quaestor.ledger.price import Request

__all__ = ["FilterLimit", "Open", "check_filter"]

_MOST_KNOWN = 4096
_ZERO = Fraction(0)
_NOTHING: Totals = {}


@register
@dataclass(frozen=True, slots=True, kw_only=True)
class Open(Policy):
    """Analysts choose everything as they go; a filter, fixed in advance, says when to stop.

    Without a ``filter`` the account takes the one that lets the most of ``expected`` through.

    >>> from quaestor import Gaussian
    >>> Open(expected=(Gaussian(sigma=50.0),)).kind
    'open'
    """

    kind: ClassVar[str] = "open"
    chosen_freely: ClassVar[bool] = True
    takes_realised: ClassVar[bool] = True
    composition: ClassVar[str] = (
        "Fully adaptive composition by a privacy filter that was fixed in advance"
    )
    checked_again: ClassVar[bool] = False  # totals are priced again, and the filter holds of them
    filter: Filter | None = None
    expected: tuple[Release, ...] = field(default=())

    def __post_init__(self) -> None:
        """Check that they are what they should be."""
        if self.filter is not None and not isinstance(self.filter, Filter):
            raise InvalidParameter("filter", self.filter, "a filter of quaestor.accounting.filters")
        if self.expected:
            object.__setattr__(self, "expected", checked_releases("expected", self.expected))
        else:
            object.__setattr__(self, "expected", ())

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain JSON values."""
        return {
            "kind": self.kind,
            "filter": None if self.filter is None else self.filter.to_dict(),
            "expected": [release.to_dict() for release in self.expected],
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Open:
        """Read back what :meth:`to_dict` wrote."""
        chosen = described["filter"]
        return cls(
            filter=None if chosen is None else filter_from_dict(chosen),
            expected=releases_from_dicts(described["expected"]),
        )

    def expected_releases(self) -> tuple[Release, ...]:
        """What was said to be expected."""
        return self.expected

    def completed(self, terms: Terms) -> Open:
        """With a filter that keeps the target, by what is expected."""
        check_filter(self.filter, epsilon=terms.epsilon, delta=terms.delta)
        if self.filter is not None:
            return self
        chosen = best_filter(epsilon=terms.epsilon, delta=terms.delta, expected=self.expected)
        return replace(self, filter=chosen)

    def limit(self, terms: Terms) -> Limit:
        """The filter, over all charges of the account."""
        if self.filter is None:
            raise ValueError(self)  # a definition chooses one
        return FilterLimit(terms, self.filter)

    def check_new(self, terms: Terms) -> None:
        """Refuse to expect what no account can speak about; the filter keeps the target itself."""
        del terms
        refuse_misfits("expected", self.expected)

    def words(self) -> Iterator[str]:
        """What the filter says, and who fixed it."""
        if self.filter is not None:
            _, rest = self.filter.words().split(". ", 1)  # the filter knows no neighbours
            freely = rest.replace("They may choose", "Analysts may choose", 1)
            yield freely.removesuffix(" All of this was fixed before the first answer.")
        yield (
            "These limits were fixed by whoever opened the account, when it was opened and before "
            "its first answer."
        )


def check_filter(chosen: Filter | None, *, epsilon: float, delta: float) -> None:
    """See that a filter, if one is given, keeps a target."""
    if chosen is not None and (chosen.epsilon > epsilon or chosen.delta > delta):
        shown = f"({chosen.epsilon:g}, {chosen.delta:g})"
        raise InvalidParameter("filter", shown, f"within the target ({epsilon:g}, {delta:g})")


class FilterLimit(Limit):
    """What a filter allows, given what is known about who is in which dataset.

    Two compared worlds differ in some datasets only; releases of the others look the same in both,
    whatever they are, and lose nothing. So every meter counts the heaviest set of datasets that
    the facts allow two worlds to differ in, and the filter's theorem holds for each such pair.
    """

    __slots__ = ("_alone", "_costs", "_meters", "_terms", "analyst", "filter")
    filter: Filter

    def __init__(self, terms: Terms, chosen: Filter, *, analyst: str | None = None) -> None:
        """Keep the filter, and whose it is."""
        self._terms, self.filter, self.analyst = terms, chosen, analyst
        listed = chosen.every + chosen.some
        self._meters: tuple[tuple[str, Meter], ...] = tuple(
            (f"{place}:{meter.key}", meter) for place, meter in enumerate(listed)
        )
        self._costs: dict[tuple[tuple[Release, ...], bool], Totals] = {}
        self._alone = len(terms.datasets) == 1 and terms.membership is None

    def costs(self, request: Request) -> Totals:
        """The cost of the releases on every meter; what was asked before is remembered."""
        asked = request.releases, request.realised
        known = self._costs.get(asked)
        if known is None:
            neighbours = self._terms.neighbours
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
            shown = [after.get(key, _ZERO) for key, _ in self._meters]
        else:
            shown = [self._total(spent, key, dataset, costs[key]) for key, _ in self._meters]
        return after if self.filter.holds(shown) else None

    def holds(self, spent: Mapping[str, Totals]) -> bool:
        """Whether the history itself is within the filter."""
        return self.filter.fits(self._totals(spent))

    def excess(self, spent: Mapping[str, Totals]) -> str:
        """The meters that are over their limits."""
        over = [
            f"{meter.key}: at most {rounded_down(meter.limit)}, "
            + (
                "but some charged releases have no bound here"
                if total is None
                else f"used {rounded_up(total)}"
            )
            for meter, total in self._totals(spent).items()
            if total is None or total > meter.limit
        ]
        return "; ".join(over)

    def _totals(self, spent: Mapping[str, Totals]) -> dict[Meter, Fraction | None]:
        first = self._terms.datasets[0]
        return {meter: self._total(spent, key, first, _ZERO) for key, meter in self._meters}

    def readings(self, spent: Mapping[str, Totals], request: Request) -> tuple[MeterReading, ...]:
        """Every meter, those that all histories must keep to first."""
        costs = self.costs(request)
        return tuple(
            MeterReading(
                meter=meter.key,
                analyst=self.analyst,
                requested=costs[key],
                remaining=self._remaining(spent, key, meter, request.dataset),
                limit=meter.limit,
            )
            for key, meter in self._meters
        )

    def short(self, readings: tuple[MeterReading, ...]) -> MeterReading | None:
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

    def _parted(self, readings: tuple[MeterReading, ...]) -> tuple[tuple[MeterReading, ...], ...]:
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
        for name in self._terms.datasets:
            total = spent.get(name, _NOTHING).get(key, _ZERO)
            if total is None:
                return None
            weights[name] = total
        weights[dataset] += extra
        return heaviest(
            weights,
            membership=self._terms.membership,
            neighbours=self._terms.neighbours,
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


def _times(reading: MeterReading) -> int:
    if reading.requested is None or reading.remaining is None:
        return 0
    return min(MANY, reading.remaining // reading.requested) if reading.requested else MANY


def _excess(reading: MeterReading) -> Fraction:
    """How far over, as a share of the limit; meters without an answer come last."""
    if reading.difference is None:
        return Fraction(10**30)
    return reading.difference / reading.limit if reading.limit else Fraction(10**29)
