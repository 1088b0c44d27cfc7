"""How an account stands, in one number for each who holds it: what part of it is left."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from quaestor.ledger.policies.kinds import Open
from quaestor.ledger.totals.amounts import below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quaestor.accounting.filters.base import Filter
    from quaestor.ledger import Account, Balance

__all__ = ["Standing", "standings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is left of an account, or of an analyst's quota, on one dataset.

    ``left`` is a part of the whole, from 0 to 1, on the meter that says how long it lasts: of
    those of which one is enough, the fullest; of those that must all hold, the emptiest.
    """

    holder: str
    meter: str
    left: float


def standings(account: Account, *, dataset: str, analyst: str = "") -> tuple[Standing, ...]:
    """The account's own standing or, for an analyst who has a quota, that of the quota alone."""
    definition = account.definition
    quota = definition.quota(analyst) if analyst else None
    whose = "" if quota is None else analyst
    balances = account.remaining(dataset=dataset, analyst=whose)
    if quota is None:
        return (_standing(f"account {account.name}", balances, _filter(account)),)
    return (_standing(f"{analyst}'s quota", balances, quota.filter),)


def _filter(account: Account) -> Filter | None:
    policy = account.definition.policy
    return policy.filter if isinstance(policy, Open) else None


def _standing(holder: str, balances: Sequence[Balance], chosen: Filter | None) -> Standing:
    if chosen is None:  # slots of a plan
        limit = sum((balance.limit for balance in balances), Fraction(0))
        rest = sum((balance.remaining or Fraction(0) for balance in balances), Fraction(0))
        return Standing(holder=holder, meter="the plan", left=below(rest / limit))
    enough = {meter.key for meter in chosen.some}
    must = [(_left(one), one.meter) for one in balances if one.meter not in enough and one.limit]
    may = [(_left(one), one.meter) for one in balances if one.meter in enough]
    left, meter = min([*must, *([max(may)] if may else [])], default=(0.0, "nothing"))
    return Standing(holder=holder, meter=meter, left=left)


def _left(balance: Balance) -> float:
    if balance.remaining is None or balance.limit <= 0:
        return 0.0
    return below(balance.remaining / balance.limit)
