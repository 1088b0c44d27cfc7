"""What is told of an account: to those who oversee it, and to analysts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaestor.errors import UnknownAnalyst

if TYPE_CHECKING:
    from quaestor.ledger import Account, Entry
    from quaestor.service.core import ServiceCore
    from quaestor.service.identity.callers import Caller

__all__ = ["account_view", "entry_view", "may_ask"]


def may_ask(account: Account, caller: Caller) -> bool:
    """Whether somebody can ask on an account, or oversees it."""
    if caller.oversees or not account.definition.shares:
        return True
    try:
        account.remaining(analyst=caller.name)
    except UnknownAnalyst:
        return False
    return True


def account_view(service: ServiceCore, name: str, caller: Caller) -> dict[str, Any]:
    """An account as somebody may see it: with quotas, analysts see their own.

    Raises:
        UnknownAnalyst: there are quotas, and none for them.
    """
    account = service.ledger.account(name)
    analyst, definition = service.seen_by(caller, account), account.definition
    left = [
        account.standing_on(dataset, analyst=analyst).to_dict() for dataset in definition.datasets
    ]
    return {
        "name": account.name,
        "datasets": list(definition.datasets),
        "policy": definition.policy.kind,
        "epsilon": definition.epsilon,
        "delta": definition.delta,
        "closed": account.is_closed(),
        "closes": definition.closes,
        "quotas": bool(definition.shares),
        "approval": definition.approval,
        "promise": account.words(),
        "of": analyst or None,
        "left": left,
        "meters": [each.to_dict() for each in account.remaining(analyst=analyst)],
    }


def entry_view(entry: Entry, number: int) -> dict[str, Any]:
    """A charge, under the number by which whoever looks may know it."""
    return {
        "number": number,
        "status": entry.status,
        "time": entry.time,
        "settled": entry.settled,
        "analyst": entry.analyst,
        "dataset": entry.dataset,
        "purpose": entry.purpose,
        "releases": [str(release) for release in entry.releases],
        "audience": entry.audience or None,
    }
