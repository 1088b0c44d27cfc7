"""Everybody's standing on every dataset, from the totals, with what still fits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from quaestor.accounting.releases import counts_of
from quaestor.errors import QuaestorError
from quaestor.ledger.definition import ANYBODY
from quaestor.ledger.totals.standing import HolderStanding, MeterStanding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from quaestor.accounting.releases import Release
    from quaestor.ledger.account_limits import AccountLimits, Balances
    from quaestor.ledger.definition import AccountDefinition
    from quaestor.ledger.journal.charge_counts import ChargeFacts

__all__ = ["holder_standing", "holder_standings", "shown_datasets"]

_MOST_DATASETS = 20
_MOST_KINDS = 3
_ZERO, _ONE = Fraction(0), Fraction(1)


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
