"""How an account stands: what is left of every budget and meter, and what still fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from quaestor.accounting.releases import counts_of
from quaestor.errors import QuaestorError
from quaestor.ledger.amounts import above
from quaestor.ledger.definition import ANYBODY

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.ledger.account_limits import AccountLimits, Balances
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.journal.charge_counts import ChargeFacts
    from quaestor.ledger.journal.data_versions import DataVersion
    from quaestor.ledger.journal.declarations import RecordedDeclaration
    from quaestor.ledger.price import Balance
    from quaestor.ledger.successors import Together
    from quaestor.ledger.totals.odometer import OdometerReading

__all__ = [
    "HolderStanding",
    "MeterStanding",
    "Standing",
    "holder_standing",
    "holder_standings",
    "shown_datasets",
]

_MOST_DATASETS = 20
_MOST_KINDS = 3
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterStanding:
    """One meter of one dataset, and whether it must hold or is one of several of which one must."""

    balance: Balance
    rule: str
    """``must hold``, ``one of these`` or ``slots``."""

    @property
    def left(self) -> Fraction:
        """The share that is left; 0 where the meter is of no use any more."""
        spent, remaining, limit = self.balance.spent, self.balance.remaining, self.balance.limit
        if spent is None or remaining is None:
            return _ZERO
        return remaining / limit if limit else _ONE

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**self.balance.to_dict(), "rule": self.rule}


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderStanding:
    """What is left of a budget on one dataset: the account's or, of one analyst, the quota's."""

    account: str
    dataset: str
    analyst: str | None
    used: Fraction
    """The share that is gone; more than 1 where too much was charged."""
    meter: str
    """The meter that says so: of those that must hold the emptiest, of the others the fullest."""
    meters: tuple[MeterStanding, ...]
    fits: tuple[tuple[str, int], ...] = ()
    """How many more of some releases would fit."""
    block: str = ""
    """The block of time that it is of, where each has a budget of its own."""

    @property
    def left(self) -> Fraction:
        """The share that is left, from 0 to 1."""
        return min(max(1 - self.used, _ZERO), _ONE)

    @property
    def holder(self) -> str:
        """Whose budget it is, in words."""
        return f"account {self.account}" if self.analyst is None else f"{self.analyst}'s quota"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        fits = [{"release": release, "left": left} for release, left in self.fits]
        return {
            "dataset": self.dataset,
            "analyst": self.analyst,
            "used": above(self.used),
            "fits": fits,
            **({"block": self.block} if self.block else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDeclaration:
    """What was declared last of a dataset, and how often that has changed."""

    last: RecordedDeclaration
    changes: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "dataset": self.last.dataset,
            "digest": self.last.declared.declaration,
            "time": self.last.time,
            "changes": self.changes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Everything that an owner asks of an account: see ``Account.standing``."""

    definition: AccountDefinition
    words: str
    closed: bool
    problem: str | None
    """Why it takes no further charges though it is not closed."""
    head: str
    statuses: Counter[str]
    """How many entries are released, reserved and void."""
    datasets: tuple[str, ...]
    """Those that are shown: where there are many, the ones that were charged last."""
    holders: tuple[HolderStanding, ...]
    odometer: OdometerReading
    planned: float | None
    """The epsilon of all that is declared; None where nothing is."""
    declared: tuple[RecordedDeclaration, ...] = ()
    """What a catalog declares of these datasets, from the opening on and whenever it changed."""

    versions: tuple[DataVersion, ...] = ()
    """The last version of each of these datasets of which a refresh was recorded."""
    together: Together | None = None
    """What is lost together with the accounts that it succeeds; None where it succeeds none."""

    @property
    def meters(self) -> tuple[MeterStanding, ...]:
        """The meters of all holders."""
        return tuple(meter for holder in self.holders for meter in holder.meters)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "account": self.definition.name,
            "status": "closed" if self.closed else "open",
            "problem": self.problem,
            "definition": self.definition.to_dict(),
            "words": self.words,
            "planned_epsilon": self.planned,
            "together": None if self.together is None else self.together.to_dict(),
            "standing": [holder.to_dict() for holder in self.holders],
            "meters": [meter.to_dict() for meter in self.meters],
            "odometer": {"epsilon": self.odometer.epsilon, "delta": self.odometer.delta},
            "entries": {name: self.statuses[name] for name in ("released", "reserved", "void")},
            "head": self.head,
            "declared": [each.to_dict() for each in self.declarations],
            "versions": [
                {"dataset": each.dataset, "version": each.label, "time": each.time}
                for each in self.versions
            ],
        }

    @property
    def declarations(self) -> tuple[DatasetDeclaration, ...]:
        """What was declared last of each dataset, and how often that has changed."""
        found: dict[str, list[RecordedDeclaration]] = {}
        for each in self.declared:
            found.setdefault(each.dataset, []).append(each)
        return tuple(
            DatasetDeclaration(last=listed[-1], changes=len(listed) - 1)
            for listed in found.values()
        )


def shown_datasets(definition: AccountDefinition, facts: ChargeFacts) -> tuple[str, ...]:
    """All datasets or, where there are many, those that were charged last."""
    listed = definition.datasets
    if len(listed) <= _MOST_DATASETS:
        return listed
    return facts.datasets[::-1][:_MOST_DATASETS] or listed[:_MOST_DATASETS]


def holder_standing(  # noqa: PLR0913  # whose, of what
    limits: AccountLimits,
    totals: Balances,
    *,
    dataset: str,
    analyst: str = "",
    group: str = "",
    block: str = "",
) -> HolderStanding:
    """The account's own standing or, for an analyst who has a quota, that of the quota alone.

    With ``group``, the holder of a group's totals, it is that of the group.
    """
    holder = group or limits.shown_to(analyst)
    chosen = limits.limit(holder).filter
    balances = limits.balances_of(totals, dataset, holder, block=block)
    must = len(balances) if chosen is None else len(chosen.every)
    rules = ("slots", "slots") if chosen is None else ("must hold", "one of these")
    meters = tuple(
        MeterStanding(balance=balance, rule=rules[place >= must])
        for place, balance in enumerate(balances)
    )
    used, meter = _slots_used(meters) if chosen is None else _used(meters[:must], meters[must:])
    return HolderStanding(
        account=limits.definition.name,
        dataset=dataset,
        analyst=f"group{group}" if group else limits.quota_named(analyst),
        used=used,
        meter=meter,
        meters=meters,
        block=block,
    )


def _slots_used(slots: Sequence[MeterStanding]) -> tuple[Fraction, str]:
    taken = sum((slot.balance.spent or _ZERO for slot in slots), _ZERO)
    declared = sum((slot.balance.limit for slot in slots), _ZERO)
    return (taken / declared if declared else _ZERO), "the plan"


def _used(must: Sequence[MeterStanding], some: Sequence[MeterStanding]) -> tuple[Fraction, str]:
    """What is gone: of the emptiest that must hold, or of the fullest of the others."""
    shares = [(each.left, each.balance.meter) for each in must if each.balance.limit]
    if some:
        shares.append(max((each.left, each.balance.meter) for each in some))
    left, meter = min(shares, default=(_ONE, "nothing"))
    return 1 - left, meter


def holder_standings(  # noqa: PLR0913  # what it is read from
    limits: AccountLimits,
    totals_of: Callable[[str], Balances],
    facts: ChargeFacts,
    datasets: Iterable[str],
    *,
    closed: bool,
    blocks: Sequence[str] = (),
) -> Iterator[HolderStanding]:
    """Everybody's standing on these datasets, with what still fits; for the owner, who sees all.

    With blocks of time it is on each of them, the newest last.
    """
    definition = limits.definition
    quotas = [quota.analyst for quota in definition.shares]
    analysts = dict.fromkeys([*quotas, *facts.analysts]) if quotas else {}
    analysts.pop(ANYBODY, None)
    kinds = () if closed else _kinds(limits, facts)
    totals = {analyst: totals_of(analyst) for analyst in ("", *analysts)}
    for dataset, block in product(datasets, blocks or ("",)):
        for analyst in ("", *analysts):
            found = holder_standing(
                limits, totals[analyst], dataset=dataset, analyst=analyst, block=block
            )
            if found.meters:
                # what fits depends on who asks, where there are quotas
                asked = () if quotas and not analyst else kinds
                fits = _fits(limits, totals, asked, found)
                yield replace(found, fits=tuple(fits))
        for group in definition.groups:
            of_members = totals_of(group.members[0])
            yield holder_standing(
                limits, of_members, dataset=dataset, group=group.holder, block=block
            )


def _kinds(limits: AccountLimits, facts: ChargeFacts) -> tuple[Release, ...]:
    """What people will want to ask next: what was expected, or else what was charged last."""
    policy = limits.definition.policy
    if not policy.chosen_freely:
        return ()
    kinds = list(counts_of(policy.expected_releases()))
    for releases in facts.recent():
        kinds += [kind for kind in counts_of(releases) if kind not in kinds]
    return tuple(kinds[:_MOST_KINDS])


def _fits(
    limits: AccountLimits,
    totals: dict[str, Balances],
    kinds: Iterable[Release],
    standing: HolderStanding,
) -> Iterator[tuple[str, int]]:
    """How many more of these fit: the analyst's quota, and the total."""
    dataset, analyst = standing.dataset, standing.analyst or ""
    blocks = (standing.block,) if standing.block else ()
    for kind in kinds:
        prices = []
        try:
            for each in {"", analyst}:
                request = limits.definition.request(
                    kind, dataset=dataset, analyst=each, by_owner=not each, blocks=blocks
                )
                limits.check(request)
                prices.append(limits.price(totals[each], request))
        except QuaestorError:
            continue  # a kind that this account can say nothing about
        yield str(kind), min(price.left for price in prices)
